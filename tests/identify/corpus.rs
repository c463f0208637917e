//! Reads the headers that `ROBOTS_GATEWAY_CORPUS` names.

use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::Identifier;
use serde_json::Value;
use std::sync::OnceLock;

/// One header with what is known about it.
pub(crate) struct CorpusRecord(Value);

impl CorpusRecord {
    pub(crate) fn user_agent(&self) -> &str {
        self.text("ua")
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_default()
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        self.0[key].as_bool()
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.0[key].as_u64().unwrap_or_default()
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<&str> {
        self.0[key].as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
    }
}

/// The records of one file, or `None` (said on standard output) without a corpus.
pub(crate) fn records(file: &str) -> Option<Vec<CorpusRecord>> {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return None;
    };
    let path = std::path::Path::new(&folder).join("ua").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let records: Vec<CorpusRecord> =
        text.lines().map(|line| CorpusRecord(serde_json::from_str(line).expect("a JSON line"))).collect();
    // A list of browsers has the shell that fetches by command, since it opens its header as they do.
    let is_person = |record: &CorpusRecord| !record.user_agent().contains("WindowsPowerShell/");
    let records: Vec<_> =
        records.into_iter().filter(|record| file != "browsers.jsonl" || is_person(record)).collect();
    assert!(records.len() > 50, "{} has too few records", path.display());
    Some(records)
}

/// The bundled knowledge, compiled once.
pub(crate) fn identifier() -> &'static Identifier {
    static IDENTIFIER: OnceLock<Identifier> = OnceLock::new();
    IDENTIFIER.get_or_init(|| Identifier::new(bundled()).expect("the bundled knowledge compiles"))
}

/// `part` of `whole` in per cent.
pub(crate) fn percent(part: usize, whole: usize) -> f64 {
    let number = |n: usize| f64::from(u32::try_from(n).expect("a small number"));
    100.0 * number(part) / number(whole)
}
