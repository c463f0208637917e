//! The kinds of client (`Client`) and what is known about who they are (`Proof`).
//!
//! Not here: how a client is recognised (`classify`), and how an identity is
//! proved. The words of `as_str` are public: configuration keys, journal fields
//! and command output use them.

use std::fmt;
use std::str::FromStr;

/// What kind of client sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Client {
    /// An automated client in the sense of RFC 9309 §1.
    Crawler,
    /// A crawler that obeys only groups that name it, never the `*` group.
    SpecialCase,
    /// A fetch that a person asked a server to make: previews, assistants, feed readers.
    Fetcher,
    /// A command-line client, HTTP library, headless browser, or anything that names no platform.
    Tool,
    /// An uptime probe, health check, webhook sender or domain validator.
    Monitor,
    /// No `User-Agent`, or one that says nothing about its sender.
    Unnamed,
    /// A native application on a person's device.
    App,
    /// Everything that has the shape of a person's browser.
    Browser,
}

impl Client {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 8] = [
        Self::Crawler,
        Self::SpecialCase,
        Self::Fetcher,
        Self::Tool,
        Self::Monitor,
        Self::Unnamed,
        Self::App,
        Self::Browser,
    ];

    /// The public word for this kind.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Crawler => "crawler",
            Self::SpecialCase => "special-case",
            Self::Fetcher => "fetcher",
            Self::Tool => "tool",
            Self::Monitor => "monitor",
            Self::Unnamed => "unnamed",
            Self::App => "app",
            Self::Browser => "browser",
        }
    }

    /// Whether robots.txt has anything to say to this kind. Browsers and apps
    /// act for a person at that moment, so RFC 9309 §1 does not address them.
    #[must_use]
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::App | Self::Browser)
    }

    /// Whether the header itself shows automation. `Unnamed` is judged, but
    /// nothing shows what it is.
    #[must_use]
    pub const fn is_automated(self) -> bool {
        !matches!(self, Self::App | Self::Browser | Self::Unnamed)
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no kind of client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownClient;

impl fmt::Display for UnknownClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of")?;
        for (i, client) in Client::ALL.into_iter().enumerate() {
            write!(f, "{} `{client}`", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownClient {}

impl FromStr for Client {
    type Err = UnknownClient;

    fn from_str(word: &str) -> Result<Self, UnknownClient> {
        Self::ALL.into_iter().find(|client| client.as_str() == word).ok_or(UnknownClient)
    }
}

/// What supports the name a client claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Proof {
    /// The address belongs to the operator.
    Confirmed,
    /// Every configured method said that it does not: a spoof.
    Contradicted,
    /// Nothing was asked, or nothing answered.
    Unchecked,
}

impl Proof {
    /// The public word for this proof.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Contradicted => "contradicted",
            Self::Unchecked => "unchecked",
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for client in Client::ALL {
            assert_eq!(client.as_str().parse(), Ok(client));
        }
        assert_eq!("human".parse::<Client>(), Err(UnknownClient));
        assert!(UnknownClient.to_string().contains("`special-case`"));
    }

    #[test]
    fn people_are_not_judged() {
        let judged: Vec<_> = Client::ALL.into_iter().filter(|c| c.is_judged()).collect();
        assert_eq!(judged.len(), 6);
        assert!(!Client::Browser.is_judged() && !Client::App.is_judged());
        assert!(!Client::Unnamed.is_automated());
    }
}
