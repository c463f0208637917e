//! The answer to "who is asking": one `Identity` per request.
//!
//! Not here: how the answer was reached, and whether the claimed name is true.

use super::catalogue::Crawler;
use super::purpose::Purpose;
use std::sync::Arc;

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

/// On what an identity rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Basis {
    /// An entry of the catalogue.
    Catalogue,
    /// A token of the operator's robots.txt in product position.
    OperatorToken,
    /// A generic word, a link or a mail address, as crawlers send them.
    Sign,
    /// The shape of the header: an unknown product, or no platform.
    Structure,
    /// Only the second opinion called it a crawler.
    SecondOpinion,
    /// A verified signature of the request, whatever the header says.
    Signature,
    /// The shape of a browser, an app, or nothing at all.
    Shape,
}

/// Who a request says it is from.
///
/// Passed as `Arc<Identity>`: equal headers give one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The kind of client.
    pub client: ClientKind,
    /// The catalogue's name for it; else the product word that gave it away,
    /// at most [`Identity::MAX_NAME`] bytes of printable ASCII. `None` when the
    /// header names nothing.
    pub crawler: Option<Arc<str>>,
    /// What it fetches for, when the catalogue knows.
    pub purpose: Option<Purpose>,
    /// Product tokens (RFC 9309 §2.2.1), the first to be looked up first.
    pub tokens: Arc<[Box<str>]>,
    /// Whether the `*` group applies when no group names one of the tokens.
    pub star: bool,
    /// On what this identity rests.
    pub basis: Basis,
}

/// Who sent a request, before and after the site's own robots.txt was asked.
#[derive(Debug, Clone)]
pub struct Recognised {
    /// By the catalogue and the signs alone.
    pub at_first: Arc<Identity>,
    /// With the tokens that the site's robots.txt names.
    pub identity: Arc<Identity>,
}

impl From<&Arc<Identity>> for Recognised {
    /// Where no robots.txt is asked.
    fn from(identity: &Arc<Identity>) -> Self {
        Self { at_first: Arc::clone(identity), identity: Arc::clone(identity) }
    }
}

impl Identity {
    /// The longest name, in bytes.
    pub const MAX_NAME: usize = 64;

    /// Whether this may well be a person's browser, so that it is audited and
    /// never refused: only the second opinion calls it a crawler.
    pub fn is_audited_only(&self) -> bool {
        self.basis == Basis::SecondOpinion
    }

    /// Whether robots.txt has anything to say to this client.
    pub fn is_judged(&self) -> bool {
        self.client.is_judged()
    }

    /// The identity that an entry of the catalogue gives.
    pub fn of_entry(crawler: &Crawler, basis: Basis) -> Self {
        Self {
            client: crawler.client,
            crawler: Some(Arc::clone(&crawler.name)),
            purpose: Some(crawler.purpose),
            tokens: Arc::clone(&crawler.tokens),
            star: crawler.star,
            basis,
        }
    }

    /// The identity of an agent that signs with a person's browser for a header: a fetch that a person asked for, judged by
    /// a group of its own and by no other.
    pub fn of_agent(crawler: &Crawler) -> Self {
        Self { client: ClientKind::Fetcher, star: false, ..Self::of_entry(crawler, Basis::Signature) }
    }

    /// An identity that a product word of the header gives, or none. The word is also
    /// its token when robots.txt could name it.
    pub(super) fn from_word(client: ClientKind, word: Option<Arc<str>>, basis: Basis) -> Self {
        let token = word.iter().filter(|word| super::catalogue::token_is_legal(word));
        let tokens = token.map(|word| Box::from(&**word)).collect();
        Self { client, crawler: word, purpose: None, tokens, star: client.is_judged(), basis }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray as _;

    #[test]
    fn words_of_clients_round_trip() {
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

    #[test]
    fn what_may_be_a_person_is_audited_only() {
        let of = |basis| Identity::from_word(ClientKind::Crawler, Some("Comet".into()), basis);
        assert!(of(Basis::SecondOpinion).is_audited_only());
        for basis in [Basis::Catalogue, Basis::OperatorToken, Basis::Sign, Basis::Structure] {
            assert!(!of(basis).is_audited_only(), "{basis}");
        }
    }

    #[test]
    fn a_word_is_a_token_only_when_robots_txt_could_name_it() {
        let bot = Identity::from_word(ClientKind::Crawler, Some("FooBot".into()), Basis::Sign);
        assert_eq!(&*bot.tokens, [Box::from("FooBot")]);
        let odd = Identity::from_word(ClientKind::Tool, Some("a/b#c".into()), Basis::Structure);
        assert!(odd.tokens.is_empty() && odd.star);
        assert!(!Identity::from_word(ClientKind::Browser, None, Basis::Shape).star);
    }
}
