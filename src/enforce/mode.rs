//! Modes, and which of them applies to a client.

use crate::identify::{ClientKind, Identity, Purpose, UnknownWord};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::str::FromStr;

/// What is done about a verdict; the stronger is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[derive(strum::Display, strum::IntoStaticStr)]
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
        let all = [Self::Off, Self::Audit, Self::Enforce];
        let unknown = || UnknownWord::among("mode", text, all.map(Self::as_str));
        all.into_iter().find(|mode| mode.as_str() == text).ok_or_else(unknown)
    }
}

impl TryFrom<String> for Mode {
    type Error = UnknownWord;

    fn try_from(text: String) -> Result<Self, UnknownWord> {
        text.parse()
    }
}

/// What the operator set for crawlers by name, in lower case, and for what crawlers fetch for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetByName<T> {
    purposes: BTreeMap<Purpose, T>,
    crawlers: HashMap<String, T>,
}

impl<T> Default for SetByName<T> {
    fn default() -> Self {
        Self { purposes: BTreeMap::new(), crawlers: HashMap::new() }
    }
}

impl<T> SetByName<T> {
    /// What is set for these.
    pub fn new(
        purposes: impl Iterator<Item = (Purpose, T)>,
        crawlers: impl Iterator<Item = (String, T)>,
    ) -> Self {
        Self { purposes: purposes.collect(), crawlers: crawlers.collect() }
    }

    /// All that is set.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.purposes.values().chain(self.crawlers.values())
    }

    /// The same with what `make` makes of each.
    ///
    /// # Errors
    /// The first that `make` has.
    pub fn try_map<U, E>(self, make: impl Fn(T) -> Result<U, E>) -> Result<SetByName<U>, E> {
        Ok(SetByName {
            purposes: self
                .purposes
                .into_iter()
                .map(|(name, set)| Ok((name, make(set)?)))
                .collect::<Result<_, E>>()?,
            crawlers: self
                .crawlers
                .into_iter()
                .map(|(name, set)| Ok((name, make(set)?)))
                .collect::<Result<_, E>>()?,
        })
    }

    /// What is set for `identity`: for its crawler before that for its purpose.
    pub fn of(&self, identity: &Identity) -> Option<&T> {
        let name = identity.crawler.as_deref().filter(|_| !self.crawlers.is_empty());
        let of_crawler = name.and_then(|name| self.crawlers.get(&name.to_ascii_lowercase()));
        of_crawler.or_else(|| self.purposes.get(&identity.purpose?))
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
