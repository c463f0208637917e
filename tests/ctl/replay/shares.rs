//! What crawlers took, by what they fetch for, and who is shut out by the configuration.

use super::*;

#[test]
fn block_lists_and_modes_of_the_configuration_hold() {
    let folder = folder(log(combined));
    let site = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = { file = \"robots.txt\", block = [\"ai-train\"] }\n";
    folder.write("gateway.toml", format!("[crawlers.Googlebot]\nmode = \"audit\"\n{site}"));
    let asked = ["replay", "--config", "gateway.toml", "access.log", "--format", "json"];
    let report = ctl(&folder, &asked).exits(0).json();
    let gptbot = crawler(&report, "GPTBot");
    assert_eq!((&gptbot["violations"], &gptbot["refused"]), (&json!(3), &json!(3)), "{report}");
    let sources: Vec<&Value> =
        gptbot["rules"].as_array().expect("rules").iter().map(|rule| &rule["source"]).collect();
    assert_eq!(sources, [&json!(null), &json!("block ai-train")], "{report}");
    let googlebot = crawler(&report, "Googlebot");
    assert_eq!((&googlebot["variants"], &googlebot["refused"]), (&json!(1), &json!(0)), "{report}");
}

#[test]
fn bytes_and_their_shares_are_told_by_purpose() {
    let folder = folder(log(combined));
    let report = as_json(&folder, &["access.log"]);
    // 5 bytes of each answer, and the file.
    let all = 8.0 * 5.0 + f64::from(u32::try_from(ROBOTS.len()).expect("a small file"));
    let purposes = report["replay"]["purposes"].as_array().expect("a list");
    let told: Vec<_> =
        purposes.iter().map(|one| (&one["purpose"], &one["requests"], &one["bytes"])).collect();
    let [ai, search] = [json!("ai-train"), json!("search")];
    let [one, three, five, fifteen] = [1, 3, 5, 15].map(|number| json!(number));
    assert_eq!(told, [(&ai, &three, &fifteen), (&search, &one, &five)], "{report}");
    let share = |name: &str| purposes[0][name].as_f64().expect("a share");
    assert!(
        (share("requests_share") - 3.0 / 9.0).abs() < 1e-9
            && (share("bytes_share") - 15.0 / all).abs() < 1e-9,
        "{report}"
    );
    assert_eq!(crawler(&report, "GPTBot")["bytes"], 15);
    let text = replay(&folder, &["access.log"]).exits(0).stdout;
    assert!(text.contains("crawlers for ai-train: 3 requests (33.3 % of all), 15 B ("), "{text}");
    // What is the same of everybody stands in no column.
    assert!(!text.contains("PROOF") && !text.contains("CONDUCT") && text.contains("DISALLOWED"), "{text}");
}
