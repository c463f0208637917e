//! The pieces of all patterns of a file as words of one automaton.

use super::automaton::{NONE, WordAutomaton};
use super::nested::Nested;
use crate::robots::pattern::{TextSpan, Texts};

/// Each piece of a file by the words it may be read as.
#[derive(Clone, Debug)]
pub(super) struct Vocabulary {
    pub(super) automaton: WordAutomaton,
    pub(super) nested: Nested,
    /// By position in the pieces of the file: the word as it stands in a path.
    path: Box<[u32]>,
    /// The word as it stands within a query; empty where no piece is read differently there.
    query: Box<[u32]>,
}

/// One way to read one piece.
#[derive(Clone, Copy)]
struct PieceReading {
    text: TextSpan,
    piece: u32,
    in_query: bool,
}

impl Vocabulary {
    pub(super) fn new(texts: Texts<'_>) -> Self {
        let mut readings = readings(texts);
        readings.sort_by_key(|reading| texts.get(reading.text));
        let runs = || readings.chunk_by(|a, b| texts.get(a.text) == texts.get(b.text));
        let words: Vec<&[u8]> =
            runs().filter_map(|run| run.first()).map(|reading| texts.get(reading.text)).collect();
        let (automaton, nested, numbers) = WordAutomaton::new(&words);
        let differ = readings.len() > texts.pieces.len();
        let mut path = vec![NONE; texts.pieces.len()];
        let mut query = vec![NONE; if differ { texts.pieces.len() } else { 0 }];
        for (run, &number) in runs().zip(&numbers) {
            for reading in run {
                let list = if reading.in_query { &mut query } else { &mut path };
                if let Some(slot) = list.get_mut(reading.piece as usize) {
                    *slot = number;
                }
            }
        }
        Self { automaton, nested, path: path.into(), query: query.into() }
    }

    /// The word of a piece that stands in a path, or is the same wherever it stands.
    pub(super) fn in_path(&self, piece: u32) -> u32 {
        self.path.get(piece as usize).copied().unwrap_or(NONE)
    }

    /// The word of a piece within a query, where that is another; else [`NONE`].
    pub(super) fn in_query(&self, piece: u32) -> u32 {
        self.query.get(piece as usize).copied().unwrap_or(NONE)
    }

    /// Whether any piece is read differently within a query.
    pub(super) const fn differs(&self) -> bool {
        !self.query.is_empty()
    }
}

fn readings(texts: Texts<'_>) -> Vec<PieceReading> {
    let mut readings = Vec::with_capacity(texts.pieces.len());
    for (piece, at) in texts.pieces.iter().zip(0..) {
        readings.push(PieceReading { text: piece.text, piece: at, in_query: false });
        if piece.text != piece.in_query {
            readings.push(PieceReading { text: piece.in_query, piece: at, in_query: true });
        }
    }
    readings
}
