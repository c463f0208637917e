//! Modes, and which of them applies to a client.

use crate::identify::{ClientKind, Identity, Purpose, UnknownWord, known_word};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::str::FromStr;
use strum::VariantArray as _;

/// What is done about a verdict; the stronger is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[serde(try_from = "String", into = "&'static str")]
#[strum(serialize_all = "kebab-case")]
pub enum Mode {
    /// Neither record nor refuse.
    Off,
    /// Record, and forward.
    Audit,
    /// Record, and refuse.
    Enforce,
}

impl Mode {
    /// The name used in the configuration and the journal.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl FromStr for Mode {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        known_word("mode", text, Self::VARIANTS)
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownWord;

    fn try_from(text: String) -> Result<Self, UnknownWord> {
        text.parse()
    }
}

/// Whom something is set for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SetFor {
    /// A crawler, by its name in lower case.
    Crawler(String),
    Purpose(Purpose),
}

/// What the operator set for crawlers by name, and for what crawlers fetch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetByName<T>(HashMap<SetFor, T>);

impl<T> SetByName<T> {
    /// What is set for these; names of crawlers in lower case.
    pub fn new(
        purposes: impl Iterator<Item = (Purpose, T)>,
        crawlers: impl Iterator<Item = (String, T)>,
    ) -> Self {
        let purposes = purposes.map(|(purpose, set)| (SetFor::Purpose(purpose), set));
        Self(purposes.chain(crawlers.map(|(name, set)| (SetFor::Crawler(name), set))).collect())
    }

    /// All that is set.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    /// The same with what `make` makes of each.
    ///
    /// # Errors
    /// The first that `make` has.
    pub fn try_map<U, E>(self, make: impl Fn(T) -> Result<U, E>) -> Result<SetByName<U>, E> {
        let all = self.0.into_iter().map(|(whom, set)| Ok((whom, make(set)?)));
        all.collect::<Result<_, E>>().map(SetByName)
    }

    /// What is set for `identity`: for its crawler before that for its purpose.
    pub fn of(&self, identity: &Identity) -> Option<&T> {
        if self.0.is_empty() {
            return None;
        }
        let name = identity.crawler.as_ref().map(|name| SetFor::Crawler(name.to_ascii_lowercase()));
        let of_crawler = name.and_then(|name| self.0.get(&name));
        of_crawler.or_else(|| self.0.get(&SetFor::Purpose(identity.purpose?)))
    }
}

/// The modes set for kinds of client.
///
/// Crawlers follow their site unless the operator says otherwise. Everything that a person may have set
/// off, or that has no name to be called by, is only recorded: a refusal there hurts the wrong one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ClientModes {
    /// `crawler`
    pub crawler: Option<Mode>,
    /// `special-case`
    pub special_case: Option<Mode>,
    /// `fetcher`
    pub fetcher: Option<Mode>,
    /// `tool`
    pub tool: Option<Mode>,
    /// `monitor`
    pub monitor: Option<Mode>,
    /// `unnamed`
    pub unnamed: Option<Mode>,
}

impl Default for ClientModes {
    fn default() -> Self {
        Self {
            crawler: None,
            special_case: None,
            fetcher: Some(Mode::Audit),
            tool: Some(Mode::Audit),
            monitor: Some(Mode::Audit),
            unnamed: Some(Mode::Audit),
        }
    }
}

impl ClientModes {
    /// The mode of a kind of client, where it has one of its own.
    pub const fn of(&self, client: ClientKind) -> Option<Mode> {
        match client {
            ClientKind::Crawler => self.crawler,
            ClientKind::SpecialCase => self.special_case,
            ClientKind::Fetcher => self.fetcher,
            ClientKind::Tool => self.tool,
            ClientKind::Monitor => self.monitor,
            ClientKind::Unnamed => self.unnamed,
            ClientKind::App | ClientKind::Browser => Some(Mode::Off),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_alike() {
        for mode in [Mode::Off, Mode::Audit, Mode::Enforce] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert!("block".parse::<Mode>().unwrap_err().to_string().contains("`enforce`"));
    }
}
