//! What is kept of a site's visitors has bounds: files, lines and fields, whatever clients do.

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::{Daemon, Nginx, get, until};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// Sizes of the files of `state` whose names begin with `name`.
fn sizes(state: &Path, name: &str) -> BTreeMap<String, u64> {
    let files = fs::read_dir(state).expect("the state folder").flatten();
    let files =
        files.filter_map(|file| Some((file.file_name().into_string().ok()?, file.metadata().ok()?.len())));
    files.filter(|(file, _)| file.starts_with(name)).collect()
}

/// `journal_max_size` and `journal_keep` bound the journal and the access log alike.
#[test]
fn journal_and_access_log_are_rotated_and_the_oldest_go() {
    let origin = Nginx::start();
    for (format, line) in [("json", "\"target\""), ("combined", "] \"GET /private")] {
        let gateway = Daemon::with(ROBOTS)
            .in_front_of(&origin)
            .set("journal_max_size = \"8KiB\"\njournal_keep = 2\njournal_rate = \"off\"")
            .set(&format!("access_log = \"access.log\"\naccess_log_format = \"{format}\""))
            .start();
        let state = gateway.folder().join("state");
        let mut client = gateway.client();
        for number in 0..300 {
            client.send(&get(format!("/private/{number}")).by(GPTBOT)).came_from_origin();
        }
        client.send(&get("/private/last").by(GPTBOT)).came_from_origin();
        for log in ["journal.jsonl", "access.log"] {
            until("the last line is written", || {
                let text = fs::read_to_string(state.join(log)).ok()?;
                (text.contains("/private/last") && (log != "access.log" || text.contains(line))).then_some(())
            });
            let files = sizes(&state, log);
            let names: Vec<&str> = files.keys().map(String::as_str).collect();
            assert_eq!(names, [log.to_owned(), format!("{log}.1"), format!("{log}.2")], "{format}");
            assert!(files.values().all(|size| *size <= 8 * 1_024), "{format}: {files:?}");
        }
    }
}

#[test]
fn fields_that_a_client_fills_are_cut_in_the_journal() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).set("access_log = \"access.log\"").start();
    let target = format!("/private?{}", "a".repeat(7_000));
    let agent = format!("{GPTBOT} {}", "b".repeat(7_000));
    gateway.send(&get(&target).by(&agent));
    let journal = gateway.journal();
    let event = journal.event_where("the long request", |event| event["crawler"] == "GPTBot");
    assert_eq!(event["cut"], json!(["target", "user_agent"]));
    assert_eq!((&event["target"], &event["user_agent"]), (&target[..2_048].into(), &agent[..2_048].into()));
    gateway.send(&get("/private/short").by(GPTBOT));
    assert!(journal.event_of("/private/short")["cut"].is_null());
    // The store keeps the very same line.
    let state = gateway.folder().join("state");
    let state = state.to_str().expect("UTF-8");
    let sample = until("the store has the event", || {
        let reader =
            robots_gateway::record::StoreReader::open(Path::new(state).join("store.sqlite").as_path())
                .ok()?;
        let span = reader.span().ok()??;
        let samples = reader.samples(&span, &robots_gateway::record::Filter::default()).ok()?;
        samples.into_iter().find(|sample| sample.event.contains("\"cut\":["))
    });
    assert_eq!(sample.event, journal.lines()[0]);
}

/// Beyond `journal_rate`, lines of one network are left out and counted, whatever names they bear; other networks are not
/// concerned, and counts are exact.
#[test]
fn lines_of_one_sender_have_a_rate() {
    const ASKED: u64 = 600;
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("journal_rate = \"50/m\"\ntrusted_proxies = [\"127.0.0.1\"]")
        .start();
    let mut client = gateway.client();
    let begun = Instant::now();
    let mut ask = |agent: &str, address: &str, target: &str| {
        client.send(&get(target).by(agent).with("X-Forwarded-For", address));
    };
    for number in 0..ASKED {
        ask(GPTBOT, "192.0.2.1", &format!("/private/{number}"));
    }
    let may = 50 + begun.elapsed().as_secs() * 50 / 60 + 1;
    // The same crawler elsewhere, and other names in the same network: known ones, and those that are made up.
    ask(GPTBOT, "198.51.100.1", "/private/elsewhere");
    ask("bingbot/2.0", "192.0.2.1", "/private/other");
    for number in 0..ASKED {
        ask(&format!("Made{number}bot/1.0"), "192.0.2.1", "/private/made-up");
    }
    ask(CURL, "203.0.113.1", "/private/last");
    let journal = gateway.journal();
    journal.event_of("/private/last");
    let events = journal.events();
    let of = |wanted: &dyn Fn(&Value) -> bool| events.iter().filter(|event| wanted(event)).count() as u64;
    let flood = of(&|event| event["address"] == "192.0.2.1");
    let may = may + begun.elapsed().as_secs() * 50 / 60 + 1;
    assert!((50..=may).contains(&flood), "{flood} of at most {may}");
    assert_eq!(of(&|event| event["target"] == "/private/elsewhere"), 1);
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let all = 2 * ASKED + 3;
    assert_eq!(status["details_dropped"].as_u64(), Some(all - events.len() as u64), "{status}");
    assert_eq!(status["totals"]["refused"].as_u64(), Some(all - 1), "{status}");
    assert_eq!(gateway.log.text().matches("exceeds `journal_rate`").count(), 1, "told once");
}

/// `cargo test --test gateway whole_catalogue -- --ignored --nocapture`
#[test]
#[ignore = "sends 60,000 requests of 5 KB"]
fn one_client_under_names_of_the_whole_catalogue_does_not_wash_out_the_journal() {
    const ASKED: u64 = 60_000;
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .start();
    let names: Vec<&str> = include_str!("../../rules/crawlers.toml")
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.split_once('"').map(|(name, _)| name))
        .collect();
    let mut client = gateway.client();
    client.send(&get("/private/evidence").by(GPTBOT).with("X-Forwarded-For", "198.51.100.1"));
    let begun = Instant::now();
    let rest = [0xff; 2_000];
    for (number, name) in (0..ASKED).zip(names.iter().cycle()) {
        let agent = [name.as_bytes(), b"/1.0 ", &rest].concat();
        client.send(&get(format!("/private/{number}")).by(agent).with("X-Forwarded-For", "192.0.2.1"));
    }
    let took = begun.elapsed();
    client.send(&get("/private/last").by(GPTBOT).with("X-Forwarded-For", "203.0.113.1"));
    gateway.journal().event_of("/private/last");
    gateway.journal().event_of("/private/evidence");
    let bytes: u64 = sizes(&gateway.folder().join("state"), "journal.jsonl").values().sum();
    println!("{ASKED} requests under {} names in {took:.1?}: {bytes} bytes of lines", names.len());
    assert!(names.len() > 300 && bytes <= (took.as_secs() + 2) * 100 * 4_096, "{bytes}");
}

#[test]
fn without_a_rate_every_line_is_written() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).set("journal_rate = \"off\"").start();
    let mut client = gateway.client();
    for number in 0..400 {
        client.send(&get(format!("/private/{number}")).by(GPTBOT));
    }
    client.send(&get("/private/last").by(GPTBOT));
    assert_eq!(gateway.journal().events_before("/private/last").len(), 400);
    for bad in ["100", "0/s", "fast"] {
        let builder = Daemon::with(ROBOTS).in_front_of(&origin).set(&format!("journal_rate = \"{bad}\""));
        let ended = builder.fails_to_start().exits(2);
        assert!(ended.stderr.contains(&format!("invalid rate `{bad}`: expected `100/s`")), "{ended:?}");
    }
}

/// A flood of an hour ago leaves no trace in what others may write now.
#[test]
fn the_rate_is_one_of_time() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).set("journal_rate = \"5/s\"").start();
    let mut client = gateway.client();
    for _ in 0..200 {
        client.send(&get("/private/flood").by(GPTBOT));
    }
    until("there is a line again", || {
        client.send(&get("/private/later").by(GPTBOT));
        gateway.journal().events().iter().any(|event| event["target"] == "/private/later").then_some(())
    });
}

/// Of a robots.txt so much is read, as RFC 9309 §2.5 lets a crawler do.
#[test]
fn what_lies_beyond_the_size_of_a_robots_txt_is_no_rule() {
    let rules = "User-agent: *\nDisallow: /within\n";
    let comment = "#".repeat(500 * 1_024 - rules.len() - 1);
    let robots = format!("{rules}{comment}\nDisallow: /beyond\n");
    let origin = Nginx::start();
    let ask =
        |gateway: &Daemon| ["/within", "/beyond"].map(|target| gateway.send(&get(target).by(GPTBOT)).status);
    let gateway = Daemon::with(&robots).in_mode("enforce").in_front_of(&origin).start();
    assert_eq!(ask(&gateway), [403, 200]);
    let larger =
        Daemon::with(&robots).in_mode("enforce").in_front_of(&origin).set("robots_max_size = \"501KiB\"");
    assert_eq!(ask(&larger.start()), [403, 403]);
}

/// `origin_idle`: whoever keeps connections for less time would be asked on one that is closed already.
#[test]
fn an_idle_connection_to_the_origin_has_an_end() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let (told, idle) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut bytes = [0; 4_096];
        let _ = stream.read(&mut bytes).expect("a request");
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").expect("sent");
        let answered = Instant::now();
        assert_eq!(stream.read(&mut bytes).expect("the end"), 0);
        told.send(answered.elapsed()).expect("the test waits");
    });
    let gateway = Daemon::with(ROBOTS).at(&url).table("[timeouts]\norigin_idle = \"1s\"").start();
    assert_eq!(gateway.send(&get("/page").by(CHROME)).status, 200);
    let idle = idle.recv_timeout(Duration::from_secs(20)).expect("it is closed");
    assert!((Duration::from_millis(900)..Duration::from_secs(10)).contains(&idle), "{idle:?}");
}

/// Addresses are in these files: nobody but their owner and its group reads them.
#[test]
fn files_of_state_are_not_for_everybody() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .by(&["sh", "-c", "umask 0022; exec \"$@\"", "sh"])
        .set("access_log = \"access.log\"\njournal_max_size = \"1KiB\"\njournal_rate = \"off\"")
        .start();
    let mut client = gateway.client();
    for number in 0..30 {
        client.send(&get(format!("/private/{number}")).by(GPTBOT));
        client.send(&get("/open").by(CHROME));
    }
    let state = gateway.folder().join("state");
    let logs = ["journal.jsonl", "journal.jsonl.1", "access.log", "access.log.1"];
    let mode = |path: &Path| fs::metadata(path).ok().map(|file| file.permissions().mode() & 0o777);
    // Between two files of a log there is none for a moment.
    let files = logs.into_iter().chain(["store.sqlite", "store.sqlite-wal"]);
    let modes: BTreeMap<&str, u32> =
        until("all are there", || files.clone().map(|file| Some((file, mode(&state.join(file))?))).collect());
    assert!(modes.values().all(|mode| *mode == 0o640), "{modes:?}");
    assert_eq!(mode(&state), Some(0o751), "others may pass through it, and look at nothing");
}
