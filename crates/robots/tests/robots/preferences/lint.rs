//! What is said about preferences that do not do what their owner meant.

use crate::parse;

/// As `line:column code: message`.
fn findings(file: &str) -> Vec<String> {
    let text = |finding: &rfc9309::Finding| {
        format!("{}:{} {} {finding}", finding.line, finding.column, finding.kind.code())
    };
    parse(file).findings.iter().map(text).collect()
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
fn words_of_the_other_vocabulary_and_words_that_are_nearly_right() {
    assert_eq!(
        findings(
            "User-agent: *\nContent-Usage: ai-train=n\nContent-Signal: search=yes, train-ai=no, serach=no\nAllow: /\n"
        ),
        [
            "2:16 unknown-category unknown category `ai-train`, which crawlers ignore; did you mean `train-ai`?",
            "3:29 unknown-category unknown category `train-ai`, which crawlers ignore; did you mean `ai-train`?",
            "3:42 unknown-category unknown category `serach`, which crawlers ignore; did you mean `search`?"
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

/// The drafts have no consensus: what one line says and another does not is for the owner to know.
#[test]
fn what_differs_is_no_contradiction() {
    for file in [
        "User-agent: *\nContent-Usage: train-ai=n\nContent-Signal: ai-train=yes, search=yes\nAllow: /\n",
        "User-agent: *\nContent-Usage: search=y, train-ai=n\nAllow: /\n",
        "User-agent: GPTBot\nContent-Usage: train-ai=n\nAllow: /\n",
        "User-agent: *\nContent-Signal: ai-train=no\nAllow: /\n\nUser-agent: FooBot\nAllow: /\n",
        "Content-Signal: search=no\nUser-agent: *\nAllow: /\n",
    ] {
        assert_eq!(findings(file), [""; 0], "{file}");
    }
}

#[test]
fn records_in_places_where_they_bind_nobody() {
    assert_eq!(
        findings("Content-Usage: search=n\nUser-agent: *\nAllow: /\n"),
        ["1:1 rule-outside-group `search=n` applies to no crawler: it comes before the first group"]
    );
    assert_eq!(
        findings("User-agent: *\nContent-Signal: search=yes\n\nUser-agent: FooBot\nDisallow: /x\n"),
        [
            "2:17 between-agents `search=yes` stands between two `User-agent:` lines: crawlers differ on whether the group ends here or goes on in line 4"
        ]
    );
}

#[test]
fn a_license_is_a_url() {
    assert_eq!(
        findings("License: /license.xml\nUser-agent: *\nAllow: /\n"),
        ["1:10 license-url the license `/license.xml` is not a whole URL; crawlers cannot fetch it"]
    );
}
