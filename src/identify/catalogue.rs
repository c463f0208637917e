//! The catalogue: crawlers known by name, as plain data.
//!
//! Not here: the file it is read from (`config::catalogue`) and the automaton
//! it is searched with (`scan`).

use super::client::Client;
use super::identity::Purpose;
use super::sign::Sign;
use std::fmt;
use std::sync::Arc;

/// What an operator says about obeying robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Obeys {
    /// It obeys.
    Yes,
    /// It says that it does not.
    No,
    /// In some cases only.
    Partly,
    /// Nothing was found.
    Unknown,
}

impl Obeys {
    /// The public word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partly => "partly",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Obeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// On what the tokens of an entry rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenBasis {
    /// The operator's own documentation names them.
    Documented,
    /// Published lists and robots.txt files name them.
    Listed,
    /// Taken from the header itself.
    Inferred,
}

impl TokenBasis {
    /// The public word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Documented => "documented",
            Self::Listed => "listed",
            Self::Inferred => "inferred",
        }
    }
}

impl fmt::Display for TokenBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How the address of a crawler can be checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verify {
    /// Suffixes of the reverse DNS name, each with a leading dot.
    pub rdns: Vec<Box<str>>,
    /// Whether the reverse name must resolve back to the address. `false` where
    /// the operator's names do not.
    pub forward: bool,
    /// Where the operator publishes its address ranges.
    pub ranges: Vec<Box<str>>,
}

impl Verify {
    /// Whether there is any way to check.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        !self.rdns.is_empty() || !self.ranges.is_empty()
    }
}

/// One crawler, or another automated client known by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawler {
    /// The name used in reports and as a configuration key.
    pub name: Arc<str>,
    /// Who runs it.
    pub operator: Option<Box<str>>,
    /// The kind of client.
    pub client: Client,
    /// What it fetches for.
    pub purpose: Purpose,
    /// What gives it away in a `User-Agent`. Empty when it cannot be told by its header.
    pub signs: Vec<Sign>,
    /// Whether others build their crawlers with it: any other name in the same
    /// header then says who it is.
    pub framework: bool,
    /// Product tokens (RFC 9309 §2.2.1), the first to be looked up first.
    pub tokens: Arc<[Box<str>]>,
    /// Whether the `*` group applies to it.
    pub star: bool,
    /// What its operator says about obeying.
    pub obeys: Obeys,
    /// The operator's documentation, or the page the crawler names in its header.
    pub docs: Option<Box<str>>,
    /// The day the entry was compared with the documentation, `YYYY-MM-DD`.
    pub checked: Option<Box<str>>,
    /// How its address can be checked.
    pub verify: Verify,
    /// Names of crawlers whose copy of robots.txt it may use.
    pub shares_cache_with: Vec<Box<str>>,
    /// On what the tokens rest.
    pub basis: TokenBasis,
}

/// A token that governs use, and that no crawler sends in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlToken {
    /// The token.
    pub token: Box<str>,
    /// Who reads it.
    pub operator: Box<str>,
    /// What it governs, in a short sentence.
    pub governs: Box<str>,
    /// The operator's documentation.
    pub docs: Option<Box<str>>,
}

/// Crawlers known by name, and the control tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalogue {
    crawlers: Vec<Crawler>,
    control: Vec<ControlToken>,
}

impl Catalogue {
    /// A catalogue of these entries. A later entry replaces an earlier one of
    /// the same name, letters in either case.
    #[must_use]
    pub fn new(crawlers: Vec<Crawler>, control: Vec<ControlToken>) -> Self {
        let mut catalogue = Self { crawlers: Vec::with_capacity(crawlers.len()), control };
        for crawler in crawlers {
            catalogue.insert(crawler);
        }
        catalogue
    }

    /// Adds an entry, or replaces the one of the same name.
    pub fn insert(&mut self, crawler: Crawler) {
        let same = |known: &&mut Crawler| known.name.eq_ignore_ascii_case(&crawler.name);
        match self.crawlers.iter_mut().find(same) {
            Some(known) => *known = crawler,
            None => self.crawlers.push(crawler),
        }
    }

    /// Adds a control token, or replaces the same one.
    pub fn insert_control(&mut self, control: ControlToken) {
        self.control.retain(|known| !known.token.eq_ignore_ascii_case(&control.token));
        self.control.push(control);
    }

    /// Keeps only the entries for which `keep` says so.
    pub fn retain(&mut self, keep: impl FnMut(&Crawler) -> bool) {
        self.crawlers.retain(keep);
    }

    /// The entries, in file order.
    #[must_use]
    pub fn crawlers(&self) -> &[Crawler] {
        &self.crawlers
    }

    /// The control tokens, in file order.
    #[must_use]
    pub fn control_tokens(&self) -> &[ControlToken] {
        &self.control
    }

    /// The entry of this name, letters in either case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Crawler> {
        self.crawlers.iter().find(|crawler| crawler.name.eq_ignore_ascii_case(name))
    }

    /// The entry that answers to this token: the one of that name, else the
    /// first whose own (first) token it is, else the one of that name without a
    /// token of its own.
    #[must_use]
    pub fn by_token(&self, token: &str) -> Option<&Crawler> {
        let own = |crawler: &&Crawler| {
            crawler.tokens.first().is_some_and(|first| first.eq_ignore_ascii_case(token))
        };
        self.crawlers
            .iter()
            .filter(own)
            .find(|crawler| crawler.name.eq_ignore_ascii_case(token))
            .or_else(|| self.crawlers.iter().find(own))
            .or_else(|| self.get(token).filter(|crawler| crawler.tokens.is_empty()))
    }

    /// Whether this is a control token.
    #[must_use]
    pub fn control_token(&self, token: &str) -> Option<&ControlToken> {
        self.control.iter().find(|control| control.token.eq_ignore_ascii_case(token))
    }
}

/// Whether robots.txt can name this token. RFC 9309 §2.2.1 allows letters, `-`
/// and `_`; crawlers in use also have digits, dots, `!` and single spaces
/// (`MJ12bot`, `archive.org_bot`, `Y!J`, `Sogou web spider`).
#[must_use]
pub fn token_is_legal(token: &str) -> bool {
    let octet = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'!' | b' ');
    let blank_at_end = token.starts_with(' ') || token.ends_with(' ');
    let mut letters = false;
    let mut last = 0;
    let legal = token.bytes().all(|b| {
        letters |= b.is_ascii_alphabetic();
        let doubled = b == b' ' && last == b' ';
        last = b;
        octet(b) && !doubled
    });
    legal && letters && !blank_at_end && token.len() <= 64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crawler(name: &str, tokens: &[&str]) -> Crawler {
        Crawler {
            name: name.into(),
            operator: None,
            client: Client::Crawler,
            purpose: Purpose::Search,
            signs: vec![Sign::parse(name).unwrap()],
            framework: false,
            tokens: tokens.iter().map(|t| Box::from(*t)).collect(),
            star: true,
            obeys: Obeys::Unknown,
            docs: None,
            checked: None,
            verify: Verify::default(),
            shares_cache_with: Vec::new(),
            basis: TokenBasis::Inferred,
        }
    }

    #[test]
    fn a_later_entry_replaces_the_same_name() {
        let one = crawler("FooBot", &["FooBot"]);
        let two = crawler("foobot", &["foobot", "foo"]);
        let catalogue = Catalogue::new(vec![one, crawler("Bar", &[]), two], Vec::new());
        assert_eq!(catalogue.crawlers().len(), 2);
        assert_eq!(catalogue.get("FOOBOT").unwrap().tokens.len(), 2);
    }

    #[test]
    fn a_token_finds_the_entry_it_belongs_to() {
        let image = crawler("Foo-Image", &["Foo-Image", "Foo"]);
        let catalogue = Catalogue::new(vec![image, crawler("Foo", &["Foo"])], Vec::new());
        assert_eq!(&*catalogue.by_token("foo").unwrap().name, "Foo");
        assert_eq!(&*catalogue.by_token("foo-image").unwrap().name, "Foo-Image");
        assert!(catalogue.by_token("bar").is_none());
        let mute = Catalogue::new(vec![crawler("Bar", &[])], Vec::new());
        assert_eq!(&*mute.by_token("bar").unwrap().name, "Bar");
    }

    #[test]
    fn legal_tokens() {
        for token in ["GPTBot", "MJ12bot", "archive.org_bot", "Y!J", "Sogou web spider"] {
            assert!(token_is_legal(token), "{token}");
        }
        for token in ["", " a", "a  b", "a/b", "a#b", "*", "é", "123"] {
            assert!(!token_is_legal(token), "{token}");
        }
    }
}
