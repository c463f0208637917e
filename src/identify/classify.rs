//! From the finds of one pass to an answer: names first, then generic signs,
//! then the shape of the header.
//!
//! The order is the promise: what could be a person is asked before what could
//! be a nameless tool, and a guard is heard before any generic sign. Pure; not
//! here: the second opinion (`user_agent`) and the operator's own tokens.

use super::catalogue::Crawler;
use super::find::{SignFinds, SignHit, SignMeaning};
use super::header;
use super::identity::{Basis, ClientKind};
use super::scan::Scanner;
use super::shape::shape;
use super::words::RecognitionData;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// What our own rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Classification {
    /// The catalogue entry of this index.
    Entry(usize),
    /// No entry: the kind, the word that gave it away, and why.
    Kind(ClientKind, Option<Arc<str>>, Basis),
}

/// Where the steps that led to an answer go. Recognition drops them,
/// `Identifier::explain` keeps them.
pub(super) trait Trace {
    fn note(&mut self, text: impl FnOnce() -> String);
}

/// Drops every step, and costs nothing.
pub(super) struct NoTrace;

impl Trace for NoTrace {
    fn note(&mut self, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<String> {
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.push(text());
    }
}

/// The rules over one header and its finds.
pub(super) struct Rules<'a> {
    knowledge: &'a RecognitionData,
    pub(super) scanner: &'a Scanner,
    pub(super) header: &'a [u8],
    pub(super) found: &'a SignFinds,
    models: Option<Range<usize>>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(
        knowledge: &'a RecognitionData,
        scanner: &'a Scanner,
        header: &'a [u8],
        found: &'a SignFinds,
    ) -> Self {
        let mut rules = Self { knowledge, scanner, header, found, models: None };
        rules.models = rules.model_zone();
        rules
    }

    /// The comment that lists phone or TV models, unless it is a crawler's own
    /// (`compatible; FooBot; Android`).
    fn model_zone(&self) -> Option<Range<usize>> {
        let zone = header::comment_around(self.header, self.found.model?.start())?;
        let inside = self.found.compatible.is_some_and(|hit| zone.contains(&hit.start()));
        (!inside || self.has_compatible_word()).then_some(zone)
    }

    /// Whether what follows `compatible;` is a word of people's browsers.
    pub(super) fn has_compatible_word(&self) -> bool {
        self.found.compatible.is_some_and(|hit| self.scanner.is_compatible_word(self.header, hit.end()))
    }

    /// Whether the header holds model names or a guarded word, where only names
    /// of the catalogue count.
    pub(super) fn is_guarded(&self) -> bool {
        self.found.model.is_some()
            || self.found.whole_guard.is_some()
            || !self.found.guards.as_slice().is_empty()
    }

    pub(super) fn classify(&self, trace: &mut impl Trace) -> Classification {
        if header::is_blank(self.header) {
            trace.note(|| "the header is absent or says nothing".into());
            return shape(ClientKind::Unnamed);
        }
        if let Some(zone) = &self.models {
            let models = self.header.get(zone.clone()).unwrap_or_default();
            trace.note(|| {
                format!("model names, not to be read as crawlers: `{}`", String::from_utf8_lossy(models))
            });
        }
        let named = self.named(trace);
        if let Some((entry, at)) = named {
            return self.by_name(entry, at, trace);
        }
        match self.sign(trace) {
            Some(hit) if self.is_crawler_sign(hit) => self.by_sign(hit),
            weak if self.is_browser_shaped() => self.browser_shaped(weak, trace),
            weak => self.product_shaped(weak, trace),
        }
    }

    fn by_name(&self, entry: usize, at: SignHit, trace: &mut impl Trace) -> Classification {
        if self.client(entry).is_some_and(|client| self.is_app_of(client, at)) {
            trace.note(|| "beside the mark of a person's device, that is the app itself".into());
            let inside = self.found.app.is_none() && self.is_browser_shaped();
            return shape(if inside { ClientKind::Browser } else { ClientKind::App });
        }
        if self.is_tool(entry)
            && let Some(hit) = self.sign(trace)
            && self.is_crawler_sign(hit)
            && !self.same_word(at, hit)
        {
            trace.note(|| "a tool that calls itself a crawler is one".into());
            return self.by_sign(hit);
        }
        Classification::Entry(entry)
    }

    /// The catalogue entry the header names: entries that say who it is before
    /// entries that say what it was built with, then the first, then the longest.
    fn named(&self, trace: &mut impl Trace) -> Option<(usize, SignHit)> {
        let mut best: Option<((bool, usize, usize), usize, SignHit)> = None;
        for &hit in self.found.named.as_slice() {
            let Some(SignMeaning::Named(entry)) = self.scanner.meaning(hit) else {
                continue;
            };
            let entry = entry as usize;
            let rank = (self.is_built_with(entry), hit.start(), usize::MAX - hit.end());
            if best.is_some_and(|(known, ..)| known <= rank) {
                continue;
            }
            if let Some(reason) = self.discounted(hit, true) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit)));
                continue;
            }
            trace.note(|| format!("`{}` is a sign of {}", self.quote(hit), self.name(entry)));
            best = Some((rank, entry, hit));
        }
        best.map(|(_, entry, hit)| (entry, hit))
    }

    /// The generic sign that counts: a crawler's before a tool's, then the first.
    fn sign(&self, trace: &mut impl Trace) -> Option<SignHit> {
        if let Some(guard) = self.found.whole_guard {
            trace.note(|| format!("`{}` guards the header: generic signs do not count", self.quote(guard)));
            return None;
        }
        let mut best: Option<SignHit> = None;
        for &hit in self.found.signs.as_slice() {
            if let Some(reason) = self.discounted(hit, false) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit)));
                continue;
            }
            if self.is_crawler_sign(hit) {
                trace.note(|| format!("`{}` is a word of crawlers", self.quote(hit)));
                return Some(hit);
            }
            trace.note(|| format!("`{}` is a word of tools", self.quote(hit)));
            best = best.or(Some(hit));
        }
        best
    }

    /// Why a find does not count, if it does not.
    fn discounted(&self, hit: SignHit, named: bool) -> Option<&'static str> {
        if self.is_among_models(hit) && !self.is_product(hit, named) {
            return Some("it stands among model names");
        }
        if !named {
            let guarded = |guard: &SignHit| guard.start() <= hit.start() && hit.end() <= guard.end();
            return if self.found.guards.as_slice().iter().any(guarded) {
                Some("it is part of a word of people's headers")
            } else if self.in_link(hit) {
                Some("it is part of a link")
            } else {
                self.outweighed(hit)
            };
        }
        if header::is_likeness(self.header, hit.start()) {
            Some("the client only compares itself with it")
        } else if !self.sign_has_link(hit) && self.in_link(hit) {
            Some("it is part of a link")
        } else if self.is_borrowed(hit) {
            Some("a framework stands in the place of its version, so somebody borrowed the name")
        } else {
            None
        }
    }

    /// Whether a framework stands in the place of the version, `Googlebot/Nutch-1.7`: who runs one writes
    /// any name there. A crawler that can be proved has its operator's own software.
    fn is_borrowed(&self, hit: SignHit) -> bool {
        let framework = |other: &&SignHit| self.crawler(**other).is_some_and(|named| named.framework);
        let mut frameworks = self.found.named.as_slice().iter().filter(framework);
        self.header.get(hit.end()) == Some(&b'/')
            && self.crawler(hit).is_some_and(|named| named.verify.is_possible())
            && frameworks.any(|framework| framework.start() == hit.end() + 1)
    }

    /// Whether a word among model names is a product all the same: it has a
    /// version (`Storebot-Google/1.0`), or a link follows, or it is the token of
    /// a crawler. Models have neither; `Build/` and fingerprints
    /// (`brand/name/device`) do not count, unless the catalogue knows the name.
    fn is_product(&self, hit: SignHit, named: bool) -> bool {
        let word = header::word_range(self.header, hit);
        if word.start.checked_sub(1).and_then(|i| self.header.get(i)) == Some(&b'/') {
            return false;
        }
        let end =
            if self.header.get(hit.end().wrapping_sub(1)) == Some(&b'/') { hit.end() - 1 } else { word.end };
        match self.header.get(end..).unwrap_or_default() {
            [b'/', version, ..] => named || version.is_ascii_digit() || version.eq_ignore_ascii_case(&b'v'),
            rest => rest.starts_with(b" http") || self.is_token_of_crawler(hit),
        }
    }

    /// Whether the whole word around a find is a product token of the crawler that it names.
    fn is_token_of_crawler(&self, hit: SignHit) -> bool {
        let is_crawler =
            |named: &&Crawler| matches!(named.client, ClientKind::Crawler | ClientKind::SpecialCase);
        let Some(crawler) = self.crawler(hit).filter(is_crawler) else {
            return false;
        };
        let word = self.header.get(header::word_range(self.header, hit)).unwrap_or_default();
        crawler.tokens.iter().any(|token| token.as_bytes().eq_ignore_ascii_case(word))
    }

    /// The entry that a find names.
    fn crawler(&self, hit: SignHit) -> Option<&Crawler> {
        match self.scanner.meaning(hit)? {
            SignMeaning::Named(entry) => self.knowledge.catalogue.crawlers().get(entry as usize),
            _ => None,
        }
    }

    pub(super) fn is_among_models(&self, hit: SignHit) -> bool {
        self.models.as_ref().is_some_and(|zone| zone.contains(&hit.start()))
    }

    pub(super) fn same_word(&self, one: SignHit, other: SignHit) -> bool {
        let word = header::word_range(self.header, one);
        word.contains(&other.start())
    }

    fn in_link(&self, hit: SignHit) -> bool {
        !self.found.links.as_slice().is_empty() && header::in_url(self.header, hit)
            || !self.found.mails.as_slice().is_empty() && header::in_mail_address(self.header, hit)
    }

    /// Whether the sign itself is a host name or an address, and so may stand in a link.
    fn sign_has_link(&self, hit: SignHit) -> bool {
        self.scanner.sign(hit).is_some_and(|sign| sign.text().contains(['.', '@', ':']))
    }

    pub(super) fn by_sign(&self, hit: SignHit) -> Classification {
        let client = if self.is_crawler_sign(hit) { ClientKind::Crawler } else { ClientKind::Tool };
        Classification::Kind(client, header::name_at(self.header, hit), Basis::Sign)
    }

    pub(super) fn is_crawler_sign(&self, hit: SignHit) -> bool {
        self.scanner.meaning(hit) == Some(SignMeaning::CrawlerSign)
    }

    fn client(&self, entry: usize) -> Option<ClientKind> {
        self.knowledge.catalogue.crawlers().get(entry).map(|crawler| crawler.client)
    }

    /// Whether others build their crawlers with it.
    fn is_built_with(&self, entry: usize) -> bool {
        let crawler = self.knowledge.catalogue.crawlers().get(entry);
        crawler.is_some_and(|crawler| crawler.framework || crawler.client == ClientKind::Tool)
    }

    fn is_tool(&self, entry: usize) -> bool {
        self.client(entry) == Some(ClientKind::Tool)
    }

    fn name(&self, entry: usize) -> &str {
        self.knowledge.catalogue.crawlers().get(entry).map_or("", |crawler| &crawler.name)
    }

    /// The words of a hit, for explanations.
    pub(super) fn quote(&self, hit: SignHit) -> Cow<'_, str> {
        String::from_utf8_lossy(self.header.get(hit.start()..hit.end()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{Catalogue, Obeys, TokenBasis, Verify};
    use super::super::identity::Purpose;
    use super::super::sign::Sign;
    use super::super::words::{Guard, Words};
    use super::*;

    fn entry(name: &str, client: ClientKind) -> Crawler {
        Crawler {
            name: name.into(),
            operator: None,
            client,
            purpose: Purpose::Other,
            signs: vec![Sign::parse(name).unwrap()],
            framework: name == "Works",
            tokens: Arc::default(),
            star: true,
            obeys: Obeys::Unknown,
            docs: None,
            checked: None,
            verify: Verify {
                rdns: (name == "Beta").then(|| ".beta.org".into()).into_iter().collect(),
                ..Verify::default()
            },
            shares_cache_with: Vec::new(),
            basis: TokenBasis::Inferred,
        }
    }

    /// The name of the entry, or of the word, that the rules find.
    fn named(header: &str) -> Option<String> {
        let sign = |written: &str| Sign::parse(written).unwrap();
        let entries = [
            ("Alpha", ClientKind::Crawler),
            ("Beta", ClientKind::Crawler),
            ("libx", ClientKind::Tool),
            ("Mess", ClientKind::Fetcher),
            ("Works", ClientKind::Crawler),
        ];
        let knowledge = RecognitionData {
            catalogue: Catalogue::new(
                entries.iter().map(|(name, client)| entry(name, *client)).collect(),
                Vec::new(),
            ),
            words: Words {
                crawler_signs: vec![sign("*bot")],
                tool_signs: vec![sign("*probe")],
                guards: vec![
                    Guard { sign: sign("*cubot*"), whole_header: false },
                    Guard { sign: sign("quiet"), whole_header: true },
                ],
                handhelds: vec![sign("Android")],
                ..Words::default()
            },
        };
        let scanner = Scanner::new(&knowledge).unwrap();
        let found = scanner.scan(header.as_bytes());
        let mut steps = Vec::new();
        let outcome = Rules::new(&knowledge, &scanner, header.as_bytes(), &found).classify(&mut steps);
        assert!(!steps.is_empty() || matches!(outcome, Classification::Kind(..)), "{header}");
        match outcome {
            Classification::Entry(entry) => Some(knowledge.catalogue.crawlers()[entry].name.to_string()),
            Classification::Kind(_, name, _) => name.as_deref().map(str::to_owned),
        }
    }

    #[test]
    fn who_comes_before_what_with_and_first_before_later() {
        for (header, name) in [
            ("Alpha/1 Beta/2", "Alpha"),
            ("libx/1 Beta/2", "Beta"),
            ("libx/1", "libx"),
            ("Works/1 Beta", "Beta"),
            ("zorkbot Works/1", "Works"),
            ("libx/1 zorkbot/2", "zorkbot"),
            ("probe libx/1", "libx"),
            ("Beta (like Alpha)", "Beta"),
            ("x (http://Alpha.org) Beta", "Beta"),
        ] {
            assert_eq!(named(header).as_deref(), Some(name), "{header}");
        }
    }

    #[test]
    fn a_name_with_a_framework_for_its_version_is_borrowed() {
        assert_eq!(named("Beta/Works-1.7").as_deref(), Some("Works"), "can be proved");
        assert_eq!(named("Alpha/Works-1.7").as_deref(), Some("Alpha"), "cannot");
        assert_eq!(named("Beta/2 Works-1.7").as_deref(), Some("Beta"));
    }

    #[test]
    fn guards_cancel_words_and_never_names() {
        assert_eq!(named("Android cubot 5"), None);
        assert_eq!(named("Android cubot Alpha").as_deref(), Some("Alpha"));
        assert_eq!(named("Android cubot zorkbot http://x.org").as_deref(), Some("zorkbot"));
        assert_eq!(named("Android cubot zorkbot"), None);
        assert_eq!(named("quiet zorkbot"), None);
        assert_eq!(named("quiet Alpha").as_deref(), Some("Alpha"));
    }

    #[test]
    fn among_models_only_products_count() {
        let phone = |model: &str| named(&format!("Mozilla/5.0 (Linux; Android 9; {model}) x"));
        assert_eq!(phone("Alpha"), None);
        assert_eq!(phone("Xbot Build/Xbot/5"), None);
        assert_eq!(phone("xbot/xbot/xbot:9"), None);
        assert_eq!(phone("Alpha/2.1").as_deref(), Some("Alpha"));
        assert_eq!(phone("Alpha http://x.org").as_deref(), Some("Alpha"));
        assert_eq!(phone("Zorkbot/v2; +http://x.org").as_deref(), Some("Zorkbot"));
        assert_eq!(phone("Zorkbot/v2"), None);
    }

    #[test]
    fn an_app_that_also_fetches_from_servers_is_told_apart() {
        assert_eq!(named("Mess/2.1").as_deref(), Some("Mess"));
        assert_eq!(named("Mess/2.1 Android/14"), None);
    }
}
