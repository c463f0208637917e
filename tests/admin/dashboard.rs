//! The Grafana dashboard can be imported, and asks for nothing that a real gateway does not show.

use crate::queries;
use crate::reference::of_a_fleet;
use crate::scene::{Watched, with_everything};
use crate::support::agents::GPTBOT;
use crate::support::{Nginx, get, until};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

fn dashboard() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conf/grafana/robots-gateway.json");
    let text = std::fs::read_to_string(path).expect("the dashboard is shipped");
    serde_json::from_str(&text).expect("the dashboard is JSON")
}

/// All values of `key`, however deep.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get(key));
            fields.values().for_each(|value| all(value, key, found));
        }
        Value::Array(items) => items.iter().for_each(|value| all(value, key, found)),
        _ => {}
    }
}

fn of_key<'v>(value: &'v Value, key: &str) -> Vec<&'v Value> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found
}

#[track_caller]
fn str_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no string: {value}"))
}

#[test]
fn every_metric_and_label_it_names_exists() {
    let origin = Nginx::start();
    let watched = Watched::start(with_everything(&origin));
    watched.gateway.send(&get("/private").by(GPTBOT));
    let metrics = until("the request is counted by crawler", || {
        let metrics = watched.metrics();
        let is_counted = metrics.samples("robots_gateway_crawler_requests_total").next().is_some();
        is_counted.then_some(metrics)
    });
    let (mut known, dashboard) = (metrics.names(), dashboard());
    let fleet = of_a_fleet();
    known.extend(
        fleet.iter().map(|(name, labels)| (name.as_str(), labels.iter().map(String::as_str).collect())),
    );
    let mut queries = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = str_of(&target["expr"]);
            assert_eq!(queries::faults(query, &known), Vec::<String>::new(), "{query}");
            queries.insert(query.replace("$__rate_interval", "5m").replace("$__range", "1d"));
            let legend = target["legendFormat"].as_str().unwrap_or_default();
            for label in legend.split("{{").skip(1).filter_map(|rest| rest.split("}}").next()) {
                let is_kept = query.contains(&format!("{label},"))
                    || query.contains(&format!("{label})"))
                    || !query.contains(" by (");
                assert!(is_kept, "the legend {legend} needs {label}: {query}");
            }
        }
    }
    for variable in dashboard["templating"]["list"].as_array().expect("variables") {
        if variable["type"] == "query" {
            let query = str_of(&variable["definition"]);
            let inside = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')'));
            let (selector, label) =
                inside.and_then(|inside| inside.rsplit_once(", ")).expect("label_values(metric, label)");
            assert_eq!(
                queries::faults(&format!("sum by ({label}) ({selector})"), &known),
                Vec::<String>::new()
            );
        }
    }
    assert!(queries.len() >= 15, "only {} queries seen", queries.len());
    queries::are_promql(&queries);
}

#[test]
fn it_can_be_imported() {
    let dashboard = dashboard();
    let inputs = dashboard["__inputs"].as_array().expect("inputs");
    assert_eq!(inputs.len(), 1);
    assert_eq!((&inputs[0]["type"], &inputs[0]["pluginId"]), (&"datasource".into(), &"prometheus".into()));
    let name = format!("${{{}}}", str_of(&inputs[0]["name"]));
    for uid in of_key(&dashboard["panels"], "uid") {
        assert_eq!(uid, &name, "every panel asks the chosen source");
    }
    assert!(dashboard["id"].is_null(), "an id would be another dashboard's");
    assert!(dashboard["schemaVersion"].as_u64() >= Some(36));
    assert_eq!(dashboard["uid"], "robots-gateway");
    let ids = of_key(&dashboard["panels"], "id");
    let unlike: BTreeSet<_> = ids.iter().filter_map(|id| id.as_u64()).collect();
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(unlike.len() >= panels.len(), "two panels share an id");
    for panel in panels {
        assert!(!str_of(&panel["title"]).is_empty());
        if panel["type"] != "row" {
            assert!(
                panel["targets"].as_array().is_some_and(|targets| !targets.is_empty()),
                "{}",
                panel["title"]
            );
            assert!(!str_of(&panel["description"]).is_empty(), "{}", panel["title"]);
        }
    }
}

#[test]
fn panels_do_not_lie_on_each_other() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("panels") {
        let place = |key: &str| panel["gridPos"][key].as_u64().expect("a place");
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} lies on another panel", panel["title"]);
            }
        }
    }
}
