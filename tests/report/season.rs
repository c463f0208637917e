//! A season of 500 crawlers: the report comes within a second and in little memory. A store of a year opens in a second.

use crate::fill::{DAY, crawler, record, writer};
use crate::support::Folder;
use robots_gateway::identify::Identity;
use robots_gateway::record::{STORE_FILE, StoreReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

const CRAWLERS: usize = 500;

/// How long ago a request was. What the store keeps by hour or day only is sent in one minute of that hour
/// or day, so that the writer has little to fold; what it keeps in the end is the same.
fn begins(hour: u64, times: u64) -> Duration {
    Duration::from_secs(match hour {
        0..48 => hour * 3_600 + times * 60 + 60,
        48..216 => hour * 3_600,
        _ => hour / 24 * 86_400,
    })
}

/// Has every crawler break rules `each` times an hour for as many days.
fn fill(folder: &Folder, days: u64, each: u64) -> u64 {
    let path = folder.join(STORE_FILE);
    let recorder = writer(path.clone());
    let identities: Vec<Identity> =
        (0..CRAWLERS).map(|number| crawler(&format!("season{number}bot"))).collect();
    let (now, mut sent) = (SystemTime::now(), 0_u64);
    for hour in 0..days * 24 {
        for (number, identity) in identities.iter().enumerate() {
            for times in 0..each {
                let at = now - begins(hour, times);
                let number = number + usize::try_from(times + hour).expect("small");
                let target = format!("/section/{}", number % 100);
                record(&recorder, identity, number, &target, at);
                sent += 1;
            }
        }
        if hour % 24 == 23 {
            recorder.flush();
        }
    }
    recorder.flush();
    is_folded(&path);
    recorder.close();
    sent
}

/// Waits until what is older than eight days is kept by day, as in a store that grew by itself.
fn is_folded(path: &std::path::Path) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(600) {
        let reader = StoreReader::open(path).expect("a store");
        let middle = SystemTime::now() - DAY * 20;
        let window = reader.window(middle, middle + Duration::from_secs(1)).expect("a readable store");
        let old = reader
            .window(SystemTime::now() - DAY * 9 - DAY / 2, SystemTime::now() - DAY * 9)
            .expect("a window");
        let length = |window: &robots_gateway::record::Window| {
            window.to.duration_since(window.from).unwrap_or_default()
        };
        if length(&window) >= DAY && length(&old) >= DAY {
            return;
        }
        drop(reader);
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("the store was not folded");
}

/// Runs a report; how long it took, the most memory it held in KiB, and what it said.
fn measured(folder: &Folder, arguments: &[&str]) -> (Duration, u64, String) {
    let begun = Instant::now();
    let file = std::fs::File::create(folder.join("out")).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_gatewayctl"))
        .args(["report", "--since", "90d", "--state-dir", folder.path().to_str().expect("UTF-8")])
        .args(arguments)
        .stdout(Stdio::from(file))
        .spawn()
        .expect("gatewayctl");
    let mut most = 0;
    let status = loop {
        let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most = kib.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0).max(most);
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let took = begun.elapsed();
    assert!(status.success());
    (took, most, std::fs::read_to_string(folder.join("out")).expect("a report"))
}

/// `cargo test --release --test report -- --ignored season --nocapture`
#[test]
#[ignore = "fills a store of 90 days; run it with --release"]
fn a_season_of_five_hundred_crawlers_is_reported_in_a_second() {
    let folder = Folder::new();
    let sent = fill(&folder, 90, 10);
    let size = std::fs::metadata(folder.join(STORE_FILE)).expect("a store").len();
    println!("{sent} violations, store of {size} bytes");
    let mut above = Vec::new();
    for arguments in [
        &[][..],
        &["--format", "json"],
        &["--format", "csv"],
        &["--format", "html"],
        &["--crawler", "season7bot", "--evidence"],
    ] {
        let (took, most, said) = measured(&folder, arguments);
        println!("{arguments:?}: {took:.2?}, {most} KiB at most, {} bytes", said.len());
        if arguments.contains(&"json") {
            let report: serde_json::Value = serde_json::from_str(&said).expect("JSON");
            let counts = report["crawlers"].as_array().expect("crawlers").iter();
            assert_eq!(counts.filter_map(|entry| entry["violations"].as_u64()).sum::<u64>(), sent);
        }
        if took >= Duration::from_secs(1) || most >= 100 * 1_024 {
            above.push(arguments);
        }
    }
    assert!(above.is_empty(), "above a second or 100 MiB: {above:?}");
}

/// `cargo test --release --test report -- --ignored year --nocapture`
#[test]
#[ignore = "fills a store of a year; run it with --release"]
fn a_store_of_a_year_is_opened_in_a_second() {
    let folder = Folder::new();
    let sent = fill(&folder, 366, 1);
    let path = folder.join(STORE_FILE);
    let size = std::fs::metadata(&path).expect("a store").len();
    let begun = Instant::now();
    let recorder = writer(path.clone());
    let (took, status) = (begun.elapsed(), recorder.status());
    recorder.close();
    let begun = Instant::now();
    drop(StoreReader::open(&path).expect("a store"));
    println!(
        "{sent} violations, store of {size} bytes: opened in {took:.2?}, to read in {:.2?}",
        begun.elapsed()
    );
    assert_eq!(status.error, None);
    assert!(took.max(begun.elapsed()) < Duration::from_secs(1));
}
