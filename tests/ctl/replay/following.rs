//! `gatewayctl replay`: logs that break off or have lines without end, and events that are written.

use super::*;

#[test]
fn events_are_lines_of_the_journal() {
    let folder = folder(log(combined));
    let events = replay(&folder, &["access.log", "--published", "--events"]).exits(0).stdout;
    let lines = events.clone();
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
    let with_report =
        replay(&folder, &["access.log", "--published", "--events", "--format", "json"]).exits(0);
    let rest: Value =
        serde_json::from_str(with_report.stdout.strip_prefix(lines.as_str()).expect("the same"))
            .expect("a report");
    assert_eq!(rest["replay"]["refused"], 3, "{rest}");
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
    let packed = &packed[..packed.len() / 2];
    folder.write("cut.gz", packed);
    let mut readable = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut readable).expect_err("it is cut off");
    assert_ne!(readable.last(), Some(&b'\n'), "within a line");
    let whole = memchr::memchr_iter(b'\n', &readable).count() as u64;
    let ended = replay(&folder, &["cut.gz", "access.log", "--format", "json"]).exits(2);
    assert!(ended.stderr.contains("cut.gz: cannot be read on after"), "{}", ended.stderr);
    let told = ended.json()["replay"].clone();
    let (lines, cut) = (told["lines"].as_u64(), told["broken"][0]["lines"].as_u64());
    assert_eq!(
        (&told["broken"][0]["log"], &told["unread"]["count"]),
        (&json!("cut.gz"), &json!(0)),
        "{told}"
    );
    assert!(whole > 9_000 && cut == Some(whole) && lines == Some(whole + 27_000), "{told}");
    let arguments = ["diff", "robots.txt", "--robots", "robots.txt", "--log", "cut.gz"];
    let ended = ctl(&folder, &arguments).exits(2);
    assert!(ended.stderr.contains("cut.gz: cannot be read on"), "{}", ended.stderr);
}

#[test]
fn events_that_cannot_be_written_end_it() {
    let folder = folder(log(combined));
    let arguments = ["replay", "--robots", "robots.txt", "--events", "access.log"];
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
    assert_eq!(
        told["unread"],
        json!({ "count": 2, "example": "access.log:1:1: expected a time: torn" }),
        "{told}"
    );
    folder.write("access.log", [log(combined).as_bytes(), &long, b"torn\n"].concat());
    let told = as_json(&folder, &["access.log"])["replay"].clone();
    let example = format!("access.log:10:131072: expected a line of at most 128 KiB: {}", "x".repeat(200));
    assert_eq!(told["unread"], json!({ "count": 2, "example": example }), "{told}");
}

#[test]
fn noise_is_counted_and_changes_nothing_else() {
    let mut state = 9_309_u64;
    let mut noise = Vec::with_capacity(4 << 20);
    while noise.len() < 4 << 20 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        noise.extend_from_slice(&state.to_be_bytes()[..4]);
    }
    noise.push(b'\n');
    let quiet = as_json(&folder(log(combined)), &["access.log"]);
    let folder = folder([log(combined).as_bytes(), &noise, log(combined).as_bytes()].concat());
    let told = as_json(&folder, &["access.log"]);
    let requests = |report: &Value, times: u64| {
        crawler(report, "GPTBot")["requests"].as_u64().map(|count| count * times)
    };
    assert_eq!(requests(&told, 1), requests(&quiet, 2), "{told}");
    let (lines, unread) = (told["replay"]["lines"].as_u64(), told["replay"]["unread"]["count"].as_u64());
    assert!(unread > Some(10_000) && lines == unread.map(|unread| unread + 18), "{}", told["replay"]);
}

#[test]
fn progress_is_for_terminals_only() {
    let folder = folder(log(combined).repeat(300));
    assert_eq!(replay(&folder, &["access.log"]).exits(0).stderr, "");
    let Some(ended) = crate::terminal::on_terminal(&folder, "replay --robots robots.txt access.log", &[])
    else {
        return;
    };
    assert!(ended.exits(0).stdout.contains("/s, "), "a rate is shown");
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
    assert!(most < 100 << 10, "{most} kB");
}
