//! The control socket: `gatewayctl reload` and `status`, and the signals.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, get, until, version_of};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

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
