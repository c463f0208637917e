//! What is said about preferences that do not do what their owner meant.

use crate::parse;
use robots_gateway::robots::{Parsed, UseCategory};

/// As `line:column code: message`.
fn texts(parsed: &Parsed) -> Vec<String> {
    let text = |finding: &robots_gateway::robots::Finding| {
        format!("{}:{} {} {finding}", finding.line, finding.column, finding.kind.code())
    };
    parsed.findings.iter().map(text).collect()
}

fn findings(file: &str) -> Vec<String> {
    texts(&parse(file))
}

#[test]
fn words_of_no_vocabulary() {
    assert_eq!(
        findings("User-agent: *\nContent-Usage: / bots=n, search=y\nContent-Signal: training=no\nAllow: /\n"),
        [
            "2:18 unknown-category unknown category `bots`; it is kept, and crawlers ignore it",
            "3:17 unknown-category unknown category `training`; it is kept, and crawlers ignore it"
        ]
    );
}

#[test]
fn words_of_the_other_vocabulary() {
    assert_eq!(
        findings(
            "User-agent: *\nContent-Usage: ai-train=n\nContent-Signal: search=yes, train-ai=no\nAllow: /\n"
        ),
        [
            "2:16 other-vocabulary `ai-train` is a word of the other vocabulary; here the word is `train-ai`",
            "3:29 other-vocabulary `train-ai` is a word of the other vocabulary; here the word is `ai-train`"
        ]
    );
}

#[test]
fn values_that_state_nothing() {
    assert_eq!(
        findings(
            "User-agent: *\nContent-Usage: train-ai=no\nContent-Signal: search=y, use=later\nContent-Usage: /x Search=n\n\
             Content-Signal: none\nAllow: /\n"
        ),
        [
            "2:16 preference-value `train-ai=no` states nothing: expected `y` or `n`",
            "3:17 preference-value `search=y` states nothing: expected `yes` or `no`",
            "3:27 preference-value `use=later` states nothing: expected `immediate`, `reference` or `full`",
            "4:16 unreadable-preference `/x Search=n` states nothing that can be read",
            "5:17 unreadable-preference `none` states nothing that can be read"
        ]
    );
}

#[test]
fn the_two_vocabularies_contradict_each_other() {
    let file =
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: ai-train=yes, search=yes\nAllow: /\n";
    assert_eq!(
        findings(file),
        ["3:17 preference-contradiction `ai-train=yes, search=yes` says the opposite of line 2"]
    );
    let of_a_path =
        "User-agent: *\nContent-Usage: /open/ train-ai=y\nContent-Signal: ai-train=no\nAllow: /\n";
    assert_eq!(findings(of_a_path), Vec::<String>::new());
}

#[test]
fn a_preference_for_what_is_disallowed() {
    assert_eq!(
        findings("User-agent: *\nContent-Usage: /api/ search=n\nDisallow: /api/\n"),
        ["2:16 preference-disallowed `/api/ search=n` says nothing: line 3 disallows what it is about"]
    );
    let shut = findings("User-agent: FooBot\nContent-Signal: search=yes\nDisallow: /\n");
    assert_eq!(
        shut,
        ["2:17 preference-disallowed `search=yes` says nothing: line 3 disallows what it is about"]
    );
    assert_eq!(
        findings("User-agent: FooBot\nContent-Signal: search=no\nDisallow: /\n"),
        Vec::<String>::new()
    );
    assert_eq!(
        findings("User-agent: FooBot\nContent-Usage: search=n\nDisallow: /\nAllow: /a\n"),
        Vec::<String>::new()
    );
}

#[test]
fn a_crawler_whose_purpose_is_welcome_is_shut_out() {
    let uses = [(UseCategory::Training, "GPTBot"), (UseCategory::Search, "bingbot")];
    let of = |file: &str| {
        let mut parsed = parse(file);
        parsed.compare_purposes(uses.into_iter());
        texts(&parsed)
    };
    assert_eq!(
        of("User-agent: *\nContent-Signal: ai-train=yes\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n"),
        [
            "2:17 purpose-disallowed `ai-train=yes` welcomes what `GPTBot` fetches for, and line 6 disallows everything to it"
        ]
    );
    assert_eq!(
        of("User-agent: GPTBot\nContent-Usage: train-ai=n\nAllow: /\n"),
        [
            "2:16 purpose-allowed `train-ai=n` refuses what `GPTBot` fetches for, and line 3 lets it fetch everything"
        ]
    );
    let plain = "User-agent: *\nContent-Signal: ai-train=no, search=yes\nAllow: /\n\nUser-agent: GPTBot\nDisallow: /\n";
    assert_eq!(of(plain), Vec::<String>::new());
    assert_eq!(of("User-agent: bingbot\nContent-Signal: ai-train=no\nAllow: /\n"), Vec::<String>::new());
}

#[test]
fn records_that_bind_nobody() {
    assert_eq!(
        findings("Content-Usage: search=n\nContent-Signal: search=no\nUser-agent: *\nAllow: /\n"),
        [
            "1:16 preference-outside-group `search=n` is for nobody: it stands before the first group",
            "2:17 preference-outside-group `search=no` stands before the first group: some crawlers take it for \
             everyone's, others for nobody's"
        ]
    );
    assert_eq!(
        findings("User-agent: Google-Extended\nContent-Usage: train-ai=n\nAllow: /\n")[1],
        "2:16 preference-for-nobody `train-ai=n` binds nobody: no crawler fetches under the names of its group"
    );
    assert_eq!(
        findings("User-agent: *\nContent-Signal: search=yes\n\nUser-agent: FooBot\nDisallow: /x\n"),
        [
            "2:17 preference-between-agents the names go on in line 4: crawlers that do not know `search=yes` take both \
             groups for one"
        ]
    );
    assert_eq!(
        findings("User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n\nUser-agent: FooBot\nAllow: /\n"),
        [
            "2:17 preference-not-for-all `ai-train=no` is not said to `FooBot`, which has a group of its own (line 5)"
        ]
    );
}

/// One line behind all groups is in the last of them.
#[test]
fn a_record_at_the_end_of_the_file_is_in_the_last_group() {
    let file = "User-agent: *\nAllow: /\n\nUser-agent: FooBot\nAllow: /\n\nContent-Signal: ai-train=no\n";
    assert_eq!(
        findings(file),
        [
            "7:17 preference-not-for-all `ai-train=no` is not said to `*`, which has a group of its own (line 1)"
        ]
    );
    let own = "User-agent: *\nAllow: /\n\nUser-agent: FooBot\nContent-Signal: ai-train=no\nAllow: /\n";
    assert_eq!(findings(own), Vec::<String>::new());
}

#[test]
fn a_license_is_a_url() {
    assert_eq!(
        findings("License: /license.xml\nUser-agent: *\nAllow: /\n"),
        ["1:10 license-url the license `/license.xml` is not a whole URL; crawlers cannot fetch it"]
    );
}

#[test]
fn a_license_of_everyone_is_not_that_of_a_group() {
    let file =
        "User-agent: FooBot\nAllow: /\n\nUser-agent: *\nAllow: /\n\nLicense: https://example.com/l.xml\n";
    assert_eq!(
        findings(file),
        [
            "7:10 preference-not-for-all `https://example.com/l.xml` is not said to `FooBot`, which has a group of its own \
             (line 1)"
        ]
    );
    let before =
        "License: https://example.com/l.xml\nUser-agent: FooBot\nAllow: /\n\nUser-agent: *\nAllow: /\n";
    assert_eq!(findings(before), Vec::<String>::new());
}
