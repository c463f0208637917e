//! Any bytes are a robots.txt file: parsing must not panic, and what it says must agree with the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rfc9309::{ParseLimits, Robots};

fuzz_target!(|file: &[u8]| {
    let parsed = Robots::parse(file, &ParseLimits::default());
    let robots = &parsed.robots;
    for (values, rule) in robots.rules() {
        assert!(rule.line >= 1 && rule.text.ends_with(rule.pattern));
        assert!(values.len() > 0);
    }
    assert!(robots.rules().count() <= robots.records());
    for token in robots.tokens() {
        let group = robots.group(&[token], false);
        let group = group.unwrap_or_else(|| panic!("{token:?} has no group"));
        assert!(group.matched().eq_ignore_ascii_case(token));
        let _ = (group.crawl_delay(), group.preferences_for(b"/x"), parsed.robots.preferences(Some(group)));
        assert!(!group.tokens().is_empty());
        let _ = group.judge(b"/a%2Fb?c=/d");
    }
    for finding in &parsed.findings {
        assert!(finding.line >= 1 && finding.column >= 1 && !finding.to_string().is_empty());
    }
    assert!(robots.sitemaps().chain(robots.hosts()).count() <= robots.records());
});
