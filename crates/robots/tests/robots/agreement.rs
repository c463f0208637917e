//! The engine and the naive matcher give the same answers, rule line included.

use crate::generate::{self, Random, TOKENS};
use crate::naive::Naive;
use rfc9309::{ParseLimits, Robots};
use std::fmt::Write;

/// Compares on at least `decisions` decisions; files hold up to about `rules` rules a group.
fn compare(seed: u64, decisions: usize, rules: usize) {
    let mut random = Random::new(seed);
    let (mut done, mut disallowed, mut decided) = (0, 0, 0);
    while done < decisions {
        let file = generate::file(&mut random, rules);
        let robots = Robots::parse(&file.bytes, &ParseLimits::default()).robots;
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

/// Compares on `decisions` random targets; how many are disallowed.
fn compare_on(file: &str, tokens: &[String], letters: &str, decisions: usize) -> usize {
    let mut random = Random::new(6);
    let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
    let naive = Naive::parse(file.as_bytes());
    let letters = letters.as_bytes();
    let mut disallowed = 0;
    for _ in 0..decisions {
        let size = 4 + random.below(12);
        let bytes = (0..size).map(|_| letters[random.below(letters.len())]);
        let target: Vec<u8> = std::iter::once(b'/').chain(bytes).collect();
        let token = tokens[random.below(tokens.len())].as_str();
        let ours = robots.judge(&[token], true, &target);
        let theirs = naive.judge(&[token], true, &target);
        assert_eq!(
            (ours.allow, ours.rule.map(|rule| rule.line)),
            (theirs.allow, theirs.line),
            "{token} {}",
            String::from_utf8_lossy(&target)
        );
        disallowed += usize::from(!ours.allow);
    }
    disallowed
}

/// More rules with `*` in one group than a search has marks for.
#[test]
fn on_nine_thousand_rules_with_stars() {
    let mut random = Random::new(8);
    let mut file = String::from("User-agent: *\n");
    let mut word =
        |size: usize| -> String { (0..size).map(|_| char::from(b"abcdefgh"[random.below(8)])).collect() };
    for number in 0..9000 {
        let record = ["Disallow", "Disallow", "Allow"][number % 3];
        let _ =
            writeln!(file, "{record}: /*{}*{}{}", word(2), word(1 + number % 3), ["", "$"][number / 5 % 2]);
    }
    let disallowed = compare_on(&file, &["FooBot".to_owned()], "abcdefgh", 60);
    assert!((5..60).contains(&disallowed), "{disallowed}");
}

/// Groups beyond what may be combined keep their parts apart.
#[test]
fn on_groups_that_are_too_many_to_combine() {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 20).unwrap());
    let tokens: Vec<String> = (0..600).map(|n| [n / 400, n / 20, n].map(letter).iter().collect()).collect();
    let mut file = format!("User-agent: {}\n", tokens.join("\nUser-agent: "));
    for number in 0..100 {
        let (one, two) = (letter(number % 8), letter(number / 8 % 8));
        let _ = writeln!(file, "{}: /*{one}{two}", ["Disallow", "Allow"][number % 2]);
    }
    for (number, token) in tokens.iter().enumerate() {
        let (one, two) = (letter(number % 8), letter(number / 8 % 8));
        let _ = write!(file, "User-agent: {token}\nDisallow: /*{one}*{two}\nAllow: /{one}{two}*{one}\n");
    }
    let disallowed = compare_on(&file, &tokens, "abcdefgh", 1500);
    assert!((100..1400).contains(&disallowed), "{disallowed}");
}

/// Rules and targets that are too much to try one by one, so that rules are tried together.
#[test]
fn on_rules_that_are_tried_together() {
    let mut random = Random::new(12);
    let bytes = ["a", "a", "b", "b", "ab", "aab", "/", "%2F", "?", "%3F", "c", "%3D"];
    let (mut decided, mut undecided) = (0, 0);
    for (number, kinds) in [2, 5, 7, 12].into_iter().enumerate() {
        let mut text = |size: usize, stars: usize| {
            let mut text = String::from("/");
            for _ in 0..size {
                text.push_str(if random.below(9) < stars { "*" } else { bytes[random.below(kinds)] });
            }
            text
        };
        let mut file = String::from("User-agent: *\n");
        for rule in 0..500 {
            let record = ["Disallow", "Disallow", "Allow"][rule % 3];
            let (body, end) = (text(30 + number * 20, 2), ["", "d", "$", "*d*c"][rule % 4]);
            let _ = writeln!(file, "{record}: {}{body}{end}", ["", "*"][rule / 4 % 2]);
        }
        let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
        let naive = Naive::parse(file.as_bytes());
        for size in [200, 400, 1000] {
            let target = text(size, 0);
            let ours = robots.judge(&["FooBot"], true, target.as_bytes());
            let theirs = naive.judge(&["FooBot"], true, target.as_bytes());
            assert_eq!(
                (ours.allow, ours.rule.map(|rule| rule.line)),
                (theirs.allow, theirs.line),
                "{target}"
            );
            decided += usize::from(ours.rule.is_some());
            undecided += usize::from(ours.rule.is_none());
        }
    }
    assert!(decided > 2 && undecided > 2, "{decided} {undecided}");
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
