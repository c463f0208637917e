//! The control socket: `gatewayctl reload` and `status`, and the signals.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::folder::rename_over;
use crate::support::{Builder, Daemon, Nginx, configured, get, until, version_of};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

#[track_caller]
fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("no object: {value}")).keys().map(String::as_str).collect()
}

#[track_caller]
fn assert_has(value: &Value, wanted: &[&str]) {
    let keys = keys(value);
    assert!(wanted.iter().all(|key| keys.contains(key)), "{wanted:?} in {value}");
}

#[test]
fn the_control_socket_is_the_owners_alone() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let socket = gateway.folder().join("control.sock");
    let metadata = until("the control socket is there", || fs::metadata(&socket).ok());
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_wrong_method_is_told_which_would_be_right() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let path = gateway.folder().join("control.sock");
    for (asked, right) in [("POST /robots", "get, head"), ("GET /robots/refresh", "post")] {
        let mut socket = until("the control socket is open", || UnixStream::connect(&path).ok());
        let request =
            format!("{asked} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        let answer = answer.to_lowercase();
        assert!(
            answer.starts_with("http/1.1 405 ") && answer.contains(&format!("allow: {right}\r\n")),
            "{answer}"
        );
    }
}

#[test]
fn reload_waits_and_says_what_changed() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let (old, new) = (disallowing("/old"), format!("{}Disallow: /more\n", disallowing("/new")));
    rename_over(&gateway.robots(), &new);
    let reload = gateway.ctl(&["reload", "--format", "json"]).exits(0).json();
    assert_eq!(gateway.send(&get("/new").by(GPTBOT)).status, 403, "`reload` waits until it is in force");
    assert_eq!(gateway.send(&get("/old").by(GPTBOT)).status, 200);
    assert_has(&reload, &["result", "sites", "errors"]);
    // However quick the watcher was: who asks is told what changed.
    assert_eq!((&reload["result"], &reload["errors"]), (&json!("changed"), &json!([])), "{reload}");
    let site = &reload["sites"][0];
    assert_has(site, &["site", "old_version", "new_version", "added", "removed", "warnings"]);
    assert_eq!(site["site"], "default");
    assert_eq!(site["old_version"], version_of(&old));
    assert_eq!(site["new_version"], version_of(&new));
    assert_eq!((&site["added"], &site["removed"]), (&json!(2), &json!(1)), "two rules for one: {site}");
    let again = gateway.ctl(&["reload", "--format", "json"]).exits(0).json();
    assert_eq!(again["result"], "unchanged", "{again}");
}

#[test]
fn status_shows_the_sites_and_the_reloads() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let status = || gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let first = status();
    assert_has(
        &first,
        &["generation", "uptime_seconds", "sites", "last_reload", "queue", "details_dropped", "counts_lost"],
    );
    let site = &first["sites"][0];
    assert_has(site, &["site", "mode", "robots_version", "since", "error", "findings"]);
    assert_eq!((&site["site"], &site["mode"]), (&json!("default"), &json!("enforce")));
    assert_eq!(site["robots_version"], version_of(disallowing("/old")));
    assert_eq!((&first["details_dropped"], &first["counts_lost"]), (&json!(0), &json!(0)));
    rename_over(&gateway.robots(), disallowing("/new"));
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
    let second = status();
    assert_eq!(second["sites"][0]["robots_version"], version_of(disallowing("/new")));
    assert!(second["generation"].as_u64() > first["generation"].as_u64(), "{first} {second}");
    assert!(!second["last_reload"].is_null(), "{second}");
}

#[test]
fn status_counts_the_crawlers_that_have_read_the_version() {
    let origin = Nginx::start();
    let gateway = Daemon::with(disallowing("/old")).with_notice("1h").in_front_of(&origin).start();
    rename_over(&gateway.robots(), disallowing("/new"));
    until("the new file is served", || {
        (gateway.send(&get("/robots.txt")).text() == disallowing("/new")).then_some(())
    });
    gateway.send(&get("/robots.txt").by(GPTBOT));
    until("the read is counted", || {
        let status = gateway.ctl(&["status"]).exits(0).stdout;
        status.contains("binds everyone from").then_some(()).filter(|()| status.contains("1 crawler"))
    });
}

#[test]
fn sighup_reloads() {
    let origin = Nginx::start();
    let mut gateway = without_notice(&origin).start();
    let before = gateway.ctl(&["status", "--format", "json"]).exits(0).json()["last_reload"].clone();
    gateway.signal("HUP");
    until("the signal has reloaded", || {
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        (status["last_reload"] != before).then_some(())
    });
    gateway.is_running();
    rename_over(&gateway.robots(), disallowing("/new"));
    gateway.signal("HUP");
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
    gateway.is_running();
}

#[test]
fn a_second_gateway_does_not_take_the_control_socket_of_a_running_one() {
    let origin = Nginx::start();
    let mut first = without_notice(&origin).start();
    let socket = first.folder().join("control.sock");
    let second = Daemon::with(disallowing("/x")).in_front_of(&origin);
    // It may wait for the socket or give up; the first one keeps answering.
    let _second = second.arg("--control").arg(socket.to_str().expect("UTF-8")).try_start();
    first.is_running();
    let status = first.ctl(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["sites"][0]["robots_version"], version_of(disallowing("/old")));
}

#[test]
fn a_socket_left_behind_by_a_killed_gateway_is_taken_over() {
    let origin = Nginx::start();
    let mut first = without_notice(&origin).start();
    first.signal("KILL");
    assert_eq!(
        first.ends_within(std::time::Duration::from_secs(5)),
        None,
        "ended by a signal, without a code"
    );
    let second = without_notice(&origin);
    fs::rename(first.folder().join("control.sock"), second.folder().join("control.sock")).expect("moved");
    let second = second.start();
    second.ctl(&["status"]).exits(0);
}

#[test]
fn status_names_an_origin_that_answers_nothing_until_it_does() {
    let builder = without_notice_at(|folder| format!("unix:{}", folder.join("origin.sock").display()));
    let gateway = builder.start();
    let status = || gateway.ctl(&["status", "--format", "json"]).exits(0).json()["origins"][0].clone();
    let well = status();
    assert_eq!((&well["site"], &well["errors"]), (&json!("default"), &json!(0)), "{well}");
    assert!(well["failing_since"].is_null() && well["error"].is_null(), "{well}");
    for _ in 0..3 {
        assert_eq!(gateway.send(&get("/")).status, 502);
    }
    let failing = until("the failures are counted", || Some(status()).filter(|origin| origin["errors"] == 3));
    assert_has(&failing, &["site", "server", "failing_since", "errors"]);
    assert!(failing["failing_since"].is_string() && failing["error"].is_string(), "{failing}");
    let text = gateway.ctl(&["status"]).exits(0).stdout;
    let told = "origin.sock has answered nothing since ";
    assert!(text.contains(told) && text.contains("3 requests have failed: "), "{text}");
    assert!(!text.contains("all is well"), "{text}");
    let origin = UnixListener::bind(gateway.folder().join("origin.sock")).expect("bound");
    let answering = std::thread::spawn(move || {
        let (mut client, _) = origin.accept().expect("a connection");
        let _ = client.read(&mut [0; 4_096]).expect("a request");
        client
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
            .expect("written");
    });
    assert_eq!(gateway.send(&get("/")).status, 200);
    answering.join().expect("it answered");
    until("status has nothing against it", || status()["failing_since"].is_null().then_some(()));
    assert!(gateway.ctl(&["status"]).exits(0).stdout.contains("all is well"));
}

/// As [`without_notice`], with an origin in the gateway's folder.
fn without_notice_at(origin: impl Fn(&Path) -> String) -> Builder {
    let builder = Daemon::with(disallowing("/old")).in_mode("enforce").with_notice("0s");
    let url = origin(builder.folder());
    builder.at(&url)
}

#[test]
fn a_host_that_is_no_sites_is_named_with_its_count() {
    let origin = Nginx::start();
    let config = "[[sites]]\nhosts = [\"own.example\"]\norigin = \"[ORIGIN]\"\n";
    let gateway = configured(config).in_front_of(&origin).start();
    for host in ["www.own.example", "own.example", "WWW.own.example:80", "other.example"] {
        let expected = if host == "own.example" { 200 } else { 421 };
        assert_eq!(gateway.send(&get("/").for_host(host)).status, expected, "{host}");
    }
    gateway.log.line_with(&["www.own.example", "421"]);
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let hosts = status["unknown_hosts"].as_array().expect("a list");
    assert_eq!((&hosts[0]["host"], &hosts[0]["count"]), (&json!("www.own.example"), &json!(2)), "{status}");
    assert_eq!((&hosts[1]["host"], &hosts[1]["count"]), (&json!("other.example"), &json!(1)), "{status}");
    let text = gateway.ctl(&["status"]).exits(0).stdout;
    assert!(text.contains("no site is called www.own.example: answered 421, 2 times since "), "{text}");
}

#[test]
fn a_gateway_that_is_stopped_does_not_hold_status_up() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    gateway.ctl(&["status"]).exits(0);
    gateway.signal("STOP");
    let ended = gateway.ctl(&["status"]);
    gateway.signal("CONT");
    let ended = ended.exits(2);
    assert!(ended.stderr.contains("it does not answer within 2 s"), "{ended:?}");
    assert!((2..6).contains(&ended.took.as_secs()), "{ended:?}");
    gateway.ctl(&["status"]).exits(0);
}

#[test]
fn reload_names_the_keys_that_changed_and_those_that_wait_for_a_restart() {
    let origin = Nginx::start();
    let config = "admin = \"off\"\nadmin_token = \"old-secret\"\nthreads = 1\nnotice = \"1h\"\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", disallowing("/old")).in_front_of(&origin).start();
    let path = gateway.folder().join("gateway.toml");
    let text = fs::read_to_string(&path).expect("read");
    let change = |text: &str, from: &str, to: &str| {
        assert!(text.contains(from), "{text}");
        let next = text.replace(from, to);
        rename_over(&path, &next);
        next
    };
    let text = change(&text, "notice = \"1h\"\n", "mode = \"enforce\"\n");
    let text = change(&text, "threads = 1", "threads = 2");
    let text = change(&text, "old-secret", "new-secret");
    let reload = gateway.ctl(&["reload", "--format", "json"]).exits(0).json();
    let changes = json!(["admin_token", "mode", "notice", "threads"]);
    assert_eq!((&reload["result"], &reload["config"]), (&json!("changed"), &changes), "{reload}");
    assert_eq!(reload["restart"], json!(["admin_token", "threads"]), "{reload}");
    change(&text, "mode = \"enforce\"", "mode = \"off\"");
    let reload = gateway.ctl(&["reload"]).exits(0).stdout;
    assert!(reload.contains("changed in the configuration: mode\n"), "{reload}");
    let waiting = "in effect when the gateway is started again: admin_token, threads";
    assert!(reload.contains(waiting), "what changed earlier still waits: {reload}");
    assert!(gateway.ctl(&["status"]).exits(0).stdout.contains(waiting));
    let log = gateway.log.line_with(&["the configuration changed", "threads"]);
    assert!(!log.contains("-secret"), "{log}");
    rename_over(
        &path,
        text.replace("mode = \"enforce\"", "mode = \"off\"").replace("threads = 2", "threads = 1"),
    );
    let back = gateway.ctl(&["reload", "--format", "json"]).exits(0).json();
    assert_eq!(back["restart"], json!(["admin_token"]), "what is as it was waits for nothing: {back}");
}

#[test]
fn a_robots_txt_that_waits_for_the_configuration_to_be_mended_says_so() {
    let origin = Nginx::start();
    let config = "notice = \"0s\"\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", disallowing("/old")).in_front_of(&origin).start();
    let path = gateway.folder().join("gateway.toml");
    let text = fs::read_to_string(&path).expect("read");
    rename_over(&path, "notice = \n");
    gateway.ctl(&["reload"]).exits(1);
    rename_over(&gateway.robots(), disallowing("/new"));
    let reload = gateway.ctl(&["reload"]).exits(1).stdout;
    let said =
        format!("this robots.txt changed to {}, which is not in force", version_of(disallowing("/new")));
    assert!(reload.contains("gateway.toml:1:") && reload.contains(&said), "{reload}");
    until("status says so", || gateway.ctl(&["status"]).exits(0).stdout.contains(&said).then_some(()));
    rename_over(&path, text);
    gateway.ctl(&["reload"]).exits(0);
    assert_eq!(gateway.send(&get("/robots.txt")).text(), disallowing("/new"));
    assert!(gateway.ctl(&["status"]).exits(0).stdout.contains("all is well"));
}
