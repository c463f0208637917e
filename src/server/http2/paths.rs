//! Paths that the HTTP/2 library does not take: with `"`, `<`, `>`, a backtick, a byte that is no UTF-8, a control. It resets
//! their streams or ends the connection, and cuts a path off at `#`. HTTP/1 has an answer to all of them.
//!
//! A field section is held back until it is whole, and read just enough to find a path (RFC 9113 §4.3, RFC 7541). In the
//! place of one that the library does not take, it is given one that takes as much room, here and in the client's table; the
//! gateway judges, and forwards or refuses, the true one. Of that table no more is followed than under which indices a path
//! is found.
//!
//! What breaks the protocol passes as it is: the library ends such a connection.

use super::frames::{CONTINUATION, FrameHead, HEAD, HEADERS, PREFACE};
use super::hpack::{HpackTable, replace_paths};
use std::ops::Range;
use std::sync::Arc;
use tokio::io::ReadBuf;

/// What a field section may have beyond its text and still be held back: the heads of its frames and fields, and padding. An
/// encoder makes no text longer.
const MORE: usize = 16 * 1024;

/// Flags of `HEADERS` (RFC 9113 §6.2); `CONTINUATION` has the first (§6.10).
const END_HEADERS: u8 = 0x4;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// The true path of a request, by its stream.
pub(super) type TruePath = (u32, Arc<[u8]>);

/// Reads along what a client sends.
#[derive(Debug)]
pub(super) struct PathGuard {
    /// Bytes that pass unread.
    skip: usize,
    /// Where the parts of a field section are, each in a frame of its own.
    fragments: Vec<Range<usize>>,
    table: HpackTable,
    /// Frames of a field section that is not whole, or whole ones that the library has had no room for yet: so many bytes
    /// of it may be seen.
    held: Vec<u8>,
    fit: usize,
    /// How much may be held back.
    most: usize,
    found: Vec<TruePath>,
}

/// What stands at the beginning of some bytes.
enum NextFrames {
    /// A field section in so many bytes.
    Section(usize),
    /// A frame of another kind with so many bytes.
    Other(usize),
    /// More has to come.
    Incomplete,
    /// Nothing that the protocol knows.
    Broken,
}

impl PathGuard {
    /// A guard of field sections whose text is at most so long. The library refuses longer ones, and paths that it does not take
    /// in sections that are coded at more length than they need.
    pub(super) fn new(longest: usize) -> Self {
        Self {
            skip: PREFACE,
            fragments: Vec::new(),
            table: HpackTable::new(),
            held: Vec::new(),
            fit: 0,
            most: longest.saturating_add(MORE),
            found: Vec::new(),
        }
    }

    /// Puts what was held back into `buffer`, once it may be seen; whether there was any of it.
    pub(super) fn give(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let count = self.fit.min(buffer.remaining());
        buffer.put_slice(self.held.get(..count).unwrap_or_default());
        self.held.drain(..count);
        self.fit -= count;
        count > 0
    }

    /// Reads along what `buffer` has behind its first `before` bytes, and takes out what is held back.
    pub(super) fn read(&mut self, buffer: &mut ReadBuf<'_>, before: usize) {
        let bytes = buffer.filled_mut().get_mut(before..).unwrap_or_default();
        if self.held.is_empty() {
            let fit = self.pass(bytes);
            self.held.extend_from_slice(bytes.get(fit..).unwrap_or_default());
            buffer.set_filled(before + fit);
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(bytes);
        self.fit = self.pass(&mut held);
        self.held = held;
        buffer.set_filled(before);
        self.give(buffer);
    }

    /// The paths that the library was not given.
    pub(super) fn found(&mut self) -> impl Iterator<Item = TruePath> {
        self.found.drain(..)
    }

    /// Reads `bytes` along, which begin with a frame but for what is skipped. How many of them may be seen.
    fn pass(&mut self, bytes: &mut [u8]) -> usize {
        let mut at = 0;
        loop {
            let passed = self.skip.min(bytes.len() - at);
            self.skip -= passed;
            at += passed;
            let rest = bytes.get_mut(at..).unwrap_or_default();
            if rest.is_empty() {
                return at;
            }
            match self.next(rest) {
                NextFrames::Other(length) => self.skip = length,
                NextFrames::Section(length) if self.replace(rest) => self.skip = length,
                NextFrames::Incomplete if rest.len() <= self.most => return at,
                _ => self.skip = usize::MAX,
            }
        }
    }

    /// Finds the frames at the beginning of `bytes`, and where the fragments of their field section are.
    fn next(&mut self, bytes: &[u8]) -> NextFrames {
        self.fragments.clear();
        let mut at = 0;
        loop {
            let frame = bytes.get(at..).unwrap_or_default();
            let Some(head) = FrameHead::of(frame) else { return NextFrames::Incomplete };
            let length = HEAD + head.length;
            let is_first = at == 0;
            match head.kind {
                HEADERS if is_first => {}
                CONTINUATION if !is_first => {}
                _ if is_first => return NextFrames::Other(length),
                _ => return NextFrames::Broken,
            }
            let Some(frame) = frame.get(..length) else { return NextFrames::Incomplete };
            let (mut begin, mut end) = (HEAD, length);
            if is_first && head.flags & PADDED != 0 {
                begin += 1;
                end = end.saturating_sub(frame.get(HEAD).map_or(0, |padding| usize::from(*padding)));
            }
            if is_first && head.flags & PRIORITY != 0 {
                begin += 5;
            }
            if begin > end {
                return NextFrames::Broken;
            }
            self.fragments.push(at + begin..at + end);
            at += length;
            if head.flags & END_HEADERS != 0 {
                return NextFrames::Section(at);
            }
        }
    }

    /// Replaces what the library does not take in the field section that was found at the beginning of `bytes`; `false`
    /// where it breaks the protocol.
    fn replace(&mut self, bytes: &mut [u8]) -> bool {
        let Some(stream) = FrameHead::of(bytes).map(|head| head.stream) else { return false };
        let found = &mut |path| self.found.push((stream, path));
        if let [fragment] = &*self.fragments {
            let block = bytes.get_mut(fragment.clone()).unwrap_or_default();
            return replace_paths(block, &mut self.table, found).is_some();
        }
        let part = |fragment: &Range<usize>| bytes.get(fragment.clone()).unwrap_or_default();
        let mut block = self.fragments.iter().map(part).collect::<Vec<_>>().concat();
        let is_sound = replace_paths(&mut block, &mut self.table, found).is_some();
        let mut block = &*block;
        for fragment in &self.fragments {
            let (part, rest) = block.split_at(fragment.len());
            bytes.get_mut(fragment.clone()).unwrap_or_default().copy_from_slice(part);
            block = rest;
        }
        is_sound
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::{NAMES, TABLE, is_taken, stand_in};
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], payload].concat()
    }

    /// What the library sees of `bytes`, read in pieces of so many, and the true paths.
    fn seen(guard: &mut PathGuard, bytes: &[u8], piece: usize) -> (Vec<u8>, Vec<TruePath>) {
        let (mut seen, mut found) = (Vec::new(), Vec::new());
        for piece in bytes.chunks(piece) {
            let mut room = vec![0; piece.len()];
            let mut buffer = ReadBuf::new(&mut room);
            buffer.put_slice(piece);
            guard.read(&mut buffer, 0);
            found.extend(guard.found());
            loop {
                seen.extend_from_slice(buffer.filled());
                buffer.clear();
                if !guard.give(&mut buffer) {
                    break;
                }
            }
        }
        (seen, found)
    }

    /// What becomes of `frames` behind a preface, however they are cut.
    fn guarded(frames: &[u8]) -> (Vec<u8>, Vec<TruePath>) {
        let whole = [&[b'#'; PREFACE], frames].concat();
        let read = |piece| {
            let (seen, found) = seen(&mut PathGuard::new(1_000), &whole, piece);
            (seen[PREFACE..].to_vec(), found)
        };
        let at_once = read(usize::MAX);
        assert!((1..20).all(|piece| read(piece) == at_once));
        at_once
    }

    fn text(text: &[u8]) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text].concat()
    }

    #[test]
    fn a_path_is_found_however_its_field_is_written() {
        // `/p#f` in Huffman's code, and what stands there instead: `/`, eleven and ten bits, `a`.
        let coded = [0x84, 0x62, 0xbf, 0xfa, 0x97];
        let long = [&[0x7f, 0x49][..], &[b'x'; 199], b"\xff"].concat();
        for name in [
            &[0x44][..],
            &[0x04],
            &[0x15],
            &[0x00, 5, b':', b'p', b'a', b't', b'h'],
            &[0x40, 0x84, 0xb9, 0x58, 0xd3, 0x3f],
        ] {
            for (sent, path) in [(&text(b"/p<f")[..], &b"/p<f"[..]), (&coded, b"/p#f"), (&long, &long[2..])] {
                // Behind other fields, among them one of the table and a change of its size.
                let before = [&[0x82, 0x3f, 0xe1, 0x1f, 0x00, 1, b'a', 1, b'#'][..], name].concat();
                let priority = [0, 0, 0, 0, 15];
                for (flags, front, behind) in
                    [(4, &[][..], &[][..]), (0x24, &priority, &[]), (0xc, &[2], b"##")]
                {
                    let frame = frame(HEADERS, flags, &[front, &before, sent, behind].concat());
                    let (seen, found) = guarded(&frame);
                    assert_eq!(found, [(1, Arc::from(path))], "{name:x?}");
                    let at = frame.len() - behind.len() - sent.len();
                    assert!(seen[..at] == frame[..at] && seen.ends_with(behind) && seen.len() == frame.len());
                    assert_ne!(seen, frame);
                    assert_eq!(guarded(&seen), (seen.clone(), Vec::new()), "the library takes it");
                }
            }
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let other =
            [&[0x44][..], &text(b"/p"), &[0x00], &text(b":pat"), &text(b"#"), &[0x53], &text(b"#")].concat();
        let data = frame(0, 0, b"\x44\x03/p#");
        let frames =
            [data.clone(), frame(HEADERS, 0, &other[..5]), frame(CONTINUATION, 4, &other[5..]), data]
                .concat();
        assert_eq!(guarded(&frames), (frames, Vec::new()));
    }

    #[test]
    fn no_more_than_a_section_may_be_long_is_held_back() {
        let mut guard = PathGuard::new(1_000);
        let sent = [&[b'#'; PREFACE][..], &[0, 0x40, 0, HEADERS, 0, 0, 0, 0, 1], &[0; 0x4000]].concat();
        let endless = [0, 0x40, 0, CONTINUATION, 0, 0, 0, 0, 1]
            .iter()
            .chain(&[0; 0x4000])
            .copied()
            .collect::<Vec<u8>>();
        assert_eq!(seen(&mut guard, &sent, 1_000).0.len(), PREFACE);
        assert_eq!(seen(&mut guard, &endless, 1_000).0.len(), sent.len() - PREFACE + endless.len());
        assert!(guard.held.is_empty());
    }

    #[test]
    fn a_path_may_be_cut_by_the_head_of_a_frame() {
        let field = [&[0x44][..], &text(b"/caf\xe9")].concat();
        for cut in 0..field.len() {
            let frames = [frame(HEADERS, 0, &field[..cut]), frame(CONTINUATION, 4, &field[cut..])].concat();
            let (seen, found) = guarded(&frames);
            assert_eq!(found, [(1, Arc::from(&b"/caf\xe9"[..]))], "{cut}");
            assert_eq!(guarded(&seen), (seen.clone(), Vec::new()));
        }
    }

    #[test]
    fn signs_of_every_kind_have_a_stand_in_unless_nearly_all_are_of_the_rarest() {
        for signs in 2..300 {
            // From five bits a sign to twice the bits of a plain text.
            for bytes in (5 * signs + 1_usize).div_ceil(8)..=2 * signs {
                assert!(
                    stand_in(signs, bytes, true).is_some_and(|path| path.len() == bytes),
                    "{signs} {bytes}"
                );
            }
            assert!(stand_in(signs, 4 * signs, true).is_none() || signs < 3);
        }
    }

    /// Writes fields as a client may, and knows its own table (RFC 7541 §2.3.2).
    struct Writer {
        entries: Vec<(Vec<u8>, Vec<u8>)>,
        most: usize,
        seed: u64,
    }

    impl Writer {
        fn below(&mut self, most: usize) -> usize {
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            usize::try_from(self.seed >> 20).unwrap() % most
        }

        fn number(out: &mut Vec<u8>, first: u8, most: u8, mut number: usize) {
            if number < usize::from(most) {
                return out.push(first | u8::try_from(number).unwrap());
            }
            out.push(first | most);
            number -= usize::from(most);
            while number >= 128 {
                out.push(u8::try_from(number % 128).unwrap() | 128);
                number /= 128;
            }
            out.push(u8::try_from(number).unwrap());
        }

        /// A text, sometimes in Huffman's code (RFC 7541 appendix B), of whose signs a few will do.
        fn text(&mut self, out: &mut Vec<u8>, text: &[u8]) {
            let code = |sign: &u8| match sign {
                b'a' => (0x3, 5),
                b't' => (0x9, 5),
                b'/' => (0x18, 6),
                b'p' => (0x2b, 6),
                b'h' => (0x27, 6),
                b':' => (0x5c, 7),
                b'#' => (0xffa, 12),
                b'<' => (0x7ffc, 15),
                0xe9 => (0x003f_ffeb, 22),
                _ => panic!("{sign}"),
            };
            if self.below(2) == 0 {
                Self::number(out, 0, 0x7f, text.len());
                return out.extend_from_slice(text);
            }
            let mut bits: Vec<u32> = Vec::new();
            for (code, length) in text.iter().map(code) {
                bits.extend((0..length).rev().map(|place| code >> place & 1));
            }
            bits.resize(bits.len().next_multiple_of(8), 1);
            Self::number(out, 0x80, 0x7f, bits.len() / 8);
            out.extend(
                bits.chunks(8)
                    .map(|bits| u8::try_from(bits.iter().fold(0, |all, bit| all << 1 | bit)).unwrap()),
            );
        }

        fn evict(&mut self) {
            let size = |entry: &(Vec<u8>, Vec<u8>)| entry.0.len() + entry.1.len() + 32;
            while self.entries.iter().map(size).sum::<usize>() > self.most {
                self.entries.pop();
            }
        }

        /// A field as it is sent, and the path that it has, if the library does not take that.
        fn field(&mut self) -> (Vec<u8>, Option<Vec<u8>>) {
            if self.below(20) == 0 {
                self.most = self.below(4_097);
                self.evict();
                let mut out = Vec::new();
                Self::number(&mut out, 0x20, 0x1f, self.most);
                return (out, None);
            }
            if !self.entries.is_empty() && self.below(4) == 0 {
                let (mut out, index) = (Vec::new(), self.below(self.entries.len()));
                Self::number(&mut out, 0x80, 0x7f, 62 + index);
                let (name, value) = &self.entries[index];
                return (out, Some(value.clone()).filter(|value| name == b":path" && !is_taken(value)));
            }
            let index = [0, 1, 4, 5, 58, 62 + self.below(self.entries.len() + 1)][self.below(6)];
            let signs = |writer: &mut Self, most: usize| -> Vec<u8> {
                (0..writer.below(most)).map(|_| b"a/t#<\xe9"[writer.below(6)]).collect()
            };
            let name = match index.checked_sub(62) {
                Some(place) if place < self.entries.len() => self.entries[place].0.clone(),
                None if index != 0 => vec![b'-'; usize::from(NAMES[index])],
                _ if self.below(2) == 0 => b":path".to_vec(),
                _ => signs(self, 200),
            };
            let index = if index < 62 + self.entries.len() { index } else { 0 };
            let is_path = name == b":path" || matches!(index, 4 | 5);
            let name = if is_path { b":path".to_vec() } else { name };
            let most = if self.below(10) == 0 { 5_000 } else { 300 };
            let sent = signs(self, most);
            let (first, most) = [(0x40, 0x3f), (0x00, 0x0f), (0x10, 0x0f)][self.below(3)];
            let mut out = Vec::new();
            Self::number(&mut out, first, most, index);
            if index == 0 {
                self.text(&mut out, &name);
            }
            self.text(&mut out, &sent);
            if first == 0x40 {
                self.entries.insert(0, (name, sent.clone()));
                self.evict();
            }
            (out, Some(sent).filter(|sent| is_path && !is_taken(sent)))
        }
    }

    #[test]
    fn paths_are_known_by_whatever_index_a_client_has_for_them() {
        let mut writer = Writer { entries: Vec::new(), most: TABLE, seed: 0x9e37_79b9_7f4a_7c15 };
        let [mut guard, mut library] = [0, 1].map(|_| PathGuard::new(100_000));
        for guard in [&mut guard, &mut library] {
            seen(guard, &[0; PREFACE], PREFACE);
        }
        let mut changed = 0;
        for number in 0..5_000 {
            let fields: Vec<_> = (0..writer.below(5)).map(|_| writer.field()).collect();
            let block = fields.iter().flat_map(|(field, _)| field.clone()).collect::<Vec<u8>>();
            let length = u32::try_from(block.len()).unwrap().to_be_bytes();
            let sent = [&length[1..], &[HEADERS, 4, 0, 0, 0, 1], &block].concat();
            let (shown, found) = seen(&mut guard, &sent, 1 + number);
            let expected: Vec<TruePath> =
                fields.iter().filter_map(|(_, path)| Some((1, Arc::from(path.as_deref()?)))).collect();
            assert_eq!(found, expected);
            let (again, found) = seen(&mut library, &shown, 100);
            assert_eq!((again.len(), found), (sent.len(), Vec::new()), "the library takes them");
            assert_eq!(library.table.size, guard.table.size);
            changed += expected.len();
        }
        assert!(changed > 1_000, "{changed}");
    }
}
