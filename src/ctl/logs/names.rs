//! What is known of the lines that servers and loggers write: `formats.toml`.

use super::time;
use regex::bytes::Regex;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

/// What is needed of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, strum::EnumCount)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogField {
    /// The address of whoever connected.
    Address,
    /// The addresses in `X-Forwarded-For`, the client's first.
    ForwardedFor,
    /// When, or the time of day alone where `Day` has the day.
    Time,
    Day,
    /// Method, target and version in one (RFC 9112 §3).
    RequestLine,
    Method,
    Target,
    Path,
    Query,
    Host,
    PlainHost,
    Status,
    /// How many bytes the answer had.
    Size,
    UserAgent,
    Rewritten,
    /// A whole object.
    Json,
    /// A key of logstash's own, `@version` or `@timestamp`.
    Logstash,
}

/// A field, and how much the name under which it stands is trusted: the smaller the number, the more.
pub(super) type NamedField = (LogField, usize);

/// The file, as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogFormats {
    pub(super) lines: Vec<String>,
    pub(super) times: Vec<String>,
    pub(super) wrappers: Vec<String>,
    prefixes: Vec<String>,
    names: BTreeMap<LogField, String>,
    pub(super) letters: BTreeMap<String, String>,
    looks: BTreeMap<String, String>,
    agents: Vec<(String, i32)>,
    pub(super) tables: Vec<String>,
    remedies: Vec<LogRemedy>,
}

#[derive(Debug, Deserialize)]
pub(super) struct LogRemedy {
    start: String,
    pub(super) remedy: String,
    #[serde(default)]
    pub(super) is_other: bool,
}

pub(super) static FORMATS: LazyLock<LogFormats> =
    LazyLock::new(|| toml::from_str(include_str!("formats.toml")).unwrap_or_default());

/// What stands under a name, which is in small letters and digits alone.
pub(super) static NAMES: LazyLock<HashMap<&[u8], NamedField>> = LazyLock::new(|| {
    let named = |(field, names): (&LogField, &'static String)| {
        let field = *field;
        names.split_ascii_whitespace().enumerate().map(move |(place, name)| (name.as_bytes(), (field, place)))
    };
    FORMATS.names.iter().flat_map(named).collect()
});

static PREFIXES: LazyLock<Vec<Regex>> =
    LazyLock::new(|| FORMATS.prefixes.iter().filter_map(|prefix| regex(&format!("^(?:{prefix})"))).collect());

/// What the texts of a field look like.
pub(super) static LOOKS: LazyLock<HashMap<&str, Regex>> =
    LazyLock::new(|| FORMATS.looks.iter().filter_map(|(what, look)| Some((&**what, regex(look)?))).collect());

/// What a `User-Agent` looks like, and how much that says.
pub(super) static AGENTS: LazyLock<Vec<(Regex, i32)>> =
    LazyLock::new(|| FORMATS.agents.iter().filter_map(|(look, says)| Some((regex(look)?, *says))).collect());

fn regex(pattern: &str) -> Option<Regex> {
    Regex::new(&format!("(?s-u){pattern}")).ok()
}

/// A name in small letters and digits alone, behind what `spoken` holds already.
pub(super) fn speak(name: &[u8], spoken: &mut Vec<u8>) {
    spoken.extend(name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase));
}

/// What stands under a name as it is written.
pub(super) fn field_named(name: &[u8]) -> Option<NamedField> {
    let mut spoken = Vec::with_capacity(name.len());
    speak(name, &mut spoken);
    NAMES.get(&*spoken).copied()
}

/// How many loggers one behind the other put something in front of a line.
const MOST_PREFIXES: usize = 4;

/// A line without what loggers have put in front of it, and the time that they gave it.
pub(super) fn without_prefix(mut line: &[u8]) -> (&[u8], Option<i64>) {
    let mut at = None;
    for _ in 0..MOST_PREFIXES {
        let Some(found) = PREFIXES.iter().find_map(|prefix| prefix.captures(line)) else { break };
        at = found.name("time").and_then(|time| time::any(time.as_bytes())).or(at);
        let start = found.get(0).map_or(0, |whole| whole.end());
        line =
            found.name("rest").map_or_else(|| line.get(start..).unwrap_or_default(), |rest| rest.as_bytes());
    }
    (line, at)
}

/// How to have a server log what it does not; its log begins with `start`.
pub(super) fn remedy(start: &[u8]) -> Option<&'static LogRemedy> {
    FORMATS.remedies.iter().find(|known| regex(&known.start).is_some_and(|mark| mark.is_match(start)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_file_can_be_read_and_each_name_stands_once() {
        let formats: LogFormats = toml::from_str(include_str!("formats.toml")).unwrap();
        assert_eq!(PREFIXES.len(), formats.prefixes.len());
        assert!(formats.remedies.iter().all(|known| regex(&known.start).is_some()));
        assert_eq!((LOOKS.len(), AGENTS.len()), (formats.looks.len(), formats.agents.len()));
        let mut seen = HashSet::new();
        for name in formats.names.values().flat_map(|names| names.split_ascii_whitespace()) {
            assert!(seen.insert(name), "{name}");
            let mut spoken = Vec::new();
            speak(name.as_bytes(), &mut spoken);
            assert_eq!(spoken, name.as_bytes(), "{name}");
        }
    }

    #[test]
    fn case_and_punctuation_do_not_matter() {
        for name in ["cs(User-Agent)", "cs-user-agent", "CS_USER_AGENT"] {
            assert_eq!(
                field_named(name.as_bytes()).map(|found| found.0),
                Some(LogField::UserAgent),
                "{name}"
            );
        }
        assert_eq!(field_named(b"upstream_response_time"), None);
    }

    #[test]
    fn what_loggers_put_in_front_is_taken_off() {
        for (line, rest) in [
            ("<190>1 2025-12-19T13:40:30.1Z web nginx 1 access [meta a=\"1\"][b] x y", "x y"),
            ("2025-12-19T13:40:30Z stdout F Dec  9 13:40:30 web nginx[1]: x y", "x y"),
            ("2025-12-19T13:40:30Z {app=\"nginx\"} x y", "x y"),
            (
                "2025-12-19T13:40:30+00:00 203.0.113.7 \"GET / HTTP/1.1\"",
                "2025-12-19T13:40:30+00:00 203.0.113.7 \"GET / HTTP/1.1\"",
            ),
            ("web-1  | x y", "x y"),
            ("a | b | c", "a | b | c"),
            ("\"192.0.2.1\" \"-\" \"x\"", "\"192.0.2.1\" \"-\" \"x\""),
        ] {
            assert_eq!(without_prefix(line.as_bytes()).0, rest.as_bytes(), "{line}");
        }
    }
}
