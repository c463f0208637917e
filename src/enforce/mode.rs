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

/// The modes of one site. The most specific one that is set wins: crawler, purpose, client, site, global. One that was
/// set for everybody beats them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// Set for everybody, whatever else is set.
    pub all: Option<Mode>,
    /// The site's own mode or, where it has none, the global one.
    pub site: Mode,
    /// Modes set for a kind of client.
    pub clients: ClientModes,
    /// Modes set for what a crawler fetches for.
    pub purposes: BTreeMap<Purpose, Mode>,
    /// Modes set for a crawler by name, in lower case.
    pub crawlers: HashMap<String, Mode>,
}

impl Modes {
    /// The mode that applies to `identity`.
    pub fn of(&self, identity: &Identity) -> Mode {
        if let Some(mode) = self.all.filter(|_| identity.is_judged()) {
            return mode;
        }
        of_crawler_or_purpose(&self.crawlers, &self.purposes, identity)
            .or_else(|| self.clients.of(identity.client))
            .unwrap_or(self.site)
    }

    /// The mode of whoever has none of his own.
    pub fn general(&self) -> Mode {
        self.all.unwrap_or(self.site)
    }
}

/// What is set for `identity`: for its crawler by name, in lower case, before that for its purpose.
pub(super) fn of_crawler_or_purpose<T: Copy>(
    crawlers: &HashMap<String, T>,
    purposes: &BTreeMap<Purpose, T>,
    identity: &Identity,
) -> Option<T> {
    let name = identity.crawler.as_deref().filter(|_| !crawlers.is_empty());
    let of_crawler = name.and_then(|name| crawlers.get(&name.to_ascii_lowercase()));
    of_crawler.or_else(|| purposes.get(&identity.purpose?)).copied()
}

/// The modes set for kinds of client.
///
/// Crawlers follow their site unless the operator says otherwise. Everything that a person may have set
/// off, or that has no name to be called by, is only recorded: a refusal there hurts the wrong one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
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
    use crate::identify::Basis;
    use std::sync::Arc;

    fn mode(modes: &Modes, client: ClientKind, crawler: Option<&str>) -> Mode {
        let (crawler, tokens) = (crawler.map(Arc::from), Arc::new([]));
        let (purpose, basis) = (Some(Purpose::AiTrain), Basis::Catalogue);
        modes.of(&Identity { client, crawler, purpose, tokens, star: true, basis })
    }

    fn modes(site: Mode) -> Modes {
        let (purposes, crawlers) = (BTreeMap::new(), HashMap::new());
        Modes { all: None, site, clients: ClientModes::default(), purposes, crawlers }
    }

    #[test]
    fn crawlers_follow_their_site_and_tools_are_only_recorded() {
        assert_eq!(mode(&modes(Mode::Enforce), ClientKind::Crawler, Some("GPTBot")), Mode::Enforce);
        assert_eq!(mode(&modes(Mode::Enforce), ClientKind::Tool, Some("curl")), Mode::Audit);
        assert_eq!(mode(&modes(Mode::Enforce), ClientKind::Unnamed, None), Mode::Audit);
    }

    #[test]
    fn the_most_specific_mode_wins() {
        let mut modes = modes(Mode::Audit);
        modes.clients.crawler = Some(Mode::Off);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("GPTBot")), Mode::Off);
        modes.purposes.insert(Purpose::AiTrain, Mode::Audit);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("GPTBot")), Mode::Audit);
        assert_eq!(
            mode(&modes, ClientKind::Fetcher, None),
            Mode::Audit,
            "a purpose is stronger than a kind of client"
        );
        modes.crawlers.insert("gptbot".to_owned(), Mode::Enforce);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("GPTBot")), Mode::Enforce);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("bingbot")), Mode::Audit);
    }

    #[test]
    fn what_is_set_for_everybody_beats_all_others_and_never_reaches_a_person() {
        let mut modes = modes(Mode::Enforce);
        modes.clients.crawler = Some(Mode::Enforce);
        modes.purposes.insert(Purpose::AiTrain, Mode::Enforce);
        modes.crawlers.insert("gptbot".to_owned(), Mode::Enforce);
        modes.all = Some(Mode::Off);
        assert_eq!(mode(&modes, ClientKind::Crawler, Some("GPTBot")), Mode::Off);
        assert_eq!(modes.general(), Mode::Off);
        modes.all = Some(Mode::Enforce);
        assert_eq!(mode(&modes, ClientKind::Tool, None), Mode::Enforce);
        for person in [ClientKind::Browser, ClientKind::App] {
            assert_eq!(mode(&Modes { purposes: BTreeMap::new(), ..modes.clone() }, person, None), Mode::Off);
        }
    }

    #[test]
    fn words_are_read_and_written_alike() {
        for mode in [Mode::Off, Mode::Audit, Mode::Enforce] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert!("block".parse::<Mode>().unwrap_err().to_string().contains("`enforce`"));
    }
}
