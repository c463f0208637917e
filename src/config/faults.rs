//! Reading a file of settings, and gathering all that is wrong with it, so that an operator sees it at once.

use super::error::ConfigError;
use crate::identify::nearest_first;
use crate::robots::nearest;
use serde::de::DeserializeOwned;
use std::ops::{Range, RangeInclusive};
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
    pub(super) found: Vec<ConfigError>,
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
            let is_missed = |key: &String| error.message().starts_with(&format!("missing field `{key}`"));
            if !left_out.iter().any(is_missed) {
                let message = self.explain::<T>(&join_lines(error.message()), span.start);
                self.found.push(ConfigError::at(self.path, self.text, Some(span.clone()), message));
            }
            let Some(key) = leave_out(rest.get_mut(), &span) else { break };
            left_out.push(key);
        }
        T::default()
    }

    /// The parser's message in the words of this configuration.
    fn explain<T: DeserializeOwned>(&self, message: &str, at: usize) -> String {
        let header = self.text.get(at..).and_then(|text| text.strip_prefix('[')?.split_once(']'));
        let is_single = message.starts_with("invalid type: map, expected a sequence");
        if let Some((name, _)) = header.filter(|(name, _)| is_single && !name.starts_with('[')) {
            return format!("invalid table `[{name}]`: expected `[[{name}]]`, because there may be several");
        }
        let unknown = |what| {
            let (written, expected) = message.strip_prefix(what)?.split_once("`, expected ")?;
            Some((written, expected.split('`').skip(1).step_by(2)))
        };
        if let Some((word, known)) = unknown("unknown variant `") {
            return format!("invalid word `{word}`: expected one of {}", nearest_first(word, known));
        }
        let Some((key, known)) = unknown("unknown field `") else { return in_plain_words(message) };
        if let Some((_, fate)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
            return format!("`{key}` is a key no more; {fate}");
        }
        if let Some(meant) = nearest(key, known.clone()) {
            return format!("unknown key `{key}`; did you mean `{meant}`?");
        }
        // What stands outside of all tables is told by what is read there.
        let is_of_whole_file = |error: toml::de::Error| error.message().contains(&format!("`{key}`"));
        if toml::from_str::<T>("unknown-key = 1").is_err_and(is_of_whole_file) {
            return format!(
                "`{key}` is a key of the whole file: write it above the first table, which begins with `[`"
            );
        }
        format!("unknown key `{key}`; the keys here are {}", nearest_first(key, known))
    }

    /// A fault of the value of `key`; an option such as `--admin` stands in no file. Without a remedy `hint` is empty.
    ///
    /// The key comes after the tables and the places in arrays that it stands in: `listeners.0.address`. Where it is not
    /// written, the table that it would stand in has the fault, and at last the whole file.
    pub(super) fn push(&mut self, key: &str, message: impl Into<String>, hint: &str) {
        let mut above = std::iter::successors(Some(key), |key| Some(key.rsplit_once('.')?.0));
        let error = match above.find_map(|key| self.place(key)) {
            _ if key.starts_with("--") => ConfigError::whole(Path::new(""), message),
            place => ConfigError::at(self.path, self.text, place, message),
        };
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.found.push(ConfigError { hint, ..error });
    }

    /// A fault of the value of `key`, unless it `is_fine`.
    pub(super) fn require(&mut self, is_fine: bool, key: &str, message: impl Into<String>, hint: &str) {
        if !is_fine {
            self.push(key, message, hint);
        }
    }

    /// A value that is not within `range`; `fit` says what is.
    pub(super) fn within(&mut self, key: &str, value: u128, range: &RangeInclusive<u128>, fit: &str) {
        let name = key.rsplit('.').next().unwrap_or(key);
        let (message, hint) = (format!("`{name}` is out of range"), format!("write {fit}"));
        self.require(range.contains(&value), key, message, &hint);
    }

    /// Whether the file has `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    fn place(&self, key: &str) -> Option<Range<usize>> {
        let mut keys = key.split('.');
        let mut value = self.document.get_ref().get(keys.next()?)?;
        for key in keys {
            let element = || value.get_ref().get(key.parse::<usize>().ok()?);
            value = value.get_ref().get(key).or_else(element)?;
        }
        Some(value.span())
    }

    /// `value`, if no fault was found, or all of them in the order of the file.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<ConfigError>> {
        self.found.sort_by_key(|error| (error.line, error.column));
        if self.found.is_empty() { Ok(value) } else { Err(self.found) }
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
        expected if expected == "a map" || expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    let (kind, value) = found.split_at(found.find(['`', '"']).unwrap_or(found.len()));
    let found = match kind.trim_end() {
        "string" => format!("the text {value}"),
        "integer" | "boolean" | "floating point" => value.to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    };
    format!("expected {expected}, and found {found}")
}

/// `toml` words some messages over two lines; an operator's log has one.
fn join_lines(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}
