//! `gatewayctl explain`: the whole trace of one judgement.

use crate::golden::{assert_golden, ctl, keys};
use crate::support::agents::{ADSBOT, CHROME, CURL, GOOGLEBOT_IMAGE, GPTBOT};
use crate::support::{Ended, Folder, version_of};
use serde_json::{Value, json};

const ROBOTS: &str = "\
# the rules of the house
User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /private # not for training
Allow: /private/press

User-agent: Googlebot
Disallow: /google-not

User-agent: *
Disallow: /cgi-bin/
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    folder
}

#[track_caller]
fn explain(folder: &Folder, user_agent: &str, target: &str, more: &[&str]) -> Ended {
    let arguments = ["explain", "--robots", "robots.txt", "--user-agent", user_agent, "--target", target];
    ctl(folder, &[&arguments, more].concat())
}

#[track_caller]
fn explained(user_agent: &str, target: &str, code: i32) -> Value {
    explain(&folder(), user_agent, target, &["--format", "json"]).exits(code).json()
}

#[test]
fn a_disallowed_request_as_text() {
    let folder = folder();
    let ended = explain(&folder, GPTBOT, "/private/page", &[]).exits(1);
    for part in ["GPTBot", "Disallow: /private", "4"] {
        assert!(ended.stdout.contains(part), "{part} in {}", ended.stdout);
    }
    assert_golden("explain-disallow", &folder, &ended);
}

#[test]
fn an_allowed_request_as_text() {
    let folder = folder();
    let ended = explain(&folder, GPTBOT, "/private/press/1", &[]).exits(0);
    assert_golden("explain-allow", &folder, &ended);
    assert_golden(
        "explain-allow",
        &folder,
        &explain(&folder, GPTBOT, "/private/press/1", &["--format", "table"]).exits(0),
    );
}

#[test]
fn a_browser_as_text() {
    let folder = folder();
    assert_golden("explain-browser", &folder, &explain(&folder, CHROME, "/private", &[]).exits(0));
}

#[test]
fn the_json_has_the_promised_fields_in_their_order() {
    let folder = folder();
    let ended = explain(&folder, GPTBOT, "/private/page", &["--format", "json"]).exits(1);
    assert_eq!(
        keys(&ended.stdout),
        [
            "verdict",
            "client",
            "crawler",
            "tokens",
            "token",
            "group",
            "line",
            "rule",
            "reason",
            "site",
            "robots_version",
            "proof",
            "action",
            "steps",
            "preferences",
            "pace",
            "mode",
            "modes",
        ]
    );
    let mut answer = ended.json();
    let steps = answer.as_object_mut().expect("an object").remove("steps").expect("steps");
    assert!(steps.as_array().is_some_and(|steps| !steps.is_empty()), "{steps}");
    let site = answer.as_object_mut().expect("an object").remove("site");
    assert!(site.is_some());
    let modes = answer.as_object_mut().expect("an object").remove("modes").expect("modes");
    let last = modes.as_array().and_then(|modes| modes.last()).expect("a mode");
    assert_eq!(answer["mode"], *last, "no other fits it");
    assert_eq!((&last["whom"], &last["mode"]), (&"others".into(), &"audit".into()), "{modes}");
    answer.as_object_mut().expect("an object").remove("mode");
    assert_eq!(
        answer,
        json!({
            "verdict": "disallow", "client": "crawler", "crawler": "GPTBot", "tokens": ["GPTBot"], "token": "GPTBot",
            "group": ["GPTBot", "ClaudeBot"], "line": 4, "rule": "Disallow: /private", "reason": "rule",
            "robots_version": version_of(ROBOTS), "proof": "unchecked",
            "action": { "audit": "forwarded", "enforce": "refused" }, "preferences": [], "pace": null,
        })
    );
    assert_golden("explain-json", &folder, &ended);
}

/// Which preference is for a path, from which line: by the rules of each vocabulary.
#[test]
fn what_may_be_done_with_a_page_is_told_by_line() {
    let folder = folder();
    folder.write(
        "robots.txt",
        "License: https://example.org/l.xml\nUser-agent: *\nContent-Signal: ai-train=no\nContent-Usage: train-ai=n\n\
         Content-Usage: /a train-ai=y\nContent-Usage: /a search=n, train-ai=n\nContent-Usage: /b Train=n\nDisallow: /x\n",
    );
    let of =
        |target: &str| explain(&folder, GPTBOT, target, &["--format", "json"]).json()["preferences"].clone();
    let usage = |lines: &[u32], value: &str, is_readable: bool| {
        json!([
            { "record": "Content-Usage", "value": value, "lines": lines, "is_readable": is_readable },
            { "record": "Content-Signal", "value": "ai-train=no", "lines": [3], "is_readable": true },
            { "record": "License", "value": "https://example.org/l.xml", "lines": [1], "is_readable": true },
        ])
    };
    assert_eq!(of("/page"), usage(&[4], "train-ai=n", true));
    assert_eq!(of("/a/b"), usage(&[5, 6], "train-ai=n, search=n", true));
    assert_eq!(of("/b"), usage(&[7], "Train=n", false));
    assert_eq!(of("/x").as_array().map(Vec::len), Some(2), "what is disallowed has no Content-Usage");
    let text = explain(&folder, GPTBOT, "/a", &[]).stdout;
    assert!(text.contains("\n  told     lines 5, 6: Content-Usage: train-ai=n, search=n\n"), "{text}");
    assert!(text.contains("\n  told     line 3: Content-Signal: ai-train=no\n"), "{text}");
    let text = explain(&folder, GPTBOT, "/b", &[]).stdout;
    assert!(text.contains("line 7: Content-Usage: Train=n (cannot be read, so it states nothing)"), "{text}");
}

/// A wish about use binds no request, and is told to its operator's crawlers alone.
#[test]
fn a_disallow_below_a_control_token_is_told_and_binds_nobody() {
    let folder = folder();
    folder.write("robots.txt", "User-agent: *\nDisallow: /x\n\nUser-agent: Google-Extended\nDisallow: /a\n");
    let googlebot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
    let told =
        json!([{ "record": "Google-Extended", "value": "Disallow: /a", "lines": [5], "is_readable": true }]);
    for (agent, target, expected) in
        [(googlebot, "/a", told), (googlebot, "/b", json!([])), (GPTBOT, "/a", json!([]))]
    {
        let answer = explain(&folder, agent, target, &["--format", "json"]).exits(0).json();
        assert_eq!((&answer["verdict"], &answer["preferences"]), (&json!("allow"), &expected), "{agent}");
    }
    let text = explain(&folder, googlebot, "/a", &[]).stdout;
    assert!(text.contains("\n  told     line 5: Google-Extended: Disallow: /a\n"), "{text}");
    let lint = ctl(&folder, &["lint", "robots.txt"]).exits(0).stdout;
    assert!(lint.contains("note[control-token]: `Google-Extended` is a control token"), "{lint}");
}

#[test]
fn each_reason_has_its_word() {
    for (agent, target, code, reason) in [
        (GPTBOT, "/private", 1, "rule"),
        (GPTBOT, "/private/press", 0, "rule"),
        (GPTBOT, "/open", 0, "no-rule"),
        (ADSBOT, "/cgi-bin/", 0, "no-group"),
        (GPTBOT, "/robots.txt", 0, "robots-txt"),
        (GPTBOT, "//robots.txt?x=1", 0, "robots-txt"),
        (CHROME, "/private", 0, "not-judged"),
        (GPTBOT, "/x/..%2fprivate", 1, "variant"),
    ] {
        let answer = explained(agent, target, code);
        assert_eq!(answer["reason"], reason, "{target} by {agent}: {answer}");
        assert_eq!(answer["verdict"], if code == 0 { "allow" } else { "disallow" }, "{answer}");
    }
}

#[test]
fn the_action_is_told_for_both_modes() {
    assert_eq!(
        explained(GPTBOT, "/private", 1)["action"],
        json!({ "audit": "forwarded", "enforce": "refused" })
    );
    assert_eq!(
        explained(GPTBOT, "/open", 0)["action"],
        json!({ "audit": "forwarded", "enforce": "forwarded" })
    );
}

#[test]
fn a_crawler_falls_back_along_its_tokens() {
    let answer = explained(GOOGLEBOT_IMAGE, "/google-not", 1);
    assert_eq!(answer["tokens"], json!(["Googlebot-Image", "Googlebot"]), "{answer}");
    assert_eq!(
        (&answer["token"], &answer["group"]),
        (&json!("Googlebot"), &json!(["Googlebot"])),
        "{answer}"
    );
    let answer = explained(CURL, "/cgi-bin/x", 1);
    assert_eq!(
        (&answer["client"], &answer["token"], &answer["line"]),
        (&json!("tool"), &json!("*"), &json!(11)),
        "{answer}"
    );
}

#[test]
fn a_token_is_judged_by_the_matcher_alone() {
    let folder = folder();
    let ask = |token: &str, target: &str| {
        ctl(
            &folder,
            &["explain", "--robots", "robots.txt", "--token", token, "--target", target, "--format", "json"],
        )
    };
    let answer = ask("gptbot", "/private").exits(1).json();
    assert_eq!((&answer["line"], &answer["rule"]), (&json!(4), &json!("Disallow: /private")), "{answer}");
    assert_eq!(ask("GPTBot", "/private/press").exits(0).json()["line"], 5);
    assert_eq!(ask("NobodysBot", "/cgi-bin/").exits(1).json()["token"], "*");
    assert_golden(
        "explain-token",
        &folder,
        &ctl(&folder, &["explain", "--robots", "robots.txt", "--token", "ClaudeBot", "--target", "/private"]),
    );
}

#[test]
fn the_configuration_says_which_site_and_who_is_exempt() {
    let folder = folder();
    folder.write("other.txt", "User-agent: *\nDisallow: /other\n");
    folder.write(
        "gateway.toml",
        "exempt = [\"192.0.2.0/24\"]\n\
         [[sites]]\nhosts = [\"one.example\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n\
         [[sites]]\nhosts = [\"two.example\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"other.txt\"\n",
    );
    let ask = |more: &[&str]| {
        let arguments =
            ["explain", "--config", "gateway.toml", "--user-agent", GPTBOT, "--format", "json", "--target"];
        ctl(&folder, &[&arguments, more].concat())
    };
    let answer = ask(&["/private", "--site", "one.example"]).exits(1).json();
    assert_eq!((&answer["site"], &answer["line"]), (&json!("one.example"), &json!(4)), "{answer}");
    let answer = ask(&["/other", "--site", "TWO.example:80"]).exits(1).json();
    assert_eq!(
        (&answer["site"], &answer["rule"]),
        (&json!("two.example"), &json!("Disallow: /other")),
        "{answer}"
    );
    ask(&["/private", "--site", "two.example"]).exits(0);
    let exempt = ask(&["/private", "--site", "one.example", "--address", "192.0.2.7"]).exits(0).json();
    assert_eq!(exempt["reason"], "exempt", "{exempt}");
    ask(&["/private", "--site", "one.example", "--address", "198.51.100.7"]).exits(1);
    ask(&["/private", "--site", "three.example"]).exits(2);
}

#[test]
fn what_cannot_be_answered_is_exit_2() {
    let folder = folder();
    for arguments in [
        &["explain", "--robots", "absent.txt", "--user-agent", "x", "--target", "/"][..],
        &["explain", "--config", "absent.toml", "--user-agent", "x", "--target", "/"],
        &["explain", "--robots", "robots.txt", "--user-agent", "x"],
        &["explain", "--robots", "robots.txt", "--user-agent", "x", "--token", "y", "--target", "/"],
        &["explain", "--robots", "robots.txt", "--user-agent", "x", "--target", "/", "--address", "nowhere"],
        &["explain", "--robots", "robots.txt", "--user-agent", "x", "--target", "/", "--format", "xml"],
        &["explode"],
        &[],
    ] {
        let ended = ctl(&folder, arguments).exits(2);
        assert_eq!(ended.stdout, "", "{arguments:?}: data only on standard output");
        assert!(!ended.stderr.is_empty(), "{arguments:?}");
        assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
    }
    let ended = ctl(&folder, &["explain", "--robots", "absent.txt", "--user-agent", "x", "--target", "/"]);
    assert!(ended.stderr.contains("absent.txt"), "{}", ended.stderr);
}
