//! The story of a new rule, as the report tells it (RFC 9309 §2.4).

use crate::place::{ReportPlace, stop};
use crate::support::folder::rename_over;
use crate::support::{Daemon, get, until, version_of};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

const OPEN: &str = "User-agent: *\nAllow: /\n";
const CLOSED: &str = "User-agent: *\nDisallow: /new\nCrawl-delay: 20\n";
const SETTINGS: &str = "notice = \"8s\"\nsettle = \"50ms\"";

fn ask(gateway: &Daemon, crawler: &str, target: &str) -> u16 {
    gateway.send(&get(target).by(format!("{crawler}/1.0 (+https://crawler.example/)"))).status
}

#[track_caller]
fn entry<'a>(report: &'a Value, crawler: &str) -> &'a Value {
    let entries = report["crawlers"].as_array().expect("crawlers");
    let found: Vec<_> = entries.iter().filter(|entry| entry["crawler"] == crawler).collect();
    assert_eq!(found.len(), 1, "{crawler} in {report:#}");
    found[0]
}

/// How often each notice stands beside the rule of the new file.
fn notices(entry: &Value) -> [u64; 3] {
    ["pending", "read", "lapsed"].map(|notice| {
        let rules = entry["rules"].as_array().expect("rules").iter().filter(|rule| rule["notice"] == notice);
        rules
            .map(|rule| {
                assert_eq!((&rule["line"], &rule["rule"]), (&2.into(), &"Disallow: /new".into()));
                assert_eq!(rule["robots_version"], version_of(CLOSED));
                rule["count"].as_u64().expect("a count")
            })
            .sum()
    })
}

#[test]
fn stale_read_and_lapsed_are_told_apart_across_restarts() {
    let place = ReportPlace::with(OPEN);
    let gateway = place.start_with(SETTINGS);
    assert_eq!(ask(&gateway, "Readbot", "/robots.txt"), 200);
    assert_eq!(ask(&gateway, "Readbot", "/new/1"), 200, "the old file allows it");
    rename_over(&place.folder.join("robots.txt"), CLOSED);
    until("the new file is served", || {
        (gateway
            .send(
                &get("/robots.txt")
                    .by("Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"),
            )
            .text()
            == CLOSED)
            .then_some(())
    });
    let replaced = SystemTime::now();
    assert_eq!(ask(&gateway, "Readbot", "/new/2"), 200, "its copy allows it");
    stop(gateway);

    let gateway = place.start_with(SETTINGS);
    assert_eq!(ask(&gateway, "Readbot", "/new/3"), 200, "its copy still does");
    assert_eq!(ask(&gateway, "Readbot", "/robots.txt"), 200);
    let mut stale = 2;
    until("the read counts", || {
        let is_refused = ask(&gateway, "Readbot", "/new/4") == 403;
        stale += u64::from(!is_refused);
        is_refused.then_some(())
    });
    stop(gateway);

    let gateway = place.start_with(SETTINGS);
    assert_eq!(ask(&gateway, "Readbot", "/new/5"), 403, "what it read is remembered");
    let mut pending = 0;
    until("the notice lapses", || {
        let is_refused = ask(&gateway, "Neverbot", "/new/1") == 403;
        pending += u64::from(!is_refused);
        is_refused.then_some(())
    });
    assert!(replaced.elapsed().unwrap_or_default() >= Duration::from_secs(7), "it lapsed too early");
    stop(gateway);

    let report = place.json(&[]);
    let (reader, other) = (entry(&report, "Readbot"), entry(&report, "Neverbot"));
    assert_eq!(notices(reader), [stale, 2, 0], "{reader:#}");
    assert_eq!(notices(other), [pending, 0, 1], "{other:#}");
    assert_eq!((&reader["conduct"], &other["conduct"]), (&"ignored".into(), &"no-read-seen".into()));
    assert_eq!((&reader["violations"], &reader["stale"]), (&2.into(), &stale.into()));
    assert_eq!((&reader["reads"], &reader["last_read_version"]), (&2.into(), &version_of(CLOSED).into()));
    assert_eq!((&other["reads"], &other["last_read"]), (&0.into(), &Value::Null));
    assert_eq!(reader["crawl_delay"]["declared"], 20.0);

    let text = place.report(&[]).exits(0).stdout;
    // It may stand on several lines.
    let words = |part: &str| part.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: Vec<String> = text.splitn(2, '\n').map(words).collect();
    assert_eq!(told[0], "2 of 2 crawlers broke your rules: 3 requests, 3 refused");
    assert!(
        told[1].starts_with(
            "1 of 2 crawlers broke rules it had read: Readbot 2 times (none confirmed); 1 more broke rules that it was \
             not seen to read "
        ),
        "{text}"
    );
    assert!(!text.contains("never read"), "{text}");
    evidence(&place);
}

/// The case against each says what was seen of it, and no more.
fn evidence(place: &ReportPlace) {
    let case = place.report(&["--crawler", "readbot", "--evidence"]).exits(0).stdout;
    for part in [
        "Requests of Readbot against robots.txt",
        "2 of these came after it had itself read the version",
        "line 2: Disallow: /new",
        "GET /new/5 at localhost, answered 403, refused",
        "User-Agent: Readbot/1.0 (+https://crawler.example/)",
        &version_of(OPEN),
        &version_of(CLOSED),
    ] {
        assert!(case.split_whitespace().collect::<Vec<_>>().join(" ").contains(part), "{part} in\n{case}");
    }
    assert!(case.lines().all(|line| line.chars().count() <= 100), "{case}");
    let beginning: Vec<&str> = case.lines().skip(3).take(3).map(str::trim).collect();
    assert!(beginning[0] == "The first violation:" && beginning[2].starts_with("GET /new/"), "{case}");
    assert!(case.contains(&format!("    Disallow: /new (robots.txt {})", version_of(CLOSED))), "{case}");
    let case = place.report(&["--crawler", "Neverbot", "--evidence"]).exits(0).stdout;
    assert!(case.contains("no read was seen") && !case.contains("had itself read"), "{case}");
    let mistyped = place.report(&["--crawler", "neverbto"]).exits(0).stderr;
    assert!(mistyped.contains("did you mean `Neverbot`?"), "{mistyped}");
}

/// The report of a crawler that broke a rule and read nothing; its request came through a proxy, with these fields.
fn behind(setting: &str, site: &str, fields: &[(&str, &str)]) -> (Value, String) {
    let place = ReportPlace::new();
    let gateway = place.start_at(setting, site);
    let mut request = get("/private/x").by("Quietbot/1.0 (+https://crawler.example/)");
    for (name, value) in fields {
        request = request.with(name, value);
    }
    assert_eq!(gateway.send(&request).status, 403);
    stop(gateway);
    (place.json(&[]), place.report(&[]).exits(0).stdout)
}

/// What is said of reads, and of the crawler.
fn said(report: &Value) -> (&str, &str) {
    (
        report["reads"].as_str().expect("a word"),
        entry(report, "Quietbot")["conduct"].as_str().expect("a word"),
    )
}

const PROXY: &str = "trusted_proxies = [\"127.0.0.1\"]";
const CLIENT: (&str, &str) = ("X-Forwarded-For", "198.51.100.7");

#[test]
fn a_proxy_in_front_hides_no_read() {
    let (report, text) = behind(PROXY, "", &[CLIENT, ("Via", "1.1 proxy"), ("X-Real-IP", "198.51.100.7")]);
    assert_eq!(said(&report), ("complete", "no-read-seen"), "{report}");
    assert_eq!(report["partial_reads"], json!([]));
    assert!(!text.contains("unseen"), "{text}");
}

#[test]
fn behind_a_cache_nobody_is_said_to_have_read_nothing() {
    for (name, value) in [("CDN-Loop", "cdn.example"), ("cf-ray", "230b030023ae2822-SJC")] {
        for setting in [PROXY, ""] {
            let (report, text) = behind(setting, "", &[CLIENT, (name, value)]);
            assert_eq!(said(&report), ("partial", "unknown"), "{setting} {report}");
            let partial = &report["partial_reads"][0];
            let reason = partial["reason"].as_str().expect("a reason");
            assert_eq!(
                (partial["site"].as_str(), reason.eq_ignore_ascii_case(name)),
                (Some("default"), true),
                "{report}"
            );
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains(&format!(
                    "requests for default carried {reason}, so a cache in front may answer it"
                )),
                "{text}"
            );
            assert!(report["notes"][0].as_str().is_some_and(|note| note.contains(reason)), "{report}");
        }
    }
}

#[test]
fn whether_reads_go_unseen_is_the_operators_to_say() {
    let (report, _) = behind(PROXY, "reads = \"complete\"", &[CLIENT, ("CF-Ray", "x")]);
    assert_eq!(said(&report), ("complete", "no-read-seen"), "{report}");
    let (report, text) = behind("", "reads = \"partial\"", &[]);
    assert_eq!(said(&report), ("partial", "unknown"), "{report}");
    assert!(text.contains("the configuration of default says so"), "{text}");
}

#[test]
fn a_client_past_the_proxies_cannot_pretend_to_be_a_cache() {
    let (report, _) = behind("trusted_proxies = [\"192.0.2.1\"]", "", &[("CDN-Loop", "forged")]);
    assert_eq!(said(&report), ("complete", "no-read-seen"), "{report}");
}

#[test]
fn a_name_in_place_of_all_visitors_is_told() {
    let place = ReportPlace::new();
    let gateway = place.start_at(PROXY, "");
    let quiet = gateway.ctl(&["status"]).stdout;
    assert!(!quiet.contains("viewer"), "{quiet}");
    let by = |agent: &str| gateway.send(&get("/private/x").by(agent).with(CLIENT.0, CLIENT.1)).status;
    assert_ne!(by("Amazon CloudFront"), 403);
    assert_eq!(by("Quietbot/1.0 (+https://crawler.example/)"), 403);
    let status = gateway.ctl(&["--format", "json", "status"]).json();
    assert_eq!(status["sites"][0]["stand_in"], "Amazon CloudFront", "{status}");
    let config = gateway.folder().join("gateway.toml");
    let config = config.to_str().expect("UTF-8");
    for arguments in [["status"].as_slice(), &["check", "--config", config]] {
        let told = gateway.ctl(arguments).stdout;
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("visitors of default come as `Amazon CloudFront`"), "{told}");
        assert!(told.contains("forward the viewer's User-Agent"), "{told}");
    }
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(said(&report), ("partial", "unknown"), "{report}");
    let notes = report["notes"].to_string();
    assert!(notes.contains("Visitors of default come as `Amazon CloudFront`"), "{notes}");
    assert!(notes.contains("forward the viewer's User-Agent"), "{notes}");
}

#[test]
fn a_client_past_the_proxies_cannot_pretend_to_be_all_visitors() {
    let place = ReportPlace::new();
    let gateway = place.start_at("trusted_proxies = [\"192.0.2.1\"]", "");
    gateway.send(&get("/").by("Amazon CloudFront"));
    assert_eq!(gateway.send(&get("/private/x").by("Quietbot/1.0 (+https://crawler.example/)")).status, 403);
    stop(gateway);
    let report = place.json(&[]);
    assert_eq!(said(&report), ("complete", "no-read-seen"), "{report}");
}
