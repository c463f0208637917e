//! The search itself: every literal of every list in one pass over the bytes of
//! a header.
//!
//! A walk through the table is a chain of look-ups, each waiting for the one
//! before. So a header is cut into four parts of one length that are walked at
//! the same time. A literal that reaches over a cut is not lost: the walk of a
//! part goes on into the next one until all that could still be found there
//! began there, as the depth of its state tells. Not here: what a find means.

use super::find::Hit;
use super::table::{State, Table, TooLarge};

/// How many parts are walked at the same time.
const LANES: usize = 4;

/// Below this length, in bytes, cutting costs more than it gains.
const SHORT: usize = 24;

/// How many finds of one part are kept. Headers with more are made up, and are
/// walked in one piece.
const ROOM: usize = 16;

/// The literals, ready to be searched for.
#[derive(Debug)]
pub(super) struct Automaton {
    table: Table,
}

/// A state where a literal ends, and the byte behind it. Without padding, since
/// the room for them is cleared for every header.
#[derive(Clone, Copy, Default)]
struct Find {
    state: u32,
    end: u32,
}

impl Find {
    fn new(state: State, end: usize) -> Self {
        let narrow = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self { state: narrow(state), end: narrow(end) }
    }
}

/// The finds of one part.
#[derive(Clone, Copy, Default)]
struct Lane {
    finds: [Find; ROOM],
    len: usize,
    /// How many of them lie inside the part; the others reach over its end.
    inside: usize,
}

impl Lane {
    /// Keeps a find, and says whether there was room.
    fn push(&mut self, state: State, end: usize) -> bool {
        let free = self.finds.get_mut(self.len);
        let room = free.is_some();
        if let Some(free) = free {
            *free = Find::new(state, end);
            self.len += 1;
        }
        room
    }

    fn inside(&self) -> &[Find] {
        self.finds.get(..self.inside).unwrap_or_default()
    }

    fn over_the_end(&self) -> &[Find] {
        self.finds.get(self.inside..self.len).unwrap_or_default()
    }
}

impl Automaton {
    /// Compiles the literals. Their order gives the index of a hit.
    pub(super) fn new(literals: &[&str]) -> Result<Self, TooLarge> {
        Ok(Self { table: Table::new(literals)? })
    }

    /// The memory it holds, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.table.memory()
    }

    /// Gives every hit to `take`, in the order of their ends.
    pub(super) fn find(&self, header: &[u8], mut take: impl FnMut(Hit)) {
        let part = header.len() / LANES;
        let mut lanes = [Lane::default(); LANES];
        if header.len() < SHORT || !self.walk_parts(header, part, &mut lanes) {
            return self.walk(header, take);
        }
        let mut late: &[Find] = &[];
        let mut limit = 0;
        for lane in &lanes {
            for find in lane.inside() {
                // Of finds that end at one byte the longer ones began before the cut.
                while let Some((first, rest)) = late.split_first()
                    && first.end <= find.end
                {
                    self.hits(*first, limit, &mut take);
                    late = rest;
                }
                self.hits(*find, usize::MAX, &mut take);
            }
            for find in late {
                self.hits(*find, limit, &mut take);
            }
            late = lane.over_the_end();
            limit += part;
        }
    }

    /// The hits of one find that began before `limit`.
    fn hits(&self, find: Find, limit: usize, take: &mut impl FnMut(Hit)) {
        let end = find.end as usize;
        for found in self.table.ends(find.state as usize) {
            let start = end.saturating_sub(found.len as usize);
            if start < limit {
                take(Hit::new(found.literal as usize, start, end));
            }
        }
    }

    /// Walks the whole header in one piece.
    fn walk(&self, header: &[u8], mut take: impl FnMut(Hit)) {
        let mut state = Table::ROOT;
        for (end, byte) in (1..).zip(header) {
            state = self.table.next(state, *byte);
            if self.table.is_match(state) {
                self.hits(Find::new(state, end), usize::MAX, &mut take);
            }
        }
    }

    /// Walks all parts; `false` when there were more finds than there is room for,
    /// or one reaches over the whole of another part.
    fn walk_parts(&self, header: &[u8], part: usize, lanes: &mut [Lane; LANES]) -> bool {
        let table = &self.table;
        let (one, rest) = header.split_at(part);
        let (two, rest) = rest.split_at(part);
        let (three, four) = rest.split_at(part);
        let [mut a, mut b, mut c, mut d] = [Table::ROOT; LANES];
        let mut room = true;
        for (at, (((i, j), k), l)) in (1..).zip(one.iter().zip(two).zip(three).zip(four)) {
            a = table.next(a, *i);
            b = table.next(b, *j);
            c = table.next(c, *k);
            d = table.next(d, *l);
            if table.is_match(a.max(b).max(c).max(d)) {
                room &= self.keep(lanes, [a, b, c, d], at, part);
            }
        }
        let [lane_a, lane_b, lane_c, lane_d] = lanes;
        // The last part is up to three bytes longer.
        for (at, byte) in (4 * part + 1..).zip(four.iter().skip(part)) {
            d = table.next(d, *byte);
            if table.is_match(d) {
                room &= lane_d.push(d, at);
            }
        }
        lane_d.inside = lane_d.len;
        let over = |nth, state, lane| self.walk_over(header, nth * part, part, state, lane);
        room && over(1, a, lane_a) && over(2, b, lane_b) && over(3, c, lane_c)
    }

    /// Keeps those of the states where a literal ends. Apart, so that the loop
    /// that calls it has the processor's registers to itself.
    #[inline(never)]
    fn keep(&self, lanes: &mut [Lane; LANES], states: [State; LANES], at: usize, part: usize) -> bool {
        let mut room = true;
        for (nth, (lane, state)) in lanes.iter_mut().zip(states).enumerate() {
            if self.table.is_match(state) {
                room &= lane.push(state, nth * part + at);
            }
        }
        room
    }

    /// Walks from `cut` on, until all that can be found began behind it.
    fn walk_over(&self, header: &[u8], cut: usize, part: usize, mut state: State, lane: &mut Lane) -> bool {
        lane.inside = lane.len;
        for (walked, byte) in header.get(cut..).unwrap_or_default().iter().enumerate() {
            if self.table.depth(state) <= walked {
                break;
            }
            state = self.table.next(state, *byte);
            if self.table.is_match(state) && (walked >= part || !lane.push(state, cut + walked + 1)) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(automaton: &Automaton, header: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        automaton.find(header.as_bytes(), |hit| hits.push(hit));
        hits
    }

    /// Every hit, found the slow way.
    fn expected(literals: &[&str], header: &str) -> Vec<Hit> {
        let lower = header.to_ascii_lowercase();
        let mut hits: Vec<Hit> = literals
            .iter()
            .enumerate()
            .flat_map(|(i, literal)| {
                let literal = literal.to_ascii_lowercase();
                let at = |start: &usize| lower.as_bytes()[*start..].starts_with(literal.as_bytes());
                let starts: Vec<usize> = (0..lower.len()).filter(at).collect();
                starts.into_iter().map(move |start| Hit::new(i, start, start + literal.len()))
            })
            .collect();
        hits.sort_by_key(|hit| (hit.end(), hit.start()));
        hits
    }

    #[test]
    fn cutting_loses_nothing_and_keeps_the_order() {
        let lists: [&[&str]; 4] = [
            &["bot", "KHTML", "AppleWebKit/", "x", "+http", "537"],
            &["like Gecko) Foo", "bot", "Gecko", "o", ") F"],
            &["Foo Apple", "a+b", "c)d", "e,f", "b; c)d"],
            &["foo bar", ")", ",", "foo bar foo bar foo bar foo bar"],
        ];
        let part = "AppleWebKit/537.36 (KHTML, like Gecko)";
        let pieces = [
            "bot",
            "Foo ",
            "+http://x",
            " ",
            part,
            "a+b",
            "c)d",
            "e,f",
            "; ",
            "foo bar",
            "xyz/1.0",
            "like Gecko) Foo",
        ];
        let mut state = 7_u32;
        for literals in lists {
            let automaton = Automaton::new(literals).unwrap();
            for _ in 0..2_000 {
                let mut header = String::new();
                for _ in 0..(state >> 8) % 14 {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    header.push_str(pieces[(state >> 16) as usize % pieces.len()]);
                }
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                assert_eq!(found(&automaton, &header), expected(literals, &header), "{header}");
            }
        }
    }

    #[test]
    fn more_finds_than_there_is_room_for_are_all_given() {
        let automaton = Automaton::new(&["ab"]).unwrap();
        let header = format!("{})){}", "ab".repeat(100), "ab".repeat(150));
        assert_eq!(found(&automaton, &header).len(), 250);
    }

    #[test]
    fn a_literal_longer_than_a_part_is_found_once_in_its_turn() {
        let long = "abcdefghijklmnopqrstuvwxyz0123456789";
        let automaton = Automaton::new(&[long, "xyz0"]).unwrap();
        for before in 0..40 {
            let header = format!("{}{long}{}", "-".repeat(before), "-".repeat(40 - before));
            let starts: Vec<usize> = found(&automaton, &header).iter().map(|hit| hit.start()).collect();
            assert_eq!(starts, [before + 23, before], "{header}");
        }
    }
}
