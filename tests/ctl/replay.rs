//! `gatewayctl replay`: access logs judged as the gateway would have judged their requests.

use crate::golden::{assert_golden, ctl, ctl_with_input};
use crate::support::agents::{CHROME, CURL, GOOGLEBOT, GPTBOT, OKHTTP};
use crate::support::command::program;
use crate::support::log::Log;
use crate::support::{Ended, Folder, until};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::process::Stdio;

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /cgi-bin/\n";

/// Second of 2026-11-01, address, target, status, agent.
type Line<'a> = (u32, &'a str, &'a str, u16, Option<&'a str>);

/// GPTBot breaks a rule, reads robots.txt, and breaks it again; others for the rest of the report.
const LINES: [Line<'static>; 9] = [
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

fn combined(line: &Line<'_>) -> String {
    sized(line, size(line))
}

/// The same with another size of the answer.
fn sized(&(second, address, target, status, agent): &Line<'_>, size: usize) -> String {
    let (time, agent) = (clock(second), agent.unwrap_or("-"));
    format!(
        "{address} - - [01/Nov/2026:{time} +0000] \"GET {target} HTTP/1.1\" {status} {size} \"-\" \"{agent}\"\n"
    )
}

/// How long the answer was: whoever asked for robots.txt was given this very file.
fn size(&(_, _, target, status, _): &Line<'_>) -> usize {
    if (target, status) == ("/robots.txt", 200) { ROBOTS.len() } else { 5 }
}

fn nginx_json(line: &Line<'_>) -> String {
    let &(second, address, target, status, agent) = line;
    let time = format!("2026-11-01T{}+00:00", clock(second));
    let request = format!("GET {target} HTTP/1.1");
    let line = json!({ "time_iso8601": time, "remote_addr": address, "request": request, "status": status,
        "body_bytes_sent": size(line).to_string(), "host": "example.org", "http_user_agent": agent.unwrap_or_default() });
    format!("{line}\n")
}

fn caddy_json(line: &Line<'_>) -> String {
    let &(second, address, target, status, agent) = line;
    let headers = agent.map_or_else(|| json!({}), |agent| json!({ "User-Agent": [agent] }));
    let request = json!({ "remote_ip": address, "method": "GET", "host": "example.org", "uri": target, "headers": headers });
    // 2026-11-01T00:00:00Z
    let line = json!({ "level": "info", "ts": f64::from(1_793_491_200 + second), "request": request, "status": status,
        "size": size(line), "resp_headers": { "Server": ["Caddy"] } });
    format!("{line}\n")
}

fn log(shape: fn(&Line<'_>) -> String) -> String {
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
    let page = replay(&folder, &["access.log", "--format", "html"]).exits(0).stdout;
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
    let report = as_json(&folder, &["access.log"]);
    let count = |field: &str| -> u64 {
        let crawlers = report["crawlers"].as_array().expect("crawlers").iter();
        let named =
            crawlers.filter(|entry| entry["client"] == "crawler" || entry["client"] == "special-case");
        named.map(|entry| entry[field].as_u64().expect("a number")).sum()
    };
    assert_eq!((count("violations"), count("refused")), (4, 5), "{report}");
    let page = replay(&folder, &["access.log", "--format", "html"]).exits(0).stdout;
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
    assert!(page.contains("Nothing was refused") && page.contains("Lines not read: 1"), "{page}");
    let text = replay(&folder, &["access.log"]).exits(0).stdout;
    assert!(text.starts_with("enforce mode would have refused 5 of 11 requests\n"), "{text}");
    let totals = format!(
        "all crawlers: {} requests, {} violations, {} stale, {} variant, {} refused\n",
        count("requests"),
        count("violations"),
        count("stale"),
        count("variants"),
        count("refused")
    );
    assert!(text.contains(&totals), "{totals} in {text}");
    let table = replay(&folder, &["access.log", "--format", "csv"]).exits(0).stdout;
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
fn what_would_be_refused_and_who_would_be_spared() {
    let report = as_json(&folder(log(combined)), &["access.log"]);
    let gptbot = crawler(&report, "GPTBot");
    assert_eq!((&gptbot["violations"], &gptbot["refused"]), (&json!(2), &json!(2)), "{gptbot}");
    assert_eq!((&gptbot["conduct"], &gptbot["reads"]), (&json!("ignored"), &json!(1)), "{gptbot}");
    let notices: Vec<_> =
        gptbot["rules"].as_array().expect("rules").iter().map(|rule| &rule["notice"]).collect();
    assert!(notices.contains(&&json!("read")) && notices.contains(&&json!("lapsed")), "{gptbot}");
    let told = &report["replay"];
    assert_eq!(told["refused"], 3, "GPTBot twice, and Googlebot's other spelling: {told}");
    assert_eq!(told["violations_after_read"], 1, "{told}");
    let spared: Vec<_> =
        told["spared"].as_array().expect("a list").iter().map(|kept| &kept["client"]).collect();
    assert_eq!(spared, ["unnamed", "tool"], "{told}");
    let count = |name: &str| told[name].as_u64().expect("a number");
    let all = count("judged") + count("browsers") + count("apps") + count("robots_txt") + count("exempt");
    assert_eq!((count("lines"), all), (9, 9), "{told}");
}

/// The log in which robots.txt was answered with so many bytes.
fn log_of(size: usize) -> String {
    LINES
        .iter()
        .map(|line| if line.2 == "/robots.txt" { sized(line, size) } else { combined(line) })
        .collect()
}

fn conducts(report: &Value) -> Vec<&str> {
    let all = report["crawlers"].as_array().expect("crawlers").iter();
    all.map(|entry| entry["conduct"].as_str().expect("a word")).collect()
}

/// What a person reads of a page.
fn visible(page: &str) -> String {
    let (_, body) = page.split_once("<body>").expect("a body");
    body.split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn rules_that_nobody_had_published_convict_nobody() {
    for (log, why) in [
        (log_of(ROBOTS.len() + 40), "1 answer to /robots.txt had another size than this file (73 bytes)"),
        (
            LINES.iter().filter(|line| line.2 != "/robots.txt").map(combined).collect(),
            "nobody was given /robots.txt",
        ),
    ] {
        let folder = folder(log);
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(conducts(&report), ["hypothetical"; 4], "{report}");
        assert_eq!(report["replay"]["violations_after_read"], 0);
        assert_eq!(report["replay"]["published"][0]["by"], Value::Null);
        let gptbot = crawler(&report, "GPTBot");
        assert_eq!((&gptbot["violations"], &gptbot["reads"]), (&json!(2), &json!(0)), "{gptbot}");
        assert_eq!(gptbot["rules"].as_array().map(Vec::len), Some(1), "{gptbot}");
        assert_eq!(gptbot["rules"][0]["notice"], Value::Null, "nobody had notice of it");
        let headline =
            "these rules would have disallowed requests of 1 of 2 crawlers; GPTBot 2 times (none confirmed)";
        assert_eq!(report["headline"], headline);
        let text = replay(&folder, &["access.log"]).exits(0).stdout;
        assert!(text.contains(&format!("\n{headline}\n")) && text.contains(why), "{text}");
        let page = visible(&replay(&folder, &["access.log", "--format", "html"]).exits(0).stdout);
        assert!(page.contains("These rules would have disallowed") && page.contains(why), "{page}");
        let table = replay(&folder, &["access.log", "--format", "csv"]).exits(0);
        assert_eq!(table.stdout.matches(",hypothetical,").count(), 4, "{}", table.stdout);
        for told in [&text, &page, &table.stdout, &table.stderr, &report["notes"].to_string()] {
            for word in ["broke", "ignored", "obeyed", "violation", "Violation", "no-read-seen"] {
                let told = told.replace("first_violation,last_violation", "").replace(",violations,", "");
                assert!(!told.contains(word), "{word} in {told}");
            }
        }
    }
}

#[test]
fn several_sizes_are_several_files() {
    let other = |second| sized(&(second, "192.0.2.9", "/robots.txt", 200, Some(CHROME)), ROBOTS.len() - 1);
    for (before, after) in [(other(5), String::new()), (String::new(), other(280))] {
        let folder = folder([before, log(combined), after].concat());
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(conducts(&report), ["hypothetical"; 4], "{report}");
        let text = replay(&folder, &["access.log"]).exits(0).stdout;
        let why = "1 answer to /robots.txt had its size (73 bytes), and 1 another (72 bytes), the last at 2026-11-01T00:0";
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn a_file_is_shown_from_its_first_answer_on() {
    // Before it nobody knows what was served; curl comes after, and a day after the last answer nobody knows again.
    let late = "198.51.100.7 - - [03/Nov/2026:00:00:00 +0000] \"GET /cgi-bin/x HTTP/1.1\" 200 5 \"-\" \"lateBot/1.0\"\n";
    let early = combined(&(1, "198.51.100.7", "/cgi-bin/x", 200, Some("earlyBot/1.0")));
    let report = as_json(&folder([&early, &log(combined), late].concat()), &["access.log"]);
    let conduct = |name| crawler(&report, name)["conduct"].as_str().expect("a word");
    assert_eq!(["GPTBot", "curl", "Googlebot"].map(conduct), ["ignored", "no-read-seen", "obeyed"]);
    assert_eq!(["earlyBot", "lateBot"].map(conduct), ["hypothetical"; 2]);
    let headline = report["headline"].as_str().expect("a sentence");
    assert!(headline.starts_with("1 of 4 crawlers broke rules it had read; GPTBot once"), "{headline}");
    assert!(
        headline.ends_with("; of 2 more, rules not known to be published disallow requests"),
        "{headline}"
    );
}

#[test]
fn the_operator_may_say_that_the_file_was_published() {
    let report = as_json(&folder(log(combined)), &["access.log", "--published"]);
    assert_eq!(
        (crawler(&report, "GPTBot")["conduct"].as_str(), &report["replay"]["published"][0]["by"]),
        (Some("ignored"), &json!("operator"))
    );
    // A read of another size is no read of this file, whatever is said; who had it may or may not have known. An empty
    // answer, which Apache writes as a hyphen, is one of them.
    let empty = log(combined).replace(&format!(" 200 {} ", ROBOTS.len()), " 200 - ");
    let report = as_json(&folder(empty), &["access.log", "--published"]);
    assert_eq!(crawler(&report, "GPTBot")["conduct"], "unknown");
    let folder = folder(log_of(ROBOTS.len() + 40));
    let report = as_json(&folder, &["access.log", "--published"]);
    let gptbot = crawler(&report, "GPTBot");
    assert_eq!((&gptbot["conduct"], &gptbot["reads"]), (&json!("unknown"), &json!(0)), "{gptbot}");
    assert_eq!(crawler(&report, "curl")["conduct"], "no-read-seen");
    let text = replay(&folder, &["access.log", "--published"]).exits(0).stdout;
    assert!(text.contains("1 answer to /robots.txt had another size, and"), "{text}");
    // Where the log tells no size, or that nothing has changed, the operator's word is what there is.
    let unchanged = log(combined).replace(&format!("200 {} ", ROBOTS.len()), "304 0 ");
    for log in [log(nginx_json).replace("body_bytes_sent", "length"), unchanged] {
        let folder = self::folder(log);
        assert_eq!(conducts(&as_json(&folder, &["access.log"])), ["hypothetical"; 4]);
        let report = as_json(&folder, &["access.log", "--published"]);
        assert_eq!(crawler(&report, "GPTBot")["conduct"], "ignored");
    }
}

#[test]
fn compressed_answers_are_set_aside() {
    let rules: Vec<String> = (0..60).map(|number| format!("Disallow: /private/{number}")).collect();
    let robots = format!("User-agent: *\nDisallow: /cgi-bin/\n{}\n", rules.join("\n"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(robots.as_bytes()).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it").len();
    let asks = |second, size| sized(&(second, "192.0.2.1", "/robots.txt", 200, Some(GPTBOT)), size);
    let breaks = combined(&(900, "192.0.2.1", "/cgi-bin/x", 200, Some(GPTBOT)));
    for (sizes, wanted) in [
        ([robots.len(), packed, robots.len()], "ignored"),
        // By themselves they show nothing.
        ([packed, packed, packed], "hypothetical"),
        ([packed, robots.len(), robots.len()], "hypothetical"),
    ] {
        let lines: String =
            sizes.iter().zip([10, 20, 30]).map(|(size, second)| asks(second, *size)).collect();
        let folder = folder(lines + &breaks);
        folder.write("robots.txt", &robots);
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(crawler(&report, "GPTBot")["conduct"], wanted, "{sizes:?}: {report}");
    }
}

#[test]
fn every_shape_of_log_says_the_same() {
    let wanted = as_json(&folder(log(combined)), &["access.log"]);
    let with_host = |line: &Line<'_>| format!("example.org:443 {}", combined(line));
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
    assert!(text.contains("lines not read: 2, such as access.log:10: \\u{0}\\xFFjunk\\u{1b}[2J"), "{text}");
    let none = self::folder("hello\nworld\n");
    assert_golden("replay-no-log", &none, &replay(&none, &["access.log"]).exits(2));
}

#[test]
fn a_log_without_user_agents_accuses_nobody() {
    let common = |line: &Line<'_>| {
        combined(line).split(" \"-\" ").next().map(|line| format!("{line}\n")).expect("a line")
    };
    let report = as_json(&folder(log(common)), &["access.log"]);
    assert_eq!(
        (&report["crawlers"], &report["replay"]["without_user_agent"]),
        (&json!([]), &json!(9)),
        "{report}"
    );
    let text = replay(&folder(log(common)), &["access.log"]).exits(0).stdout;
    assert!(text.starts_with("none of 9 requests could be judged; see what was left out\n"), "{text}");
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
    assert_eq!(
        (&told["spared"][0]["reason"], &told["spared"][0]["count"]),
        (&json!("crawler"), &json!(2)),
        "{told}"
    );
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

#[test]
fn events_are_lines_of_the_journal() {
    let folder = folder(log(combined));
    replay(&folder, &["access.log", "--events", "events.jsonl"]).exits(0);
    let events = fs::read_to_string(folder.join("events.jsonl")).expect("events");
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let told: Vec<_> = events
        .iter()
        .map(|event| {
            json!([event["event"], event["crawler"], event["target"], event["notice"], event["action"]])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["violation", "GPTBot", "/private/a?b=c", "lapsed", "refused"]),
            json!(["violation", "GPTBot", "/private/a?b=c", "read", "refused"]),
            json!(["violation", "curl", "/cgi-bin/x", "lapsed", "forwarded"]),
            json!(["violation", null, "/cgi-bin/x", "lapsed", "forwarded"]),
            json!(["variant", "Googlebot", "//cgi-bin/x", null, "refused"]),
        ]
    );
    let same = replay(&folder, &["access.log", "--events", "-"]).exits(0).stdout;
    assert_eq!(same.trim_end(), fs::read_to_string(folder.join("events.jsonl")).expect("events").trim_end());
}

#[test]
fn a_line_without_end_neither_stops_nor_fills_it() {
    let folder =
        folder([log(combined).as_bytes(), &b"x".repeat(9 << 20), b"\n", log(combined).as_bytes()].concat());
    let report = as_json(&folder, &["access.log"]);
    assert_eq!(
        (&report["replay"]["lines"], &report["replay"]["unread"]["count"]),
        (&json!(19), &json!(1)),
        "{report}"
    );
    assert_eq!(crawler(&report, "GPTBot")["violations"], 4);
}

#[test]
fn what_cannot_be_read_is_told_at_once() {
    let folder = folder(log(combined));
    assert_golden("replay-absent", &folder, &replay(&folder, &["access.log", "absent.log"]).exits(2));
    replay(&folder, &["."]).exits(2);
    ctl(&folder, &["replay", "access.log", "--robots", "absent.txt"]).exits(2);
    ctl(&folder, &["replay", "access.log", "--config", "absent.toml"]).exits(2);
    let torn = self::folder(&zstd::encode_all(log(combined).as_bytes(), 1).expect("memory takes it")[..40]);
    let ended = replay(&torn, &["access.log"]).exits(2);
    assert!(ended.stderr.contains("access.log: cannot be read on after"), "{}", ended.stderr);
}

#[test]
fn a_log_that_is_cut_off_is_reported_as_far_as_it_goes() {
    let folder = folder(log(combined).repeat(3_000));
    // Stored blocks: what is there can be read, whatever is cut off behind it.
    let mut packed = GzEncoder::new(Vec::new(), Compression::none());
    packed.write_all(log(combined).repeat(3_000).as_bytes()).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it");
    folder.write("cut.gz", &packed[..packed.len() / 2]);
    let ended = replay(&folder, &["cut.gz", "access.log", "--format", "json"]).exits(2);
    assert!(ended.stderr.contains("cut.gz: cannot be read on after"), "{}", ended.stderr);
    let told = ended.json()["replay"].clone();
    let (lines, cut) = (told["lines"].as_u64(), told["broken"][0]["lines"].as_u64());
    assert_eq!(
        (&told["broken"][0]["log"], &told["unread"]["count"]),
        (&json!("cut.gz"), &json!(0)),
        "{told}"
    );
    assert!(cut > Some(9_000) && lines == cut.map(|cut| cut + 27_000), "{told}");
    let arguments = ["diff", "robots.txt", "--robots", "robots.txt", "--log", "cut.gz"];
    let ended = ctl(&folder, &arguments).exits(2);
    assert!(ended.stderr.contains("cut.gz: cannot be read on"), "{}", ended.stderr);
}

#[test]
fn events_overwrite_nothing() {
    let folder = folder(log(combined));
    std::os::unix::fs::symlink("access.log", folder.join("link")).expect("a link");
    folder.write("mine.txt", "mine");
    for (file, why) in [
        ("access.log", "is one of the logs"),
        ("link", "is one of the logs"),
        ("mine.txt", "is there already, and not empty"),
    ] {
        let ended = replay(&folder, &["access.log", "--events", file]).exits(2);
        assert!(ended.stderr.contains(why) && ended.stderr.contains("hint: "), "{}", ended.stderr);
    }
    assert_eq!(fs::read_to_string(folder.join("access.log")).expect("the log"), log(combined));
    assert_eq!(fs::read_to_string(folder.join("mine.txt")).expect("the file"), "mine");
    replay(&folder, &["absent.log", "--events", "new.jsonl"]).exits(2);
    assert!(!folder.join("new.jsonl").exists(), "nothing is made for a log that is not there");
    folder.write("empty.jsonl", "");
    replay(&folder, &["access.log", "--events", "empty.jsonl"]).exits(0);
    replay(&folder, &["access.log", "--events", "/dev/null"]).exits(0);
}

#[test]
fn following_ends_when_events_cannot_be_written() {
    let folder = folder(log(combined));
    let arguments = ["replay", "--robots", "robots.txt", "--follow", "--events", "-", "access.log"];
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    let full = OpenOptions::new().write(true).open("/dev/full").expect("a full device");
    command.args(arguments).current_dir(folder.path()).stdin(Stdio::null()).stdout(full);
    let mut child = command.spawn().expect("it starts");
    let code = until("it ends", || child.try_wait().expect("a child can be waited for"));
    assert_eq!(code.code(), Some(2));
}

#[test]
fn lines_that_are_too_long_do_not_move_the_first_example() {
    let long = [&b"x".repeat(3 << 20), &b"\n"[..]].concat();
    let folder = folder([b"torn\n".as_slice(), log(combined).as_bytes(), &long].concat());
    let told = as_json(&folder, &["access.log"])["replay"].clone();
    assert_eq!(told["unread"], json!({ "count": 2, "example": "access.log:1: torn" }), "{told}");
    folder.write("access.log", [log(combined).as_bytes(), &long, b"torn\n"].concat());
    let told = as_json(&folder, &["access.log"])["replay"].clone();
    let example = "access.log:10: (a line of more than 128 KiB)";
    assert_eq!(told["unread"], json!({ "count": 2, "example": example }), "{told}");
}

#[test]
fn a_log_that_grows_is_followed_to_the_end() {
    let folder = folder(log(combined));
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(["replay", "--robots", "robots.txt", "--follow", "--events", "-", "access.log"]);
    command.current_dir(folder.path()).stdin(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let said = Log::of(child.stdout.take().expect("piped"));
    let has = |text: &'static str| move |line: &str| line.contains(text).then_some(());
    said.find(has("\"variant\"")).expect("the last event of what was there");
    let mut file = OpenOptions::new().append(true).open(folder.join("access.log")).expect("the log");
    let line = combined(&(300, "192.0.2.1", "/private/new", 200, Some(GPTBOT)));
    let (start, rest) = line.split_at(40);
    file.write_all(start.as_bytes()).expect("the log takes it");
    file.write_all(rest.as_bytes()).expect("the log takes it");
    said.find(has("/private/new")).expect("the event of a line that came");
    // Set aside and begun anew, as log rotation does it.
    fs::rename(folder.join("access.log"), folder.join("access.log.1")).expect("renamed");
    folder.write("access.log", combined(&(310, "192.0.2.1", "/private/next", 200, Some(GPTBOT))));
    said.find(has("/private/next")).expect("the event of the next file");
    let ended = std::process::Command::new("sh").args(["-c", &format!("kill -TERM {}", child.id())]).status();
    assert!(ended.is_ok_and(|status| status.success()));
    let code = until("it ends", || child.try_wait().expect("a child can be waited for"));
    assert_eq!(code.code(), Some(0));
}

#[test]
fn progress_is_for_terminals_only() {
    let folder = folder(log(combined).repeat(300));
    assert_eq!(replay(&folder, &["access.log"]).exits(0).stderr, "");
    let Some(ended) = crate::terminal::on_terminal(&folder, "replay --robots robots.txt access.log", &[])
    else {
        return;
    };
    assert!(ended.exits(0).stdout.contains("lines, "), "a rate is shown");
}

#[test]
#[ignore = "reads a gibibyte"]
fn a_line_of_a_gibibyte_takes_no_more_memory_than_any_other() {
    let folder = folder("");
    let mut file = OpenOptions::new().append(true).open(folder.join("access.log")).expect("the log");
    // A hole: it takes no room on the disk, and reads as bytes that end no line.
    file.set_len(1 << 30).expect("a sparse file");
    file.write_all(format!("\n{}", log(combined)).as_bytes()).expect("the log takes it");
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(["replay", "--robots", "robots.txt", "--format", "json", "access.log"]);
    let mut child = command.current_dir(folder.path()).spawn().expect("it starts");
    let said = Log::of(child.stdout.take().expect("piped"));
    let (status, mut most) = (format!("/proc/{}/status", child.id()), 0);
    while child.try_wait().expect("a child can be waited for").is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let peak = text
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(peak.unwrap_or(0_u64));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let report: Value = serde_json::from_str(&said.to_end()).expect("a report");
    eprintln!("a line of 1 GiB: {} MiB at most", most >> 10);
    assert_eq!((&report["replay"]["lines"], &report["replay"]["unread"]["count"]), (&json!(10), &json!(1)));
    assert!(most < 200 << 10, "{most} kB");
}
