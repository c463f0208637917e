//! One pass over a header: every sign of every list, with its meaning and its
//! boundaries.
//!
//! Not here: the search (`automaton`), and what the finds mean together
//! (`classify`).

use super::automaton::TransitionTable;
use super::find::{SignFinds, SignHit, SignMeaning};
use super::sign::{LiteralBounds, Sign};
use super::words::{RecognitionData, Words};
use aho_corasick::Anchored;

/// The automaton could not be built.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the signs make an automaton that is too large")]
pub struct BuildError;

/// What the rules of `classify` look for, whatever the lists say.
const FIXED: [(SignMeaning, &[&str]); 8] = [
    (SignMeaning::Mozilla, &["*mozilla/*"]),
    (SignMeaning::Host, &["*.com", "*.net", "*.org", "*.io", "*.ai"]),
    (SignMeaning::Link, &["*://*", "www.*"]),
    (SignMeaning::Compatible, &["*compatible;*"]),
    (SignMeaning::GeckoTail, &["*like gecko;*"]),
    (SignMeaning::Model, &["*android*", "adr ", "*tizen*", "*kaios*", "*windows phone*", "*harmony*"]),
    (
        SignMeaning::Model,
        &["*symbian*", "*smart-tv*", "*smarttv*", "*web0s*", "*series60*", "*series40*", "*bada/*"],
    ),
    (SignMeaning::Macintosh, &["*(macintosh;*"]),
];

/// The signs of all lists, compiled.
#[derive(Debug)]
pub(super) struct Scanner {
    automaton: TransitionTable,
    /// By the index of a hit; small, so that all of them stay near.
    meanings: Box<[(SignMeaning, LiteralBounds)]>,
    signs: Box<[Sign]>,
    compatible: CompatibleWords,
}

impl Scanner {
    pub(super) fn new(knowledge: &RecognitionData) -> Result<Self, BuildError> {
        let all = all_signs(knowledge);
        let literals: Vec<&str> = all.iter().map(|(_, sign)| sign.text()).collect();
        Ok(Self {
            automaton: TransitionTable::new(&literals, Anchored::No)?,
            meanings: all.iter().map(|(meaning, sign)| (*meaning, sign.bounds())).collect(),
            compatible: CompatibleWords::new(&compatible_words(&knowledge.words))?,
            signs: all.into_iter().map(|(_, sign)| sign).collect(),
        })
    }

    /// The memory the automaton holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.automaton.memory()
    }

    #[inline]
    pub(super) fn meaning(&self, hit: SignHit) -> Option<SignMeaning> {
        self.meanings.get(hit.sign()).map(|(meaning, _)| *meaning)
    }

    /// The sign behind a hit.
    pub(super) fn sign(&self, hit: SignHit) -> Option<&Sign> {
        self.signs.get(hit.sign())
    }

    /// Finds every sign in `header`.
    pub(super) fn scan(&self, header: &[u8]) -> SignFinds {
        let mut found = SignFinds::default();
        self.scan_into(&mut found, header);
        found
    }

    /// The same, into places that are free. Moving them costs a recognition as
    /// much as a find.
    #[inline]
    pub(super) fn scan_into(&self, found: &mut SignFinds, header: &[u8]) {
        self.automaton.find(header, |hit| self.take(found, header, hit));
    }

    #[inline]
    fn take(&self, found: &mut SignFinds, header: &[u8], hit: SignHit) {
        let Some((meaning, bounds)) = self.meanings.get(hit.sign()) else {
            return;
        };
        // Most finds in a browser's header are marks seen before.
        let known = found.mark(*meaning).is_some_and(|place| place.is_some());
        if !known && bounds.holds(header, hit.start(), hit.end()) {
            found.record(*meaning, hit);
        }
    }

    /// Whether people's browsers put what stands at `start` after `compatible;`.
    pub(super) fn is_compatible_word(&self, header: &[u8], start: usize) -> bool {
        self.compatible.stands_at(header, start)
    }
}

fn all_signs(knowledge: &RecognitionData) -> Vec<(SignMeaning, Sign)> {
    let words = &knowledge.words;
    let mut all = Vec::new();
    for (entry, crawler) in (0..).zip(knowledge.catalogue.crawlers()) {
        all.extend(crawler.signs.iter().map(|sign| (SignMeaning::Named(entry), sign.clone())));
    }
    for (list, meaning) in [
        (&words.crawler_signs, SignMeaning::CrawlerSign),
        (&words.tool_signs, SignMeaning::ToolSign),
        (&words.app_marks, SignMeaning::App),
        (&words.device_marks, SignMeaning::Device),
        (&words.handhelds, SignMeaning::Handheld),
        (&words.desktops, SignMeaning::Desktop),
        (&words.engines, SignMeaning::Engine),
        (&words.platforms, SignMeaning::Platform),
    ] {
        all.extend(list.iter().map(|sign| (meaning, sign.clone())));
    }
    for guard in &words.guards {
        let meaning = if guard.whole_header { SignMeaning::WholeGuard } else { SignMeaning::Guard };
        all.push((meaning, guard.sign.clone()));
    }
    for (meaning, signs) in FIXED {
        all.extend(signs.iter().filter_map(|written| Some((meaning, Sign::parse(written).ok()?))));
    }
    all.push((SignMeaning::Mail, Sign::at_sign()));
    all
}

/// The list of its own, and the systems, handhelds and engines as whole words.
fn compatible_words(words: &Words) -> Vec<Sign> {
    let lists = [&words.platforms, &words.desktops, &words.handhelds, &words.engines];
    let whole = lists.into_iter().flatten().filter(|sign| !sign.is_opening()).map(Sign::whole);
    words.compatible.iter().cloned().chain(whole).collect()
}

/// The words that people's browsers put after `compatible;`. A table of their
/// own: they count nowhere else, and most of them stand in every header.
#[derive(Debug)]
struct CompatibleWords {
    automaton: TransitionTable,
    signs: Box<[Sign]>,
}

impl CompatibleWords {
    fn new(signs: &[Sign]) -> Result<Self, BuildError> {
        let literals: Vec<&str> = signs.iter().map(Sign::text).collect();
        Ok(Self { automaton: TransitionTable::new(&literals, Anchored::Yes)?, signs: signs.into() })
    }

    fn stands_at(&self, header: &[u8], start: usize) -> bool {
        let rest = header.get(start..).unwrap_or_default();
        let field = rest.trim_ascii_start();
        let start = start + rest.len() - field.len();
        let mut stands = false;
        self.automaton.find(field, |hit| {
            let bounds = self.signs.get(hit.sign()).map(Sign::bounds);
            stands |= bounds.is_some_and(|bounds| bounds.holds(header, start, start + hit.end()));
        });
        stands
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scanner() -> Scanner {
        let sign = |written: &str| Sign::parse(written).unwrap();
        let mut knowledge = RecognitionData::default();
        knowledge.words.crawler_signs = vec![sign("*bot")];
        knowledge.words.platforms = vec![sign("Windows")];
        knowledge.words.compatible = vec![sign("MSIE"), sign("Win*")];
        Scanner::new(&knowledge).unwrap()
    }

    #[test]
    fn every_fixed_sign_is_well_formed() {
        assert!(FIXED.iter().flat_map(|(_, signs)| *signs).all(|written| Sign::parse(written).is_ok()));
    }

    #[test]
    fn finds_in_either_case_and_keeps_boundaries() {
        let found = scanner().scan(b"FooBOT/1 bottle windows (+HTTP://x y@z)");
        assert_eq!(found.signs.as_slice(), [SignHit::new(found.signs.as_slice()[0].sign(), 3, 6)]);
        assert_eq!(found.platform.unwrap().start(), 16);
        assert_eq!(found.links.as_slice().len(), 1);
        assert_eq!(found.mails.as_slice().len(), 1);
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
        assert_eq!(found.signs.as_slice().len(), 8);
    }
}
