//! How much memory and time reading a file made to do harm takes (RFC 9309 section 2.5: a parser has
//! limits of its own). A process of its own, because the peak is that of the whole process.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test may fail")]

use rfc9309::{ParseLimits, Robots};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What reading 500 KiB may take at its peak.
const MOST_BYTES: usize = 64 * 1024 * 1024;

/// Far above what it takes without optimisation on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

/// A token of three letters.
fn name(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 26).unwrap());
    [number / 676, number / 26, number].map(letter).iter().collect()
}

/// `tokens` tokens share `rules`, and each has a rule of its own beside them.
fn file(tokens: usize, rules: &str) -> String {
    let mut file = String::new();
    for number in 0..tokens {
        let _ = writeln!(file, "user-agent:{}", name(number));
    }
    file += rules;
    for number in 0..tokens {
        let _ = write!(file, "user-agent:{}\nallow:/own/{number}\n", name(number));
    }
    file
}

/// A figure of this process in bytes.
fn memory(figure: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(figure)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// Tests of this file measure the same process, so they wait for each other.
static ALONE: Mutex<()> = Mutex::new(());

/// 10,000 rules and 500 groups in less than 8 MiB.
#[test]
fn ten_thousand_rules_and_500_groups_take_less_than_8_mib() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut file = String::new();
    for group in 0..500 {
        let _ = writeln!(file, "User-agent: {}", name(group));
        for rule in 0..20 {
            let number = (group * 20 + rule) * 7919 % 10_007;
            let star = ["", "*", "/*/x", "", "", ""][number % 6];
            let _ = writeln!(file, "Disallow: /{number:06x}/{:05x}/{group:04x}{star}", number * 31);
        }
    }
    assert!(file.len() < 500 * 1024);
    let parse = || Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
    assert_eq!(parse().rules().count(), 10_000);
    let before = memory("VmRSS:");
    let copies: Vec<_> = (0..8).map(|_| parse()).collect();
    let each = memory("VmRSS:").saturating_sub(before) / copies.len();
    println!("{} KiB each", each / 1024);
    assert!(each > 256 * 1024, "{each} bytes cannot be right");
    assert!(each < 8 * 1024 * 1024, "{each} bytes");
}

#[test]
fn rules_that_thousands_of_groups_share_are_kept_once() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut medium = String::new();
    for number in 0..300 {
        let _ = writeln!(medium, "disallow:/*{}*x%2F{}", name(number), "y".repeat(600));
    }
    let before = memory("VmRSS:");
    for (what, file, target) in [
        (
            "stars",
            file(400, &format!("disallow:/{}b\n", "*a".repeat(150_000))),
            format!("/{}b", "a".repeat(150_000)),
        ),
        (
            "bytes",
            file(4000, &format!("disallow:/{}%20\n", "a".repeat(300_000))),
            format!("/{}%20", "a".repeat(300_000)),
        ),
        ("rules", file(4000, &medium), format!("/aaax%2F{}", "y".repeat(600))),
    ] {
        let start = Instant::now();
        let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
        let taken = start.elapsed();
        let peak = memory("VmHWM:") - before;
        println!("{what}: {} KiB, {taken:?}", peak / 1024);
        assert!(peak > file.len(), "{what}: {peak} bytes cannot be right");
        assert!(peak < MOST_BYTES, "{what}: {peak} bytes");
        assert!(taken < PATIENCE, "{what}: {taken:?}");
        // The shared rules decide for the first token and the last, combined or not.
        for token in [name(0), name(399)] {
            let judge = |target: &str| robots.judge(&[&token], true, target.as_bytes()).allow;
            assert!(!judge(&target), "{what}");
            assert!(judge("/own") && judge(&target[..target.len() - 1]), "{what}");
        }
        assert!(robots.judge(&[name(7)], true, b"/own/7").rule.is_some(), "{what}");
    }
}
