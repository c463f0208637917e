//! `gatewayctl replay`: whether the log shows that the file was published.

use super::*;

/// The log in which robots.txt was answered with so many bytes.
fn log_of(size: usize) -> String {
    LINES
        .iter()
        .map(|line| if line.2 == "/robots.txt" { sized(line, size) } else { combined(line) })
        .collect()
}

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
    for (log, why) in [
        (log_of(ROBOTS.len() + 40), "1 answer to /robots.txt had another size than this file (73 bytes)"),
        (
            LINES.iter().filter(|line| line.2 != "/robots.txt").map(combined).collect(),
            "nobody was given /robots.txt",
        ),
    ] {
        let folder = folder(log);
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(conducts(&report), ["hypothetical"; 4], "{report}");
        assert_eq!(report["replay"]["violations_after_read"], 0);
        assert_eq!(report["replay"]["published"][0]["by"], Value::Null);
        let gptbot = crawler(&report, "GPTBot");
        assert_eq!((&gptbot["violations"], &gptbot["reads"]), (&json!(2), &json!(0)), "{gptbot}");
        assert_eq!(gptbot["rules"].as_array().map(Vec::len), Some(1), "{gptbot}");
        assert_eq!(gptbot["rules"][0]["notice"], Value::Null, "nobody had notice of it");
        let headline =
            "these rules would have disallowed requests of 1 of 2 crawlers; GPTBot 2 times (none confirmed)";
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
fn several_sizes_are_several_files() {
    let other = |second| sized(&(second, "192.0.2.9", "/robots.txt", 200, Some(CHROME)), ROBOTS.len() - 1);
    for (before, after) in [(other(5), String::new()), (String::new(), other(280))] {
        let folder = folder([before, log(combined), after].concat());
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(conducts(&report), ["hypothetical"; 4], "{report}");
        let text = replay(&folder, &["access.log"]).exits(0).stdout;
        let why = "1 answer to /robots.txt had its size (73 bytes), and 1 another (72 bytes), the last at 2026-11-01T00:0";
        assert!(text.contains(why), "{text}");
    }
}

#[test]
fn a_file_is_shown_from_its_first_answer_on() {
    // Before it nobody knows what was served; curl comes after, and a day after the last answer nobody knows again.
    let late = "198.51.100.7 - - [03/Nov/2026:00:00:00 +0000] \"GET /cgi-bin/x HTTP/1.1\" 200 5 \"-\" \"lateBot/1.0\"\n";
    let early = combined(&(1, "198.51.100.7", "/cgi-bin/x", 200, Some("earlyBot/1.0")));
    let report = as_json(&folder([&early, &log(combined), late].concat()), &["access.log"]);
    let conduct = |name| crawler(&report, name)["conduct"].as_str().expect("a word");
    assert_eq!(["GPTBot", "curl", "Googlebot"].map(conduct), ["ignored", "no-read-seen", "obeyed"]);
    assert_eq!(["earlyBot", "lateBot"].map(conduct), ["hypothetical"; 2]);
    let headline = report["headline"].as_str().expect("a sentence");
    assert!(headline.starts_with("1 of 4 crawlers broke rules it had read; GPTBot once"), "{headline}");
    assert!(
        headline.ends_with("; of 2 more, rules not known to be published disallow requests"),
        "{headline}"
    );
}

#[test]
fn the_operator_may_say_that_the_file_was_published() {
    let report = as_json(&folder(log(combined)), &["access.log", "--published"]);
    assert_eq!(
        (crawler(&report, "GPTBot")["conduct"].as_str(), &report["replay"]["published"][0]["by"]),
        (Some("ignored"), &json!("operator"))
    );
    // An answer of another size was another file, whatever the operator says. So it is not known what the crawler had read.
    // Apache writes the size of an empty answer as a hyphen.
    let empty = log(combined).replace(&format!(" 200 {} ", ROBOTS.len()), " 200 - ");
    let report = as_json(&folder(empty), &["access.log", "--published"]);
    assert_eq!(crawler(&report, "GPTBot")["conduct"], "unknown");
    let folder = folder(log_of(ROBOTS.len() + 40));
    let report = as_json(&folder, &["access.log", "--published"]);
    let gptbot = crawler(&report, "GPTBot");
    assert_eq!((&gptbot["conduct"], &gptbot["reads"]), (&json!("unknown"), &json!(0)), "{gptbot}");
    assert_eq!(crawler(&report, "curl")["conduct"], "no-read-seen");
    let text = replay(&folder, &["access.log", "--published"]).exits(0).stdout;
    assert!(text.contains("1 answer to /robots.txt had another size, and"), "{text}");
    // Where the log tells no size, or that nothing has changed, the operator's word is what there is.
    let unchanged = log(combined).replace(&format!("200 {} ", ROBOTS.len()), "304 0 ");
    for log in [log(nginx_json).replace("body_bytes_sent", "length"), unchanged] {
        let folder = self::folder(log);
        assert_eq!(conducts(&as_json(&folder, &["access.log"])), ["hypothetical"; 4]);
        let report = as_json(&folder, &["access.log", "--published"]);
        assert_eq!(crawler(&report, "GPTBot")["conduct"], "ignored");
    }
}

#[test]
fn compressed_answers_are_set_aside() {
    let rules: Vec<String> = (0..60).map(|number| format!("Disallow: /private/{number}")).collect();
    let robots = format!("User-agent: *\nDisallow: /cgi-bin/\n{}\n", rules.join("\n"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(robots.as_bytes()).expect("memory takes it");
    let packed = packed.finish().expect("memory takes it").len();
    let asks = |second, size| sized(&(second, "192.0.2.1", "/robots.txt", 200, Some(GPTBOT)), size);
    let breaks = combined(&(900, "192.0.2.1", "/cgi-bin/x", 200, Some(GPTBOT)));
    for (sizes, wanted) in [
        ([robots.len(), packed, robots.len()], "ignored"),
        // By themselves they show nothing.
        ([packed, packed, packed], "hypothetical"),
        ([packed, robots.len(), robots.len()], "hypothetical"),
    ] {
        let lines: String =
            sizes.iter().zip([10, 20, 30]).map(|(size, second)| asks(second, *size)).collect();
        let folder = folder(lines + &breaks);
        folder.write("robots.txt", &robots);
        let report = as_json(&folder, &["access.log"]);
        assert_eq!(crawler(&report, "GPTBot")["conduct"], wanted, "{sizes:?}: {report}");
    }
}
