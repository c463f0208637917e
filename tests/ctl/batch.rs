//! `gatewayctl explain --batch`: JSON lines in, one JSON line out for each, in order.

use crate::golden::{assert_golden, ctl, ctl_with_input, keys};
use crate::support::agents::{CHROME, GOOGLEBOT_IMAGE, GPTBOT};
use crate::support::{Ended, Folder};
use serde_json::{Value, json};

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\n\nUser-agent: *\nDisallow: /cgi-bin/\n";

fn lines(values: &[Value]) -> String {
    let lines: Vec<_> = values.iter().map(ToString::to_string).collect();
    lines.join("\n") + "\n"
}

#[track_caller]
fn batch(input: &str, more: &[&str]) -> (Folder, Ended) {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    let ended = ctl_with_input(&folder, &[&["explain", "--batch", "-"], more].concat(), Some(input));
    (folder, ended)
}

#[track_caller]
fn answers(ended: &Ended) -> Vec<Value> {
    ended.stdout.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn each_line_is_answered_in_order_with_the_promised_fields() {
    let input = lines(&[
        json!({"id": 1, "user_agent": GPTBOT, "target": "/private"}),
        json!({"id": "two", "user_agent": GOOGLEBOT_IMAGE, "target": "/cgi-bin/x", "unknown": true}),
        json!({"id": {"n": 3}, "user_agent": CHROME, "target": "/private"}),
        json!({"id": null, "robots": "User-agent: *\nDisallow: /own\n", "token": "AnyBot", "target": "/own"}),
    ]);
    let (folder, ended) = batch(&input, &["--robots", "robots.txt"]);
    let ended = ended.exits(0);
    for line in ended.stdout.lines() {
        assert_eq!(
            keys(line),
            ["id", "verdict", "client", "crawler", "tokens", "token", "group", "line", "rule", "reason"]
        );
    }
    let answers = answers(&ended);
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!("two"), json!({"n": 3}), json!(null)]);
    let verdicts: Vec<_> =
        answers.iter().map(|answer| answer["verdict"].as_str().expect("a verdict")).collect();
    assert_eq!(verdicts, ["disallow", "disallow", "allow", "disallow"]);
    assert_eq!(answers[1]["tokens"], json!(["Googlebot-Image", "Googlebot"]));
    assert_golden("batch", &folder, &ended);
}

#[test]
fn a_token_meets_the_matcher_alone_and_a_header_the_whole_pipeline() {
    let input = lines(&[
        json!({"id": "token", "token": "GPTBot", "target": "/x/../private"}),
        json!({"id": "header", "user_agent": GPTBOT, "target": "/x/../private"}),
        json!({"id": "variant", "user_agent": GPTBOT, "target": "//private"}),
        json!({"id": "no variant", "token": "GPTBot", "target": "//private"}),
        json!({"id": "nobody", "user_agent": "", "target": "/cgi-bin/"}),
    ]);
    let (_folder, ended) = batch(&input, &["--robots", "robots.txt"]);
    let answers = answers(&ended.exits(0));
    let told: Vec<_> =
        answers.iter().map(|answer| json!([answer["id"], answer["verdict"], answer["reason"]])).collect();
    assert_eq!(
        told,
        [
            json!(["token", "allow", "no-rule"]),
            json!(["header", "disallow", "rule"]),
            json!(["variant", "disallow", "variant"]),
            json!(["no variant", "allow", "no-rule"]),
            json!(["nobody", "disallow", "rule"]),
        ]
    );
    assert_eq!(answers[4]["client"], "unnamed");
}

#[test]
fn bytes_that_are_no_text_come_in_base64() {
    // "User-agent: *\nDisallow: /caf\xe9\n", and GPTBot/1.2 between two bytes that are not UTF-8.
    let input = lines(&[
        json!({"id": 1, "robots_b64": "VXNlci1hZ2VudDogKgpEaXNhbGxvdzogL2NhZukK", "token": "AnyBot", "target": "/caf%E9"}),
        json!({"id": 2, "user_agent_b64": "/yBHUFRCb3QvMS4yIP4=", "target": "/private"}),
    ]);
    let (_folder, ended) = batch(&input, &["--robots", "robots.txt"]);
    let answers = answers(&ended.exits(0));
    assert_eq!(answers[0]["verdict"], "disallow", "{answers:?}");
    assert_eq!(
        (&answers[1]["verdict"], &answers[1]["crawler"]),
        (&json!("disallow"), &json!("GPTBot")),
        "{answers:?}"
    );
}

#[test]
fn an_unreadable_line_gets_an_error_and_the_others_their_answers() {
    let good = json!({"id": "good", "token": "GPTBot", "target": "/private"});
    let input = [
        good.to_string(),
        "{\"id\": \"broken\", ".to_owned(),
        json!({"id": "no target", "token": "GPTBot"}).to_string(),
        json!({"id": "bad base64", "robots_b64": "%%%", "token": "GPTBot", "target": "/"}).to_string(),
        json!({"id": "wrong type", "token": 7, "target": "/"}).to_string(),
        json!({"id": "nobody", "target": "/"}).to_string(),
        "[]".to_owned(),
        good.to_string(),
    ]
    .join("\n");
    let (folder, ended) = batch(&input, &["--robots", "robots.txt"]);
    let ended = ended.exits(2);
    let answers = answers(&ended);
    assert_eq!(answers.len(), 8, "{}", ended.stdout);
    for good in [&answers[0], &answers[7]] {
        assert_eq!(good["verdict"], "disallow");
    }
    let (first, last) = (&ended.stdout.lines().next(), &ended.stdout.lines().last());
    assert_eq!(first, last);
    for (index, line) in ended.stdout.lines().enumerate().skip(1).take(6) {
        if answers[index]["id"] == "nobody" {
            continue; // a request without a header may well be judged
        }
        assert_eq!(keys(line), ["id", "error"], "{line}");
        assert!(answers[index]["error"].as_str().is_some_and(|error| !error.is_empty()), "{line}");
    }
    for (index, id) in [(2, "no target"), (3, "bad base64"), (4, "wrong type")] {
        assert_eq!(answers[index]["id"], id, "{}", ended.stdout);
    }
    assert_golden("batch-unreadable", &folder, &ended);
}

#[test]
fn without_any_rules_there_is_no_answer() {
    let (_folder, ended) = batch(&lines(&[json!({"id": 1, "token": "GPTBot", "target": "/"})]), &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_file_and_standard_input_are_answered_alike() {
    let input = lines(&[json!({"id": 1, "token": "GPTBot", "target": "/private"})]);
    let (folder, by_input) = batch(&input, &["--robots", "robots.txt"]);
    folder.write("batch.jsonl", &input);
    let by_file = ctl(&folder, &["explain", "--batch", "batch.jsonl", "--robots", "robots.txt"]).exits(0);
    assert_eq!(by_file.stdout, by_input.stdout);
    ctl(&folder, &["explain", "--batch", "absent.jsonl", "--robots", "robots.txt"]).exits(2);
    let empty = ctl_with_input(&folder, &["explain", "--batch", "--robots", "robots.txt"], Some("")).exits(0);
    assert_eq!(empty.stdout, "");
}
