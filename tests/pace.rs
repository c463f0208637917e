//! Crawlers of many kinds against the windows that judge their pace: who is limited, when, and who never is.
//!
//! Time is simulated. `ROBOTS_GATEWAY_REQUESTS` sets how many requests those make that keep their delay.

#![expect(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test may fail, and prints what it measured; its numbers are small"
)]

#[path = "dice/mod.rs"]
mod dice;

use dice::Dice;
use robots_gateway::decide::{FILES_OF_A_PAGE, PaceExcess, PaceLimit, PaceWindow};
use robots_gateway::identify::{Basis, ClientKind, Identity, Proof};
use robots_gateway::record::{PaceBook, ReaderId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const DELAYS: [f64; 9] = [0.05, 0.5, 1.0, 2.0, 5.0, 7.5, 10.0, 30.0, 600.0];

const PAGE: &[u8] = b"/page";
const FILE: &[u8] = b"/style.css";

fn seconds(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

fn identity(name: &str) -> Identity {
    let (crawler, tokens) = (Some(name.into()), Arc::new([]));
    let client = ClientKind::Crawler;
    Identity { client, crawler, purpose: None, tokens, star: true, basis: Basis::Catalogue }
}

/// The reader at a numbered network.
fn reader(identity: &Identity, proof: Proof, network: u32) -> ReaderId<'_> {
    let address = IpAddr::from(Ipv4Addr::from_bits(0x0100_0000 + (network << 8)));
    ReaderId::new("h", identity, proof, Some(address))
}

/// A crawler that keeps its delay, in one of the ways in which crawlers do.
struct SlowCrawler {
    identity: Identity,
    limit: PaceLimit,
    delay: f64,
    manner: FetchManner,
    now: f64,
    step: u64,
}

#[derive(Clone, Copy)]
enum FetchManner {
    /// A request each delay, to the millisecond.
    Steady,
    /// One within each stretch of a delay, wherever in it.
    Windowed,
    /// So many at once, and then a pause for all of them.
    Parallel(u64),
    /// Steady, and each page with its files.
    Rendering(u64),
}

impl SlowCrawler {
    fn new(number: usize) -> Self {
        let delay = DELAYS[number % DELAYS.len()];
        let manner = match number / DELAYS.len() % 5 {
            0 => FetchManner::Steady,
            1 => FetchManner::Windowed,
            2 => FetchManner::Parallel(5),
            3 => FetchManner::Parallel(15),
            _ => FetchManner::Rendering(u64::from(FILES_OF_A_PAGE)),
        };
        let limit = PaceLimit::of_delay(delay).unwrap();
        let now = delay * f64::from(u32::try_from(number % 97).unwrap());
        Self { identity: identity(&format!("SlowCrawler{number}")), limit, delay, manner, now, step: 0 }
    }

    /// When it comes next, and for what.
    fn next(&mut self, dice: &mut Dice) -> (f64, &'static [u8]) {
        let (at, step) = (self.now, self.step);
        self.step += 1;
        let is_last = |many| (step + 1).is_multiple_of(many);
        match self.manner {
            FetchManner::Steady => self.now += self.delay,
            FetchManner::Windowed => {
                self.now += self.delay;
                #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
                return (at + self.delay * dice.below(1_000) as f64 / 1_000.0, PAGE);
            }
            #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
            FetchManner::Parallel(many) if is_last(many) => self.now += self.delay * many as f64,
            FetchManner::Parallel(_) => {}
            FetchManner::Rendering(files) => {
                if is_last(files + 1) {
                    self.now += self.delay;
                }
                return (at, if step.is_multiple_of(files + 1) { PAGE } else { FILE });
            }
        }
        (at, PAGE)
    }
}

fn micros(at: f64) -> u64 {
    u64::try_from(seconds(at).as_micros()).unwrap()
}

#[test]
fn nobody_who_keeps_the_delay_is_ever_limited() {
    let wanted = std::env::var("ROBOTS_GATEWAY_REQUESTS").ok().and_then(|number| number.parse().ok());
    let wanted: u64 = wanted.unwrap_or(300_000);
    let (book, mut dice) = (PaceBook::default(), Dice(7));
    let mut keepers: Vec<SlowCrawler> = (0..900).map(SlowCrawler::new).collect();
    let mut due: BinaryHeap<Reverse<(u64, usize, &[u8])>> = BinaryHeap::new();
    for (number, keeper) in keepers.iter_mut().enumerate() {
        let (at, target) = keeper.next(&mut dice);
        due.push(Reverse((micros(at), number, target)));
    }
    let flood = PaceLimit::of_delay(1.0).unwrap();
    for made in 0..wanted {
        let Reverse((at, number, target)) = due.pop().unwrap();
        let (now, keeper) = (Duration::from_micros(at), &mut keepers[number]);
        // Some share their network with others, of other names.
        let who = reader(&keeper.identity, Proof::Unchecked, number as u32 % 40);
        let answer = book.admit(&who, &keeper.limit, target, now, true);
        assert_eq!(answer, Ok(()), "request {made} of {} at {at}", keeper.delay);
        let (next, target) = keeper.next(&mut dice);
        due.push(Reverse((micros(next), number, target)));
        // And names that somebody makes up take places from them.
        if made.is_multiple_of(3) {
            let stranger = identity(&format!("Stranger{made}"));
            let who = reader(&stranger, Proof::Unchecked, dice.below(9_999) as u32);
            book.admit(&who, &flood, PAGE, now, true).unwrap();
        }
    }
    println!("{wanted} requests of 900 crawlers that keep their delay: none was limited");
}

/// What a crawler got that asks `gap` after `gap`: how many were let through in each whole window.
fn let_through(limit: &PaceLimit, gap: f64, windows: f64) -> Vec<u32> {
    let (mut window, length) = (PaceWindow::new(limit, Duration::ZERO), limit.window.as_secs_f64());
    let mut counts: HashMap<u64, u32> = HashMap::new();
    let mut at = 0.0;
    while at < windows * length {
        if window.admit(limit, PAGE, seconds(at)).is_ok() {
            #[expect(clippy::cast_sign_loss, reason = "small and positive")]
            let number = (at / length) as u64;
            *counts.entry(number).or_default() += 1;
        }
        at += gap;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_unstable();
    all.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn whoever_goes_on_too_fast_gets_what_may_be_and_no_less_than_the_delay_gives() {
    for delay in DELAYS {
        let limit = PaceLimit::of_delay(delay).unwrap();
        for faster in [1.7, 3.0, 20.0, 1_000.0] {
            for count in let_through(&limit, delay / faster, 6.0) {
                #[expect(clippy::cast_sign_loss, reason = "small")]
                let own = (limit.window.as_secs_f64() / delay) as u32;
                // One part of the window at most is forgotten early.
                assert!(
                    count >= own && count <= limit.allowed + limit.allowed.div_ceil(30),
                    "{delay} / {faster}: {count}"
                );
            }
        }
        assert!(let_through(&limit, delay / 1.4, 6.0).iter().sum::<u32>() >= 50);
    }
}

#[test]
fn whoever_waits_as_long_as_told_is_let_through() {
    let mut dice = Dice(11);
    for delay in DELAYS {
        let limit = PaceLimit::of_delay(delay).unwrap();
        let (mut window, mut now, mut limited) = (PaceWindow::new(&limit, Duration::ZERO), Duration::ZERO, 0);
        for _ in 0..20_000 {
            match window.admit(&limit, PAGE, now) {
                Ok(()) => now += seconds(delay * 0.002 * f64::from(dice.below(500) as u32)),
                Err(PaceExcess { retry_after, asked }) => {
                    limited += 1;
                    assert!(asked > limit.allowed && retry_after <= limit.window + Duration::from_secs(1));
                    let before = now + retry_after.saturating_sub(Duration::from_secs(2));
                    if before > now {
                        assert!(
                            window.clone().admit(&limit, PAGE, before).is_err(),
                            "{delay}: it waited too long"
                        );
                    }
                    now += retry_after;
                    assert_eq!(window.clone().admit(&limit, PAGE, now), Ok(()), "{delay}: {retry_after:?}");
                }
            }
        }
        assert!(limited > 50, "{delay}: {limited}");
    }
}

#[test]
fn parallel_fetchers_that_wait_as_long_as_told_are_all_let_through() {
    let limit = PaceLimit::of_rate(40, Duration::from_secs(60));
    let mut window = PaceWindow::new(&limit, Duration::ZERO);
    // It began slowly and became faster.
    for request in 0..40 {
        let at = seconds((f64::from(request) * 2.5).sqrt());
        assert_eq!(window.admit(&limit, PAGE, at), Ok(()));
    }
    let now = seconds(12.0);
    let mut due: Vec<Duration> =
        (0..10).map(|_| now + window.admit(&limit, PAGE, now).unwrap_err().retry_after).collect();
    due.sort_unstable();
    assert!(due[0] < due[9] && due[9] <= seconds(72.0), "{due:?}");
    for at in due {
        assert_eq!(window.admit(&limit, PAGE, at), Ok(()), "{at:?}");
    }
    // One that came too early again and again is told no more than the whole window, and is let through after it.
    let mut told = Duration::ZERO;
    for request in 0..200 {
        let now = seconds(72.0 + f64::from(request) / 1_000.0);
        told = window.admit(&limit, PAGE, now).map_or_else(|excess| now + excess.retry_after, |()| told);
    }
    assert!(told <= seconds(134.0), "{told:?}");
    assert_eq!(window.admit(&limit, PAGE, told), Ok(()));
}

#[test]
fn a_new_delay_counts_nothing_of_the_past_and_none_has_the_room_of_another() {
    let [fast, slow] = [1.0, 5.0].map(|delay| PaceLimit::of_delay(delay).unwrap());
    assert_eq!(fast.window, slow.window);
    let (book, crawler) = (PaceBook::default(), identity("Changebot"));
    let ask = |limit: &PaceLimit, at| {
        book.admit(&reader(&crawler, Proof::Unchecked, 1), limit, PAGE, seconds(at), true)
    };
    for second in 0..30 {
        assert_eq!(ask(&fast, f64::from(second)), Ok(()));
    }
    for request in 0..30 {
        assert_eq!(ask(&slow, 30.0 + 5.0 * f64::from(request)), Ok(()), "{request}");
    }
    // Clients of one name whose headers choose different groups have a window each.
    let ask = |request: u32| ask(if request.is_multiple_of(2) { &fast } else { &slow }, 1_000.0).is_ok();
    assert_eq!((0..1_000).filter(|request| ask(*request)).count() as u32, fast.allowed + slow.allowed);
}

#[test]
fn what_is_asked_about_again_is_told_the_same_though_there_is_room_now() {
    let (limit, crawler) = (PaceLimit::of_rate(1, Duration::from_secs(1)), identity("Againbot"));
    let book = PaceBook::default();
    let who = reader(&crawler, Proof::Unchecked, 1);
    let ask = |at, is_counted| {
        let answer = book.admit(&who, &limit, PAGE, seconds(at), is_counted);
        answer.map_err(|excess| excess.retry_after.as_secs())
    };
    assert_eq!([ask(10.0, true), ask(10.9, true), ask(11.5, false)], [Ok(()), Err(1), Err(1)]);
    // Nobody was told to wait, so it is refused for something else.
    assert_eq!([ask(12.0, false), ask(12.0, true), ask(12.0, false)], [Ok(()); 3]);
}

#[test]
fn files_of_a_page_count_only_beyond_those_that_pages_bring() {
    let limit = PaceLimit::of_delay(10.0).unwrap();
    let mut window = PaceWindow::new(&limit, Duration::ZERO);
    let images = (0..2_000).filter(|_| window.admit(&limit, b"/a.png", Duration::ZERO).is_ok()).count();
    // Each of the first ones counts as a page, and brings others.
    assert_eq!(images, 20 * (1 + FILES_OF_A_PAGE as usize));
    let literal = PaceLimit::of_rate(60, Duration::from_secs(60));
    let mut window = PaceWindow::new(&literal, Duration::ZERO);
    assert_eq!((0..1_000).filter(|_| window.admit(&literal, FILE, Duration::ZERO).is_ok()).count(), 60);
}

#[test]
fn a_crawler_has_one_pace_at_all_addresses_where_its_name_is_proved() {
    let (limit, crawler) = (PaceLimit::of_delay(10.0).unwrap(), identity("Widebot"));
    for addresses in [1, 10, 100, 10_000] {
        let book = PaceBook::default();
        let admitted = |proof| {
            let ask = |number: u32| {
                let who = reader(&crawler, proof, number % addresses);
                book.admit(&who, &limit, PAGE, seconds(f64::from(number) / 1_000.0), true).is_ok()
            };
            (0..40_000).filter(|number| ask(*number)).count()
        };
        assert_eq!(admitted(Proof::Confirmed), 20, "{addresses}");
        // Nobody knows whether these are one crawler.
        assert_eq!(admitted(Proof::Unchecked), 40_000.min(20 * addresses as usize), "{addresses}");
    }
}

#[test]
fn a_million_made_up_crawlers_take_no_more_memory_and_free_nobody() {
    let (book, limit) = (PaceBook::default(), PaceLimit::of_delay(10.0).unwrap());
    let fast = identity("Fastbot");
    let ask = |number: u32| {
        let who = reader(&fast, Proof::Unchecked, 1);
        book.admit(&who, &limit, PAGE, seconds(f64::from(number) / 1_000_000.0 * 50.0), true).is_ok()
    };
    assert_eq!((0..100).filter(|_| ask(0)).count(), 20);
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/statm").unwrap();
        status.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
    };
    let before = resident();
    for number in 0..1_000_000 {
        let stranger = identity(&format!("Made{number}"));
        let who = reader(&stranger, Proof::Unchecked, number % 65_000);
        let now = seconds(f64::from(number) / 1_000_000.0 * 50.0);
        assert_eq!(book.admit(&who, &limit, PAGE, now, true), Ok(()));
    }
    let grown = resident().saturating_sub(before);
    println!("a million made-up crawlers took {} KiB", grown / 1_024);
    assert!(grown < 16 * 1_024 * 1_024, "{grown}");
    assert!(!ask(999_999), "it was forgotten for others");
}
