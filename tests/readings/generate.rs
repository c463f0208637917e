//! Targets made to reach a page without naming it.
//!
//! Each starts from the segments of a page and is spelled with detours, odd slashes, encoded bytes and odd ends.

use crate::files::WANTED;
use std::fmt::Write as _;

/// Numbers that are the same in every run (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % end
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const SLASHES: [&str; 14] =
    ["/", "//", "///", "\\", "/\\", "\\/", "%2f", "%2F", "%5c", "%5C/", "/%2f", "%252f", "%255c", "%25%32f"];
const UPS: [&str; 8] = ["..", "..", "..", "%2e%2e", ".%2E", "%252e%252e", "%2e.", "..;a"];
const HERES: [&str; 4] = [".", "%2e", "%2E", "%252e"];
const NAMES: [&str; 15] = [
    "a",
    "b",
    "open",
    "docs",
    "private",
    "a\\a",
    "a%2fa",
    "a%5ca",
    "a\\..",
    "a//b",
    "a%3fb",
    "a%23b",
    "%3D",
    "%26",
    "robots.txt",
];
const STARTS: [&str; 14] = [
    "/robots.txt",
    "/robots.txt",
    "//x",
    "///x",
    "/\\x",
    "\\\\x",
    "//x@y:1",
    "/open",
    "/open/deep",
    "/.well-known/acme-challenge",
    "/.well-known/acme-challenge/a",
    "/%2f",
    "//open",
    "/%5cx",
];
const ENDS: [&str; 17] = [
    "/.",
    "/./",
    "/x/..",
    "%2f.",
    "\\.",
    "/%2e",
    "//.",
    "?",
    "?q=/../",
    "%3f",
    "%3Fx",
    "%23x",
    ";a=1",
    "/..%2f",
    "/a/..//.",
    "%252f.",
    "%3f/../../open/x.html",
];

/// One target.
pub(crate) fn target(random: &mut Random) -> String {
    let mut target = String::new();
    if random.one_in(3) {
        target.push_str(random.pick(&STARTS));
        for _ in 0..random.below(4) {
            up(random, &mut target);
        }
    }
    for segment in random.pick(&WANTED).split('/').skip(1) {
        while random.one_in(3) {
            detour(random, &mut target);
        }
        target.push_str(slash(random, 5));
        spell(random, segment, &mut target);
    }
    if random.one_in(4) {
        target.push_str(random.pick(&ENDS));
    }
    if target.starts_with('/') { target } else { format!("/{target}") }
}

fn slash(random: &mut Random, usual: usize) -> &'static str {
    if random.one_in(usual) { random.pick(&SLASHES) } else { "/" }
}

fn up(random: &mut Random, target: &mut String) {
    target.push_str(slash(random, 2));
    target.push_str(random.pick(&UPS));
}

/// Segments that some origin resolves to nothing.
fn detour(random: &mut Random, target: &mut String) {
    match random.below(4) {
        0 => {
            target.push_str(slash(random, 2));
            target.push_str(random.pick(&HERES));
        }
        1 => target.push_str(slash(random, 2)),
        _ => {
            for _ in 0..=random.below(2) {
                target.push_str(slash(random, 2));
                target.push_str(random.pick(&NAMES));
            }
            for _ in 0..=random.below(3) {
                up(random, target);
            }
        }
    }
}

fn spell(random: &mut Random, segment: &str, target: &mut String) {
    let odd = random.one_in(4);
    for byte in segment.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'=' | b'&');
        let escape = match random.below(8) {
            0 if odd => "%",
            1 if odd => "%25",
            2 if odd && byte.is_ascii_punctuation() => "%",
            _ if is_plain => {
                target.push(char::from(byte));
                continue;
            }
            _ => "%",
        };
        write!(target, "{escape}{byte:02X}").expect("text");
    }
}
