//! What may not replace a good policy: the last good one stays, and the operator is told.

use crate::reload_styles::{assert_comes_into_force, disallowing, without_notice};
use crate::support::agents::GPTBOT;
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, get, until};
use serde_json::Value;
use std::fs;

fn utf16(text: &str) -> Vec<u8> {
    [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

/// Bytes that are no robots.txt, each with a word for the test's messages.
pub(crate) fn no_robots() -> Vec<(&'static str, Vec<u8>)> {
    let html = "<!DOCTYPE html>\n<html><head><title>404</title></head><body><p>Not found</p></body></html>\n";
    vec![
        ("empty", Vec::new()),
        ("HTML", html.into()),
        ("NUL", b"User-agent: *\nDisallow: /n\0w\n".to_vec()),
        ("UTF-16", utf16("User-agent: *\nDisallow: /new\n")),
        ("UTF-16 without a mark", utf16("User-agent: *\nDisallow: /new\n")[2..].to_vec()),
    ]
}

/// The error of the only site in `gatewayctl status`.
fn error_of(gateway: &Daemon) -> Value {
    gateway.ctl(&["status", "--format", "json"]).exits(0).json()["sites"][0]["error"].clone()
}

#[test]
fn bytes_that_are_no_robots_txt_keep_the_last_good_version() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    assert!(error_of(&gateway).is_null());
    for (word, bytes) in no_robots() {
        rename_over(&gateway.robots(), &bytes);
        let error = until(&format!("status shows the error of {word}"), || {
            error_of(&gateway).as_str().map(str::to_owned)
        });
        assert!(error.contains("robots.txt"), "{word}: {error}");
        assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
        let reload = gateway.ctl(&["reload", "--format", "json"]).exits(1);
        let json = reload.json();
        assert_eq!(json["result"], "refused", "{word}: {json}");
        assert!(
            json["errors"][0]["path"].as_str().is_some_and(|path| path.ends_with("robots.txt")),
            "{word}: {json}"
        );
        let message = json["errors"][0]["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "{word}: {json}");
        assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
        rename_over(&gateway.robots(), disallowing("/old"));
        until(&format!("the error of {word} is gone"), || error_of(&gateway).is_null().then_some(()));
    }
}

#[test]
fn the_message_says_how_to_mean_an_empty_file() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    rename_over(&gateway.robots(), "");
    let line = gateway.log.line_with(&["robots.txt", "--accept-empty"]);
    assert!(line.contains("User-agent: *") && line.contains("Allow: /"), "{line}");
    assert!(line.contains(gateway.robots().to_str().expect("UTF-8")), "the path is missing: {line}");
}

#[test]
fn a_vanished_file_keeps_the_last_good_version() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    fs::remove_file(gateway.robots()).expect("removed");
    until("status shows the error", || error_of(&gateway).as_str().map(str::to_owned));
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
    gateway.ctl(&["reload"]).exits(1);
    assert_comes_into_force(&gateway, &disallowing("/old"), "/old");
}

#[test]
fn a_file_of_comments_is_accepted() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    rename_over(&gateway.robots(), "# nothing is disallowed\n");
    until("everything is allowed", || (gateway.send(&get("/old").by(GPTBOT)).status == 200).then_some(()));
    assert_eq!(gateway.send(&get("/robots.txt")).text(), "# nothing is disallowed\n");
    assert!(error_of(&gateway).is_null());
}

#[test]
fn html_around_records_is_accepted() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let robots = format!("<pre>\n{}</pre>\n", disallowing("/new"));
    rename_over(&gateway.robots(), &robots);
    assert_comes_into_force(&gateway, &robots, "/new");
}

#[test]
fn bytes_that_are_not_utf_8_are_matched_as_bytes() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    let robots = b"User-agent: *\nDisallow: /caf\xe9\n";
    rename_over(&gateway.robots(), robots);
    until("the byte is matched", || (gateway.send(&get("/caf%E9").by(GPTBOT)).status == 403).then_some(()));
    assert_eq!(gateway.send(&get("/robots.txt")).body, robots);
    assert_eq!(
        gateway.journal().event_of("/caf%E9")["rule"].as_str().map(str::to_ascii_lowercase).as_deref(),
        Some("disallow: /caf\\xe9")
    );
}

#[test]
fn an_empty_file_can_be_meant() {
    let origin = Nginx::start();
    let gateway = without_notice(&origin).start();
    rename_over(&gateway.robots(), "");
    gateway.ctl(&["reload"]).exits(1);
    assert_eq!(gateway.send(&get("/old").by(GPTBOT)).status, 403);
    let reload = gateway.ctl(&["reload", "--accept-empty", "--format", "json"]).exits(0);
    assert_eq!(reload.json()["result"], "changed", "{}", reload.stdout);
    assert_eq!(gateway.send(&get("/old").by(GPTBOT)).status, 200);
    let served = gateway.send(&get("/robots.txt"));
    assert_eq!((served.status, served.body.len()), (200, 0));
    assert!(error_of(&gateway).is_null());
    rename_over(&gateway.robots(), disallowing("/new"));
    assert_comes_into_force(&gateway, &disallowing("/new"), "/new");
}

#[test]
fn a_bad_configuration_keeps_the_old_policy_and_shows_in_status() {
    let origin = Nginx::start();
    let gateway = Daemon::with(disallowing("/old")).in_front_of(&origin).set("mode = \"enforce\"").start();
    let path = gateway.folder().join("gateway.toml");
    let good = fs::read_to_string(&path).expect("read");
    rename_over(&path, format!("listen_on = 1\n{good}"));
    let place = format!("{}:", path.display());
    let line = gateway.log.line_with(&[&place]);
    assert!(line.contains("gateway.toml:"), "{line}");
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let last = &status["last_reload"];
    assert_eq!(
        (last["result"].as_str(), last["errors"][0]["path"].as_str()),
        (Some("refused"), path.to_str()),
        "{status}"
    );
    assert_eq!(
        (last["errors"][0]["line"].as_u64(), last["errors"][0]["column"].as_u64()),
        (Some(1), Some(1)),
        "{status}"
    );
    let status = gateway.ctl(&["status"]).exits(0);
    assert!(status.stdout.contains(&format!("{place}1:1: ")), "{}", status.stdout);
    assert_eq!(gateway.send(&get("/old").by(GPTBOT)).status, 403);
    let reload = gateway.ctl(&["reload", "--format", "json"]).exits(1).json();
    assert_eq!(reload["result"], "refused", "{reload}");
    let error = &reload["errors"][0];
    assert_eq!(error["path"].as_str(), path.to_str(), "{reload}");
    assert!(error["line"].is_u64() && error["column"].is_u64() && error["message"].is_string(), "{reload}");
    assert_eq!(gateway.send(&get("/old").by(GPTBOT)).status, 403);
    rename_over(&path, good.replace("enforce", "audit"));
    until("the mended file is in force", || {
        (gateway.send(&get("/old").by(GPTBOT)).status == 200).then_some(())
    });
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0);
    assert!(!status.stdout.contains("listen_on"), "{}", status.stdout);
}

#[test]
fn one_bad_robots_txt_does_not_keep_another_site_from_changing() {
    let origin = Nginx::start();
    let site = |name: &str| {
        format!("[[sites]]\nhosts = [\"{name}.example\"]\norigin = \"[ORIGIN]\"\nrobots = \"{name}.txt\"\n")
    };
    let config = format!("mode = \"enforce\"\nnotice = \"0s\"\n{}{}", site("one"), site("two"));
    let gateway = crate::support::configured(&config).in_front_of(&origin);
    let gateway = gateway.file("one.txt", disallowing("/old")).file("two.txt", disallowing("/old")).start();
    let status = |host: &str, path: &str| gateway.send(&get(path).for_host(host).by(GPTBOT)).status;
    rename_over(&gateway.folder().join("one.txt"), "");
    until("status shows the error", || error_of(&gateway).as_str().map(str::to_owned));
    rename_over(&gateway.folder().join("two.txt"), disallowing("/new"));
    until("the other site has changed", || (status("two.example", "/new") == 403).then_some(()));
    assert_eq!((status("one.example", "/old"), status("two.example", "/old")), (403, 200));
}

#[test]
fn warnings_of_a_reload_stand_at_their_own_place() {
    let gateway = Daemon::without_robots()
        .file("robots.txt", "User-agent: *\nDisallow: /private\n")
        .file("more.txt", "User-agent: FooBot\nDisallow: /a\n")
        .site("robots = { file = \"robots.txt\", additions = \"more.txt\", block = [\"ai-train\"] }")
        .start();
    let more = gateway.folder().join("more.txt");
    fs::write(more, "User-agent: FooBot\nDisallow: nowhere\n").expect("written");
    let told = gateway.ctl(&["reload", "--format", "json"]).exits(0).json();
    let warnings = told["sites"][0]["warnings"].as_array().cloned().expect("warnings");
    assert_eq!(warnings.len(), 1, "{told}");
    assert!(warnings[0].as_str().is_some_and(|text| text.contains("more.txt:2:11: `nowhere`")), "{told}");
}
