//! `#` in a `:path`. It has no place there (RFC 3986 §3.3), and the HTTP/2 library would cut off the rest without a word.
//!
//! Field sections are read along as they pass by, just enough to find one (RFC 9113 §4.3, RFC 7541). It is made a `>`,
//! which is as long in Huffman's code and no more allowed: whoever reads the path then refuses it. What a
//! client repeats from its table is refused as well. Of that table no more is followed than under which indices the name
//! is found.

use super::frames::{CONTINUATION, HEAD, HEADERS, PREFACE};
use std::collections::VecDeque;

/// Flags of `HEADERS` (RFC 9113 §6.2).
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// How many codes there are of each length in Huffman's code, whose codes of one length follow each other (RFC 7541
/// appendix B). The first one of [`LONG`] bits is `#`, the second one `>`.
const CODES: [u32; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];
const LONG: usize = 12;

/// How long the names of the static table are (RFC 7541 appendix A), from its first index, which is 1.
const NAMES: [u8; 62] = [
    0, 10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16,
    13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4,
    3, 16,
];

/// How large a client's table may be, since it is told nothing else (RFC 9113 §6.5.2), and what an entry counts for beside
/// its texts (RFC 7541 §4.1).
const TABLE: usize = 4_096;
const OVERHEAD: usize = 32;

/// `:path` as a name (RFC 7541 appendix A has it at two places, too), as it is and in Huffman's code.
const PATH: [&[u8]; 2] = [b":path", &[0xb9, 0x58, 0xd3, 0x3f]];

/// Reads along what a client sends.
#[derive(Debug)]
pub(super) struct FragmentGuard {
    /// Bytes to pass over before a block of fields, of the block, and behind it.
    skip: usize,
    block: usize,
    padding: usize,
    head: Vec<u8>,
    fields: HpackReader,
    table: Table,
}

impl FragmentGuard {
    pub(super) fn new() -> Self {
        Self {
            skip: PREFACE,
            block: 0,
            padding: 0,
            head: Vec::with_capacity(HEAD + 1),
            fields: HpackReader::default(),
            table: Table { entries: VecDeque::new(), size: 0, most: TABLE },
        }
    }

    /// Reads `bytes` along, however they are cut, and makes each `#` of a path another sign.
    pub(super) fn read(&mut self, mut bytes: &mut [u8]) {
        while let Some(first) = bytes.first_mut() {
            let mut passed = 1;
            if self.skip > 0 {
                passed = self.skip.min(bytes.len());
                self.skip -= passed;
            } else if self.block > 0 {
                self.fields.read(first, &mut self.table);
                self.block -= 1;
                if self.block == 0 {
                    self.skip = std::mem::take(&mut self.padding);
                }
            } else {
                self.head.push(*first);
                self.begin();
            }
            bytes = bytes.get_mut(passed..).unwrap_or_default();
        }
    }

    /// A frame begins, once its head is whole.
    fn begin(&mut self) {
        let [high, middle, low, kind, flags, _, _, _, _, ref rest @ ..] = *self.head else { return };
        let length = u32::from_be_bytes([0, high, middle, low]) as usize;
        let flags = if kind == HEADERS { flags } else { 0 };
        let has_padding = flags & PADDED != 0 && length > 0;
        if has_padding && rest.is_empty() {
            return;
        }
        let prefix = usize::from(has_padding) + if flags & PRIORITY == 0 { 0 } else { 5 };
        let padding = rest.first().map_or(0, |padding| usize::from(*padding));
        match (kind, length.checked_sub(prefix + padding)) {
            (HEADERS | CONTINUATION, Some(block)) if block > 0 => {
                self.skip = prefix - usize::from(has_padding);
                (self.block, self.padding) = (block, padding);
            }
            _ => self.skip = length - usize::from(has_padding),
        }
        if kind == HEADERS {
            self.fields = HpackReader::default();
        }
        self.head.clear();
    }
}

/// The client's table of fields, as far as it is needed to know names by their indices (RFC 7541 §2.3.2, §4).
#[derive(Debug)]
struct Table {
    /// The newest first.
    entries: VecDeque<Entry>,
    size: usize,
    most: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    is_path: bool,
    name: usize,
    size: usize,
}

impl Table {
    /// Whether the name at `index` is `:path`, and how long it is.
    fn name(&self, index: usize) -> (bool, usize) {
        if let Some(length) = NAMES.get(index) {
            return (matches!(index, 4 | 5), usize::from(*length));
        }
        self.entries.get(index - NAMES.len()).map_or((false, 0), |entry| (entry.is_path, entry.name))
    }

    fn resize(&mut self, most: usize) {
        self.most = most.min(TABLE);
        self.make_room(0);
    }

    fn push(&mut self, is_path: bool, name: usize, value: usize) {
        let size = name + value + OVERHEAD;
        self.make_room(size);
        if size <= self.most {
            self.entries.push_front(Entry { is_path, name, size });
            self.size += size;
        }
    }

    fn make_room(&mut self, size: usize) {
        while self.size + size > self.most
            && let Some(last) = self.entries.pop_back()
        {
            self.size -= last.size;
        }
    }
}

/// What comes next in a block of fields.
#[derive(Clone, Copy, Debug, Default)]
enum NextField {
    #[default]
    Field,
    /// The rest of a number.
    Number {
        shift: u32,
    },
    /// How long a text is: its first byte, and others.
    Length,
    Longer {
        shift: u32,
    },
    Text,
}

/// How a field is written (RFC 7541 §6).
#[derive(Clone, Copy, Debug, Default)]
enum FieldForm {
    /// All of it by its index.
    #[default]
    Indexed,
    /// No field, but a new size of the table.
    Resized,
    Literal {
        is_kept: bool,
    },
}

/// Reads a block of fields.
#[derive(Debug, Default)]
struct HpackReader {
    next: NextField,
    kind: FieldForm,
    /// An index, or a size.
    number: usize,
    /// Whether the text is a name, and whether that is `:path`, as far as it was read.
    is_name: bool,
    is_path: bool,
    is_coded: bool,
    /// Bytes of a text that were read, and that are to come.
    taken: usize,
    left: usize,
    /// How long the text is that they stand for, and how long the name was.
    length: usize,
    name: usize,
    /// A code as far as it was read, the first one of its length, and that length.
    code: u32,
    first: u32,
    bits: usize,
}

impl HpackReader {
    fn read(&mut self, byte: &mut u8, table: &mut Table) {
        match self.next {
            NextField::Field => self.begin(*byte, table),
            NextField::Number { shift } => {
                self.number = self.number.saturating_add(usize::from(*byte & 0x7f) << shift);
                self.next = NextField::Number { shift: (shift + 7).min(28) };
                if *byte & 0x80 == 0 {
                    self.numbered(table);
                }
            }
            NextField::Length => {
                (self.is_coded, self.left) = (*byte & 0x80 != 0, usize::from(*byte & 0x7f));
                (self.taken, self.length) = (0, 0);
                (self.code, self.first, self.bits) = (0, 0, 0);
                self.next = if self.left < 0x7f { NextField::Text } else { NextField::Longer { shift: 0 } };
            }
            NextField::Longer { shift } => {
                self.left = self.left.saturating_add(usize::from(*byte & 0x7f) << shift);
                let is_last = *byte & 0x80 == 0;
                self.next =
                    if is_last { NextField::Text } else { NextField::Longer { shift: (shift + 7).min(28) } };
            }
            NextField::Text => {
                self.text(byte);
                (self.taken, self.left) = (self.taken + 1, self.left - 1);
            }
        }
        if matches!(self.next, NextField::Text) && self.left == 0 {
            self.end(table);
        }
    }

    /// The first byte of a field: an index, or a literal whose name is one or follows.
    fn begin(&mut self, byte: u8, table: &mut Table) {
        let (kind, most) = match byte {
            0x80.. => (FieldForm::Indexed, 0x7f),
            0x40.. => (FieldForm::Literal { is_kept: true }, 0x3f),
            0x20.. => (FieldForm::Resized, 0x1f),
            _ => (FieldForm::Literal { is_kept: false }, 0x0f),
        };
        (self.kind, self.number, self.next) =
            (kind, usize::from(byte & most), NextField::Number { shift: 0 });
        if byte & most < most {
            self.numbered(table);
        }
    }

    /// The number at the beginning of a field is whole.
    fn numbered(&mut self, table: &mut Table) {
        self.next = NextField::Field;
        match self.kind {
            FieldForm::Indexed => {}
            FieldForm::Resized => table.resize(self.number),
            FieldForm::Literal { .. } => {
                self.is_name = self.number == 0;
                (self.is_path, self.name) = if self.is_name { (true, 0) } else { table.name(self.number) };
                self.next = NextField::Length;
            }
        }
    }

    /// A byte of a text.
    fn text(&mut self, byte: &mut u8) {
        if self.is_name {
            let [plain, coded] = PATH;
            let path = if self.is_coded { coded } else { plain };
            let is_last = self.left == 1;
            self.is_path &= path.get(self.taken) == Some(byte) && (self.taken + 1 == path.len()) == is_last;
        }
        let is_guarded = self.is_path && !self.is_name;
        if self.is_coded {
            self.decode(byte, is_guarded);
        } else {
            self.length += 1;
            if is_guarded && *byte == b'#' {
                *byte = b'>';
            }
        }
    }

    /// A text is over.
    fn end(&mut self, table: &mut Table) {
        if self.is_name {
            self.is_path &= self.taken > 0;
            (self.is_name, self.name, self.next) = (false, self.length, NextField::Length);
            return;
        }
        if let FieldForm::Literal { is_kept: true } = self.kind {
            table.push(self.is_path, self.name, self.length);
        }
        self.next = NextField::Field;
    }

    /// Counts the signs of a text in Huffman's code.
    fn decode(&mut self, byte: &mut u8, is_guarded: bool) {
        // How long a text is matters for what is kept alone.
        if !is_guarded && !matches!(self.kind, FieldForm::Literal { is_kept: true }) {
            return;
        }
        for place in (0..8).rev() {
            (self.code, self.first) = (self.code << 1 | u32::from(*byte >> place & 1), self.first << 1);
            self.bits += 1;
            let codes = CODES.get(self.bits).copied().unwrap_or(u32::MAX);
            if self.code.wrapping_sub(self.first) >= codes {
                self.first = self.first.wrapping_add(codes);
                continue;
            }
            if is_guarded && self.bits == LONG && self.code == self.first {
                *byte |= 1 << place;
            }
            self.length += 1;
            (self.code, self.first, self.bits) = (0, 0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, 1], payload].concat()
    }

    /// What becomes of `frames` behind a preface, however they are cut.
    fn guarded(frames: &[u8]) -> Vec<u8> {
        let whole = [&[b'#'; PREFACE], frames].concat();
        let read = |piece: usize| {
            let (mut guard, mut bytes) = (FragmentGuard::new(), whole.clone());
            bytes.chunks_mut(piece).for_each(|piece| guard.read(piece));
            bytes[PREFACE..].to_vec()
        };
        let at_once = read(usize::MAX);
        assert!((1..20).all(|piece| read(piece) == at_once));
        at_once
    }

    fn text(text: &[u8]) -> Vec<u8> {
        [&[u8::try_from(text.len()).unwrap()], text].concat()
    }

    #[test]
    fn a_fragment_is_found_however_its_field_is_written() {
        let coded = [0x84, 0x62, 0xbf, 0xfa, 0x97];
        let refused = [0x84, 0x62, 0xbf, 0xfb, 0x97];
        let long = [&[0x7f, 0x49][..], &[b'x'; 199], b"#"].concat();
        let refused_long = [&[0x7f, 0x49][..], &[b'x'; 199], b">"].concat();
        for name in [
            &[0x44][..],
            &[0x04],
            &[0x15],
            &[0x00, 5, b':', b'p', b'a', b't', b'h'],
            &[0x40, 0x84, 0xb9, 0x58, 0xd3, 0x3f],
        ] {
            for (sent, seen) in
                [(&text(b"/p#f")[..], &text(b"/p>f")[..]), (&coded, &refused), (&long, &refused_long)]
            {
                // Behind other fields, among them one of the table and a change of its size.
                let block = |value: &[u8]| {
                    [&[0x82, 0x3f, 0xe1, 0x1f, 0x00, 1, b'a', 1, b'#'][..], name, value].concat()
                };
                let priority = [0, 0, 0, 0, 15];
                for (flags, before, behind) in
                    [(4, &[][..], &[][..]), (0x24, &priority, &[]), (0xc, &[2], b"##")]
                {
                    let frame = |value| frame(HEADERS, flags, &[before, &block(value), behind].concat());
                    assert_eq!(guarded(&frame(sent)), frame(seen), "{name:x?}");
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
        assert_eq!(guarded(&frames), frames);
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
                b'>' => (0xffb, 12),
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

        /// A field, as it is sent and as it is to be seen.
        fn field(&mut self) -> [Vec<u8>; 2] {
            if self.below(20) == 0 {
                self.most = self.below(4_097);
                self.evict();
                let mut out = Vec::new();
                Self::number(&mut out, 0x20, 0x1f, self.most);
                return [out.clone(), out];
            }
            if !self.entries.is_empty() && self.below(4) == 0 {
                let mut out = Vec::new();
                Self::number(&mut out, 0x80, 0x7f, 62 + self.below(self.entries.len()));
                return [out.clone(), out];
            }
            let index = [0, 1, 4, 5, 58, 62 + self.below(self.entries.len() + 1)][self.below(6)];
            let signs = |writer: &mut Self, most: usize| -> Vec<u8> {
                (0..writer.below(most)).map(|_| b"a/t#"[writer.below(4)]).collect()
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
            let seen: Vec<u8> =
                sent.iter().map(|sign| if is_path && *sign == b'#' { b'>' } else { *sign }).collect();
            let (first, most) = [(0x40, 0x3f), (0x00, 0x0f), (0x10, 0x0f)][self.below(3)];
            let before = self.seed;
            let written = [&sent, &seen].map(|value| {
                // Written in the same way both times.
                self.seed = before;
                let mut out = Vec::new();
                Self::number(&mut out, first, most, index);
                if index == 0 {
                    self.text(&mut out, &name);
                }
                self.text(&mut out, value);
                out
            });
            if first == 0x40 {
                self.entries.insert(0, (name, seen));
                self.evict();
            }
            written
        }
    }

    #[test]
    fn names_are_known_by_whatever_index_a_client_has_for_them() {
        let mut writer = Writer { entries: Vec::new(), most: TABLE, seed: 0x9e37_79b9_7f4a_7c15 };
        let mut guard = FragmentGuard::new();
        guard.read(&mut [0; PREFACE]);
        let mut changed = 0;
        for _ in 0..5_000 {
            let fields: Vec<_> = (0..writer.below(5)).map(|_| writer.field()).collect();
            let [sent, seen] = [0, 1].map(|side| {
                let block: Vec<u8> = fields.iter().flat_map(|field| field[side].clone()).collect();
                let length = u32::try_from(block.len()).unwrap().to_be_bytes();
                [&length[1..], &[HEADERS, 4, 0, 0, 0, 1], &block].concat()
            });
            let mut read = sent.clone();
            guard.read(&mut read);
            assert_eq!(read, seen);
            changed += usize::from(sent != seen);
        }
        assert!(changed > 1_000, "{changed}");
    }
}
