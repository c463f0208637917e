//! RFC 9309, section by section. Tests named `choice_…` fix what the RFC leaves open.

use crate::{allowed, judge, parse, robots};
use rfc9309::{JudgementReason, LEAST_LIMIT, ParseLimits, Robots, RuleKind, Severity};

/// Section 2.2.1: the token is matched without regard to case, and exactly.
#[test]
fn s2_2_1_product_token_is_compared_whole_and_without_case() {
    let robots =
        robots("User-agent: FooBot\nDisallow: /foo\n\nUser-agent: FooBot-Images\nDisallow: /images\n");
    assert!(!judge(&robots, "foobot", "/foo").allow);
    assert!(!judge(&robots, "FOOBOT-IMAGES", "/images").allow);
    assert!(judge(&robots, "FooBot-Images", "/foo").allow);
    assert!(judge(&robots, "FooBot-News", "/foo").allow);
    assert!(judge(&robots, "Foo", "/foo").allow);
}

/// Section 2.2.1, second figure: groups that name the same token are combined.
#[test]
fn s2_2_1_groups_of_one_token_are_combined() {
    let robots = robots(
        "user-agent: ExampleBot\ndisallow: /foo\ndisallow: /bar\n\nuser-agent: OtherBot\ndisallow: /other\n\n\
         user-agent: examplebot\ndisallow: /baz\n",
    );
    for path in ["/foo", "/bar", "/baz"] {
        assert!(!judge(&robots, "ExampleBot", path).allow, "{path}");
    }
    assert!(judge(&robots, "ExampleBot", "/other").allow);
}

/// Section 2.2.1: "If no matching group exists, crawlers MUST obey the group with a user-agent line
/// with the "*" value, if present."
#[test]
fn s2_2_1_the_star_group_is_for_those_without_a_group() {
    let robots = robots("User-agent: FooBot\nDisallow: /foo\n\nUser-agent: *\nDisallow: /star\n");
    assert!(!judge(&robots, "BarBot", "/star").allow);
    assert!(judge(&robots, "BarBot", "/foo").allow);
    assert!(judge(&robots, "FooBot", "/star").allow, "a crawler with a group does not read the other");
    let none = robots.judge(&["BarBot"], false, b"/star");
    assert!(none.allow);
    assert_eq!(none.reason, JudgementReason::NoGroup);
}

/// Section 2.2.1: "If no group matches the product token and there is no group with a user-agent
/// line with the "*" value, then no rules apply."
#[test]
fn s2_2_1_no_group_no_rules() {
    let robots = robots("User-agent: FooBot\nDisallow: /\n");
    let judgement = judge(&robots, "BarBot", "/");
    assert!(judgement.allow && judgement.group.is_none());
    assert_eq!(judgement.reason, JudgementReason::NoGroup);
}

/// A crawler may document several tokens; the first that has a group decides.
#[test]
fn s2_2_1_the_first_token_with_a_group_decides() {
    let robots = robots("User-agent: Bot-Image\nDisallow: /i\n\nUser-agent: Bot\nDisallow: /b\n");
    assert!(!robots.judge(&["Bot-Image", "Bot"], true, b"/i").allow);
    assert!(robots.judge(&["Bot-Image", "Bot"], true, b"/b").allow);
    assert!(!robots.judge(&["Bot-Video", "Bot"], true, b"/b").allow);
}

/// Section 2.2.2: a group may be named by several lines, and rules end the naming.
#[test]
fn s2_2_several_user_agent_lines_make_one_group() {
    let robots = robots("User-agent: a\nUser-agent: b\nDisallow: /ab\nUser-agent: c\nDisallow: /c\n");
    assert!(!judge(&robots, "a", "/ab").allow && !judge(&robots, "b", "/ab").allow);
    assert!(judge(&robots, "c", "/ab").allow && judge(&robots, "a", "/c").allow);
}

/// Section 2.2.2: "The most specific match found MUST be used. The most specific match is the match
/// that has the most bytes."
#[test]
fn s2_2_2_most_bytes_decide() {
    let file = "User-agent: *\nAllow: /p\nDisallow: /p/q\nAllow: /p/q/r\n";
    assert_eq!(allowed(file, &["/p", "/p/q", "/p/q/r"]), ["/p", "/p/q/r"]);
    let file =
        "User-agent: *\nDisallow: /example/page/\nAllow: /example/page/disallowed.gif\nDisallow: /*.gif$\n";
    assert_eq!(allowed(file, &["/example/page/disallowed.gif"]).len(), 1);
}

/// Section 2.2.2: "If an "allow" rule and a "disallow" rule are equivalent, then the "allow" rule
/// SHOULD be used."
#[test]
fn s2_2_2_allow_wins_a_tie() {
    for file in ["User-agent: *\nDisallow: /x\nAllow: /x\n", "User-agent: *\nAllow: /x\nDisallow: /x\n"] {
        let robots = robots(file);
        let rule = judge(&robots, "a", "/x").rule.unwrap();
        assert_eq!(rule.kind, RuleKind::Allow);
    }
}

/// Section 2.2.2: "If no match is found amongst the rules in a group for a matching user-agent or
/// there are no rules in the group, the URI is allowed."
#[test]
fn s2_2_2_no_match_is_allowed() {
    let robots = robots("User-agent: a\nDisallow: /x\n\nUser-agent: b\n");
    assert_eq!(judge(&robots, "a", "/y").reason, JudgementReason::NoRule);
    assert_eq!(judge(&robots, "b", "/x").reason, JudgementReason::NoRule);
}

/// Section 2.2.2: "The /robots.txt URI is implicitly allowed."
#[test]
fn s2_2_2_robots_txt_is_allowed() {
    let robots = robots("User-agent: *\nDisallow: /\nDisallow: /robots.txt\n");
    let judgement = judge(&robots, "a", "/robots.txt");
    assert!(judgement.allow);
    assert_eq!(judgement.reason, JudgementReason::RobotsTxt);
    assert!(!judge(&robots, "a", "/robots.txt?x").allow);
    assert!(!judge(&robots, "a", "/ROBOTS.TXT").allow);
}

/// Section 2.2.2: rules match from the first byte of the path, and case matters.
#[test]
fn s2_2_2_paths_are_compared_from_the_start_and_with_case() {
    let file = "User-agent: *\nDisallow: /Fish\n";
    assert_eq!(allowed(file, &["/Fish", "/Fish/x", "/fish", "/x/Fish"]), ["/fish", "/x/Fish"]);
}

/// Section 2.2.2, figure 4: the table of paths and their encoded forms.
#[test]
fn s2_2_2_figure_4() {
    for (rule, target) in [
        ("/foo/bar?baz=quz", "/foo/bar?baz=quz"),
        ("/foo/bar?baz=http://foo.bar", "/foo/bar?baz=http%3A%2F%2Ffoo.bar"),
        ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%E3%83%84", "/foo/bar/%E3%83%84"),
        ("/foo/bar/%62%61%7A", "/foo/bar/baz"),
    ] {
        for (rule, target) in [(rule, target), (target, rule)] {
            let robots = robots(format!("User-agent: *\nDisallow: {rule}\n"));
            assert!(!judge(&robots, "a", target).allow, "{rule} against {target}");
        }
    }
}

/// Section 2.2.2: reserved bytes differ from their encoded form where they are delimiters.
#[test]
fn s2_2_2_encoded_delimiters_are_data() {
    for (rule, target) in [
        ("/a%2Fb", "/a/b"),
        ("/a/b", "/a%2fb"),
        ("/a%3Fb", "/a?b"),
        ("/a?b%26c", "/a?b&c"),
        ("/a?b%3Dc", "/a?b=c"),
    ] {
        let robots = robots(format!("User-agent: *\nDisallow: {rule}\n"));
        assert!(judge(&robots, "a", target).allow, "{rule} against {target}");
    }
}

/// Section 2.2.3: `*` is 0 or more bytes, `$` the end.
#[test]
fn s2_2_3_special_characters() {
    let file = "User-agent: *\nDisallow: /a*b$\n";
    assert_eq!(allowed(file, &["/ab", "/axxb", "/a/b/b", "/abc", "/a"]), ["/abc", "/a"]);
    let file = "User-agent: *\nDisallow: /this/*/exactly\n";
    assert_eq!(allowed(file, &["/this/a/b/c/exactly", "/this//exactly", "/this/exactly"]), ["/this/exactly"]);
    let file = "User-agent: *\nDisallow: /x$\n";
    assert_eq!(allowed(file, &["/x", "/x?y", "/xy"]), ["/x?y", "/xy"]);
}

/// Section 2.2.3, figure 6: the characters themselves are written encoded.
#[test]
fn s2_2_3_figure_6() {
    for (rule, target) in
        [("/path/file-with-a-%2A.html", "/path/file-with-a-*.html"), ("/path/foo-%24", "/path/foo-$")]
    {
        let robots = robots(format!("User-agent: *\nDisallow: {rule}\n"));
        assert!(!judge(&robots, "a", target).allow && !judge(&robots, "a", rule).allow, "{rule}");
        assert!(judge(&robots, "a", "/path/file-with-a-x.html").allow);
    }
}

/// Section 2.2.4: other records are kept, and never change a group.
#[test]
fn s2_2_4_other_records_do_not_interfere() {
    let robots = robots(
        "Sitemap: https://example.com/1.xml\nUser-agent: a\nCrawl-delay: 2.5\nHost: example.com\n\
         Sitemap: https://example.com/2.xml\nUser-agent: b\nDisallow: /x\nNoindex: /y\nDisallow: /z\n",
    );
    for token in ["a", "b"] {
        assert!(!judge(&robots, token, "/x").allow && !judge(&robots, token, "/z").allow);
    }
    let sitemaps: Vec<&[u8]> = robots.sitemaps().collect();
    assert_eq!(sitemaps, [b"https://example.com/1.xml", b"https://example.com/2.xml"]);
    assert_eq!(robots.hosts().collect::<Vec<_>>(), [b"example.com"]);
    let delay = |name| robots.group(&[name], false).unwrap().crawl_delay();
    assert_eq!((delay("a"), delay("b")), (Some(2.5), None), "a delay is for the names above it");
}

/// Section 2.3.1.5: "crawlers MUST use the parseable rules" of a file with errors.
#[test]
fn s2_3_1_5_parseable_rules_are_used() {
    let robots = robots(
        b"\x00\xFFgarbage\n<html>\nUser-agent: a\n:::\nDisallow /x y\nDisallow: /x\n\xF0\x28\nDisallow: /y",
    );
    assert!(!judge(&robots, "a", "/x").allow && !judge(&robots, "a", "/y").allow);
}

/// Section 2.5: at least 500 KiB are parsed; what is beyond is ignored, never half a line.
#[test]
fn s2_5_the_parsing_limit() {
    let mut file = b"User-agent: *\n".to_vec();
    while file.len() < LEAST_LIMIT - 60 {
        file.extend_from_slice(b"# a comment that fills the file up\n");
    }
    file.extend_from_slice(b"Disallow: /within\n");
    let within = robots(&file);
    assert!(!judge(&within, "a", "/within").allow);
    file.extend_from_slice(b"Disallow: /across-the-limit-of-the-file\nDisallow: /beyond\n");
    assert!(file.len() > LEAST_LIMIT);
    let parsed = parse(&file);
    assert!(judge(&parsed.robots, "a", "/across").allow && judge(&parsed.robots, "a", "/beyond").allow);
    assert!(parsed.findings.iter().any(|finding| finding.kind.code() == "too-large"));
    let more = Robots::parse(&file, &ParseLimits { max_bytes: file.len() });
    assert!(!judge(&more.robots, "a", "/beyond").allow);
    assert!(more.findings.iter().all(|finding| finding.severity == Severity::Note), "others may read less");
    let less = Robots::parse(&file, &ParseLimits { max_bytes: 10 });
    assert!(!judge(&less.robots, "a", "/within").allow, "a limit below 500 KiB is raised to it");
}

/// Section 2.2 ABNF: every line end, with or without one at the end of the file.
#[test]
fn s2_2_line_ends_and_comments() {
    for end in ["\n", "\r", "\r\n"] {
        let file = ["# first", "User-agent: a # who", "", "Disallow: /x#y", "Allow: /x/z # but"].join(end);
        let robots = robots(&file);
        let judgement = judge(&robots, "a", "/x");
        assert!(!judgement.allow);
        let rule = judgement.rule.unwrap();
        assert_eq!((rule.line, rule.text, rule.pattern), (4, &b"Disallow: /x"[..], &b"/x"[..]), "{end:?}");
        assert!(judge(&robots, "a", "/x/z").allow);
    }
}

/// Section 2.3: the file is UTF-8, possibly with a byte order mark.
#[test]
fn s2_3_a_byte_order_mark_is_skipped() {
    let robots = robots("\u{feff}User-agent: a\nDisallow: /x\n");
    assert_eq!(judge(&robots, "a", "/x").rule.unwrap().line, 2);
}

/// Section 5.1, the example of the RFC.
#[test]
fn s5_1_simple_example() {
    let robots = robots(
        "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
         User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
         User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\nUser-Agent: quxbot\n",
    );
    assert!(judge(&robots, "foobot", "/example/page.html").allow && !judge(&robots, "foobot", "/x").allow);
    assert!(!judge(&robots, "bazbot", "/example/page.html").allow && judge(&robots, "bazbot", "/x").allow);
    assert!(judge(&robots, "quxbot", "/example/").allow, "an empty group lets everything be fetched");
    assert!(!judge(&robots, "other", "/a/b.gif").allow && judge(&robots, "other", "/a/b.gif?x").allow);
}

/// Section 5.2, the longest match.
#[test]
fn s5_2_longest_match() {
    let file = "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
    assert_eq!(allowed(file, &["/example/page/disallowed.gif", "/example/page/x"]), ["/example/page/x"]);
}

/// Section 2.2 wants a path pattern to start with `/`; section 5.1 has `*.gif$`. Both are rules; a
/// pattern that starts otherwise, or holds a blank, is none.
#[test]
fn choice_patterns_that_match_nothing() {
    for pattern in ["fish", "https://example.com/fish", "$", "/a b", "%2Ffish"] {
        let robots = robots(format!("User-agent: *\nDisallow: {pattern}\n"));
        for target in ["/", "/fish", "/a", "/a%20b", "/https://example.com/fish"] {
            assert!(judge(&robots, "a", target).allow, "{pattern} against {target}");
        }
    }
}

/// A rule that matches nothing still is a rule: the next user-agent line starts a new group.
#[test]
fn choice_a_useless_rule_ends_the_naming() {
    let robots = robots("User-agent: a\nDisallow: x y\nUser-agent: b\nDisallow: /\n");
    assert!(judge(&robots, "a", "/").allow && !judge(&robots, "b", "/").allow);
}

/// A value outside the token grammar: its first part names a crawler, and so does the whole.
#[test]
fn choice_values_outside_the_token_grammar() {
    let robots = robots(
        "User-agent: FooBot/1.0\nDisallow: /f\n\nUser-agent: AI2Bot\nDisallow: /i\n\nUser-agent: example.com crawler\nDisallow: /e\n",
    );
    assert!(!judge(&robots, "FooBot", "/f").allow);
    assert!(!judge(&robots, "AI2Bot", "/i").allow && !judge(&robots, "AI", "/i").allow);
    assert!(!judge(&robots, "example.com crawler", "/e").allow);
    let tokens: Vec<&str> = robots.tokens().collect();
    assert_eq!(tokens, ["FooBot/1.0", "FooBot", "AI2Bot", "AI", "example.com crawler", "example"]);
}

/// A line that names nobody still starts a group, so that its rules bind nobody else.
#[test]
fn choice_an_unusable_token_starts_a_group() {
    let robots =
        robots("User-agent: a\nDisallow: /a\n\nUser-agent:\nDisallow: /\n\nUser-agent: *bot\nDisallow: /\n");
    assert!(judge(&robots, "a", "/x").allow && judge(&robots, "bot", "/x").allow);
}

/// Section 2.2.4 permits leniency: these misspellings, and a forgotten colon in a line of two words.
#[test]
fn choice_leniency() {
    let robots = robots(
        "useragent: a\ndissallow: /1\ndisalow /2\nDisallow /3 /4\ndisallowed: /5\nuser agent: b\nDIASLLOW: /6\n",
    );
    assert!(
        !judge(&robots, "a", "/1").allow
            && !judge(&robots, "a", "/2").allow
            && !judge(&robots, "b", "/6").allow
    );
    assert!(judge(&robots, "a", "/3").allow && judge(&robots, "a", "/5").allow);
}

/// "The most bytes" are those of the rule as written: `*` and `$` count.
#[test]
fn choice_what_counts_as_bytes() {
    assert!(allowed("User-agent: *\nAllow: /a\nDisallow: /a*\n", &["/a"]).is_empty());
    assert_eq!(
        allowed("User-agent: *\nAllow: /%61b\nDisallow: /ab\n", &["/ab"]).len(),
        1,
        "%61 counts as one"
    );
    assert!(allowed("User-agent: *\nAllow: /*/c\nDisallow: /b/c*\n", &["/b/c"]).is_empty());
}

/// Dot segments are the caller's matter: the engine compares what it is given.
#[test]
fn choice_dot_segments_are_not_resolved() {
    assert_eq!(allowed("User-agent: *\nDisallow: /b\n", &["/a/../b"]).len(), 1);
}
