//! robots.txt of several parts: shown, checked, compared, and tried on a log.

use crate::golden::ctl;
use crate::support::Folder;
use crate::support::agents::{CHROME, CLAUDEBOT, GPTBOT};
use serde_json::Value;

const OWN: &str =
    "User-agent: *\nDisallow: /private\n\nUser-agent: CCBot\nAllow: /news\nAllow: /robots.txt\n";

fn folder(robots: &str) -> Folder {
    let folder = Folder::new();
    folder.write("own.txt", OWN);
    folder.write("gateway.toml", format!("[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = {robots}\n"));
    folder
}

fn blocking() -> Folder {
    folder("{ file = \"own.txt\", block = [\"ai-train\"] }")
}

const CONFIG: [&str; 4] = ["--config", "gateway.toml", "--control", "none.sock"];

#[track_caller]
fn with_config(folder: &Folder, arguments: &[&str], code: i32) -> crate::support::Ended {
    ctl(folder, &[arguments, &CONFIG].concat()).exits(code)
}

#[test]
fn each_line_is_shown_with_its_source_without_a_gateway() {
    let folder = blocking();
    let shown = with_config(&folder, &["robots", "--format", "json"], 0).json();
    assert_eq!((&shown["site"], &shown["source"]), (&"default".into(), &"file".into()));
    let lines = shown["lines"].as_array().expect("lines");
    let sources: Vec<&str> = lines.iter().filter_map(|line| line["source"].as_str()).collect();
    assert_eq!(&sources[..7], &["file", "file", "file", "file", "file", "file", "joint"]);
    assert!(sources[7..].iter().all(|source| *source == "block ai-train"), "{sources:?}");
    let numbers: Vec<u64> = lines.iter().filter_map(|line| line["number"].as_u64()).collect();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    let void: Vec<&Value> = lines.iter().filter(|line| !line["void"].is_null()).collect();
    assert_eq!(void.len(), 1);
    assert_eq!(void[0]["void"], "void in part: line 5 lets CCBot in");
    let text = with_config(&folder, &["robots"], 0).stdout;
    assert!(
        text.contains("file            Disallow: /private\n") && text.contains("User-agent: GPTBot\n"),
        "{text}"
    );
    let told = with_config(&folder, &["robots", "--site", "nobody.example"], 0);
    assert!(told.stdout.contains("GPTBot"), "the default site is every host's");
}

#[test]
fn a_check_warns_of_the_owners_rule_that_wins() {
    let told = with_config(&blocking(), &["check", "--offline", "--format", "json"], 0).json();
    let warnings = told.as_array().expect("complaints").iter().filter(|one| one["severity"] == "warning");
    let warnings: Vec<&Value> = warnings.collect();
    assert_eq!(warnings.len(), 1, "{told}");
    assert_eq!((&warnings[0]["code"], &warnings[0]["line"]), (&"block-overridden".into(), &5.into()));
    assert!(warnings[0]["path"].as_str().is_some_and(|path| path.ends_with("own.txt")), "{told}");
    let message = warnings[0]["message"].as_str().expect("text");
    assert!(message.starts_with("`Allow: /news` wins over the generated line "), "{message}");
    let denied = folder("{ file = \"own.txt\", block = [\"seo\"] }");
    with_config(&denied, &["check", "--offline", "--deny", "warnings"], 0);
    with_config(&blocking(), &["check", "--offline", "--deny", "warnings"], 1);
}

#[test]
fn findings_of_what_is_added_stand_at_their_own_place() {
    let folder = folder("{ file = \"own.txt\", additions = \"more.txt\", block = [\"ai-train\"] }");
    folder.write("more.txt", "# c\nUser-agent: FooBot\nDisallow: nowhere\n");
    let told = with_config(&folder, &["check", "--offline"], 0).stdout;
    assert!(told.contains("more.txt:3:11: warning: `nowhere` starts neither"), "{told}");
    for (text, says) in [
        (None, "there is no such robots.txt"),
        (Some(""), "the robots.txt is empty"),
        (Some("<html></html>"), "the robots.txt is a web page"),
    ] {
        let path = folder.path().join("more.txt");
        text.map_or_else(|| std::fs::remove_file(&path), |text| std::fs::write(&path, text))
            .expect("changed");
        let told = with_config(&folder, &["check", "--offline"], 1).stdout;
        let line = format!("more.txt: error: the file that `additions` names: {says}");
        assert!(told.contains(&line) && told.contains("or remove `additions`"), "{told}");
    }
    folder.write("more.txt", "Disallow: /x\n");
    let told = with_config(&folder, &["check", "--offline"], 1).stdout;
    assert!(told.contains("more.txt: error: line 1 comes before the first user-agent line"), "{told}");
}

#[test]
fn an_exception_that_nothing_bears_is_an_error() {
    let folder =
        folder("{ file = \"own.txt\", block = [\"ai-train\"], except = [\"GPTBto\", \"CCBot\", \"CCBto\"] }");
    let told = with_config(&folder, &["check", "--offline"], 1).stdout;
    for (column, word) in [(62, "GPTBto"), (81, "CCBto")] {
        let line =
            format!("gateway.toml:3:{column}: error: the catalogue knows no crawler or token `{word}`");
        assert!(told.contains(&line), "{told}");
    }
}

#[test]
fn a_new_file_is_compared_with_its_blocks() {
    let folder = blocking();
    folder.write("new.txt", "User-agent: *\nDisallow: /private\n");
    let changed = with_config(&folder, &["diff", "new.txt", "--format", "json"], 0).json();
    let text = changed["rules"].to_string();
    assert!(text.contains("/news") && !text.contains("GPTBot"), "what is generated stays: {text}");
}

#[test]
fn an_explanation_names_the_source() {
    let folder = blocking();
    let told = with_config(&folder, &["explain", "--user-agent", GPTBOT, "--target", "/a"], 1).stdout;
    assert!(told.contains(": Disallow: / (block ai-train)\n"), "{told}");
    let told =
        with_config(&folder, &["explain", "--user-agent", GPTBOT, "--target", "/a", "--format", "json"], 1)
            .json();
    assert_eq!((&told["source"], &told["rule"]), (&"block ai-train".into(), &"Disallow: /".into()));
}

#[test]
fn crawlers_are_listed_by_purpose() {
    let folder = Folder::new();
    let told = ctl(&folder, &["crawlers", "--purpose", "ai-train", "--format", "json"]).exits(0).json();
    let crawlers = told["crawlers"].as_array().expect("crawlers");
    assert!(crawlers.len() >= 20 && crawlers.iter().all(|one| one["purpose"] == "ai-train"));
    let control: Vec<&str> = told["control_tokens"]
        .as_array()
        .expect("tokens")
        .iter()
        .filter_map(|one| one["token"].as_str())
        .collect();
    assert!(control.contains(&"Google-Extended") && control.contains(&"Applebot-Extended"), "{control:?}");
    let text = ctl(&folder, &["crawlers", "--purpose", "seo"]).exits(0).stdout;
    assert!(
        text.contains("AhrefsBot") && !text.contains("GPTBot") && !text.contains("Google-Extended"),
        "{text}"
    );
    let unknown = ctl(&folder, &["crawlers", "--purpose", "ai-trian"]).exits(2).stderr;
    assert!(unknown.contains("invalid purpose `ai-trian`: expected one of `ai-train`, `ai"), "{unknown}");
}

/// Each place that takes a purpose takes `ai` for all that are AI's; 0.2.0 said "Matching variant not found".
#[test]
fn ai_is_short_for_all_purposes_that_are_ais() {
    let folder = Folder::new();
    let told = ctl(&folder, &["crawlers", "--purpose", "ai", "--format", "json"]).exits(0).json();
    let all: std::collections::BTreeSet<&str> = told["crawlers"]
        .as_array()
        .expect("crawlers")
        .iter()
        .filter_map(|one| one["purpose"].as_str())
        .collect();
    assert_eq!(all.into_iter().collect::<Vec<_>>(), ["ai-search", "ai-train", "ai-user"]);
    let log = "203.0.113.9 - - [20/May/2026:10:05:00 +0000] \"GET /x HTTP/1.1\" 200 5 \"-\" \"GPTBot/1.2\"\n";
    folder.write("access.log", log);
    ctl(&folder, &["replay", "access.log", "--block", "ai"]).exits(0);
    folder.write(
        "gateway.toml",
        "listen = [\"127.0.0.1:0\"]\n[purposes.ai]\nmode = \"enforce\"\n[purposes.ai-user]\nmode = \"off\"\n\
         [[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = { from = \"none\", block = [\"ai\"] }\n",
    );
    let served = ctl(&folder, &["robots", "--config", "gateway.toml"]).exits(0).stdout;
    for token in ["GPTBot", "OAI-SearchBot", "ChatGPT-User"] {
        assert!(served.contains(&format!("User-agent: {token}\n")), "{token}: {served}");
    }
    let bad = folder.write("bad.toml", "[purposes.ia]\nmode = \"audit\"\n");
    let unknown = ctl(&folder, &["check", "--config", bad.to_str().expect("UTF-8")]).exits(1);
    let words = "invalid purpose `ia`: expected one of `ai";
    assert!(unknown.stdout.contains(words) && unknown.stdout.contains("`ai`"), "{unknown:?}");
}

#[test]
fn a_start_that_blocks_loads_and_blocks() {
    let folder = Folder::new();
    folder.write("mine.txt", OWN);
    ctl(&folder, &["init", "--robots", "mine.txt", "--block", "ai-train", "--block", "seo", "site"]).exits(0);
    let written = std::fs::read_to_string(folder.join("site/gateway.toml")).expect("a configuration");
    assert!(
        written.contains("robots = { file = \"robots.txt\", block = [\"ai-train\", \"seo\"] }\n"),
        "{written}"
    );
    let arguments = ["robots", "--config", "site/gateway.toml", "--control", "none.sock"];
    let shown = ctl(&folder, &arguments).exits(0).stdout;
    assert!(shown.contains("block seo") && shown.contains("User-agent: AhrefsBot"), "{shown}");
}

#[test]
fn a_log_is_tried_with_a_block_and_no_file() {
    let folder = Folder::new();
    let line = |agent: &str, target: &str| {
        format!(
            "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET {target} HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n"
        )
    };
    let log = [line(GPTBOT, "/a"), line(GPTBOT, "/b"), line(CLAUDEBOT, "/c"), line(CHROME, "/d")].concat();
    folder.write("access.log", log);
    let told = ctl(&folder, &["replay", "access.log", "--block", "ai-train"]).exits(0).stdout;
    assert!(
        told.contains("if you had blocked AI training: 2 requests of GPTBot, 1 request of ClaudeBot"),
        "{told}"
    );
    let told =
        ctl(&folder, &["replay", "access.log", "--block", "ai-train", "--format", "json"]).exits(0).json();
    assert_eq!(told["replay"]["refused"], 3);
    assert_eq!(told["crawlers"][0]["rules"][0]["source"], "block ai-train");
    folder.write("robots.txt", "User-agent: GPTBot\nAllow: /a\n");
    let with = ["replay", "access.log", "--robots", "robots.txt", "--block", "ai-train", "--format", "json"];
    assert_eq!(ctl(&folder, &with).exits(0).json()["replay"]["refused"], 2);
    ctl(&folder, &["replay", "access.log"]).exits(2);
}

#[test]
fn a_check_before_the_first_fetch_takes_the_origins_file_for_no_other() {
    let origin = crate::support::scripted::Scripted::serving(OWN);
    let folder = Folder::new();
    let config = |more: &str| format!("[[sites]]\norigin = \"{}\"\n{more}", origin.url());
    folder.write("gateway.toml", config("robots = { from = \"origin\", block = [\"ai-train\"] }\n"));
    with_config(&folder, &["check", "--deny", "warnings"], 0);
    folder.write("gateway.toml", config("robots = { from = \"none\" }\n"));
    let told = with_config(&folder, &["check"], 0).stdout;
    assert!(told.contains("has a robots.txt of its own that differs"), "{told}");
}
