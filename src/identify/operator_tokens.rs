//! The product tokens that a site's own robots.txt names.
//!
//! They choose the group of a client that is known to be automated (RFC 9309 §2.2.1), and they make a `tool` or an
//! `unnamed` client a crawler that they name where a product stands (RFC 9110 §10.1.5). A browser or an app they never
//! turn into anything: robots.txt files in use name `Silk`, `Odin` and `Harvest`, and those are browsers, phones and
//! apps, too. They depend on the version of the file, so each version answers for itself.

use super::cache::Cache;
use super::catalogue::token_is_legal;
use super::classify::{NoTrace, Trace};
use super::header;
use super::identity::{Basis, ClientKind, Identity};
use super::scan::SignHit;
use super::words::Mark;
use aho_corasick::AhoCorasick;
use std::collections::HashSet;
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
        let is_everybodys = |token: &str| EVERYBODYS.split(' ').any(|word| word.eq_ignore_ascii_case(token));
        let tokens = tokens.into_iter().map(str::trim);
        let telling = tokens.filter(|token| token_is_legal(token) && !is_everybodys(token));
        let mut seen = HashSet::new();
        let kept = telling.filter(|token| seen.insert(token.to_ascii_lowercase()));
        let mut kept: Vec<Box<str>> = kept.map(Box::from).collect();
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
        if !self.may_name(identity) {
            return Arc::clone(identity);
        }
        let answer = || (Arc::clone(identity), self.apply(identity, user_agent, &mut NoTrace));
        let Some(header @ [_, ..]) = header::ordinary(user_agent) else { return answer().1 };
        let remembered = self.remembered.get_or_init(|| Cache::new(REMEMBERED));
        remembered.get_or_compute(header, |(known, _)| Arc::ptr_eq(known, identity), answer).1
    }

    /// As [`Self::applied`], with the step that changed the answer, if one did.
    pub fn explain(
        &self,
        identity: &Arc<Identity>,
        user_agent: Option<&[u8]>,
    ) -> (Arc<Identity>, Option<String>) {
        let mut steps = Vec::new();
        let is_asked = self.may_name(identity);
        let applied = is_asked.then(|| self.apply(identity, user_agent, &mut steps));
        (applied.unwrap_or_else(|| Arc::clone(identity)), steps.pop())
    }

    /// Whether the file may name such a client. Who signed is not told by the header.
    fn may_name(&self, identity: &Identity) -> bool {
        identity.is_judged() && identity.basis != Basis::Signature && self.automaton.is_some()
    }

    fn apply(
        &self,
        identity: &Arc<Identity>,
        user_agent: Option<&[u8]>,
        trace: &mut impl Trace,
    ) -> Arc<Identity> {
        let header = &*header::prepare(user_agent);
        let found = self.meant(identity, header);
        let is_known = |token: &str| identity.tokens.iter().any(|known| known.eq_ignore_ascii_case(token));
        let added: Vec<&str> =
            found.iter().map(|(token, _)| *token).filter(|token| !is_known(token)).collect();
        let products = found.iter().filter(|(_, is_product)| *is_product).map(|(token, _)| *token);
        let is_nobodys = matches!(identity.client, ClientKind::Tool | ClientKind::Unnamed);
        // Its own before another, then the longest.
        let named = products.min_by_key(|token| !is_known(token)).filter(|_| is_nobodys);
        // What nothing but its silence tells is not known to be automated.
        if named.is_none() && (identity.client == ClientKind::Unnamed || added.is_empty()) {
            return Arc::clone(identity);
        }
        trace.note(|| match named {
            Some(token) => {
                format!("robots.txt names `{token}`, which stands where a product stands: a crawler")
            }
            None => format!("robots.txt names `{}`, which the header holds", added.join("`, `")),
        });
        let mut applied = Identity::clone(identity);
        applied.tokens = identity.tokens.iter().cloned().chain(added.into_iter().map(Box::from)).collect();
        if let Some(token) = named {
            (applied.client, applied.star) = (ClientKind::Crawler, true);
            // Its name, and on what that rests, stay what they are without the file, so that no version calls it otherwise;
            // one that has none is called by the token.
            if applied.crawler.is_none() {
                (applied.crawler, applied.basis) = (Some(token.into()), Basis::OperatorToken);
            }
        }
        Arc::new(applied)
    }

    /// The tokens in the header by which the client is meant: whole words, outside links, not as likeness; longest first. And
    /// whether each stands where a product does: of two places that one counts.
    fn meant(&self, identity: &Identity, header: &[u8]) -> Vec<(&str, bool)> {
        let is_inner = |at: usize| header.get(at).is_some_and(u8::is_ascii_alphanumeric);
        let found = self.automaton.iter().flat_map(|automaton| automaton.find_overlapping_iter(header));
        let mut hits: Vec<SignHit> = found
            .filter(|found| !is_inner(found.start().wrapping_sub(1)) && !is_inner(found.end()))
            .map(|found| {
                let (start, end) = (found.start(), found.end());
                SignHit { mark: Mark::Named, entry: found.pattern().as_usize(), start, end }
            })
            .filter(|hit| !header::in_link(header, *hit) && !header::is_likeness(header, hit.start))
            .collect();
        hits.sort_by_key(|hit| (hit.entry, !in_product_position(header, *hit), hit.start));
        hits.dedup_by_key(|hit| hit.entry);
        let token = |hit: SignHit| {
            let token =
                self.tokens.get(hit.entry).filter(|token| answers_to(identity, token, header, hit))?;
            Some((&**token, in_product_position(header, hit)))
        };
        hits.into_iter().filter_map(token).collect()
    }
}

/// Whether the client is meant by a token that stands in its header. A crawler of the catalogue answers to whole words
/// only, `AdsBot-Google` is not `AdsBot`, and to the name it goes by here, which is shown to operators whatever its own
/// tokens are. Another may be meant by what opens its word, `FooBot-News` by `FooBot`, but not by a name without a token: a
/// control token, which governs use, to which no header makes a crawler answer.
fn answers_to(identity: &Identity, token: &str, header: &[u8], hit: SignHit) -> bool {
    let is_name = identity.crawler.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(token));
    let word = header::word_range(header, hit);
    match identity.basis {
        Basis::Catalogue => is_name || word == (hit.start..hit.end),
        _ => word.start == hit.start && !(is_name && identity.tokens.is_empty()),
    }
}

/// Whether a product stands there: first of all, with a version (`; Tok/1`, ` Tok/v1.0`), or after `compatible;`.
fn in_product_position(header: &[u8], hit: SignHit) -> bool {
    let before = header.get(..hit.start).unwrap_or_default();
    let is_opened = before.last().is_none_or(|b| matches!(b, b' ' | b';' | b'('));
    is_opened && header::has_version(header, hit.end) || super::sign::opens(header, hit.start)
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
