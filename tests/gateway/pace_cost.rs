//! What keeping a pace costs: the instructions of a forwarded request of a crawler, with callgrind, and how long it takes.
//!
//! Both mean something only of a build for release, on a machine that does little else:
//! `cargo test --release --test gateway pace_cost -- --ignored --nocapture --test-threads=1`.

use crate::support::agents::{CLAUDEBOT, GPTBOT};
use crate::support::{Client, Daemon, Folder, Nginx, get};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Fewer than may come in a minute at the shortest delay.
const REQUESTS: usize = 3_000;

/// Of both counts the better of so many runs.
const RUNS: usize = 2;

/// So many instructions more it may take. What the kernel does for a forwarded request, more than the gateway itself, is
/// not counted here.
const MOST: i64 = 1_200;

/// So much more processor time it may take, with what the kernel does.
const MOST_TIME: f64 = 1.02;

/// Comparisons of processor time, and the requests of one.
const ROUNDS: usize = 120;
const REQUESTS_OF_A_ROUND: usize = 800;

/// Crawlers for that: none of them may come more than 9,000 times in a minute.
const CRAWLERS: [&str; 15] = [
    GPTBOT,
    CLAUDEBOT,
    "CCBot/2.0 (https://commoncrawl.org/faq/)",
    "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)",
    "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)",
    "Mozilla/5.0 (compatible; DataForSeoBot/1.0; +https://dataforseo.com/dataforseo-bot)",
    "Mozilla/5.0 (compatible; SeznamBot/4.0; +https://o-seznam.cz/napoveda/vyhledavani/en/seznambot-crawler/)",
    "Mozilla/5.0 (compatible; BLEXBot/1.0; +http://webmeup-crawler.com/)",
    "Mozilla/5.0 (compatible; Barkrowler/0.9; +https://babbar.tech/crawler)",
    "Mozilla/5.0 (compatible; SeekportBot; +https://bot.seekport.com)",
    "Mozilla/5.0 (compatible; ImagesiftBot; +imagesift.com)",
    "Mozilla/5.0 (compatible; Timpibot/0.8; +http://www.timpi.io)",
    "serpstatbot/2.1 (advanced backlink tracking bot; https://serpstatbot.com/; abuse@serpstatbot.com)",
];

const PATIENCE: Duration = Duration::from_secs(60);

/// With a delay that nobody is too fast for, or without one.
fn gateway(origin: &Nginx, paced: bool, wrapper: &[&str]) -> Daemon {
    let delay = if paced { "Crawl-delay: 0.01\n" } else { "" };
    Daemon::with(format!("User-agent: *\nDisallow: /private\n{delay}"))
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(origin)
        .arg("--threads")
        .arg("1")
        .site(if paced { "crawl_delay = \"enforce\"" } else { "" })
        .by(wrapper)
        .start()
}

fn fetch(client: &mut Client, number: usize) {
    fetch_by(client, number, GPTBOT);
}

fn fetch_by(client: &mut Client, number: usize, crawler: &str) {
    client.send(&get(format!("/page/{number}")).by(crawler)).came_from_origin();
}

/// What all threads of a gateway took together, in nanoseconds.
fn processor_time(gateway: &Daemon) -> u64 {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", gateway.process_id())).expect("its threads");
    let times = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    times.sum()
}

/// Instructions of the thread that served the requests, for each.
fn instructions(origin: &Nginx, paced: bool) -> u64 {
    let folder = Folder::new();
    let out = format!("--callgrind-out-file={}", folder.path().join("count").display());
    let mut gateway =
        gateway(origin, paced, &["valgrind", "--tool=callgrind", "--separate-threads=yes", "--quiet", &out]);
    let mut client = gateway.client();
    (0..REQUESTS).for_each(|number| fetch(&mut client, number));
    drop(client);
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(PATIENCE), Some(0));
    let counts =
        std::fs::read_dir(folder.path()).expect("counts").filter_map(|file| total(&file.ok()?.path()));
    counts.max().expect("a worker") / u64::try_from(REQUESTS).expect("few")
}

/// What the worker has done: others write the store, and one has read the catalogue.
fn total(dump: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(dump).ok().filter(|text| text.contains("Gateway>::decide"))?;
    text.lines().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[test]
#[ignore = "needs a build for release, and takes a minute"]
fn a_pace_costs_few_instructions_of_a_forwarded_request() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind is not installed (Debian: apt-get install valgrind)");
        return;
    }
    let origin = Nginx::start();
    let best = |paced| (0..RUNS).map(|_| instructions(&origin, paced)).min().expect("a run");
    let (off, on) = (best(false), best(true));
    let more = on.cast_signed() - off.cast_signed();
    println!("a forwarded request takes {off} instructions without a pace, {on} with one: {more} more");
    assert!(more <= MOST, "{off} without, {on} with a pace");
}

#[test]
#[ignore = "means little on a busy machine"]
fn a_pace_takes_little_processor_time_of_a_forwarded_request() {
    let origin = Nginx::start();
    let gateways = [false, true].map(|paced| gateway(&origin, paced, &[]));
    let mut clients = gateways.each_ref().map(Daemon::client);
    let mut ratios: Vec<f64> = Vec::new();
    for (round, crawler) in (0..ROUNDS).zip(CRAWLERS.iter().cycle()) {
        let mut took = [0_u64; 2];
        // A few by turns, so that both meet the same moods of the machine.
        for piece in 0..REQUESTS_OF_A_ROUND / 50 {
            for ((gateway, client), took) in gateways.iter().zip(&mut clients).zip(&mut took) {
                let before = processor_time(gateway);
                (0..50).for_each(|number| fetch_by(client, piece * 50 + number, crawler));
                *took += processor_time(gateway) - before;
            }
        }
        if round > 0 {
            #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
            ratios.push(took[1] as f64 / took[0] as f64);
        }
        clients = gateways.each_ref().map(Daemon::client);
    }
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |part: usize| ratios.get(ratios.len() * part / 4).copied().expect("ratios");
    println!(
        "processor time of a forwarded request with a pace, of that without one: {:.3} ({:.3} to {:.3} in half of the rounds)",
        at(2),
        at(1),
        at(3)
    );
    assert!(at(2) <= MOST_TIME, "{ratios:?}");
}

#[test]
#[ignore = "means little on a busy machine"]
fn a_pace_delays_nobody() {
    let origin = Nginx::start();
    let gateways = [false, true].map(|paced| gateway(&origin, paced, &[]));
    let mut clients = gateways.each_ref().map(Daemon::client);
    let mut took: [Vec<Duration>; 2] = Default::default();
    // One after the other, so that both meet the same moods of the machine.
    for number in 0..2 * REQUESTS {
        for (client, took) in clients.iter_mut().zip(&mut took) {
            let begun = Instant::now();
            fetch(client, number);
            took.push(begun.elapsed());
        }
        if number % 900 == 899 {
            clients = gateways.each_ref().map(Daemon::client);
        }
    }
    let [off, on] = took.map(|mut took| {
        took.sort_unstable();
        [took.len() / 2, took.len() * 99 / 100].map(|at| took.get(at).copied().expect("requests"))
    });
    println!("median and p99 without a pace {off:?}, with one {on:?}");
    assert!(on[1] <= off[1].mul_f64(1.2) + Duration::from_micros(100), "{off:?}, {on:?}");
}
