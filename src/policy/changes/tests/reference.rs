//! The table of every key in the guide, made of the types of the configuration and of what waits for the next start.
//!
//! `GOLDEN=write cargo test --lib reference` writes it anew.

use super::super::AT_START;
use crate::config::Config;
use crate::config::tests::{assert_is, schema, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SHIPPED: &str = "conf/gateway.toml";
const GUIDE: &str = "docs/configuration.md";

/// What stands before and behind the table in the guide.
const MARKS: [&str; 2] =
    ["<!-- The table is made of the types of the program. -->\n", "<!-- Here it ends. -->\n"];

/// The schema as a whole, to look references up in.
struct KeyTree(Value);

impl KeyTree {
    fn follow<'s>(&'s self, schema: &'s Value) -> &'s Value {
        let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/definitions/"));
        name.map_or(schema, |name| &self.0["definitions"][name])
    }

    /// What may be written, each way of several.
    fn ways<'s>(&'s self, schema: &'s Value) -> Vec<&'s Value> {
        let several = ["anyOf", "oneOf", "allOf"].iter().find_map(|word| schema[*word].as_array());
        match several {
            Some(ways) => ways.iter().flat_map(|way| self.ways(way)).collect(),
            None if schema.get("$ref").is_some() && self.form(schema).is_none() => {
                self.ways(self.follow(schema))
            }
            None => vec![schema],
        }
    }

    /// What a value with a form of its own is called.
    fn form(&self, schema: &Value) -> Option<String> {
        schema.get("$ref")?;
        self.follow(schema)["title"].as_str().map(str::to_owned)
    }

    /// The type of a key, in words.
    fn words(&self, schema: &Value) -> String {
        let of_way = |way: &&Value| {
            if let Some(words) = self.form(way) {
                return Some(words);
            }
            let quoted = |word: &Value| format!("`\"{}\"`", word.as_str().unwrap_or_default());
            if let Some(word) = way.get("const") {
                return Some(quoted(word));
            }
            if let Some(words) = way["enum"].as_array() {
                return Some(
                    words.iter().filter(|word| word.is_string()).map(quoted).collect::<Vec<_>>().join(" or "),
                );
            }
            let kind = match &way["type"] {
                Value::Array(kinds) => kinds.iter().find(|kind| **kind != "null")?.as_str()?,
                kind => kind.as_str()?,
            };
            Some(match kind {
                "null" => return None,
                "array" => format!("list: {}", self.words(&way["items"])),
                "object" => "table".to_owned(),
                "integer" => "whole number".to_owned(),
                "boolean" => "`true`, `false`".to_owned(),
                _ => "text".to_owned(),
            })
        };
        let mut ways: Vec<String> = self.ways(schema).iter().filter_map(of_way).collect();
        let mut seen = BTreeSet::new();
        ways.retain(|words| seen.insert(words.clone()));
        ways.join(" or ")
    }

    /// Every key below `schema`, by the tables that it stands in. `NAME` stands for any name.
    fn keys(&self, path: &str, schema: &Value, found: &mut BTreeMap<String, String>) {
        for way in self.ways(schema) {
            for (key, below) in way["properties"].as_object().into_iter().flatten() {
                // The words of purposes are written out in the schema.
                let key = if path == "purposes" { "NAME" } else { key };
                let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
                found.insert(path.clone(), self.words(below));
                self.keys(&path, below, found);
            }
            if way["type"] == "array" {
                self.keys(path, &way["items"], found);
            }
            let of_names = way["patternProperties"].as_object().into_iter().flat_map(|all| all.values());
            for below in of_names.chain(way.get("additionalProperties").filter(|below| below.is_object())) {
                self.keys(&format!("{path}.NAME"), below, found);
            }
        }
    }
}

/// The shipped file with each example in force, and the keys whose lines show a default.
fn shipped() -> (toml::Value, BTreeSet<String>) {
    let (mut whole, mut defaults, mut table) = (String::new(), BTreeSet::new(), String::new());
    for line in text(SHIPPED).lines() {
        let default = line.strip_prefix('#').filter(|rest| {
            rest.split_once(" = ").is_some_and(|(key, _)| {
                !key.is_empty()
                    && key.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-0123456789".contains(&byte))
            })
        });
        let open = line.strip_prefix("#~ ").or(default).unwrap_or(line);
        if open.starts_with('[') {
            table = open.trim_matches(['[', ']']).to_owned();
        }
        if let Some((key, _)) = default.and_then(|rest| rest.split_once(" = ")) {
            let prefix = if table.is_empty() { String::new() } else { format!("{table}.") };
            defaults.insert(format!("{prefix}{key}"));
        }
        whole.extend([open, "\n"]);
    }
    (whole.parse::<toml::Table>().unwrap().into(), defaults)
}

/// The value at `path`, the first that there is in lists of tables and under `NAME`.
fn shown(value: &toml::Value, path: &[&str]) -> Option<toml::Value> {
    let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
    match value {
        toml::Value::Array(elements) => elements.iter().find_map(|element| shown(element, path)),
        toml::Value::Table(table) if *key == "NAME" => table.values().find_map(|below| shown(below, rest)),
        toml::Value::Table(table) => shown(table.get(*key)?, rest),
        _ => None,
    }
}

/// Examples of keys of tables that may be written in several places, and of ways that exclude those that are shown.
const ELSEWHERE: [(&str, &str); 18] = [
    (".action.answer.status", "451"),
    (".action.answer.body", "\"terms.txt\""),
    (".action.answer", "{ status = 451, body = \"terms.txt\" }"),
    (".action.redirect", "\"https://example.org/terms\""),
    (".action.upstream", "\"http://127.0.0.1:8888\""),
    ("except.address", "\"192.0.2.0/24\""),
    ("except.reason", "\"agreement of May\""),
    ("except.until", "2027-05-31"),
    ("exempt.address", "\"192.0.2.7\""),
    ("exempt.reason", "\"our own probe\""),
    ("exempt.until", "2027-05-31"),
    ("robots_tags.path", "\"/drafts/\""),
    ("robots_tags.purpose", "\"ai\""),
    ("robots_tags.rules", "[\"noindex\"]"),
    ("robots.from", "\"origin\""),
    ("robots.every", "\"10m\""),
    ("robots.host", "\"example.org\""),
    ("robots.url", "\"https://cdn.example/robots.txt\""),
];

/// Defaults of keys that the shipped file shows as examples.
const DEFAULTS: [(&str, &str); 15] = [
    ("access_log_format", "\"json\""),
    ("alerts.every", "\"30s\""),
    ("authorize.listen", "\"127.0.0.1:9310\""),
    ("catalogue.every", "\"24h\""),
    ("fleet.lease", "\"5m\""),
    ("fleet.settle", "\"10s\""),
    ("public.every", "\"1h\""),
    ("sites.origin.health.check", "\"off\""),
    ("sites.origin.health.failures", "3"),
    ("sites.origin.health.interval", "\"5s\""),
    ("sites.origin.health.path", "\"/\""),
    ("sites.origin.health.successes", "2"),
    ("sites.origin.health.timeout", "\"2s\""),
    ("sites.origin.servers.weight", "1"),
    ("sites.robots.every", "\"10m\""),
];

fn value(written: &str) -> toml::Value {
    format!("x = {written}").parse::<toml::Table>().unwrap()["x"].clone()
}

/// Has the first table that the key at `path` may stand in say this of it, or nothing.
fn set(value: &mut toml::Value, path: &[&str], written: Option<&toml::Value>) -> bool {
    match value {
        toml::Value::Array(elements) => elements.iter_mut().any(|element| set(element, path, written)),
        toml::Value::Table(table) => match path {
            ["NAME", rest @ ..] => table.iter_mut().any(|(_, below)| set(below, rest, written)),
            [key] => {
                match written {
                    Some(written) => drop(table.insert((*key).to_owned(), written.clone())),
                    None => drop(table.remove(*key)),
                }
                true
            }
            [key, rest @ ..] => table.get_mut(*key).is_some_and(|below| set(below, rest, written)),
            [] => false,
        },
        _ => false,
    }
}

/// What holds where the key at `path` is left out, as far as it can be written; `None` where it has to be there.
fn default_of(path: &str, words: &str, shown: Option<toml::Value>, whole: &toml::Value) -> Option<String> {
    // They follow from who starts the gateway and where, and from what else is written.
    if ["state_dir", "control", "listen"].contains(&path) {
        return shown.map(|value| format!("`{value}`"));
    }
    let parts: Vec<&str> = path.split('.').collect();
    let with = |written: Option<&toml::Value>| {
        let mut edited = whole.clone();
        set(&mut edited, &parts, written).then(|| edited.try_into::<Config>().ok())
    };
    let Some(without) = with(None) else { return Some("none".to_owned()) };
    let without = without?;
    let named = DEFAULTS.iter().find(|(key, _)| *key == path).map(|(_, default)| value(default));
    let is_named = shown.is_some() || named.is_some();
    let of_kind = if words == "table" { Vec::new() } else { ["[]", "false"].map(value).to_vec() };
    let mut tried = shown.into_iter().chain(named).chain(of_kind.into_iter().filter(|_| !is_named));
    let found = tried.find(|default| with(Some(default)).flatten().as_ref() == Some(&without));
    if found.is_none() && is_named {
        return Some("ANOTHER".to_owned());
    }
    Some(match (found, words) {
        (Some(default), _) => format!("`{default}`"),
        (None, "table") => "as its keys say".to_owned(),
        (None, _) => "none".to_owned(),
    })
}

/// Where a key stands.
fn scope(path: &str) -> (String, &str) {
    for (table, shown) in [
        ("sites.refusal.", "[sites.refusal]"),
        ("sites.", "[[sites]]"),
        ("listeners.", "[[listeners]]"),
        ("certificates.", "[[certificates]]"),
        ("purposes.NAME.", "[purposes.NAME]"),
        ("crawlers.NAME.", "[crawlers.NAME]"),
        ("exempt.", "exempt = [{ … }]"),
        ("robots_tags.", "robots_tags = [{ … }]"),
    ] {
        if let Some(key) = path.strip_prefix(table) {
            return (format!("`{shown}`"), key);
        }
    }
    match path.split_once('.') {
        Some((table, key)) => (format!("`[{table}]`"), key),
        None => (" above all tables".to_owned(), path),
    }
}

#[test]
fn the_table_of_the_guide_is_that_of_the_types() {
    let tree = KeyTree(schema());
    let mut keys = BTreeMap::new();
    tree.keys("", &tree.0, &mut keys);
    let (whole, defaults) = shipped();
    let (mut unshown, mut rows) = (Vec::new(), BTreeMap::new());
    for (path, words) in &keys {
        let parts: Vec<&str> = path.split('.').collect();
        // Names are free, and what may stand in a table is told of its keys.
        if parts.last() == Some(&"NAME") || words == "table" {
            continue;
        }
        let elsewhere = ELSEWHERE.iter().find(|(key, _)| path.ends_with(key)).map(|(_, example)| example);
        let elsewhere = elsewhere.map(|example| value(example));
        let Some(example) = shown(&whole, &parts).or(elsewhere) else {
            unshown.push(path.as_str());
            continue;
        };
        let example =
            if example.to_string().len() > 100 { "see its keys".to_owned() } else { format!("`{example}`") };
        let written = shown(&whole, &parts).filter(|_| defaults.contains(path));
        let default =
            default_of(path, words, written, &whole).unwrap_or_else(|| "has to be there".to_owned());
        let is_at_start = AT_START
            .iter()
            .any(|key| path.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')));
        let when = if is_at_start { "start" } else { "reload" };
        let example = if example == default { "" } else { example.as_str() };
        let (scope, key) = scope(path);
        let row = format!("| `{key}` | {words} | {default} | {when} | {example} |\n").replace("||", "|");
        rows.insert((scope, key.to_owned()), row);
    }
    let wrong: Vec<&String> = rows.values().filter(|row| row.contains("ANOTHER")).collect();
    assert!(wrong.is_empty(), "the default is another: {wrong:?}");
    assert!(unshown.is_empty(), "{SHIPPED} shows no example of {unshown:?}");
    assert!(AT_START.iter().all(|key| keys.contains_key(*key)), "{AT_START:?}");
    let (mut table, mut last) = (String::new(), None);
    for ((scope, _), row) in rows {
        if last.as_ref() != Some(&scope) {
            table.extend([
                &*format!("\n| {scope} | type | default | taken at | example |\n"),
                "|---|---|---|---|---|\n",
            ]);
        }
        (last, table) = (Some(scope), table + &row);
    }
    let guide = text(GUIDE);
    let (before, rest) = guide.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    assert_is(GUIDE, &format!("{before}{}{table}\n{}{after}", MARKS[0], MARKS[1]));
}
