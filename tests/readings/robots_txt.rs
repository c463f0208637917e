//! What is allowed as robots.txt is robots.txt to every origin.

use crate::files::WANTED;
use crate::generate::{Random, target};
use crate::judge::{ReadingJudge, compile};
use robots_gateway::decide::VerdictOutcome;
use robots_gateway::request::target::{PathParameters, RequestTarget};

/// Targets that are tried.
const TARGETS: usize = 60_000;

const SEPARATORS: [&str; 9] = ["/", "//", "\\", "%2F", "%5c", "%252f", "/./", "/..;x/", "%3F/"];
const STEPS: [&str; 12] = [
    "..",
    "%2e%2e",
    ".%2E",
    "%252e%252e",
    "%2e%2e%2e",
    "..;a",
    ".",
    "a",
    "open",
    "robots.txt",
    "%72obots.txt",
    "",
];

/// `/robots.txt` with more around it.
fn spelled(random: &mut Random) -> String {
    let mut spelled = String::from("/");
    let pages: Vec<&str> = WANTED.iter().map(|page| &page[1..]).collect();
    let named = random.below(3);
    for number in 0..=random.below(5) {
        let part = match random.below(3) {
            _ if number == named => "robots.txt",
            0 => random.pick(&pages),
            _ => random.pick(&STEPS),
        };
        spelled.push_str(part);
        spelled.push_str(random.pick(&SEPARATORS));
    }
    // As often as not it ends with the last part.
    if random.one_in(2) { format!("/{}", spelled[1..].trim_end_matches(['/', '\\'])) } else { spelled }
}

/// Whether `target` is `/robots.txt` once its path is decoded.
fn is_named(target: &[u8]) -> bool {
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    let mut decoded = Vec::new();
    let mut rest = path;
    while let Some((byte, after)) = rest.split_first() {
        let escape = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escape = escape.filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(escape.unwrap_or(*byte));
        rest = if escape.is_some() { &after[2..] } else { after };
    }
    decoded == b"/robots.txt"
}

#[test]
fn nothing_else_is_allowed_as_robots_txt() {
    let (judge, all) = (ReadingJudge::new(), compile(b"User-agent: *\nDisallow: /\n"));
    let mut random = Random::new(36);
    let (mut allowed, mut doubtful) = (0, 0);
    for number in 0..TARGETS {
        let sent = if number % 4 == 0 { target(&mut random) } else { spelled(&mut random) };
        let here = RequestTarget::new(sent.as_bytes(), PathParameters::Keep);
        let elsewhere = here.clone().answered_elsewhere();
        let is_only = is_named(here.judged()) && !here.has_more_readings() && here.readings().all(is_named);
        assert_eq!(elsewhere.is_robots_txt(), is_only, "{sent}");
        let with_one_slash = format!("/{}", sent.trim_start_matches('/'));
        let is_answered = is_only || is_named(with_one_slash.as_bytes());
        assert_eq!(here.is_robots_txt(), is_answered, "{sent}");
        let is_allowed = judge.outcome(&all, sent.as_bytes()) == VerdictOutcome::Allow;
        assert_eq!(is_allowed, is_answered, "{sent}");
        allowed += usize::from(is_allowed);
        doubtful += usize::from(here.may_be_robots_txt() && !is_allowed);
    }
    println!("{TARGETS} targets: {allowed} robots.txt, {doubtful} robots.txt to some origins only");
    assert!(allowed > 500 && doubtful > 500, "{allowed} and {doubtful} show little");
}
