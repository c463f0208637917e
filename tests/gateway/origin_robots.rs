//! robots.txt taken from the origin: what each answer of the origin makes of it.

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::scripted::{Scripted, answer, file};
use crate::support::{Builder, ClientResponse, Daemon, configured, get, until};
use serde_json::Value;

const OWN: &str = "User-agent: *\nDisallow: /private\n";
const OTHER: &str = "User-agent: *\nDisallow: /other\n";

fn taking(robots: &str, origin: &Scripted) -> Builder {
    Daemon::without_robots().site(robots).at(&origin.url()).in_mode("enforce")
}

/// A gateway that asks only when it is told to.
fn seldom(origin: &Scripted) -> Daemon {
    taking("robots = { from = \"origin\", every = \"24h\" }", origin).start()
}

fn robots(gateway: &Daemon) -> ClientResponse {
    gateway.send(&get("/robots.txt"))
}

#[track_caller]
fn site(gateway: &Daemon) -> Value {
    gateway.ctl(&["status", "--format", "json"]).exits(0).json()["sites"][0].clone()
}

/// Has the origin asked; what was told of the first site.
#[track_caller]
fn refreshed(gateway: &Daemon) -> Value {
    let ended = gateway.ctl(&["robots", "refresh", "--format", "json"]);
    let told = ended.json()[0].clone();
    assert_eq!(ended.code, Some(i32::from(told["result"] == "failed")), "{told}");
    told
}

#[track_caller]
fn assert_kept(gateway: &Daemon, why: &str) {
    let told = refreshed(gateway);
    assert_eq!(told["result"], "failed", "{told}");
    assert!(told["error"].as_str().is_some_and(|error| error.contains(why)), "{why}: {told}");
    assert_eq!(robots(gateway).text(), OWN, "{why}");
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403, "{why}");
    let site = site(gateway);
    assert!(
        site["error"].as_str().is_some_and(|error| error.contains(why) && error.contains(" is served")),
        "{site}"
    );
    assert!(site["age_seconds"].is_u64() && site["fetched"].is_string(), "{site}");
}

#[test]
fn the_origins_own_is_served_and_enforced_from_the_first_request_on() {
    let origin = Scripted::serving(OWN);
    let gateway = taking("robots = { from = \"origin\" }", &origin).start();
    let served = robots(&gateway);
    assert_eq!((served.status, served.text().as_str()), (200, OWN));
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
    assert_eq!(gateway.send(&get("/private").by(CHROME)).status, 200);
    let site = site(&gateway);
    assert_eq!((&site["source"], &site["error"]), (&"origin".into(), &Value::Null));
    assert!(site["age_seconds"].as_u64().is_some_and(|age| age < 60), "{site}");
    assert!(site["next_fetch_seconds"].as_u64().is_some_and(|next| (300..=600).contains(&next)), "{site}");
    let head = origin.heads().remove(0);
    for line in ["GET /robots.txt HTTP/1.1", "Accept-Encoding: identity", "X-Forwarded-Proto: http"] {
        assert!(head.contains(&format!("{line}\r\n")), "{head}");
    }
    assert!(!head.to_ascii_lowercase().contains("\r\ncookie:"), "{head}");
}

/// A configuration that is refused for another reason may say that the origin is not asked any more.
#[test]
fn a_reload_that_is_refused_leaves_the_origin_asked() {
    let origin = Scripted::serving(OWN);
    let asks = "{ from = \"origin\", every = \"1s\" }";
    let gateway = taking(&format!("robots = {asks}"), &origin).start();
    assert_eq!(robots(&gateway).text(), OWN);
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("read");
    let none = "{ from = \"none\", block = [\"seo\"], except = [\"Nobody\"] }";
    rename_over(&path, text.replace(asks, none));
    let refused = gateway.ctl(&["reload"]).exits(1);
    assert!(refused.stdout.contains("the catalogue knows no crawler or token `Nobody`"), "{refused:?}");
    let asked = origin.heads().len();
    until("the origin is asked again", || (origin.heads().len() > asked).then_some(()));
}

#[test]
fn it_is_the_default_where_nothing_is_said() {
    let origin = Scripted::serving(OWN);
    let gateway =
        configured("[[sites]]\nhosts = [\"localhost\"]\norigin = \"[ORIGIN]\"\n").at(&origin.url()).start();
    assert_eq!(robots(&gateway).text(), OWN);
    assert!(origin.heads()[0].contains("\r\nHost: localhost\r\n"), "the public name is asked for");
}

#[test]
fn a_changed_comment_is_served_and_no_change_of_rules() {
    let origin = Scripted::serving(OWN);
    let gateway =
        taking("robots = { from = \"origin\", every = \"24h\" }", &origin).with_notice("24h").start();
    let binds = |gateway: &Daemon| site(gateway)["unknown"][0]["until"].clone();
    let (before, version) = (binds(&gateway), site(&gateway)["robots_version"].clone());
    assert!(!before.is_null(), "what was served before is not known");
    for number in 0..5 {
        origin.serves(&format!("# made at {number}\n{OWN}"));
        assert_eq!(refreshed(&gateway)["result"], "changed");
    }
    assert!(robots(&gateway).text().starts_with("# made at 4\n"));
    assert_ne!(site(&gateway)["robots_version"], version);
    // To the second: the time of day is reckoned from another clock each time.
    let second = |value: &Value| value.as_str().map(|text| text[..18].to_owned());
    assert_eq!(second(&binds(&gateway)), second(&before), "a comment does not begin the notice again");
    origin.serves(OTHER);
    assert_eq!(refreshed(&gateway)["result"], "changed");
    assert_eq!(robots(&gateway).text(), OTHER);
    assert_eq!(gateway.send(&get("/other").by(GPTBOT)).status, 200, "within notice");
    assert_eq!(gateway.journal().event_of("/other")["event"], "stale");
}

#[test]
fn what_is_unfit_or_of_no_use_leaves_the_last_good_copy() {
    let origin = Scripted::serving(OWN);
    let gateway = seldom(&origin);
    assert_eq!(robots(&gateway).text(), OWN);
    origin.says("200 OK", "Content-Type: text/html\r\n", "<!doctype html><title>Not found</title>");
    assert_kept(&gateway, "a web page");
    origin.says("429 Too Many Requests", "", "");
    assert_kept(&gateway, "answers 429");
    origin.says("500 Internal Server Error", "", "");
    assert_kept(&gateway, "answers 500");
    origin.says("200 OK", "Content-Encoding: gzip\r\n", "\u{1f}\u{8b}");
    assert_kept(&gateway, "compresses");
    origin.says("404 Not Found", "", "");
    assert_kept(&gateway, "answers 404");
    origin.answers(|_| Some(b"garbage\r\n\r\n".to_vec()));
    assert_kept(&gateway, "not HTTP");
    origin
        .answers(|_| Some(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *\nAllow: /".to_vec()));
    // The origin keeps the connection open: only the time limit ends this.
    origin.serves(OWN);
    assert_eq!(refreshed(&gateway)["result"], "unchanged");
    assert_eq!(site(&gateway)["error"], Value::Null);
}

#[test]
fn an_empty_file_is_served_and_allows_everything() {
    let origin = Scripted::serving(OWN);
    let gateway = seldom(&origin);
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
    origin.says("200 OK", "", "");
    assert_eq!(refreshed(&gateway)["result"], "changed");
    let served = robots(&gateway);
    assert_eq!((served.status, served.text().as_str()), (200, ""));
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 200);
    assert_eq!(site(&gateway)["error"], Value::Null);
}

#[test]
fn an_origin_that_drips_is_given_up_and_nothing_waits_for_it() {
    let origin = Scripted::serving(OWN);
    let gateway = seldom(&origin);
    assert_eq!(robots(&gateway).text(), OWN);
    origin.pauses(std::time::Duration::from_secs(1), "robots");
    assert_kept(&gateway, "did not answer within 10 s");
}

#[test]
fn redirects_are_followed_among_the_sites_own_hosts_and_asked_of_the_origin_itself() {
    let origin = Scripted::new();
    let config = "mode = \"enforce\"\nnotice = \"0s\"\n[[sites]]\nhosts = [\"example.org\", \"*.example.org\"]\n\
                  origin = \"[ORIGIN]\"\nrobots = { from = \"origin\", every = \"24h\" }\n";
    let hops = |count: usize| {
        move |head: &str| {
            let at: usize = head.split("robots").nth(1)?.chars().next()?.to_digit(10).unwrap_or(0) as usize;
            let next = [
                "https://example.org/robots1",
                "//www.example.org/robots2",
                "/robots3",
                "robots4",
                "/robots5",
                "/robots6",
            ];
            let location = format!("Location: {}\r\nSet-Cookie: a=b\r\n", next[at.min(5)]);
            Some(if at < count { answer("302 Found", &location, "") } else { file(OWN) })
        }
    };
    origin.answers(hops(5));
    let gateway = configured(config).at(&origin.url()).start();
    let robots = || gateway.send(&get("/robots.txt").for_host("example.org"));
    assert_eq!(robots().text(), OWN);
    let heads = origin.heads();
    assert_eq!(heads.len(), 6);
    assert!(
        heads[1].contains("\r\nHost: example.org\r\n")
            && heads[1].contains("\r\nX-Forwarded-Proto: https\r\n")
    );
    assert!(heads[2].contains("\r\nHost: www.example.org\r\n"));
    assert!(heads.iter().all(|head| !head.to_ascii_lowercase().contains("cookie")), "{heads:?}");
    origin.answers(hops(6));
    let told = refreshed(&gateway);
    assert!(told["error"].as_str().is_some_and(|error| error.contains("more than 5 times")), "{told}");
    for elsewhere in [
        "https://example.com/robots.txt",
        "http://127.0.0.1/robots.txt",
        "http://169.254.169.254/",
        "https://example.org.evil.test/",
    ] {
        let location = format!("Location: {elsewhere}\r\n");
        origin.answers(move |_| Some(answer("301 Moved Permanently", &location, "")));
        let asked = origin.heads().len();
        let told = refreshed(&gateway);
        assert!(
            told["error"].as_str().is_some_and(|error| error.contains("another host")),
            "{elsewhere}: {told}"
        );
        assert_eq!(origin.heads().len(), asked + 1, "nobody is asked");
        assert_eq!(robots().text(), OWN);
    }
}

#[test]
fn no_file_is_no_file_at_once_where_none_was_known() {
    let origin = Scripted::new();
    origin.says("404 Not Found", "", "");
    let gateway =
        taking("robots = { from = \"origin\", every = \"24h\", block = [\"ai-train\"] }", &origin).start();
    assert!(
        robots(&gateway).text().contains("\nUser-agent: GPTBot\n"),
        "what is blocked is blocked all the same"
    );
    assert_eq!(gateway.send(&get("/x").by(GPTBOT)).status, 403);
    let gateway = seldom(&origin);
    assert_eq!(robots(&gateway).status, 404);
    assert_eq!(gateway.send(&get("/x").by(GPTBOT)).status, 200);
    assert_eq!(site(&gateway)["error"], Value::Null);
}

#[test]
fn where_nothing_was_ever_known_the_origins_answer_passes_and_nobody_is_judged() {
    let origin = Scripted::new();
    let gateway = taking("robots = { from = \"origin\", block = [\"ai-train\"] }", &origin).start();
    assert_eq!(robots(&gateway).status, 503, "the one exception");
    assert_eq!(gateway.send(&get("/x").by(GPTBOT)).status, 200);
    let site = site(&gateway);
    assert!(site["error"].as_str().is_some_and(|error| error.contains("no request is judged")), "{site}");
    assert_eq!(site["robots_version"], Value::Null);
    origin.serves(OWN);
    until("the origin is asked again by itself", || robots(&gateway).text().contains("GPTBot").then_some(()));
    assert_eq!(gateway.send(&get("/x").by(GPTBOT)).status, 403);
}

#[test]
fn a_copy_outlives_a_restart_with_its_age_and_is_asked_for_by_its_validators() {
    let origin = Scripted::new();
    origin.answers(|head| {
        let is_known = head.contains("\r\nIf-None-Match: \"v1\"\r\n");
        Some(if is_known {
            b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()
        } else {
            answer("200 OK", "ETag: \"v1\"\r\n", OWN)
        })
    });
    let first = seldom(&origin);
    assert_eq!(robots(&first).text(), OWN);
    let fetched = site(&first)["fetched"].clone();
    let state = first.folder().join("state");
    let copy = crate::support::Folder::new();
    let status =
        std::process::Command::new("cp").arg("-r").arg(&state).arg(copy.path().join("state")).status();
    assert!(status.is_ok_and(|status| status.success()));
    drop(first);
    let asked = origin.heads().len();
    origin.says("500 Internal Server Error", "", "");
    let state = copy.path().join("state").display().to_string();
    let second = taking("robots = { from = \"origin\", every = \"24h\" }", &origin)
        .arg("--state-dir")
        .arg(&state)
        .start();
    assert_eq!(robots(&second).text(), OWN, "from the copy");
    assert_eq!(
        origin.heads().len(),
        asked,
        "the first question of a start is not asked at once where there is a copy"
    );
    assert_eq!(site(&second)["fetched"], fetched);
    assert_eq!(second.send(&get("/private").by(GPTBOT)).status, 403);
    assert_kept(&second, "answers 500");
    origin.answers(|head| {
        let is_known = head.contains("\r\nIf-None-Match: \"v1\"\r\n");
        Some(if is_known {
            b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()
        } else {
            answer("400 Bad Request", "", "")
        })
    });
    assert_eq!(refreshed(&second)["result"], "unchanged");
    assert_ne!(site(&second)["fetched"], fetched, "what is confirmed is young again");
}

#[test]
fn where_back_ends_alternate_clients_are_judged_by_both() {
    let origin = Scripted::new();
    let mut number = 0;
    origin.answers(move |_| {
        number += 1;
        Some(file(if number % 2 == 1 { OWN } else { OTHER }))
    });
    let gateway =
        taking("robots = { from = \"origin\", every = \"24h\" }", &origin).with_notice("24h").start();
    for _ in 0..5 {
        refreshed(&gateway);
    }
    for target in ["/private", "/other"] {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 200, "{target}");
    }
    let mut events = vec![gateway.journal().event_of("/private")["event"].clone()];
    events.push(gateway.journal().event_of("/other")["event"].clone());
    assert!(events.iter().all(|event| event != "violation"), "{events:?}");
}

#[test]
fn our_own_answer_is_never_taken_for_the_origins() {
    let origin = Scripted::serving(OWN);
    let gateway = seldom(&origin);
    assert_eq!(robots(&gateway).text(), OWN);
    // The origin hands the very question back to the gateway, as a name that leads to it would.
    let address = gateway.address();
    origin.answers(move |head| {
        use std::io::{Read as _, Write as _};
        let mut back = std::net::TcpStream::connect(address).ok()?;
        back.write_all(head.as_bytes()).ok()?;
        let mut answer = Vec::new();
        back.read_to_end(&mut answer).ok()?;
        Some(answer)
    });
    assert_kept(&gateway, "leads back to this gateway");
    // Nobody else's question is answered so.
    let guess = get("/robots.txt").with("X-Robots-Gateway-Fetch", "0123456789abcdef0123456789abcdef");
    assert_eq!(gateway.send(&guess).text(), OWN);
}

#[test]
fn another_place_is_asked_where_one_is_named() {
    let (origin, elsewhere) = (Scripted::serving(OTHER), Scripted::serving(OWN));
    let url = format!("robots = {{ from = \"origin\", url = \"{}/files/robots.txt\" }}", elsewhere.url());
    let gateway = taking(&url, &origin).start();
    assert_eq!(robots(&gateway).text(), OWN);
    assert!(elsewhere.heads()[0].starts_with("GET /files/robots.txt HTTP/1.1\r\n"));
    let host = "robots = { from = \"origin\", host = \"Public.Example\" }";
    let gateway = taking(host, &origin).start();
    assert_eq!(robots(&gateway).text(), OTHER);
    assert!(origin.heads().iter().any(|head| head.contains("\r\nHost: public.example\r\n")));
}

#[test]
fn a_site_that_goes_over_to_its_origin_keeps_its_file_until_the_origin_has_answered() {
    let origin = Scripted::new();
    let gateway = Daemon::without_robots()
        .file("robots.txt", OWN)
        .site("robots = \"robots.txt\"")
        .at(&origin.url())
        .in_mode("enforce")
        .start();
    let config = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&config).expect("a configuration");
    let changed = text.replace("robots = \"robots.txt\"", "robots = { from = \"origin\", every = \"2s\" }");
    std::fs::write(&config, changed).expect("written");
    until("the change is in force", || (site(&gateway)["source"] == "origin").then_some(()));
    assert_eq!(robots(&gateway).text(), OWN);
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
    origin.serves(OTHER);
    until("the origin has answered", || (robots(&gateway).text() == OTHER).then_some(()));
}

#[test]
fn what_is_passed_on_unseen_is_bounded() {
    let origin = Scripted::new();
    let gateway = seldom(&origin);
    let limit = 500 * 1024;
    let long = "#".repeat(limit + 1000);
    let chunked = format!("{:x}\r\n{long}\r\n0\r\n\r\n", long.len());
    let chunked = ["HTTP/1.1 500 Oh\r\nTransfer-Encoding: chunked\r\n\r\n", &chunked].concat().into_bytes();
    let unended = ["HTTP/1.1 500 Oh\r\n\r\n", &long].concat().into_bytes();
    for answered in [answer("500 Oh", "", &long), chunked, unended] {
        origin.answers(move |_| Some(answered.clone()));
        let passed = robots(&gateway);
        assert_eq!((passed.status, passed.text().len()), (500, limit));
    }
    origin.says("500 Oh", "", "short");
    assert_eq!(robots(&gateway).text(), "short");
    let origin = Scripted::serving(OWN);
    assert_eq!(robots(&seldom(&origin)).text(), OWN);
}
