//! One pass over a header: every sign of every list, found by one
//! case-insensitive Aho-Corasick automaton over bytes.
//!
//! Not here: what the finds mean together (`classify`).

use super::sign::Sign;
use super::words::Knowledge;
use aho_corasick::automaton::Automaton;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};
use std::fmt;

/// What a pattern stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// The entry of this index in the catalogue.
    Named(usize),
    CrawlerSign,
    ToolSign,
    Guard,
    WholeGuard,
    App,
    Device,
    Handheld,
    Desktop,
    Engine,
    /// `Mozilla/`
    Mozilla,
    /// `.com`, `.org`, …
    Host,
    Platform,
    CompatibleWord,
    /// `://` or `www.`
    Link,
    /// `@`
    Mail,
    /// `compatible;`
    Compatible,
    /// `like Gecko;`
    GeckoTail,
    /// A word that makes its comment a list of phone or TV models.
    Model,
}

/// Where a pattern was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hit {
    pub(super) pattern: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The first `N` hits of one kind; later ones are dropped, so a header stuffed
/// with signs costs no memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hits<const N: usize> {
    hits: [Hit; N],
    len: usize,
}

impl<const N: usize> Hits<N> {
    fn new() -> Self {
        Self { hits: [Hit::default(); N], len: 0 }
    }

    fn push(&mut self, hit: Hit) {
        if let Some(free) = self.hits.get_mut(self.len) {
            *free = hit;
            self.len += 1;
        }
    }

    pub(super) fn as_slice(&self) -> &[Hit] {
        self.hits.get(..self.len).unwrap_or_default()
    }
}

/// All finds of one pass. Boundaries are already checked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) named: Hits<12>,
    pub(super) signs: Hits<12>,
    pub(super) guards: Hits<6>,
    pub(super) links: Hits<4>,
    pub(super) mails: Hits<4>,
    pub(super) hosts: Hits<4>,
    pub(super) whole_guard: Option<Hit>,
    pub(super) app: Option<Hit>,
    pub(super) device: Option<Hit>,
    pub(super) handheld: Option<Hit>,
    pub(super) desktop: Option<Hit>,
    pub(super) engine: Option<Hit>,
    pub(super) mozilla: Option<Hit>,
    pub(super) platform: Option<Hit>,
    pub(super) compatible_word: Option<Hit>,
    pub(super) compatible: Option<Hit>,
    pub(super) gecko_tail: Option<Hit>,
    pub(super) model: Option<Hit>,
}

impl Found {
    fn new() -> Self {
        Self {
            named: Hits::new(),
            signs: Hits::new(),
            guards: Hits::new(),
            links: Hits::new(),
            mails: Hits::new(),
            hosts: Hits::new(),
            whole_guard: None,
            app: None,
            device: None,
            handheld: None,
            desktop: None,
            engine: None,
            mozilla: None,
            platform: None,
            compatible_word: None,
            compatible: None,
            gecko_tail: None,
            model: None,
        }
    }

    fn record(&mut self, meaning: Meaning, hit: Hit) {
        let first = |slot: &mut Option<Hit>| {
            slot.get_or_insert(hit);
        };
        match meaning {
            Meaning::Named(_) => self.named.push(hit),
            Meaning::CrawlerSign | Meaning::ToolSign => self.signs.push(hit),
            Meaning::Guard => self.guards.push(hit),
            Meaning::Link => self.links.push(hit),
            Meaning::Mail => self.mails.push(hit),
            Meaning::WholeGuard => first(&mut self.whole_guard),
            Meaning::App => first(&mut self.app),
            Meaning::Device => first(&mut self.device),
            Meaning::Handheld => first(&mut self.handheld),
            Meaning::Desktop => first(&mut self.desktop),
            Meaning::Engine => first(&mut self.engine),
            Meaning::Mozilla => first(&mut self.mozilla),
            Meaning::Host => self.hosts.push(hit),
            Meaning::Platform => first(&mut self.platform),
            Meaning::CompatibleWord => first(&mut self.compatible_word),
            Meaning::Compatible => first(&mut self.compatible),
            Meaning::GeckoTail => first(&mut self.gecko_tail),
            Meaning::Model => first(&mut self.model),
        }
    }
}

/// The automaton could not be built.
#[derive(Debug, Clone)]
pub struct BuildError(aho_corasick::BuildError);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the signs make an automaton that is too large")
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

impl From<aho_corasick::BuildError> for BuildError {
    fn from(source: aho_corasick::BuildError) -> Self {
        Self(source)
    }
}

#[derive(Debug)]
struct Pattern {
    meaning: Meaning,
    sign: Sign,
}

/// The automaton with the meaning of each of its patterns.
#[derive(Debug)]
pub(super) struct Scanner {
    dfa: DFA,
    patterns: Box<[Pattern]>,
}

/// What the rules of `classify` look for, whatever the lists say.
const FIXED: [(&str, Meaning); 23] = [
    ("*mozilla/*", Meaning::Mozilla),
    ("*.com", Meaning::Host),
    ("*.net", Meaning::Host),
    ("*.org", Meaning::Host),
    ("*.io", Meaning::Host),
    ("*.ai", Meaning::Host),
    ("*://*", Meaning::Link),
    ("www.*", Meaning::Link),
    ("*compatible;*", Meaning::Compatible),
    ("*like gecko;*", Meaning::GeckoTail),
    ("*android*", Meaning::Model),
    ("adr ", Meaning::Model),
    ("*tizen*", Meaning::Model),
    ("*kaios*", Meaning::Model),
    ("*windows phone*", Meaning::Model),
    ("*harmony*", Meaning::Model),
    ("*symbian*", Meaning::Model),
    ("*smart-tv*", Meaning::Model),
    ("*smarttv*", Meaning::Model),
    ("*web0s*", Meaning::Model),
    ("*series60*", Meaning::Model),
    ("*series40*", Meaning::Model),
    ("*bada/*", Meaning::Model),
];

impl Scanner {
    pub(super) fn new(knowledge: &Knowledge) -> Result<Self, BuildError> {
        let mut patterns = Vec::new();
        let mut add = |sign: &Sign, meaning| patterns.push(Pattern { meaning, sign: sign.clone() });
        for (i, crawler) in knowledge.catalogue.crawlers().iter().enumerate() {
            crawler.signs.iter().for_each(|sign| add(sign, Meaning::Named(i)));
        }
        let words = &knowledge.words;
        for (list, meaning) in [
            (&words.crawler_signs, Meaning::CrawlerSign),
            (&words.tool_signs, Meaning::ToolSign),
            (&words.app_marks, Meaning::App),
            (&words.device_marks, Meaning::Device),
            (&words.handhelds, Meaning::Handheld),
            (&words.desktops, Meaning::Desktop),
            (&words.engines, Meaning::Engine),
            (&words.platforms, Meaning::Platform),
            (&words.compatible, Meaning::CompatibleWord),
        ] {
            list.iter().for_each(|sign| add(sign, meaning));
        }
        for guard in &words.guards {
            let whole = guard.whole_header;
            add(&guard.sign, if whole { Meaning::WholeGuard } else { Meaning::Guard });
        }
        for (written, meaning) in FIXED {
            if let Ok(sign) = Sign::parse(written) {
                add(&sign, meaning);
            }
        }
        add(&Sign::at_sign(), Meaning::Mail);
        let dfa = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(patterns.iter().map(|pattern| pattern.sign.text()))?;
        Ok(Self { dfa, patterns: patterns.into() })
    }

    /// The memory the automaton holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.dfa.memory_usage()
    }

    pub(super) fn meaning(&self, hit: Hit) -> Option<Meaning> {
        self.patterns.get(hit.pattern).map(|pattern| pattern.meaning)
    }

    /// The sign behind a hit, for explanations.
    pub(super) fn sign(&self, hit: Hit) -> Option<&Sign> {
        self.patterns.get(hit.pattern).map(|pattern| &pattern.sign)
    }

    /// Finds every sign in `header`.
    pub(super) fn scan(&self, header: &[u8]) -> Found {
        let mut found = Found::new();
        let Ok(mut state) = self.dfa.start_state(Anchored::No) else {
            return found;
        };
        for (at, &byte) in header.iter().enumerate() {
            state = self.dfa.next_state(Anchored::No, state, byte);
            if self.dfa.is_special(state) && self.dfa.is_match(state) {
                for nth in 0..self.dfa.match_len(state) {
                    let id = self.dfa.match_pattern(state, nth);
                    let end = at + 1;
                    let start = end.saturating_sub(self.dfa.pattern_len(id));
                    self.take(&mut found, header, Hit { pattern: id.as_usize(), start, end });
                }
            }
        }
        found
    }

    fn take(&self, found: &mut Found, header: &[u8], hit: Hit) {
        if let Some(pattern) = self.patterns.get(hit.pattern)
            && pattern.sign.holds(header, hit.start, hit.end)
        {
            found.record(pattern.meaning, hit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner() -> Scanner {
        let mut knowledge = Knowledge::default();
        knowledge.words.crawler_signs = vec![Sign::parse("*bot").unwrap()];
        knowledge.words.platforms = vec![Sign::parse("Windows").unwrap()];
        Scanner::new(&knowledge).unwrap()
    }

    #[test]
    fn every_fixed_sign_is_well_formed() {
        assert!(FIXED.iter().all(|(written, _)| Sign::parse(written).is_ok()));
    }

    #[test]
    fn finds_in_either_case_and_keeps_boundaries() {
        let found = scanner().scan(b"FooBOT/1 bottle windows (+HTTP://x y@z)");
        assert_eq!(found.signs.as_slice(), [Hit { start: 3, end: 6, ..found.signs.as_slice()[0] }]);
        assert_eq!(found.platform.unwrap().start, 16);
        assert_eq!(found.links.as_slice().len(), 1);
        assert_eq!(found.mails.as_slice().len(), 1);
    }

    #[test]
    fn a_stuffed_header_is_bounded() {
        let found = scanner().scan("bot ".repeat(500).as_bytes());
        assert_eq!(found.signs.as_slice().len(), 12);
    }
}
