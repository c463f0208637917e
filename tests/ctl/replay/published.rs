//! `gatewayctl replay`: whether the log shows that the file was published.

use super::*;

fn conducts(report: &Value) -> Vec<&str> {
    let all = report["crawlers"].as_array().expect("crawlers").iter();
    all.map(|entry| entry["conduct"].as_str().expect("a word")).collect()
}

/// What a person reads of a page.
fn visible(page: &str) -> String {
    let (_, body) = page.split_once("<body>").expect("a body");
    body.split('<')
        .filter_map(|part| part.split_once('>'))
        .map(|(_, text)| text)
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn rules_that_nobody_had_published_convict_nobody() {
    let why = "a log does not show which robots.txt was served";
    {
        let folder = folder(log(combined));
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(conducts(&report), ["hypothetical"; 4], "{report}");
        assert_eq!(report["replay"]["violations_after_read"], 0);
        assert_eq!(report["replay"]["published"], false);
        let gptbot = crawler(&report, "GPTBot");
        assert_eq!((&gptbot["violations"], &gptbot["reads"]), (&json!(2), &json!(0)), "{gptbot}");
        assert_eq!(gptbot["rules"].as_array().map(Vec::len), Some(1), "{gptbot}");
        assert_eq!(gptbot["rules"][0]["notice"], Value::Null, "nobody had notice of it");
        let headline =
            "these rules would have disallowed requests of 1 of 2 crawlers: GPTBot 2 times (none confirmed)";
        assert_eq!(report["headline"], headline);
        let text = replay(&folder, &["access.log"]).exits(0).stdout;
        assert!(text.contains(&format!("\n{headline}\n")) && text.contains(why), "{text}");
        let page = visible(&replay(&folder, &["access.log", "--format", "html"]).exits(0).stdout);
        assert!(page.contains("These rules would have disallowed") && page.contains(why), "{page}");
        let table = replay(&folder, &["access.log", "--format", "csv"]).exits(0);
        assert_eq!(table.stdout.matches(",hypothetical,").count(), 4, "{}", table.stdout);
        for told in [&text, &page, &table.stdout, &table.stderr, &report["notes"].to_string()] {
            for word in ["broke", "ignored", "obeyed", "violation", "Violation", "no-read-seen"] {
                let told = told.replace("first_violation,last_violation", "").replace(",violations,", "");
                assert!(!told.contains(word), "{word} in {told}");
            }
        }
    }
}

#[test]
fn the_operator_may_say_that_the_file_was_published() {
    let unchanged = log(combined).replace(&format!("200 {} ", ROBOTS.len()), "304 0 ");
    for log in [log(combined), unchanged] {
        let folder = folder(log);
        let report = as_json(&folder, &["access.log", "--published"]);
        assert_eq!(report["replay"]["published"], true);
        assert_eq!(crawler(&report, "GPTBot")["conduct"], "ignored");
        assert_eq!(crawler(&report, "curl")["conduct"], "no-read-seen");
        assert_eq!(report["replay"]["violations_after_read"], 1);
    }
    // What ended in an error was no read.
    let failed = log(combined).replace(&format!("200 {} ", ROBOTS.len()), "503 0 ");
    let report = as_json(&folder(failed), &["access.log", "--published"]);
    assert_eq!(crawler(&report, "GPTBot")["conduct"], "no-read-seen");
}
