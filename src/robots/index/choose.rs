//! Choosing, for each rule with `*`, the bytes it is looked up by: those that fewest rules share.

use super::entry::IndexedRule;
use super::gram::{GramPosition, STRIDE, WIDEST, WIDTH, gram, spread};
use crate::robots::pattern::{PatternPiece, Texts};
use std::cmp::Reverse;

/// Places at either end of one piece that are considered. Bounds the work of building.
const CONSIDERED: usize = 32;

/// Pieces of one rule that are considered.
const PIECES: usize = 16;

/// Bytes of a rule to be looked up.
pub(super) struct ChosenBytes<'b> {
    pub(super) place: GramPosition,
    pub(super) width: usize,
    /// The gram, or all grams in a row.
    bytes: &'b [u8],
    count: u32,
}

impl ChosenBytes<'_> {
    pub(super) fn grams(&self) -> impl Iterator<Item = u64> {
        self.bytes.windows(self.width).map(gram)
    }
}

/// Roughly how many rules have each gram: grams that fall together are counted together.
pub(super) struct GramCounts {
    counts: Vec<u32>,
    shift: u32,
}

impl GramCounts {
    pub(super) fn new(rules: &[IndexedRule], texts: Texts<'_>) -> Self {
        let size = (rules.len() * 16).next_power_of_two().clamp(1024, 1 << 18);
        let mut counts = Self { counts: vec![0; size], shift: 64 - size.trailing_zeros() };
        for wild in rules {
            for run in pieces(*wild, texts) {
                considered(run, width(run.len()).1).for_each(|bytes| counts.count(key(bytes)));
            }
            if let Some(bytes) = ending(*wild, texts) {
                counts.count(!key(bytes));
            }
        }
        counts
    }

    fn place(&self, key: u64) -> usize {
        usize::try_from(spread(key) >> self.shift).unwrap_or(0)
    }

    fn count(&mut self, key: u64) {
        let place = self.place(key);
        if let Some(count) = self.counts.get_mut(place) {
            *count += 1;
        }
    }

    fn of(&self, key: u64) -> u32 {
        self.counts.get(self.place(key)).copied().unwrap_or(0)
    }

    /// The bytes of a rule that the fewest rules share.
    pub(super) fn rarest<'b>(&self, wild: IndexedRule, texts: Texts<'b>) -> Option<ChosenBytes<'b>> {
        let inside = pieces(wild, texts)
            .filter_map(|run| self.rarest_in(run))
            .min_by_key(|found| (found.width < WIDTH, found.count, Reverse(found.width)));
        let end = ending(wild, texts).map(|bytes| {
            let count = self.of(!key(bytes));
            ChosenBytes { place: GramPosition::End, width: bytes.len(), bytes, count }
        });
        // The end is looked up once, so it is preferred unless many rules share it.
        match (end, inside) {
            (Some(end), Some(inside)) if end.count > 8 && inside.count < end.count => Some(inside),
            (Some(end), _) => Some(end),
            (None, inside) => inside,
        }
    }

    fn rarest_in<'b>(&self, run: &'b [u8]) -> Option<ChosenBytes<'b>> {
        if run.is_empty() {
            return None;
        }
        let (place, width) = width(run.len());
        let size = if place == GramPosition::Fourth { width + STRIDE - 1 } else { width };
        let count = |bytes: &[u8]| bytes.windows(width).map(|gram| self.of(key(gram))).max().unwrap_or(0);
        let rows = considered(run, size).map(|bytes| (count(bytes), bytes));
        rows.min_by_key(|row| row.0).map(|(count, bytes)| ChosenBytes { place, width, bytes, count })
    }
}

/// The place and width of the grams of a run of bytes.
const fn width(length: usize) -> (GramPosition, usize) {
    match length {
        0..WIDTH => (GramPosition::Every, length),
        WIDTH..=6 => (GramPosition::Every, WIDTH),
        7..=10 => (GramPosition::Fourth, WIDTH),
        _ => (GramPosition::Fourth, WIDEST),
    }
}

/// The windows of a run, without those in the middle of a long one.
fn considered(run: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let count = (run.len() + 1).saturating_sub(size);
    let last = count.saturating_sub(CONSIDERED).max(CONSIDERED);
    run.windows(size).take(CONSIDERED).chain(run.windows(size).skip(last))
}

/// Tells grams of different widths apart.
fn key(bytes: &[u8]) -> u64 {
    gram(bytes) ^ spread(bytes.len() as u64)
}

fn ending(wild: IndexedRule, texts: Texts<'_>) -> Option<&[u8]> {
    let bytes = texts.get(wild.ending(texts)?);
    bytes.get(bytes.len().saturating_sub(WIDEST)..)
}

fn pieces(wild: IndexedRule, texts: Texts<'_>) -> impl Iterator<Item = &[u8]> {
    texts.pieces(wild.pattern).iter().rev().take(PIECES).flat_map(move |piece| runs(*piece, texts))
}

/// The parts of a piece that are the same in every reading: all of it, unless it holds an encoded
/// `/` or `?` that is read differently in a query.
fn runs(piece: PatternPiece, texts: Texts<'_>) -> impl Iterator<Item = &[u8]> {
    let text = texts.get(piece.text);
    let loose = piece.text != piece.in_query;
    text.split(move |&byte| loose && byte >= 0xF8).filter(|run| !run.is_empty())
}
