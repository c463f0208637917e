//! The answer to "who is asking": one `Identity` per request.
//!
//! Not here: how the answer was reached, and whether the claimed name is true.

use super::client::Client;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// What a crawler fetches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Purpose {
    /// Advertisements: quality, targeting, landing pages.
    Ads,
    /// Indexes that answer engines quote from.
    AiSearch,
    /// Training of models.
    AiTrain,
    /// An assistant or agent acting for its user.
    AiUser,
    /// Archives and legal deposit.
    Archive,
    /// Feed readers and podcast directories.
    Feed,
    /// Availability, health and speed.
    Monitor,
    /// Known, but none of these.
    Other,
    /// Academic and public research.
    Research,
    /// Data sold or reused outside search.
    Scraper,
    /// Search indexes.
    Search,
    /// Internet-wide scans, malware and abuse checks.
    Security,
    /// Search engine optimisation and site audits.
    Seo,
    /// Link previews in messages and social networks.
    Social,
    /// Libraries, command-line clients, headless browsers.
    Tool,
    /// Callbacks of payment, code hosting and similar services.
    Webhook,
}

impl Purpose {
    /// Every purpose, in alphabetical order.
    pub const ALL: [Self; 16] = [
        Self::Ads,
        Self::AiSearch,
        Self::AiTrain,
        Self::AiUser,
        Self::Archive,
        Self::Feed,
        Self::Monitor,
        Self::Other,
        Self::Research,
        Self::Scraper,
        Self::Search,
        Self::Security,
        Self::Seo,
        Self::Social,
        Self::Tool,
        Self::Webhook,
    ];

    /// The public word for this purpose.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ads => "ads",
            Self::AiSearch => "ai-search",
            Self::AiTrain => "ai-train",
            Self::AiUser => "ai-user",
            Self::Archive => "archive",
            Self::Feed => "feed",
            Self::Monitor => "monitor",
            Self::Other => "other",
            Self::Research => "research",
            Self::Scraper => "scraper",
            Self::Search => "search",
            Self::Security => "security",
            Self::Seo => "seo",
            Self::Social => "social",
            Self::Tool => "tool",
            Self::Webhook => "webhook",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownPurpose;

impl fmt::Display for UnknownPurpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of")?;
        for (i, purpose) in Purpose::ALL.into_iter().enumerate() {
            write!(f, "{} `{purpose}`", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownPurpose {}

impl FromStr for Purpose {
    type Err = UnknownPurpose;

    fn from_str(word: &str) -> Result<Self, UnknownPurpose> {
        Self::ALL.into_iter().find(|purpose| purpose.as_str() == word).ok_or(UnknownPurpose)
    }
}

/// On what an identity rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Basis {
    /// An entry of the catalogue.
    Catalogue,
    /// A token of the operator's robots.txt in product position.
    OperatorToken,
    /// The same, in the header of a browser that gives no link and no name after
    /// `compatible;`: a new browser may bear the name.
    OperatorTokenInBrowser,
    /// A generic word, a link or a mail address, as crawlers send them.
    Sign,
    /// The shape of the header: an unknown product, or no platform.
    Structure,
    /// Only the second opinion called it a crawler.
    SecondOpinion,
    /// The shape of a browser, an app, or nothing at all.
    Shape,
}

impl Basis {
    /// The public word for this basis.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Catalogue => "catalogue",
            Self::OperatorToken => "operator-token",
            Self::OperatorTokenInBrowser => "operator-token-in-browser",
            Self::Sign => "sign",
            Self::Structure => "structure",
            Self::SecondOpinion => "second-opinion",
            Self::Shape => "shape",
        }
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who a request says it is from.
///
/// Passed as `Arc<Identity>`: equal headers give one value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The kind of client.
    pub client: Client,
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
    /// By the catalogue and the signs alone; `None` where that is `identity`.
    at_first: Option<Arc<Identity>>,
    /// With the tokens that the site's robots.txt names.
    pub identity: Arc<Identity>,
}

impl Recognised {
    /// Who it was `at_first`, and who with the tokens that the site's robots.txt names.
    #[must_use]
    pub fn new(at_first: Arc<Identity>, identity: Arc<Identity>) -> Self {
        Self { at_first: Some(at_first).filter(|first| !Arc::ptr_eq(first, &identity)), identity }
    }

    /// By the catalogue and the signs alone.
    #[must_use]
    pub fn at_first(&self) -> &Arc<Identity> {
        self.at_first.as_ref().unwrap_or(&self.identity)
    }
}

impl Identity {
    /// The longest name, in bytes.
    pub const MAX_NAME: usize = 64;

    /// Whether only the second opinion calls this a crawler. Such a client is
    /// audited and never refused: nothing in our own rules supports it.
    #[must_use]
    pub fn second_opinion(&self) -> bool {
        self.basis == Basis::SecondOpinion
    }

    /// Whether this may well be a person's browser, so that it is audited and
    /// never refused: only the second opinion calls it a crawler, or only a word
    /// that the operator's robots.txt names too.
    #[must_use]
    pub fn is_audited_only(&self) -> bool {
        matches!(self.basis, Basis::SecondOpinion | Basis::OperatorTokenInBrowser)
    }

    /// Whether robots.txt has anything to say to this client.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.client.is_judged()
    }

    /// An identity without name or tokens.
    pub(super) fn nameless(client: Client, basis: Basis) -> Self {
        Self { client, crawler: None, purpose: None, tokens: Arc::default(), star: client.is_judged(), basis }
    }

    /// An identity that a product word of the header gives. The word is also
    /// its token when robots.txt could name it.
    pub(super) fn from_word(client: Client, word: Option<Arc<str>>, basis: Basis) -> Self {
        let tokens: Arc<[Box<str>]> = match &word {
            Some(word) if super::catalogue::token_is_legal(word) => Arc::new([Box::from(&**word)]),
            _ => Arc::default(),
        };
        Self { crawler: word, tokens, ..Self::nameless(client, basis) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for purpose in Purpose::ALL {
            assert_eq!(purpose.as_str().parse(), Ok(purpose));
        }
        assert!("".parse::<Purpose>().is_err());
        assert!(Purpose::ALL.is_sorted_by_key(|p| p.as_str()));
    }

    #[test]
    fn what_may_be_a_person_is_audited_only() {
        let of = |basis| Identity::from_word(Client::Crawler, Some("Comet".into()), basis);
        assert!(of(Basis::SecondOpinion).is_audited_only() && of(Basis::SecondOpinion).second_opinion());
        let promoted = of(Basis::OperatorTokenInBrowser);
        assert!(promoted.is_audited_only() && !promoted.second_opinion());
        for basis in [Basis::Catalogue, Basis::OperatorToken, Basis::Sign, Basis::Structure] {
            assert!(!of(basis).is_audited_only(), "{basis}");
        }
    }

    #[test]
    fn a_word_is_a_token_only_when_robots_txt_could_name_it() {
        let bot = Identity::from_word(Client::Crawler, Some("FooBot".into()), Basis::Sign);
        assert_eq!(&*bot.tokens, [Box::from("FooBot")]);
        let odd = Identity::from_word(Client::Tool, Some("a/b#c".into()), Basis::Structure);
        assert!(odd.tokens.is_empty() && odd.star);
        assert!(!Identity::nameless(Client::Browser, Basis::Shape).star);
    }
}
