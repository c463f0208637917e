//! The product tokens that a site's own robots.txt names.
//!
//! They choose the group of a client that is known to be automated (RFC 9309 §2.2.1), and they make a `tool` or an
//! `unnamed` client a crawler that they name where a product stands (RFC 9110 §10.1.5). A browser or an app they never
//! turn into anything: robots.txt files in use name `Silk`, `Odin` and `Harvest`, and those are browsers, phones and
//! apps, too. They depend on the version of the file, so each version answers for itself.

use super::cache::Cache;
use super::catalogue::token_is_legal;
use super::header;
use super::identity::{Basis, ClientKind, Identity};
use super::scan::SignHit;
use aho_corasick::AhoCorasick;
use std::sync::{Arc, OnceLock};

/// Words that are in nearly every header, and so cannot name a crawler.
const EVERYBODYS: &str = "Mozilla AppleWebKit WebKit KHTML Gecko like Chrome Chromium Safari Version Mobile Firefox Edge Edg Opera \
     OPR MSIE Trident compatible Windows Macintosh Intel Linux X11 Ubuntu Android iPhone iPad http https www";

/// Clients whose answer a version remembers. Some hundred crawlers visit a site; there may be thousands of versions.
const REMEMBERED: usize = 128;

/// Who a client is by its header alone, and who it is at this site. The second holds for this value of the first alone:
/// where the catalogue has changed, the identifier gives another one.
type AppliedIdentity = (Arc<Identity>, Arc<Identity>);

/// The tokens of one robots.txt.
#[derive(Debug)]
pub struct OperatorTokens {
    tokens: Box<[Box<str>]>,
    automaton: Option<AhoCorasick>,
    /// Made when a crawler is first asked about: most former versions never are.
    remembered: OnceLock<Cache<AppliedIdentity>>,
}

impl OperatorTokens {
    /// Compiles the tokens of the user-agent lines, as written. `*`, what no header could hold, and what every header
    /// holds is left out.
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Self {
        let mut kept: Vec<Box<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for token in tokens {
            let token = token.trim();
            let is_everybodys = EVERYBODYS.split(' ').any(|word| word.eq_ignore_ascii_case(token));
            if token_is_legal(token) && !is_everybodys && seen.insert(token.to_ascii_lowercase()) {
                kept.push(token.into());
            }
        }
        // Longest first, so that the order of finds is the order of precedence.
        kept.sort_by_key(|token| std::cmp::Reverse(token.len()));
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(kept.iter().map(|token| &**token))
            .ok()
            .filter(|_| !kept.is_empty());
        Self { tokens: kept.into(), automaton, remembered: OnceLock::new() }
    }

    /// The tokens, longest first.
    pub fn tokens(&self) -> &[Box<str>] {
        &self.tokens
    }

    /// Who `identity` is at this site, with the tokens that stand in the header from which it was recognised. The same
    /// value where none does.
    pub fn applied(&self, identity: &Arc<Identity>, user_agent: Option<&[u8]>) -> Arc<Identity> {
        // Who signed is not told by the header.
        if !identity.is_judged() || identity.basis == Basis::Signature || self.automaton.is_none() {
            return Arc::clone(identity);
        }
        let answer = || (Arc::clone(identity), self.apply(identity, user_agent));
        let Some(header @ [_, ..]) = header::ordinary(user_agent) else { return answer().1 };
        let remembered = self.remembered.get_or_init(|| Cache::new(REMEMBERED));
        remembered.get_or_compute(header, |(known, _)| Arc::ptr_eq(known, identity), answer).1
    }

    fn apply(&self, identity: &Arc<Identity>, user_agent: Option<&[u8]>) -> Arc<Identity> {
        let header = &*header::prepare(user_agent);
        let mut tokens: Vec<Box<str>> = Vec::new();
        let mut names = None;
        for hit in self.finds(header) {
            let Some(token) = self.tokens.get(hit.sign()).filter(|token| answers_to(identity, token)) else {
                continue;
            };
            // A crawler of the catalogue answers to whole words only, `AdsBot-Google` is not `AdsBot`, and to the name
            // it goes by here, which is shown to operators whatever its own tokens are. Another may be meant by what
            // opens its word, `FooBot-News` by `FooBot`.
            let word = header::word_range(header, hit);
            let is_meant = match identity.basis {
                Basis::Catalogue => is_name(identity, token) || word == (hit.start()..hit.end()),
                _ => word.start == hit.start(),
            };
            if !is_meant {
                continue;
            }
            if names.is_none() && in_product_position(header, hit) {
                names = Some(token);
            }
            tokens.push(token.clone());
        }
        let becomes_crawler = matches!(identity.client, ClientKind::Tool | ClientKind::Unnamed);
        if let Some(token) = names.filter(|_| becomes_crawler) {
            return Arc::new(named_crawler(identity, token, tokens));
        }
        // What nothing but its silence tells is not known to be automated.
        if identity.client == ClientKind::Unnamed || tokens.iter().all(|token| has_token(identity, token)) {
            return Arc::clone(identity);
        }
        Arc::new(Identity { tokens: joined(identity, tokens), ..Identity::clone(identity) })
    }

    /// As [`Self::applied`], with the step that changed the answer, if one did.
    pub fn explain(
        &self,
        identity: &Arc<Identity>,
        user_agent: Option<&[u8]>,
    ) -> (Arc<Identity>, Option<String>) {
        let applied = self.applied(identity, user_agent);
        if applied == *identity {
            return (applied, None);
        }
        let step = if applied.client == identity.client {
            let added = applied.tokens.iter().map(|token| &**token);
            let added: Vec<&str> = added.filter(|token| !has_token(identity, token)).collect();
            format!("robots.txt names `{}`, which the header holds", added.join("`, `"))
        } else {
            let is_named = |token: &&str| self.tokens.iter().any(|own| own.eq_ignore_ascii_case(token));
            let token = applied.tokens.iter().map(|token| &**token).find(is_named).unwrap_or_default();
            format!("robots.txt names `{token}`, which stands where a product stands: a crawler")
        };
        (applied, Some(step))
    }

    /// The tokens in the header: whole words, outside links, not as likeness; longest first, then the first.
    fn finds(&self, header: &[u8]) -> Vec<SignHit> {
        let Some(automaton) = &self.automaton else {
            return Vec::new();
        };
        let is_whole = |hit: &SignHit| {
            let byte =
                |at: Option<usize>| at.and_then(|at| header.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            !byte(hit.start().checked_sub(1)) && !byte(Some(hit.end()))
        };
        let mut hits: Vec<SignHit> = automaton
            .find_overlapping_iter(header)
            .map(|found| SignHit::new(found.pattern().as_usize(), found.start(), found.end()))
            .filter(is_whole)
            .filter(|hit| !header::in_link(header, *hit) && !header::is_likeness(header, hit.start()))
            .collect();
        // Where a token stands twice, the place counts that a product could have.
        hits.sort_by_key(|hit| (hit.sign(), !in_product_position(header, *hit), hit.start()));
        hits.dedup_by_key(|hit| hit.sign());
        hits
    }
}

fn is_name(identity: &Identity, token: &str) -> bool {
    identity.crawler.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(token))
}

/// Whether the client can be meant by a token of its own name. A control token, which governs use, gives a name and no
/// token: no header makes a crawler answer to it.
fn answers_to(identity: &Identity, token: &str) -> bool {
    identity.basis == Basis::Catalogue || !identity.tokens.is_empty() || !is_name(identity, token)
}

fn has_token(identity: &Identity, token: &str) -> bool {
    identity.tokens.iter().any(|known| known.eq_ignore_ascii_case(token))
}

/// Its own tokens, and those of the file behind them.
fn joined(identity: &Identity, found: Vec<Box<str>>) -> Arc<[Box<str>]> {
    let added = found.into_iter().filter(|token| !has_token(identity, token));
    identity.tokens.iter().cloned().chain(added).collect()
}

/// The crawler that a file makes of a client. Its name, and on what that rests, stay what they are without the file, so that
/// no version calls it otherwise; one that has none is called by the token.
fn named_crawler(identity: &Identity, token: &str, found: Vec<Box<str>>) -> Identity {
    let (crawler, basis) = match &identity.crawler {
        Some(name) => (Arc::clone(name), identity.basis),
        None => (token.into(), Basis::OperatorToken),
    };
    Identity {
        client: ClientKind::Crawler,
        crawler: Some(crawler),
        tokens: joined(identity, found),
        star: true,
        basis,
        purpose: identity.purpose,
    }
}

/// Whether a product stands there: first of all, with a version (`; Tok/1`, ` Tok/v1.0`), or after `compatible;`.
fn in_product_position(header: &[u8], hit: SignHit) -> bool {
    let before = header.get(..hit.start()).unwrap_or_default();
    let is_opened = before.last().is_none_or(|b| matches!(b, b' ' | b';' | b'('));
    is_opened && header::has_version(header, hit.end()) || super::sign::opens(header, hit.start())
}

#[cfg(test)]
mod tests {
    use super::super::identifier::Identifier;
    use super::super::words::{Mark, RecognitionData, Words};
    use super::*;

    fn identity(header: &str) -> Arc<Identity> {
        let words = Words::default()
            .with(Mark::CrawlerSigns, &["*bot"])
            .with(Mark::ToolSigns, &["*probe*"])
            .with(Mark::AppMarks, &["CFNetwork/"])
            .with(Mark::Desktops, &["Windows"])
            .with(Mark::Engines, &["AppleWebKit/"]);
        let identifier = Identifier::new(RecognitionData { words, ..RecognitionData::default() }).unwrap();
        identifier.recognise(Some(header.as_bytes()))
    }

    fn applied(tokens: &[&str], header: &str) -> Arc<Identity> {
        OperatorTokens::new(tokens.iter().copied()).applied(&identity(header), Some(header.as_bytes()))
    }

    #[test]
    fn only_tokens_a_header_can_hold_are_kept_longest_first() {
        let own = OperatorTokens::new(["*", "Foo", " FooBot ", "foo", "", "a/b", "mozilla", "Chrome"]);
        assert_eq!(own.tokens(), [Box::from("FooBot"), Box::from("Foo")]);
    }

    #[test]
    fn tokens_of_an_automated_client_are_whole_and_meant() {
        let tokens = |header: &str| applied(&["Foo", "Bar", "Baz"], header).tokens.join(",");
        assert_eq!(tokens("Zorkbot Foo"), "Zorkbot,Foo");
        assert_eq!(tokens("Zorkbot Foos (like Bar) http://x/Baz"), "Zorkbot");
        assert_eq!(tokens("Zorkbot-Bar/1 foo-x/2"), "Zorkbot-Bar,Foo");
    }

    #[test]
    fn a_tool_that_is_named_as_a_product_is_a_crawler() {
        let client = |header: &str| applied(&["Foo", "Zork"], header).client;
        for header in ["Foo", "Foo/1.0", "Bar/2 Foo/1", "probe/2 Foo/v1", "Zork/9 x-probe/2"] {
            assert_eq!(identity(header).client, ClientKind::Tool, "{header}");
            assert_eq!(client(header), ClientKind::Crawler, "{header}");
        }
        for header in
            ["Bar/1 Foo", "Bar/1 (Foo)", "Bar/1 x-Foo/1", "Bar/1 (like Foo)", "Bar/1 (+http://Foo/1)"]
        {
            assert_eq!(client(header), identity(header).client, "{header}");
        }
        let named = applied(&["Foo"], "Bar/2 Foo/1");
        assert_eq!((named.crawler.as_deref(), named.basis), (Some("Bar"), Basis::Structure));
        assert_eq!(*named.tokens, [Box::from("Bar"), Box::from("Foo")]);
        let unnamed = applied(&["\u{e9}", "Foo"], "\u{e9}t\u{e9} \u{e0} Foo/1");
        assert_eq!((unnamed.client, unnamed.crawler.as_deref()), (ClientKind::Crawler, Some("Foo")));
        // The spelling of the file is not the client's name.
        assert_eq!(applied(&["ZORK"], "Zork/1").crawler.as_deref(), Some("Zork"));
    }

    #[test]
    fn a_person_stays_a_person_whatever_the_file_names() {
        for header in [
            "Mozilla/5.0 (Windows) AppleWebKit/1 Foo/1.0",
            "Foo/1.0 (Windows)",
            "Foo/1 CFNetwork/1",
            "Foo/1 (Windows) AppleWebKit/1",
        ] {
            assert!(!identity(header).is_judged(), "{header}");
            assert_eq!(applied(&["Foo", "Windows", "CFNetwork"], header), identity(header), "{header}");
        }
    }

    #[test]
    fn without_a_header_or_a_token_nothing_changes() {
        let own = OperatorTokens::new(["Foo"]);
        let nobody = identity("-");
        assert!(Arc::ptr_eq(&own.applied(&nobody, None), &nobody));
        let (same, step) = own.explain(&nobody, Some(b"-"));
        assert!(Arc::ptr_eq(&same, &nobody) && step.is_none());
    }

    #[test]
    fn what_is_remembered_holds_for_one_header_and_one_catalogue() {
        let own = OperatorTokens::new(["Foo", "Bar"]);
        let ask = |identity: &Arc<Identity>, header: &str| own.applied(identity, Some(header.as_bytes()));
        let tool = identity("probe/1 Foo/1");
        assert_eq!(*ask(&tool, "probe/1 Foo/1").tokens, *ask(&tool, "probe/1 Foo/1").tokens);
        assert!(Arc::ptr_eq(&ask(&tool, "probe/1 Foo/1"), &ask(&tool, "probe/1 Foo/1")));
        // The same value of another header, as all headers of an entry of the catalogue give it.
        assert!(ask(&tool, "probe/1 Bar/1").tokens.contains(&Box::from("Bar")));
        // Another value of the same header, as a changed catalogue gives it.
        let other = Arc::new(Identity { star: !tool.star, ..(*tool).clone() });
        assert_eq!(ask(&other, "probe/1").star, other.star);
        assert_eq!(ask(&tool, "probe/1").star, tool.star);
    }

    #[test]
    fn a_name_without_a_token_is_nobodys() {
        let control = Arc::new(Identity { tokens: Arc::default(), ..(*identity("Foo/1")).clone() });
        let own = OperatorTokens::new(["Foo"]);
        assert_eq!(own.applied(&control, Some(b"Foo/1")), control);
    }
}
