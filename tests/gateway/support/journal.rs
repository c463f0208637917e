//! The journal as it lies on the disk.

use super::wait::until;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// The fields of a line, in their order. They are public: whoever changes one breaks somebody's scripts.
pub(crate) const FIELDS: [&str; 29] = [
    "v",
    "time",
    "event",
    "site",
    "mode",
    "action",
    "status",
    "client",
    "crawler",
    "purpose",
    "token",
    "proof",
    "proof_by",
    "address",
    "scheme",
    "method",
    "host",
    "target",
    "user_agent",
    "group",
    "line",
    "source",
    "rule",
    "reason",
    "robots_version",
    "notice",
    "cut",
    "request_id",
    "gateway",
];

/// The journal of one daemon.
#[derive(Debug)]
pub(crate) struct JournalFile(pub(crate) PathBuf);

impl JournalFile {
    /// Its whole lines, as they are.
    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.0).unwrap_or_default();
        // A line is whole when its newline is there.
        text.split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| line.trim_end().to_owned())
            .collect()
    }

    pub(crate) fn events(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
    }

    /// Waits for an event whose target is `target`, and returns it.
    #[track_caller]
    pub(crate) fn event_of(&self, target: &str) -> Value {
        self.event_where(target, |event| event["target"] == target)
    }

    /// Waits for an event that `wanted` says yes to.
    #[track_caller]
    pub(crate) fn event_where(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        until(&format!("the journal has an event of {what}"), || {
            self.events().into_iter().find(|event| wanted(event))
        })
    }

    /// All events before the one with `target`, which a test sends as its last request on a connection:
    /// what has been asked for before it stands before it.
    #[track_caller]
    pub(crate) fn events_before(&self, target: &str) -> Vec<Value> {
        self.event_of(target);
        self.events().into_iter().take_while(|event| event["target"] != target).collect()
    }
}
