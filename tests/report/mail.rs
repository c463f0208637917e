//! One crawler's case, as the operator sends it to whoever runs the crawler.

use crate::fill::{crawler, record, writer};
use crate::place::{ReportPlace, stop};
use crate::support::command::ctl;
use crate::support::folder::rename_over;
use crate::support::{Daemon, Folder, get, until, version_of};
use robots_gateway::record::STORE_FILE;
use std::time::SystemTime;

const CLOSED: &str = "User-agent: *\nDisallow: /new\n";
const OPEN: &str = "User-agent: *\nAllow: /\n";

fn ask(gateway: &Daemon, crawler: &str, target: &str) -> u16 {
    gateway.send(&get(target).by(format!("{crawler}/1.0 (+https://crawler.example/)"))).status
}

fn replace(gateway: &Daemon, place: &ReportPlace, file: &str) {
    rename_over(&place.folder.join("robots.txt"), file);
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0";
    until("the new file is served", || {
        (gateway.send(&get("/robots.txt").by(browser)).text() == file).then_some(())
    });
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_stale_request_is_held_against_nobody_and_no_rule_that_allows_is_listed() {
    let place = ReportPlace::with(CLOSED);
    let gateway = place.start_with("notice = \"1h\"");
    replace(&gateway, &place, OPEN);
    assert_eq!(ask(&gateway, "Stalebot", "/new/1"), 200);
    assert_eq!(ask(&gateway, "Stalebot", "/robots.txt"), 200);
    replace(&gateway, &place, CLOSED);
    assert_eq!(ask(&gateway, "Stalebot", "/new/2"), 200);
    assert_eq!(ask(&gateway, "Stalebot", "/robots.txt"), 200);
    stop(gateway);
    let case = place.report(&["--crawler", "Stalebot", "--evidence"]).exits(0).stdout;
    for part in [
        "2 requests were judged. None was a violation.",
        "2 further requests are disallowed, and not held against it: a version that it could hold allows them, or is not \
         known",
        "line 2: Disallow: /new",
        "1 request stale, forwarded",
        "1 request, stale, is allowed by the newer version and disallowed by an older one",
    ] {
        assert!(words(&case).contains(part), "{part} in\n{case}");
    }
    assert!(!case.contains("line 2: Allow") && !case.contains("newer version only"), "{case}");
    let of_closed = format!("  {}, from", version_of(CLOSED));
    assert_eq!(case.matches(&of_closed).count(), 1, "equal bytes are one version:\n{case}");
    assert!(case.contains("\n    and from "), "its two times are told:\n{case}");
    assert_eq!(case.matches("    reads: 1, first").count(), 2, "{case}");
}

#[test]
fn a_read_that_does_not_count_yet_is_not_denied() {
    let place = ReportPlace::new();
    // A read counts an hour later: none here does.
    let gateway = place.start_after_long("notice = \"10h\"\nsettle = \"1h\"");
    assert_eq!(ask(&gateway, "Hastybot", "/robots.txt"), 200);
    assert_eq!(ask(&gateway, "Hastybot", "/private/"), 403);
    stop(gateway);
    let first = place.report(&[]).exits(0).stdout;
    assert_eq!(
        first.lines().nth(1),
        Some("1 crawler broke rules that it may or may not have read: Hastybot once (not confirmed)")
    );
    let case = place.report(&["--crawler", "HASTYBOT", "--evidence"]).exits(0).stdout;
    for part in [
        "1 request was judged. 1 was a violation",
        "It came without a counted read of the version in force",
        "reads: 1, first",
        "It counts from a short time later on",
    ] {
        assert!(words(&case).contains(part), "{part} in\n{case}");
    }
    assert!(!case.contains("was seen") && !case.contains("being seen"), "{case}");
}

#[test]
fn a_mail_can_carry_it() {
    let folder = Folder::new();
    let recorder = writer(folder.join(STORE_FILE));
    for number in 0..40 {
        let target = format!("/{}/é", "long".repeat(300 + number));
        record(&recorder, &crawler("Longbot"), number, &target, SystemTime::now());
    }
    recorder.close();
    let state = folder.path().to_str().expect("UTF-8");
    let case = |arguments: &[&str]| {
        let fixed = ["report", "--state-dir", state, "--crawler", "Longbot", "--evidence"];
        ctl([&fixed, arguments].concat()).exits(0).stdout
    };
    let text = case(&[]);
    let longest = text.lines().map(str::len).max().unwrap_or_default();
    assert!((500..998).contains(&longest), "{longest} bytes in a line of\n{text}");
    // Four rules, each after a read and without one: eight entries.
    assert!(!text.contains("more, met by"), "{text}");
    let short = case(&["--top", "3"]);
    assert_eq!(short.matches("in the group for").count(), 3, "{short}");
    assert!(short.contains("\n  and 5 more, met by "), "{short}");
}
