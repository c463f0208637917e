//! Choosing, for each rule with `*`, the octets it is looked up by: those that fewest rules share.

use super::entry::Entry;
use super::gram::{Place, STRIDE, WIDEST, WIDTH, gram, spread};
use crate::robots::pattern::{Piece, Texts};
use std::cmp::Reverse;

/// Places at either end of one piece that are considered. Bounds the work of building.
const CONSIDERED: usize = 32;

/// Pieces of one rule that are considered.
const PIECES: usize = 16;

/// Octets of a rule to be looked up.
pub(super) struct Found<'b> {
    pub(super) place: Place,
    pub(super) width: usize,
    /// The gram, or all grams in a row.
    octets: &'b [u8],
    count: u32,
}

impl Found<'_> {
    pub(super) fn grams(&self) -> impl Iterator<Item = u64> {
        self.octets.windows(self.width).map(gram)
    }
}

/// Roughly how many rules have each gram: grams that fall together are counted together.
pub(super) struct Counts {
    counts: Vec<u32>,
    shift: u32,
}

impl Counts {
    pub(super) fn new(rules: &[Entry], texts: Texts<'_>) -> Self {
        let size = (rules.len() * 16).next_power_of_two().clamp(1024, 1 << 18);
        let mut counts = Self { counts: vec![0; size], shift: 64 - size.trailing_zeros() };
        for wild in rules {
            for run in pieces(*wild, texts) {
                considered(run, width(run.len()).1).for_each(|octets| counts.count(key(octets)));
            }
            if let Some(octets) = ending(*wild, texts) {
                counts.count(!key(octets));
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

    /// The octets of a rule that the fewest rules share.
    pub(super) fn rarest<'b>(&self, wild: Entry, texts: Texts<'b>) -> Option<Found<'b>> {
        let inside = pieces(wild, texts)
            .filter_map(|run| self.rarest_in(run))
            .min_by_key(|found| (found.width < WIDTH, found.count, Reverse(found.width)));
        let end = ending(wild, texts).map(|octets| {
            let count = self.of(!key(octets));
            Found { place: Place::End, width: octets.len(), octets, count }
        });
        // The end is looked up once, so it is preferred unless many rules share it.
        match (end, inside) {
            (Some(end), Some(inside)) if end.count > 8 && inside.count < end.count => Some(inside),
            (Some(end), _) => Some(end),
            (None, inside) => inside,
        }
    }

    fn rarest_in<'b>(&self, run: &'b [u8]) -> Option<Found<'b>> {
        if run.is_empty() {
            return None;
        }
        let (place, width) = width(run.len());
        let size = if place == Place::Fourth { width + STRIDE - 1 } else { width };
        let count = |octets: &[u8]| octets.windows(width).map(|gram| self.of(key(gram))).max().unwrap_or(0);
        let rows = considered(run, size).map(|octets| (count(octets), octets));
        rows.min_by_key(|row| row.0).map(|(count, octets)| Found { place, width, octets, count })
    }
}

/// The place and width of the grams of a run of octets.
const fn width(length: usize) -> (Place, usize) {
    match length {
        0..WIDTH => (Place::Every, length),
        WIDTH..=6 => (Place::Every, WIDTH),
        7..=10 => (Place::Fourth, WIDTH),
        _ => (Place::Fourth, WIDEST),
    }
}

/// The windows of a run, without those in the middle of a long one.
fn considered(run: &[u8], size: usize) -> impl Iterator<Item = &[u8]> {
    let count = (run.len() + 1).saturating_sub(size);
    let last = count.saturating_sub(CONSIDERED).max(CONSIDERED);
    run.windows(size).take(CONSIDERED).chain(run.windows(size).skip(last))
}

/// Tells grams of different widths apart.
fn key(octets: &[u8]) -> u64 {
    gram(octets) ^ spread(octets.len() as u64)
}

fn ending(wild: Entry, texts: Texts<'_>) -> Option<&[u8]> {
    let octets = texts.get(wild.ending(texts)?);
    octets.get(octets.len().saturating_sub(WIDEST)..)
}

fn pieces(wild: Entry, texts: Texts<'_>) -> impl Iterator<Item = &[u8]> {
    texts.pieces(wild.pattern).iter().rev().take(PIECES).flat_map(move |piece| runs(*piece, texts))
}

/// The parts of a piece that are the same in every reading: all of it, unless it holds an encoded
/// `/` or `?` that is read differently in a query.
fn runs(piece: Piece, texts: Texts<'_>) -> impl Iterator<Item = &[u8]> {
    let text = texts.get(piece.text);
    let loose = piece.text != piece.in_query;
    text.split(move |&octet| loose && octet >= 0xF8).filter(|run| !run.is_empty())
}
