//! The report as a page: what it says is what the report says, and strangers can add nothing to it but text.

use crate::html::ParsedPage;
use crate::store::{self, HOSTILE};
use crate::support::command::ctl;
use base64::Engine as _;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;
use tempfile::TempDir;

/// A folder with a store that `fill` has made.
pub(crate) fn filled(fill: impl Fn(&Path)) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fill(folder.path());
    folder
}

/// What `gatewayctl report` prints of the last two days of a store.
#[track_caller]
pub(crate) fn report(folder: &Path, format: &str) -> String {
    let folder = folder.to_str().expect("UTF-8");
    ctl(["report", "--since", "25h", "--format", format, "--state-dir", folder]).exits(0).stdout
}

#[track_caller]
fn parsed(html: &str) -> ParsedPage {
    ParsedPage::parse(html).unwrap_or_else(|fault| panic!("{fault}"))
}

/// A number as the page writes it.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (mut text, length) = (String::new(), digits.len());
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (length - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn sum(report: &Value, key: &str, of: impl Fn(&Value) -> bool) -> u64 {
    let entries = report["crawlers"].as_array().expect("entries").iter();
    entries.filter(|entry| of(entry)).map(|entry| entry[key].as_u64().expect("a count")).sum()
}

fn is_named(entry: &Value) -> bool {
    ["crawler", "special-case"].iter().any(|client| entry["client"] == **client)
        && entry["proof"] != "contradicted"
}

#[test]
fn it_says_what_the_report_says() {
    let folder = filled(store::ordinary);
    let json: Value = serde_json::from_str(&report(folder.path(), "json")).expect("JSON");
    let page = parsed(&report(folder.path(), "html"));
    let lines: Vec<&str> = page.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    for (label, key) in
        [("Requests", "requests"), ("Violations", "violations"), ("Refused", "refused"), ("Stale", "stale")]
    {
        let at = lines.iter().position(|line| *line == label).expect("a total");
        assert_eq!(lines[at + 1], grouped(sum(&json, key, is_named)), "{label}");
    }
    for entry in json["crawlers"].as_array().expect("entries") {
        let name = entry["crawler"].as_str().unwrap_or("(no name)");
        assert!(lines.contains(&name), "{name}");
        for rule in entry["rules"].as_array().expect("rules") {
            let text = rule["rule"].as_str().expect("a rule");
            assert!(lines.contains(&text), "{text}");
        }
    }
    let text = report(folder.path(), "text");
    let headline = text.lines().find(|line| line.contains("broke rules")).expect("a headline");
    let says =
        lines.iter().any(|line| line.to_lowercase().contains(&headline.trim_end_matches('.').to_lowercase()));
    assert!(says, "{headline} is not in {lines:?}");
    for part in ["Violations over time", "Not crawlers", "Borrowed names"] {
        assert!(lines.contains(&part), "{part}");
    }
    assert!(lines.iter().any(|line| line.contains("10 s asked for")), "the declared Crawl-delay");
}

#[test]
fn the_bars_add_up_to_the_violations() {
    let folder = filled(store::ordinary);
    let json: Value = serde_json::from_str(&report(folder.path(), "json")).expect("JSON");
    let html = report(folder.path(), "html");
    let title = html
        .split("<title id=\"course-title\">")
        .nth(1)
        .and_then(|rest| rest.split('<').next())
        .expect("a title");
    let count = title.split("; ").nth(1).and_then(|rest| rest.strip_suffix(" in all")).expect("a sum");
    assert_eq!(count, grouped(sum(&json, "violations", is_named)));
    let page = parsed(&html);
    let number = |rect: &[(String, String)], name: &str| -> u64 {
        let value = rect.iter().find(|(attribute, _)| attribute == name).map(|(_, value)| value.as_str());
        value.and_then(|value| value.parse().ok()).unwrap_or_default()
    };
    let bars = page.of("rect").filter(|rect| rect.iter().any(|(name, _)| name == "y"));
    for bar in bars {
        assert!(number(bar, "y") + number(bar, "height") <= 1_000, "{bar:?} leaves the drawing");
    }
}

/// What page, terminal, JSON and CSV say is one sum, row by row and part by part.
#[test]
fn all_numbers_of_all_forms_add_up() {
    for fill in [store::ordinary, store::crowded] {
        let folder = filled(fill);
        let json: Value = serde_json::from_str(&report(folder.path(), "json")).expect("JSON");
        let page = parsed(&report(folder.path(), "html"));
        let lines: Vec<&str> = page.text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let number = |text: &str| text.replace(',', "").parse::<u64>().ok();
        let begins = |title: &str| lines.iter().position(|line| *line == title).expect("a section");
        for (key, label) in [("requests", "Requests"), ("violations", "Violations"), ("refused", "Refused")] {
            let wanted = sum(&json, key, is_named);
            let (mut all, mut row, mut parts) = (0, 0, 0);
            let section = &lines[begins("Crawlers, all together") + 1..];
            let section = &section[section.iter().position(|line| *line == "Crawlers").expect("cards")..];
            let at = section.iter().position(|line| *line == "Name").expect("rows");
            let ends = ["Borrowed names", "Not crawlers"];
            let end = section.iter().position(|line| ends.contains(line)).unwrap_or(section.len());
            for pair in section[at..end].windows(2) {
                let value = pair[1].split(' ').next().and_then(number);
                let Some(value) = value.filter(|_| pair[0] == label) else { continue };
                let value = if pair[1].contains(", ") && key == "violations" {
                    pair[1].split(' ').filter_map(number).sum()
                } else {
                    value
                };
                if parts == row {
                    (row, parts) = (value, 0);
                    all += value;
                } else {
                    parts += value;
                    assert!(parts <= row, "{label}: parts come to {parts}, the row says {row}");
                }
            }
            assert_eq!((all, parts), (wanted, row), "{label} of all rows");
            let csv = report(folder.path(), "csv");
            let mut records = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let head = records.next().expect("a head");
            let column = |name: &str| head.iter().position(|head| *head == name).expect("a column");
            let told = records.filter(|cells| {
                cells[column("proof")] != "contradicted" && cells[column("client")] == "crawler"
            });
            let told = told.collect::<Vec<_>>();
            // Preferences that were told may have commas; this column is the last, and the last line has lost its LF.
            let bytes = told.iter().filter_map(|cells| number(cells.last()?.trim_end())).sum::<u64>();
            assert_eq!(bytes, sum(&json, "bytes", is_named), "bytes of the CSV");
            let told: u64 = told.iter().map(|cells| number(cells[column(key)]).expect("a number")).sum();
            assert_eq!(told, wanted, "{key} of the CSV");
        }
        let bytes = sum(&json, "bytes", |_| true);
        assert_eq!(bytes, store::PAGE_BYTES * sum(&json, "requests", |_| true), "bytes");
        assert!(lines.contains(&"Sent") && lines.iter().any(|line| line.ends_with("MB")), "{lines:?}");
        let text = report(folder.path(), "text");
        assert!(text.contains("B ("), "{text}");
        let totals = text.lines().find(|line| line.starts_with("all crawlers: ")).expect("totals");
        for key in ["requests", "violations", "refused"] {
            let told = format!("{} {key}", grouped(sum(&json, key, is_named)));
            assert!(totals.contains(&told) || sum(&json, key, is_named) == 0, "{totals}: {told}");
        }
    }
}

/// What is shown around names nobody.
#[test]
fn the_public_form_says_what_it_leaves_out() {
    let folder = filled(store::ordinary);
    let path = folder.path().to_str().expect("UTF-8");
    for format in ["text", "json", "html", "csv"] {
        let arguments = ["report", "--public", "--since", "25h", "--format", format, "--state-dir", path];
        let printed = ctl(arguments).exits(0);
        for target in ["/search?q=pasta", "/article/1", "/article/"] {
            assert!(!printed.stdout.contains(target), "{format}: {target}");
        }
        let told = format!("{} {}", printed.stdout, printed.stderr);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("request ids and names of gateways are left out"), "{format}: {told}");
    }
    let arguments =
        ["report", "--public", "--evidence", "--crawler", "GPTBot", "--since", "25h", "--state-dir", path];
    let printed = ctl(arguments).exits(0).stdout;
    assert!(!printed.contains("User-Agent: ") && !printed.contains("/drafts/1"), "{printed}");
    assert!(printed.contains("are not for the public"), "{printed}");
}

#[test]
fn it_needs_nothing_and_can_do_nothing() {
    for fill in [store::ordinary, store::empty, store::hostile] {
        let folder = filled(fill);
        let page = parsed(&report(folder.path(), "html"));
        for target in page.values("href") {
            assert!(target.starts_with('#') || target == "data:,", "{target}");
        }
        assert!(
            page.of("script").next().is_none()
                && !page.style.contains("url(")
                && !page.style.contains("@import")
        );
        let policy =
            page.values("content").find(|content| content.contains("default-src")).expect("a policy");
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(&page.style));
        assert!(
            policy.contains("default-src 'none'") && policy.contains(&format!("'sha256-{hash}'")),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains("script-src"), "{policy}");
        assert_eq!(page.inaccessible(), Vec::<String>::new());
    }
}

/// Characters that no page may hold: controls but line feeds, and whatever turns the direction of writing or cannot be
/// seen. The isolates in titles of drawings are the page's own.
fn is_unwanted(symbol: char) -> bool {
    (symbol.is_control() && symbol != '\n')
        || matches!(symbol, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}' | '\u{2067}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[test]
fn strangers_can_add_nothing_but_text() {
    let folder = filled(store::hostile);
    let html = report(folder.path(), "html");
    let page = parsed(&html);
    let unwanted: Vec<char> = html.chars().filter(|symbol| is_unwanted(*symbol)).collect();
    assert!(unwanted.is_empty(), "{unwanted:?}");
    for text in HOSTILE
        .iter()
        .filter(|text| !text.chars().any(is_unwanted) && !text.contains(['\u{301}', '\0', '\t']))
    {
        assert!(page.text.contains(text), "{text} is not told as it is");
    }
    for spelt in ["\\u{202e}txt.stobor", "\\u{1b}[31mred", "a\\u{0}b\\u{d}\\u{a}c", "/caf\\xE9/"] {
        assert!(page.text.contains(spelt), "{spelt}");
    }
    let opened = html.matches('\u{2068}').count();
    assert_eq!(opened, html.matches('\u{2069}').count(), "every isolate is closed");
    let longest = page.text.lines().map(|line| line.chars().count()).max().unwrap_or_default();
    assert!(longest < 700, "a line of {longest}");
}

/// Every place where strangers' words stand has its direction to itself.
#[test]
fn words_of_strangers_are_isolated() {
    let folder = filled(store::hostile);
    let html = report(folder.path(), "html");
    let (mut rest, mut seen) = (html.as_str(), 0);
    let mark = "\u{5d0}\u{5d1}\u{5d2}";
    while let Some(at) = rest.find(mark) {
        let before = &rest[..at];
        let since = |tag: &str| before.rfind(tag);
        let in_bdi = since("<bdi") > since("</bdi>");
        let in_isolate = since("\u{2068}") > since("\u{2069}");
        assert!(in_bdi || in_isolate, "{}", &rest[at.saturating_sub(100)..at + 20]);
        seen += 1;
        rest = &rest[at + mark.len()..];
    }
    assert!(seen > 6, "only {seen} places seen");
}

#[test]
fn an_empty_store_makes_a_page_that_says_so() {
    let folder = filled(store::empty);
    let page = parsed(&report(folder.path(), "html"));
    assert!(
        page.text.contains("No crawler was seen") && page.text.contains("Nothing was recorded in this time")
    );
    assert!(page.of("svg").next().is_none() && page.of("table").next().is_none());
}

#[test]
fn three_hundred_crawlers_fit() {
    let folder = filled(store::crowded);
    let html = report(folder.path(), "html");
    let page = parsed(&html);
    assert!(html.len() < 4 * 1024 * 1024, "{} bytes", html.len());
    for number in 0..300 {
        assert!(page.text.contains(&format!("\nCrowd{number:03}Bot\n")), "{number}");
    }
    assert_eq!(page.inaccessible(), Vec::<String>::new());
}
