//! One JSON object a line, under whatever names: see `formats.toml`. What is nested is read, too.

use super::cells::{decoded, percent_decoded, with_blanks};
use super::entry::LineFields;
use super::names::{FORMATS, LogField, NAMES, speak};
use super::time;
use serde_json::Value;
use std::borrow::Cow;

/// How deep objects may stand in each other.
const DEEPEST: usize = 6;

/// An object, and whether each letter of its texts is one byte.
pub(super) type ReadObject = (Value, bool);

/// Reads an object. Some log formats write bytes that are no UTF-8, and `\x22` for a quote and `\xC3` for a byte of a letter: then
/// all bytes of the line are read as the letters of the same number.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn parse(line: &[u8]) -> Result<ReadObject, serde_json::Error> {
    let by_bytes = || line.iter().map(|byte| char::from(*byte)).collect::<String>().replace("\\x", "\\u00");
    match serde_json::from_slice(line) {
        Ok(object) => Ok((object, false)),
        Err(_) => Ok((serde_json::from_str(&by_bytes())?, true)),
    }
}

/// The bytes that the client sent.
fn given_back(text: &str, is_by_bytes: bool) -> Cow<'_, [u8]> {
    if is_by_bytes && !text.is_ascii() {
        return text.chars().filter_map(|letter| u8::try_from(letter).ok()).collect();
    }
    Cow::Borrowed(text.as_bytes())
}

/// The line of a server that a logger has put in an object, and the logger's time. A sentence about a request is none.
pub(super) fn wrapped((object, is_by_bytes): &ReadObject) -> Option<(Cow<'_, [u8]>, Option<i64>)> {
    let text = |key: &String| object.get(key)?.as_str();
    let is_of_server = |text: &&str| text.starts_with('{') || text.contains(" HTTP/");
    let line = FORMATS.lines.iter().filter_map(text).find(is_of_server)?;
    Some((
        given_back(line.trim_end(), *is_by_bytes),
        FORMATS.times.iter().filter_map(text).find_map(|time| time::any(time.as_bytes())),
    ))
}

/// The fields of an object.
pub(super) fn fields<'a>((object, is_by_bytes): &'a ReadObject, fields: &mut LineFields<'a>) {
    read(object, *is_by_bytes, fields, &mut Vec::new(), 0);
}

/// Reads what stands under a name, which is the keys that lead to it, joined.
fn read<'a>(
    value: &'a Value,
    is_by_bytes: bool,
    fields: &mut LineFields<'a>,
    name: &mut Vec<u8>,
    depth: usize,
) {
    match value {
        Value::String(text) => put(given_back(text, is_by_bytes), fields, name),
        Value::Number(number) => put(Cow::Owned(number.to_string().into_bytes()), fields, name),
        // Of several values the first: a header that came in several lines is joined by few loggers.
        Value::Array(list) => list.iter().for_each(|value| read(value, is_by_bytes, fields, name, depth)),
        Value::Object(object) => {
            // Where all header fields are logged, the one that is not there was not sent.
            if matches!(name.as_slice(), b"requestheaders" | b"reqheaders" | b"httprequestheaders") {
                fields.put((LogField::UserAgent, usize::MAX), Cow::Borrowed(b""));
            }
            // One of a list of header fields: `{"name": …, "value": …}`.
            let header = object.get("name").and_then(Value::as_str).filter(|_| name.ends_with(b"headers"));
            for (key, value) in object {
                let length = name.len();
                let key = header.filter(|_| key == "value").unwrap_or(key);
                if depth < DEEPEST && !FORMATS.wrappers.iter().any(|wrapper| wrapper == key) {
                    speak(key.as_bytes(), name);
                }
                if matches!(key, "@version" | "@timestamp") {
                    let trust = usize::from(key != "@version");
                    fields.put((LogField::Logstash, trust), Cow::Borrowed(key.as_bytes()));
                }
                read(value, is_by_bytes, fields, name, depth + 1);
                name.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn put<'a>(text: Cow<'a, [u8]>, fields: &mut LineFields<'a>, name: &[u8]) {
    let Some(&(field, trust)) = NAMES.get(name) else { return };
    // logstash's patterns leave a header in its quotes.
    let inside = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    let text = match (field, inside) {
        (LogField::UserAgent, Some(inside)) => Cow::Owned(inside.to_vec()),
        (LogField::UserAgent, _) if text.starts_with(b"Mozilla/5.0+(") => Cow::Owned(with_blanks(&text)),
        (LogField::UserAgent, _) => percent_decoded(text),
        // Akamai writes slashes and `=` as `%2F` and `%3D`.
        (LogField::Path, _) if !text.contains(&b'/') => Cow::Owned(decoded(&text, b"%")),
        (LogField::Query, _) if !text.contains(&b'=') => Cow::Owned(decoded(&text, b"%")),
        _ => text,
    };
    fields.put((field, trust), text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_back_as_they_were_sent() {
        let cases: [(&[u8], &[u8]); 5] = [
            (br#"{"request_uri": "/caf\xC3\xA9"}"#, b"/caf\xC3\xA9"),
            (b"{\"request_uri\": \"/caf\xE9\"}", b"/caf\xE9"),
            (br#"{"request_uri": "/\x22a\x22"}"#, b"/\"a\""),
            ("{\"request_uri\": \"/caf\u{e9}\"}".as_bytes(), "/caf\u{e9}".as_bytes()),
            (br#"{"request_uri": "/a\\x2f"}"#, br"/a\x2f"),
        ];
        for (line, sent) in cases {
            let object = parse(line).unwrap();
            let mut read = LineFields::default();
            fields(&object, &mut read);
            let uri = [LogField::Path, LogField::Target].into_iter().find_map(|field| read.get(field));
            assert_eq!(uri, Some(sent), "{}", line.escape_ascii());
        }
    }
}
