//! Which mode applies: crawler, then kind of client, then site, then global.

use crate::support::agents::{ADSBOT, CHATGPT_USER, CHROME, CLAUDEBOT, CURL, GPTBOT};
use crate::support::{Daemon, Nginx, configured, get};

const ROBOTS: &str =
    "User-agent: *\nUser-agent: AdsBot-Google\nUser-agent: ChatGPT-User\nDisallow: /private\n";

#[track_caller]
fn assert_status(gateway: &Daemon, host: &str, agent: &str, status: u16) {
    let response = gateway.send(&get("/private").for_host(host).by(agent));
    assert_eq!(response.status, status, "{agent} at {host}");
}

#[test]
fn audit_is_the_default() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    assert_status(&gateway, "localhost", GPTBOT, 200);
    assert_eq!(gateway.journal().event_of("/private")["mode"], "audit");
}

#[test]
fn the_option_enforces_crawlers_and_special_cases_but_leaves_the_other_rows_in_audit() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin).start();
    for (agent, status) in
        [(GPTBOT, 403), (CLAUDEBOT, 403), (ADSBOT, 403), (CURL, 200), (CHATGPT_USER, 200), (CHROME, 200)]
    {
        assert_status(&gateway, "localhost", agent, status);
    }
    assert_eq!(gateway.send(&get("/private")).status, 200);
}

#[test]
fn the_option_overrides_the_files_global_mode_only() {
    let origin = Nginx::start();
    let config = "mode = \"audit\"\n[[sites]]\nhosts = [\"own.example\"]\nmode = \"audit\"\norigin = \"[ORIGIN]\"\nrobots = \"r.txt\"\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"r.txt\"\n";
    let gateway = configured(config).file("r.txt", ROBOTS).in_front_of(&origin).in_mode("enforce").start();
    assert_status(&gateway, "own.example", GPTBOT, 200);
    assert_status(&gateway, "localhost", GPTBOT, 403);
}

#[test]
fn the_most_specific_mode_wins() {
    let origin = Nginx::start();
    let config = r#"
mode = "enforce"
[clients]
tool = "enforce"
unnamed = "off"
[crawlers.GPTBot]
mode = "audit"
[crawlers.chatgpt-user]
mode = "enforce"
[[sites]]
hosts = ["enforced.example"]
origin = "[ORIGIN]"
robots = "r.txt"
[[sites]]
hosts = ["audited.example"]
mode = "audit"
origin = "[ORIGIN]"
robots = "r.txt"
[[sites]]
hosts = ["off.example"]
mode = "off"
origin = "[ORIGIN]"
robots = "r.txt"
"#;
    let gateway = configured(config).file("r.txt", ROBOTS).in_front_of(&origin).start();
    for (host, claudebot) in [("enforced.example", 403), ("audited.example", 200), ("off.example", 200)] {
        assert_status(&gateway, host, CLAUDEBOT, claudebot);
        assert_status(&gateway, host, CURL, 403);
        assert_status(&gateway, host, GPTBOT, 200);
        assert_status(&gateway, host, CHATGPT_USER, 403);
        assert_status(&gateway, host, CHROME, 200);
    }
}

#[test]
fn off_neither_records_nor_refuses() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .set("mode = \"off\"\nlog_allowed = true")
        .table("[crawlers.ClaudeBot]\nmode = \"audit\"")
        .start();
    let mut client = gateway.client();
    for agent in [GPTBOT, CHROME] {
        client.send(&get("/private").by(agent)).came_from_origin();
        client.send(&get("/open").by(agent)).came_from_origin();
    }
    client.send(&get("/private/last").by(CLAUDEBOT)).came_from_origin();
    assert_eq!(gateway.journal().events_before("/private/last").len(), 0);
}

#[test]
fn browsers_cannot_be_given_a_mode() {
    for row in ["browser", "app"] {
        let gateway = Daemon::with(ROBOTS).table(&format!("[clients]\n{row} = \"enforce\""));
        let ended = gateway.fails_to_start().exits(2);
        assert!(ended.stderr.contains(row), "{}", ended.stderr);
    }
}
