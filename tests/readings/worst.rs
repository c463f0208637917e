//! How long the worst target takes: nobody may slow the gateway down with one.

use crate::generate::Random;
use crate::judge::{Judge, all_rules, compile};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// As long as a request line may be with the limits that are set by default.
const LENGTH: usize = 8 * 1024;

/// What the limit is.
const LONGEST: Duration = Duration::from_micros(50);

const PARTS: [&str; 20] = [
    "/", "//", "/./", "/../", "/..", "\\", "%2f", "%5c", "%2e%2e/", "%25", "%2570", "%3D", "%26", "%3f",
    "%20", "a", "ab/", "/x.pdf", "%C3%A9", "&",
];

/// A start, and parts repeated up to the length; sometimes the query is the longer part.
fn target(random: &mut Random) -> String {
    let mut parts = |count: usize| (0..count).map(|_| random.pick(&PARTS)).collect::<String>();
    let (start, body) = (parts(3), parts(2));
    let mut target = format!("/{start}");
    if random.one_in(4) {
        target.push_str("?a=");
    } else if random.one_in(3) {
        target.push_str("/../");
    }
    let body = if body.is_empty() { "a".to_owned() } else { body };
    while target.len() < LENGTH {
        target.push_str(&body);
    }
    target.truncate(LENGTH);
    target
}

#[test]
#[ignore = "it measures: cargo test --release --test readings worst -- --ignored --nocapture"]
fn the_worst_target_takes_no_longer_than_a_page() {
    let judge = Judge::new();
    let mut rules = all_rules();
    rules.push(compile(include_bytes!("../../rules/robots.txt")));
    rules.push(compile(
        b"User-agent: *\nDisallow: /*?s=\nDisallow: /*.php$\nDisallow: /*/print/*.html$\nDisallow: /cart\n",
    ));
    let mut random = Random::new(11);
    let mut worst: Vec<(Duration, String)> = Vec::new();
    for _ in 0..3_000 {
        let target = target(&mut random);
        let judged = |rules| {
            let once = || {
                let begun = Instant::now();
                black_box(judge.outcome(rules, black_box(target.as_bytes())));
                begun.elapsed()
            };
            (0..5).map(|_| once()).min().expect("five")
        };
        worst.push((rules.iter().map(judged).max().expect("rules"), target));
        worst.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        worst.truncate(8);
    }
    for (time, target) in &worst {
        println!("{time:?} {}", &target[..60]);
    }
    let plain = format!("/{}", "abcdefg/".repeat(LENGTH / 8 - 1));
    let begun = Instant::now();
    for _ in 0..1_000 {
        black_box(judge.outcome(&rules[1], black_box(plain.as_bytes())));
    }
    println!("a plain target of the same length: {:?}", begun.elapsed() / 1_000);
    assert!(cfg!(debug_assertions) || worst[0].0 < LONGEST, "{:?}", worst[0].0);
}
