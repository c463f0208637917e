//! `gatewayctl status` and `reload`, with a running gateway and without one.

use crate::golden::{assert_golden, ctl};
use crate::support::folder::rename_over;
use crate::support::{Daemon, Ended, Folder, until};

const OLD: &str = "User-agent: *\nDisallow: /old\nDisallow: /both\n";
const NEW: &str = "User-agent: *\nDisallow: /new\nDisallow: /both\n";

fn running(notice: &str) -> Daemon {
    Daemon::with(OLD).with_notice(notice).at("http://127.0.0.1:9").start()
}

/// Saves a new robots.txt. Whether the watcher or `reload` reads it first does not show in the answer.
fn save(gateway: &Daemon, robots: &str) {
    rename_over(&gateway.robots(), robots);
}

#[track_caller]
fn reload(gateway: &Daemon, more: &[&str], code: i32) -> Ended {
    let socket = gateway.folder().join("control.sock");
    until("the control socket is open", || socket.exists().then_some(()));
    ctl(gateway.folder(), &[&["reload", "--control", "control.sock"], more].concat()).exits(code)
}

#[test]
fn without_a_gateway_there_is_no_answer() {
    let folder = Folder::new();
    for verb in ["status", "reload"] {
        let ended = ctl(&folder, &[verb, "--control", "control.sock"]).exits(2);
        assert_eq!(ended.stdout, "");
        assert!(ended.stderr.contains("control.sock"), "{}", ended.stderr);
        assert_golden(&format!("{verb}-without-gateway"), &folder, &ended);
    }
}

#[test]
fn reload_changed() {
    let gateway = running("0s");
    save(&gateway, NEW);
    let ended = reload(&gateway, &[], 0);
    assert_golden("reload-changed", gateway.folder(), &ended);
}

#[test]
fn reload_changed_json() {
    let gateway = running("0s");
    save(&gateway, NEW);
    let ended = reload(&gateway, &["--format", "json"], 0);
    assert_eq!(ended.json()["result"], "changed");
    assert_golden("reload-changed-json", gateway.folder(), &ended);
}

#[test]
fn reload_says_from_when_the_change_is_enforced_for_everyone() {
    let gateway = running("24h");
    save(&gateway, NEW);
    let ended = reload(&gateway, &[], 0);
    assert!(ended.stdout.contains("in force; binds everyone from "), "{}", ended.stdout);
    assert!(ended.stdout.contains("0 crawlers have read it"), "{}", ended.stdout);
    assert_golden("reload-changed-notice", gateway.folder(), &ended);
}

#[test]
fn reload_unchanged() {
    let gateway = running("0s");
    assert_golden("reload-unchanged", gateway.folder(), &reload(&gateway, &[], 0));
    assert_golden("reload-unchanged-json", gateway.folder(), &reload(&gateway, &["--format", "json"], 0));
}

#[test]
fn reload_refused() {
    let gateway = running("0s");
    save(&gateway, "");
    assert_golden("reload-refused", gateway.folder(), &reload(&gateway, &[], 1));
    assert_golden("reload-refused-json", gateway.folder(), &reload(&gateway, &["--format", "json"], 1));
    assert_golden("reload-accepted", gateway.folder(), &reload(&gateway, &["--accept-empty"], 0));
}

#[test]
fn status_as_text() {
    let gateway = running("24h");
    let ended = gateway.ctl(&["status"]).exits(0);
    for part in ["default", "audit", &crate::support::version_of(OLD)] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
}
