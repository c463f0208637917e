//! The engine and the naive matcher give the same answers, rule line included.

use crate::generate::{self, Random, TOKENS};
use crate::naive::Naive;
use robots_gateway::robots::{Limits, Robots};

/// Compares on at least `decisions` decisions; files hold up to about `rules` rules a group.
fn compare(seed: u64, decisions: usize, rules: usize) {
    let mut random = Random::new(seed);
    let (mut done, mut disallowed, mut decided) = (0, 0, 0);
    while done < decisions {
        let file = generate::file(&mut random, rules);
        let robots = Robots::parse(&file.bytes, &Limits::default()).robots;
        let naive = Naive::parse(&file.bytes);
        for _ in 0..40 {
            let target = if random.one_in(3) || file.patterns.is_empty() {
                generate::target(&mut random, file.alphabet)
            } else {
                let pattern = file.patterns[random.below(file.patterns.len())].clone();
                generate::near(&mut random, &pattern, file.alphabet)
            };
            let first = random.pick(&TOKENS);
            let second = random.pick(&TOKENS);
            let tokens: &[&str] = if random.one_in(3) { &[first, second] } else { &[first] };
            let star = !random.one_in(5);
            let ours = robots.judge(tokens, star, &target);
            let theirs = naive.judge(tokens, star, &target);
            assert_eq!(
                (ours.allow, ours.rule.map(|rule| rule.line)),
                (theirs.allow, theirs.line),
                "file {:?}\ntokens {tokens:?} star {star} target {:?}",
                String::from_utf8_lossy(&file.bytes),
                String::from_utf8_lossy(&target),
            );
            done += 1;
            disallowed += usize::from(!ours.allow);
            decided += usize::from(ours.rule.is_some());
        }
    }
    // A generator whose rules never decide would prove nothing.
    assert!(decided * 4 > done, "{decided} of {done} decisions came from a rule");
    assert!(disallowed * 8 > done, "{disallowed} of {done} decisions disallow");
}

#[test]
fn on_small_files() {
    compare(1, 100_000, 6);
}

#[test]
fn on_larger_files() {
    compare(2, 12_000, 150);
}

/// `cargo test --release --test robots -- --ignored ten_million`
#[test]
#[ignore = "takes minutes"]
fn ten_million_decisions() {
    compare(3, 8_000_000, 6);
    compare(4, 1_600_000, 40);
    compare(5, 400_000, 400);
}
