//! Fair notice (RFC 9309 §2.4): a crawler is accused only by what every copy it could hold disallows.

use crate::reload_styles::disallowing;
use crate::support::agents::{BINGBOT, CHROME, CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, configured, get, head, until};
use serde_json::Value;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

/// Allows all at first; `/new` is disallowed after [`tighten`].
fn lenient(origin: &Nginx, notice: &str) -> Daemon {
    Daemon::with("User-agent: *\nAllow: /\n")
        .in_mode("enforce")
        .with_notice(notice)
        // Who asks until the answer changes asks more often than the journal tells by default.
        .set("journal_rate = \"off\"")
        .in_front_of(origin)
        .start()
}

/// Replaces the file and waits until the new one is served. Returns a time before the replacement.
fn tighten(gateway: &Daemon) -> Instant {
    let before = Instant::now();
    rename_over(&gateway.robots(), disallowing("/new"));
    until("the new file is served", || {
        (gateway.send(&get("/robots.txt")).text() == disallowing("/new")).then_some(())
    });
    before
}

fn status(gateway: &Daemon, target: &str, agent: &str) -> u16 {
    gateway.send(&get(target).by(agent)).status
}

#[track_caller]
fn assert_event(event: &Value, kind: &str, notice: &str) {
    assert_eq!((event["event"].as_str(), event["notice"].as_str()), (Some(kind), Some(notice)), "{event}");
}

#[test]
fn a_new_rule_is_pending_then_read_and_for_others_lapsed() {
    let origin = Nginx::start();
    let gateway = lenient(&origin, "4s");
    assert_eq!(status(&gateway, "/new/before", GPTBOT), 200);
    let replaced = tighten(&gateway);
    assert_eq!(status(&gateway, "/new/stale", GPTBOT), 200);
    assert_event(&gateway.journal().event_of("/new/stale"), "stale", "pending");
    let stale = gateway.journal().event_of("/new/stale");
    assert_eq!(
        (stale["rule"].as_str(), stale["line"].as_u64()),
        (Some("Disallow: /new"), Some(2)),
        "{stale}"
    );
    assert_eq!(stale["action"], "forwarded");

    let read = Instant::now();
    assert_eq!(gateway.send(&get("/robots.txt").by(GPTBOT)).status, 200);
    until("the read counts", || (status(&gateway, "/new/after-read", GPTBOT) == 403).then_some(()));
    assert!(read.elapsed() >= Duration::from_millis(400), "a read counts after a tenth of the notice");
    let refused = gateway.journal().event_where("a refusal", |event| event["action"] == "refused");
    assert_event(&refused, "violation", "read");

    until("the notice lapses", || (status(&gateway, "/new/unread", CLAUDEBOT) == 403).then_some(()));
    assert!(replaced.elapsed() >= Duration::from_secs(4), "lapsed too early: {:?}", replaced.elapsed());
    let refused = gateway.journal().event_where("a refusal of the other", |event| {
        event["crawler"] == "ClaudeBot" && event["action"] == "refused"
    });
    assert_event(&refused, "violation", "lapsed");
}

#[test]
fn only_a_whole_get_or_a_304_of_this_version_is_a_read() {
    let origin = Nginx::start();
    let gateway = lenient(&origin, "5s");
    let old = gateway.send(&get("/robots.txt").by(GPTBOT)).header("ETag").expect("an ETag").to_owned();
    let replaced = tighten(&gateway);
    // None of these shows the new version to the crawler.
    gateway.send(&head("/robots.txt").by(BINGBOT));
    gateway.send(&get("/robots.txt").by(CLAUDEBOT));
    let new = gateway.send(&head("/robots.txt").by(GPTBOT)).header("ETag").expect("an ETag").to_owned();
    assert_ne!(old, new);
    assert_eq!(gateway.send(&head("/robots.txt").by(GPTBOT).with("If-None-Match", &new)).status, 304);
    until("the other's read counts", || (status(&gateway, "/new/1", CLAUDEBOT) == 403).then_some(()));
    if replaced.elapsed() < Duration::from_secs(4) {
        assert_eq!((status(&gateway, "/new/2", GPTBOT), status(&gateway, "/new/3", BINGBOT)), (200, 200));
    }
    assert_eq!(gateway.send(&get("/robots.txt").by(GPTBOT).with("If-None-Match", &new)).status, 304);
    until("the revalidation counts", || (status(&gateway, "/new/4", GPTBOT) == 403).then_some(()));
    let refused = gateway
        .journal()
        .event_where("a refusal", |event| event["crawler"] == "GPTBot" && event["action"] == "refused");
    assert_event(&refused, "violation", "read");
}

#[test]
fn an_unproved_read_counts_for_its_own_network_only() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with("User-agent: *\nAllow: /\n").in_mode("enforce").with_notice("1h").in_front_of(&origin);
    // A notice of an hour bounds the settling time at its default of a minute; it is set short here.
    let gateway = gateway.set("trusted_proxies = [\"127.0.0.1\"]\nsettle = \"100ms\"").start();
    tighten(&gateway);
    let from =
        |target: &str, address: &str| gateway.send(&get(target).by(GPTBOT).with("X-Forwarded-For", address));
    from("/robots.txt", "198.51.100.7");
    until("the read counts", || (from("/new/1", "198.51.100.7").status == 403).then_some(()));
    assert_eq!(from("/new/2", "198.51.100.200").status, 403, "the same /24");
    assert_eq!(from("/new/3", "198.51.101.7").status, 200, "another /24");
    from("/robots.txt", "2001:db8:1:2::7");
    until("the read counts", || (from("/new/4", "2001:db8:1:2::7").status == 403).then_some(()));
    assert_eq!(from("/new/5", "2001:db8:1:ffff::1").status, 403, "the same /48");
    assert_eq!(from("/new/6", "2001:db8:2::1").status, 200, "another /48");
}

/// What was served before the first start is not known: it is enforced from the first request on, and nobody is accused.
fn assert_first_day(gateway: &Daemon) {
    assert_eq!((status(gateway, "/old/0", CHROME), status(gateway, "/old/1", GPTBOT)), (200, 403));
    let refused = gateway.journal().event_of("/old/1");
    assert_event(&refused, "stale", "unknown");
    assert_eq!(refused["action"], "refused", "{refused}");
    gateway.send(&get("/robots.txt").by(GPTBOT));
    let violation = until("the read counts", || {
        status(gateway, "/old/2", GPTBOT);
        gateway.journal().events().into_iter().find(|event| event["event"] == "violation")
    });
    assert_event(&violation, "violation", "read");
    assert_eq!((&violation["action"], &violation["status"]), (&"refused".into(), &403.into()), "{violation}");
    assert_eq!(status(gateway, "/old/3", CLAUDEBOT), 403, "another one has read nothing");
    assert_event(&gateway.journal().event_of("/old/3"), "stale", "unknown");
    let told = &gateway.ctl(&["status", "--format", "json"]).exits(0).json()["sites"][0];
    assert_eq!(told["unknown"][0]["what"], "what was served before the gateway", "{told}");
    assert!(told["unknown"][0]["until"].is_string() && told["binds_from"].is_null(), "{told}");
    let said = gateway.ctl(&["status"]).exits(0).stdout;
    assert!(said.contains("so no violations are counted until "), "{said}");
}

#[test]
fn an_empty_state_folder_refuses_from_the_first_request_on_and_accuses_who_has_read() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("24h").in_front_of(&origin);
    assert_first_day(&gateway.set("settle = \"50ms\"\njournal_rate = \"off\"").start());
}

#[test]
fn a_read_of_the_first_day_outlives_a_restart() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("24h").in_front_of(&origin);
    let mut gateway = gateway.set("settle = \"50ms\"\njournal_rate = \"off\"").start();
    gateway.send(&get("/robots.txt").by(GPTBOT));
    let mut asked = 0;
    let mut notice = |gateway: &Daemon| {
        asked += 1;
        let target = format!("/old/{asked}");
        status(gateway, &target, GPTBOT);
        gateway.journal().event_of(&target)["notice"].clone()
    };
    until("the read counts", || (notice(&gateway) == "read").then_some(()));
    gateway.restart();
    assert_eq!(notice(&gateway), "read");
}

#[test]
fn the_same_holds_for_a_file_that_the_origin_has() {
    let origin = of_one_name("localhost", disallowing("/old"));
    let gateway = Daemon::without_robots().in_mode("enforce").with_notice("24h").at(&origin);
    let gateway = gateway.site("robots = { from = \"origin\", host = \"localhost\" }");
    assert_first_day(&gateway.set("settle = \"50ms\"\njournal_rate = \"off\"").start());
}

#[test]
fn what_has_been_served_for_long_is_a_violation_at_once() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("24h").in_front_of(&origin);
    let gateway = gateway.served_for_long().start();
    assert_eq!(status(&gateway, "/old/1", GPTBOT), 403);
    assert_event(&gateway.journal().event_of("/old/1"), "violation", "lapsed");
}

#[test]
fn what_both_versions_disallow_is_a_violation_at_once() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with(disallowing("/both")).in_mode("enforce").with_notice("1h").in_front_of(&origin);
    let gateway = gateway.served_for_long().start();
    let robots = "User-agent: *\nDisallow: /new\nDisallow: /both\n";
    rename_over(&gateway.robots(), robots);
    until("the new file is served", || (gateway.send(&get("/robots.txt")).text() == robots).then_some(()));
    assert_eq!(status(&gateway, "/both/1", GPTBOT), 403);
    let event = gateway.journal().event_of("/both/1");
    assert_event(&event, "violation", "lapsed");
    assert_eq!(event["line"], 3, "the line is that of the version in force: {event}");
    assert_eq!(status(&gateway, "/new/1", GPTBOT), 200);
}

#[test]
fn a_page_that_was_disallowed_and_no_longer_is_gets_forwarded() {
    let origin = Nginx::start();
    let gateway = Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("1h").in_front_of(&origin);
    let gateway = gateway.served_for_long().start();
    assert_eq!(status(&gateway, "/old/1", GPTBOT), 403);
    tighten(&gateway);
    assert_eq!(status(&gateway, "/old/2", GPTBOT), 200, "the version in force allows it");
    assert_event(&gateway.journal().event_of("/old/2"), "stale", "pending");
}

#[test]
fn equal_bytes_are_one_version_and_the_one_between_is_excused() {
    let origin = Nginx::start();
    let gateway = Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("1h").in_front_of(&origin);
    let gateway = gateway.set("settle = \"20ms\"").start();
    let first = gateway.send(&get("/robots.txt").by(GPTBOT)).header("ETag").map(str::to_owned);
    tighten(&gateway);
    rename_over(&gateway.robots(), disallowing("/old"));
    until("the first version is back", || {
        (gateway.send(&get("/robots.txt")).header("ETag").map(str::to_owned) == first).then_some(())
    });
    // It could still hold the version between, which allows the page: its read of the first one was earlier.
    assert_eq!(status(&gateway, "/old/1", GPTBOT), 200);
    assert_event(&gateway.journal().event_of("/old/1"), "stale", "pending");
    gateway.send(&get("/robots.txt").by(GPTBOT));
    until("the second read counts", || (status(&gateway, "/old/2", GPTBOT) == 403).then_some(()));
    let refused = gateway.journal().event_where("a refusal", |event| event["action"] == "refused");
    assert_event(&refused, "violation", "read");
}

#[test]
fn a_version_dropped_for_room_excuses_from_an_accusation_only() {
    let origin = Nginx::start();
    let gateway = lenient(&origin, "1h");
    for number in 0..20 {
        let robots = format!("{}Disallow: /{number}\n", disallowing("/new"));
        rename_over(&gateway.robots(), &robots);
        until("it is served", || (gateway.send(&get("/robots.txt")).text() == robots).then_some(()));
    }
    assert_eq!(status(&gateway, "/new/1", CLAUDEBOT), 403, "the first of 21 versions is not known any more");
    assert_event(&gateway.journal().event_of("/new/1"), "stale", "unknown");
    let told = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let what = "what the oldest of more than 16 versions within notice said";
    assert_eq!(told["sites"][0]["unknown"][0]["what"], what, "{told}");
}

#[test]
fn what_the_operator_has_bind_at_once_is_refused_and_never_a_violation() {
    let origin = Nginx::start();
    let gateway = lenient(&origin, "1h");
    tighten(&gateway);
    gateway.ctl(&["reload", "--now", "--crawler", "GPTBot"]).exits(0);
    assert_eq!((status(&gateway, "/new/1", GPTBOT), status(&gateway, "/new/2", CLAUDEBOT)), (403, 200));
    let event = gateway.journal().event_of("/new/1");
    assert_event(&event, "stale", "waived");
    assert_eq!(event["action"], "refused", "{event}");
    // It is a word for that version, and not for what comes next.
    let next = format!("{}Disallow: /next\n", disallowing("/new"));
    rename_over(&gateway.robots(), &next);
    gateway.ctl(&["reload"]).exits(0);
    assert_eq!((status(&gateway, "/next/1", GPTBOT), status(&gateway, "/new/3", GPTBOT)), (200, 403));
    assert_event(&gateway.journal().event_of("/next/1"), "stale", "pending");
}

#[test]
fn a_read_counts_for_the_host_it_was_made_on() {
    let origin = Nginx::start();
    let config = "mode = \"enforce\"\nnotice = \"1h\"\nsettle = \"20ms\"\n\
                  [[sites]]\nhosts = [\"a.example\", \"b.example\"]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway =
        configured(config).file("robots.txt", "User-agent: *\nAllow: /\n").in_front_of(&origin).start();
    let ask = |host: &str, target: &str| gateway.send(&get(target).for_host(host).by(GPTBOT));
    rename_over(&gateway.robots(), disallowing("/new"));
    until("the new file is served", || {
        (ask("b.example", "/robots.txt?").text() == disallowing("/new")).then_some(())
    });
    until("the read counts on its host", || (ask("b.example", "/new/1").status == 403).then_some(()));
    assert_eq!(ask("a.example", "/new/2").status, 200, "RFC 9309 §2.3: a robots.txt belongs to one host");
}

/// An origin that has a robots.txt of 1994 for one name, and none for any other.
fn of_one_name(name: &'static str, robots: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                let Ok(1) = stream.read(&mut byte) else { break };
                head.extend(byte);
            }
            let head = String::from_utf8_lossy(&head);
            let date = "Sun, 06 Nov 1994 08:49:37 GMT";
            let fields = format!("Last-Modified: {date}\r\nConnection: close\r\n");
            let answer =
                if head.starts_with("GET /robots.txt") && !head.contains(&format!("Host: {name}\r\n")) {
                    "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
                } else {
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n{robots}", robots.len())
                };
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    format!("http://{address}")
}

#[test]
fn an_aborted_transfer_is_no_read() {
    let origin = Nginx::start();
    let gateway =
        Daemon::with("User-agent: *\nAllow: /\n").in_mode("enforce").with_notice("1h").in_front_of(&origin);
    let gateway = gateway.set("settle = \"20ms\"").start();
    let large = format!(
        "{}{}",
        disallowing("/new"),
        "# padding of a file that fills every buffer on the way\n".repeat(280_000)
    );
    rename_over(&gateway.robots(), &large);
    let length = Some(large.len().to_string());
    until("the new file is served", || {
        (gateway.send(&head("/robots.txt")).header("Content-Length").map(str::to_owned) == length)
            .then_some(())
    });
    let mut client = gateway.client();
    client.write(
        format!("GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\n\r\n").as_bytes(),
    );
    client.first_byte();
    drop(client);
    // Another crawler reads it whole; when that read counts, the aborted one would count too.
    assert_eq!(gateway.send(&get("/robots.txt").by(CLAUDEBOT)).body.len(), large.len());
    until("the whole read counts", || (status(&gateway, "/new/1", CLAUDEBOT) == 403).then_some(()));
    assert_eq!(status(&gateway, "/new/2", GPTBOT), 200);
}
