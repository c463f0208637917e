//! The kinds of client (`Client`) and what is known about who they are (`Proof`).
//!
//! Not here: how a client is recognised (`classify`), and how an identity is
//! proved. The words of `as_str` are public: configuration keys, journal fields
//! and command output use them.

/// What kind of client sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray, strum::EnumCount)]
#[strum(serialize_all = "kebab-case")]
pub enum ClientKind {
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

impl ClientKind {
    /// The public word for this kind.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether robots.txt has anything to say to this kind. Browsers and apps
    /// act for a person at that moment, so RFC 9309 §1 does not address them.
    pub const fn is_judged(self) -> bool {
        !matches!(self, Self::App | Self::Browser)
    }

    /// Whether the header itself shows automation. `Unnamed` is judged, but
    /// nothing shows what it is.
    pub const fn is_automated(self) -> bool {
        !matches!(self, Self::App | Self::Browser | Self::Unnamed)
    }
}

/// What supports the name a client claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray, strum::EnumCount)]
#[strum(serialize_all = "kebab-case")]
pub enum Proof {
    /// The address belongs to the operator, or the operator signed the request.
    Confirmed,
    /// Every configured method said that it does not: a spoof.
    Contradicted,
    /// Nothing was asked, or nothing answered.
    Unchecked,
}

impl Proof {
    /// The public word for this proof.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// By which method a name was confirmed or contradicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ProofMethod {
    /// Published address ranges.
    Ranges,
    /// Reverse DNS.
    Rdns,
    /// A signature of the request.
    Signature,
}

impl ProofMethod {
    /// The public word for this method.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What supports a name, and by which method that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownProof {
    /// What supports it.
    pub proof: Proof,
    /// What confirmed it or, of a name that is contradicted, what said no first. A signature that gives a name and
    /// proves nothing of the request stands beside `unchecked`.
    pub by: Option<ProofMethod>,
}

impl From<Proof> for KnownProof {
    fn from(proof: Proof) -> Self {
        Self { proof, by: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray as _;

    #[test]
    fn words_round_trip() {
        for &client in ClientKind::VARIANTS {
            assert_eq!(client.as_str().parse(), Ok(client));
        }
        assert_eq!(ClientKind::SpecialCase.as_str(), "special-case");
        assert!("human".parse::<ClientKind>().is_err());
    }

    #[test]
    fn people_are_not_judged() {
        let judged: Vec<_> = ClientKind::VARIANTS.iter().filter(|c| c.is_judged()).collect();
        assert_eq!(judged.len(), 6);
        assert!(!ClientKind::Browser.is_judged() && !ClientKind::App.is_judged());
        assert!(!ClientKind::Unnamed.is_automated());
    }
}
