//! Many sites that take robots.txt from their origins: asked over time and not all at once, in memory that is told.
//!
//! `ROBOTS_GATEWAY_SITES` says how many; `make soak` takes a thousand.

use crate::support::scripted::{Scripted, file};
use crate::support::wait::within;
use crate::support::{configured, get};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long all of them may take. The machine may be busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// How often each is asked: the gateway is not to be busy with that alone.
fn every(sites: usize) -> Duration {
    Duration::from_secs((sites as u64 / 15).max(4))
}

/// Who was asked for, and when.
#[derive(Clone, Default)]
struct RequestTimes(Arc<Mutex<Vec<(Instant, String)>>>);

impl RequestTimes {
    fn all(&self) -> Vec<(Instant, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, head: &str) {
        let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or_default().to_owned();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), host));
    }

    /// Waits until each of so many sites was asked for so often since `start`; when that was.
    #[track_caller]
    fn wait(&self, sites: usize, times: usize, start: Instant) -> Instant {
        let is_done = || {
            let mut counts: HashMap<String, usize> = HashMap::new();
            self.all()
                .into_iter()
                .filter(|(at, _)| *at >= start)
                .for_each(|(_, host)| *counts.entry(host).or_default() += 1);
            (counts.len() == sites && counts.values().all(|count| *count >= times)).then(Instant::now)
        };
        within(PATIENCE, is_done).expect("every site is asked for")
    }

    /// The most within a stretch of time.
    fn most(&self, start: Instant, end: Instant, stretch: Duration) -> usize {
        let times: Vec<Instant> =
            self.all().into_iter().map(|it| it.0).filter(|at| *at >= start && *at < end).collect();
        let near = |from: &Instant| times.iter().filter(|at| *at >= from && **at < *from + stretch).count();
        times.iter().map(near).max().unwrap_or_default()
    }
}

#[test]
fn many_origins_are_asked_over_time() {
    let sites = std::env::var("ROBOTS_GATEWAY_SITES").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let every = every(sites);
    let stretch = every / 10;
    let (origin, asked) = (Scripted::new(), RequestTimes::default());
    let note = asked.clone();
    origin.answers(move |head| {
        note.note(head);
        Some(file("User-agent: *\nDisallow: /private\n"))
    });
    let mut config = "mode = \"enforce\"\nnotice = \"0s\"\n".to_owned();
    for number in 0..sites {
        let _ = writeln!(
            config,
            "[[sites]]\nhosts = [\"s{number}.example\"]\norigin = \"[ORIGIN]\"\n\
             robots = {{ from = \"origin\", every = \"{}s\", block = [\"ai-train\"] }}",
            every.as_secs()
        );
    }
    let start = Instant::now();
    let mut gateway = configured(&config).at(&origin.url()).start();
    let known = asked.wait(sites, 1, start);
    let last = get("/robots.txt").for_host(&format!("s{}.example", sites - 1));
    within(PATIENCE, || gateway.send(&last).text().contains("GPTBot").then_some(())).expect("all are served");
    let served = Instant::now();
    let again = asked.wait(sites, 3, start);
    let most = asked.most(served, again, stretch);
    let memory = gateway.resident();
    println!(
        "{sites} sites: asked within {:?}, served within {:?}, resident {} KiB; after that at most {most} fetches \
         within {:?}, {} in all",
        known - start,
        served - start,
        memory >> 10,
        stretch,
        asked.all().len()
    );
    assert!(memory < (96 << 20) + sites * (256 << 10), "{memory} bytes");
    let start = Instant::now();
    gateway.restart();
    let listening = Instant::now();
    assert!(gateway.send(&last).text().contains("GPTBot"), "from the copy");
    let all = asked.wait(sites, 1, start);
    let first = asked.most(start, all, stretch);
    println!(
        "after a restart: at most {first} fetches within {:?}, all within {:?}",
        stretch,
        all - listening
    );
    assert!(first * 2 < sites, "{first} of {sites} at once");
}
