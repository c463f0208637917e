//! The examples of draft-ietf-aipref-attach, draft-ietf-aipref-vocab, Content Signals and RSL 1.0, by section.

use super::{told, usage};
use crate::robots;

/// One `Content-Usage` for everything.
fn of(value: &str) -> Option<String> {
    usage(&robots(format!("User-agent: *\nContent-Usage: {value}\nAllow: /\n")), "FooBot", "/x")
}

#[test]
fn attach_1_2_a_preference_for_the_whole_site() {
    assert_eq!(of("/ train-ai=n").as_deref(), Some("train-ai=n"));
    assert_eq!(of("train-ai=n").as_deref(), Some("train-ai=n"), "without a path it is for all");
}

#[test]
fn attach_3_a_preference_is_a_record_of_a_group() {
    let file = robots("User-agent: FooBot\n \t Content-Usage\t : \t/ train-ai=n # why\nAllow: /\n");
    assert_eq!(usage(&file, "FooBot", "/x").as_deref(), Some("train-ai=n"));
    assert!(file.group(&["BarBot"], true).is_none());
    let outside = robots("Content-Usage: / train-ai=n\nUser-agent: *\nAllow: /\n");
    assert_eq!(usage(&outside, "FooBot", "/x"), None);
}

#[test]
fn attach_3_1_the_longest_path_decides_whatever_the_order() {
    let file = robots(
        "User-agent: *\nContent-Usage: /a/b/ train-ai=y\nContent-Usage: / train-ai=n\nAllow: /\n\
         Content-Usage: /*.png$ search=n\nContent-Usage: /a%20b search=y\n",
    );
    assert_eq!(usage(&file, "FooBot", "/a/b/c").as_deref(), Some("train-ai=y"));
    assert_eq!(usage(&file, "FooBot", "/a/c").as_deref(), Some("train-ai=n"));
    assert_eq!(usage(&file, "FooBot", "/c.png").as_deref(), Some("search=n"));
    assert_eq!(usage(&file, "FooBot", "/%61/b/c").as_deref(), Some("train-ai=y"), "encodings are one");
    assert_eq!(usage(&file, "FooBot", "/a%20b").as_deref(), Some("search=y"));
}

#[test]
fn attach_3_1_what_is_disallowed_has_no_preference() {
    let file = robots("User-agent: *\nContent-Usage: / train-ai=n\nDisallow: /never/\nAllow: /never/mind\n");
    assert_eq!(usage(&file, "FooBot", "/never/x"), None);
    assert_eq!(usage(&file, "FooBot", "/never/mind").as_deref(), Some("train-ai=n"));
}

#[test]
fn attach_3_1_of_equal_paths_the_most_restrictive_holds() {
    let file = robots(
        "User-agent: *\nAllow: /\nContent-Usage: /a train-ai=y, search=y\nContent-Usage: /a train-ai=n, new=x\n",
    );
    assert_eq!(usage(&file, "FooBot", "/a").as_deref(), Some("train-ai=n, search=y, new=x"));
    assert_eq!(told(&file, "FooBot", "/a"), ["[3, 4] Content-Usage: train-ai=n, search=y, new=x"]);
}

#[test]
fn attach_3_4_the_example() {
    let file = robots(
        "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: / train-ai=n\n\
         Content-Usage: /ai-ok/ train-ai=y\n\nUser-Agent: ExampleBot\nAllow: /\nContent-Usage: / train-ai=y\n",
    );
    for (token, path, crawl, preference) in [
        ("FooBot", "/test", true, Some("train-ai=n")),
        ("FooBot", "/never/test", false, None),
        ("FooBot", "/ai-ok/test", true, Some("train-ai=y")),
        ("ExampleBot", "/test", true, Some("train-ai=y")),
        ("ExampleBot", "/never/test", true, Some("train-ai=y")),
    ] {
        assert_eq!(file.judge(&[token], true, path.as_bytes()).allow, crawl, "{token} {path}");
        assert_eq!(usage(&file, token, path).as_deref(), preference, "{token} {path}");
    }
}

#[test]
fn vocab_5_1_one_no_outweighs_any_yes() {
    let file = robots(
        "User-agent: *\nContent-Usage: search=y\nContent-Usage: / search=n\nContent-Usage: a=y\nAllow: /\n",
    );
    assert_eq!(usage(&file, "FooBot", "/").as_deref(), Some("search=n, a=y"));
}

#[test]
fn vocab_6_a_dictionary_of_categories() {
    assert_eq!(of("train-ai=y, search=n").as_deref(), Some("train-ai=y, search=n"));
}

#[test]
fn vocab_6_4_unknown_words_and_parameters_are_kept() {
    assert_eq!(of("train-ai=n;x=1, of-tomorrow=y").as_deref(), Some("train-ai=n;x=1, of-tomorrow=y"));
}

#[test]
fn vocab_6_5_what_is_no_dictionary_states_nothing() {
    for value in ["Train-AI=n", "train-ai=", "train-ai n", "train-ai=n,", "train-ai=\"n"] {
        assert_eq!(of(value), None, "{value}");
    }
    let file = robots("User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /a Train-AI=y\nAllow: /\n");
    assert_eq!(usage(&file, "FooBot", "/a"), None, "the longest path decides, even if it cannot be read");
}

/// Two records for one path, of which the other says yes: that yes counts only where the first states nothing.
fn counts(value: &str) -> String {
    let file = format!("User-agent: *\nContent-Usage: / {value}\nContent-Usage: / train-ai=y\nAllow: /\n");
    usage(&robots(file), "FooBot", "/").unwrap()
}

#[test]
fn vocab_6_5_1_the_last_of_equal_keys_counts() {
    // Both keys end as no token, so that nothing is stated.
    let repeated = "train-ai=y, train-ai, search=n, search=\"n\"";
    assert_eq!(of(repeated).as_deref(), Some(repeated));
    assert_eq!(counts(repeated), "train-ai=y, search=\"n\"");
    assert_eq!(counts("train-ai=n, train-ai=?1"), "train-ai=y");
}

#[test]
fn vocab_6_5_2_only_the_parameters_of_the_value_that_counts() {
    assert_eq!(counts("train-ai;allow=n, train-ai=n"), "train-ai=n");
    assert_eq!(counts("train-ai;has;parameters=\"?\""), "train-ai=y");
}

#[test]
fn content_signals_4_the_words_and_the_example() {
    let file = robots(
        "User-Agent: *\nContent-Signal: ai-train=no, search=yes, ai-input=yes\nAllow: /\n\nUser-agent: FooBot\n\
         Content-Signal: search=yes,ai-train=no,use=reference\nContent-Signal: ai-input=no\nDisallow: /x\n",
    );
    assert_eq!(told(&file, "BarBot", "/"), ["[2] Content-Signal: ai-train=no, search=yes, ai-input=yes"]);
    let own = ["[6] Content-Signal: search=yes,ai-train=no,use=reference", "[7] Content-Signal: ai-input=no"];
    assert_eq!(told(&file, "FooBot", "/"), own, "a group of its own is all that counts");
}

#[test]
fn content_signals_before_the_first_group_are_for_groups_without() {
    let file = robots(
        "Content-Signal: ai-train=no\n\nUser-agent: *\nAllow: /\n\nUser-agent: FooBot\nContent-Signal: search=yes\nAllow: /\n",
    );
    assert_eq!(told(&file, "BarBot", "/"), ["[1] Content-Signal: ai-train=no"]);
    assert_eq!(told(&file, "FooBot", "/"), ["[7] Content-Signal: search=yes"]);
}

#[test]
fn rsl_4_4_a_license_of_a_group_is_for_that_group_alone() {
    let file = robots(
        "License: https://example.com/all.xml\n\nUser-agent: ExampleBot\nAllow: /\n\
         License: https://example.com/examplebot-license.xml\n\nUser-agent: *\nAllow: /\n",
    );
    assert_eq!(told(&file, "ExampleBot", "/"), ["[5] License: https://example.com/examplebot-license.xml"]);
    assert_eq!(told(&file, "FooBot", "/"), ["[1] License: https://example.com/all.xml"]);
    assert_eq!(file.preferences(None).len(), 1, "also for who has no group");
    let own = robots(
        "User-agent: ExampleBot\nAllow: /\nLicense: https://example.com/examplebot-license.xml\n\n\
         User-agent: *\nAllow: /\nLicense: https://example.com/default-license.xml\n",
    );
    assert_eq!(told(&own, "ExampleBot", "/"), ["[3] License: https://example.com/examplebot-license.xml"]);
    assert_eq!(told(&own, "FooBot", "/"), ["[7] License: https://example.com/default-license.xml"]);
}
