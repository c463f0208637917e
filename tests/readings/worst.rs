//! How long the worst target takes: nobody may slow the gateway down with one.

use crate::generate::Random;
use crate::judge::{ReadingJudge, all_rules, compile};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// As long as a request line may be with the limits that are set by default.
const LENGTH: usize = 8 * 1024;

/// What the limit is.
const LONGEST: Duration = Duration::from_micros(50);

const PARTS: [&str; 36] = [
    "/",
    "//",
    "/./",
    "/../",
    "/..",
    "\\",
    "%2f",
    "%5c",
    "%2e%2e/",
    "%25",
    "%2570",
    "%3D",
    "%26",
    "%3f",
    "%20",
    "a",
    "ab/",
    "/x.pdf",
    "%C3%A9",
    "&",
    "%",
    "%%",
    "%23",
    "%252f",
    "%25252f",
    "%%32%66",
    "%25%35c",
    "%252e%252e%252f",
    "%2525",
    "~",
    "?",
    "=",
    ";a",
    "..",
    "a/../",
    "private/",
];

/// A start, what parts it from the rest, and parts that are repeated up to the length.
#[derive(Clone)]
struct TargetShape {
    length: usize,
    start: Vec<&'static str>,
    middle: &'static str,
    body: Vec<&'static str>,
}

impl TargetShape {
    fn random(random: &mut Random) -> Self {
        let mut parts = |most: usize| (0..=random.below(most)).map(|_| random.pick(&PARTS)).collect();
        let (start, body) = (parts(4), parts(4));
        // What is followed twice may take longer than what is too long to be followed.
        let length = LENGTH >> random.below(4);
        Self { length, start, middle: random.pick(&["", "", "/../", "?a="]), body }
    }

    /// The same with one part changed, added or removed.
    fn changed(&self, random: &mut Random) -> Self {
        let mut shape = self.clone();
        let parts = if random.one_in(2) { &mut shape.start } else { &mut shape.body };
        let at = random.below(parts.len() + 1);
        let (is_there, part) = (at < parts.len(), random.pick(&PARTS));
        if is_there && random.one_in(2) {
            parts[at] = part;
        } else if is_there && parts.len() > 1 {
            parts.remove(at);
        } else {
            parts.insert(at, part);
        }
        shape
    }

    fn target(&self) -> Vec<u8> {
        let mut target = ["/", &self.start.concat(), self.middle].concat().into_bytes();
        let body = self.body.concat();
        while target.len() < self.length {
            target.extend_from_slice(body.as_bytes());
        }
        target.truncate(self.length);
        target
    }
}

/// Shapes tried at random, and changes of the slowest ones.
const TRIED: usize = 3_000;
const CHANGED: usize = 3_000;

#[test]
#[ignore = "it measures: cargo test --release --test readings worst -- --ignored --nocapture"]
fn the_worst_target_takes_no_longer_than_a_page() {
    let judge = ReadingJudge::new();
    let mut rules = all_rules();
    rules.push(compile(include_bytes!("../../rules/robots.txt")));
    rules.push(compile(
        b"User-agent: *\nDisallow: /*?s=\nDisallow: /*.php$\nDisallow: /*/print/*.html$\nDisallow: /cart\n",
    ));
    let time = |target: &[u8]| {
        let judged = |rules| {
            let once = || {
                let begun = Instant::now();
                black_box(judge.outcome(rules, black_box(target)));
                begun.elapsed()
            };
            (0..5).map(|_| once()).min().expect("five")
        };
        rules.iter().map(judged).max().expect("rules")
    };
    let mut random = Random::new(11);
    let mut worst: Vec<(Duration, TargetShape)> = Vec::new();
    for number in 0..TRIED + CHANGED {
        let known = worst.get(random.below(8)).filter(|_| number >= TRIED);
        let shape = match known {
            Some((_, known)) => known.changed(&mut random),
            None => TargetShape::random(&mut random),
        };
        worst.push((time(&shape.target()), shape));
        worst.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        worst.truncate(8);
    }
    println!("{} targets of {LENGTH} bytes at most, by each of {} files", TRIED + CHANGED, rules.len());
    for (_, shape) in &worst {
        let target = shape.target();
        println!("{:?} {} bytes: {}", time(&target), target.len(), target[..60].escape_ascii());
    }
    let plain = format!("/{}", "abcdefg/".repeat(LENGTH / 8 - 1));
    let begun = Instant::now();
    for _ in 0..1_000 {
        black_box(judge.outcome(&rules[1], black_box(plain.as_bytes())));
    }
    println!("a plain target of the same length: {:?}", begun.elapsed() / 1_000);
    // What was slow once may have been interrupted.
    let worst = worst.iter().map(|(first, shape)| time(&shape.target()).min(*first)).max().expect("some");
    println!("the worst: {worst:?}");
    assert!(cfg!(debug_assertions) || worst < LONGEST, "{worst:?}");
}
