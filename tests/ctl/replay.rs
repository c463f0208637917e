//! `gatewayctl replay`: access logs judged as the gateway would have judged their requests.

mod following;
mod formats;
mod published;
mod same_counts;
mod shares;

use crate::golden::{assert_golden, ctl, ctl_with_input};
use crate::support::agents::{CHROME, CURL, GOOGLEBOT, GPTBOT, OKHTTP};
use crate::support::command::program;
use crate::support::log::Log;
use crate::support::{Ended, Folder, until};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /cgi-bin/\n";

/// Second of 2026-11-01, address, target, status, agent.
type LogLine<'a> = (u32, &'a str, &'a str, u16, Option<&'a str>);

/// GPTBot breaks a rule, reads robots.txt, and breaks it again; others for the rest of the report.
const LINES: [LogLine<'static>; 9] = [
    (0, "192.0.2.1", "/private/a?b=c", 200, Some(GPTBOT)),
    (10, "192.0.2.1", "/robots.txt", 200, Some(GPTBOT)),
    (200, "192.0.2.1", "/private/a?b=c", 200, Some(GPTBOT)),
    (210, "192.0.2.1", "/open", 200, Some(GPTBOT)),
    (220, "198.51.100.7", "/cgi-bin/x", 404, Some(CURL)),
    (230, "198.51.100.8", "/cgi-bin/x", 200, Some(CHROME)),
    (240, "198.51.100.9", "/cgi-bin/x", 200, Some(OKHTTP)),
    (250, "198.51.100.10", "/cgi-bin/x", 200, None),
    (260, "2001:db8::1", "//cgi-bin/x", 200, Some(GOOGLEBOT)),
];

fn clock(second: u32) -> String {
    format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60)
}

fn combined(line: &LogLine<'_>) -> String {
    sized(line, size(line))
}

/// The same with another size of the answer.
fn sized(&(second, address, target, status, agent): &LogLine<'_>, size: usize) -> String {
    let (time, agent) = (clock(second), agent.unwrap_or("-"));
    format!(
        "{address} - - [01/Nov/2026:{time} +0000] \"GET {target} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"\n"
    )
}

/// How long the answer was: whoever asked for robots.txt was given this very file.
fn size(&(_, _, target, status, _): &LogLine<'_>) -> usize {
    if (target, status) == ("/robots.txt", 200) { ROBOTS.len() } else { 5 }
}

fn nginx_json(line: &LogLine<'_>) -> String {
    let &(second, address, target, status, agent) = line;
    let time = format!("2026-11-01T{}+00:00", clock(second));
    let request = format!("GET {target} HTTP/1.1");
    let line = json!({ "time_iso8601": time, "remote_addr": address, "request": request, "status": status,
        "body_bytes_sent": size(line).to_string(), "host": "example.org", "http_user_agent": agent.unwrap_or_default() });
    format!("{line}\n")
}

fn caddy_json(line: &LogLine<'_>) -> String {
    let &(second, address, target, status, agent) = line;
    let headers = agent.map_or_else(|| json!({}), |agent| json!({ "User-Agent": [agent] }));
    let request = json!({ "remote_ip": address, "method": "GET", "host": "example.org", "uri": target, "headers": headers });
    // 2026-11-01T00:00:00Z
    let line = json!({ "level": "info", "ts": f64::from(1_793_491_200 + second), "request": request, "status": status,
        "size": size(line), "resp_headers": { "Server": ["Caddy"] } });
    format!("{line}\n")
}

fn log(shape: fn(&LogLine<'_>) -> String) -> String {
    LINES.iter().map(shape).collect()
}

fn folder(log: impl AsRef<[u8]>) -> Folder {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    folder.write("access.log", log);
    folder
}

#[track_caller]
fn replay(folder: &Folder, more: &[&str]) -> Ended {
    ctl(folder, &[&["replay", "--robots", "robots.txt"], more].concat())
}

#[track_caller]
fn as_json(folder: &Folder, more: &[&str]) -> Value {
    replay(folder, &[&["--format", "json"], more].concat()).exits(0).json()
}

fn crawler<'a>(report: &'a Value, name: &str) -> &'a Value {
    let crawlers = report["crawlers"].as_array().expect("crawlers");
    crawlers.iter().find(|entry| entry["crawler"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[test]
fn the_report_as_text_json_and_csv() {
    let folder = folder(log(combined));
    assert_golden("replay", &folder, &replay(&folder, &["access.log"]).exits(0));
    assert_golden("replay-json", &folder, &replay(&folder, &["access.log", "--format", "json"]).exits(0));
    assert_golden("replay-csv", &folder, &replay(&folder, &["access.log", "--format", "csv"]).exits(0));
    let page = replay(&folder, &["access.log", "--published", "--format", "html"]).exits(0).stdout;
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("GPTBot once"), "{page}");
}

/// The number in front of `after` in `text`, the last one there.
#[track_caller]
fn number_before(text: &str, after: &str) -> u64 {
    let (before, _) = text.split_once(after).unwrap_or_else(|| panic!("no `{after}` in {text}"));
    let digits = before.rsplit(|symbol: char| !symbol.is_ascii_digit() && symbol != ',').next();
    digits
        .unwrap_or_default()
        .replace(',', "")
        .parse()
        .unwrap_or_else(|_| panic!("no number before `{after}`"))
}

#[test]
fn the_page_the_table_and_the_json_tell_the_same_numbers() {
    // More than a minute apart, and the last at the very start of a minute: it is in the chart, too.
    let late = [
        combined(&(3_540, "192.0.2.1", "/private/late", 200, Some(GPTBOT))),
        combined(&(3_600, "192.0.2.7", "/cgi-bin/y", 200, Some(GOOGLEBOT))),
    ];
    let folder = folder([&log(combined), &late.concat(), "junk\n"].concat());
    let report = as_json(&folder, &["access.log", "--published"]);
    let count = |field: &str| -> u64 {
        let crawlers = report["crawlers"].as_array().expect("crawlers").iter();
        let named =
            crawlers.filter(|entry| entry["client"] == "crawler" || entry["client"] == "special-case");
        named.map(|entry| entry[field].as_u64().expect("a number")).sum()
    };
    assert_eq!((count("violations"), count("refused")), (4, 5), "{report}");
    let page = replay(&folder, &["access.log", "--published", "--format", "html"]).exits(0).stdout;
    assert_eq!(number_before(&page, " in all</title>"), count("violations"), "the chart: {page}");
    for (label, field) in [
        ("Requests", "requests"),
        ("Violations", "violations"),
        ("Would be refused", "refused"),
        ("Variants", "variants"),
    ] {
        let told = format!("<dt>{label}</dt><dd>{}</dd>", count(field));
        assert!(page.contains(&told), "{told} in {page}");
    }
    assert!(
        !page.contains("<dt>Refused</dt>") && !page.contains("<span class=\"number\">Refused</span>"),
        "{page}"
    );
    assert!(page.contains("Nothing was refused") && page.contains("Lines not read: 1"), "{page}");
    let text = replay(&folder, &["access.log", "--published"]).exits(0).stdout;
    assert!(text.starts_with("enforce mode would have refused 5 of 11 requests\n"), "{text}");
    let totals = format!(
        "all crawlers: {} requests, {} violations, {} variant, {} refused\n",
        count("requests"),
        count("violations"),
        count("variants"),
        count("refused")
    );
    assert!(text.contains(&totals), "{totals} in {text}");
    let table = replay(&folder, &["access.log", "--published", "--format", "csv"]).exits(0).stdout;
    let mut rows = table.lines().map(|line| line.trim_end().split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let rows: Vec<Vec<&str>> = rows.collect();
    let entries = report["crawlers"].as_array().expect("crawlers");
    assert_eq!(rows.len(), entries.len(), "{table}");
    for field in ["requests", "reads", "violations", "stale", "variants", "spoofed", "refused"] {
        let at =
            head.iter().position(|name| *name == field).unwrap_or_else(|| panic!("no {field} in {table}"));
        for (row, entry) in rows.iter().zip(entries) {
            assert_eq!(row[at], entry[field].to_string(), "{field} of {entry}");
        }
    }
}

#[test]
fn what_would_be_refused_and_what_let_through() {
    let report = as_json(&folder(log(combined)), &["access.log", "--published"]);
    let gptbot = crawler(&report, "GPTBot");
    assert_eq!((&gptbot["violations"], &gptbot["refused"]), (&json!(2), &json!(2)), "{gptbot}");
    assert_eq!((&gptbot["conduct"], &gptbot["reads"]), (&json!("ignored"), &json!(1)), "{gptbot}");
    let notices: Vec<_> =
        gptbot["rules"].as_array().expect("rules").iter().map(|rule| &rule["notice"]).collect();
    assert!(notices.contains(&&json!("read")) && notices.contains(&&json!("lapsed")), "{gptbot}");
    let told = &report["replay"];
    assert_eq!(told["refused"], 3, "GPTBot twice, and Googlebot's other spelling: {told}");
    assert_eq!(told["violations_after_read"], 1, "{told}");
    assert_eq!(told["forwarded"], 2, "of a client without a name, and of a tool: {told}");
    let count = |name: &str| told[name].as_u64().expect("a number");
    let all = count("judged") + count("browsers") + count("apps") + count("robots_txt") + count("exempt");
    assert_eq!((count("lines"), all), (9, 9), "{told}");
}

#[test]
fn every_shape_of_log_says_the_same() {
    let wanted = as_json(&folder(log(combined)), &["access.log"]);
    let with_host = |line: &LogLine<'_>| format!("example.org:443 {}", combined(line));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(log(combined).as_bytes()).expect("memory takes it");
    let gzip = packed.finish().expect("memory takes it");
    // Members one after the other are one file (RFC 1952 §2.2), as log rotation makes them.
    let mut two = GzEncoder::new(Vec::new(), Compression::fast());
    two.write_all(b"").expect("memory takes it");
    let gzip = [two.finish().expect("memory takes it"), gzip].concat();
    let zstd = zstd::encode_all(log(combined).as_bytes(), 1).expect("memory takes it");
    for (name, text) in [
        ("crlf", log(combined).replace('\n', "\r\n").into_bytes()),
        ("vhost", log(with_host).into_bytes()),
        ("nginx", log(nginx_json).into_bytes()),
        ("caddy", log(caddy_json).into_bytes()),
        ("gzip", gzip),
        ("zstd", zstd),
    ] {
        assert_eq!(as_json(&folder(text), &["access.log"]), wanted, "{name}");
    }
    let by_input = ctl_with_input(
        &folder(""),
        &["replay", "--robots", "robots.txt", "--format", "json", "-"],
        Some(&log(combined)),
    );
    assert_eq!(by_input.exits(0).json(), wanted);
}

#[test]
fn several_files_are_read_in_the_order_of_their_times() {
    let folder = folder("");
    let (first, last): (Vec<_>, Vec<_>) =
        LINES.iter().map(combined).partition(|line| line.contains("00:00:"));
    folder.write("access.log.1", first.concat());
    folder.write("access.log", last.concat());
    let wanted = as_json(&self::folder(log(combined)), &["access.log"]);
    assert_eq!(as_json(&folder, &["access.log", "access.log.1"]), wanted);
}

#[test]
fn lines_that_cannot_be_read_are_counted_with_an_example() {
    let folder = folder([log(combined).as_bytes(), b"\x00\xffjunk\x1b[2J\n{\"a\":\n"].concat());
    let report = as_json(&folder, &["access.log"]);
    assert_eq!(report["replay"]["unread"]["count"], 2, "{report}");
    let text = replay(&folder, &["access.log"]).exits(0).stdout;
    let first = "lines not read: 2, the first access.log:10:1: expected a time: \\u{0}\\xFFjunk\\u{1b}[2J";
    assert!(text.contains(first), "{text}");
    let none = self::folder("hello\nworld\n");
    assert_golden("replay-no-log", &none, &replay(&none, &["access.log"]).exits(2));
}

#[test]
fn a_log_without_user_agents_accuses_nobody() {
    let common = |line: &LogLine<'_>| {
        combined(line).split(" \"-\" ").next().map(|line| format!("{line}\n")).expect("a line")
    };
    let ended = replay(&folder(log(common)), &["access.log"]).exits(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("9 lines: none of them has a User-Agent"), "{}", ended.stderr);
    assert!(ended.stderr.contains("hint: nginx: `access_log PATH combined`"), "{}", ended.stderr);
    // Beside another log it is an error, too, and the other's report is shown.
    let both = folder(log(combined));
    both.write("common.log", log(common));
    let ended = replay(&both, &["access.log", "common.log"]).exits(2);
    assert!(
        ended.stdout.contains("GPTBot") && ended.stderr.contains("common.log: 9 lines"),
        "{}",
        ended.stderr
    );
}

#[test]
fn the_operator_may_say_what_the_lines_look_like() {
    let line = |line: &LogLine<'_>| {
        let &(second, address, target, status, agent) = line;
        let (time, agent) = (clock(second), agent.unwrap_or("-"));
        format!("{status}|2026-11-01T{time}+00:00|{address}|{agent}|GET {target} HTTP/1.1|{}\n", size(line))
    };
    let folder = folder(log(line));
    let format = "$status|$time_iso8601|$remote_addr|$http_user_agent|$request|$body_bytes_sent";
    let wanted = as_json(&self::folder(log(combined)), &["access.log"]);
    assert_eq!(as_json(&folder, &["access.log", "--log-format", format]), wanted);
    folder.write("nginx.conf", format!("http {{ log_format bars '{format}'; }}"));
    assert_eq!(as_json(&folder, &["access.log", "--log-format", "nginx.conf:bars"]), wanted);
    for (lacks, told) in [
        ("$status|$time_iso8601|$remote_addr|$x|$request|$y", "none of them has a User-Agent"),
        ("$status|$x|$remote_addr|$http_user_agent|$request|$y", "no time was found in any of them"),
        ("$status|$time_iso8601|$remote_addr|$http_user_agent|$x|$y", "none of them looks like a line"),
    ] {
        let ended = replay(&folder, &["access.log", "--log-format", lacks]).exits(2);
        assert!(ended.stderr.contains(told), "{lacks}: {}", ended.stderr);
    }
    let ended = replay(&folder, &["access.log", "--log-format", "nginx.conf:other"]).exits(2);
    assert!(ended.stderr.contains("no log_format is called `other` in nginx.conf"), "{}", ended.stderr);
}

#[test]
fn hosts_lead_to_their_sites() {
    let folder = Folder::new();
    folder.write("one.txt", "User-agent: *\nDisallow: /one\n");
    folder.write("two.txt", "User-agent: *\nDisallow: /two\n");
    let site = |name: &str| {
        format!(
            "[[sites]]\nhosts = [\"{name}.example\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"{name}.txt\"\n"
        )
    };
    folder.write("gateway.toml", format!("exempt = [\"192.0.2.9\"]\n{}{}", site("one"), site("two")));
    let line = |host: &str, address: &str, target: &str| {
        format!("{host} {}", combined(&(0, address, target, 200, Some(GPTBOT))))
    };
    let lines = [
        line("one.example", "192.0.2.1", "/one"),
        line("TWO.example:443", "192.0.2.1", "/one"),
        line("two.example", "192.0.2.1", "/two"),
        line("three.example", "192.0.2.1", "/two"),
        line("one.example", "192.0.2.9", "/one"),
        combined(&(0, "192.0.2.1", "/one", 200, Some(GPTBOT))),
    ];
    folder.write("access.log", lines.concat());
    let ask = |more: &[&str]| {
        let arguments = ["replay", "--config", "gateway.toml", "access.log", "--format", "json"];
        ctl(&folder, &[&arguments, more].concat()).exits(0).json()
    };
    let violations = |report: &Value| -> Vec<(String, u64)> {
        let told = |entry: &Value| {
            (
                entry["site"].as_str().expect("a site").to_owned(),
                entry["violations"].as_u64().expect("a number"),
            )
        };
        let mut told: Vec<_> = report["crawlers"].as_array().expect("crawlers").iter().map(told).collect();
        told.sort();
        told
    };
    let report = ask(&[]);
    assert_eq!(violations(&report), [("one.example".to_owned(), 1), ("two.example".to_owned(), 1)]);
    assert_eq!(report["replay"]["other_hosts"], 2, "a strange host, and a line that names none");
    assert_eq!(report["replay"]["exempt"], 1);
    let report = ask(&["--site", "one.example"]);
    assert_eq!(violations(&report), [("one.example".to_owned(), 2)], "lines without a host are that site's");
}

#[test]
fn modes_of_the_configuration_are_kept_and_told() {
    let folder = folder(log(combined));
    folder.write(
        "gateway.toml",
        "[clients]\ntool = \"enforce\"\n[crawlers.GPTBot]\nmode = \"audit\"\n[crawlers.Googlebot]\nmode = \"off\"\n\
         [[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n",
    );
    let ended = ctl(&folder, &["replay", "--config", "gateway.toml", "access.log", "--format", "json"]);
    let told = ended.exits(0).json()["replay"].clone();
    assert_eq!((&told["refused"], &told["off"]), (&json!(1), &json!(1)), "{told}");
    assert_eq!(told["forwarded"], 3, "{told}");
}

#[test]
fn since_leaves_out_what_was_before() {
    let folder = folder(log(combined));
    let report = as_json(&folder, &["access.log", "--since", "2026-11-01T00:03:00Z"]);
    assert_eq!(report["replay"]["before_since"], 2, "{report}");
    assert_eq!(
        crawler(&report, "GPTBot")["conduct"],
        "hypothetical",
        "what showed the file was left out, too"
    );
    let report = as_json(&folder, &["access.log", "--since", "2026-11-01T00:03:00Z", "--published"]);
    assert_eq!(crawler(&report, "GPTBot")["conduct"], "no-read-seen");
    replay(&folder, &["access.log", "--since", "soon"]).exits(2);
}
