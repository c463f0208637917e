//! Files of address ranges, as operators of crawlers publish them → networks.
//!
//! JSON in the shapes in use, plain lists of addresses and networks with comments, and CSV as RFC 8805
//! has it, whose first column counts. The shape is told by the first byte, not by the name. Not here:
//! where the files lie, how old they may be and what they prove (`policy::proof`).

use super::faults::{ConfigError, text_of};
use crate::record::digest;
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

/// More networks than anybody crawls from; a file with more is not what it was taken for.
const MOST_NETWORKS: usize = 200_000;

/// The longest name made of a URL without shortening it, in bytes.
const LONGEST_NAME: usize = 120;

/// What a file of ranges says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeFile {
    /// The networks, at least one. A single address is a network of its own.
    pub networks: Prefixes,
    /// For which services of its publisher a network is, where the list says so (draft-illyes-webbotauth-jafar).
    pub services: HashMap<Network, Vec<Box<str>>>,
    /// When the publisher made the list, where the file tells.
    pub created: Option<SystemTime>,
}

/// Reads a file of ranges.
///
/// # Errors
/// The first thing that is wrong, with line and column. A file without any network is wrong: it would
/// turn every true crawler into a false one.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<RangeFile, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let (text, page) = (text_of(path, bytes, "list")?, "a web page, and no list of address ranges");
    let file = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json(path, text)?,
        Some(b'<') => return Err(ConfigError::at(path, text, Some(0..0), page)),
        _ => RangeFile { networks: lines(path, text)?, ..RangeFile::default() },
    };
    match file.networks.len() {
        0 => Err(ConfigError::whole(path, "no address range in the list")),
        1..=MOST_NETWORKS => Ok(file),
        _ => Err(ConfigError::whole(path, format!("more than {MOST_NETWORKS} address ranges"))),
    }
}

/// One network for each line; what follows `#` or `;` is a comment, what follows a comma another column.
fn lines(path: &Path, text: &str) -> Result<Prefixes, ConfigError> {
    let mut networks = Prefixes::default();
    let mut header_allowed = true;
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.split(['#', ';']).next().unwrap_or_default();
        let column = content.split(',').next().unwrap_or_default();
        let written = column.trim().trim_matches('"');
        if written.is_empty() {
            continue;
        }
        match network(written) {
            Ok(network) => networks.insert(network),
            // A CSV may open with the names of its columns.
            Err(_) if header_allowed && content.contains(',') && !written.contains(['.', ':', '/']) => {}
            Err(message) => {
                let column = column.chars().take_while(|symbol| symbol.is_whitespace()).count() + 1;
                let (line, column) = (Some(number), Some(column));
                return Err(ConfigError { line, column, ..ConfigError::whole(path, message) });
            }
        }
        header_allowed = false;
    }
    Ok(networks)
}

/// A network, or an address as a network of its own. One that covers a large part of the internet can only
/// be a slip, and would confirm everybody.
fn network(written: &str) -> Result<Network, String> {
    let network: Network = written.parse().map_err(|_| {
        let shown: String = written.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect();
        format!(
            "invalid address range `{shown}`: expected a network such as `192.0.2.0/24` or `2001:db8::/32`"
        )
    })?;
    let least = if network.address().is_ipv4() { 8 } else { 16 };
    if network.prefix() < least {
        return Err(format!("`{network}` covers a large part of the internet"));
    }
    Ok(network)
}

/// Whether a version of the shape of JSON, or of its media type, means what is read here. A higher one than 1 may mean
/// something else by the same words.
pub fn is_understood(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u64>().ok()).is_some_and(|major| major <= 1)
}

/// The name of the file in which the list at `url` is kept.
///
/// It is the URL without its scheme, each `/` made `_`. Where other characters had to be replaced, or the
/// name cut, eight hex digits of the URL's SHA-256 keep it apart from others:
/// `https://openai.com/gptbot.json` is kept in `openai.com_gptbot.json`.
pub fn file_name(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || matches!(symbol, '.' | '-');
    let name: String = bare.chars().map(|c| if plain(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    if name.len() == bare.len() && bare.chars().all(|c| plain(c) || c == '/') {
        return name;
    }
    format!("{name}-{}", digest(bare.as_bytes()).get(..8).unwrap_or_default())
}

/// Where a document has its lists; the first is the document itself.
const LISTS: [&str; 6] =
    ["", "/prefixes", "/ipv6_prefixes", "/ips", "/synthetics/prefixes_ipv4", "/synthetics/prefixes_ipv6"];

/// The keys of an object that names a network.
const NETWORK_KEYS: [&str; 5] = ["ipv4Prefix", "ipv6Prefix", "ip_prefix", "ipv6_prefix", "ip_address"];

/// Reads one of the shapes of JSON in which address ranges are published: `prefixes[]` with `ipv4Prefix` or `ipv6Prefix`
/// (Google, Microsoft, OpenAI and most others), with `ip_prefix` beside `ipv6_prefixes[]` with `ipv6_prefix` (Amazon),
/// `ips[]` with `ip_address` (Ahrefs), `synthetics` with `prefixes_ipv4[]` and `prefixes_ipv6[]` (Datadog), and plain arrays
/// of texts. Keys that are not known say nothing, so that a publisher may add some.
fn json(path: &Path, text: &str) -> Result<RangeFile, ConfigError> {
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
        file.networks.insert(network);
        // A list of names or, as the draft once had it, one.
        let services = element.get("services").or_else(|| element.get("service"));
        let services =
            services.map(|all| all.as_array().map_or_else(|| std::slice::from_ref(all), Vec::as_slice));
        let services = services.unwrap_or_default().iter().filter_map(Value::as_str).map(Into::into);
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

/// A time with or without its zone; without one it is UTC.
fn time(text: &str) -> Option<SystemTime> {
    let instant = || text.parse::<Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    instant().or_else(civil).map(SystemTime::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::{Duration, UNIX_EPOCH};

    fn read(text: &str) -> Result<Vec<String>, String> {
        let file = parse(Path::new("list"), text.as_bytes());
        file.map(|file| file.networks.networks().map(|network| network.to_string()).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn plain_lists_have_comments_blank_lines_and_both_families() {
        let list = "\u{feff}# robots\r\n\r\n192.0.2.7\r\n198.51.100.0/24 # more\n; odd\n  2001:db8::/32\n2001:db8::9";
        assert_eq!(
            read(list).unwrap(),
            ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32", "2001:db8::9/128"]
        );
    }

    #[test]
    fn of_a_geofeed_the_first_column_counts() {
        let feed = "prefix,country,region,city,postal\n192.0.2.0/25,US,US-AL,,\n\"2001:db8::/48\",PL,,,\n";
        assert_eq!(read(feed).unwrap(), ["192.0.2.0/25", "2001:db8::/48"]);
    }

    #[test]
    fn a_fault_has_its_place() {
        for (text, expected) in [
            ("192.0.2.0/24\n\n  nonsense\n", "list:3:3: invalid address range `nonsense`"),
            ("192.0.2.0/24\nprefix,country\n", "list:2:1: invalid address range `prefix`"),
            ("prefix,country\nprefix,country\n", "list:2:1: invalid address range `prefix`"),
            ("192.0.2.0/33\n", "list:1:1: invalid address range `192.0.2.0/33`"),
            ("0.0.0.0/0\n", "list:1:1: `0.0.0.0/0` covers a large part of the internet"),
            ("192.0.2.0/24\n2000::/3\n", "list:2:1: `2000::/3` covers"),
            ("<!doctype html>\n", "list:1:1: a web page"),
            ("", "list: no address range"),
            ("# nothing\n", "list: no address range"),
            ("a,b\n", "list: no address range"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let error = parse(Path::new("list"), b"192.0.2.1\n\xff\n").unwrap_err();
        assert_eq!(error.to_string(), "list:2:1: the list is not UTF-8");
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut state = 9_u32;
        for length in 0..400 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"{[\"1.:/,#}]x\n\xff"[(state >> 24) as usize % 14]
                })
                .collect();
            let _ = parse(Path::new("list"), &bytes);
        }
        let deep = "[".repeat(100_000);
        assert!(read(&deep).is_err());
        assert!(read(&format!("{{\"x\":{deep}")).is_err());
    }

    #[test]
    fn names_are_readable_and_differ() {
        assert_eq!(file_name("https://openai.com/gptbot.json"), "openai.com_gptbot.json");
        assert_eq!(file_name("https://my.pingdom.com/probes/ipv4"), "my.pingdom.com_probes_ipv4");
        let odd = file_name("https://a.example/x_y?z=1");
        assert!(
            odd.starts_with("a.example_x_y_z_1-") && odd.len() == "a.example_x_y_z_1-".len() + 8,
            "{odd}"
        );
        let urls = ["https://a.b/x_y", "https://a.b/x/y", "https://a.b/x?y", "https://a.b/x%y"];
        let names: HashSet<String> = urls.iter().map(|url| file_name(url)).collect();
        assert_eq!(names.len(), urls.len());
        let harmless = |name: &String| !name.contains(['/', '\0']) && !name.starts_with('.');
        assert!(names.iter().all(harmless), "{names:?}");
        assert!(file_name(&format!("https://a.b/{}", "x".repeat(4_000))).len() < 140);
    }

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
    fn a_fault_of_json_has_its_place() {
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
