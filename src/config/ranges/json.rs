//! The shapes of JSON in which address ranges are published.
//!
//! `prefixes[]` with `ipv4Prefix` or `ipv6Prefix` (Google, Microsoft, OpenAI and most others), with
//! `ip_prefix` beside `ipv6_prefixes[]` with `ipv6_prefix` (Amazon), `ips[]` with `ip_address` (Ahrefs),
//! `synthetics` with `prefixes_ipv4[]` and `prefixes_ipv6[]` (Datadog), and plain arrays of texts. Keys
//! that are not known say nothing, so that a publisher may add some.

use super::{RangeFile, network};
use crate::config::error::ConfigError;
use crate::request::address::Network;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::time::SystemTime;

/// The version of the shape that is understood; a higher one may mean something else by the same keys.
const FORMAT_VERSION: u64 = 1;

pub(super) fn parse(path: &Path, text: &str) -> Result<RangeFile, ConfigError> {
    let parsed = if text.trim_start().starts_with('[') {
        serde_json::from_str(text)
            .map(|prefixes| Document { prefixes: Some(prefixes), ..Document::default() })
    } else {
        serde_json::from_str(text)
    };
    let document: Document = parsed.map_err(|error| ConfigError {
        path: path.to_owned(),
        line: Some(error.line().max(1)),
        column: Some(error.column().max(1)),
        message: without_place(&error),
        hint: None,
    })?;
    let created = document.created.as_str().and_then(time);
    let mut file = RangeFile { networks: Vec::new(), services: Vec::new(), created };
    for Element { texts, services } in document.elements() {
        let read = |written: &String| {
            let quoted = text.find(&format!("\"{written}\""));
            network(written).map_err(|why| ConfigError::at(path, text, quoted.map(|at| at..at), why))
        };
        let networks: Vec<Network> = texts.iter().map(read).collect::<Result<_, _>>()?;
        if let [network] = *networks {
            file.networks.push(network);
            file.services.extend(services.into_iter().map(|service| (network, service.into())));
        }
    }
    Ok(file)
}

/// `serde_json` ends its messages with the place, which stands before them already.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    #[serde(rename = "creationTime")]
    created: Value,
    #[serde(rename = "formatVersion")]
    _format: Option<FormatVersion>,
    prefixes: Option<Vec<Element>>,
    ipv6_prefixes: Option<Vec<Element>>,
    ips: Option<Vec<Element>>,
    synthetics: Option<Synthetics>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Synthetics {
    prefixes_ipv4: Option<Vec<Element>>,
    prefixes_ipv6: Option<Vec<Element>>,
}

impl Document {
    fn elements(self) -> impl Iterator<Item = Element> {
        let Synthetics { prefixes_ipv4, prefixes_ipv6 } = self.synthetics.unwrap_or_default();
        [self.prefixes, self.ipv6_prefixes, self.ips, prefixes_ipv4, prefixes_ipv6]
            .into_iter()
            .flatten()
            .flatten()
    }
}

/// The keys of an object that names a network.
const NETWORK_KEYS: [&str; 5] = ["ipv4Prefix", "ipv6Prefix", "ip_prefix", "ipv6_prefix", "ip_address"];

/// One element: a text, or an object with one key that names a network. With none of them, or with two
/// that disagree about what is meant, it says nothing.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
struct Element {
    texts: Vec<String>,
    services: Vec<String>,
}

impl TryFrom<Value> for Element {
    type Error = String;

    fn try_from(written: Value) -> Result<Self, String> {
        let expected = || "expected an address range, or an object that holds one".to_owned();
        let values: Vec<&Value> = match &written {
            Value::String(_) => vec![&written],
            Value::Object(object) => NETWORK_KEYS.iter().filter_map(|key| object.get(*key)).collect(),
            _ => return Err(expected()),
        };
        let mut texts = Vec::new();
        for value in values.into_iter().filter(|value| !value.is_null()) {
            texts.push(value.as_str().ok_or_else(expected)?.trim().to_owned());
        }
        // Some publishers leave a key empty.
        texts.retain(|text| !text.is_empty());
        // A list of names or, as the draft once had it, one.
        let services = match written.get("services").or_else(|| written.get("service")) {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(name)) => vec![name.clone()],
            _ => Vec::new(),
        };
        Ok(Self { texts, services })
    }
}

/// A `formatVersion` that is understood: a text such as `1.0`, or a number.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
struct FormatVersion;

impl TryFrom<Value> for FormatVersion {
    type Error = String;

    fn try_from(written: Value) -> Result<Self, String> {
        let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
        let major = text.split('.').next().and_then(|major| major.parse::<u64>().ok());
        if major.is_some_and(|major| major <= FORMAT_VERSION) {
            return Ok(Self);
        }
        let shown: String = text.chars().take(20).filter(|symbol| !symbol.is_control()).collect();
        Err(format!("`formatVersion` {shown} is newer than {FORMAT_VERSION}, which is understood"))
    }
}

/// A time with or without its zone; without one it is UTC.
fn time(text: &str) -> Option<SystemTime> {
    let instant = || text.parse::<Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    instant().or_else(civil).map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::super::{RangeFile, parse};
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    fn file(text: &str) -> Result<RangeFile, String> {
        parse(Path::new("list.json"), text.as_bytes()).map_err(|error| error.to_string())
    }

    fn networks(text: &str) -> Vec<String> {
        file(text).unwrap().networks.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn prefixes_of_either_family() {
        let text = r#"{"creationTime": "2026-08-15T14:30:00.000000", "syncToken": 7, "prefixes": [
            {"ipv6Prefix": "2001:db8:10::/64", "service": "crawl"}, {"ipv4Prefix": "192.0.2.0/27"},
            {"ipv4Prefix": "198.51.100.7"}, {}, {"service": "x"},
            {"ipv4Prefix": "203.0.113.0/24", "ipv6Prefix": "2001:db8::/48"}, {"ipv4Prefix": null},
            {"ipv4Prefix": " 192.0.2.64/27 ", "ipv6Prefix": ""}, " ", {"ipv6Prefix": "\t"}]}"#;
        let read = file(text).unwrap();
        assert_eq!(networks(text), ["2001:db8:10::/64", "192.0.2.0/27", "198.51.100.7/32", "192.0.2.64/27"]);
        assert_eq!(read.created, Some(UNIX_EPOCH + Duration::from_secs(1_786_804_200)));
        let without = file(r#"{"prefixes":[{"ipv4Prefix":"192.0.2.1"}]}"#).unwrap();
        assert_eq!(without.created, None);
        let zoned = r#"{"creationTime":"2026-08-15T14:30:00Z","prefixes":["192.0.2.1"]}"#;
        assert_eq!(file(zoned).unwrap().created, read.created);
    }

    #[test]
    fn networks_are_for_the_services_that_are_named() {
        let text = r#"{"prefixes": [{"ipv4Prefix": "192.0.2.0/24", "services": ["FooBot", "FooBot-Image"]},
            {"ipv4Prefix": "192.0.2.64/27", "services": []}, {"ipv6Prefix": "2001:db8::/48", "service": "BarBot"},
            {"ipv4Prefix": "198.51.100.0/24", "services": {"a": 1}}]}"#;
        let read = file(text).unwrap();
        let services = read.services.iter().map(|(network, service)| format!("{network} {service}"));
        let expected = ["192.0.2.0/24 FooBot", "192.0.2.0/24 FooBot-Image", "2001:db8::/48 BarBot"];
        assert_eq!(
            (services.collect::<Vec<_>>(), read.networks.len()),
            (expected.map(str::to_owned).to_vec(), 4)
        );
    }

    #[test]
    fn the_other_shapes() {
        let amazon = r#"{"syncToken":"1","createDate":"2026-08-20-21-07-11",
            "prefixes":[{"ip_prefix":"192.0.2.0/24","region":"x","service":"AMAZON"}],
            "ipv6_prefixes":[{"ipv6_prefix":"2001:db8::/40","service":"AMAZON"}]}"#;
        assert_eq!(networks(amazon), ["192.0.2.0/24", "2001:db8::/40"]);
        let ahrefs = r#"{"ips":[{"ip_address":"192.0.2.9"},{"ip_address":"2001:db8::9"}]}"#;
        assert_eq!(networks(ahrefs), ["192.0.2.9/32", "2001:db8::9/128"]);
        let datadog = r#"{"version":42,"modified":"2026-08-20","agents":{"prefixes_ipv4":["203.0.113.0/24"]},
            "synthetics":{"prefixes_ipv4":["192.0.2.3/32"],"prefixes_ipv4_by_location":{"a":["192.0.2.4/32"]},
            "prefixes_ipv6":[]}}"#;
        assert_eq!(networks(datadog), ["192.0.2.3/32"]);
        assert_eq!(networks(r#"["192.0.2.0/24", "2001:db8::1"]"#), ["192.0.2.0/24", "2001:db8::1/128"]);
    }

    #[test]
    fn a_newer_format_is_refused() {
        for good in [r#""1.0""#, r#""1.7""#, "1", r#""0.9""#] {
            let text = format!(r#"{{"formatVersion":{good},"prefixes":["192.0.2.1"]}}"#);
            assert!(file(&text).is_ok(), "{good}");
        }
        for bad in [r#""2.0""#, "2", r#""10""#, r#""new""#, "{}", "-1"] {
            let text = format!(r#"{{"formatVersion":{bad},"prefixes":["192.0.2.1"]}}"#);
            assert!(file(&text).unwrap_err().contains("`formatVersion`"), "{bad}");
        }
    }

    #[test]
    fn a_fault_has_its_place() {
        for (text, expected) in [
            ("{\"prefixes\": [\n  {\"ipv4Prefix\": \"192.0.2.0/99\"}\n]}", "list.json:2:"),
            ("{\"prefixes\": [\n\n  7]}", "list.json:3:"),
            ("{\"prefixes\": [\n", "list.json:2:"),
            ("{\"prefixes\": {}}", "list.json:1:"),
            ("{\"prefixes\": [\"::/0\"]}", "list.json:1:"),
        ] {
            let error = file(text).unwrap_err();
            assert!(error.starts_with(expected) && !error.contains("at line"), "{error}");
        }
        assert!(file("{}").unwrap_err().contains("no address range"));
        assert!(file(r#"{"prefixes":[{}]}"#).unwrap_err().contains("no address range"));
    }
}
