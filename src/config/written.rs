//! The keys of a configuration file as they stand there, and how two files differ.

use super::error::ConfigError;
use super::faults::Faults;
use super::user_info::{HIDDEN, without_user_info};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use toml::{Table, Value};

/// A configuration file as it stands there.
#[derive(Clone, Debug, Default)]
pub struct WrittenConfig {
    text: String,
    /// Every key with its value, as TOML writes it. A key of a site is named by the site's first host.
    keys: BTreeMap<String, String>,
}

/// Configurations are compared by what they mean. How that is written, a default set or left out, makes no difference.
impl PartialEq for WrittenConfig {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for WrittenConfig {}

/// A key that two files differ in; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChange {
    /// The key, with the tables it stands in.
    pub key: String,
    /// What it was; null where it was not set, so that its default held.
    pub old: Option<String>,
    /// What it is; null where it is not set any more.
    pub new: Option<String>,
    /// Whether it takes effect only when the gateway is started again.
    pub restart: bool,
}

/// Parts of names of keys whose values are nobody's business.
const SECRETS: [&str; 3] = ["token", "secret", "password"];

/// What may be shown of a `line` of the configuration `text` that has a fault at byte `at`: no value where the fault is
/// in the key, and nothing where a secret may stand, also below a key that is misspelt.
pub fn showable<'a>(text: &str, line: &'a str, at: usize) -> Option<&'a str> {
    // A line of a string of several lines does not say which key it belongs to.
    if ["\"\"\"", "'''"].iter().any(|quotes| text.contains(quotes)) {
        return None;
    }
    if let Some(sign) = line.find('=').filter(|sign| at < *sign) {
        return line.get(..=sign);
    }
    let lower = line.to_lowercase();
    let is_secret = ["tok", "secr", "pass"].iter().any(|part| lower.contains(part));
    // An `@` may end a password, and be written as an escape.
    let has_credentials = lower.contains('@') || lower.contains("\\u");
    (!is_secret && !has_credentials).then_some(line)
}

impl WrittenConfig {
    pub(super) fn of(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let table: Table = toml::from_str(text)
            .map_err(|error| ConfigError::at(path, text, error.span(), error.message().to_owned()))?;
        let mut written = Self { text: text.to_owned(), keys: BTreeMap::new() };
        table.iter().for_each(|(key, value)| written.add(key, value));
        Ok(written)
    }

    /// A fault of the value of `key`, which stands there after the tables and the places in arrays that it stands in.
    pub fn fault_of(&self, path: &Path, key: &str, message: String, hint: &str) -> Option<ConfigError> {
        let mut faults = Faults::new(path, &self.text);
        faults.push_at(Some(key), message, hint);
        faults.take().pop()
    }

    fn add(&mut self, key: &str, value: &Value) {
        match value {
            Value::Table(table) => {
                table.iter().for_each(|(name, value)| self.add(&format!("{key}.{name}"), value));
            }
            Value::Array(tables) if !tables.is_empty() && tables.iter().all(Value::is_table) => {
                for (index, table) in tables.iter().enumerate() {
                    self.add(
                        &format!("{key}[{}]", name_of(table).unwrap_or_else(|| index.to_string())),
                        table,
                    );
                }
            }
            value => drop(self.keys.insert(key.to_owned(), value.to_string())),
        }
    }

    /// The keys that `next` has otherwise. `restart` says of a key whether it waits for the next start.
    pub fn changes(&self, next: &Self, restart: impl Fn(&str) -> bool) -> Vec<KeyChange> {
        let new_keys = next.keys.keys().filter(|key| !self.keys.contains_key(*key));
        let mut keys: Vec<&String> = self.keys.keys().chain(new_keys).collect();
        keys.sort();
        let changed = keys.into_iter().filter(|key| self.keys.get(*key) != next.keys.get(*key));
        changed
            .map(|key| KeyChange {
                key: key.clone(),
                old: self.shown(key),
                new: next.shown(key),
                restart: restart(key),
            })
            .collect()
    }

    fn shown(&self, key: &str) -> Option<String> {
        let value = self.keys.get(key)?;
        let last = key.rsplit('.').next().unwrap_or(key);
        let is_secret = SECRETS.iter().any(|part| last.contains(part));
        Some(if is_secret { HIDDEN.to_owned() } else { without_user_info(value).into_owned() })
    }
}

/// What tells one of several tables from the others, whatever their order.
fn name_of(table: &Value) -> Option<String> {
    let first = |key: &str| table.get(key)?.get(0)?.as_str().map(str::to_owned);
    let own = |key: &str| table.get(key)?.as_str().map(str::to_owned);
    let is_site = table.get("origin").is_some();
    first("hosts")
        .or_else(|| own("address"))
        .or_else(|| own("certificate"))
        .or_else(|| own("url"))
        .or_else(|| is_site.then(|| "default".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> WrittenConfig {
        WrittenConfig::of(Path::new("gateway.toml"), text).unwrap()
    }

    fn changes(old: &str, new: &str) -> Vec<(String, Option<String>, Option<String>)> {
        let changes = written(old).changes(&written(new), |_| false);
        changes.into_iter().map(|change| (change.key, change.old, change.new)).collect()
    }

    fn change(key: &str, old: Option<&str>, new: Option<&str>) -> (String, Option<String>, Option<String>) {
        (key.to_owned(), old.map(str::to_owned), new.map(str::to_owned))
    }

    #[test]
    fn keys_are_named_with_their_tables_and_sites_with_their_hosts() {
        let old = "threads = 2\nnotice = \"24h\"\n[[sites]]\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:1\"\n\
                   [[sites]]\norigin = \"http://127.0.0.1:2\"\n";
        let new = "# moved\n[limits]\nconnections = 9\n[[sites]]\norigin = \"http://127.0.0.1:3\"\n\
                   [[sites]]\norigin = \"http://127.0.0.1:1\"\nhosts = [\"a.example\"]\n[sites.refusal]\nstatus = 451\n";
        assert_eq!(
            changes(old, new),
            [
                change("limits.connections", None, Some("9")),
                change("notice", Some("\"24h\""), None),
                change("sites[a.example].refusal.status", None, Some("451")),
                change(
                    "sites[default].origin",
                    Some("\"http://127.0.0.1:2\""),
                    Some("\"http://127.0.0.1:3\"")
                ),
                change("threads", Some("2"), None),
            ]
        );
        assert_eq!(changes(old, &format!("# a comment\n{old}")), []);
    }

    #[test]
    fn a_line_is_shown_without_what_may_be_a_secret() {
        let shown = |line: &'static str, at| showable(line, line, at);
        assert_eq!(shown("threads = \"two\"", 10), Some("threads = \"two\""));
        assert_eq!(shown("origin = \"htp://a.example\"", 9), Some("origin = \"htp://a.example\""));
        for (line, at) in [
            ("admin_token = \"s3cret", 14),
            ("admin_tokn = \"s3cret", 13),
            ("fleet = { database = \"postgresql://me:s3cret@db\", lease = 5 }", 52),
            ("x = \"\"\"s3cret\\q", 15),
            ("origin = \"http:/me:s3cret@h\"", 10),
            ("origin = [\"me:s3cret@h\", 5]", 26),
            ("origin = \"http://me:s3cret\\u0040h\"", 10),
        ] {
            assert_eq!(shown(line, at), None, "{line}");
        }
        assert_eq!(shown("admin_tokn = \"s3cret\"", 0), Some("admin_tokn ="));
        assert_eq!(shown("credential = \"s3cret\"", 0), Some("credential ="));
    }

    #[test]
    fn secrets_stay_secret() {
        let told = changes("admin_token = \"old\"", "admin_token = \"new\"");
        assert_eq!(told, [change("admin_token", Some(HIDDEN), Some(HIDDEN))]);
        let told = changes("", "[[sites]]\norigin = \"http://me:s3cret@h\"");
        assert_eq!(told, [change("sites[default].origin", None, Some("\"http://(hidden)@h\""))]);
    }
}
