//! Every format of a log, with five requests: what was read of each is what was asked.

use super::{Folder, ctl};
use crate::support::agents::CHROME;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Mutex;

/// What stands in the lines of the tables.
const ADDRESS: &str = "203.0.113.7";
const HOST: &str = "www.example.org";
const TARGET: &str = "/private/a?b=c";
const AGENT: &str = "GPTBot/1.2 (+https://openai.com/gptbot)";

/// The query decides, so that a log whose query is lost is judged wrongly.
const ROBOTS: &str = "User-agent: *\nDisallow: /private/a?b=c\n";

const CCBOT: &str = "CCBot/2.0 (https://commoncrawl.org/faq/)";

/// Address, whether it is for robots.txt, status, agent: one a minute.
type TriedRequest = (&'static str, bool, u16, &'static str);

/// A read of robots.txt, a browser, the crawler that has read it, another one that ends in 404, and one more address.
const REQUESTS: [TriedRequest; 5] = [
    (ADDRESS, true, 200, AGENT),
    ("198.51.100.8", false, 200, CHROME),
    (ADDRESS, false, 200, AGENT),
    ("192.0.2.4", false, 404, CCBOT),
    ("198.51.100.9", false, 200, AGENT),
];

/// How a header is written: as it is, with `+` for blanks, percent-encoded in part, twice, whole, and like a form.
const WRITTEN: [fn(&str) -> String; 6] = [
    str::to_owned,
    |text| text.replace(' ', "%2520"),
    |text| text.replace('/', "%2F").replace(' ', "%20"),
    |text| text.replace(' ', "%20"),
    |text| text.replace(' ', "+"),
    |text| {
        let one = |symbol: char| match symbol {
            ' ' => "+".to_owned(),
            _ if symbol.is_ascii_alphanumeric() || ".-_".contains(symbol) => symbol.to_string(),
            _ => format!("%{:02X}", u32::from(symbol)),
        };
        text.chars().map(one).collect()
    },
];

/// A line of a table, as it is of another request.
fn line(template: &str, minute: usize, (address, is_read, status, agent): TriedRequest) -> String {
    let written = WRITTEN.iter().find(|written| template.contains(&written(AGENT)));
    let written = written.unwrap_or_else(|| panic!("no User-Agent in {template}"));
    let nothing = if template.starts_with('{') { "" } else { "-" };
    // The time of the syslog in front is of no account.
    let line = template
        .replace(&written(AGENT), &written(agent))
        .replace(ADDRESS, address)
        .replace("200", &status.to_string())
        .replace("13:40:30", &format!("13:4{minute}:30"))
        .replace("20251219134030", &format!("20251219134{minute}30"))
        .replace("1766151630", &(1_766_151_630 + 60 * minute).to_string());
    if !is_read {
        return line;
    }
    line.replace(TARGET, "/robots.txt")
        .replace("/private/a", "/robots.txt")
        .replace("%2Fprivate%2Fa", "%2Frobots.txt")
        .replace("private/a", "robots.txt")
        .replace("?b=c", "")
        .replace("b%3Dc", nothing)
        .replace("b=c", nothing)
}

/// A log of five requests. The last line of the template is the one of the request.
fn log(template: &str) -> String {
    let (head, last) = template
        .rsplit_once('\n')
        .map_or((String::new(), template), |(head, last)| (format!("{head}\n"), last));
    let lines = REQUESTS.iter().enumerate().map(|(minute, request)| line(last, minute, *request) + "\n");
    head + &lines.collect::<String>()
}

/// What a replay of a log comes to: its counts, and of each event what was read of the request.
fn replayed(log: &str) -> Result<(Value, Vec<Value>), String> {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    folder.write("access.log", log);
    let asked =
        ["replay", "access.log", "--robots", "robots.txt", "--published", "--format", "json", "--events"];
    let ended = ctl(&folder, &asked);
    if ended.code != Some(0) {
        return Err(format!("exit {:?}: {}", ended.code, ended.stderr));
    }
    // The report is the last of the lines.
    let (report, events) = ended.stdout.lines().collect::<Vec<_>>().split_last().map_or_else(
        || panic!("nothing was told"),
        |(report, events)| (serde_json::from_str::<Value>(report).expect("a report"), events.join("\n")),
    );
    let field = |event: &Value, name: &str| event[name].clone();
    let shown = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("an event");
        let names = ["address", "host", "target", "crawler", "client", "event", "notice", "status"];
        let mut all: Vec<Value> = names.iter().map(|name| field(&event, name)).collect();
        all.push(json!(event["time"].as_str().and_then(|time| time.get(..19))));
        Value::Array(all)
    };
    Ok((report["replay"].clone(), events.lines().map(shown).collect()))
}

/// What is wrong with what was read of a format.
fn fault(template: &str) -> Option<String> {
    let host = if template.contains(HOST) { HOST } else { "" };
    let (counts, events) = match replayed(&log(template)) {
        Ok(read) => read,
        Err(error) => return Some(error),
    };
    let count = |name: &str| counts[name].as_u64().unwrap_or_default();
    let counts =
        [count("lines"), count("robots_txt"), count("browsers"), count("judged"), count("without_address")];
    let violation = |minute: usize, crawler: &str, notice: &str| {
        let (address, _, status, _) = REQUESTS[minute];
        let time = format!("2025-12-19T13:4{minute}:30");
        json!([address, host, TARGET, crawler, "crawler", "violation", notice, status, time])
    };
    let wanted =
        [violation(2, "GPTBot", "read"), violation(3, "CCBot", "lapsed"), violation(4, "GPTBot", "lapsed")];
    let is_right = counts == [5, 1, 1, 3, 0] && events == wanted;
    (!is_right).then(|| {
        let events: Vec<String> = events.iter().map(Value::to_string).collect();
        format!("lines, reads, browsers, judged, without address: {counts:?}\n  {}", events.join("\n  "))
    })
}

/// Tries formats, two at a time.
#[track_caller]
fn assert_read(formats: &[(String, String)], least: usize) {
    assert!(formats.len() >= least, "{} formats", formats.len());
    let (next, faults) = (Mutex::new(formats.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((name, template)) = next.lock().expect("no thread panics").next() else {
                        return;
                    };
                    if let Some(fault) = fault(template) {
                        faults
                            .lock()
                            .expect("no thread panics")
                            .push(format!("{name}\n  {template}\n  {fault}"));
                    }
                }
            });
        }
    });
    let faults = faults.into_inner().expect("no thread panics");
    assert!(faults.is_empty(), "{} of {} formats:\n{}", faults.len(), formats.len(), faults.join("\n"));
}

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a file of the repository")
}

#[test]
fn the_lines_of_the_guide() {
    let guide = file("docs/replay.md");
    let (_, table) = guide.split_once("### Formats").expect("the table of formats");
    let rows = table.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
    let row = |row: &str| {
        let row = row.replace("\\|", "\0");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let lines: Vec<&str> = cells[3].split("<br>").map(|line| line.trim_matches('`')).collect();
        (format!("{}, {}", cells[1], cells[2]), lines.join("\n").replace('\0', "|"))
    };
    let formats: Vec<_> = rows.take_while(|line| line.starts_with('|')).map(row).collect();
    assert_read(&formats, 40);
}

#[test]
fn what_operators_make_of_them() {
    let text = file("tests/ctl/replay/formats.txt");
    let one = |format: &str| {
        let (name, template) = format.trim_matches('\n').split_once('\n')?;
        Some((name.trim_start_matches("# ").to_owned(), template.to_owned()))
    };
    let formats: Vec<_> = text.split("\n\n").filter_map(one).collect();
    assert_read(&formats, 140);
}

/// Logs of which nobody can be judged, and what the error has to speak of.
const UNREADABLE: [(&str, &str, &str); 13] = [
    (
        "common",
        "combined",
        r#"203.0.113.7 - - [19/Dec/2025:13:40:30 +0000] "GET /private/a?b=c HTTP/1.1" 200 12"#,
    ),
    (
        "HAProxy",
        "capture request header User-Agent",
        r#"Dec 19 13:40:30 lb haproxy[14389]: 203.0.113.7:33317 [19/Dec/2025:13:40:30.655] http-in web/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 "GET /private/a?b=c HTTP/1.1""#,
    ),
    (
        "HAProxy's clf",
        "capture request header User-Agent",
        r#"203.0.113.7 - - [19/Dec/2025:13:40:30 +0000] "GET /private/a?b=c HTTP/1.1" 200 2750 "" "" 33317 655 "http-in" "web" "srv1" 10 0 30 69 109 ---- 1 1 1 1 0 0 "" """#,
    ),
    (
        "Traefik",
        "accessLog.fields.headers.names.User-Agent",
        r#"203.0.113.7 - - [19/Dec/2025:13:40:30 +0000] "GET /private/a?b=c HTTP/1.1" 200 12 "-" "-" 1 "web@file" "http://10.0.0.1:80" 1ms"#,
    ),
    (
        "Heroku",
        "Heroku",
        r#"2025-12-19T13:40:30.123+00:00 heroku[router]: at=info method=GET path="/private/a?b=c" host=www.example.org request_id=8 fwd="203.0.113.7" dyno=web.1 connect=0ms service=5ms status=200 bytes=5 protocol=https"#,
    ),
    (
        "Squid's own",
        "logformat=combined",
        "1766151630.450 167 203.0.113.7 TCP_MISS/200 507 GET http://www.example.org/private/a - HIER_DIRECT/10.0.0.1 text/html",
    ),
    (
        "IIS",
        "cs(User-Agent)",
        "#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query c-ip sc-status\n2025-12-19 13:40:30 10.0.0.1 GET /private/a b=c 203.0.113.7 200",
    ),
    (
        "nginx, by uri alone",
        "$request_uri",
        r#"{"time":"2025-12-19T13:40:30Z","remote_addr":"203.0.113.7","request_method":"GET","uri":"/private/a","args":"b=c","status":200,"http_user_agent":"x/1"}"#,
    ),
    (
        "nginx's error log",
        "access log",
        r#"2025/12/19 13:40:30 [error] 7#7: *5 open() "/srv/private/a" failed (2: No such file or directory), client: 203.0.113.7, server: www.example.org, request: "GET /private/a?b=c HTTP/1.1", host: "www.example.org", referrer: "https://www.example.org/""#,
    ),
    (
        "Apache's error log",
        "access log",
        "[Fri Dec 19 13:40:30.123456 2025] [core:info] [pid 7:tid 8] [client 203.0.113.7:1234] AH00128: File does not exist: /srv/private/a",
    ),
    ("no log", "--log-format", "hello\nworld"),
    ("uvicorn", "--log-format", r#"INFO:     203.0.113.7:5000 - "GET /private/a?b=c HTTP/1.1" 200 OK"#),
    (
        "an array of JSON",
        "jq -c",
        "[\n  {\n    \"httpRequest\": {\n      \"requestMethod\": \"GET\"\n    }\n  }\n]",
    ),
];

/// The same without what a browser would be known by: everybody would be someone without a name.
#[test]
fn a_log_without_the_header_judges_nobody_and_says_how_to_switch_it_on() {
    for (name, remedy, log) in UNREADABLE {
        let error = replayed(&format!("{log}\n")).err().unwrap_or_else(|| panic!("{name} was read"));
        assert!(error.starts_with("exit Some(2)") && error.contains(remedy), "{name}: {error}");
    }
}
