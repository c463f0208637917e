//! Deciding and parsing, beside other implementations in the same run: `cargo bench -p rfc9309` prints a table in
//! Markdown, and then the curve as the rules double.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures, and may fail"
)]

mod files;

use files::Sample;
use rfc9309::{ParseLimits, Robots};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The least time of one turn over several passes of at least a millisecond, in nanoseconds.
fn least(turns: usize, mut work: impl FnMut()) -> f64 {
    let mut repeats = 1;
    let mut least = Duration::MAX;
    let mut passes = 0;
    while passes < 15 {
        let start = Instant::now();
        (0..repeats).for_each(|_| work());
        let taken = start.elapsed();
        if taken < Duration::from_millis(1) {
            repeats *= 2;
        } else {
            least = least.min(taken / u32::try_from(repeats).unwrap_or(1));
            passes += 1;
        }
    }
    least.as_secs_f64() * 1e9 / turns as f64
}

/// What one decision takes. Times of programs that answer differently are not to be compared.
fn decision(sample: &Sample, decide: impl Fn(&str) -> bool) -> f64 {
    let ours = Robots::parse(&sample.robots, &ParseLimits::default()).robots;
    let agrees =
        |target: &String| ours.judge(&[sample.agent], true, target.as_bytes()).allow == decide(target);
    // `robotstxt` encodes bytes beyond ASCII in rules, not in targets.
    assert!(sample.targets.iter().filter(|target| target.is_ascii()).all(agrees), "{}", sample.name);
    let all = || sample.targets.iter().for_each(|target| _ = black_box(decide(black_box(target))));
    least(sample.targets.len(), all)
}

/// A time in the unit that fits it.
fn shown(nanoseconds: Option<f64>) -> String {
    match nanoseconds {
        None => "-".to_owned(),
        Some(time) if time < 1e3 => format!("{time:.0} ns"),
        Some(time) if time < 1e6 => format!("{:.1} us", time / 1e3),
        Some(time) => format!("{:.2} ms", time / 1e6),
    }
}

fn decide(sample: &Sample, is_quick: bool) {
    let ours = Robots::parse(&sample.robots, &ParseLimits::default()).robots;
    let ours =
        decision(sample, |target| ours.judge(black_box(&[sample.agent]), true, target.as_bytes()).allow);
    let robotxt = robotxt::Robots::parse(&sample.robots, sample.agent);
    let robotxt = decision(sample, |target| robotxt.is_allowed(target));
    let texting = texting_robots::Robot::new(sample.agent, &sample.robots).ok();
    let texting = texting.map(|texting| decision(sample, |target| texting.allowed(target)));
    // It has no parsed form, and needs seconds to minutes for files that were made to be slow.
    let text = std::str::from_utf8(&sample.robots).unwrap_or_default();
    let google = is_quick.then(|| {
        decision(sample, |target| {
            robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(text, sample.agent, target)
        })
    });
    let [ours, robotxt, texting, google] = [Some(ours), Some(robotxt), texting, google].map(shown);
    println!("| {} | {ours} | {robotxt} | {texting} | {google} |", sample.name);
}

fn parse(sample: &Sample) {
    let limits = ParseLimits::default();
    let ours = least(1, || _ = black_box(Robots::parse(black_box(&sample.robots), &limits)));
    let robotxt = least(1, || _ = black_box(robotxt::Robots::parse(black_box(&sample.robots), sample.agent)));
    let texting = texting_robots::Robot::new(sample.agent, &sample.robots).ok().map(|_| {
        least(1, || _ = black_box(texting_robots::Robot::new(sample.agent, black_box(&sample.robots))))
    });
    let [ours, robotxt, texting] = [Some(ours), Some(robotxt), texting].map(shown);
    println!("| {} | {ours} | {robotxt} | {texting} | - |", sample.name);
}

/// Doubles the number of rules and prints what a decision costs.
fn doubling(start: usize) {
    let mut first = None;
    for step in 0..=4 {
        let sample = files::rules(start << step);
        let limits = ParseLimits { max_bytes: sample.robots.len() };
        let robots = Robots::parse(&sample.robots, &limits).robots;
        let judge = |target: &String| robots.judge(&[sample.agent], true, target.as_bytes()).allow;
        let time = least(sample.targets.len(), || {
            sample.targets.iter().for_each(|target| _ = black_box(judge(black_box(target))));
        });
        let first = *first.get_or_insert(time);
        println!(
            "| {} | {} | {} | {:.1} |",
            start << step,
            sample.robots.len(),
            shown(Some(time)),
            time / first
        );
    }
}

fn main() {
    let head = |what: &str| {
        println!("\n| {what} | rfc9309 | robotxt | texting_robots | robotstxt |\n|---|--:|--:|--:|--:|");
    };
    head("one decision");
    let thirty = Sample { name: "30 rules", ..files::rules(30) };
    for sample in [
        files::small(),
        thirty,
        files::large(),
        files::rules(10_000),
        files::groups(false),
        files::groups(true),
    ] {
        decide(&sample, true);
    }
    for sample in
        [files::long_targets(), files::hostile(), files::hundred_hostile(), files::nearly_matching()]
    {
        decide(&sample, false);
    }
    head("parsing (ours for all crawlers, theirs for one)");
    for sample in
        [files::small(), files::large(), files::rules(10_000), files::groups(false), files::hundred_hostile()]
    {
        parse(&sample);
    }
    println!("\n| rules | bytes | one decision | times the first |\n|--:|--:|--:|--:|");
    doubling(625);
    doubling(10_000);
}
