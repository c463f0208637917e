//! A file and a target: the engine must agree with the naive matcher of the tests.
//!
//! The input is the target, a NUL, and the file.

#![no_main]

#[path = "../../tests/robots/naive.rs"]
mod naive;

use libfuzzer_sys::fuzz_target;
use rfc9309::{ParseLimits, Robots};

fuzz_target!(|input: &[u8]| {
    let split = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (target, file) = input.split_at(split);
    let file = file.get(1..).unwrap_or_default();
    let robots = Robots::parse(file, &ParseLimits::default()).robots;
    let slow = naive::Naive::parse(file);
    for (tokens, star) in [(&["a"][..], true), (&["FooBot", "a"], true), (&["a"], false)] {
        let judgement = robots.judge(tokens, star, target);
        let expected = slow.judge(tokens, star, target);
        assert_eq!(judgement.allow, expected.allow, "{tokens:?} {star}");
        assert_eq!(judgement.rule.map(|rule| rule.line), expected.line, "{tokens:?} {star}");
    }
});
