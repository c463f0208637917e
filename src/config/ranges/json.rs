//! The shapes of JSON in which address ranges are published.
//!
//! `prefixes[]` with `ipv4Prefix` or `ipv6Prefix` (Google, Microsoft, OpenAI and most others), with
//! `ip_prefix` beside `ipv6_prefixes[]` with `ipv6_prefix` (Amazon), `ips[]` with `ip_address` (Ahrefs),
//! `synthetics` with `prefixes_ipv4[]` and `prefixes_ipv6[]` (Datadog), and plain arrays of texts. Keys
//! that are not known say nothing, so that a publisher may add some.

use super::{RangeFile, is_understood, network};
use crate::config::error::ConfigError;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::path::Path;
use std::time::SystemTime;

/// Where a document has its lists; the first is the document itself.
const LISTS: [&str; 6] =
    ["", "/prefixes", "/ipv6_prefixes", "/ips", "/synthetics/prefixes_ipv4", "/synthetics/prefixes_ipv6"];

/// The keys of an object that names a network.
const NETWORK_KEYS: [&str; 5] = ["ipv4Prefix", "ipv6Prefix", "ip_prefix", "ipv6_prefix", "ip_address"];

pub(super) fn parse(path: &Path, text: &str) -> Result<RangeFile, ConfigError> {
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let (line, column) = (Some(error.line().max(1)), Some(error.column().max(1)));
        let message = error.to_string();
        // It ends with the place, which is told apart from it.
        let message = message.rsplit_once(" at line ").map_or(&*message, |(said, _)| said);
        ConfigError { line, column, ..ConfigError::whole(path, message) }
    })?;
    // A text such as `1.0`, or a number.
    let version = document.get("formatVersion");
    let version = version.map(|version| version.as_str().map_or_else(|| version.to_string(), str::to_owned));
    if let Some(version) = version.filter(|version| !is_understood(version)) {
        let version: String = version.chars().take(20).filter(|symbol| !symbol.is_control()).collect();
        let why = format!("`formatVersion` {version} is newer than 1, which is understood");
        return Err(ConfigError::whole(path, why));
    }
    let created = document.get("creationTime").and_then(Value::as_str).and_then(time);
    let mut file = RangeFile { created, ..RangeFile::default() };
    let lists = LISTS.iter().filter_map(|place| document.pointer(place)?.as_array());
    for element in lists.flatten() {
        let Some(written) = written(element).map_err(|why| ConfigError::whole(path, why))? else { continue };
        let quoted = text.find(&format!("\"{written}\""));
        let network = network(written.trim())
            .map_err(|why| ConfigError::at(path, text, quoted.map(|at| at..at), why))?;
        file.networks.extend([network]);
        // A list of names or, as the draft once had it, one.
        let services = element.get("services").or_else(|| element.get("service"));
        let services = services.into_iter().flat_map(each).filter_map(Value::as_str).map(Into::into);
        file.services.entry(network).or_default().extend(services);
    }
    Ok(file)
}

/// The network that an element names: a text, or an object with one key for it. With none of them, or with two
/// that disagree about what is meant, it says nothing; some publishers leave a key empty.
fn written(element: &Value) -> Result<Option<&str>, &'static str> {
    let values: Vec<&Value> = match element {
        Value::Object(object) => NETWORK_KEYS.iter().filter_map(|key| object.get(*key)).collect(),
        _ => vec![element],
    };
    let values = values.into_iter().filter(|value| !value.is_null());
    let texts: Option<Vec<&str>> = values.map(Value::as_str).collect();
    let mut texts = texts.ok_or("expected address ranges, or objects that hold one")?;
    texts.retain(|text| !text.trim().is_empty());
    Ok(if let [text] = *texts { Some(text) } else { None })
}

/// The elements of a list; what is none stands for itself.
fn each(value: &Value) -> &[Value] {
    value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice)
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
        file(text).unwrap().networks.networks().map(|network| network.to_string()).collect()
    }

    #[test]
    fn prefixes_of_either_family() {
        let text = r#"{"creationTime": "2026-08-15T14:30:00.000000", "syncToken": 7, "prefixes": [
            {"ipv6Prefix": "2001:db8:10::/64", "service": "crawl"}, {"ipv4Prefix": "192.0.2.0/27"},
            {"ipv4Prefix": "198.51.100.7"}, {}, {"service": "x"},
            {"ipv4Prefix": "203.0.113.0/24", "ipv6Prefix": "2001:db8::/48"}, {"ipv4Prefix": null},
            {"ipv4Prefix": " 192.0.2.64/27 ", "ipv6Prefix": ""}, " ", {"ipv6Prefix": "\t"}]}"#;
        let read = file(text).unwrap();
        assert_eq!(networks(text), ["192.0.2.0/27", "192.0.2.64/27", "198.51.100.7/32", "2001:db8:10::/64"]);
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
        let services = read.services.iter().filter(|(_, services)| !services.is_empty());
        let mut services: Vec<_> =
            services.map(|(network, services)| format!("{network} {}", services.join(" "))).collect();
        services.sort();
        let expected = ["192.0.2.0/24 FooBot FooBot-Image", "2001:db8::/48 BarBot"];
        assert_eq!((services, read.networks.len()), (expected.map(str::to_owned).to_vec(), 4));
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
            ("{\"prefixes\": [\n\n  7]}", "list.json: expected address ranges"),
            ("{\"prefixes\": [\n", "list.json:2:"),
            ("{\"prefixes\": {}}", "list.json: no address range"),
            ("{\"prefixes\": [\"::/0\"]}", "list.json:1:"),
        ] {
            let error = file(text).unwrap_err();
            assert!(error.starts_with(expected) && !error.contains("at line"), "{error}");
        }
        assert!(file("{}").unwrap_err().contains("no address range"));
        assert!(file(r#"{"prefixes":[{}]}"#).unwrap_err().contains("no address range"));
    }
}
