//! Files and targets made to do harm: no panic, bounded time and memory.

use crate::generate::Random;
use crate::{judge, parse, robots};
use rfc9309::FindingKind;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Far above what is needed even without optimisation on a busy machine, far below what anything
/// quadratic would take.
const PATIENCE: Duration = Duration::from_secs(8);

fn noise(random: &mut Random, size: usize) -> Vec<u8> {
    (0..=size / 8).flat_map(|_| random.next().to_le_bytes()).take(size).collect()
}

fn random_bytes(files: usize, size: usize) {
    let mut random = Random::new(9309);
    for _ in 0..files {
        let bytes = noise(&mut random, size);
        let parsed = parse(&bytes);
        let target = noise(&mut random, 200);
        judge(&parsed.robots, "FooBot", &String::from_utf8_lossy(&target));
        parsed.robots.judge(&["a"], true, &target);
    }
}

#[test]
fn random_bytes_are_parsed() {
    random_bytes(8, 500 * 1024);
}

/// Names, separators and values of records in any order: what gets deeper into the parser than noise.
fn soup(random: &mut Random, size: usize) -> Vec<u8> {
    const PARTS: [&[u8]; 41] = [
        b"\nDisallow: /",
        b"\nDisallow: /",
        b"\nAllow: /",
        b"\nDisallow: *",
        b"\nUser-agent: a\n",
        b"User-agent",
        b"Allow",
        b"Disallow",
        b"Sitemap",
        b"Crawl-delay",
        b"Content-Usage",
        b"Content-Signal",
        b"Host",
        b"Disalow",
        b"Noindex",
        b": ",
        b": ",
        b": ",
        b": ",
        b":",
        b"\n",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b" ",
        b"#",
        b"\0",
        b"*",
        b"*",
        b"$",
        b"/",
        b"/a",
        b"a",
        b"b",
        b"%2F",
        b"%61",
        b"?",
        b"\xC3\xA9",
        b"\xFF",
        b"https://example.com/a",
    ];
    let mut soup = Vec::with_capacity(size + 32);
    while soup.len() < size {
        soup.extend_from_slice(PARTS[random.below(PARTS.len())]);
    }
    soup
}

#[test]
fn records_in_any_order_are_parsed() {
    let start = Instant::now();
    let mut random = Random::new(9310);
    let (mut rules, mut decided) = (0, 0);
    for number in 0..200 {
        let parsed = parse(
            [
                &b"User-agent: a\nUser-agent: *\n"[..],
                &soup(&mut random, if number % 50 == 0 { 400 * 1024 } else { 800 }),
            ]
            .concat(),
        );
        rules += parsed.robots.rules().count();
        for _ in 0..20 {
            let size = random.below(40);
            let target = [&b"/"[..], &soup(&mut random, size)].concat();
            let group = parsed.robots.group(&["a", "b"], true);
            group.map(|group| {
                (group.preferences_for(&target).len(), parsed.robots.preferences(Some(group)).len())
            });
            decided += usize::from(parsed.robots.judge(&["a", "b"], true, &target).rule.is_some());
        }
    }
    // Soup without rules that decide would try nothing.
    assert!(rules > 1000 && decided > 100, "{rules} {decided}");
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// `cargo test --release --test robots -- --ignored hundred_megabytes`
#[test]
#[ignore = "takes long without optimisation"]
fn hundred_megabytes_of_random_bytes() {
    random_bytes(200, 500 * 1024);
}

#[test]
fn a_line_of_500_kib() {
    let start = Instant::now();
    for byte in ["a", "*", "%", "%41", "/", "$", " ", "\0", "\u{e9}", "*a", ":"] {
        let line = byte.repeat(500 * 1024 / byte.len() - 200);
        for file in [
            format!("User-agent: *\nDisallow: /{line}\nDisallow: /z\n"),
            format!("User-agent: {line}\nDisallow: /z\n\nUser-agent: *\nDisallow: /z\n"),
            format!("{line}\nUser-agent: *\nDisallow: /z\n"),
        ] {
            let robots = robots(&file);
            // In a pattern, some of them stand for everything or for nothing.
            let everything = ["*", " ", "\0"].contains(&byte);
            assert!(judge(&robots, "FooBot", "/y").allow || everything, "{byte:?}");
            assert!(!judge(&robots, "FooBot", "/z").allow, "{byte:?}");
            robots.judge(&["FooBot"], true, line.as_bytes());
        }
    }
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

#[test]
fn deeply_repeated_groups() {
    let start = Instant::now();
    let robots = robots("User-agent: a\nUser-agent: *\nDisallow: /x\n".repeat(12_000));
    assert!(!judge(&robots, "a", "/x").allow && !judge(&robots, "b", "/x").allow);
    assert_eq!(robots.group(&["a"], true).unwrap().tokens(), ["a", "*"]);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// Thousands of tokens, each of which combines its own rule with thousands that all have.
#[test]
fn groups_that_combine_much() {
    let start = Instant::now();
    let mut file = String::new();
    for number in 0..4000 {
        let _ = writeln!(file, "User-agent: {}", name(number));
    }
    for number in 0..4000 {
        let _ = writeln!(file, "Disallow: /all/{number}");
    }
    for number in 0..4000 {
        let _ = write!(file, "User-agent: {}\nDisallow: /own/{number}\n", name(number));
    }
    let robots = robots(&file);
    for number in [0, 1, 1234, 3999] {
        let token = name(number);
        assert!(!judge(&robots, &token, &format!("/own/{number}")).allow);
        assert!(!judge(&robots, &token, "/all/77").allow);
        assert!(judge(&robots, &token, &format!("/own/9{number}")).allow);
    }
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// A token of letters only.
fn name(number: usize) -> String {
    let letter = |digit: usize| char::from(b'a' + u8::try_from(digit % 20).unwrap());
    [number / 8000, number / 400, number / 20, number].map(letter).iter().collect()
}

/// Rules with many stars against targets that match them nearly.
#[test]
fn stars_upon_stars() {
    let start = Instant::now();
    let target = format!("/{}", "a".repeat(8191));
    let mut file = String::from("User-agent: *\n");
    for stars in 1..=100 {
        let _ = writeln!(file, "Disallow: /{}*b$", "*a".repeat(stars));
        let _ = writeln!(file, "Disallow: /{}*b", "*a".repeat(stars));
        let _ = writeln!(file, "Disallow: /{}*%2Fb", "*a".repeat(stars));
    }
    let robots = robots(&file);
    for _ in 0..50 {
        assert!(judge(&robots, "FooBot", &target).allow);
    }
    assert!(!judge(&robots, "FooBot", &format!("{target}b")).allow);
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// Every rule's bytes occur in the target, in an order that matches none.
#[test]
fn rules_that_all_have_to_be_checked() {
    let start = Instant::now();
    let mut file = String::from("User-agent: *\n");
    let mut random = Random::new(7);
    let words: Vec<String> = (0..12).map(|number| format!("w{number:02}xyz")).collect();
    for _ in 0..8000 {
        let parts: Vec<&str> = (0..4).map(|_| words[random.below(words.len())].as_str()).collect();
        let _ = writeln!(file, "Disallow: /*{}*", parts.join("*"));
    }
    let robots = robots(&file);
    let target = format!("/{}", words.iter().rev().map(|word| word.repeat(100)).collect::<String>());
    for _ in 0..10 {
        judge(&robots, "FooBot", &target);
    }
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
}

/// When the target was read for 4 MiB, rules with `*` count as not matching; rules without are always tried.
#[test]
fn a_target_is_read_so_often_and_no_more() {
    let slow = "Disallow: /a*zzzz*longest-and-absent\n";
    let file = |slow_rules: usize| {
        format!("User-agent: *\nDisallow: /b/\n{}Disallow: /*zzzz\n", slow.repeat(slow_rules))
    };
    let has_finding =
        |file: &str| parse(file).findings.iter().any(|found| found.kind == FindingKind::ManyStars);
    let (few, many) = (file(480), file(600));
    assert!(!has_finding(&few) && has_finding(&many));
    let long = |start: &str| format!("{start}{}longest-and-absentzzzz", "y".repeat(8150));
    for (file, is_read) in [(&few, true), (&many, false)] {
        let robots = robots(file);
        assert_eq!(!judge(&robots, "FooBot", &long("/a")).allow, is_read);
        assert!(!judge(&robots, "FooBot", &long("/b/")).allow);
        assert!(!judge(&robots, "FooBot", "/a/zzzz").allow, "a short target is read for every rule");
    }
}

#[test]
fn targets_of_any_bytes() {
    let mut random = Random::new(11);
    let robots = robots("User-agent: *\nDisallow: /a*%2Fb*c$\nAllow: /%FF\nDisallow: /*%3F*%26\n");
    for size in 0..2000 {
        let target = noise(&mut random, size);
        robots.judge(&["a"], true, &target);
    }
    assert!(robots.judge(&["a"], true, b"").allow);
}
