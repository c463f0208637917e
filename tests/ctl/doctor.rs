//! `gatewayctl doctor`: what comes back by the site's public name is compared with what the gateway serves.

use crate::golden::ctl;
use crate::support::{Daemon, Ended, Nginx};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn running() -> Daemon {
    Daemon::with(ROBOTS).site("hosts = [\"example.org\"]").at("http://127.0.0.1:9").start()
}

fn doctor(gateway: &Daemon, at: &str) -> Ended {
    let config = gateway.folder().join("gateway.toml");
    gateway.ctl(&["doctor", "--at", at, "--config", config.to_str().expect("UTF-8"), "--format", "json"])
}

/// The code and the message of what was found.
fn found(ended: &Ended) -> Vec<(String, String)> {
    let all = ended.json();
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    all.as_array().expect("findings").iter().map(|one| (text(one, "code"), text(one, "message"))).collect()
}

#[test]
fn a_file_that_arrives_is_said_to() {
    let gateway = running();
    let ended = doctor(&gateway, &format!("http://{}", gateway.address())).exits(0);
    let found = found(&ended);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "arrives", "{found:?}");
}

#[test]
fn another_file_is_told_with_its_first_line_that_differs_and_whose_it_is() {
    let (gateway, other) = (running(), Nginx::start());
    let ended = doctor(&gateway, &other.url()).exits(1);
    let found = found(&ended);
    let codes: Vec<&str> = found.iter().map(|(code, _)| code.as_str()).collect();
    // nginx names itself, and the gateway knows of no proxy.
    assert_eq!(codes, ["another-file", "addresses"], "{found:?}");
    let message = &found[0].1;
    assert!(message.contains("line 2 is `Disallow: /only-the-origin-says-so`"), "{message}");
    assert!(message.contains("server: nginx"), "{message}");
}

#[test]
fn a_site_that_does_not_answer_is_told() {
    let gateway = running();
    let found = found(&doctor(&gateway, "http://127.0.0.1:9").exits(1));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "no-answer");
}

#[test]
fn without_a_gateway_or_a_name_it_cannot_answer() {
    let gateway = Daemon::with(ROBOTS).set("via = true").at("http://127.0.0.1:9").start();
    let arguments = ["doctor", "--config", "gateway.toml", "--control", "control.sock"];
    let ended = ctl(gateway.folder(), &arguments).exits(2);
    assert!(ended.stderr.contains("--site HOST"), "{}", ended.stderr);
    let arguments = ["doctor", "--site", "example.org", "--config", "gateway.toml", "--control", "none.sock"];
    let ended = ctl(gateway.folder(), &arguments).exits(2);
    assert!(ended.stderr.contains("is the gateway running?"), "{}", ended.stderr);
}
