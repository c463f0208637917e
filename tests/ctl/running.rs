//! `gatewayctl status` and `reload`, with a running gateway and without one.

use crate::golden::{assert_golden, ctl};
use crate::support::command::{program, run_with_input};
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

/// `reload` that is told of the configuration only, which is `text` now; the default socket is the gateway's.
#[track_caller]
fn reload_of(gateway: &Daemon, text: &[u8], default: bool) -> Ended {
    std::fs::write(gateway.folder().join("gateway.toml"), text).expect("written");
    let folder = gateway.folder().path();
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(["reload", "--config", "gateway.toml"]).current_dir(folder);
    command.env("RUNTIME_DIRECTORY", if default { folder } else { std::path::Path::new("/nowhere") });
    run_with_input(command, None)
}

#[test]
fn the_gateway_says_what_is_wrong_with_a_configuration_that_is_no_toml() {
    let gateway = Daemon::with(OLD).set("via = true").start();
    reload(&gateway, &[], 0);
    for (text, default) in [
        (&b"nonsense"[..], true),
        (b"# \xff", true),
        (b"control = \"control.sock\"\nnonsense", false),
        (b"control = \"control.sock\"\nnonsense = \n[log]\ncontrol = \"other.sock\"", false),
    ] {
        let ended = reload_of(&gateway, text, default).exits(1);
        assert!(ended.stdout.contains("gateway.toml:"), "{}", ended.stdout);
    }
    // What stands in a table is no socket.
    let ended = reload_of(&gateway, b"nonsense\n[log]\ncontrol = \"control.sock\"", false).exits(2);
    assert!(ended.stderr.contains("/nowhere"), "{}", ended.stderr);
}

#[test]
fn status_as_text() {
    let gateway = running("24h");
    let ended = gateway.ctl(&["status"]).exits(0);
    for part in ["default", "audit", &crate::support::version_of(OLD)] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
}
