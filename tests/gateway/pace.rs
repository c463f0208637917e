//! Crawlers that come faster than robots.txt asks, at the running gateway.

use crate::authorize::{Door, doors};
use crate::support::agents::{BINGBOT, CHROME, CURL, GPTBOT};
use crate::support::{Builder, Client, Daemon, Nginx, configured, get};
use std::time::Duration;

const ROBOTS: &str =
    "User-agent: GPTBot\nDisallow: /private\nCrawl-delay: 10 # seconds\n\nUser-agent: *\nDisallow: /no\n";

/// What may come in a window of 100 s.
const ALLOWED: usize = 20;

fn paced(origin: &Nginx) -> Builder {
    Daemon::with(ROBOTS)
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(origin)
        .site("crawl_delay = \"enforce\"")
}

#[test]
fn one_request_too_many_is_answered_429_and_says_what_was_asked_for() {
    let origin = Nginx::start();
    let gateway = paced(&origin).start();
    let mut client = gateway.client();
    for number in 0..ALLOWED {
        client.send(&get(format!("/{number}")).by(GPTBOT)).came_from_origin();
    }
    let answer = client.send(&get("/more").by(GPTBOT));
    assert_eq!(answer.status, 429, "{answer:?}");
    let wait: u64 = answer.header("Retry-After").expect("a time to wait").parse().expect("seconds");
    assert!((80..=100).contains(&wait), "{wait}");
    assert_eq!(answer.header("Cache-Control"), Some("private, no-store"));
    let text = answer.text();
    for line in [
        "error: too many requests: come more slowly",
        "crawler: GPTBot",
        "line: 3",
        "rule: Crawl-delay: 10",
        "declared: one request each 10 s",
        "observed: one request each 4.762 s",
        &format!("retry_after: {wait} s"),
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
    let json = client.send(&get("/more").by(GPTBOT).with("Accept", "application/json")).json();
    assert_eq!((&json["declared"], &json["line"]), (&10.0.into(), &3.into()));
    // What the rules forbid is refused as before, and robots.txt is always there.
    assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
    assert_eq!(client.send(&get("/robots.txt").by(GPTBOT)).status, 200);
    for other in [CHROME, BINGBOT] {
        for number in 0..2 * ALLOWED {
            client.send(&get(format!("/{number}")).by(other)).came_from_origin();
        }
    }
    let event = gateway.journal().event_of("/more");
    let wanted = serde_json::json!(["pace", "refused", 429, "Crawl-delay: 10", 3, "crawl-delay"]);
    let found = ["event", "action", "status", "rule", "line", "reason"].map(|name| event[name].clone());
    assert_eq!(serde_json::json!(found), wanted, "{event}");
}

#[test]
fn without_enforcement_it_is_only_counted() {
    let origin = Nginx::start();
    for (mode, site) in [("audit", "crawl_delay = \"enforce\""), ("enforce", "")] {
        let gateway =
            Daemon::with(ROBOTS).served_for_long().in_mode(mode).in_front_of(&origin).site(site).start();
        let mut client = gateway.client();
        for number in 0..=ALLOWED {
            client.send(&get(format!("/{number}")).by(GPTBOT)).came_from_origin();
        }
        let event = gateway.journal().event_of(&format!("/{ALLOWED}"));
        assert_eq!((&event["event"], &event["action"]), (&"pace".into(), &"forwarded".into()), "{event}");
        assert_eq!(gateway.journal().lines().len(), 1);
    }
}

#[test]
fn a_new_delay_binds_only_who_could_hold_no_other() {
    let origin = Nginx::start();
    // Nobody knows what was published before the gateway's first start.
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .with_notice("24h")
        .in_front_of(&origin)
        .site("crawl_delay = \"enforce\"")
        .start();
    let mut client = gateway.client();
    for number in 0..2 * ALLOWED {
        client.send(&get(format!("/{number}")).by(GPTBOT)).came_from_origin();
    }
}

#[test]
fn a_rate_is_literal_and_whoever_waits_is_let_through() {
    let origin = Nginx::start();
    let tables = "[crawlers.bingbot]\nrate = \"3/s\"\n[purposes.ai-train]\nrate = \"2/m\"\n[crawlers.curl]\nmode = \"enforce\"\nrate = \"off\"";
    let gateway = paced(&origin).table(tables).start();
    let mut client = gateway.client();
    for round in 0..3 {
        for number in 0..3 {
            client.send(&get(format!("/{round}/{number}.css")).by(BINGBOT)).came_from_origin();
        }
        let answer = client.send(&get("/more").by(BINGBOT));
        assert_eq!((answer.status, answer.header("Retry-After")), (429, Some("1")), "{answer:?}");
        std::thread::sleep(Duration::from_secs(1));
    }
    let status = |client: &mut Client, agent| client.send(&get("/x").by(agent)).status;
    assert_eq!([(); 3].map(|()| status(&mut client, GPTBOT)), [200, 200, 429], "of its purpose");
    assert!((0..50).all(|_| status(&mut client, CURL) == 200));
}

#[test]
fn other_proxies_are_told_in_the_way_they_can_pass_on() {
    let config = "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\nadmin = \"off\"\n\
         [authorize]\nlisten = \"127.0.0.1:0\"\n[crawlers.GPTBot]\nrate = \"1/h\"\n[[sites]]\nrobots = \"robots.txt\"\ncrawl_delay = \"enforce\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).nowhere().start();
    let mut client = Client::to(doors(&gateway));
    let mut ask = |door: Door| client.send(&door.asks("GET", "/a").by(GPTBOT));
    assert_eq!(ask(Door::Forward).status, 204);
    let whole = ask(Door::Forward);
    let near = |wait: Option<&str>| {
        wait.and_then(|wait| wait.parse().ok()).filter(|wait| (3_500..=3_600_u64).contains(wait))
    };
    assert!(whole.status == 429 && near(whole.header("Retry-After")).is_some(), "{whole:?}");
    let told = ask(Door::Nginx);
    assert_eq!((told.status, told.header("X-Robots-Status")), (403, Some("429")), "{told:?}");
    assert_eq!(told.header("X-Robots-Verdict"), Some("pace"));
    assert!(near(told.header("X-Robots-Retry-After")).is_some(), "{told:?}");
    // nginx asks again for what its client is to read.
    let again = Door::Nginx.fields("GET", "/a").into_iter();
    let again = again.fold(get("/nginx/refusal").by(GPTBOT), |again, (name, value)| again.with(name, value));
    let page = Client::to(doors(&gateway)).send(&again);
    assert!(page.status == 429 && near(page.header("Retry-After")).is_some(), "{page:?}");
    assert_eq!(ask(Door::Envoy).status, 429);
}
