//! What is said about odd files, and where.

mod whole_file;

use crate::parse;
use rfc9309::{FindingKind, LEAST_LIMIT, ParseLimits, Robots, Severity};
use std::fmt::Write;
use std::time::Duration;

/// The findings of a file as `line:column code`.
fn findings(file: impl AsRef<[u8]>) -> Vec<String> {
    let parsed = parse(file);
    parsed.findings.iter().map(|f| format!("{}:{} {}", f.line, f.column, f.kind.code())).collect()
}

#[test]
fn a_good_file_has_none() {
    let file = "# A comment\nLicense: https://example.com/license.xml\n\nUser-agent: FooBot\nUser-agent: BarBot\nDisallow: /a/\nAllow: /a/b\nDisallow: /*.pdf$\nDisallow: /*.pdf?\n\
                Crawl-delay: 5\n\nUser-agent: *\nDisallow:\n\nSitemap: https://example.com/sitemap.xml\n";
    assert_eq!(findings(file), Vec::<String>::new());
}

#[test]
fn records() {
    assert_eq!(findings("Disalow: /x\n"), ["1:1 misspelt-record", "1:1 rule-outside-group"]);
    assert_eq!(findings("User-agent: a\n  Foo: bar\n"), ["2:3 unknown-record"]);
    assert_eq!(findings("User-agent: a\n hello there world\n"), ["2:2 unparseable-line"]);
    assert_eq!(findings("User-agent: a\nDisallow /x\n"), ["2:1 missing-colon"]);
    assert_eq!(findings("User-agent: a\nCrawl-delay: soon\n"), ["2:14 crawl-delay"]);
    assert_eq!(findings("User-agent: a\nDisallow: /x\0y\n"), ["2:13 nul-octet"]);
}

#[test]
fn tokens() {
    assert_eq!(findings("User-agent: FooBot/1.0\nDisallow: /x\n"), ["1:13 token-cut"]);
    assert_eq!(findings("User-agent: bot\nDisallow: /x\n"), ["1:13 generic-token"]);
    assert_eq!(findings("User-agent:\nDisallow: /x\n"), ["1:12 unusable-token"]);
    assert_eq!(
        findings("User-agent: a\nDisallow: /x\n\nUser-agent: A\nDisallow: /y\n"),
        ["4:13 duplicate-group"]
    );
    for (one, other) in [("FooBot", "FooBot/2.0"), ("FooBot/2.0", "foobot")] {
        let file = format!("User-agent: {one}\nDisallow: /x\n\nUser-agent: {other}\nDisallow: /y\n");
        assert!(findings(&file).contains(&"4:13 duplicate-group".to_owned()), "{one} {other}");
    }
    let once = findings("User-agent: FooBot\nUser-agent: FooBot/2.0\nDisallow: /x\n");
    assert_eq!(once, ["2:13 token-cut"]);
}

#[test]
fn several_names_on_one_line() {
    let file = "User-agent: GPTBot, ClaudeBot\nDisallow: /x\n";
    let found = parse(file).findings;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].kind, found[0].severity), (FindingKind::SeveralTokens, Severity::Warning));
    assert_eq!(
        found[0].to_string(),
        "`GPTBot, ClaudeBot` on one line names `GPTBot` at most; the other crawlers are not bound"
    );
    assert!(parse(file).robots.judge(&["ClaudeBot"], true, b"/x").allow);
    assert_eq!(findings("User-agent: *, GPTBot\nDisallow: /x\n"), ["1:13 several-tokens"]);
    assert_eq!(findings("User-agent: Mozilla/5.0 (a, like b)\nDisallow: /x\n"), ["1:13 token-cut"]);
    assert_eq!(findings("User-agent: GPTBot,\nDisallow: /x\n"), ["1:13 token-cut"]);
}

#[test]
fn names_that_are_nearly_known() {
    let near = |file: &str| {
        let mut parsed = parse(file);
        parsed.compare_names(
            ["GPTBot", "AI2Bot", "Googlebot", "Bing", "SemrushBot-SWA"].into_iter(),
            ["Foo-Extended"].into_iter(),
        );
        let of_names = parsed.findings.iter().filter(|found| found.kind == FindingKind::MisspeltToken);
        of_names.map(|found| format!("{}:{} {found}", found.line, found.column)).collect::<Vec<_>>()
    };
    let file =
        "User-agent: GTPBot\nUser-agent: gptbot\nDisallow: /\n\nUser-agent: GoogleBots/2\nDisallow: /\n";
    assert_eq!(
        near(file),
        [
            "1:13 no crawler `GTPBot` is known; did you mean `GPTBot`?",
            "5:13 no crawler `GoogleBots` is known; did you mean `Googlebot`?"
        ]
    );
    for (name, meant) in [
        ("GPT-Bot", "GPTBot"),
        ("google_bot", "Googlebot"),
        ("Google Bot", "Googlebot"),
        ("FooExtended", "Foo-Extended"),
    ] {
        let found = near(&format!("User-agent: {name}\nDisallow: /\n"));
        assert!(found.len() == 1 && found[0].ends_with(&format!("did you mean `{meant}`?")), "{found:?}");
    }
    for name in [
        "AI2Bot",
        "Googlebot/2.1",
        "Bong",
        "Googlebat",
        "AIBot",
        "SemrushBot-SA",
        "Somebot",
        "bots",
        "*",
        "GTPBot, ClaudeBot",
    ] {
        assert_eq!(near(&format!("User-agent: {name}\nDisallow: /\n")), [""; 0], "{name}");
    }
}

/// A group of control tokens lets nobody escape from `*`; one that names a crawler as well does.
#[test]
fn control_tokens() {
    let findings = |file: &str| {
        let mut parsed = parse(file);
        parsed.compare_names(["GPTBot"].into_iter(), ["Foo-Extended"].into_iter());
        let found = parsed.findings.iter().filter(|found| found.kind != FindingKind::DisallowAll);
        found
            .map(|found| format!("{}:{} {}", found.line, found.column, found.kind.code()))
            .collect::<Vec<_>>()
    };
    assert_eq!(findings("User-agent: foo-extended\nDisallow: /x\n"), ["1:13 control-token"]);
    assert_eq!(findings("User-agent: Foo\nDisallow: /x\n"), [""; 0]);
    let star = "User-agent: *\nDisallow: /x\n\n";
    assert_eq!(findings(&format!("{star}User-agent: Foo-Extended\n")), ["4:13 control-token"]);
    assert_eq!(findings(&format!("{star}User-agent: GPTBot\n")), ["4:13 not-bound-by-star"]);
}

#[test]
fn records_that_nobody_heeds() {
    assert_eq!(findings("User-agent: a\nNoindex: /x\nNoindex: /y\n"), ["2:10 noindex-record"], "once");
    assert_eq!(findings("Host: example.org\n"), ["1:7 host-record"]);
    for value in [
        "/s.xml",
        "s.xml",
        "//a.example/s.xml",
        "a.example/s.xml",
        "https:///s",
        "/x?https://a.example/s",
        "",
    ] {
        let found = findings(format!("Sitemap:{value}\n"));
        assert_eq!(found, ["1:9 relative-sitemap"], "{value}");
    }
    assert_eq!(findings("Sitemap: HTTPS://a.example/s.xml\n"), [""; 0]);
    let severity = |file: &str| parse(file).findings[0].severity;
    assert_eq!(severity("Noindex: /x"), Severity::Warning);
    assert_eq!(severity("Sitemap: /x"), Severity::Warning);
    assert_eq!(severity("Host: x"), Severity::Note);
}

#[test]
fn the_file_of_a_staging_site() {
    for (more, line) in [
        ("# Staging: keep out\n", 3),
        ("Sitemap: https://staging.example.org/sitemap.xml\n", 3),
        ("Host: dev.example.org:8080\n", 3),
        ("Sitemap: http://localhost/sitemap.xml\n", 3),
    ] {
        let found = parse(format!("User-agent: *\nDisallow: /\n{more}")).findings;
        let staging = found.iter().find(|found| found.kind == FindingKind::StagingFile).expect(more);
        assert_eq!((staging.line, staging.severity, staging.other), (2, Severity::Warning, Some(line)));
        assert!(found.iter().all(|found| found.kind != FindingKind::DisallowAll), "said once: {more}");
    }
    for file in [
        "User-agent: *\nDisallow: /\n",
        "User-agent: *\nDisallow: /staging # staging\n",
        "User-agent: *\nDisallow: /\nAllow: /staging\n# staging\n",
        "User-agent: *\nDisallow: /\nSitemap: https://example.org/dev.xml\nSitemap: https://latest.example/s\n",
    ] {
        assert!(parse(file).findings.iter().all(|found| found.kind != FindingKind::StagingFile), "{file}");
    }
}

#[test]
fn files_that_a_query_lets_through() {
    let of = |rules: &str| findings(format!("User-agent: a\n{rules}"));
    assert_eq!(of("Disallow: /*.pdf$\n"), ["2:1 query-passes"]);
    assert_eq!(of("Disallow: /a/b.php$\nDisallow: /x?\n"), ["2:1 query-passes"]);
    let message = parse("User-agent: a\nDisallow: /*.pdf$\n").findings[0].to_string();
    assert_eq!(
        message,
        "`Disallow: /*.pdf$` does not match where a query such as `?x` follows: `$` stands behind the query"
    );
    let apart = "Disallow: /*.pdf$\n\nUser-agent: b\nDisallow: /\n\nUser-agent: a\nDisallow: /*.pdf?\n";
    assert!(
        !of(apart).contains(&"2:1 query-passes".to_owned()),
        "the rules of a group may stand in two places"
    );
    for covered in [
        "Disallow: /*.pdf$\nDisallow: /*.pdf?\n",
        "Disallow: /*.pdf$\nDisallow: /*.pdf?*\n",
        "Disallow: /*.pdf$\nDisallow: /*?\n",
        "Disallow: /$\nDisallow: /*/a$\nAllow: /*.js$\nDisallow: /*.$\nDisallow: /*.png\n",
    ] {
        assert!(!of(covered).contains(&"2:1 query-passes".to_owned()), "{covered}");
    }
}

/// Digits end a product token of section 2.2.1; names that have some are compared as a whole too.
#[test]
fn names_outside_the_grammar() {
    for (value, message, hint) in [
        ("AI2Bot", "`AI2Bot` is not a product token; crawlers may compare only `AI`", "keep it"),
        ("MJ12bot", "`MJ12bot` is not a product token; crawlers may compare only `MJ`", "keep it"),
        ("Foo/1.0", "`Foo/1.0` is not a product token; crawlers may compare only `Foo`", "write the"),
        ("* all", "`* all` is not a product token; crawlers may compare only `*`", "write `*` alone"),
        ("360x", "`360x` is not a product token; crawlers may not find themselves in it", "keep it"),
    ] {
        let found = parse(format!("User-agent: {value}\nDisallow: /x\n")).findings;
        assert_eq!(found[0].to_string(), message);
        assert!(found[0].hint().is_some_and(|text| text.starts_with(hint)), "{value}: {:?}", found[0].hint());
    }
}

#[test]
fn sitemaps_of_other_hosts() {
    let file =
        "User-agent: *\nDisallow: /a\nSitemap: https://a.example/a.xml\nSitemap: https://b.example/a.xml\n";
    assert_eq!(findings(file), ["3:10 sitemap-disallowed", "4:10 sitemap-disallowed"]);
    for host in ["B.example", "https://b.example/"] {
        let found = findings(format!("{file}Host: {host}\n"));
        assert_eq!(found, ["4:10 sitemap-disallowed", "5:7 host-record"]);
    }
}

#[test]
fn patterns() {
    assert_eq!(findings("User-agent: a\nDisallow: /a b\n"), ["2:11 blank-in-pattern"]);
    assert_eq!(findings("User-agent: a\nDisallow: x\n"), ["2:11 unmatchable-rule"]);
    assert_eq!(findings("User-agent: a\nDisallow: /a/../b\n"), ["2:11 dot-segment"]);
    assert_eq!(findings("User-agent: a\nDisallow: /a/.git\nAllow: /..a/\n"), Vec::<String>::new());
    assert_eq!(findings("User-agent: a\nDisallow: /a#b\n"), ["2:11 comment-in-pattern"]);
    let comments = "User-agent: a\nDisallow: /a #b\nDisallow: /c# d\nDisallow: #e\nDisallow: /f#\n";
    assert_eq!(findings(comments), Vec::<String>::new());
}

#[test]
fn a_rule_on_the_line_of_a_name() {
    for value in ["AhrefsBot Disallow: /", "AhrefsBot\tdisallow:/ Crawl-delay: 5"] {
        let found = parse(format!("User-agent: {value}\n\nUser-agent: *\nDisallow: /x\n")).findings;
        assert_eq!((found[0].kind, found[0].severity), (FindingKind::RuleInName, Severity::Warning));
        let said = found[0].to_string();
        assert!(
            said.contains("`AhrefsBot`, which has a group of its own, does not read that of `*`"),
            "{said}"
        );
    }
    assert_eq!(findings("User-agent: Foo (allow: no)\nDisallow: /x\n"), ["1:13 token-cut"]);
}

#[test]
fn a_group_that_leaves_out_what_everybody_is_told() {
    let found = |group: &str| {
        let file = format!(
            "User-agent: *\nDisallow: /feedback/\nDisallow: /a\nDisallow: /b\nDisallow: /c\nDisallow: /*?\n\nUser-agent: FooBot\n{group}"
        );
        let told = parse(file).findings.into_iter().filter(|found| found.kind == FindingKind::NotBoundByStar);
        told.map(|found| format!("{}: {found}", found.line)).collect::<Vec<_>>()
    };
    assert_eq!(
        found("Crawl-delay: 5\n"),
        ["8: `FooBot` has a group of its own, so it may fetch what `*` may not (lines 2, 3, 4 and 2 more)"]
    );
    for meant in ["Disallow: /\n", "Disallow:\n", "Disallow: /other\n"] {
        assert_eq!(found(meant), [""; 0], "{meant}");
    }
    assert_eq!(findings("User-agent: *\nAllow: /a\n\nUser-agent: FooBot\nDisallow: /x\n"), [""; 0]);
}

#[test]
fn a_rule_that_a_longer_one_outranks() {
    let found = parse("User-agent: a\nDisallow: /*/raw\nAllow: /users\n").findings;
    assert_eq!((found[0].kind, found[0].line), (FindingKind::Outranked, 2));
    assert_eq!(
        found[0].to_string(),
        "`Disallow: /*/raw` does not hold below `/users`: line 3 has as many bytes or more, and wins"
    );
    for rules in ["Disallow: /*/raw/x\nAllow: /users\n", "Disallow: /*/raw\nAllow: /users/a.html\n"] {
        assert_eq!(findings(format!("User-agent: a\n{rules}")), [""; 0], "{rules}");
    }
}

#[test]
fn letters_beyond_ascii_in_a_path() {
    let file = "User-agent: a\nDisallow: /caf\u{e9}\nDisallow: /th\u{e9}\nDisallow: /caf%C3%A9\n";
    assert_eq!(findings(file), ["2:11 unencoded-path", "4:1 shadowed-rule"], "said once");
}

#[test]
fn everything_disallowed() {
    for pattern in ["/", "/*", "*", "/**", "/*$", "*$", "**/*", "*/"] {
        let file = format!("User-agent: *\n  Disallow: {pattern}\n");
        assert_eq!(findings(&file), ["2:3 disallow-all"], "{pattern}");
        let message = parse(&file).findings[0].to_string();
        assert_eq!(message, "every crawler without a group of its own is shut out", "{pattern}");
    }
    for pattern in ["/$", "/*/", "/**/$", "*/$", "", "/a", "/ *"] {
        let file = format!("User-agent: *\nDisallow: {pattern}\n");
        let found = parse(&file).findings;
        assert!(found.iter().all(|found| found.kind != FindingKind::DisallowAll), "{pattern}");
    }
    assert_eq!(findings("User-agent: *\nDisallow: /\nAllow: /\n"), ["2:1 shadowed-rule"]);
    assert_eq!(findings("User-agent: a\nDisallow: /\n"), Vec::<String>::new());
}

#[test]
fn everything_disallowed_but_for_some_paths() {
    for (file, line) in [
        ("User-agent: *\nDisallow: /\nAllow: /public/\n", 3),
        ("User-agent: *\nAllow: /$\nDisallow: /*\n", 2),
        ("User-agent: *\nDisallow: /\n\nUser-agent: a\nUser-agent: *\nAllow: /x\n", 6),
    ] {
        let found = parse(file).findings;
        let all = found.iter().find(|found| found.kind == FindingKind::DisallowAll).unwrap();
        assert_eq!(all.other, Some(line));
        assert!(all.to_string().contains("all but the paths that rules allow"), "{all}");
    }
    // `Allow: /` has fewer bytes than `/**`, so it lets nothing out.
    let found = parse("User-agent: *\nDisallow: /**\nAllow: /\n").findings;
    assert!(found.iter().any(|f| f.kind == FindingKind::DisallowAll && f.other.is_none()));
}

#[test]
fn shadowed_rules() {
    let parsed = parse("User-agent: a\nDisallow: /x\nAllow: /x\n");
    let finding = &parsed.findings[0];
    assert_eq!((finding.kind, finding.line, finding.other), (FindingKind::ShadowedRule, 2, Some(3)));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.to_string(), "`Disallow: /x` has no effect: line 3 always wins over it");
    let twice = parse("User-agent: a\nDisallow: /x\nDisallow: /%78\n");
    assert_eq!((twice.findings[0].line, twice.findings[0].severity), (3, Severity::Note));
    assert_eq!(findings("User-agent: a\nDisallow: /*a*b\nAllow: /*a*b\n"), ["2:1 shadowed-rule"]);
    assert_eq!(
        findings("User-agent: a\nDisallow: /a\nDisallow: /ab\n"),
        Vec::<String>::new(),
        "longer rules decide"
    );
    for pattern in ["/x**", "/a*******", "/a**$", "/*a**b*", "/*%61*b"] {
        let file = format!("User-agent: a\nDisallow: {pattern}\nDisallow: {pattern}\nAllow: {pattern}\n");
        assert_eq!(findings(&file), ["2:1 shadowed-rule", "3:1 shadowed-rule"], "{pattern}");
    }
    // The same in a group that is searched.
    let mut file = String::from("User-agent: a\nDisallow: /x\nAllow: /x\nDisallow: /x$\n");
    for number in 0..20 {
        let _ = writeln!(file, "Disallow: /y{number}z");
    }
    assert_eq!(findings(&file), ["2:1 shadowed-rule"]);
}

#[test]
fn a_rule_that_only_one_of_two_groups_overrides_is_not_shadowed() {
    let file = "User-agent: a\nUser-agent: b\nDisallow: /x\n\nUser-agent: a\nAllow: /x\n";
    assert_eq!(findings(file), ["5:13 duplicate-group"]);
}

#[test]
fn sitemaps() {
    let file =
        "User-agent: *\nDisallow: /maps/\nSitemap: https://example.com/maps/a.xml\nSitemap: /maps/b.xml\n";
    assert_eq!(findings(file), ["3:10 sitemap-disallowed", "4:10 relative-sitemap"]);
}

#[test]
fn details_are_short_and_printable() {
    let parsed = parse(format!("User-agent: a\n\u{1b}[31m{}\n", "é".repeat(500)));
    let unseen = parse("User-agent: a\n\u{f148}\"\\'\n");
    assert_eq!(unseen.findings[0].to_string(), "`\\u{f148}\"\\'` is not a record");
    let finding = &parsed.findings[0];
    assert!(finding.detail.chars().count() < 80 && !finding.detail.contains('\u{1b}'));
    assert!(
        parsed
            .findings
            .iter()
            .all(|finding| !finding.to_string().is_empty() && !finding.kind.code().is_empty())
    );
}
