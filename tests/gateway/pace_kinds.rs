//! Crawlers of many kinds at once before the running gateway: who is slowed, and who never is. Time is real here, so rates
//! stand for delays where a window has to pass; `tests/pace.rs` has the same kinds in simulated time.

use crate::support::agents::{BINGBOT, CLAUDEBOT, GPTBOT};
use crate::support::{Client, Daemon, Nginx, get};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// What may come in a window of 60 s under a delay of half a second.
const ALLOWED: usize = 185;

/// Requests a second of those who are held to a rate, and how many pages they want.
const RATE: usize = 10;
const PAGES: usize = 40;

/// A crawler that no catalogue knows.
fn made_up(name: &str) -> String {
    format!("{name}/1.0 (+https://{}.example/)", name.to_lowercase())
}

/// Whether a page was let through, else after how long it may be asked for again.
fn fetch(client: &mut Client, agent: &str, target: &str) -> Result<(), Duration> {
    let answer = client.send(&get(target).by(agent));
    match answer.status {
        200 => Ok(()),
        429 => {
            let wait = answer.header("Retry-After").and_then(|wait| wait.parse().ok());
            Err(Duration::from_secs(wait.expect("seconds to wait")))
        }
        status => panic!("{agent} {target}: {status}"),
    }
}

/// Comes `together` for pages at once, `rounds` times, with `pause` between, and is never slowed.
fn keeps_its_delay(gateway: &Daemon, name: &str, together: usize, rounds: usize, pause: Duration) {
    let (agent, mut clients) = (made_up(name), Vec::new());
    clients.resize_with(together, || gateway.client());
    for round in 0..rounds {
        let next = Instant::now() + pause;
        for client in &mut clients {
            assert_eq!(fetch(client, &agent, &format!("/{round}")), Ok(()), "{name}, round {round}");
            for file in 0..3 {
                assert_eq!(fetch(client, &agent, &format!("/{file}.css")), Ok(()), "{name}, round {round}");
            }
        }
        sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// Fetches with so many clients at once, each of which waits when it is told to: how often one was told, and how long all
/// of it took.
fn obeys(gateway: &Daemon, agent: &str, fetchers: usize) -> (usize, Duration) {
    let (begun, next, told) = (Instant::now(), AtomicUsize::new(0), AtomicUsize::new(0));
    scope(|scope| {
        for _ in 0..fetchers {
            scope.spawn(|| {
                let mut client = gateway.client();
                loop {
                    let page = next.fetch_add(1, Ordering::Relaxed);
                    if page >= PAGES {
                        return;
                    }
                    while let Err(wait) = fetch(&mut client, agent, &format!("/{page}")) {
                        told.fetch_add(1, Ordering::Relaxed);
                        sleep(wait);
                    }
                }
            });
        }
    });
    (told.into_inner(), begun.elapsed())
}

#[test]
fn each_kind_of_crawler_gets_what_its_pace_allows_and_those_that_keep_it_everything() {
    let origin = Nginx::start();
    let rate = |name| format!("[crawlers.{name}]\nrate = \"{RATE}/s\"");
    let gateway = Daemon::with("User-agent: *\nDisallow: /no\nCrawl-delay: 0.5\n")
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(&origin)
        .table(&["GPTBot", "ClaudeBot", "bingbot"].map(rate).join("\n"))
        .site("crawl_delay = \"enforce\"")
        .start();
    let gateway = &gateway;
    scope(|scope| {
        scope.spawn(|| keeps_its_delay(gateway, "Steadybot", 1, 12, Duration::from_millis(500)));
        scope.spawn(|| keeps_its_delay(gateway, "Burstybot", 4, 3, Duration::from_secs(2)));
        scope.spawn(|| {
            // All of this is within one window.
            let (mut client, agent) = (gateway.client(), made_up("Hastybot"));
            let fetched: Vec<bool> =
                (0..ALLOWED + 40).map(|_| fetch(&mut client, &agent, "/page").is_ok()).collect();
            assert_eq!(fetched.iter().position(|is_ok| !is_ok), Some(ALLOWED));
            assert_eq!(fetched.iter().filter(|is_ok| **is_ok).count(), ALLOWED);
        });
        scope.spawn(|| {
            let (mut client, begun, mut passed) = (gateway.client(), Instant::now(), Vec::new());
            while begun.elapsed() < Duration::from_secs(5) {
                if fetch(&mut client, GPTBOT, "/page").is_ok() {
                    passed.push(begun.elapsed());
                }
            }
            println!("{} of one that never waits passed in 5 s; {RATE} a second may", passed.len());
            // A part of the window more at its edges.
            assert!((4 * RATE..=6 * RATE).contains(&passed.len()), "{}", passed.len());
        });
        scope.spawn(|| {
            let (told, took) = obeys(gateway, CLAUDEBOT, 1);
            println!("one fetcher that waits was told to {told} times in {took:?}");
            assert!(told < PAGES / RATE + 1 && took > Duration::from_secs(2), "{told} in {took:?}");
        });
        scope.spawn(|| {
            let (told, took) = obeys(gateway, BINGBOT, 5);
            println!("five fetchers that wait were told to {told} times in {took:?}");
            assert!(told <= PAGES && took > Duration::from_secs(2), "{told} in {took:?}");
        });
    });
}

/// Many addresses behind a proxy that is trusted.
#[test]
fn up_to_ten_thousand_addresses_share_what_they_may_have_by_what_is_known_of_them() {
    const DELAY_10: usize = 20;
    let origin = Nginx::start();
    let gateway = Daemon::with("User-agent: *\nDisallow: /no\nCrawl-delay: 10\n")
        .file("all.txt", "20.0.0.0/8\n")
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\"]\njournal_rate = \"1/s\"")
        .table("[verify]\ndns = false\nranges = { GPTBot = [\"all.txt\"] }")
        .site("crawl_delay = \"enforce\"")
        .start();
    // Nothing proves the name of the others, so each network has its own pace.
    let passed = |agent: &str, addresses: usize| {
        let mut client = gateway.client();
        let from = |number: usize| format!("20.{}.{}.{}", addresses % 251, number / 250, number % 250 + 1);
        let ask = |number: usize| {
            let answer =
                client.send(&get("/page").by(agent).with("X-Forwarded-For", from(number % addresses)));
            answer.status == 200
        };
        (0..addresses.max(250)).map(ask).filter(|is_passed| *is_passed).count()
    };
    for (addresses, networks) in [(1, 1), (100, 1), (10_000, 40)] {
        let name = format!("Widebot{}", addresses % 7);
        assert_eq!(passed(&made_up(&name), addresses), networks * DELAY_10, "{addresses} addresses");
    }
    assert_eq!(passed(GPTBOT, 10_000), DELAY_10, "a name that is proved");
}

/// `ROBOTS_GATEWAY_REQUESTS` sets how many crawlers there are.
#[test]
fn a_crowd_of_made_up_crawlers_takes_no_more_memory_and_frees_nobody() {
    const CONNECTIONS: usize = 4;
    let crowd = std::env::var("ROBOTS_GATEWAY_REQUESTS").ok().and_then(|number| number.parse().ok());
    let crowd: usize = crowd.unwrap_or(20_000).min(1_000_000);
    let origin = Nginx::start();
    let gateway = Daemon::with("User-agent: *\nDisallow: /no\nCrawl-delay: 600\n")
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .site("crawl_delay = \"enforce\"")
        .start();
    let mut client = gateway.client();
    let passed = (0..40).filter(|_| fetch(&mut client, &made_up("Fastbot"), "/page").is_ok()).count();
    assert_eq!(passed, 20);
    let ask = |number: usize, client: &mut Client| {
        let address = format!("20.{}.{}.1", number / 250 % 250, number % 250);
        let agent = made_up(&format!("Made{number}bot"));
        client.send(&get("/page").by(agent).with("X-Forwarded-For", address)).came_from_origin();
    };
    // Caches and places fill first.
    let warm = crowd / 2;
    let send = |from: usize, to: usize| {
        scope(|scope| {
            for connection in 0..CONNECTIONS {
                let (gateway, ask) = (&gateway, &ask);
                scope.spawn(move || {
                    let mut client = gateway.client();
                    (from + connection..to).step_by(CONNECTIONS).for_each(|number| ask(number, &mut client));
                });
            }
        });
    };
    send(0, warm);
    let before = gateway.resident();
    send(warm, crowd);
    let grown = gateway.resident().saturating_sub(before);
    println!("{} more made-up crawlers took {} KiB more", crowd - warm, grown / 1_024);
    assert!(grown < 32 << 20, "{grown} bytes");
    // The first connection may have been idle for too long.
    let is_held = fetch(&mut gateway.client(), &made_up("Fastbot"), "/page").is_err();
    assert!(is_held, "it was forgotten for others");
}
