//! `gatewayctl mode`: modes set by hand, in front of a running gateway.

use crate::golden::{assert_golden, ctl};
use crate::support::agents::{CLAUDEBOT, CURL, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Daemon, Ended, Nginx, configured, get, until};
use std::fs;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const CONFIG: &str = "\
[[sites]]
hosts = [\"one.example\"]
origin = \"[ORIGIN]\"
robots = \"robots.txt\"
[[sites]]
hosts = [\"two.example\"]
origin = \"[ORIGIN]\"
robots = \"robots.txt\"
mode = \"audit\"
";

fn gateway(origin: &Nginx) -> Daemon {
    configured(CONFIG).file("robots.txt", ROBOTS).in_front_of(origin).start()
}

#[track_caller]
fn mode(gateway: &Daemon, arguments: &[&str], code: i32) -> Ended {
    let socket = gateway.folder().join("control.sock");
    until("the control socket is open", || socket.exists().then_some(()));
    ctl(gateway.folder(), &[&["mode", "--control", "control.sock"], arguments].concat()).exits(code)
}

#[track_caller]
fn status_of(gateway: &Daemon, host: &str, agent: &str) -> u16 {
    gateway.send(&get("/private").for_host(host).by(agent)).status
}

#[test]
fn all_sites_one_site_and_one_crawler() {
    let origin = Nginx::start();
    let gateway = gateway(&origin);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 200);
    assert_golden("mode-all", gateway.folder(), &mode(&gateway, &["enforce"], 0));
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 403);
    assert_eq!(status_of(&gateway, "one.example", CURL), 200, "tools are audited by default");
    assert_eq!(status_of(&gateway, "two.example", GPTBOT), 200, "a site's own mode is more specific");
    mode(&gateway, &["--site", "two.example", "enforce"], 0);
    assert_eq!(status_of(&gateway, "two.example", GPTBOT), 403);
    let ended = mode(&gateway, &["--crawler", "GPTBot", "--site", "two.example", "off"], 0);
    assert_golden("mode-crawler", gateway.folder(), &ended);
    assert_eq!(status_of(&gateway, "two.example", GPTBOT), 200);
    assert_eq!(status_of(&gateway, "two.example", CLAUDEBOT), 403);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 403);
    mode(&gateway, &["--clear"], 0);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 200);
    assert_eq!(status_of(&gateway, "two.example", CLAUDEBOT), 403, "the other scopes stay");
}

#[test]
fn it_survives_a_reload_and_a_broken_configuration_and_shows_in_status() {
    let origin = Nginx::start();
    let gateway = gateway(&origin);
    assert_golden("mode-json", gateway.folder(), &mode(&gateway, &["enforce", "--format", "json"], 0));
    assert!(gateway.ctl(&["reload"]).exits(0).stdout.starts_with("unchanged\n"), "no file has changed");
    rename_over(&gateway.robots(), "User-agent: *\nDisallow: /private\nDisallow: /more\n");
    gateway.ctl(&["reload"]).exits(0);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 403);
    let status = gateway.ctl(&["status"]).exits(0).stdout;
    assert!(status.contains("set by hand: enforce for every site without a mode of its own"), "{status}");
    assert!(status.contains("one.example: enforce\n"), "{status}");
    rename_over(&gateway.folder().join("gateway.toml"), "broken");
    gateway.ctl(&["reload"]).exits(1);
    mode(&gateway, &["--clear"], 0);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 200, "no file is read to change a mode");
    let again = mode(&gateway, &["--clear", "--format", "json"], 0).json();
    assert_eq!(again["result"], "unchanged");
}

#[test]
fn off_tells_of_each_stronger_mode_that_is_left_and_one_command_goes_back() {
    let origin = Nginx::start();
    let own = "[clients]\ntool = \"enforce\"\n[crawlers.ClaudeBot]\nmode = \"enforce\"\n";
    let gateway =
        configured(&format!("{own}{CONFIG}")).file("robots.txt", ROBOTS).in_front_of(&origin).start();
    mode(&gateway, &["--crawler", "GPTBot", "--persist", "enforce"], 0);
    mode(&gateway, &["--site", "two.example", "enforce"], 0);
    let ended = mode(&gateway, &["off"], 0);
    assert_golden("mode-off-left", gateway.folder(), &ended);
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 403, "as it was warned of");
    for whom in [["--crawler", "GPTBot"], ["--crawler", "ClaudeBot"], ["--site", "two.example"]] {
        mode(&gateway, &[&whom[..], &["off"]].concat(), 0);
    }
    for host in ["one.example", "two.example"] {
        assert_eq!([GPTBOT, CLAUDEBOT].map(|agent| status_of(&gateway, host, agent)), [200, 200], "{host}");
    }
    assert_eq!(status_of(&gateway, "one.example", CURL), 403, "as it was warned of");
    let cleared = mode(&gateway, &["--clear", "--all", "--format", "json"], 0).json();
    assert_eq!(
        (&cleared["result"], cleared["overrides"].as_array().map(Vec::len)),
        (&"changed".into(), Some(0))
    );
    assert!(!gateway.folder().join("state/modes.json").exists());
    assert_eq!(status_of(&gateway, "one.example", CLAUDEBOT), 403, "the configuration's own");
    assert_eq!(status_of(&gateway, "one.example", GPTBOT), 200);
}

#[test]
fn what_is_asked_wrongly_changes_nothing() {
    let origin = Nginx::start();
    let gateway = gateway(&origin);
    assert_golden("mode-no-site", gateway.folder(), &mode(&gateway, &["--site", "three.example", "off"], 2));
    mode(&gateway, &["loud"], 2);
    mode(&gateway, &["--crawler", "GPTBot"], 2);
    mode(&gateway, &["--persist"], 2);
    mode(&gateway, &["audit", "--clear"], 2);
    mode(&gateway, &["off", "--all", "--crawler", "GPTBot"], 2);
    mode(&gateway, &["off", "--purpose", "fun"], 2);
    mode(&gateway, &["off", "--purpose", "ai-train", "--crawler", "GPTBot"], 2);
    mode(&gateway, &["--clear", "--all", "--site", "two.example"], 2);
    let warned = mode(&gateway, &["--crawler", "Nobody Bot&x=1", "enforce"], 0);
    assert!(warned.stdout.contains("warning: the catalogue knows no crawler `Nobody Bot&x=1`"), "{warned:?}");
}

#[test]
fn only_what_persists_is_there_after_a_restart() {
    let origin = Nginx::start();
    let first = gateway(&origin);
    mode(&first, &["--persist", "--crawler", "GPTBot", "enforce"], 0);
    mode(&first, &["--site", "two.example", "enforce"], 0);
    let kept = fs::read(first.folder().join("state/modes.json")).expect("a file in the state folder");
    drop(first);
    let second = configured(CONFIG).file("robots.txt", ROBOTS);
    fs::create_dir(second.folder().join("state")).expect("a state folder");
    let second = second.file("state/modes.json", kept).in_front_of(&origin).start();
    assert_eq!(status_of(&second, "one.example", GPTBOT), 403);
    assert_eq!(status_of(&second, "two.example", CLAUDEBOT), 200);
    mode(&second, &["--clear", "--crawler", "gptbot"], 0);
    assert!(!second.folder().join("state/modes.json").exists());
    let broken = configured(CONFIG).file("robots.txt", ROBOTS);
    fs::create_dir(broken.folder().join("state")).expect("a state folder");
    let broken = broken.file("state/modes.json", "{").in_front_of(&origin).start();
    assert_eq!(status_of(&broken, "one.example", GPTBOT), 200, "the site is served all the same");
}

#[test]
fn off_for_all_beats_every_other_mode_until_it_is_cleared() {
    let origin = Nginx::start();
    let own = "[clients]\ncrawler = \"enforce\"\ntool = \"enforce\"\n[purposes.ai-train]\nmode = \"enforce\"\n\
               [crawlers.ClaudeBot]\nmode = \"enforce\"\n";
    let gateway =
        configured(&format!("{own}{CONFIG}")).file("robots.txt", ROBOTS).in_front_of(&origin).start();
    mode(&gateway, &["--crawler", "GPTBot", "--site", "one.example", "enforce"], 0);
    let statuses = || {
        ["one.example", "two.example"]
            .map(|host| [GPTBOT, CLAUDEBOT, CURL].map(|agent| status_of(&gateway, host, agent)))
    };
    assert_eq!(statuses(), [[403; 3]; 2]);
    assert_golden("mode-off-all", gateway.folder(), &mode(&gateway, &["off", "--all"], 0));
    assert_eq!(statuses(), [[200; 3]; 2]);
    let later = mode(&gateway, &["--crawler", "GPTBot", "enforce"], 0);
    assert!(later.stdout.contains("warning: everybody is in off, as was set with --all"), "{later:?}");
    gateway.ctl(&["reload"]).exits(0);
    assert_eq!(statuses(), [[200; 3]; 2], "a reload does not end it");
    let status = gateway.ctl(&["status"]).exits(0).stdout;
    assert!(status.contains("set by hand: off for everybody, over every other mode"), "{status}");
    assert!(status.contains("one.example: off\n"), "{status}");
    mode(&gateway, &["--clear"], 0);
    assert_eq!(statuses(), [[403; 3]; 2], "the others are as they were");
}

#[test]
fn a_purpose_is_weaker_than_a_crawler_and_stronger_than_its_kind() {
    let origin = Nginx::start();
    let own = "[clients]\ncrawler = \"off\"\n[purposes.ai-train]\nmode = \"enforce\"\n\
               [crawlers.ClaudeBot]\nmode = \"audit\"\n";
    let gateway =
        configured(&format!("{own}{CONFIG}")).file("robots.txt", ROBOTS).in_front_of(&origin).start();
    let statuses = || [GPTBOT, CLAUDEBOT].map(|agent| status_of(&gateway, "one.example", agent));
    assert_eq!(statuses(), [403, 200]);
    mode(&gateway, &["--purpose", "ai-train", "--site", "one.example", "off"], 0);
    assert_eq!(statuses(), [200, 200]);
    assert_eq!(status_of(&gateway, "two.example", GPTBOT), 403, "another site's is as configured");
    mode(&gateway, &["--crawler", "ClaudeBot", "enforce"], 0);
    assert_eq!(statuses(), [200, 403]);
    mode(&gateway, &["--purpose", "ai-train", "--site", "one.example", "--clear"], 0);
    assert_eq!(statuses(), [403, 403]);
}

#[test]
fn alone_it_shows_what_is_in_force_for_whom_and_why() {
    let origin = Nginx::start();
    let own = "[clients]\ntool = \"enforce\"\n[purposes.ai-train]\nmode = \"enforce\"\n\
               [crawlers.ClaudeBot]\nmode = \"audit\"\n";
    let gateway =
        configured(&format!("{own}{CONFIG}")).file("robots.txt", ROBOTS).in_front_of(&origin).start();
    mode(&gateway, &["--crawler", "GPTBot", "--site", "one.example", "off"], 0);
    mode(&gateway, &["enforce", "--persist"], 0);
    assert_golden("mode-shown", gateway.folder(), &mode(&gateway, &[], 0));
    let shown = mode(&gateway, &["--format", "json"], 0).json();
    assert!(shown["result"].is_null(), "nothing was changed: {shown}");
    let first = &shown["in_force"][0]["modes"][0];
    assert_eq!((&first["whom"], &first["name"]), (&"crawler".into(), &"ClaudeBot".into()), "{shown}");
    assert_eq!((&first["mode"], &first["because"]), (&"audit".into(), &"crawlers".into()), "{shown}");
    mode(&gateway, &["off", "--all"], 0);
    let everybody = mode(&gateway, &[], 0).stdout;
    let first = "  everybody: off, set by hand, until the next start";
    assert_eq!(everybody.lines().nth(1), Some(first), "{everybody}");
}
