//! The faults of a configuration, gathered while it is built.

use super::error::{ConfigError, ConfigErrors};
use std::fmt::Display;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The faults found so far, so that an operator sees all of them at once.
pub(super) struct Faults<'a> {
    path: &'a Path,
    pub(super) text: &'a str,
    /// The same, to find the places of values in.
    document: DeTable<'a>,
    found: Vec<ConfigError>,
}

impl<'a> Faults<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let document = DeTable::parse(text).map(Spanned::into_inner).unwrap_or_default();
        Self { path, text, document, found: Vec::new() }
    }

    pub(super) fn push(&mut self, span: Range<usize>, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::at(self.path, self.text, Some(span), message).with_hint(hint));
    }

    /// A fault of the value of `key`, or of what is not written in the file: an option.
    ///
    /// The key comes after the tables and the places in arrays that it stands in: `listeners.0.address`.
    pub(super) fn push_at(&mut self, key: Option<&str>, message: impl Into<String>, hint: &str) {
        match key.and_then(|key| self.place(key)) {
            Some(span) => self.push(span, message, hint),
            None => self.found.push(ConfigError::whole(Path::new(""), message).with_hint(hint)),
        }
    }

    /// A fault of the value of `key`, unless it `is_fine`.
    pub(super) fn require(&mut self, is_fine: bool, key: &str, message: impl Into<String>, hint: &str) {
        if !is_fine {
            self.push_at(Some(key), message, hint);
        }
    }

    fn place(&self, key: &str) -> Option<Range<usize>> {
        let mut keys = key.split('.');
        let mut value = self.document.get(keys.next()?)?;
        for key in keys {
            value = match value.get_ref() {
                DeValue::Array(array) => array.get(key.parse::<usize>().ok()?)?,
                other => other.as_table()?.get(key)?,
            };
        }
        Some(value.span())
    }

    /// The value, or a fault at `span`.
    pub(super) fn value_or_fault<T, E: Display>(
        &mut self,
        span: Range<usize>,
        result: Result<T, E>,
    ) -> Option<T> {
        let fault = |error: E| ConfigError::at(self.path, self.text, Some(span), error.to_string());
        result.map_err(|error| self.found.push(fault(error))).ok()
    }

    /// All values, or a fault for each bad one.
    pub(super) fn values_or_faults<T, E: Display>(
        &mut self,
        results: impl Iterator<Item = (Range<usize>, Result<T, E>)>,
    ) -> Option<Vec<T>> {
        let values: Vec<Option<T>> =
            results.map(|(span, result)| self.value_or_fault(span, result)).collect();
        values.into_iter().collect()
    }

    /// A fault of an option, which says itself what to do.
    pub(super) fn push_option(&mut self, message: String) {
        self.found.push(ConfigError::whole(Path::new(""), message));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn none(self) -> Result<(), ConfigErrors> {
        if self.found.is_empty() { Ok(()) } else { Err(ConfigErrors(self.found)) }
    }

    pub(super) fn push_whole(&mut self, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::whole(self.path, message).with_hint(hint));
    }
}

/// Makes `path` relative to the folder `base` of the file that it is written in.
pub(super) fn rebase<'p>(base: &Path, paths: impl IntoIterator<Item = &'p mut PathBuf>) {
    for path in paths {
        *path = base.join(&*path);
    }
}
