//! Parsing and deciding, beside other implementations in the same run.
//!
//! `cargo bench --bench robots` measures everything; `cargo bench --bench robots -- decide/small`
//! one group. The last part doubles the number of rules and prints the curve.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    reason = "a benchmark prints figures, and may fail"
)]

#[path = "robots/files.rs"]
mod files;

use criterion::{BenchmarkGroup, BenchmarkId, Criterion, measurement::WallTime};
use files::Sample;
use robots_gateway::robots::{ParseLimits, Robots};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Times of programs that answer differently are not to be compared.
fn agree(sample: &Sample, who: &str, decide: impl Fn(&str) -> bool) {
    let robots = Robots::parse(&sample.robots, &ParseLimits::default()).robots;
    for target in &sample.targets {
        let ours = robots.judge(&[sample.agent], true, target.as_bytes()).allow;
        assert_eq!(ours, decide(target), "{}, {who}: {target}", sample.name);
    }
}

/// Runs `decide` on the targets in turn, and says what one decision takes.
fn one(
    group: &mut BenchmarkGroup<'_, WallTime>,
    who: &str,
    sample: &Sample,
    mut decide: impl FnMut(&str) -> bool,
) {
    let mut next = 0;
    group.bench_function(BenchmarkId::from_parameter(who), |bench| {
        bench.iter(|| {
            let target = &sample.targets[next];
            next = if next + 1 == sample.targets.len() { 0 } else { next + 1 };
            decide(black_box(target))
        });
    });
}

fn decide(criterion: &mut Criterion, sample: &Sample, quick_peers: bool) {
    let mut group = criterion.benchmark_group(format!("decide/{}", sample.name));
    let ours = Robots::parse(&sample.robots, &ParseLimits::default()).robots;
    let tokens = [sample.agent];
    one(&mut group, "ours", sample, |target| ours.judge(black_box(&tokens), true, target.as_bytes()).allow);
    let robotxt = robotxt::Robots::parse(&sample.robots, sample.agent);
    agree(sample, "robotxt", |target| robotxt.is_allowed(target));
    one(&mut group, "robotxt", sample, |target| robotxt.is_allowed(target));
    if let Ok(texting) = texting_robots::Robot::new(sample.agent, &sample.robots) {
        agree(sample, "texting_robots", |target| texting.allowed(target));
        one(&mut group, "texting_robots", sample, |target| texting.allowed(target));
    }
    if quick_peers {
        let text = std::str::from_utf8(&sample.robots).unwrap_or_default();
        let decide = |target: &str| {
            robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(text, sample.agent, target)
        };
        // It encodes bytes beyond ASCII in rules but not in targets, so there it answers otherwise.
        if sample.targets.iter().all(|target| target.is_ascii()) {
            agree(sample, "robotstxt", decide);
        }
        one(&mut group, "robotstxt", sample, decide);
    }
    group.finish();
}

fn parse(criterion: &mut Criterion, sample: &Sample) {
    let mut group = criterion.benchmark_group(format!("parse/{}", sample.name));
    group.throughput(criterion::Throughput::Bytes(sample.robots.len() as u64));
    let limits = ParseLimits::default();
    group.bench_function("ours, all crawlers", |bench| {
        bench.iter(|| Robots::parse(black_box(&sample.robots), &limits));
    });
    group.bench_function("robotxt, one crawler", |bench| {
        bench.iter(|| robotxt::Robots::parse(black_box(&sample.robots), sample.agent));
    });
    if texting_robots::Robot::new(sample.agent, &sample.robots).is_ok() {
        group.bench_function("texting_robots, one crawler", |bench| {
            bench.iter(|| texting_robots::Robot::new(sample.agent, black_box(&sample.robots)));
        });
    }
    let text = std::str::from_utf8(&sample.robots).unwrap_or_default();
    // It has no parsed form: one decision is one pass over the file.
    if !sample.name.contains("hostile") {
        group.bench_function("robotstxt, one decision", |bench| {
            bench.iter(|| {
                robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(
                    black_box(text),
                    sample.agent,
                    "/",
                )
            });
        });
    }
    group.finish();
}

/// The least time of one decision over several passes, in nanoseconds.
fn least(robots: &Robots, sample: &Sample) -> f64 {
    let tokens = [sample.agent];
    let mut least = Duration::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        for _ in 0..20 {
            for target in &sample.targets {
                black_box(robots.judge(black_box(&tokens), true, black_box(target.as_bytes())));
            }
        }
        least = least.min(start.elapsed());
    }
    least.as_secs_f64() * 1e9 / (20 * sample.targets.len()) as f64
}

/// Doubles the number of rules and prints what a decision costs.
fn doubling(start: usize) {
    println!("doubling the rules from {start}:");
    let mut first = None;
    for step in 0..=4 {
        let count = start << step;
        let sample = files::rules(count);
        let robots = Robots::parse(&sample.robots, &ParseLimits { max_bytes: sample.robots.len() }).robots;
        let time = least(&robots, &sample);
        let first = *first.get_or_insert(time);
        println!("{count:>8} rules {:>9} bytes {time:>8.1} ns {:>5.2}x", sample.robots.len(), time / first);
    }
}

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(50)
        .configure_from_args();
    for sample in
        [files::small(), files::large(), files::rules(10_000), files::groups(false), files::groups(true)]
    {
        decide(&mut criterion, &sample, true);
    }
    // robotstxt needs seconds to minutes for one decision here.
    for sample in
        [files::long_targets(), files::hostile(), files::hundred_hostile(), files::nearly_matching()]
    {
        decide(&mut criterion, &sample, false);
    }
    for sample in
        [files::small(), files::large(), files::rules(10_000), files::groups(false), files::hundred_hostile()]
    {
        parse(&mut criterion, &sample);
    }
    doubling(625);
    doubling(10_000);
    criterion.final_summary();
}
