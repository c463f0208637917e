//! What is promised to programs in `docs/report-schema.json`, held against real reports.
//!
//! The schema uses a small part of JSON Schema, and this knows exactly that part: a keyword that it does not
//! know fails the test.

use crate::ledger::send_all;
use crate::place::{ReportPlace, stop};
use serde_json::{Value, json};

fn schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report-schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).expect("the schema")).expect("JSON")
}

/// Everything in `value` that `schema` does not allow, each with its place.
fn faults(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (keyword, wanted) in schema.as_object().expect("a schema") {
        match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => {}
            "$ref" => {
                let pointer = wanted.as_str().expect("a reference").trim_start_matches('#');
                found.extend(faults(root, root.pointer(pointer).expect("a definition"), value, place));
            }
            "properties" | "items" => found.extend(inside(root, schema, keyword, value, place)),
            _ if !fits(schema, keyword, wanted, value) => {
                found.push(format!("{place}: {value} is against {keyword} {wanted}"));
            }
            _ => {}
        }
    }
    found
}

fn inside(root: &Value, schema: &Value, keyword: &str, value: &Value, place: &str) -> Vec<String> {
    let wanted = &schema[keyword];
    if keyword == "items" {
        let items = value.as_array().into_iter().flatten().enumerate();
        return items.flat_map(|(at, item)| faults(root, wanted, item, &format!("{place}[{at}]"))).collect();
    }
    let fields = value.as_object().into_iter().flatten();
    let known = fields.filter_map(|(name, field)| Some((name, field, wanted.get(name)?)));
    known.flat_map(|(name, field, wanted)| faults(root, wanted, field, &format!("{place}.{name}"))).collect()
}

fn fits(schema: &Value, keyword: &str, wanted: &Value, value: &Value) -> bool {
    let one_or_many = |wanted: &Value| wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
    match keyword {
        "type" => one_or_many(wanted).iter().any(|kind| is(kind.as_str().expect("a type"), value)),
        "enum" => one_or_many(wanted).contains(value),
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")),
        "required" => value.as_object().is_none_or(|fields| {
            one_or_many(wanted).iter().all(|name| fields.contains_key(name.as_str().expect("a name")))
        }),
        "additionalProperties" => {
            assert_eq!(*wanted, json!(false));
            value
                .as_object()
                .is_none_or(|fields| fields.keys().all(|name| schema["properties"].get(name).is_some()))
        }
        "format" => {
            value.as_str().is_none_or(|time| time.len() == 24 && time.parse::<jiff::Timestamp>().is_ok())
        }
        "pattern" => value.as_str().is_none_or(|text| {
            assert_eq!(*wanted, "^[0-9a-f]{12}$", "the one pattern that this test knows");
            text.len() == 12 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        }),
        _ => panic!("the schema has a keyword `{keyword}` that this test does not know"),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "null" => value.is_null(),
        _ => panic!("unknown type {kind}"),
    }
}

#[test]
fn real_reports_are_what_the_schema_promises() {
    let place = ReportPlace::new();
    let gateway = place.start();
    send_all(&[gateway.address()], 600);
    stop(gateway);
    let (schema, report) = (schema(), place.json(&[]));
    assert!(report["crawlers"].as_array().is_some_and(|crawlers| crawlers.len() > 40), "{report}");
    assert_eq!(faults(&schema, &schema, &report, "report"), Vec::<String>::new());
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    // Their order is that of the schema, so that a person finds them.
    let mut promised = keys(&schema["properties"]);
    // Only the report of a fleet has the one, and only one with a past the other.
    promised.retain(|key| key != "fleet" && key != "before");
    assert_eq!(keys(&report), promised);
    assert_eq!(keys(&report["crawlers"][0]), keys(&schema["$defs"]["crawler"]["properties"]));
}

#[test]
fn rules_and_targets_add_up_however_few_are_asked_for() {
    let place = ReportPlace::new();
    let gateway = place.start();
    send_all(&[gateway.address()], 600);
    stop(gateway);
    let report = place.json(&["--top", "1"]);
    let sum = |entry: &Value, list: &str| -> u64 {
        let list = entry[list].as_array().expect("a list").iter();
        list.map(|item| item["count"].as_u64().expect("a count")).sum()
    };
    let mut most_rules = 0;
    for entry in report["crawlers"].as_array().expect("crawlers") {
        let told = |name: &str| entry[name].as_u64().expect("a count");
        assert_eq!(sum(entry, "rules"), told("violations") + told("stale") + told("variants"), "{entry}");
        assert_eq!(sum(entry, "paths"), told("requests"), "{entry}");
        assert!(entry["paths"].as_array().is_some_and(|paths| paths.len() <= 2), "{entry}");
        most_rules = entry["rules"].as_array().map_or(0, Vec::len).max(most_rules);
    }
    assert!(most_rules > 1, "somebody broke several rules: {report}");
}

#[test]
fn what_breaks_the_promise_is_found() {
    let place = ReportPlace::new();
    let gateway = place.start();
    send_all(&[gateway.address()], 60);
    stop(gateway);
    let (schema, report) = (schema(), place.json(&[]));
    for (pointer, wrong) in [
        ("/reads", json!("some")),
        ("/from", json!("2026-11-19")),
        ("/counts_lost", json!(-1)),
        ("/crawlers/0/requests", json!("7")),
        ("/crawlers/0/conduct", json!("bad")),
        ("/crawlers/0/last_read_version", json!("xyz")),
        ("/crawlers/0/paths/0", json!({"target": "/"})),
        (
            "/crawlers/0/crawl_delay",
            json!({"declared": null, "observed": null, "per_minute": null, "more": 1}),
        ),
    ] {
        let mut broken = report.clone();
        *broken.pointer_mut(pointer).expect("a field") = wrong;
        assert_eq!(faults(&schema, &schema, &broken, "report").len(), 1, "{pointer}");
    }
}
