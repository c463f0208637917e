//! From the finds of one pass to an answer: names first, then generic words, then the shape of the header.
//!
//! The order is the promise: what could be a person is asked before what could be a nameless tool, and a guard is heard
//! before any generic word. Pure. Not here: what outweighs a word (`person`), headers that name nobody (`shape`), the
//! second opinion, and the operator's own tokens.

use super::catalogue::Crawler;
use super::header;
use super::identity::{Basis, ClientKind};
use super::scan::{Scanner, SignFinds, SignHit};
use super::shape::shape;
use super::words::{Mark, RecognitionData};
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
pub(crate) trait Trace {
    fn notes(&mut self, texts: impl FnOnce() -> Vec<String>);

    fn note(&mut self, text: impl FnOnce() -> String) {
        self.notes(|| vec![text()]);
    }
}

/// Drops every step, and costs nothing.
pub(crate) struct NoTrace;

impl Trace for NoTrace {
    fn notes(&mut self, _: impl FnOnce() -> Vec<String>) {}
}

impl Trace for Vec<String> {
    fn notes(&mut self, texts: impl FnOnce() -> Self) {
        self.extend(texts());
    }
}

/// The rules over one header and its finds.
pub(super) struct Rules<'a> {
    crawlers: &'a [Crawler],
    pub(super) scanner: &'a Scanner,
    pub(super) header: &'a [u8],
    pub(super) found: SignFinds,
    models: Option<Range<usize>>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(knowledge: &'a RecognitionData, scanner: &'a Scanner, header: &'a [u8]) -> Self {
        let (crawlers, found) = (knowledge.catalogue.crawlers(), scanner.scan(header));
        let mut rules = Self { crawlers, scanner, header, found, models: None };
        rules.models = rules.model_zone();
        rules
    }

    /// The comment that lists phone or TV models, unless it is a crawler's own: `(compatible; FooBot; Android)`, or one
    /// with a `+http` link, which no phone has.
    fn model_zone(&self) -> Option<Range<usize>> {
        let zone = header::comment_around(self.header, self.first(Mark::Model)?.start)?;
        let inside = |hit: &SignHit| zone.contains(&hit.start);
        let is_own = self.first(Mark::CompatibleTail).is_some_and(|hit| inside(&hit))
            && !self.has_compatible_word()
            || self.own_link().is_some_and(|link| inside(&link));
        (!is_own).then_some(zone)
    }

    /// The first find of this kind.
    #[inline]
    pub(super) fn first(&self, mark: Mark) -> Option<SignHit> {
        self.found.first(mark)
    }

    /// The mark of an app; a word in its name, where no word of a server stands beside it.
    pub(super) fn app(&self) -> Option<SignHit> {
        let is_servers =
            |word: &SignHit| self.first(Mark::ServerWords).is_some() || header::in_link(self.header, *word);
        let word = || self.first(Mark::AppWords).filter(|word| !is_servers(word));
        self.first(Mark::AppMarks).or_else(word)
    }

    /// Whether what follows `compatible;` is a word of people's browsers.
    pub(super) fn has_compatible_word(&self) -> bool {
        self.first(Mark::CompatibleTail)
            .is_some_and(|hit| self.scanner.is_compatible_word(self.header, hit.end))
    }

    /// Whether the header holds model names or a guarded word, where only names
    /// of the catalogue count.
    pub(super) fn is_guarded(&self) -> bool {
        [Mark::Model, Mark::WholeGuards, Mark::Guards].iter().any(|mark| self.first(*mark).is_some())
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
        if let Some((crawler, hit)) = self.named(trace) {
            return self.by_name(crawler, hit, trace);
        }
        let word = self.word(trace);
        if let Some(hit) = word.filter(|hit| hit.is_crawlers()) {
            return self.by_word(hit);
        }
        if let Some(stranger) = self.stranger(trace) {
            return stranger;
        }
        if self.is_browser_shaped() {
            self.browser_shaped(word, trace)
        } else {
            self.product_shaped(word, trace)
        }
    }

    fn by_name(&self, crawler: &Crawler, hit: SignHit, trace: &mut impl Trace) -> Classification {
        if self.is_app_of(crawler.client, hit) {
            trace.note(|| "beside the mark of a person's device, that is the app itself".into());
            let is_inside = self.app().is_none() && self.is_browser_shaped();
            return shape(if is_inside { ClientKind::Browser } else { ClientKind::App });
        }
        if crawler.client == ClientKind::Tool
            && let Some(word) = self.word(trace)
            && word.is_crawlers()
            && !self.same_word(hit, word)
        {
            trace.note(|| "a tool that calls itself a crawler is one".into());
            return self.by_word(word);
        }
        Classification::Entry(hit.entry)
    }

    /// The catalogue entry the header names: entries that say who it is before
    /// entries that say what it was built with, then the first, then the longest.
    fn named(&self, trace: &mut impl Trace) -> Option<(&'a Crawler, SignHit)> {
        let mut best: Option<((bool, usize, usize), &Crawler, SignHit)> = None;
        for hit in self.found.all(&[Mark::Named]) {
            let Some(crawler) = self.crawlers.get(hit.entry) else { continue };
            let is_built_with = crawler.framework || crawler.client == ClientKind::Tool;
            let rank = (is_built_with, hit.start, usize::MAX - hit.end);
            if best.is_some_and(|(known, ..)| known <= rank) {
                continue;
            }
            if let Some(reason) = self.discounted_name(hit) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit)));
                continue;
            }
            trace.note(|| format!("`{}` is a sign of {}", self.quote(hit), crawler.name));
            best = Some((rank, crawler, hit));
        }
        best.map(|(_, crawler, hit)| (crawler, hit))
    }

    /// The generic word that counts: a crawler's before a tool's, then the first.
    fn word(&self, trace: &mut impl Trace) -> Option<SignHit> {
        if let Some(guard) = self.first(Mark::WholeGuards) {
            trace.note(|| format!("`{}` guards the header: generic words do not count", self.quote(guard)));
            return None;
        }
        let mut best: Option<SignHit> = None;
        for hit in self.found.words() {
            if let Some(reason) = self.discounted_word(hit) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit)));
                continue;
            }
            if hit.is_crawlers() {
                trace.note(|| format!("`{}` is a word of crawlers", self.quote(hit)));
                return Some(hit);
            }
            trace.note(|| format!("`{}` is a word of tools", self.quote(hit)));
            best = best.or(Some(hit));
        }
        best
    }

    /// Why a generic word does not count, if it does not.
    fn discounted_word(&self, hit: SignHit) -> Option<&'static str> {
        let is_in = |guard: SignHit| guard.start <= hit.start && hit.end <= guard.end;
        if self.is_among_models(hit) && !self.is_product(hit, false) {
            Some("it stands among model names")
        } else if self.found.all(&[Mark::Guards]).any(is_in) {
            Some("it is part of a word of people's headers")
        } else if header::in_link(self.header, hit) {
            Some("it is part of a link")
        } else {
            self.outweighed(hit)
        }
    }

    /// Why a name of the catalogue does not count, if it does not.
    fn discounted_name(&self, hit: SignHit) -> Option<&'static str> {
        // A sign that is a host name or an address may stand in a link.
        let is_plain = || !self.quote(hit).contains(['.', '@', ':']);
        if self.is_among_models(hit) && !self.is_product(hit, true) {
            Some("it stands among model names")
        } else if header::is_likeness(self.header, hit.start) {
            Some("the client only compares itself with it")
        } else if is_plain() && header::in_link(self.header, hit) {
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
        let is_framework = |other: SignHit| {
            let named = self.crawlers.get(other.entry).filter(|_| other.start == hit.end + 1);
            named.is_some_and(|named| named.framework)
        };
        self.header.get(hit.end) == Some(&b'/')
            && self.crawlers.get(hit.entry).is_some_and(|named| named.verify.is_possible())
            && self.found.all(&[Mark::Named]).any(is_framework)
    }

    /// Whether a word among model names is a product all the same: it has a
    /// version (`Storebot-Google/1.0`), or a link follows, or it is the token of
    /// a crawler. Models have neither; `Build/` and fingerprints
    /// (`brand/name/device`) do not count, unless the catalogue knows the name.
    fn is_product(&self, hit: SignHit, is_named: bool) -> bool {
        let word = header::word_range(self.header, hit);
        if header::before(self.header, word.start).ends_with(b"/") {
            return false;
        }
        let is_cut = header::before(self.header, hit.end).ends_with(b"/");
        let end = if is_cut { hit.end - 1 } else { word.end };
        match header::after(self.header, end) {
            [b'/', _, ..] => is_named || header::has_version(self.header, end),
            rest => rest.starts_with(b" http") || self.is_token_of_crawler(hit),
        }
    }

    /// Whether the whole word around a find is a product token of the crawler that it names.
    fn is_token_of_crawler(&self, hit: SignHit) -> bool {
        let word = self.header.get(header::word_range(self.header, hit)).unwrap_or_default();
        let named = self.crawlers.get(hit.entry).filter(|_| hit.mark == Mark::Named);
        named.is_some_and(|crawler| {
            matches!(crawler.client, ClientKind::Crawler | ClientKind::SpecialCase)
                && crawler.tokens.iter().any(|token| token.as_bytes().eq_ignore_ascii_case(word))
        })
    }

    pub(super) fn is_among_models(&self, hit: SignHit) -> bool {
        self.models.as_ref().is_some_and(|zone| zone.contains(&hit.start))
    }

    pub(super) fn same_word(&self, one: SignHit, other: SignHit) -> bool {
        header::word_range(self.header, one).contains(&other.start)
    }

    /// The first link that only a crawler leaves: written `+http`, or with a crawler's word in it (`…/bot.html`).
    pub(super) fn own_link(&self) -> Option<SignHit> {
        let is_named = |link: SignHit| {
            let text = header::segment_range(self.header, link);
            self.found.words().any(|word| word.is_crawlers() && text.contains(&word.start))
        };
        let mut links = self.found.all(&[Mark::Link]);
        links.find(|link| header::is_own_link(self.header, *link) || is_named(*link))
    }

    pub(super) fn by_word(&self, hit: SignHit) -> Classification {
        let client = if hit.is_crawlers() { ClientKind::Crawler } else { ClientKind::Tool };
        Classification::Kind(client, header::name_at(self.header, hit), Basis::Sign)
    }

    /// The words of a hit, for explanations.
    pub(super) fn quote(&self, hit: SignHit) -> Cow<'_, str> {
        String::from_utf8_lossy(self.header.get(hit.start..hit.end).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::{Catalogue, Obeys, TokenBasis, Verify};
    use super::super::purpose::Purpose;
    use super::super::sign::Sign;
    use super::super::words::Words;
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
            card: None,
            basis: TokenBasis::Inferred,
        }
    }

    /// The name of the entry, or of the word, that the rules find.
    fn named(header: &str) -> Option<String> {
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
            words: Words::default()
                .with(Mark::CrawlerSigns, &["*bot"])
                .with(Mark::ToolSigns, &["*probe"])
                .with(Mark::Guards, &["*cubot*"])
                .with(Mark::WholeGuards, &["quiet"])
                .with(Mark::Handhelds, &["Android"]),
        };
        let scanner = Scanner::new(&knowledge).unwrap();
        let mut steps = Vec::new();
        let outcome = Rules::new(&knowledge, &scanner, header.as_bytes()).classify(&mut steps);
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
