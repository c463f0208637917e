//! What a `PromQL` query names, and whether a real `/metrics` has it.
//!
//! Not a parser of `PromQL`: it finds the gateway's metrics, the labels in their braces and those of `by`. Where promtool
//! is installed, that reads the queries too.

use crate::scene::installed;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Labels that Prometheus itself adds to what it scrapes.
const ADDED: [&str; 2] = ["instance", "job"];

/// Everything that is wrong with a query, given the metrics that exist with their labels.
pub(crate) fn faults(query: &str, known: &BTreeMap<&str, BTreeSet<&str>>) -> Vec<String> {
    let (mut faults, mut named) = (Vec::new(), BTreeSet::new());
    let mut all_labels: BTreeSet<&str> = ADDED.into_iter().collect();
    for (at, _) in query.match_indices("robots_gateway_") {
        let name = word(&query[at..]);
        named.insert(name);
        let Some(labels) = known.get(name) else {
            faults.push(format!("no metric {name}"));
            continue;
        };
        all_labels.extend(labels);
        let rest = &query[at + name.len()..];
        let inside =
            rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
        for matcher in inside.split(',').filter(|matcher| !matcher.trim().is_empty()) {
            let label = word(matcher.trim());
            if !labels.contains(label) && !ADDED.contains(&label) {
                faults.push(format!("{name} has no label {label}"));
            }
        }
    }
    if named.is_empty() {
        faults.push("names no metric of the gateway".to_owned());
    }
    for (at, mark) in query.match_indices("by (") {
        let inside = query[at + mark.len()..].split(')').next().unwrap_or_default();
        for label in inside.split(',').map(str::trim) {
            if !all_labels.contains(label) {
                faults.push(format!("no label {label} to group by"));
            }
        }
    }
    faults
}

fn word(text: &str) -> &str {
    let end =
        text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    &text[..end]
}

/// Lets promtool read queries, as the expressions of recording rules.
pub(crate) fn are_promql(queries: &BTreeSet<String>) {
    let Some(promtool) = installed(&["promtool"]) else {
        eprintln!("skipped: promtool is not installed");
        return;
    };
    let rules: Vec<_> = queries
        .iter()
        .enumerate()
        .map(|(number, query)| serde_json::json!({ "record": format!("q:{number}"), "expr": query }))
        .collect();
    // JSON is YAML.
    let file = serde_json::json!({ "groups": [{ "name": "queries", "rules": rules }] });
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rules.yml");
    std::fs::write(&path, file.to_string()).expect("written");
    let ended = Command::new(promtool).args(["check", "rules"]).arg(&path).output().expect("promtool runs");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(said.contains(&format!("{} rules found", queries.len())), "{said}");
}

#[test]
fn a_wrong_query_is_noticed() {
    let known: BTreeMap<&str, BTreeSet<&str>> =
        [("robots_gateway_a_total", ["site", "client"].into_iter().collect())].into();
    let good = "sum by (site) (rate(robots_gateway_a_total{client=\"x\",instance=~\"$instance\"}[5m]))";
    assert_eq!(faults(good, &known), Vec::<String>::new());
    for (old, new) in [
        ("a_total", "b_total"),
        ("client=", "clients="),
        ("by (site)", "by (sites)"),
        ("robots_gateway_a_total", "up"),
    ] {
        assert!(!faults(&good.replace(old, new), &known).is_empty(), "{new}");
    }
}
