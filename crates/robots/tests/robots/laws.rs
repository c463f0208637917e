//! Laws that hold for every file and target.

use crate::generate::{self, Alphabet, Random};
use crate::robots;

const ROUNDS: u64 = 400;

struct LawCase {
    random: Random,
    alphabet: Alphabet,
    /// Rule lines of one group.
    lines: Vec<Vec<u8>>,
    targets: Vec<Vec<u8>>,
}

fn case(seed: u64) -> LawCase {
    let mut random = Random::new(seed);
    let alphabet = Alphabet::any(&mut random);
    let mut lines = Vec::new();
    let mut targets = Vec::new();
    // Some groups are long enough to be compiled in another way than short ones.
    for _ in 0..=random.below(40) {
        let pattern = generate::pattern(&mut random, alphabet);
        for _ in 0..3 {
            targets.push(generate::near(&mut random, &pattern, alphabet));
        }
        let name: &[u8] = if random.one_in(3) { b"Allow: " } else { b"Disallow: " };
        lines.push([name, pattern.as_slice()].concat());
    }
    targets.extend((0..10).map(|_| generate::target(&mut random, alphabet)));
    LawCase { random, alphabet, lines, targets }
}

fn group(lines: &[Vec<u8>]) -> Vec<u8> {
    [b"User-agent: FooBot\n", lines.join(&b"\n"[..]).as_slice(), b"\n"].concat()
}

/// Whether each target may be fetched.
fn decide(file: &[u8], targets: &[Vec<u8>]) -> Vec<bool> {
    let robots = robots(file);
    targets.iter().map(|target| robots.judge(&["FooBot"], true, target).allow).collect()
}

#[test]
fn adding_an_allow_rule_never_disallows_more() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        let pattern = generate::pattern(&mut case.random, case.alphabet);
        case.lines.push([b"Allow: ", pattern.as_slice()].concat());
        let after = decide(&group(&case.lines), &case.targets);
        assert!(before.iter().zip(&after).all(|(before, after)| before <= after), "seed {seed}");
    }
}

#[test]
fn adding_a_disallow_rule_never_allows_more() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        let pattern = generate::pattern(&mut case.random, case.alphabet);
        case.lines.push([b"Disallow: ", pattern.as_slice()].concat());
        let after = decide(&group(&case.lines), &case.targets);
        assert!(before.iter().zip(&after).all(|(before, after)| before >= after), "seed {seed}");
    }
}

#[test]
fn the_order_of_rules_does_not_matter() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        for at in (1..case.lines.len()).rev() {
            let other = case.random.below(at + 1);
            case.lines.swap(at, other);
        }
        assert_eq!(before, decide(&group(&case.lines), &case.targets), "seed {seed}");
    }
}

#[test]
fn how_rules_are_spread_over_groups_does_not_matter() {
    for seed in 0..ROUNDS {
        let case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        let (first, second) = case.lines.split_at(case.lines.len() / 2);
        let other: &[u8] = b"User-agent: BarBot\nDisallow: /\n";
        let apart = [group(second).as_slice(), other, group(first).as_slice()].concat();
        assert_eq!(before, decide(&apart, &case.targets), "seed {seed}");
    }
}

#[test]
fn saying_a_rule_twice_changes_nothing() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        case.lines.extend(case.lines.clone());
        assert_eq!(before, decide(&group(&case.lines), &case.targets), "seed {seed}");
    }
}

/// Section 2.2.2: an unreserved character and its encoded form are one, in rules and targets.
#[test]
fn encoding_unreserved_characters_changes_nothing() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        for target in &mut case.targets {
            *target = encode(&mut case.random, target, 0);
        }
        assert_eq!(before, decide(&group(&case.lines), &case.targets), "seed {seed}, targets");
        for line in &mut case.lines {
            let value = line.iter().position(|&b| b == b' ').map_or(0, |at| at + 1);
            *line = encode(&mut case.random, line, value);
        }
        assert_eq!(before, decide(&group(&case.lines), &case.targets), "seed {seed}, rules");
    }
}

/// Encodes some unreserved characters from `start` on, but none that belongs to an encoding.
fn encode(random: &mut Random, text: &[u8], start: usize) -> Vec<u8> {
    let mut out = text[..start].to_vec();
    for (at, &byte) in text.iter().enumerate().skip(start) {
        let inside = text[at.saturating_sub(2)..at].contains(&b'%');
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if unreserved && !inside && random.one_in(2) {
            out.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            out.push(byte);
        }
    }
    out
}

#[test]
fn a_star_at_the_end_matches_the_same() {
    for seed in 0..ROUNDS {
        let case = case(seed);
        for line in case.lines.iter().filter(|line| !line.ends_with(b"$") && !line.ends_with(b" ")) {
            let plain = group(std::slice::from_ref(line));
            let starred = group(&[[line, &b"*"[..]].concat()]);
            assert_eq!(decide(&plain, &case.targets), decide(&starred, &case.targets), "seed {seed}");
        }
    }
}

#[test]
fn other_lines_change_nothing() {
    for seed in 0..ROUNDS {
        let mut case = case(seed);
        let before = decide(&group(&case.lines), &case.targets);
        for _ in 0..5 {
            let noise: &[u8] =
                case.random.pick(&[b"Sitemap: /x", b"", b"# x", b"nonsense", b"Crawl-delay: 1", b"a: b: c"]);
            let at = case.random.below(case.lines.len() + 1);
            case.lines.insert(at, noise.to_vec());
        }
        assert_eq!(before, decide(&group(&case.lines), &case.targets), "seed {seed}");
    }
}

#[test]
fn parsing_twice_gives_the_same() {
    for seed in 0..ROUNDS {
        let file = generate::file(&mut Random::new(seed), 30).bytes;
        let (one, two) = (crate::parse(&file), crate::parse(&file));
        assert_eq!(one.findings, two.findings);
        assert!(one.robots.rules().map(|(_, rule)| rule).eq(two.robots.rules().map(|(_, rule)| rule)));
        assert!(one.robots.tokens().eq(two.robots.tokens()));
    }
}

/// Line, text and group of an answer are those of the file.
#[test]
fn the_rule_of_an_answer_stands_in_the_file() {
    let mut seen = 0;
    for seed in 0..ROUNDS {
        let mut random = Random::new(seed);
        let file = generate::file(&mut random, 20);
        let robots = robots(&file.bytes);
        for _ in 0..30 {
            let target = generate::target(&mut random, file.alphabet);
            let judgement = robots.judge(&generate::TOKENS, true, &target);
            let Some(rule) = judgement.rule else { continue };
            seen += 1;
            assert_eq!(judgement.allow, rule.kind.as_str() == "allow");
            let (values, found) = robots.rules().find(|(_, other)| other.line == rule.line).unwrap();
            assert_eq!(found, rule);
            let group = judgement.group.unwrap();
            let mut values: Vec<&str> = values.collect();
            let mut known = std::collections::HashSet::new();
            values.retain(|value| known.insert(*value));
            assert_eq!(group.tokens(), values);
            assert!(rule.text.ends_with(rule.pattern));
        }
    }
    assert!(seen > 1000, "{seen}");
}
