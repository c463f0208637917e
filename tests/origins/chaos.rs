//! An origin that is killed, frozen, resetting and restarting at random, under load: no request outlives its
//! limits, no body is wrong, and robots.txt is always answered.

use crate::dice::Dice;
use crate::server::{OriginManner, TestOrigin};
use crate::support::agents::CHROME;
use crate::support::{Client, Daemon, configured, get, request};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Twice 300 ms to connect, twice 500 ms of silence, and as much again for a busy machine.
const LIMIT: Duration = Duration::from_secs(4);

#[derive(Debug, Default)]
struct ChaosTally {
    statuses: BTreeMap<u16, usize>,
    cut_off: usize,
    slowest: Duration,
}

fn visitor(number: u64, address: SocketAddr, over: &AtomicBool) -> ChaosTally {
    let (mut seen, mut dice, mut client) = (ChaosTally::default(), Dice(number + 1), None::<Client>);
    while !over.load(Ordering::Relaxed) {
        let path = format!("/page/{number}/{}", dice.below(1_000_000));
        let robots = dice.below(10) == 0;
        let method = if dice.below(5) == 0 { "POST" } else { "GET" };
        let asked = if robots { get("/robots.txt") } else { request(method, &path) };
        let start = Instant::now();
        let connection = client.get_or_insert_with(|| Client::to(address));
        let answer = connection.try_send(&asked.by(CHROME));
        seen.slowest = seen.slowest.max(start.elapsed());
        match answer {
            Ok(response) if robots => {
                assert_eq!(response.status, 200, "robots.txt: {}", response.text());
                assert_eq!(response.text(), ROBOTS);
            }
            Ok(response) => {
                *seen.statuses.entry(response.status).or_insert(0) += 1;
                if response.status == 200 {
                    assert_eq!(response.text(), format!("origin: {path}\n"), "a body that was another's");
                } else {
                    assert!(matches!(response.status, 500 | 502 | 503 | 504), "{response:?}");
                    client = None;
                }
            }
            Err(error) => {
                // An answer that the origin broke off; the status of a gateway's own answer would be whole.
                assert!(!robots, "robots.txt: {error}");
                seen.cut_off += 1;
                client = None;
            }
        }
    }
    seen
}

const MANNERS: [OriginManner; 6] = [
    OriginManner::Well,
    OriginManner::Frozen,
    OriginManner::Resets,
    OriginManner::Breaks,
    OriginManner::Slow,
    OriginManner::Sick,
];

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn run(length: Duration) {
    let server = TestOrigin::start("origin");
    let gateway: Daemon = configured(&format!(
        "[timeouts]\norigin_connect = \"300ms\"\norigin_read = \"500ms\"\norigin_write = \"500ms\"\n\
         [[sites]]\nrobots = \"robots.txt\"\norigin = {{ servers = [\"{}\"], health = {{ check = \"tcp\", interval = \"200ms\" }} }}\n",
        server.url
    ))
    .file("robots.txt", ROBOTS)
    .start();
    let (over, address) = (Arc::new(AtomicBool::new(false)), gateway.address());
    let visitors: Vec<_> = (0..6)
        .map(|number| {
            let over = Arc::clone(&over);
            std::thread::spawn(move || visitor(number, address, &over))
        })
        .collect();
    let (start, mut dice, mut restarts) = (Instant::now(), Dice(42), 0);
    while start.elapsed() < length || restarts == 0 {
        let manner = usize::try_from(dice.below(MANNERS.len() as u64 + 1)).expect("small");
        match MANNERS.get(manner) {
            Some(manner) => server.behaves(*manner),
            None => server.dies(),
        }
        std::thread::sleep(Duration::from_millis(100 + dice.below(400)));
        if manner == MANNERS.len() {
            server.returns("origin");
            restarts += 1;
        }
        server.behaves(OriginManner::Well);
        std::thread::sleep(Duration::from_millis(dice.below(200)));
    }
    over.store(true, Ordering::Relaxed);
    let mut all = ChaosTally::default();
    for visitor in visitors {
        let seen = visitor.join().expect("a visitor saw what it should not");
        all.cut_off += seen.cut_off;
        all.slowest = all.slowest.max(seen.slowest);
        for (status, count) in seen.statuses {
            *all.statuses.entry(status).or_insert(0) += count;
        }
    }
    println!(
        "{} requests at the origin in {length:?}, which was killed {restarts} times: {:?}, {} cut off, slowest {:?}",
        server.requests(),
        all.statuses,
        all.cut_off,
        all.slowest
    );
    assert!(all.slowest < LIMIT, "{:?}", all.slowest);
    assert!(all.statuses.get(&200).is_some_and(|count| *count > 20), "{:?}", all.statuses);
    server.behaves(OriginManner::Well);
    assert_eq!(gateway.send(&get("/after").by(CHROME)).text(), "origin: /after\n");
}

#[test]
fn a_few_seconds_of_chaos() {
    run(Duration::from_secs(6));
}

#[test]
#[ignore = "takes five minutes: cargo test --release --test origins -- five_minutes --ignored --nocapture"]
fn five_minutes_of_chaos() {
    run(Duration::from_secs(300));
}
