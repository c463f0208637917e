//! Reads typed values out of a TOML table, and goes on after an error, so that
//! an operator sees all of them at once.
//!
//! A sign such as `Chrome` or `*e*` of an operator's file would turn every visitor into a crawler. It is refused where it
//! hits an ordinary header of people (RFC 9110 §10.1.5). Those headers are samples of what nearly all visitors send; they
//! catch a slip of the pen and are no proof that a sign is good.

use crate::config::ConfigError;
use crate::identify::{Sign, nearest_first};
use crate::robots::nearest;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A file being read, and what was wrong with it so far.
pub(super) struct CatalogueReader<'t> {
    text: &'t str,
    path: &'t Path,
    own: bool,
    errors: Vec<ConfigError>,
}

impl<'t> CatalogueReader<'t> {
    /// `own` says that the file is an operator's; the bundled ones are checked by
    /// the tests instead of at every start.
    pub(super) fn new(text: &'t str, path: &'t Path, own: bool) -> Self {
        Self { text, path, own, errors: Vec::new() }
    }

    /// Refuses a sign that would convict people.
    pub(super) fn refuse_if_ordinary(&mut self, span: Range<usize>, sign: &Sign) {
        if self.own
            && let Some(header) = header_matched_by(sign)
        {
            self.refuse_with_hint(
                span,
                format!("sign `{sign}` would take people's browsers for crawlers: `{header}`"),
                Some("write the whole name that only the crawler sends, such as `FooBot`".into()),
            );
        }
    }

    /// The errors, in the order of the file.
    pub(super) fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors.sort_by_key(|error| error.position);
        self.errors
    }

    pub(super) fn refuse(&mut self, span: Range<usize>, message: String) {
        self.refuse_with_hint(span, message, None);
    }

    pub(super) fn refuse_with_hint(&mut self, span: Range<usize>, message: String, hint: Option<String>) {
        let error = ConfigError::at(self.path, self.text, Some(span), message);
        self.errors.push(ConfigError { hint, ..error });
    }

    /// Refuses every key that is not one of `known`.
    pub(super) fn known_keys(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table {
            let name = key.get_ref();
            if !known.contains(&&**name) {
                let hint = nearest(name, known.iter().copied()).map_or_else(
                    || format!("known keys: {}", nearest_first(name, known.iter().copied())),
                    |near| format!("did you mean `{near}`?"),
                );
                self.refuse_with_hint(key.span(), format!("unknown key `{name}`"), Some(hint));
            }
        }
    }

    /// The tables of an array of tables, each with its place.
    pub(super) fn tables<'d, 'i>(
        &mut self,
        table: &'d DeTable<'i>,
        key: &str,
    ) -> Vec<(Range<usize>, &'d DeTable<'i>)> {
        let Some(value) = table.get(key) else {
            return Vec::new();
        };
        let Some(array) = value.get_ref().as_array() else {
            self.refuse(value.span(), format!("`{key}` is written `[[{key}]]`"));
            return Vec::new();
        };
        let mut tables = Vec::new();
        for element in array {
            match element.get_ref().as_table() {
                Some(inner) => tables.push((element.span(), inner)),
                None => self.refuse(element.span(), format!("`{key}` is written `[[{key}]]`")),
            }
        }
        tables
    }

    pub(super) fn text(&mut self, table: &DeTable<'_>, key: &str) -> Option<Spanned<String>> {
        let value = table.get(key)?;
        self.string(key, value)
    }

    pub(super) fn flag(&mut self, table: &DeTable<'_>, key: &str) -> Option<Spanned<bool>> {
        let value = table.get(key)?;
        let Some(flag) = value.get_ref().as_bool() else {
            self.wrong_type(key, "`true` or `false`", value);
            return None;
        };
        Some(Spanned::new(value.span(), flag))
    }

    pub(super) fn texts(&mut self, table: &DeTable<'_>, key: &str) -> Option<Vec<Spanned<String>>> {
        let value = table.get(key)?;
        let Some(array) = value.get_ref().as_array() else {
            self.wrong_type(key, "an array of strings", value);
            return None;
        };
        Some(array.iter().filter_map(|element| self.string(key, element)).collect())
    }

    /// One of `all`, by its word.
    pub(super) fn one_of<T: Copy + Into<&'static str>>(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        all: &[T],
    ) -> Option<T> {
        let word = self.text(table, key)?;
        let words: Vec<&str> = all.iter().map(|value| (*value).into()).collect();
        let found = all.iter().zip(&words).find(|(_, own)| **own == word.get_ref().as_str());
        if found.is_none() {
            let known = nearest_first(word.get_ref(), words.iter().copied());
            self.refuse(word.span(), format!("`{key}` is `{}`, expected one of {known}", word.get_ref()));
        }
        found.map(|(value, _)| *value)
    }

    fn string(&mut self, key: &str, value: &Spanned<DeValue<'_>>) -> Option<Spanned<String>> {
        let Some(text) = value.get_ref().as_str() else {
            self.wrong_type(key, "a string", value);
            return None;
        };
        Some(Spanned::new(value.span(), text.to_owned()))
    }

    fn wrong_type(&mut self, key: &str, wanted: &str, value: &Spanned<DeValue<'_>>) {
        let found = value.get_ref().type_str();
        self.refuse(value.span(), format!("`{key}` must be {wanted}, found {found}"));
    }
}

/// Browsers and apps in everyday use.
fn headers() -> impl Iterator<Item = &'static str> {
    include_str!("../../../rules/ordinary-headers.txt").lines().filter(|line| !line.starts_with('#'))
}

/// A person's header in which the sign stands, if there is one.
fn header_matched_by(sign: &Sign) -> Option<&'static str> {
    headers().find(|header| sign.stands_in(header.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::catalogue::bundled;
    use crate::identify::{ClientKind, Identifier};

    #[test]
    fn signs_of_everybody_are_told_from_those_of_a_crawler() {
        for everybody in ["Chrome", "gecko", "^Mozilla/5.0", "Mobile/15E148", "*like Mac*"] {
            assert!(header_matched_by(&Sign::parse(everybody).unwrap()).is_some(), "{everybody}");
        }
        for own in ["Zorkel", "^Chrome", "Pod", "*bot"] {
            assert_eq!(header_matched_by(&Sign::parse(own).unwrap()), None, "{own}");
        }
    }

    #[test]
    fn the_bundled_knowledge_leaves_these_people_alone() {
        let knowledge = bundled();
        let convicting =
            knowledge.catalogue.crawlers().iter().filter(|crawler| crawler.client != ClientKind::App);
        for sign in convicting.flat_map(|crawler| &crawler.signs) {
            assert_eq!(header_matched_by(sign), None, "{sign}");
        }
        let identifier = Identifier::new(knowledge).unwrap();
        for header in headers() {
            assert!(!identifier.recognise(Some(header.as_bytes())).is_judged(), "{header}");
        }
    }
}
