//! `docs/metrics.md` lists what a real `/metrics` shows: every metric with its labels, and nothing else.

use crate::queries;
use crate::scene::{Watched, with_everything};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Nginx, get, until};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    std::fs::read_to_string(path).expect("the reference is shipped")
}

/// Metrics that only members of a fleet show, with their labels.
pub(crate) fn of_a_fleet() -> BTreeMap<String, BTreeSet<String>> {
    let rows = rows(&reference()).into_iter().map(|(name, (_, labels))| (name, labels));
    rows.filter(|(name, _)| name.starts_with("robots_gateway_fleet_")).collect()
}

/// Rows `| name | type | labels | meaning |` of its tables.
fn rows(text: &str) -> BTreeMap<String, (String, BTreeSet<String>)> {
    let mut rows = BTreeMap::new();
    let is_metric = |line: &&str| line.starts_with("| `robots_gateway_") || line.starts_with("| `process_");
    for line in text.lines().filter(is_metric) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, labels, meaning] = cells[..] else { panic!("four cells expected: {line}") };
        assert!(!meaning.is_empty(), "{line}");
        let labels = labels.split(',').map(|label| label.trim().trim_matches('`').to_owned());
        let labels = labels.filter(|label| !label.is_empty()).collect();
        let name = name.trim_matches('`').to_owned();
        assert!(rows.insert(name, (kind.to_owned(), labels)).is_none(), "twice: {line}");
    }
    rows
}

#[test]
fn it_lists_what_is_shown_and_nothing_else() {
    let origin = Nginx::start();
    let watched = Watched::start(with_everything(&origin));
    watched.gateway.send(&get("/private").by(GPTBOT));
    watched.gateway.send(&get("/private").by(CHROME).with("X-Forwarded-For", "20.9.1.7"));
    let metrics = until("the request is counted by crawler", || {
        let metrics = watched.metrics();
        let is_counted = metrics.samples("robots_gateway_crawler_requests_total").next().is_some();
        is_counted.then_some(metrics)
    });
    let shown: BTreeMap<String, (String, BTreeSet<String>)> = metrics
        .families
        .iter()
        .map(|(name, family)| {
            let labels = family.samples.iter().flat_map(|sample| sample.labels.keys());
            (name.clone(), (family.kind.clone(), labels.filter(|label| *label != "le").cloned().collect()))
        })
        .collect();
    let mut rows = rows(&reference());
    // What only members of a fleet show is looked at where there is one.
    rows.retain(|name, _| !name.starts_with("robots_gateway_fleet_"));
    assert_eq!(rows, shown);
}

/// The expressions of the alerts: on the line of `expr`, or on the lines below it where that is `>-`.
fn alerts() -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conf/prometheus/robots-gateway.rules.yml");
    let text = std::fs::read_to_string(path).expect("the alerts are shipped");
    let expression = |rest: &str| match rest.split_once('\n') {
        Some((">-", below)) => {
            let lines = below.lines().take_while(|line| line.starts_with("          "));
            lines.map(str::trim).collect::<Vec<_>>().join(" ")
        }
        other => other.map_or(rest, |(line, _)| line).to_owned(),
    };
    text.split("        expr: ").skip(1).map(expression).collect()
}

#[test]
fn the_alerts_can_be_asked() {
    let origin = Nginx::start();
    let watched = Watched::start(with_everything(&origin));
    let metrics = watched.metrics();
    let known = metrics.names();
    let queries = alerts();
    assert!(queries.len() >= 13, "{queries:?}");
    // What only members of a fleet show is not here.
    for query in queries.iter().filter(|query| !query.contains("robots_gateway_fleet_")) {
        assert_eq!(queries::faults(query, &known), Vec::<String>::new(), "{query}");
    }
    queries::are_promql(&queries);
}
