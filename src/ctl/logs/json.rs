//! One JSON object a line, under whatever names: see `names`. What is nested is read, too.

use super::columns::{decoded_once, percent_decoded, with_blanks};
use super::entry::FieldsOfLine;
use super::names::{LogField, WRAPPERS, field_of, speak};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// How deep objects may stand in each other.
const DEEPEST: usize = 6;

/// Reads the fields of an object.
///
/// # Errors
/// What is wrong with the line.
pub(super) fn read<'a>(text: &'a str, spoken: &mut Vec<u8>) -> Result<FieldsOfLine<'a>, serde_json::Error> {
    let mut fields = FieldsOfLine::default();
    spoken.clear();
    let mut json = serde_json::Deserializer::from_str(text);
    JsonLevel { fields: &mut fields, name: spoken, depth: 0 }.deserialize(&mut json)?;
    Ok(fields)
}

/// One value, and under which name it stands.
struct JsonLevel<'f, 'a> {
    fields: &'f mut FieldsOfLine<'a>,
    /// The keys that lead to it, joined.
    name: &'f mut Vec<u8>,
    depth: usize,
}

impl<'a> JsonLevel<'_, 'a> {
    fn put(&mut self, text: Cow<'a, [u8]>) {
        let Some((field, trust)) = field_of(self.name) else { return };
        let text = match field {
            LogField::UserAgent if text.starts_with(b"Mozilla/5.0+(") => Cow::Owned(with_blanks(&text)),
            LogField::UserAgent => percent_decoded(without_quotes(text)),
            // Akamai writes slashes and `=` as `%2F` and `%3D`.
            LogField::Path if !text.contains(&b'/') => Cow::Owned(decoded_once(&text, b'%')),
            LogField::Query if !text.contains(&b'=') => Cow::Owned(decoded_once(&text, b'%')),
            _ => text,
        };
        self.fields.put((field, trust), text);
    }
}

/// logstash's patterns leave a header in its quotes.
fn without_quotes(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")) {
        Some(inside) => Cow::Owned(inside.to_vec()),
        None => text,
    }
}

impl<'a> DeserializeSeed<'a> for JsonLevel<'_, 'a> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'a> Visitor<'a> for JsonLevel<'_, 'a> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object of text, numbers and objects")
    }

    fn visit_borrowed_str<E>(mut self, text: &'a str) -> Result<(), E> {
        self.put(Cow::Borrowed(text.as_bytes()));
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        self.put(Cow::Owned(text.as_bytes().to_vec()));
        Ok(())
    }

    fn visit_u64<E>(mut self, number: u64) -> Result<(), E> {
        self.put(Cow::Owned(number.to_string().into_bytes()));
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(mut self, number: f64) -> Result<(), E> {
        self.put(Cow::Owned(format!("{number:.6}").into_bytes()));
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    /// Of several values the first: a header that came in several lines is joined by few loggers.
    fn visit_seq<A: SeqAccess<'a>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { fields, name, depth } = self;
        while list.next_element_seed(JsonLevel { fields: &mut *fields, name: &mut *name, depth })?.is_some() {
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { fields, name, depth } = self;
        // Where all header fields are logged, the one that is not there was not sent.
        if matches!(name.as_slice(), b"requestheaders" | b"reqheaders" | b"httprequestheaders") {
            fields.put((LogField::UserAgent, usize::MAX), Cow::Borrowed(b""));
        }
        let mut header = None;
        while let Some(key) = map.next_key::<Cow<'a, str>>()? {
            let length = name.len();
            if name.ends_with(b"headers") && key == "name" {
                header = map.next_value::<serde_json::Value>()?.as_str().map(str::to_owned);
                continue;
            }
            // One of a list of header fields: `{"name": …, "value": …}`.
            if let Some(header) = header.as_deref().filter(|_| key == "value") {
                speak(header, name);
            } else if depth < DEEPEST && !WRAPPERS.contains(&&*key) {
                speak(&key, name);
            }
            if matches!(&*key, "@version" | "@timestamp") {
                fields.put(
                    (LogField::Logstash, usize::from(key != "@version")),
                    Cow::Owned(key.as_bytes().to_vec()),
                );
            }
            map.next_value_seed(JsonLevel { fields: &mut *fields, name: &mut *name, depth: depth + 1 })?;
            name.truncate(length);
        }
        Ok(())
    }
}
