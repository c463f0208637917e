//! Purposes that are shut out: what is served is what is enforced, and each line says where it comes from.

use crate::support::agents::{CHROME, CLAUDEBOT, GOOGLEBOT, GPTBOT};
use crate::support::{Daemon, Nginx, get};
use serde_json::Value;

const VERTEX: &str = "Mozilla/5.0 (compatible; Google-CloudVertexBot/1.0; +http://www.google.com/bot.html)";

fn text(gateway: &Daemon) -> String {
    String::from_utf8(gateway.send(&get("/robots.txt")).body).expect("UTF-8")
}

/// The number of the line that follows `line`, from 1.
#[track_caller]
fn number_after(text: &str, line: &str) -> usize {
    2 + text.lines().position(|one| one == line).unwrap_or_else(|| panic!("no `{line}` in {text}"))
}

#[test]
fn a_blocked_purpose_is_served_refused_recorded_and_reported_with_its_source() {
    let origin = Nginx::start();
    let own = "User-agent: *\nDisallow: /private\n\nUser-agent: Googlebot";
    let gateway = Daemon::without_robots()
        .file("robots.txt", own)
        .set("mode = \"enforce\"\nnotice = \"0s\"")
        .site("robots = { file = \"robots.txt\", block = [\"ai-train\"], except = [\"ClaudeBot\"] }")
        .in_front_of(&origin)
        .start();
    let served = text(&gateway);
    assert!(served.starts_with(&format!("{own}\nDisallow:\n")), "{served}");
    let line = number_after(&served, "User-agent: GPTBot");
    assert!(served.contains("User-agent: Google-Extended\n") && !served.contains("User-agent: ClaudeBot"));

    let refused = gateway.send(&get("/open").by(GPTBOT).with("Accept", "application/json"));
    assert_eq!(refused.status, 403);
    let body: Value = serde_json::from_slice(&refused.body).expect("JSON");
    assert_eq!((&body["line"], &body["rule"]), (&line.into(), &"Disallow: /".into()));
    assert_eq!(body["source"], "block ai-train");
    let refused = gateway.send(&get("/open").by(GPTBOT));
    assert!(refused.text().contains(&format!("line: {line}\nsource: block ai-train\nrule: Disallow: /\n")));

    // The owner's open end took nothing in, and who falls back to Googlebot is shut out without it.
    for (agent, target, status) in [
        (GOOGLEBOT, "/private", 200),
        (CLAUDEBOT, "/open", 200),
        (CLAUDEBOT, "/private", 403),
        (VERTEX, "/open", 200),
        (CHROME, "/private", 200),
    ] {
        assert_eq!(gateway.send(&get(target).by(agent)).status, status, "{agent} {target}");
    }
    let event = gateway.journal().event_of("/open");
    assert_eq!((&event["line"], &event["source"]), (&line.into(), &"block ai-train".into()));
    assert_eq!((&event["rule"], &event["purpose"]), (&"Disallow: /".into(), &"ai-train".into()));

    let state = gateway.folder().join("state").display().to_string();
    let reported = crate::support::until("the report has the refusals", || {
        let report = gateway
            .ctl(&["report", "--state-dir", &state, "--purpose", "ai-train", "--format", "json"])
            .exits(0)
            .json();
        (report["crawlers"].as_array()?.iter().filter_map(|one| one["requests"].as_u64()).sum::<u64>() >= 4)
            .then_some(report)
    });
    let crawlers = reported["crawlers"].as_array().expect("crawlers");
    assert!(crawlers.iter().all(|entry| entry["purpose"] == "ai-train"), "{reported}");
    let gptbot = crawlers.iter().find(|entry| entry["crawler"] == "GPTBot").expect("GPTBot");
    let rule = &gptbot["rules"][0];
    assert_eq!((&rule["source"], &rule["rule"]), (&"block ai-train".into(), &"Disallow: /".into()));
    let own = crawlers.iter().find(|entry| entry["crawler"] == "ClaudeBot").expect("ClaudeBot");
    let rule = &own["rules"][0];
    assert_eq!((&rule["source"], &rule["rule"]), (&Value::Null, &"Disallow: /private".into()));
    let asked = ["report", "--state-dir", &state, "--purpose", "ai-train", "--all"];
    let told = gateway.ctl(&asked).exits(0).stdout;
    assert!(told.contains("block ai-train") && !told.contains("Googlebot"), "{told}");

    let shown = gateway.ctl(&["robots", "--format", "json"]).exits(0).json();
    let lines = shown["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), served.lines().count());
    assert_eq!(lines[line - 1]["source"], "block ai-train");
    assert_eq!(
        lines[0],
        serde_json::json!({ "number": 1, "text": "User-agent: *", "source": "file", "void": null })
    );
}

#[test]
fn an_owners_own_allow_is_stronger_and_the_generated_line_is_void() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots()
        .file("robots.txt", "User-agent: GPTBot\nAllow: /\n")
        .set("mode = \"enforce\"\nnotice = \"0s\"")
        .site("robots = { file = \"robots.txt\", block = [\"ai-train\"] }")
        .in_front_of(&origin)
        .start();
    assert_eq!(gateway.send(&get("/x").by(GPTBOT)).status, 200);
    assert_eq!(gateway.send(&get("/x").by(CLAUDEBOT)).status, 403);
    let line = number_after(&text(&gateway), "User-agent: GPTBot");
    assert_eq!(line, 2, "the owner's own comes first");
    let shown = gateway.ctl(&["robots"]).exits(0).stdout;
    let void: Vec<&str> =
        shown.lines().filter(|line| line.contains("[void: line 2 lets GPTBot in]")).collect();
    assert!(void.len() == 1 && void[0].contains("Disallow: /"), "{shown}");
}

#[test]
fn modes_of_a_purpose_apply_to_what_is_blocked() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots()
        .set("notice = \"0s\"")
        .table("[purposes.ai-train]\nmode = \"enforce\"")
        .site("robots = { from = \"none\", block = [\"ai-train\", \"seo\"] }")
        .in_front_of(&origin)
        .start();
    let semrush = "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)";
    let status = |agent: &str| gateway.send(&get("/x").by(agent)).status;
    assert_eq!((status(GPTBOT), status(semrush)), (403, 200));
    gateway.ctl(&["mode", "--purpose", "ai-train", "audit"]).exits(0);
    gateway.ctl(&["mode", "--purpose", "seo", "enforce"]).exits(0);
    assert_eq!((status(GPTBOT), status(semrush)), (200, 403));
}

#[test]
fn what_may_not_come_into_force_keeps_what_is() {
    let origin = Nginx::start();
    let gateway = Daemon::without_robots()
        .file("robots.txt", "User-agent: *\nDisallow: /private\n")
        .file("more.txt", "User-agent: FooBot\nDisallow: /foo\n")
        .site("robots = { file = \"robots.txt\", additions = \"more.txt\", block = [\"ai-train\"] }")
        .in_front_of(&origin)
        .start();
    let before = text(&gateway);
    assert!(before.contains("\nUser-agent: FooBot\nDisallow: /foo\n"), "{before}");
    for (bad, why) in [
        ("Disallow: /y\n", "before the first user-agent line"),
        (&*format!("User-agent: x\n# {}\n", "c".repeat(500 * 1024)), "more than `robots_max_size`"),
        ("<html></html>", "a web page"),
    ] {
        gateway.folder().write("more.txt", bad);
        let told = gateway.ctl(&["reload"]).exits(1);
        assert!(told.stdout.contains(why) || told.stderr.contains(why), "{why}: {told:?}");
        assert_eq!(text(&gateway), before);
        let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        assert!(status["sites"][0]["error"].as_str().is_some_and(|error| error.contains(why)), "{status}");
    }
    gateway.folder().write("more.txt", "User-agent: BarBot\nDisallow: /\n");
    gateway.ctl(&["reload"]).exits(0);
    assert!(text(&gateway).contains("BarBot"));
}
