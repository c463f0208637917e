//! The catalogue: crawlers known by name, as plain data.
//!
//! Not here: the file it is read from (`config::catalogue`) and the automaton
//! it is searched with (`scan`).

use super::identity::ClientKind;
use super::purpose::Purpose;
use super::sign::Sign;
use super::signature::SignatureAgent;
use crate::robots::{compared, nearest};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

/// What an operator says about obeying robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
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

/// On what the tokens of an entry rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum TokenBasis {
    /// The operator's own documentation names them.
    Documented,
    /// Published lists and robots.txt files name them.
    Listed,
    /// Taken from the header itself.
    Inferred,
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
    /// Whether people come from these addresses as well: the operator's offices, its cloud, its VPN.
    pub shared: bool,
    /// Whose signatures are its own: where its keys are published.
    pub agent: Option<SignatureAgent>,
}

impl Verify {
    /// Whether there is any way to check.
    pub fn is_possible(&self) -> bool {
        !self.rdns.is_empty() || !self.ranges.is_empty() || self.agent.is_some()
    }
}

/// What an agent says of itself, at a URL that its entry names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Card {
    /// Where it is published.
    pub url: Box<str>,
    /// Where it lies.
    pub path: PathBuf,
    /// What its bytes hash to; `None` where it was never fetched.
    pub digest: Option<Box<str>>,
    /// Why it says nothing.
    pub error: Option<Box<str>>,
    /// Which fields of the entry it fills.
    pub fields: Vec<&'static str>,
    /// How fast the agent says that it comes.
    pub rate_expectation: Option<Box<str>>,
}

/// One crawler, or another automated client known by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crawler {
    /// The name used in reports and as a configuration key.
    pub name: Arc<str>,
    /// Who runs it.
    pub operator: Option<Box<str>>,
    /// The kind of client.
    pub client: ClientKind,
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
    /// What it says of itself.
    pub card: Option<Card>,
    /// On what the tokens rest.
    pub basis: TokenBasis,
}

/// A token that governs use, and that no crawler sends in a header. What a robots.txt disallows under it is a wish, which
/// is told to whom it is for, and never broken by a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControlToken {
    /// The token.
    pub token: Box<str>,
    /// Whose crawlers it is for. Nobody of a token that is for everybody.
    pub operator: Option<Box<str>>,
    /// What obeying it keeps pages out of.
    pub purpose: Purpose,
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

    /// The entries, in file order.
    pub fn crawlers(&self) -> &[Crawler] {
        &self.crawlers
    }

    /// The control tokens, in file order.
    pub fn control_tokens(&self) -> &[ControlToken] {
        &self.control
    }

    /// The entry of this name, letters in either case.
    pub fn get(&self, name: &str) -> Option<&Crawler> {
        self.crawlers.iter().find(|crawler| crawler.name.eq_ignore_ascii_case(name))
    }

    /// A crawler's name as its entry spells it; another name as it is.
    pub fn spelt<'a>(&'a self, name: &'a str) -> &'a str {
        self.get(name).map_or(name, |crawler| &crawler.name)
    }

    /// The name that was probably meant by one that no entry has.
    pub fn alike(&self, name: &str) -> Option<&str> {
        nearest(name, self.crawlers.iter().map(|crawler| &*crawler.name))
    }

    /// The entry that answers to this token: the one of that name, else the
    /// first whose own (first) token it is, else the one of that name without a
    /// token of its own.
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

    /// The first tokens of all that fetch for `purpose`, and its control tokens, without those that `except` names by
    /// token or by name. A token that something else answers to is left out, unless that fetches for a purpose that is
    /// `blocked`, too: who shuts out the one would shut out the other.
    pub fn to_block(&self, purpose: Purpose, blocked: &[Purpose], except: &[String]) -> Vec<&str> {
        let is_named = |name: &str| except.iter().any(|word| word.eq_ignore_ascii_case(name));
        let is_excepted = |crawler: &Crawler| {
            is_named(&crawler.name) || crawler.tokens.first().is_some_and(|token| is_named(token))
        };
        let is_blocked = |crawler: &Crawler| blocked.contains(&crawler.purpose) && !is_excepted(crawler);
        let others: HashSet<String> = self
            .crawlers
            .iter()
            .filter(|crawler| !is_blocked(crawler))
            .flat_map(|crawler| crawler.tokens.iter().map(|token| token.to_ascii_lowercase()))
            .collect();
        let own = self
            .crawlers
            .iter()
            .filter(|crawler| crawler.purpose == purpose && crawler.client.is_judged())
            .filter(|crawler| !is_excepted(crawler))
            .filter_map(|crawler| crawler.tokens.first().map(|token| &**token));
        let control =
            self.control.iter().filter(|control| control.purpose == purpose).map(|control| &*control.token);
        // Crawlers compare a token, or the part of it before what is outside the grammar.
        let is_answered_to = |token: &str| {
            [token, compared(token)].iter().any(|name| others.contains(&name.to_ascii_lowercase()))
        };
        let mut seen = HashSet::new();
        let tokens = own.chain(control).filter(|token| !is_named(token) && !is_answered_to(token));
        tokens.filter(|token| seen.insert(token.to_ascii_lowercase())).collect()
    }

    /// The control tokens that are for a crawler: its operator's, and those that are for everybody.
    pub fn control_for(&self, crawler: Option<&Crawler>) -> impl Iterator<Item = &ControlToken> {
        let operator = crawler.and_then(|crawler| crawler.operator.as_deref());
        let is_for = move |of: &str| operator.is_some_and(|operator| operator.eq_ignore_ascii_case(of));
        self.control.iter().filter(move |control| control.operator.as_deref().is_none_or(is_for))
    }

    /// All names and tokens of crawlers.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.crawlers.iter().map(|crawler| &*crawler.name);
        names.chain(self.crawlers.iter().flat_map(|crawler| crawler.tokens.iter().map(|token| &**token)))
    }

    /// All control tokens.
    pub fn control_names(&self) -> impl Iterator<Item = &str> {
        self.control.iter().map(|control| &*control.token)
    }

    /// Whether an entry or a control token has this name or token.
    pub fn knows(&self, word: &str) -> bool {
        self.names().chain(self.control_names()).any(|name| name.eq_ignore_ascii_case(word))
    }

    /// Whether this is a control token.
    pub fn control_token(&self, token: &str) -> Option<&ControlToken> {
        self.control.iter().find(|control| control.token.eq_ignore_ascii_case(token))
    }
}

/// Whether robots.txt can name this token. RFC 9309 §2.2.1 allows letters, `-`
/// and `_`; crawlers in use also have digits, dots, `!` and single spaces
/// (`MJ12bot`, `archive.org_bot`, `Y!J`, `Sogou web spider`).
pub fn token_is_legal(token: &str) -> bool {
    let is_legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'!' | b' ');
    let has_other_blanks = token.starts_with(' ') || token.ends_with(' ') || token.contains("  ");
    let has_letter = token.bytes().any(|b| b.is_ascii_alphabetic());
    token.len() <= 64 && token.bytes().all(is_legal) && has_letter && !has_other_blanks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crawler(name: &str, tokens: &[&str]) -> Crawler {
        Crawler {
            name: name.into(),
            operator: None,
            client: ClientKind::Crawler,
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
            card: None,
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
    fn a_token_that_others_answer_to_is_not_blocked() {
        let of = |name: &str, tokens: &[&str], purpose| Crawler { purpose, ..crawler(name, tokens) };
        let train = Purpose::AiTrain;
        let entries = vec![
            of("Googlebot", &["Googlebot"], Purpose::Search),
            of("Vertex", &["Vertex", "Googlebot"], train),
            of("Falls", &["Googlebot"], train),
            of("AI", &["AI"], Purpose::Search),
            of("AI2Bot", &["AI2Bot"], train),
            of("GPTBot", &["GPTBot"], train),
            of("GPT too", &["gptbot"], train),
            of("Mute", &[], train),
        ];
        let control = ControlToken {
            token: "G-Extended".into(),
            operator: Some("G".into()),
            purpose: train,
            governs: "use".into(),
            docs: None,
        };
        let catalogue = Catalogue::new(entries, vec![control]);
        assert_eq!(catalogue.to_block(train, &[train], &[]), ["Vertex", "GPTBot", "G-Extended"]);
        let except = ["vertex".to_owned(), "g-extended".to_owned()];
        assert_eq!(catalogue.to_block(train, &[train], &except), ["GPTBot"]);
        assert_eq!(catalogue.to_block(Purpose::Seo, &[Purpose::Seo], &[]), [""; 0]);
        // Where both are blocked, neither saves the other.
        let both = [train, Purpose::Search];
        assert_eq!(
            catalogue.to_block(train, &both, &[]),
            ["Vertex", "Googlebot", "AI2Bot", "GPTBot", "G-Extended"]
        );
        assert_eq!(catalogue.to_block(Purpose::Search, &both, &[]), ["Googlebot", "AI"]);
        // What is excepted is not shut out by another's token either.
        let except = ["falls".to_owned()];
        assert_eq!(catalogue.to_block(Purpose::Search, &both, &except), ["AI"]);
        assert!(catalogue.knows("G-extended") && catalogue.knows("gpt too") && !catalogue.knows("nobody"));
    }

    #[test]
    fn control_tokens_are_for_their_operator_or_for_all() {
        let control = |token: &str, operator: Option<&str>| ControlToken {
            token: token.into(),
            operator: operator.map(Into::into),
            purpose: Purpose::AiTrain,
            governs: "use".into(),
            docs: None,
        };
        let all = vec![control("G-Extended", Some("Goo")), control("For-All", None)];
        let of_goo = Crawler { operator: Some("goo".into()), ..crawler("Goobot", &[]) };
        let catalogue = Catalogue::new(vec![of_goo, crawler("Foo", &[])], all);
        let read_by = |name: &str| {
            let control = catalogue.control_for(catalogue.get(name));
            control.map(|control| &*control.token).collect::<Vec<_>>()
        };
        assert_eq!(read_by("Goobot"), ["G-Extended", "For-All"]);
        assert_eq!(read_by("Foo"), ["For-All"]);
        assert_eq!(read_by("nobody"), ["For-All"]);
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
