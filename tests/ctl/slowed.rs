//! What `diff`, `replay` and `explain` say of a crawler's pace.

use crate::golden::ctl;
use crate::support::Folder;
use crate::support::agents::{CHATGPT_USER, CURL, GPTBOT};
use serde_json::{Value, json};
use std::fmt::Write as _;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\nCrawl-delay: 10\n";

/// What may come in a window of 100 s.
const ALLOWED: usize = 20;

/// Each of these comes twice as often as it may, all at once.
fn folder() -> Folder {
    let folder = Folder::new();
    let mut log = String::new();
    for (agent, path) in [
        (GPTBOT, "/open"),
        (CURL, "/open"),
        (CHATGPT_USER, "/open"),
        (GPTBOT, "/.well-known/acme-challenge/a"),
        (GPTBOT, "/robots.txt"),
    ] {
        for _ in 0..2 * ALLOWED {
            let time = "01/Nov/2026:00:00:00 +0000";
            let _ = writeln!(log, "192.0.2.1 - - [{time}] \"GET {path} HTTP/1.1\" 200 5 \"-\" \"{agent}\"");
        }
    }
    folder.write("access.log", log);
    folder.write("robots.txt", ROBOTS);
    folder.write("none.txt", "User-agent: *\nDisallow: /private\n");
    folder
}

#[test]
fn replay_says_who_came_too_fast() {
    let folder = folder();
    let replay = ["replay", "--robots", "robots.txt", "access.log"];
    let told = ctl(&folder, &[&replay[..], &["--format", "json"]].concat()).exits(0).json();
    let counts: Vec<(&Value, &Value)> = told["crawlers"]
        .as_array()
        .expect("crawlers")
        .iter()
        .map(|entry| (&entry["crawler"], &entry["too_fast"]))
        .collect();
    assert!(counts.contains(&(&json!("GPTBot"), &json!(ALLOWED))), "{counts:?}");
}

/// A log is judged after the fact: nobody was answered by these rules.
#[test]
fn replay_says_what_would_have_been_and_not_what_was() {
    let folder = folder();
    let site = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\nmode = \"enforce\"\n";
    folder.write("gateway.toml", format!("{site}crawl_delay = \"enforce\"\n"));
    let line = "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET /private HTTP/1.1\" 200 5 \"-\"";
    folder.write("private.log", format!("{line} \"{GPTBOT}\"\n").repeat(3));
    let replay = ["replay", "--config", "gateway.toml", "--all", "private.log", "access.log"];
    let text = ctl(&folder, &replay).exits(0).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("3 requests would be refused."), "{text}");
    assert!(words.contains("came too fast, and 20 of them would have 429 for an answer."), "{text}");
    assert!(!words.contains("were refused") && !words.contains("had 429"), "{text}");
}

#[test]
fn explain_says_how_fast_a_client_may_come() {
    let folder = folder();
    folder.write(
        "gateway.toml",
        "[crawlers.Googlebot]\nrate = \"60/m\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n\
         crawl_delay = \"enforce\"\n",
    );
    let explain = |agent: &str, target: &str, rest: &[&str]| {
        let arguments = ["explain", "--config", "gateway.toml", "--user-agent", agent, "--target", target];
        ctl(&folder, &[&arguments[..], rest].concat())
    };
    let pace = |agent, target| explain(agent, target, &["--format", "json"]).json()["pace"].clone();
    let delay = json!({ "delay": 10.0, "requests": 20, "window": 100.0, "line": 3, "rule": "Crawl-delay: 10",
        "enforced": true });
    assert_eq!([pace(GPTBOT, "/"), pace(GPTBOT, "/private")], [delay.clone(), delay]);
    assert_eq!(
        (&pace("Googlebot", "/")["rule"], &pace("Googlebot", "/")["delay"]),
        (&Value::Null, &json!(1.0))
    );
    assert_eq!(pace(CURL, "/")["enforced"], false);
    assert_eq!(
        [pace(GPTBOT, "/robots.txt"), pace("Mozilla/5.0 (X11; Linux) Firefox/130.0", "/")],
        [Value::Null, Value::Null]
    );
    let text = explain(GPTBOT, "/", &[]).stdout;
    let line =
        "  pace     line 3: Crawl-delay: 10; 20 requests in 100 s, more are answered 429 in mode enforce\n";
    assert!(text.contains(line), "{text}");
    let text = explain(CURL, "/", &[]).stdout;
    assert!(text.contains("20 requests in 100 s, more are only counted\n"), "{text}");
}
