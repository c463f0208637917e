//! Reading a file of settings, and gathering all that is wrong with it, so that an operator sees it at once.

use super::error::ConfigError;
use crate::identify::nearest_first;
use crate::robots::nearest;
use serde::de::DeserializeOwned;
use std::ops::{Range, RangeBounds};
use std::path::Path;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

/// How many faults of values are told of one file.
const MOST: usize = 50;

/// Keys that there are no more, and what has become of them.
const REMOVED: [(&str, &str); 3] = [
    ("human_words", "leave it out: robots.txt no longer makes a crawler of a browser or an app"),
    (
        "published",
        "remove it: what the gateway serves is enforced from the first request on, and what was served before it excuses \
         nobody from that; it only keeps violations from being counted until `notice` is over",
    ),
    ("nonces", "remove it: a signature is bound to a host and a time, and counts each time that it comes"),
];

/// A file, and the faults found in it so far.
pub(super) struct Faults<'a> {
    path: &'a Path,
    text: &'a str,
    /// The same, to find the places of values in.
    document: Spanned<DeTable<'a>>,
    found: Vec<ConfigError>,
}

impl<'a> Faults<'a> {
    /// Of a text; where it is no TOML, that is found.
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let mut found = Vec::new();
        let document = DeTable::parse(text).unwrap_or_else(|error| {
            found.push(ConfigError::at(path, text, error.span(), join_lines(error.message())));
            Spanned::new(0..0, DeTable::default())
        });
        Self { path, text, document, found }
    }

    /// What the document says. A wrong value does not hide another: it is reported, left out, and the rest is read
    /// again. Use the result only if no fault was found.
    pub(super) fn read<T: DeserializeOwned + Default>(&mut self) -> T {
        let mut left_out: Vec<String> = Vec::new();
        let mut rest = self.document.clone();
        for _ in 0..MOST {
            let error = match T::deserialize(Deserializer::from(rest.clone())) {
                Ok(value) => return value,
                Err(error) => error,
            };
            let span = error.span().unwrap_or_default();
            // What was left out is missed, and that is no fault of the file.
            let missing =
                error.message().strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
            if !missing.is_some_and(|(key, _)| left_out.iter().any(|name| name == key)) {
                let message = self.explain::<T>(&join_lines(error.message()), span.start);
                self.found.push(ConfigError::at(self.path, self.text, Some(span.clone()), message));
            }
            match leave_out(rest.get_mut(), &span) {
                Some(key) => left_out.push(key),
                None => break,
            }
        }
        T::default()
    }

    /// The parser's message in the words of this configuration.
    fn explain<T: DeserializeOwned>(&self, message: &str, at: usize) -> String {
        let header = self.text.get(at..).and_then(single_bracket);
        if let Some(name) = header.filter(|_| message.starts_with("invalid type: map, expected a sequence")) {
            return format!("invalid table `[{name}]`: expected `[[{name}]]`, because there may be several");
        }
        let unknown = |what| message.strip_prefix(what).and_then(|rest| rest.split_once("`, expected "));
        if let Some((word, expected)) = unknown("unknown variant `") {
            let known = expected.split('`').skip(1).step_by(2);
            return format!("invalid word `{word}`: expected one of {}", nearest_first(word, known));
        }
        let Some((key, expected)) = unknown("unknown field `") else { return in_plain_words(message) };
        if let Some((_, fate)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
            return format!("`{key}` is a key no more; {fate}");
        }
        let known = || expected.split('`').skip(1).step_by(2);
        if let Some(meant) = nearest(key, known()) {
            return format!("unknown key `{key}`; did you mean `{meant}`?");
        }
        if is_of_whole_file::<T>(key) {
            return format!(
                "`{key}` is a key of the whole file: write it above the first table, which begins with `[`"
            );
        }
        format!("unknown key `{key}`; the keys here are {}", nearest_first(key, known()))
    }

    /// A fault of the value of `key`, or of what is not written in the file: an option.
    ///
    /// The key comes after the tables and the places in arrays that it stands in: `listeners.0.address`. Where it is not
    /// written, the table that it would stand in has the fault.
    pub(super) fn push_at<'h>(
        &mut self,
        key: Option<&str>,
        message: impl Into<String>,
        hint: impl Into<Option<&'h str>>,
    ) {
        let error = match key.map(|key| self.nearest_place(key)) {
            Some(place) => ConfigError::at(self.path, self.text, place, message),
            None => ConfigError::whole(Path::new(""), message),
        };
        self.found.push(ConfigError { hint: hint.into().map(str::to_owned), ..error });
    }

    /// A fault of the value of `key`, unless it `is_fine`.
    pub(super) fn require<'h>(
        &mut self,
        is_fine: bool,
        key: &str,
        message: impl Into<String>,
        hint: impl Into<Option<&'h str>>,
    ) {
        if !is_fine {
            self.push_at(Some(key), message, hint);
        }
    }

    /// A value that is not within `range`; `fit` says what is.
    pub(super) fn within<T: PartialOrd>(
        &mut self,
        key: &str,
        value: &T,
        range: impl RangeBounds<T>,
        fit: &str,
    ) {
        let name = key.rsplit('.').next().unwrap_or(key);
        let message = format!("`{name}` is out of range");
        self.require(range.contains(value), key, message, format!("write {fit}").as_str());
    }

    /// Whether the file has `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    fn nearest_place(&self, key: &str) -> Option<Range<usize>> {
        let above = std::iter::successors(Some(key), |key| key.rsplit_once('.').map(|(above, _)| above));
        above.into_iter().find_map(|key| self.place(key))
    }

    fn place(&self, key: &str) -> Option<Range<usize>> {
        let mut keys = key.split('.');
        let mut value = self.document.get_ref().get(keys.next()?)?;
        for key in keys {
            value = match value.get_ref() {
                DeValue::Array(array) => array.get(key.parse::<usize>().ok()?)?,
                other => other.as_table()?.get(key)?,
            };
        }
        Some(value.span())
    }

    /// A fault of the whole file.
    pub(super) fn push_whole(&mut self, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::whole(self.path, message).with_hint(hint));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Those found, in the order of the file.
    pub(super) fn take(&mut self) -> Vec<ConfigError> {
        let mut found = std::mem::take(&mut self.found);
        found.sort_by_key(|error| (error.line, error.column));
        found
    }
}

/// Takes out what has a fault at `span`, and says which key that is, or stands in.
fn leave_out(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<String> {
    let own = table.iter().find(|(key, value)| key.span() == *span || value.span() == *span);
    if let Some(key) = own.map(|(key, _)| key.clone()) {
        table.remove(&key);
        return Some(key.into_inner().into_owned());
    }
    table.iter_mut().find_map(|(key, value)| leave_out_of_value(key.get_ref(), value.get_mut(), span))
}

fn leave_out_of_value(key: &str, value: &mut DeValue<'_>, span: &Range<usize>) -> Option<String> {
    if let DeValue::Table(table) = value {
        return leave_out(table, span);
    }
    let DeValue::Array(array) = value else { return None };
    let rest: DeArray<'_> = array.iter().filter(|element| element.span() != *span).cloned().collect();
    if rest.len() < array.len() {
        *array = rest;
        return Some(key.to_owned());
    }
    array.iter_mut().find_map(|element| leave_out_of_value(key, element.get_mut(), span))
}

/// A complaint about the type of a value, which `serde` words for whoever writes programs.
fn in_plain_words(message: &str) -> String {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, expected)) = rest.and_then(|rest| rest.split_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "usize" | "u64" => "a whole number",
        "u32" => "a whole number below 4294967296",
        "u16" => "a whole number below 65536",
        "a string" => "a text in quotes",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list in brackets, `[` and `]`",
        "a map" => "a table",
        expected if expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    let (kind, value) = found.split_once(' ').unwrap_or((found, ""));
    let found = match kind {
        "string" => format!("the text {value}"),
        "integer" | "boolean" | "floating" => {
            format!("`{}`", value.trim_start_matches("point ").trim_matches('`'))
        }
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    };
    format!("expected {expected}, and found {found}")
}

/// The name in `[name]`.
fn single_bracket(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.split_once(']').map(|(name, _)| name).filter(|name| !name.starts_with('['))
}

/// Whether `key` stands outside of all tables, as what is read there says itself.
fn is_of_whole_file<T: DeserializeOwned>(key: &str) -> bool {
    let error = toml::from_str::<T>("unknown-key = 1").map(drop).err();
    error.is_some_and(|error| error.message().contains(&format!("`{key}`")))
}

/// `toml` words some messages over two lines; an operator's log has one.
fn join_lines(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
