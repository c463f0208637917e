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

    /// The comment that lists phone or TV models, unless it is a crawler's own: `(compatible; FooBot; Android)`, or one
    /// with a `+http` link, which no phone has.
    fn model_zone(&self) -> Option<Range<usize>> {
        let zone = header::comment_around(self.header, self.first(Mark::Model)?.start())?;
        let inside = |hit: &SignHit| zone.contains(&hit.start());
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
        let is_servers = |word: &SignHit| self.first(Mark::ServerWords).is_some() || self.in_link(*word);
        let word = || self.first(Mark::AppWords).filter(|word| !is_servers(word));
        self.first(Mark::AppMarks).or_else(word)
    }

    /// Whether what follows `compatible;` is a word of people's browsers.
    pub(super) fn has_compatible_word(&self) -> bool {
        self.first(Mark::CompatibleTail)
            .is_some_and(|hit| self.scanner.is_compatible_word(self.header, hit.end()))
    }

    /// Whether the header holds model names or a guarded word, where only names
    /// of the catalogue count.
    pub(super) fn is_guarded(&self) -> bool {
        let guard = self.first(Mark::Model).or_else(|| self.first(Mark::WholeGuards));
        guard.is_some() || !self.found.guards.is_empty()
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
        match self.word(trace) {
            Some(hit) if self.scanner.is_crawler_word(hit) => self.by_word(hit),
            weak if self.is_browser_shaped() => self.browser_shaped(weak, trace),
            weak => self.product_shaped(weak, trace),
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
            && self.scanner.is_crawler_word(word)
            && !self.same_word(hit, word)
        {
            trace.note(|| "a tool that calls itself a crawler is one".into());
            return self.by_word(word);
        }
        self.scanner.entry(hit).map_or_else(|| shape(ClientKind::Unnamed), Classification::Entry)
    }

    /// The catalogue entry the header names: entries that say who it is before
    /// entries that say what it was built with, then the first, then the longest.
    fn named(&self, trace: &mut impl Trace) -> Option<(&'a Crawler, SignHit)> {
        let mut best: Option<((bool, usize, usize), &Crawler, SignHit)> = None;
        for hit in &self.found.named {
            let Some(crawler) = self.crawler(*hit) else { continue };
            let is_built_with = crawler.framework || crawler.client == ClientKind::Tool;
            let rank = (is_built_with, hit.start(), usize::MAX - hit.end());
            if best.is_some_and(|(known, ..)| known <= rank) {
                continue;
            }
            if let Some(reason) = self.discounted_name(*hit) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(*hit)));
                continue;
            }
            trace.note(|| format!("`{}` is a sign of {}", self.quote(*hit), crawler.name));
            best = Some((rank, crawler, *hit));
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
        for &hit in &self.found.words {
            if let Some(reason) = self.discounted_word(hit) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit)));
                continue;
            }
            if self.scanner.is_crawler_word(hit) {
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
        let is_in = |guard: &SignHit| guard.start() <= hit.start() && hit.end() <= guard.end();
        if self.is_among_models(hit) && !self.is_product(hit, false) {
            Some("it stands among model names")
        } else if self.found.guards.iter().any(is_in) {
            Some("it is part of a word of people's headers")
        } else if self.in_link(hit) {
            Some("it is part of a link")
        } else {
            self.outweighed(hit)
        }
    }

    /// Why a name of the catalogue does not count, if it does not.
    fn discounted_name(&self, hit: SignHit) -> Option<&'static str> {
        if self.is_among_models(hit) && !self.is_product(hit, true) {
            Some("it stands among model names")
        } else if header::is_likeness(self.header, hit.start()) {
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
        let mut frameworks = self.found.named.iter().filter(framework);
        self.header.get(hit.end()) == Some(&b'/')
            && self.crawler(hit).is_some_and(|named| named.verify.is_possible())
            && frameworks.any(|framework| framework.start() == hit.end() + 1)
    }

    /// Whether a word among model names is a product all the same: it has a
    /// version (`Storebot-Google/1.0`), or a link follows, or it is the token of
    /// a crawler. Models have neither; `Build/` and fingerprints
    /// (`brand/name/device`) do not count, unless the catalogue knows the name.
    fn is_product(&self, hit: SignHit, is_named: bool) -> bool {
        let word = header::word_range(self.header, hit);
        if word.start.checked_sub(1).and_then(|i| self.header.get(i)) == Some(&b'/') {
            return false;
        }
        let end =
            if self.header.get(hit.end().wrapping_sub(1)) == Some(&b'/') { hit.end() - 1 } else { word.end };
        match self.header.get(end..).unwrap_or_default() {
            [b'/', _, ..] => is_named || header::has_version(self.header, end),
            rest => rest.starts_with(b" http") || self.is_token_of_crawler(hit),
        }
    }

    /// Whether the whole word around a find is a product token of the crawler that it names.
    fn is_token_of_crawler(&self, hit: SignHit) -> bool {
        let is_crawler =
            |named: &&Crawler| matches!(named.client, ClientKind::Crawler | ClientKind::SpecialCase);
        let word = self.header.get(header::word_range(self.header, hit)).unwrap_or_default();
        let is_word = |token: &str| token.as_bytes().eq_ignore_ascii_case(word);
        self.crawler(hit)
            .filter(is_crawler)
            .is_some_and(|crawler| crawler.tokens.iter().any(|token| is_word(token)))
    }

    /// The entry that a find names.
    fn crawler(&self, hit: SignHit) -> Option<&'a Crawler> {
        self.knowledge.catalogue.crawlers().get(self.scanner.entry(hit)?)
    }

    pub(super) fn is_among_models(&self, hit: SignHit) -> bool {
        self.models.as_ref().is_some_and(|zone| zone.contains(&hit.start()))
    }

    pub(super) fn same_word(&self, one: SignHit, other: SignHit) -> bool {
        header::word_range(self.header, one).contains(&other.start())
    }

    fn in_link(&self, hit: SignHit) -> bool {
        !self.found.links.is_empty() && header::in_url(self.header, hit)
            || !self.found.mails.is_empty() && header::in_mail_address(self.header, hit)
    }

    /// Whether the sign itself is a host name or an address, and so may stand in a link.
    fn sign_has_link(&self, hit: SignHit) -> bool {
        self.scanner.sign(hit).is_some_and(|sign| sign.text().contains(['.', '@', ':']))
    }

    /// The first link that only a crawler leaves: written `+http`, or with a crawler's word in it (`…/bot.html`).
    pub(super) fn own_link(&self) -> Option<SignHit> {
        let is_named = |link: SignHit| {
            let text = header::link_range(self.header, link);
            let holds = |word: &SignHit| self.scanner.is_crawler_word(*word) && text.contains(&word.start());
            self.found.words.iter().any(holds)
        };
        let is_own = |link: &&SignHit| header::is_own_link(self.header, **link) || is_named(**link);
        self.found.links.iter().find(is_own).copied()
    }

    pub(super) fn by_word(&self, hit: SignHit) -> Classification {
        let client = if self.scanner.is_crawler_word(hit) { ClientKind::Crawler } else { ClientKind::Tool };
        Classification::Kind(client, header::name_at(self.header, hit), Basis::Sign)
    }

    /// The words of a hit, for explanations.
    pub(super) fn quote(&self, hit: SignHit) -> Cow<'_, str> {
        String::from_utf8_lossy(self.header.get(hit.start()..hit.end()).unwrap_or_default())
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
