//! A state folder of a gateway that has been there for long.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use robots_gateway::record::{LEDGER_FILE, NoticeClock, digest};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).expect("no later than that")
}

/// Has a state folder say that this file was served to every host for a month, unless it says something already.
pub(super) fn write_past(state: &Path, robots: &[u8]) {
    const PROCESS: &str = "long-ago";
    if state.join(LEDGER_FILE).exists() {
        return;
    }
    let sha256 = digest(robots);
    let changes = [
        json!({"change": "begun", "after_loss": false}),
        json!({"change": "file", "sha256": sha256, "bytes": STANDARD.encode(robots)}),
        json!({"change": "serving", "hosts": {"*": sha256}}),
    ];
    let begun = NoticeClock::default().at(Duration::ZERO).0;
    let mut lines = String::new();
    for (sequence, mut entry) in (1..).zip(changes) {
        let head = json!({
            "sequence": sequence, "process": PROCESS, "boot": "", "uptime": 1, "clock": micros(begun),
            "time": "2020-01-01T00:00:00Z",
        });
        let fields = entry.as_object_mut().expect("a change");
        fields.extend(head.as_object().expect("its head").clone());
        let text = entry.to_string();
        let sum = &digest(text.as_bytes())[..16];
        lines.extend([sum, " ", &text, "\n"]);
    }
    std::fs::create_dir_all(state).expect("a state folder");
    std::fs::write(state.join(LEDGER_FILE), lines).expect("a ledger");
    let last = micros(begun + Duration::from_secs(30 * 86_400));
    std::fs::write(state.join(format!("{LEDGER_FILE}.{PROCESS}")), format!("{last:020}\n"))
        .expect("its time");
}
