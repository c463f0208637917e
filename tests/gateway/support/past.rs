//! A state folder of a gateway that has been there for long.

use robots_gateway::decide::RobotsVersion;
use robots_gateway::record::{NoticeClock, ROWS_FOLDER, digest};
use robots_gateway::robots::{ParseLimits, Robots};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Has a state folder say that this file was served to every host for a month, unless it says something already.
pub(super) fn write_past(state: &Path, robots: &[u8]) {
    let rows = state.join(ROWS_FOLDER);
    if rows.exists() {
        return;
    }
    let file = digest(robots);
    let compiled = Arc::new(Robots::parse(robots, &ParseLimits::default()).robots);
    let rules = RobotsVersion::new(None, compiled).rules.to_string();
    let version = json!({"known": {"rules": rules, "file": file}});
    let since = json!({"secs_since_epoch": 1_577_836_800, "nanos_since_epoch": 0});
    let row = json!({"version": version, "since": since, "is_dated": true, "until": null});
    let host = json!({"rows": [row], "latest": 1_577_836_800});
    let noted = NoticeClock::default().at(Duration::from_secs(30 * 86_400)).0;
    let document = json!({
        "by": "", "boot": "", "clock": {"at_boot": {"secs": 0, "nanos": 0}}, "noted": noted, "hosts": {"*": host}, "others": {},
        "members": {}, "stamps": [], "waived": [], "robots_seen": {},
    });
    let text = document.to_string();
    let sum = &digest(text.as_bytes())[..16];
    std::fs::create_dir_all(&rows).expect("a state folder");
    std::fs::write(rows.join(format!("{file}.txt")), robots).expect("a robots.txt");
    std::fs::write(rows.join("served.rows"), format!("{sum} {text}\n")).expect("rows");
}
