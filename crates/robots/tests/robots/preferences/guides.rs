//! What guides to AIPREF, Content Signals and RSL tell owners to write, each as a test of what it does.

use super::{told, usage};
use crate::{parse, robots};

#[test]
fn search_yes_and_training_no() {
    let file = robots("User-agent: *\nAllow: /\nContent-Usage: train-ai=n, search=y\n");
    assert_eq!(usage(&file, "GPTBot", "/any").as_deref(), Some("train-ai=n, search=y"));
}

#[test]
fn public_documentation_beside_paid_articles() {
    let file = robots(
        "User-agent: *\nAllow: /\nContent-Usage: /docs/ train-ai=y, search=y\nContent-Usage: /premium/ train-ai=n, search=y\n\
         Disallow: /api/\nContent-Usage: /api/ train-ai=n, search=n\n",
    );
    assert_eq!(usage(&file, "FooBot", "/docs/a").as_deref(), Some("train-ai=y, search=y"));
    assert_eq!(usage(&file, "FooBot", "/premium/a").as_deref(), Some("train-ai=n, search=y"));
    assert_eq!(usage(&file, "FooBot", "/api/a"), None, "what is disallowed has none");
    assert_eq!(usage(&file, "FooBot", "/other"), None, "and what nobody spoke of");
}

#[test]
fn a_general_rule_with_an_exception() {
    let file =
        robots("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open/ train-ai=y\nAllow: /\n");
    assert_eq!(usage(&file, "FooBot", "/open/x").as_deref(), Some("train-ai=y"));
    assert_eq!(usage(&file, "FooBot", "/x").as_deref(), Some("train-ai=n"));
}

#[test]
fn another_preference_for_one_crawler() {
    let file = robots(
        "User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n\nUser-agent: FooBot\nContent-Usage: train-ai=y\nAllow: /\n",
    );
    assert_eq!(usage(&file, "FooBot", "/").as_deref(), Some("train-ai=y"));
    assert_eq!(usage(&file, "BarBot", "/").as_deref(), Some("train-ai=n"));
}

#[test]
fn all_three_vocabularies_in_one_file() {
    let file = "License: https://example.com/license.xml\n\nUser-agent: *\nContent-Signal: search=yes, ai-train=no\n\
                Content-Usage: train-ai=n, search=y\nAllow: /\n";
    assert_eq!(parse(file).findings, []);
    assert_eq!(
        told(&robots(file), "FooBot", "/"),
        [
            "[5] Content-Usage: train-ai=n, search=y",
            "[4] Content-Signal: search=yes, ai-train=no",
            "[1] License: https://example.com/license.xml"
        ]
    );
}

#[test]
fn the_value_of_the_field_is_the_value_of_the_record() {
    // What a guide tells to send as a field is read from robots.txt, and sent, as it stands.
    for value in
        ["train-ai=y, search=y", "train-ai=n, search=y", "train-genai=n, search=y", "bots=n, train-ai=n"]
    {
        let file = robots(format!("User-agent: *\nContent-Usage: {value}\nAllow: /\n"));
        assert_eq!(usage(&file, "FooBot", "/").as_deref(), Some(value));
    }
}
