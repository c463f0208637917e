//! One pass over a header: every sign of every list, with its meaning and its boundaries.
//!
//! Fixed places, no allocation: a header stuffed with signs costs no memory. Not here: what the finds mean together
//! (`classify`).

use super::sign::{LiteralBounds, Sign};
use super::words::{Mark, RecognitionData, Words};
use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use arrayvec::ArrayVec;
use strum::EnumCount as _;

/// The automaton could not be built.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the catalogue has too many signs")]
pub struct BuildError;

/// What the rules of `classify` look for, whatever the lists say.
const FIXED: [(Mark, &[&str]); 8] = [
    (Mark::Mozilla, &["*mozilla/*"]),
    (Mark::Host, &["*.com", "*.net", "*.org", "*.io", "*.ai"]),
    (Mark::Link, &["*://*", "www.*"]),
    (Mark::CompatibleTail, &["*compatible;*"]),
    (Mark::GeckoTail, &["*like gecko;*"]),
    (Mark::Model, &["*android*", "adr ", "*tizen*", "*kaios*", "*windows phone*", "*harmony*"]),
    (
        Mark::Model,
        &["*symbian*", "*smart-tv*", "*smarttv*", "*web0s*", "*series60*", "*series40*", "*bada/*"],
    ),
    (Mark::Macintosh, &["*(macintosh;*"]),
];

/// Where a sign was found. Small, because a pass fills dozens of places; a header of at most 4,097 bytes fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SignHit {
    sign: u32,
    start: u16,
    end: u16,
}

impl SignHit {
    #[inline]
    pub(super) fn new(sign: usize, start: usize, end: usize) -> Self {
        let narrow = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        Self { sign: u32::try_from(sign).unwrap_or(u32::MAX), start: narrow(start), end: narrow(end) }
    }

    /// The index of the sign.
    #[inline]
    pub(super) fn sign(self) -> usize {
        self.sign as usize
    }

    #[inline]
    pub(super) fn start(self) -> usize {
        usize::from(self.start)
    }

    #[inline]
    pub(super) fn end(self) -> usize {
        usize::from(self.end)
    }

    /// The same hit in a text that stands at `offset` of the header.
    pub(super) fn shifted(self, offset: usize) -> Self {
        Self::new(self.sign(), self.start() + offset, self.end() + offset)
    }
}

/// All finds of one pass: the first of each kind, and the first few of those of which more than one may count.
#[derive(Debug, Default)]
pub(super) struct SignFinds {
    first: [Option<SignHit>; Mark::COUNT],
    pub(super) named: ArrayVec<SignHit, 8>,
    /// Words of crawlers and of tools.
    pub(super) words: ArrayVec<SignHit, 8>,
    pub(super) guards: ArrayVec<SignHit, 4>,
    pub(super) links: ArrayVec<SignHit, 3>,
    pub(super) mails: ArrayVec<SignHit, 3>,
    pub(super) hosts: ArrayVec<SignHit, 3>,
}

impl SignFinds {
    /// The first find of this kind.
    #[inline]
    pub(super) fn first(&self, mark: Mark) -> Option<SignHit> {
        self.first.get(mark as usize).copied().flatten()
    }

    /// Where more than one of this kind may count, and there is a place left.
    #[inline]
    fn more(&mut self, mark: Mark, hit: SignHit) {
        let _ = match mark {
            Mark::Named => self.named.try_push(hit).is_ok(),
            Mark::CrawlerSigns | Mark::ToolSigns => self.words.try_push(hit).is_ok(),
            Mark::Guards => self.guards.try_push(hit).is_ok(),
            Mark::Link => self.links.try_push(hit).is_ok(),
            Mark::Mail => self.mails.try_push(hit).is_ok(),
            Mark::Host => self.hosts.try_push(hit).is_ok(),
            _ => false,
        };
    }
}

/// What a literal of the automaton stands for. Small, so that all of them stay near.
#[derive(Debug)]
struct SignLiteral {
    mark: Mark,
    /// Whether all of its finds may count, and not the first alone.
    is_many: bool,
    bounds: LiteralBounds,
}

/// The signs of all lists, compiled.
#[derive(Debug)]
pub(super) struct Scanner {
    /// A table of all transitions, of small letters alone: a step is one look-up, and the table half as large.
    automaton: DFA,
    start: StateID,
    literals: Box<[SignLiteral]>,
    signs: Box<[Sign]>,
    /// The entry of the catalogue behind each of the first signs.
    entries: Box<[usize]>,
    /// What people's browsers put after `compatible;`, sorted.
    compatible: Box<[Sign]>,
}

impl Scanner {
    pub(super) fn new(knowledge: &RecognitionData) -> Result<Self, BuildError> {
        let mut all: Vec<(Mark, Sign)> = Vec::new();
        let mut entries = Vec::new();
        for (entry, crawler) in knowledge.catalogue.crawlers().iter().enumerate() {
            all.extend(crawler.signs.iter().map(|sign| (Mark::Named, sign.clone())));
            entries.resize(all.len(), entry);
        }
        for list in Mark::LISTS.into_iter().filter(|list| *list != Mark::Compatible) {
            all.extend(knowledge.words.of(list).iter().map(|sign| (list, sign.clone())));
        }
        for (mark, written) in FIXED {
            all.extend(written.iter().filter_map(|sign| Some((mark, Sign::parse(sign).ok()?))));
        }
        all.push((Mark::Mail, Sign::at_sign()));
        let automaton = DFA::builder()
            .prefilter(false)
            .build(all.iter().map(|(_, sign)| sign.text().to_ascii_lowercase()))
            .map_err(|_| BuildError)?;
        let literals = all.iter().map(|(mark, sign)| SignLiteral {
            mark: *mark,
            is_many: *mark == Mark::Named
                || mark.is_convicting()
                || matches!(mark, Mark::Guards | Mark::Link | Mark::Mail | Mark::Host),
            bounds: sign.bounds(),
        });
        Ok(Self {
            start: automaton.start_state(Anchored::No).map_err(|_| BuildError)?,
            literals: literals.collect(),
            signs: all.into_iter().map(|(_, sign)| sign).collect(),
            entries: entries.into(),
            compatible: compatible_words(&knowledge.words),
            automaton,
        })
    }

    /// The memory the automaton holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.automaton.memory_usage()
    }

    /// The entry of the catalogue that a hit names.
    pub(super) fn entry(&self, hit: SignHit) -> Option<usize> {
        self.entries.get(hit.sign()).copied()
    }

    /// Whether the sign behind a hit is a word of crawlers.
    pub(super) fn is_crawler_word(&self, hit: SignHit) -> bool {
        self.literals.get(hit.sign()).is_some_and(|literal| literal.mark == Mark::CrawlerSigns)
    }

    /// The sign behind a hit.
    pub(super) fn sign(&self, hit: SignHit) -> Option<&Sign> {
        self.signs.get(hit.sign())
    }

    /// Finds every sign in `header`, in the order of their ends, the longest of one end first.
    #[inline]
    pub(super) fn scan(&self, header: &[u8]) -> SignFinds {
        let mut found = SignFinds::default();
        let mut state = self.start;
        for (end, byte) in (1..).zip(header) {
            state = self.automaton.next_state(Anchored::No, state, byte.to_ascii_lowercase());
            // Nothing else is special to an automaton that never dies and has no prefilter, but its start.
            if self.automaton.is_special(state) && self.automaton.is_match(state) {
                self.take_all(&mut found, header, state, end);
            }
        }
        found
    }

    /// Takes what ends here. Apart, so that the state stays in a register where nothing ends: a tenth of a recognition.
    #[inline(never)]
    fn take_all(&self, found: &mut SignFinds, header: &[u8], state: StateID, end: usize) {
        for nth in 0..self.automaton.match_len(state) {
            let sign = self.automaton.match_pattern(state, nth);
            let start = end - self.automaton.pattern_len(sign);
            self.take(found, header, SignHit::new(sign.as_usize(), start, end));
        }
    }

    #[inline]
    fn take(&self, found: &mut SignFinds, header: &[u8], hit: SignHit) {
        let Some(literal) = self.literals.get(hit.sign()) else { return };
        let Some(place) = found.first.get_mut(literal.mark as usize) else { return };
        // Most finds in a browser's header are marks seen before.
        if place.is_some() && !literal.is_many || !literal.bounds.holds(header, hit.start(), hit.end()) {
            return;
        }
        place.get_or_insert(hit);
        if literal.is_many {
            found.more(literal.mark, hit);
        }
    }

    /// Whether people's browsers put what stands at `start` after `compatible;`.
    pub(super) fn is_compatible_word(&self, header: &[u8], start: usize) -> bool {
        let rest = header.get(start..).unwrap_or_default();
        let start = start + rest.len() - rest.trim_ascii_start().len();
        let first = header.get(start).map(u8::to_ascii_lowercase);
        let from = self.compatible.partition_point(|sign| first_byte(sign) < first);
        let same = self.compatible.iter().skip(from).take_while(|sign| first_byte(sign) == first);
        same.into_iter().any(|sign| sign.stands_at(header, start))
    }
}

fn first_byte(sign: &Sign) -> Option<u8> {
    sign.text().bytes().next().map(|byte| byte.to_ascii_lowercase())
}

/// The list of its own, and the systems, handhelds and engines as whole words.
fn compatible_words(words: &Words) -> Box<[Sign]> {
    let lists = [Mark::Platforms, Mark::Desktops, Mark::Handhelds, Mark::Engines];
    let others = lists.into_iter().flat_map(|list| words.of(list)).filter(|sign| !sign.is_opening());
    let mut all: Vec<Sign> =
        words.of(Mark::Compatible).iter().cloned().chain(others.map(Sign::whole)).collect();
    all.sort_by_key(first_byte);
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner() -> Scanner {
        let words = Words::default()
            .with(Mark::CrawlerSigns, &["*bot"])
            .with(Mark::Platforms, &["Windows"])
            .with(Mark::Compatible, &["MSIE", "Win*"]);
        Scanner::new(&RecognitionData { words, ..RecognitionData::default() }).unwrap()
    }

    #[test]
    fn every_fixed_sign_is_well_formed() {
        assert!(FIXED.iter().flat_map(|(_, signs)| *signs).all(|written| Sign::parse(written).is_ok()));
    }

    #[test]
    fn finds_in_either_case_and_keeps_boundaries() {
        let found = scanner().scan(b"FooBOT/1 bottle windows (+HTTP://x y@z)");
        assert_eq!(found.words.as_slice(), [SignHit::new(found.words[0].sign(), 3, 6)]);
        assert_eq!(found.first(Mark::Platforms).unwrap().start(), 16);
        assert_eq!((found.links.len(), found.mails.len()), (1, 1));
        assert_eq!(SignHit::new(1, 2, 3).shifted(10), SignHit::new(1, 12, 13));
    }

    /// Every hit of the automaton against a search for one sign after the other.
    #[test]
    fn nothing_is_lost_and_the_order_is_kept() {
        let signs = ["*bot*", "*KHTML*", "AppleWebKit/", "*+http*", "*537*", "*) Foo*", "*o,f*", "*b; c)*"];
        let words = Words::default().with(Mark::CrawlerSigns, &signs);
        let scanner = Scanner::new(&RecognitionData { words, ..RecognitionData::default() }).unwrap();
        let part = "AppleWebKit/537.36 (KHTML, like Gecko)";
        let pieces = ["bot", "Foo ", "+http://x", " ", part, "a+b", "c)d", "o,f", "; ", "B; C)", "xyz/1.0"];
        let mut state = 7_u32;
        for _ in 0..1_000 {
            let mut header = String::new();
            for _ in 0..(state >> 8) % 8 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                header.push_str(pieces[(state >> 16) as usize % pieces.len()]);
            }
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let mut expected: Vec<(usize, usize)> = Vec::new();
            for sign in signs.iter().map(|written| Sign::parse(written).unwrap()) {
                let places = 0..header.len();
                let stands = places.filter(|start| sign.stands_at(header.as_bytes(), *start));
                expected.extend(stands.map(|start| (start + sign.text().len(), start)));
            }
            expected.sort_unstable();
            let found = scanner.scan(header.as_bytes());
            let found: Vec<(usize, usize)> = found.words.iter().map(|hit| (hit.end(), hit.start())).collect();
            assert_eq!(found, expected[..expected.len().min(8)], "{header}");
        }
    }

    #[test]
    fn words_after_compatible_stand_right_there() {
        let header = b"Mozilla/4.0 (compatible;  MSIE 6.0; x) (compatible; Windows) (compatible; MSIEX) MSIE";
        let found = scanner();
        let at = |text: &[u8]| memchr::memmem::find(header, text).unwrap();
        assert!(found.is_compatible_word(header, at(b"  MSIE")));
        assert!(found.is_compatible_word(header, at(b" Windows")));
        assert!(!found.is_compatible_word(header, at(b" MSIEX")) && !found.is_compatible_word(header, 0));
        assert!(!found.is_compatible_word(header, header.len()));
    }

    #[test]
    fn a_stuffed_header_is_bounded() {
        let found = scanner().scan("bot ".repeat(500).as_bytes());
        assert_eq!(
            (found.words.len(), found.words.last()),
            (8, Some(&SignHit::new(found.words[0].sign(), 28, 31)))
        );
    }
}
