//! From the finds of one pass to an answer: names first, then generic signs,
//! then the shape of the header.
//!
//! The order is the promise: what could be a person is asked before what could
//! be a nameless tool, and a guard is heard before any generic sign. Pure; not
//! here: the second opinion (`user_agent`) and the operator's own tokens.

use super::client::Client;
use super::find::{Found, Hit, Meaning};
use super::header;
use super::identity::Basis;
use super::scan::Scanner;
use super::words::Knowledge;
use std::ops::Range;
use std::sync::Arc;

/// What our own rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The catalogue entry of this index.
    Entry(usize),
    /// No entry: the kind, the word that gave it away, and why.
    Kind(Client, Option<Arc<str>>, Basis),
}

/// Where the steps that led to an answer go. Recognition drops them,
/// `Identifier::explain` keeps them.
pub(super) trait Trace {
    fn note(&mut self, text: impl FnOnce() -> String);
}

/// Drops every step, and costs nothing.
pub(super) struct Silent;

impl Trace for Silent {
    fn note(&mut self, _: impl FnOnce() -> String) {}
}

impl Trace for Vec<String> {
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.push(text());
    }
}

/// The rules over one header and its finds.
pub(super) struct Rules<'a> {
    knowledge: &'a Knowledge,
    scanner: &'a Scanner,
    header: &'a [u8],
    found: &'a Found,
    models: Option<Range<usize>>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(
        knowledge: &'a Knowledge,
        scanner: &'a Scanner,
        header: &'a [u8],
        found: &'a Found,
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
    fn has_compatible_word(&self) -> bool {
        self.found.compatible.is_some_and(|hit| self.scanner.is_compatible_word(self.header, hit.end()))
    }

    /// Whether the header holds model names or a guarded word, where only names
    /// of the catalogue count.
    pub(super) fn is_guarded(&self) -> bool {
        self.found.model.is_some()
            || self.found.whole_guard.is_some()
            || !self.found.guards.as_slice().is_empty()
    }

    pub(super) fn classify(&self, trace: &mut impl Trace) -> Outcome {
        if header::is_blank(self.header) {
            trace.note(|| "the header is absent or says nothing".into());
            return shape(Client::Unnamed, None);
        }
        if let Some(zone) = &self.models {
            trace.note(|| format!("model names, not to be read as crawlers: `{}`", self.quote(zone.clone())));
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

    fn by_name(&self, entry: usize, at: Hit, trace: &mut impl Trace) -> Outcome {
        if self.is_app_itself(entry) {
            trace.note(|| "beside the mark of a person's device, that is the app itself".into());
            return shape(Client::App, None);
        }
        if self.is_tool(entry)
            && let Some(hit) = self.sign(trace)
            && self.is_crawler_sign(hit)
            && !self.same_word(at, hit)
        {
            trace.note(|| "a tool that calls itself a crawler is one".into());
            return self.by_sign(hit);
        }
        Outcome::Entry(entry)
    }

    /// The catalogue entry the header names: entries that say who it is before
    /// entries that say what it was built with, then the first, then the longest.
    fn named(&self, trace: &mut impl Trace) -> Option<(usize, Hit)> {
        let mut best: Option<((bool, usize, usize), usize, Hit)> = None;
        for &hit in self.found.named.as_slice() {
            let Some(Meaning::Named(entry)) = self.scanner.meaning(hit) else {
                continue;
            };
            let entry = entry as usize;
            let rank = (self.is_tool(entry), hit.start(), usize::MAX - hit.end());
            if best.is_some_and(|(known, ..)| known <= rank) {
                continue;
            }
            if let Some(reason) = self.discounted(hit, true) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit.start()..hit.end())));
                continue;
            }
            trace.note(|| {
                format!("`{}` is a sign of {}", self.quote(hit.start()..hit.end()), self.name(entry))
            });
            best = Some((rank, entry, hit));
        }
        best.map(|(_, entry, hit)| (entry, hit))
    }

    /// The generic sign that counts: a crawler's before a tool's, then the first.
    fn sign(&self, trace: &mut impl Trace) -> Option<Hit> {
        if let Some(guard) = self.found.whole_guard {
            trace.note(|| {
                format!(
                    "`{}` guards the header: generic signs do not count",
                    self.quote(guard.start()..guard.end())
                )
            });
            return None;
        }
        let mut best: Option<Hit> = None;
        for &hit in self.found.signs.as_slice() {
            if let Some(reason) = self.discounted(hit, false) {
                trace.note(|| format!("`{}` does not count: {reason}", self.quote(hit.start()..hit.end())));
                continue;
            }
            if self.is_crawler_sign(hit) {
                trace.note(|| format!("`{}` is a word of crawlers", self.quote(hit.start()..hit.end())));
                return Some(hit);
            }
            trace.note(|| format!("`{}` is a word of tools", self.quote(hit.start()..hit.end())));
            best = best.or(Some(hit));
        }
        best
    }

    /// Why a find does not count, if it does not.
    fn discounted(&self, hit: Hit, named: bool) -> Option<&'static str> {
        let versioned = || {
            let word = header::word_range(self.header, hit);
            let rest = self.header.get(word.end..).unwrap_or_default();
            rest.starts_with(b"/")
                || rest.starts_with(b" http")
                || self.header.get(hit.end().wrapping_sub(1)) == Some(&b'/')
        };
        if self.is_among_models(hit) && !versioned() {
            return Some("it stands among model names");
        }
        if !named {
            let guarded = |guard: &Hit| guard.start() <= hit.start() && hit.end() <= guard.end();
            return if self.found.guards.as_slice().iter().any(guarded) {
                Some("it is part of a word of people's headers")
            } else if self.in_link(hit) {
                Some("it is part of a link")
            } else {
                None
            };
        }
        if header::is_likeness(self.header, hit.start()) {
            Some("the client only compares itself with it")
        } else if !self.sign_has_link(hit) && self.in_link(hit) {
            Some("it is part of a link")
        } else {
            None
        }
    }

    fn is_among_models(&self, hit: Hit) -> bool {
        self.models.as_ref().is_some_and(|zone| zone.contains(&hit.start()))
    }

    fn same_word(&self, one: Hit, other: Hit) -> bool {
        let word = header::word_range(self.header, one);
        word.contains(&other.start())
    }

    fn in_link(&self, hit: Hit) -> bool {
        let linked = !self.found.links.as_slice().is_empty() || !self.found.mails.as_slice().is_empty();
        linked && header::in_link(self.header, hit)
    }

    /// Whether the sign itself is a host name or an address, and so may stand in a link.
    fn sign_has_link(&self, hit: Hit) -> bool {
        self.scanner.sign(hit).is_some_and(|sign| sign.text().contains(['.', '@', ':']))
    }

    /// Whether the header has a browser's shape: opens as one, holds one, or
    /// names an engine.
    fn is_browser_shaped(&self) -> bool {
        self.found.mozilla.is_some() || self.found.engine.is_some() || header::opens_as_browser(self.header)
    }

    fn browser_shaped(&self, weak: Option<Hit>, trace: &mut impl Trace) -> Outcome {
        if let Some(outcome) = self.stranger(trace) {
            return outcome;
        }
        let found = self.found;
        if let Some(mark) = found.app {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark.start()..mark.end())));
            return shape(Client::App, None);
        }
        // Apps add their names to the header of a phone's browser.
        if let Some(hit) = weak.filter(|_| found.handheld.or(found.device).is_none()) {
            return self.by_sign(hit);
        }
        let link = self.link().or_else(|| self.host()).filter(|_| found.device.is_none());
        if link.is_some() {
            trace.note(|| "people's browsers send no link and no address".into());
            return Outcome::Kind(Client::Crawler, self.neighbour(), Basis::Sign);
        }
        self.platform_or_tool(trace)
    }

    fn platform_or_tool(&self, trace: &mut impl Trace) -> Outcome {
        let found = self.found;
        let system = found.handheld.or(found.desktop).or(found.platform).or(found.device);
        let bare = found.mozilla.is_some() && memchr::memchr2(b'(', b';', self.header).is_none();
        let word = found.compatible.filter(|_| self.has_compatible_word());
        let engine = found.engine.filter(|_| !bare);
        if let Some(mark) = system.or(engine).or(word).or(found.whole_guard) {
            trace.note(|| {
                format!(
                    "a browser's shape, and `{}` is a platform or an engine",
                    self.quote(mark.start()..mark.end())
                )
            });
            return shape(Client::Browser, None);
        }
        if found
            .compatible
            .is_some_and(|hit| header::is_blank(self.header.get(hit.end()..).unwrap_or_default()))
        {
            trace.note(|| {
                "a header stripped to `compatible;`, as proxies in front of people and crawlers send it"
                    .into()
            });
            return shape(Client::Unnamed, None);
        }
        trace.note(|| "a browser's shape, but no platform".into());
        Outcome::Kind(Client::Tool, None, Basis::Structure)
    }

    /// What stands where only crawlers put their name: after `compatible;`,
    /// unless browsers put it there, or after `like Gecko;`.
    fn stranger(&self, trace: &mut impl Trace) -> Option<Outcome> {
        let found = self.found;
        let person = self.has_compatible_word() || found.device.or(found.app).is_some();
        let compatible = found.compatible.filter(|hit| !person || self.has_own_link(*hit));
        let tail = found.gecko_tail.filter(|_| found.device.is_none());
        for hit in [compatible, tail].into_iter().flatten() {
            let field = header::field_from(self.header, hit.end());
            if !header::is_blank(field) && found.whole_guard.is_none() {
                trace.note(|| {
                    format!("`{}` stands where crawlers put their name", String::from_utf8_lossy(field))
                });
                let name = header::name_from(self.header, hit.end());
                return Some(Outcome::Kind(Client::Crawler, name, Basis::Structure));
            }
        }
        None
    }

    /// Whether a `+http` link follows: the custom of crawlers, and of nobody else.
    fn has_own_link(&self, compatible: Hit) -> bool {
        let rest = self.header.get(compatible.end()..).unwrap_or_default();
        !self.has_compatible_word() && memchr::memmem::find(rest, b"+http").is_some()
    }

    fn product_shaped(&self, weak: Option<Hit>, trace: &mut impl Trace) -> Outcome {
        let found = self.found;
        if let Some(outcome) = self.stranger(trace) {
            return outcome;
        }
        let handheld = found.handheld.filter(|_| found.device.is_none());
        if let Some(mark) = found.app.or(handheld) {
            trace.note(|| format!("`{}` is the mark of an app", self.quote(mark.start()..mark.end())));
            return shape(Client::App, None);
        }
        let device = found.device.filter(|_| self.link().is_none());
        if let Some(mark) = device.or(found.whole_guard) {
            trace.note(|| {
                format!("`{}` is the mark of a person's device", self.quote(mark.start()..mark.end()))
            });
            return shape(Client::Browser, None);
        }
        if let Some(hit) = weak {
            return self.by_sign(hit);
        }
        if self.link().is_some() {
            trace.note(|| "an unknown product with a link or an address".into());
            return Outcome::Kind(Client::Crawler, self.neighbour(), Basis::Sign);
        }
        if let Some(mark) = found.desktop {
            trace.note(|| {
                format!("an unknown product on `{}`, a person's system", self.quote(mark.start()..mark.end()))
            });
            return shape(Client::App, None);
        }
        if header::names_a_program(self.header) {
            trace.note(|| "an unknown product that names no platform of people".into());
            return Outcome::Kind(Client::Tool, header::name_from(self.header, 0), Basis::Structure);
        }
        trace.note(|| "free text: says nothing about its sender".into());
        shape(Client::Unnamed, None)
    }

    /// A link or mail address that no guard cancels.
    fn link(&self) -> Option<Hit> {
        if self.found.whole_guard.is_some() {
            return None;
        }
        let mail = |hit: &&Hit| header::is_mail_address(self.header, hit.start());
        let links = self.found.links.as_slice().iter();
        links
            .chain(self.found.mails.as_slice().iter().filter(mail))
            .filter(|hit| !self.is_among_models(**hit))
            .min_by_key(|hit| hit.start())
            .copied()
    }

    /// A host name outside the names of models.
    fn host(&self) -> Option<Hit> {
        let counts = |hit: &&Hit| header::is_host_name(self.header, **hit) && !self.is_among_models(**hit);
        self.found.hosts.as_slice().iter().find(counts).filter(|_| self.found.whole_guard.is_none()).copied()
    }

    /// The name next to a link: what stands after `compatible;`, or what opens
    /// the header, or nothing.
    fn neighbour(&self) -> Option<Arc<str>> {
        if let Some(hit) = self.found.compatible {
            return header::name_from(self.header, hit.end());
        }
        (!header::opens_as_browser(self.header)).then(|| header::name_from(self.header, 0)).flatten()
    }

    fn by_sign(&self, hit: Hit) -> Outcome {
        let client = if self.is_crawler_sign(hit) { Client::Crawler } else { Client::Tool };
        Outcome::Kind(client, header::name_at(self.header, hit), Basis::Sign)
    }

    fn is_crawler_sign(&self, hit: Hit) -> bool {
        self.scanner.meaning(hit) == Some(Meaning::CrawlerSign)
    }

    /// Whether the name is that of an app which also fetches from servers, and the
    /// header that of the app: `WhatsApp/2 Android/5 Device/…`.
    fn is_app_itself(&self, entry: usize) -> bool {
        self.client(entry).is_some_and(|client| matches!(client, Client::Fetcher | Client::Monitor))
            && self.found.app.or(self.found.handheld).is_some()
            && !self.is_browser_shaped()
    }

    fn client(&self, entry: usize) -> Option<Client> {
        self.knowledge.catalogue.crawlers().get(entry).map(|crawler| crawler.client)
    }

    fn is_tool(&self, entry: usize) -> bool {
        self.client(entry) == Some(Client::Tool)
    }

    fn name(&self, entry: usize) -> &str {
        self.knowledge.catalogue.crawlers().get(entry).map_or("", |crawler| &crawler.name)
    }

    fn quote(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(self.header.get(range).unwrap_or_default()).into_owned()
    }
}

fn shape(client: Client, word: Option<Arc<str>>) -> Outcome {
    Outcome::Kind(client, word, Basis::Shape)
}
