//! Every verb's answer, wherever it is given: the same words on a terminal as in a pipe, with colours or without, and
//! the same JSON.
//!
//! The texts of verbs that have no test of their own here are kept, too: `crawlers`, `report`, `status`.

use crate::golden::{assert_golden, ctl};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Daemon, Ended, Folder, get, until};
use crate::terminal::{on_terminal, without_colours};

const OLD: &str = "User-agent: *\nDisallow: /private\n";
const NEW: &str = "User-agent: *\nDisallow: /private\nDissallow: /shop\nDisallow: /open\n";

/// A verb, its options but the format, and the exit code.
type VerbCase = (&'static str, &'static str, i32);

/// Verbs that need no gateway. None of them writes anything.
const OFFLINE: [VerbCase; 8] = [
    ("check", "--offline --config gateway.toml", 0),
    ("lint", "new.txt", 0),
    ("explain", "--robots old.txt --user-agent GPTBot/1.2 --target /private", 1),
    ("replay", "--robots old.txt access.log", 0),
    ("diff", "new.txt --robots old.txt --log access.log", 1),
    ("crawlers", "GPTBot/1.2", 0),
    ("man", "", 0),
    ("completions", "bash", 0),
];

fn folder() -> Folder {
    let folder = Folder::new();
    let line = |agent: &str, target: &str| {
        format!(
            "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n"
        )
    };
    let googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    let log =
        [line(GPTBOT, "/private"), line(googlebot, "/open"), line(CHROME, "/open"), "junk\n".to_owned()];
    for (name, text) in [("old.txt", OLD), ("new.txt", NEW), ("access.log", &log.concat())] {
        folder.write(name, text);
    }
    folder.write("gateway.toml", "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"new.txt\"\n");
    folder
}

/// Asks in a pipe and on a terminal: the texts have the same words, and the JSON is the same. Then the two texts.
#[track_caller]
fn asked(
    folder: &Folder,
    verb: &str,
    options: &str,
    code: i32,
    hide: fn(&str) -> String,
) -> (Ended, Option<Ended>) {
    let arguments: Vec<&str> = std::iter::once(verb).chain(options.split_whitespace()).collect();
    let plain = hidden(ctl(folder, &arguments).exits(code), hide);
    assert!(!plain.stdout.contains('\u{1b}') && !plain.stderr.contains('\u{1b}'), "{verb}: {plain:?}");
    let json = hidden(ctl(folder, &[&arguments[..], &["--format", "json"]].concat()).exits(code), hide);
    // Progress and other talk go to standard error; where that is no terminal, the bar is not drawn.
    let on_terminal = |more: &str| {
        let line = format!("{verb} {options} {more} 2>talk");
        on_terminal(folder, &line, &[]).map(|ended| hidden(ended.exits(code), hide))
    };
    let Some(shown) = on_terminal("") else { return (plain, None) };
    assert_eq!(without_colours(&shown.stdout), plain.stdout, "{verb} on a terminal");
    let talk = std::fs::read_to_string(folder.join("talk")).expect("standard error");
    assert_eq!(hide(talk.trim_end()), plain.stderr.trim_end(), "{verb} on a terminal");
    if let Some(same) = on_terminal("--format json") {
        assert_eq!(same.stdout, json.stdout, "{verb} --format json on a terminal");
    }
    (plain, Some(shown))
}

fn hidden(mut ended: Ended, hide: fn(&str) -> String) -> Ended {
    ended.stdout = hide(&ended.stdout);
    ended.stderr = hide(&ended.stderr);
    ended
}

#[test]
fn verbs_without_a_gateway() {
    let folder = folder();
    for (verb, options, code) in OFFLINE {
        let (_, shown) = asked(&folder, verb, options, code, str::to_owned);
        // What is generated is for programs, and has no colours.
        if let Some(shown) = shown.filter(|_| !["man", "completions"].contains(&verb)) {
            assert_golden(&format!("{verb}-on-terminal"), &folder, &shown);
        }
    }
}

#[test]
fn init_on_a_terminal() {
    let folder = folder();
    let plain = ctl(&folder, &["init", "--origin", "http://127.0.0.1:9", "site"]).exits(0);
    std::fs::remove_dir_all(folder.join("site")).expect("what it wrote");
    let Some(shown) = on_terminal(&folder, "init --origin http://127.0.0.1:9 site 2>talk", &[]) else {
        return;
    };
    assert_eq!(without_colours(&shown.stdout), plain.stdout);
    assert_golden("init-on-terminal", &folder, &shown.exits(0));
}

#[test]
fn crawlers_as_text_and_json() {
    let folder = folder();
    for (name, header) in [("bot", GPTBOT), ("browser", CHROME), ("nobody", "")] {
        assert_golden(&format!("crawlers-{name}"), &folder, &ctl(&folder, &["crawlers", header]).exits(0));
        let ended = ctl(&folder, &["crawlers", header, "--format", "json"]).exits(0);
        assert_golden(&format!("crawlers-{name}-json"), &folder, &ended);
    }
    let table = ctl(&folder, &["crawlers"]).exits(0).stdout;
    let all = ctl(&folder, &["crawlers", "--format", "json"]).exits(0).json();
    let crawlers = all["crawlers"].as_array().expect("crawlers");
    assert!(crawlers.len() > 100, "{}", crawlers.len());
    let mut lines = table.lines().skip(1);
    for crawler in crawlers {
        let (name, line) = (crawler["name"].as_str().expect("a name"), lines.next().expect("a line"));
        let client = crawler["client"].as_str().expect("a client");
        assert!(line.starts_with(name) && line.contains(client), "{name} in {line}");
    }
}

/// `text` without what is another each time: times, how long the gateway is up, how large its store is.
fn steady(text: &str) -> String {
    let shapes = ["0000-00-00T00:00:00.000Z", "0000-00-00T00:00:00Z", "0000-00-00 00:00Z"];
    let is_like = |(byte, like): (u8, u8)| if like == b'0' { byte.is_ascii_digit() } else { byte == like };
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let shape = shapes
            .iter()
            .find(|shape| rest.len() >= shape.len() && rest.bytes().zip(shape.bytes()).all(is_like));
        shown.push_str(if shape.is_some() { "[TIME]" } else { &rest[..first.len_utf8()] });
        rest = &rest[shape.map_or_else(|| first.len_utf8(), |shape| shape.len())..];
    }
    for (before, after) in [("up ", " s,"), ("\"uptime_seconds\":", ","), ("\"bytes\":", ",")] {
        shown = between(&shown, before, after);
    }
    shown
}

/// `text` without the digits that stand between two marks.
fn between(text: &str, before: &str, after: &str) -> String {
    let mut parts = text.split(before);
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == '.');
        let is_number = rest.len() < part.len() && rest.starts_with(after);
        shown.push_str(before);
        shown.push_str(if is_number { "[NUMBER]" } else { "" });
        shown.push_str(if is_number { rest } else { part });
    }
    shown
}

/// A gateway that has seen a violation, an allowed request and a tool.
fn gateway() -> Daemon {
    let gateway = Daemon::with(OLD).with_notice("0s").at("http://127.0.0.1:9").start();
    for (agent, target) in [(GPTBOT, "/private"), ("Googlebot/2.1", "/open"), ("curl/8.5.0", "/private")] {
        gateway.send(&get(target).by(agent));
    }
    gateway
}

#[test]
fn verbs_that_ask_a_gateway_or_its_store() {
    let gateway = gateway();
    let folder = gateway.folder();
    until("the control socket is open", || folder.join("control.sock").exists().then_some(()));
    until("everything is in the store", || {
        let ended = ctl(folder, &["report", "--state-dir", "state", "--format", "json"]);
        let report: serde_json::Value = serde_json::from_str(&ended.stdout).ok()?;
        (report["crawlers"].as_array()?.len() == 3).then_some(())
    });
    until("no connection is open", || {
        let status = ctl(folder, &["status", "--control", "control.sock", "--format", "json"]).json();
        (status["connections"]["open"] == 0 && status["queue"] == 0).then_some(())
    });
    for (verb, options) in [
        ("status", "--control control.sock"),
        ("reload", "--control control.sock"),
        // It is so already, and stays so, however often it is said.
        ("mode", "--control control.sock --clear"),
        ("report", "--state-dir state"),
    ] {
        let (plain, shown) = asked(folder, verb, options, 0, steady);
        assert_golden(&format!("{verb}-running"), folder, &plain);
        if let Some(shown) = shown {
            assert_golden(&format!("{verb}-on-terminal-running"), folder, &shown);
        }
    }
    let ended = ctl(folder, &["report", "--state-dir", "state", "--format", "json"]).exits(0);
    assert_golden("report-running-json", folder, &hidden(ended, steady));
    let mut ended = ctl(folder, &["status", "--control", "control.sock", "--format", "json"]).exits(0);
    // What programs may rely on; counters come and go beside it.
    let mut status = ended.json();
    let promised =
        ["generation", "uptime_seconds", "sites", "last_reload", "queue", "details_dropped", "counts_lost"];
    status.as_object_mut().expect("an object").retain(|key, _| promised.contains(&key.as_str()));
    ended.stdout = status.to_string();
    assert_golden("status-running-json", folder, &hidden(ended, steady));
    let ended = ctl(folder, &["report", "--state-dir", "state", "--format", "csv"]).exits(0);
    assert_golden("report-running-csv", folder, &hidden(ended, steady));
}
