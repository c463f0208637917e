//! The journal of the demonstration, told as it grows: one sentence for each event.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::time::Duration;

/// How often the journal is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// What fits on a terminal.
const WIDTH: usize = 80;

/// Tells what is added to the journal from now on, until the process ends.
pub(super) fn follow(journal: PathBuf) {
    // Without a thread the journal itself is still there to be read.
    let _ = std::thread::Builder::new().name("telling".to_owned()).spawn(move || {
        let mut reader = loop {
            match File::open(&journal) {
                Ok(file) => break BufReader::new(file),
                Err(_) => std::thread::sleep(LOOK),
            }
        };
        let mut line = String::new();
        loop {
            match reader.read_line(&mut line) {
                Ok(_) if line.ends_with('\n') => {
                    let told = serde_json::from_str(&line).ok().and_then(|event| sentence(&event));
                    line.clear();
                    if let Some(told) = told
                        && writeln!(std::io::stdout(), "{told}").is_err()
                    {
                        return;
                    }
                }
                // The rest of the line is on its way.
                _ => std::thread::sleep(LOOK),
            }
        }
    });
}

/// `10:15:02 GPTBot was refused /drafts/ by line 9, Disallow: /`
fn sentence(event: &Value) -> Option<String> {
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let time = text("time")?.get(11..19)?;
    let who = text("crawler").or_else(|| text("client"))?;
    let did = match (text("event")?, text("action")?) {
        (_, "refused") => "was refused",
        ("allowed", _) => "may read",
        _ => "was recorded at",
    };
    let by = match (event.get("line").and_then(Value::as_u64), text("rule")) {
        (Some(line), Some(rule)) => format!(" by line {line}, {rule}"),
        _ => String::new(),
    };
    let told = format!("{time} {who} {did} {}{by}", text("target")?);
    // What clients send may hold anything.
    let told: String = told.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    let is_long = told.chars().count() > WIDTH;
    Some(if is_long { told.chars().take(WIDTH - 1).chain(['…']).collect() } else { told })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_sentence_that_fits() {
        let mut event = serde_json::json!({
            "time": "2026-11-23T10:15:02.123456Z", "event": "violation", "action": "refused", "client": "crawler",
            "crawler": "GPTBot", "target": "/drafts/", "line": 9, "rule": "Disallow: /",
        });
        assert_eq!(sentence(&event).unwrap(), "10:15:02 GPTBot was refused /drafts/ by line 9, Disallow: /");
        event["crawler"] = Value::Null;
        event["client"] = "tool".into();
        event["action"] = "forwarded".into();
        event["target"] = format!("/\u{1b}[31m{}", "x".repeat(200)).into();
        let long = sentence(&event).unwrap();
        assert!(
            long.starts_with("10:15:02 tool was recorded at /?[31mxxx") && long.chars().count() == 80,
            "{long}"
        );
        assert_eq!(sentence(&Value::Null), None);
    }
}
