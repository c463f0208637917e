//! What is said about odd files, and where.

use crate::parse;
use robots_gateway::robots::{FindingKind, Severity};
use std::fmt::Write;

/// The findings of a file as `line:column code`.
fn findings(file: impl AsRef<[u8]>) -> Vec<String> {
    let parsed = parse(file);
    parsed.findings.iter().map(|f| format!("{}:{} {}", f.line, f.column, f.kind.code())).collect()
}

#[test]
fn a_good_file_has_none() {
    let file = "# A comment\nUser-agent: FooBot\nUser-agent: BarBot\nDisallow: /a/\nAllow: /a/b\nDisallow: /*.pdf$\n\
                Crawl-delay: 5\n\nUser-agent: *\nDisallow:\n\nSitemap: https://example.com/sitemap.xml\n\
                Content-Signal: ai-train=no\nNoindex: /x\n";
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
    assert_eq!(findings("User-agent: Google-Extended\nDisallow: /x\n"), ["1:13 control-token"]);
    assert_eq!(findings("User-agent: bot\nDisallow: /x\n"), ["1:13 generic-token"]);
    assert_eq!(findings("User-agent:\nDisallow: /x\n"), ["1:12 unusable-token"]);
    assert_eq!(
        findings("User-agent: a\nDisallow: /x\n\nUser-agent: A\nDisallow: /y\n"),
        ["4:13 duplicate-group"]
    );
}

#[test]
fn patterns() {
    assert_eq!(findings("User-agent: a\nDisallow: /a b\n"), ["2:11 blank-in-pattern"]);
    assert_eq!(findings("User-agent: a\nDisallow: x\n"), ["2:11 unmatchable-rule"]);
    assert_eq!(findings("User-agent: *\nDisallow: /\n"), ["2:1 disallow-all"]);
    assert_eq!(findings("User-agent: *\nAllow: /$\nDisallow: /*\n"), Vec::<String>::new());
}

#[test]
fn shadowed_rules() {
    let parsed = parse("User-agent: a\nDisallow: /x\nAllow: /x\n");
    let finding = &parsed.findings[0];
    assert_eq!((finding.kind, finding.line, finding.related_line()), (FindingKind::ShadowedRule, 2, Some(3)));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(finding.to_string(), "`Disallow: /x` never decides: line 3 always does in its place");
    let twice = parse("User-agent: a\nDisallow: /x\nDisallow: /%78\n");
    assert_eq!((twice.findings[0].line, twice.findings[0].severity), (3, Severity::Note));
    assert_eq!(findings("User-agent: a\nDisallow: /*a*b\nAllow: /*a*b\n"), ["2:1 shadowed-rule"]);
    assert_eq!(
        findings("User-agent: a\nDisallow: /a\nDisallow: /ab\n"),
        Vec::<String>::new(),
        "longer rules decide"
    );
    // The same in a group that is compiled as a tree.
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
    assert_eq!(findings(file), ["3:10 sitemap-disallowed"]);
}

#[test]
fn encodings() {
    assert_eq!(findings("\u{feff}User-agent: a\nDisallow: /x\n"), ["1:1 byte-order-mark"]);
    assert_eq!(findings(b"User-agent: a\nDisallow: /caf\xE9\n"), ["2:15 not-utf8"]);
    let wide: Vec<u8> = "User-agent: *\nDisallow: /\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(findings(&wide), ["1:1 utf16"]);
    let marked = [&b"\xFF\xFE"[..], &wide].concat();
    assert_eq!(findings(&marked), ["1:1 utf16"]);
    assert_eq!(parse(&marked).findings[0].severity, Severity::Error);
}

#[test]
fn html() {
    let page = parse("\n<!DOCTYPE html>\n<html><body>\n<p>Page: not found</p>\n</body></html>\n");
    assert_eq!(page.robots.records(), 0);
    assert_eq!(page.findings.len(), 1);
    assert_eq!((page.findings[0].kind, page.findings[0].severity), (FindingKind::Html, Severity::Error));
    let mixed = parse("<html>\nUser-agent: *\nDisallow: /x\n");
    assert_eq!(mixed.robots.records(), 2);
    assert!(mixed.findings.iter().all(|finding| finding.severity == Severity::Warning));
}

#[test]
fn many_findings_are_cut_short() {
    let parsed = parse("nonsense here and there\n".repeat(5000));
    assert_eq!(parsed.findings.len(), 1001);
    let last = parsed.findings.last().unwrap();
    assert_eq!(last.kind, FindingKind::MoreFindings);
    assert_eq!(last.to_string(), "4000 further findings are not shown");
}

#[test]
fn details_are_short_and_printable() {
    let parsed = parse(format!("User-agent: a\n\u{1b}[31m{}\n", "é".repeat(500)));
    let finding = &parsed.findings[0];
    assert!(finding.detail().chars().count() < 80 && !finding.detail().contains('\u{1b}'));
    assert!(
        parsed
            .findings
            .iter()
            .all(|finding| !finding.to_string().is_empty() && !finding.kind.code().is_empty())
    );
}
