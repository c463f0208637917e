//! Modes, and which of them applies to a client.

use crate::identify::{Client, Identity};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// What is done about a verdict; the stronger is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Audit => "audit",
            Self::Enforce => "enforce",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        match text {
            "off" => Ok(Self::Off),
            "audit" => Ok(Self::Audit),
            "enforce" => Ok(Self::Enforce),
            _ => Err(UnknownMode(text.to_owned())),
        }
    }
}

/// A text that names no [`Mode`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMode(String);

impl fmt::Display for UnknownMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` is no mode; write `off`, `audit` or `enforce`", self.0)
    }
}

impl std::error::Error for UnknownMode {}

/// The modes of one site. The most specific one that is set wins: crawler, client, site, global.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The site's own mode or, where it has none, the global one.
    pub site: Mode,
    /// Modes set for a kind of client.
    pub clients: ClientModes,
    /// Modes set for a crawler by name, in lower case.
    pub crawlers: HashMap<String, Mode>,
}

impl Modes {
    /// The mode that applies to `identity`.
    #[must_use]
    pub fn of(&self, identity: &Identity) -> Mode {
        self.of_crawler(identity).or_else(|| self.clients.of(identity.client)).unwrap_or(self.site)
    }

    /// Whether anybody could be refused.
    #[must_use]
    pub fn may_refuse(&self) -> bool {
        let ClientModes { crawler, special_case, fetcher, tool, monitor, unnamed } = self.clients;
        let clients = [crawler, special_case, fetcher, tool, monitor, unnamed].into_iter().flatten();
        clients.chain(self.crawlers.values().copied()).chain([self.site]).any(|mode| mode == Mode::Enforce)
    }

    fn of_crawler(&self, identity: &Identity) -> Option<Mode> {
        if self.crawlers.is_empty() {
            return None;
        }
        let name = identity.crawler.as_deref()?;
        self.crawlers.get(&name.to_ascii_lowercase()).copied()
    }
}

/// The modes set for kinds of client.
///
/// Crawlers follow their site unless the operator says otherwise. Everything that a person may have set
/// off, or that has no name to be called by, is only recorded: a refusal there hurts the wrong one.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    #[must_use]
    pub const fn of(&self, client: Client) -> Option<Mode> {
        match client {
            Client::Crawler => self.crawler,
            Client::SpecialCase => self.special_case,
            Client::Fetcher => self.fetcher,
            Client::Tool => self.tool,
            Client::Monitor => self.monitor,
            Client::Unnamed => self.unnamed,
            Client::App | Client::Browser => Some(Mode::Off),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::Basis;
    use std::sync::Arc;

    fn mode(modes: &Modes, client: Client, crawler: Option<&str>) -> Mode {
        let (crawler, tokens) = (crawler.map(Arc::from), Arc::new([]));
        let basis = Basis::Catalogue;
        modes.of(&Identity { client, crawler, purpose: None, tokens, star: true, basis })
    }

    fn modes(site: Mode) -> Modes {
        Modes { site, clients: ClientModes::default(), crawlers: HashMap::new() }
    }

    #[test]
    fn crawlers_follow_their_site_and_tools_are_only_recorded() {
        assert_eq!(mode(&modes(Mode::Enforce), Client::Crawler, Some("GPTBot")), Mode::Enforce);
        assert_eq!(mode(&modes(Mode::Enforce), Client::Tool, Some("curl")), Mode::Audit);
        assert_eq!(mode(&modes(Mode::Enforce), Client::Unnamed, None), Mode::Audit);
    }

    #[test]
    fn the_most_specific_mode_wins() {
        let mut modes = modes(Mode::Audit);
        modes.clients.crawler = Some(Mode::Off);
        assert_eq!(mode(&modes, Client::Crawler, Some("GPTBot")), Mode::Off);
        modes.crawlers.insert("gptbot".to_owned(), Mode::Enforce);
        assert_eq!(mode(&modes, Client::Crawler, Some("GPTBot")), Mode::Enforce);
        assert_eq!(mode(&modes, Client::Crawler, Some("bingbot")), Mode::Off);
    }

    #[test]
    fn anybody_who_is_enforced_for_could_be_refused() {
        assert!(modes(Mode::Enforce).may_refuse());
        assert!(!modes(Mode::Audit).may_refuse() && !modes(Mode::Off).may_refuse());
        let of_crawler =
            Modes { crawlers: [("gptbot".to_owned(), Mode::Enforce)].into(), ..modes(Mode::Off) };
        assert!(of_crawler.may_refuse());
        let clients = ClientModes { unnamed: Some(Mode::Enforce), ..ClientModes::default() };
        assert!(Modes { clients, ..modes(Mode::Audit) }.may_refuse());
    }

    #[test]
    fn words_are_read_and_written_alike() {
        for mode in [Mode::Off, Mode::Audit, Mode::Enforce] {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert!("block".parse::<Mode>().unwrap_err().to_string().contains("`enforce`"));
    }
}
