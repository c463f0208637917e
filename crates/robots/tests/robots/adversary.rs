//! A search for files and targets that make one decision slow, within 500 KiB and 8 KiB.
//!
//! Times are told in passes: how long it takes to read the target once, byte by byte.

use crate::generate::Random;
use crate::parse;
use rfc9309::{LEAST_LIMIT, Parsed};
use std::fmt::Write;
use std::hint::black_box;
use std::time::Duration;

const TARGET: usize = 8 * 1024;

/// What a file made to do harm is like.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent, and the search tries them all")]
struct AdversaryShape {
    /// How many letters pieces and target are made of.
    letters: usize,
    /// Pieces of a rule, and the bytes of each.
    pieces: usize,
    size: usize,
    tail: Tail,
    /// Pieces are of one letter and of any size up to `size`, so that they end in each other.
    nested: bool,
    anchored: bool,
    /// Some bytes are `%2F`, which is read in two ways, and the target has a query.
    encoded: bool,
    /// Tokens, each of which combines nearly all parts of the file.
    tokens: usize,
    /// Rules start with parts of the target of many lengths.
    prefixes: bool,
}

/// What the last piece of a rule has that the target does not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Tail {
    /// Nothing.
    None,
    /// One of so many bytes that are nowhere.
    Absent(usize),
    /// Bytes that are different for every rule.
    Distinct,
    /// Bytes that stand only at the start of the target.
    First,
}

impl AdversaryShape {
    fn any(random: &mut Random) -> Self {
        Self {
            letters: random.pick(&[1, 2, 2, 3, 4, 26]),
            pieces: random.pick(&[1, 2, 3, 4, 8, 20, 45, 120]),
            size: random.pick(&[1, 2, 3, 5, 7, 7, 8, 12, 16, 40, 300, 2000]),
            tail: random.pick(&[
                Tail::None,
                Tail::Absent(1),
                Tail::Absent(2),
                Tail::Absent(4),
                Tail::Distinct,
                Tail::Distinct,
                Tail::First,
                Tail::First,
            ]),
            nested: random.one_in(4),
            anchored: random.one_in(5),
            encoded: random.one_in(6),
            tokens: random.pick(&[0, 0, 0, 40, 80]),
            prefixes: random.one_in(6),
        }
    }

    fn letter(self, random: &mut Random) -> char {
        char::from(b'a' + u8::try_from(random.below(self.letters)).unwrap())
    }

    /// Letters without what only tails have.
    fn word(self, random: &mut Random, size: usize) -> String {
        let mut word = String::new();
        while word.len() < size {
            word.push(self.letter(random));
            if word.ends_with("bbbbb") {
                word.pop();
                word.push('a');
            }
        }
        word
    }

    fn piece(self, random: &mut Random) -> String {
        if self.nested {
            return "a".repeat(1 + random.below(self.size));
        }
        let mut piece = self.word(random, self.size);
        if self.encoded && random.one_in(3) {
            piece.replace_range(..1, "%2F");
        }
        piece
    }

    fn rule(self, random: &mut Random, target: &str) -> String {
        let prefix = if self.prefixes { &target[1..=random.below(200)] } else { "" };
        let mut rule = format!("/{prefix}*");
        for _ in 1..self.pieces {
            rule.push_str(&self.piece(random));
            rule.push('*');
        }
        match self.tail {
            Tail::None => rule.push_str(&self.piece(random)),
            Tail::Absent(kinds) => {
                let _ = write!(rule, "bbbbb{}", ["a", "ba", "bba", "bbba"][random.below(kinds)]);
            }
            Tail::Distinct => rule.extend([&self.word(random, 14), "bbbbb"]),
            Tail::First => rule.push_str("aabbbbb"),
        }
        if self.anchored {
            // The target ends so.
            rule.push_str("*aa$");
        }
        rule
    }

    fn target(self, random: &mut Random) -> String {
        let head = if self.tail == Tail::First { "/aabbbbb" } else { "/" };
        let mut target = head.to_owned() + &self.word(random, TARGET - 2 - head.len()) + "aa";
        if self.encoded {
            target.replace_range(TARGET / 2..=TARGET / 2, "?");
            for at in (10..TARGET - 10).step_by(97) {
                let bytes = if at < TARGET / 2 { "%2F" } else { "/ab" };
                target.replace_range(at..at + 3, bytes);
            }
        }
        target
    }

    fn file(self, random: &mut Random, target: &str) -> String {
        let mut file = String::from(if self.tokens == 0 { "user-agent:x\n" } else { "" });
        let mut block = 0;
        while file.len() < LEAST_LIMIT - 8000 {
            for token in (0..self.tokens).filter(|token| token % 300 != block % 300) {
                let _ = writeln!(file, "user-agent:x{}", letters(token));
            }
            block += 1;
            for _ in 0..if self.tokens == 0 { 100 } else { 12 } {
                let _ = writeln!(file, "disallow:{}", self.rule(random, target));
            }
        }
        file.truncate(file.rfind('\n').unwrap_or(0));
        file
    }
}

fn letters(number: usize) -> String {
    [number / 20, number % 20].map(|digit| char::from(b'a' + u8::try_from(digit).unwrap())).iter().collect()
}

/// What this thread has had of the processor: a busy machine takes none of it away.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The least of several times.
fn least(runs: usize, mut work: impl FnMut()) -> Duration {
    let time = |_| {
        let start = processor_time();
        work();
        processor_time().saturating_sub(start)
    };
    (0..runs).map(time).min().unwrap_or_default()
}

/// One pass over the target, byte by byte.
fn pass(target: &str) -> Duration {
    least(9, || {
        let mix = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        black_box(black_box(target).as_bytes().iter().fold(0xCBF2_9CE4_8422_2325, mix));
    })
}

struct SlowDecision {
    decision: Duration,
    passes: f64,
    parsing: Duration,
    rules: usize,
}

fn measure(shape: AdversaryShape, random: &mut Random) -> SlowDecision {
    let target = shape.target(random);
    let file = shape.file(random, &target);
    let parsing = least(2, || {
        black_box(parse(&file));
    });
    let Parsed { robots, .. } = parse(&file);
    let tokens = [if shape.tokens == 0 { "x".to_owned() } else { format!("x{}", letters(shape.tokens - 1)) }];
    let decision = least(5, || {
        black_box(robots.judge(&tokens, true, black_box(target.as_bytes())).allow);
    });
    let passes = decision.as_secs_f64() / pass(&target).as_secs_f64();
    SlowDecision { decision, passes, parsing, rules: robots.rules().count() }
}

/// 700 passes are the most that was seen where optimised; without a bound it is some 15,000, and 100,000 where not.
const MOST: f64 = if cfg!(debug_assertions) { 12_000.0 } else { 1500.0 };

#[test]
fn known_ways_to_slow_a_decision() {
    let rules = AdversaryShape {
        letters: 2,
        pieces: 4,
        size: 7,
        tail: Tail::Distinct,
        nested: false,
        anchored: false,
        encoded: false,
        tokens: 0,
        prefixes: false,
    };
    let mut random = Random::new(9309);
    for (name, shape) in [
        ("distinct tails", rules),
        ("four tails", AdversaryShape { tail: Tail::Absent(4), ..rules }),
        ("tails at the start", AdversaryShape { tail: Tail::First, ..rules }),
        (
            "nested pieces",
            AdversaryShape { letters: 1, size: 1000, pieces: 2, nested: true, tail: Tail::First, ..rules },
        ),
        ("anchored", AdversaryShape { anchored: true, ..rules }),
        ("many pieces", AdversaryShape { letters: 26, pieces: 45, size: 1, tail: Tail::First, ..rules }),
        ("two readings", AdversaryShape { encoded: true, ..rules }),
        ("repeated groups", AdversaryShape { tokens: 80, ..rules }),
        ("many literals", AdversaryShape { prefixes: true, ..rules }),
    ] {
        let SlowDecision { decision, passes, parsing, rules } = measure(shape, &mut random);
        println!("{name}: {decision:?}, {passes:.0} passes; {rules} rules, parsed in {parsing:?}");
        assert!(passes < MOST, "{name}: {passes}");
    }
}

/// `cargo test --release --test robots -- --ignored --nocapture slow_decisions`
#[test]
#[ignore = "takes minutes"]
fn search_for_slow_decisions() {
    let mut random = Random::new(93_09);
    let (mut slowest, mut longest) = (0.0, Duration::ZERO);
    for number in 0..400 {
        let shape = AdversaryShape::any(&mut random);
        let SlowDecision { decision, passes, parsing, rules } = measure(shape, &mut random);
        longest = longest.max(parsing);
        if passes > slowest {
            slowest = passes;
            println!(
                "{number}: {decision:?}, {passes:.0} passes; {rules} rules, parsed in {parsing:?}: {shape:?}"
            );
        }
    }
    println!("slowest decision: {slowest:.0} passes; slowest parse: {longest:?}");
    assert!(slowest < MOST && longest < Duration::from_secs(2), "{slowest} {longest:?}");
}
