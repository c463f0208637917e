//! The product tokens that a site's own robots.txt names.
//!
//! They choose the group of a client already known to be automated. Alone they
//! convict a browser-shaped header only where a product stands, outside the
//! model names of phones, and never with a word that people's headers use; the
//! header of an app on a person's device they never convict:
//! robots.txt files in use name `Silk`, `Odin`, `fast`, and those are browsers
//! and phones. What they convict and could be a new browser is audited only.
//! Rebuilt when robots.txt changes; the catalogue's automaton is not.

use super::catalogue::token_is_legal;
use super::find::SignHit;
use super::header;
use super::identifier::Identifier;
use super::identity::{Basis, ClientKind, Identity, Recognised};
use aho_corasick::AhoCorasick;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the tokens of one robots.txt from those of any other, before or after.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The tokens of one robots.txt.
#[derive(Debug)]
pub struct OperatorTokens {
    tokens: Box<[Box<str>]>,
    automaton: Option<AhoCorasick>,
    /// The scope of its answers in the memory of an `Identifier`, which is one for
    /// all sites, so that many sites remember no more than one.
    scope: u64,
}

impl OperatorTokens {
    /// Compiles the tokens of the user-agent lines, as written. `*`, and what
    /// no header could hold, is left out.
    pub fn new<'a>(tokens: impl IntoIterator<Item = &'a str>) -> Self {
        let mut kept: Vec<Box<str>> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for token in tokens {
            let token = token.trim();
            if token_is_legal(token) && seen.insert(token.to_ascii_lowercase()) {
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
        Self { tokens: kept.into(), automaton, scope: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The tokens, longest first.
    pub fn tokens(&self) -> &[Box<str>] {
        &self.tokens
    }

    /// Who sends this header, before and after the site's own tokens are asked. Both are remembered together: one
    /// look for a header that is known.
    pub fn recognise(&self, user_agent: Option<&[u8]>, identifier: &Identifier) -> Recognised {
        let refined = |header: &[u8]| {
            let at_first = identifier.recognise(user_agent);
            let identity = self.refined(&at_first, header, identifier);
            Recognised::new(at_first, identity)
        };
        let header = header::ordinary(user_agent);
        if self.automaton.is_none() || header.is_some_and(<[u8]>::is_empty) {
            let at_first = identifier.recognise(user_agent);
            return Recognised::new(Arc::clone(&at_first), at_first);
        }
        match header {
            Some(header) => identifier.refinements().get_or_compute(self.scope, header, || refined(header)),
            // No cache takes it.
            None => refined(&header::prepare(user_agent)),
        }
    }

    /// Adds what the site's own tokens say to `identity`, which `identifier`
    /// gave for this header. Returns the same value when they say nothing.
    pub fn refine(
        &self,
        identity: Arc<Identity>,
        user_agent: Option<&[u8]>,
        identifier: &Identifier,
    ) -> Arc<Identity> {
        let header = &*header::prepare(user_agent);
        // Who signed is not told by the header, and must not be remembered for it.
        if self.automaton.is_none() || header.is_empty() || identity.basis == Basis::Signature {
            return identity;
        }
        let refined = identifier.refinements().get_or_compute(self.scope, header, || {
            let refined = self.refined(&identity, header, identifier);
            Recognised::new(identity, refined)
        });
        refined.identity
    }

    /// As [`Self::refine`], with the step that changed the answer, if one did.
    pub fn explain(
        &self,
        identity: &Arc<Identity>,
        user_agent: Option<&[u8]>,
        identifier: &Identifier,
    ) -> (Arc<Identity>, Option<String>) {
        let refined = self.refine(Arc::clone(identity), user_agent, identifier);
        if refined == *identity {
            return (refined, None);
        }
        let added: Vec<&str> = refined
            .tokens
            .iter()
            .map(|t| &**t)
            .filter(|t| !identity.tokens.iter().any(|known| **known == **t))
            .collect();
        let names = added.join("`, `");
        let step = if refined.client == identity.client {
            format!("robots.txt names `{names}`, which the header holds")
        } else if refined.is_audited_only() {
            format!(
                "robots.txt names `{names}`, which stands in product position: taken for a crawler, but audited and never refused, since a new browser may bear the name"
            )
        } else {
            format!("robots.txt names `{names}`, which stands in product position: a crawler")
        };
        (refined, Some(step))
    }

    fn refined(&self, identity: &Arc<Identity>, header: &[u8], identifier: &Identifier) -> Arc<Identity> {
        if identity.client.is_automated() {
            self.with_tokens(identity, header, identifier)
        } else {
            self.promoted(identity, header, identifier)
        }
    }

    fn with_tokens(&self, identity: &Arc<Identity>, header: &[u8], identifier: &Identifier) -> Arc<Identity> {
        let mut tokens: Vec<Box<str>> = identity.tokens.to_vec();
        for hit in self.finds(header) {
            let Some(token) = self.tokens.get(hit.sign()) else {
                continue;
            };
            // A catalogued crawler answers to whole words only, `AdsBot-Google` is not `Google`, and to
            // the name it goes by here, which is shown to operators whatever its own tokens are.
            let part = identity.basis == Basis::Catalogue
                && !identity.crawler.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(token))
                && header::word_range(header, hit) != (hit.start()..hit.end());
            let known = tokens.iter().any(|known| known.eq_ignore_ascii_case(token));
            if !part && !known && !is_human_word(token, identifier) {
                tokens.push(token.clone());
            }
        }
        if tokens.len() == identity.tokens.len() {
            return Arc::clone(identity);
        }
        Arc::new(Identity { tokens: tokens.into(), ..Identity::clone(identity) })
    }

    fn promoted(&self, identity: &Arc<Identity>, header: &[u8], identifier: &Identifier) -> Arc<Identity> {
        let finds = self.finds(header);
        if finds.is_empty() {
            return Arc::clone(identity);
        }
        let marks = identifier.scanner().scan(header);
        if identity.client == ClientKind::App && marks.app.or(marks.handheld).is_some() {
            return Arc::clone(identity);
        }
        let models = marks.model.and_then(|model| header::comment_around(header, model.start()));
        let accused = finds.into_iter().find(|hit| {
            in_product_position(header, *hit)
                && !models.as_ref().is_some_and(|zone| zone.contains(&hit.start()))
                && self.tokens.get(hit.sign()).is_some_and(|token| !is_human_word(token, identifier))
        });
        let Some(token) = accused.and_then(|hit| self.tokens.get(hit.sign())) else {
            return Arc::clone(identity);
        };
        let basis = if identifier.is_plain_browser(header) {
            Basis::OperatorTokenInBrowser
        } else {
            Basis::OperatorToken
        };
        Arc::new(Identity::from_word(ClientKind::Crawler, Some(Arc::from(&**token)), basis))
    }

    /// The tokens in the header: whole words, outside links, not as likeness;
    /// longest first, then the first.
    fn finds(&self, header: &[u8]) -> Vec<SignHit> {
        let Some(automaton) = &self.automaton else {
            return Vec::new();
        };
        let whole = |hit: &SignHit| {
            let byte =
                |at: Option<usize>| at.and_then(|at| header.get(at)).is_some_and(u8::is_ascii_alphanumeric);
            !byte(hit.start().checked_sub(1)) && !byte(Some(hit.end()))
        };
        let mut hits: Vec<SignHit> = automaton
            .find_overlapping_iter(header)
            .map(|found| SignHit::new(found.pattern().as_usize(), found.start(), found.end()))
            .filter(whole)
            .filter(|hit| !header::in_link(header, *hit) && !header::is_likeness(header, hit.start()))
            .collect();
        hits.sort_by_key(|hit| (hit.sign(), hit.start()));
        hits.dedup_by_key(|hit| hit.sign());
        hits
    }
}

/// `; Tok/1`, ` Tok/1.0`, or after `compatible;`.
fn in_product_position(header: &[u8], hit: SignHit) -> bool {
    let before = header.get(..hit.start()).unwrap_or_default();
    let opened = before.last().is_none_or(|b| matches!(b, b' ' | b';' | b'('));
    let versioned = header.get(hit.end()) == Some(&b'/')
        && header.get(hit.end() + 1).is_some_and(|b| b.is_ascii_digit() || b.eq_ignore_ascii_case(&b'v'));
    let compatible = super::sign::ends_with_ignore_case(before.trim_ascii_end(), b"compatible;");
    opened && (versioned || compatible)
}

/// Whether people's headers use the word, or hold it as a mark of an app, a
/// device or a platform; control tokens are never looked for in headers.
fn is_human_word(token: &str, identifier: &Identifier) -> bool {
    let found = identifier.scanner().scan(token.as_bytes());
    identifier.words().human_words.contains(&*token.to_ascii_lowercase())
        || identifier.catalogue().control_token(token).is_some()
        || found.app.or(found.device).or(found.handheld).or(found.desktop).is_some()
        || found.platform.or(found.engine).or(found.whole_guard).is_some()
}

#[cfg(test)]
mod tests {
    use super::super::sign::Sign;
    use super::super::words::{RecognitionData, Words};
    use super::*;

    fn identifier() -> Identifier {
        let sign = |written: &str| Sign::parse(written).unwrap();
        let words = Words {
            crawler_signs: vec![sign("*bot")],
            app_marks: vec![sign("CFNetwork/")],
            desktops: vec![sign("Windows")],
            engines: vec![sign("AppleWebKit/")],
            human_words: ["silk".into()].into(),
            ..Words::default()
        };
        Identifier::new(RecognitionData { words, ..RecognitionData::default() }).unwrap()
    }

    fn refined(tokens: &[&str], header: &str) -> Arc<Identity> {
        let identifier = identifier();
        let header = Some(header.as_bytes());
        OperatorTokens::new(tokens.iter().copied()).refine(identifier.recognise(header), header, &identifier)
    }

    #[test]
    fn only_tokens_a_header_can_hold_are_kept_longest_first() {
        let own = OperatorTokens::new(["*", "Foo", " FooBot ", "foo", "", "a/b"]);
        assert_eq!(own.tokens(), [Box::from("FooBot"), Box::from("Foo")]);
    }

    #[test]
    fn tokens_of_an_automated_client_are_whole_and_meant() {
        let tokens = |header: &str| refined(&["Foo", "Bar", "Baz", "Silk"], header).tokens.join(",");
        assert_eq!(tokens("Zorkbot Foo"), "Zorkbot,Foo");
        assert_eq!(tokens("Zorkbot Foos (like Bar) http://x/Baz Silk"), "Zorkbot");
        assert_eq!(tokens("Zorkbot-Bar/1 foo/2"), "Zorkbot-Bar,Foo,Bar");
    }

    #[test]
    fn a_person_is_convicted_only_by_a_product() {
        let client = |header: &str| refined(&["Foo", "Silk", "CFNetwork"], header).client;
        let windows = "Mozilla/5.0 (Windows) AppleWebKit/1";
        assert_eq!(client(&format!("{windows} Foo/1.0")), ClientKind::Crawler);
        for innocent in ["Foo", "Foo/beta", "Silk/1.0", "(Foo)", "x-Foo/1"] {
            assert_eq!(client(&format!("{windows} {innocent}")), ClientKind::Browser, "{innocent}");
        }
        let basis = |header: &str| refined(&["Foo"], header).basis;
        assert_eq!(basis(&format!("{windows} Foo/1.0")), Basis::OperatorTokenInBrowser);
        assert_eq!(basis("Foo/1 (Windows)"), Basis::OperatorToken);
        assert_eq!(client("Foo/1 CFNetwork/1"), ClientKind::App);
        assert_eq!(client("Foo/1 (Windows)"), ClientKind::Crawler);
    }

    #[test]
    fn without_a_header_or_a_token_nothing_changes() {
        let identifier = identifier();
        let identity = identifier.recognise(None);
        let own = OperatorTokens::new(["Foo"]);
        assert!(Arc::ptr_eq(&own.refine(Arc::clone(&identity), None, &identifier), &identity));
        let (same, step) = own.explain(&identity, Some(b"Mozilla/5.0 (Windows)"), &identifier);
        assert!(Arc::ptr_eq(&same, &identity) && step.is_none());
    }
}
