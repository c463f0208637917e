//! One pass over a header: every sign of every list, found by one
//! case-insensitive Aho-Corasick automaton over bytes.
//!
//! Not here: what the finds mean together (`classify`).

use super::sign::Sign;
use super::words::Knowledge;
use aho_corasick::automaton::{Automaton, OverlappingState, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, Input, MatchKind, StartKind};
use memchr::memmem::Finder;
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

/// Where a pattern was found. Small, because a pass fills dozens of places; a
/// header of at most 2,048 bytes fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hit {
    pattern: u32,
    start: u16,
    end: u16,
}

impl Hit {
    pub(super) fn new(pattern: usize, start: usize, end: usize) -> Self {
        let narrow = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self { pattern: u32::try_from(pattern).unwrap_or(u32::MAX), start: narrow(start), end: narrow(end) }
    }

    pub(super) fn pattern(self) -> usize {
        self.pattern as usize
    }

    pub(super) fn start(self) -> usize {
        usize::from(self.start)
    }

    pub(super) fn end(self) -> usize {
        usize::from(self.end)
    }
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
    pub(super) named: Hits<8>,
    pub(super) signs: Hits<8>,
    pub(super) guards: Hits<4>,
    pub(super) links: Hits<3>,
    pub(super) mails: Hits<3>,
    pub(super) hosts: Hits<3>,
    pub(super) whole_guard: Option<Hit>,
    pub(super) app: Option<Hit>,
    pub(super) device: Option<Hit>,
    pub(super) handheld: Option<Hit>,
    pub(super) desktop: Option<Hit>,
    pub(super) engine: Option<Hit>,
    pub(super) mozilla: Option<Hit>,
    pub(super) platform: Option<Hit>,
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
            compatible: None,
            gecko_tail: None,
            model: None,
        }
    }

    /// The place of a mark, for those of which the first one says it all.
    fn mark(&mut self, meaning: Meaning) -> Option<&mut Option<Hit>> {
        Some(match meaning {
            Meaning::WholeGuard => &mut self.whole_guard,
            Meaning::App => &mut self.app,
            Meaning::Device => &mut self.device,
            Meaning::Handheld => &mut self.handheld,
            Meaning::Desktop => &mut self.desktop,
            Meaning::Engine => &mut self.engine,
            Meaning::Mozilla => &mut self.mozilla,
            Meaning::Platform => &mut self.platform,
            Meaning::Compatible => &mut self.compatible,
            Meaning::GeckoTail => &mut self.gecko_tail,
            Meaning::Model => &mut self.model,
            _ => return None,
        })
    }

    fn record(&mut self, meaning: Meaning, hit: Hit) {
        match meaning {
            Meaning::Named(_) => self.named.push(hit),
            Meaning::CrawlerSign | Meaning::ToolSign => self.signs.push(hit),
            Meaning::Guard => self.guards.push(hit),
            Meaning::Link => self.links.push(hit),
            Meaning::Mail => self.mails.push(hit),
            Meaning::Host => self.hosts.push(hit),
            mark => {
                if let Some(place) = self.mark(mark) {
                    place.get_or_insert(hit);
                }
            }
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
    start: StateID,
    patterns: Box<[Pattern]>,
    refrain: Option<Refrain>,
    compatible: DFA,
    compatible_signs: Box<[Sign]>,
}

/// What most browsers' headers have in common, a third of each of them: found by
/// a vectorised search, and then not walked byte by byte.
const COMMON: &[u8] = b"AppleWebKit/537.36 (KHTML, like Gecko)";

/// The common part, and the hits inside it (offsets from its start).
#[derive(Debug)]
struct Refrain {
    finder: Finder<'static>,
    hits: Box<[Hit]>,
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
        let refrain = patterns.iter().all(|pattern| !reaches_into_common(pattern.sign.text().as_bytes()));
        let dfa = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(patterns.iter().map(|pattern| pattern.sign.text()))?;
        // Without a prefilter and anchors there is one start state; were there
        // none, nothing would be found, which `Scanner::scan` then says.
        let start = dfa.start_state(Anchored::No).unwrap_or(StateID::ZERO);
        let compatible = DFA::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Anchored)
            .build(words.compatible.iter().map(Sign::text))?;
        let compatible_signs = words.compatible.clone().into();
        let mut scanner =
            Self { dfa, start, patterns: patterns.into(), refrain: None, compatible, compatible_signs };
        scanner.refrain = refrain.then(|| scanner.refrain()).flatten();
        Ok(scanner)
    }

    /// The refrain with the hits inside it, unless a sign could go on behind it.
    fn refrain(&self) -> Option<Refrain> {
        let mut hits = Vec::new();
        let end = self.walk(COMMON, 0, |hit| hits.push(hit));
        (end == self.start).then(|| Refrain { finder: Finder::new(COMMON), hits: hits.into() })
    }

    /// The memory the automaton holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.dfa.memory_usage()
    }

    pub(super) fn meaning(&self, hit: Hit) -> Option<Meaning> {
        self.patterns.get(hit.pattern()).map(|pattern| pattern.meaning)
    }

    /// The sign behind a hit, for explanations.
    pub(super) fn sign(&self, hit: Hit) -> Option<&Sign> {
        self.patterns.get(hit.pattern()).map(|pattern| &pattern.sign)
    }

    /// Finds every sign in `header`.
    pub(super) fn scan(&self, header: &[u8]) -> Found {
        let mut found = Found::new();
        let common = self.refrain.as_ref().and_then(|refrain| Some((refrain, refrain.position(header)?)));
        let at = common.map_or(header.len(), |(_, at)| at);
        let behind = common.map_or(header.len(), |(_, at)| at + COMMON.len());
        for (offset, until) in [(0, at), (behind, header.len())] {
            let piece = header.get(offset..until).unwrap_or_default();
            self.walk(piece, offset, |hit| self.take(&mut found, header, hit));
        }
        if let Some((refrain, at)) = common {
            for hit in &refrain.hits {
                self.take(&mut found, header, Hit::new(hit.pattern(), at + hit.start(), at + hit.end()));
            }
        }
        found
    }

    /// Whether people's browsers put what stands at `start` after `compatible;`.
    pub(super) fn is_compatible_word(&self, header: &[u8], start: usize) -> bool {
        let rest = header.get(start..).unwrap_or_default();
        let blank = rest.len() - rest.trim_ascii_start().len();
        let input = Input::new(rest.trim_ascii_start()).anchored(Anchored::Yes);
        let mut state = OverlappingState::start();
        loop {
            if self.compatible.try_find_overlapping(&input, &mut state).is_err() {
                return false;
            }
            let Some(found) = state.get_match() else {
                return false;
            };
            let sign = self.compatible_signs.get(found.pattern().as_usize());
            if sign.is_some_and(|sign| sign.holds(header, start + blank, start + blank + found.len())) {
                return true;
            }
        }
    }

    /// Walks the automaton over `bytes`, which stand at `offset` of the header.
    fn walk(&self, bytes: &[u8], offset: usize, mut take: impl FnMut(Hit)) -> StateID {
        let mut state = self.start;
        for (at, &byte) in bytes.iter().enumerate() {
            state = self.dfa.next_state(Anchored::No, state, byte);
            if self.dfa.is_special(state) && self.dfa.is_match(state) {
                for nth in 0..self.dfa.match_len(state) {
                    let id = self.dfa.match_pattern(state, nth);
                    let end = offset + at + 1;
                    take(Hit::new(id.as_usize(), end.saturating_sub(self.dfa.pattern_len(id)), end));
                }
            }
        }
        state
    }

    fn take(&self, found: &mut Found, header: &[u8], hit: Hit) {
        let Some(pattern) = self.patterns.get(hit.pattern()) else {
            return;
        };
        // Most finds in a browser's header are marks seen before.
        if found.mark(pattern.meaning).is_some_and(|place| place.is_some()) {
            return;
        }
        if pattern.sign.holds(header, hit.start(), hit.end()) {
            found.record(pattern.meaning, hit);
        }
    }
}

impl Refrain {
    /// Where the common part stands, after a blank.
    fn position(&self, header: &[u8]) -> Option<usize> {
        let at = self.finder.find(header)?;
        (at.checked_sub(1).and_then(|i| header.get(i)) == Some(&b' ')).then_some(at)
    }
}

/// Whether a sign could begin before the common part (there stands a blank) and
/// end inside or behind it.
fn reaches_into_common(sign: &[u8]) -> bool {
    (0..sign.len()).any(|at| {
        sign.get(at) == Some(&b' ')
            && sign.get(at + 1..).is_some_and(|tail| {
                let len = tail.len().min(COMMON.len());
                len > 0
                    && tail
                        .get(..len)
                        .unwrap_or_default()
                        .eq_ignore_ascii_case(COMMON.get(..len).unwrap_or_default())
            })
    })
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
        assert_eq!(found.signs.as_slice(), [Hit::new(found.signs.as_slice()[0].pattern(), 3, 6)]);
        assert_eq!(found.platform.unwrap().start(), 16);
        assert_eq!(found.links.as_slice().len(), 1);
        assert_eq!(found.mails.as_slice().len(), 1);
    }

    #[test]
    fn the_common_part_is_skipped_without_loss() {
        let mut knowledge = Knowledge::default();
        let sign = |written: &str| Sign::parse(written).unwrap();
        knowledge.words.engines = vec![sign("*KHTML"), sign("AppleWebKit/")];
        knowledge.words.crawler_signs = vec![sign("*bot")];
        let short = Scanner::new(&knowledge).unwrap();
        assert!(short.refrain.as_ref().is_some_and(|refrain| refrain.hits.len() == 2));
        let long = Scanner { refrain: None, ..Scanner::new(&knowledge).unwrap() };
        for header in [
            "a-bot (x) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1 FooBot/1",
            "AppleWebKit/537.36 (KHTML, like Gecko)bot",
            "bot AppleWebKit/537.36 (KHTML, like Gecko; compatible; Foobot) AppleWebKit/537.36 (KHTML, like Gecko)",
            "xAppleWebKit/537.36 (KHTML, like Gecko) bot",
        ] {
            let (one, other) = (short.scan(header.as_bytes()), long.scan(header.as_bytes()));
            assert_eq!(one.signs.as_slice(), other.signs.as_slice(), "{header}");
            assert_eq!(one.engine, other.engine, "{header}");
        }
    }

    #[test]
    fn a_sign_that_reaches_into_the_common_part_is_noticed() {
        assert!(reaches_into_common(b"foo applewebkit/537") && reaches_into_common(b"x A"));
        assert!(!reaches_into_common(b"foo ") && !reaches_into_common(b"applewebkit"));
        for (written, kept) in [("*like Gecko) Foo*", false), ("*Foo Apple*", false), ("*Foo Banana*", true)]
        {
            let mut knowledge = Knowledge::default();
            knowledge.words.crawler_signs = vec![Sign::parse(written).unwrap()];
            assert_eq!(Scanner::new(&knowledge).unwrap().refrain.is_some(), kept, "{written}");
        }
    }

    #[test]
    fn a_stuffed_header_is_bounded() {
        let found = scanner().scan("bot ".repeat(500).as_bytes());
        assert_eq!(found.signs.as_slice().len(), 8);
    }
}
