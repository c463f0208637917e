//! One pass over a header: every sign of every list, with its meaning and its boundaries.
//!
//! Fixed places, no allocation: a header stuffed with signs costs no memory. Not here: what the finds mean together
//! (`classify`).

use super::sign::Sign;
use super::words::{Mark, RecognitionData, Words};
use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::dfa::DFA;
use arrayvec::ArrayVec;
use strum::EnumCount as _;

/// Why no automaton could be built.
const TOO_MANY: &str = "the catalogue has too many signs";

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

/// Where a sign was found, and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SignHit {
    pub(super) mark: Mark,
    /// Which entry of the catalogue it names; of a token of robots.txt, which token.
    pub(super) entry: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl SignHit {
    /// Whether it is a word of crawlers.
    pub(super) fn is_crawlers(self) -> bool {
        self.mark == Mark::CrawlerSigns
    }
}

/// All finds of one pass: the first of each kind, and the first few of those of which more than one may count.
#[derive(Debug, Default)]
pub(super) struct SignFinds {
    first: [Option<SignHit>; Mark::COUNT],
    many: ArrayVec<SignHit, 40>,
}

impl SignFinds {
    /// The first find of this kind.
    #[inline]
    pub(super) fn first(&self, mark: Mark) -> Option<SignHit> {
        self.first.get(mark as usize).copied().flatten()
    }

    /// The finds of these kinds, of which more than one may count.
    pub(super) fn all(&self, kinds: &'static [Mark]) -> impl Iterator<Item = SignHit> {
        self.many.iter().copied().filter(move |hit| kinds.contains(&hit.mark))
    }

    /// Words of crawlers and of tools.
    pub(super) fn words(&self) -> impl Iterator<Item = SignHit> {
        self.all(&[Mark::CrawlerSigns, Mark::ToolSigns])
    }
}

/// How many finds of a kind may count.
const fn most(mark: Mark) -> usize {
    match mark {
        Mark::Named | Mark::CrawlerSigns | Mark::ToolSigns => 8,
        Mark::Guards => 4,
        Mark::Link | Mark::Mail | Mark::Host => 3,
        _ => 1,
    }
}

/// What is looked for: what it stands for, which entry of the catalogue it names, and how it is written.
type SoughtSign = (Mark, usize, Sign);

/// The signs of all lists, compiled.
#[derive(Debug)]
pub(super) struct Scanner {
    /// A table of all transitions, of small letters alone: a step is one look-up, and the table half as large.
    automaton: DFA,
    start: StateID,
    signs: Box<[SoughtSign]>,
    /// What people's browsers put after `compatible;`.
    compatible: Box<[Sign]>,
}

impl Scanner {
    pub(super) fn new(knowledge: &RecognitionData) -> Result<Self, &'static str> {
        let crawlers = knowledge.catalogue.crawlers().iter().enumerate();
        let named = crawlers.flat_map(|(entry, crawler)| {
            crawler.signs.iter().map(move |sign| (Mark::Named, entry, sign.clone()))
        });
        let listed = knowledge.words.0.iter().filter(|(list, _)| *list != Mark::Compatible);
        let listed = listed.map(|(list, sign)| (*list, 0, sign.clone()));
        let fixed = FIXED.iter().flat_map(|(mark, written)| written.iter().map(move |sign| (*mark, sign)));
        let fixed = fixed.filter_map(|(mark, written)| Some((mark, 0, Sign::parse(written).ok()?)));
        let signs: Box<[SoughtSign]> =
            named.chain(listed).chain(fixed).chain([(Mark::Mail, 0, Sign::at_sign())]).collect();
        let automaton = DFA::builder()
            .prefilter(false)
            .build(signs.iter().map(|(.., sign)| sign.text().to_ascii_lowercase()))
            .map_err(|_| TOO_MANY)?;
        let start = automaton.start_state(Anchored::No).map_err(|_| TOO_MANY)?;
        Ok(Self { automaton, start, signs, compatible: compatible_words(&knowledge.words) })
    }

    /// The memory the automaton holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.automaton.memory_usage()
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
            let Some((mark, entry, sign)) =
                self.signs.get(self.automaton.match_pattern(state, nth).as_usize())
            else {
                continue;
            };
            let hit = SignHit { mark: *mark, entry: *entry, start: end - sign.text().len(), end };
            let Some(first) = found.first.get_mut(*mark as usize) else { continue };
            // Most finds in a browser's header are marks seen before.
            if first.is_some() && most(*mark) == 1 || !sign.holds(header, hit.start, end) {
                continue;
            }
            first.get_or_insert(hit);
            if most(*mark) > 1 && found.many.iter().filter(|own| own.mark == *mark).count() < most(*mark) {
                // There is room for all that may count.
                let _ = found.many.try_push(hit);
            }
        }
    }

    /// Whether people's browsers put what stands at `start` after `compatible;`.
    pub(super) fn is_compatible_word(&self, header: &[u8], start: usize) -> bool {
        let rest = header.get(start..).unwrap_or_default();
        let start = start + rest.len() - rest.trim_ascii_start().len();
        self.compatible.iter().any(|sign| sign.stands_at(header, start))
    }
}

/// The list of its own, and the systems, handhelds and engines as whole words.
fn compatible_words(words: &Words) -> Box<[Sign]> {
    let lists = [Mark::Platforms, Mark::Desktops, Mark::Handhelds, Mark::Engines];
    let others = words.0.iter().filter(|(list, sign)| lists.contains(list) && !sign.opening);
    words.of(Mark::Compatible).cloned().chain(others.map(|(_, sign)| sign.whole())).collect()
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
        assert_eq!(found.words().map(|hit| (hit.start, hit.end)).collect::<Vec<_>>(), [(3, 6)]);
        assert_eq!(found.first(Mark::Platforms).unwrap().start, 16);
        assert_eq!((found.all(&[Mark::Link]).count(), found.all(&[Mark::Mail]).count()), (1, 1));
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
            let found: Vec<(usize, usize)> = found.words().map(|hit| (hit.end, hit.start)).collect();
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
        assert_eq!((found.words().count(), found.words().last().unwrap().start), (8, 28));
    }
}
