//! Blocks of fields of HTTP/2 (RFC 7541), read along just enough to find a path and to put another one in its place.

use std::collections::VecDeque;
use std::sync::Arc;

/// How many codes there are of each length in Huffman's code, whose codes of one length follow each other (RFC 7541
/// appendix B).
const CODES: [u32; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];

/// The bytes that they stand for, in the order of the codes.
const SIGNS: &[u8; 256] =
    b"012aceiost\x20%-./3456789=A_bdfghlmnpru:BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz&*,;XZ!\"()?'+|#>\x00$@[]~^}<\
    `{\\\xc3\xd0\x80\x82\x83\xa2\xb8\xc2\xe0\xe2\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6\x81\
    \x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\xbe\xc4\xc6\xe4\xe8\xe9\
    \x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\xaf\xb4\xb6\xb7\xbc\
    \xbf\xc5\xe7\xef\x09\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed\xc7\xcf\xea\xeb\xc0\xc1\xc8\xc9\xca\
    \xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\
    \xfb\xfc\xfd\xfe\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\x1a\
    \x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9\x0a\x0d\x16";

/// Codes of signs that the library takes, and their lengths; the longest first.
const STAND_INS: [(u32, usize); 8] =
    [(0x7fff0, 19), (0x1ff9, 13), (0x7fb, 11), (0x3f8, 10), (0xf9, 8), (0x5d, 7), (0x21, 6), (0x3, 5)];

/// The code of `/`, and its length.
const SLASH: (u32, usize) = (0x18, 6);

/// How long the names of the static table are (RFC 7541 appendix A), from its first index, which is 1.
pub(super) const NAMES: [u8; 62] = [
    0, 10, 7, 7, 5, 5, 7, 7, 7, 7, 7, 7, 7, 7, 7, 14, 15, 15, 13, 6, 27, 3, 5, 13, 13, 19, 16, 16, 14, 16,
    13, 12, 6, 4, 4, 6, 7, 4, 4, 8, 17, 13, 8, 19, 13, 4, 8, 12, 18, 19, 5, 7, 7, 11, 6, 10, 25, 17, 10, 4,
    3, 16,
];

/// How large a client's table may be, since it is told nothing else (RFC 9113 §6.5.2), and what an entry counts for beside
/// its texts (RFC 7541 §4.1).
pub(super) const TABLE: usize = 4_096;
const OVERHEAD: usize = 32;

/// `:path` as a name (RFC 7541 appendix A has it at two places, too), as it is and in Huffman's code.
const PATH: [&[u8]; 2] = [b":path", &[0xb9, 0x58, 0xd3, 0x3f]];

/// The client's table of fields, as far as it is needed to know names by their indices (RFC 7541 §2.3.2, §4).
#[derive(Debug)]
pub(super) struct HpackTable {
    /// The newest first.
    entries: VecDeque<TableEntry>,
    pub(super) size: usize,
    most: usize,
}

#[derive(Clone, Debug)]
struct TableEntry {
    is_path: bool,
    name: usize,
    size: usize,
    /// The true path, where the library has another one.
    path: Option<Arc<[u8]>>,
}

impl HpackTable {
    pub(super) const fn new() -> Self {
        Self { entries: VecDeque::new(), size: 0, most: TABLE }
    }

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

    /// The true path of the field at `index`, where the library has another one.
    fn path(&self, index: usize) -> Option<Arc<[u8]>> {
        self.entries.get(index.checked_sub(NAMES.len())?)?.path.clone()
    }

    fn push(&mut self, is_path: bool, name: usize, value: usize, path: Option<Arc<[u8]>>) {
        let size = name + value + OVERHEAD;
        self.make_room(size);
        if size <= self.most {
            self.entries.push_front(TableEntry { is_path, name, size, path });
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
pub(super) struct HpackReader {
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
    /// A code as far as it was read, the first one of its length, how many are shorter, and that length.
    code: u32,
    first: u32,
    rank: usize,
    bits: usize,
    /// A path as far as it was read, and the places of the bytes that it is written with.
    path: Vec<u8>,
    places: Vec<usize>,
    /// How many bytes of a path are read along at most.
    pub(super) longest: usize,
}

impl HpackReader {
    /// A reader of one block, of paths that are written with so many bytes at most.
    pub(super) fn new(longest: usize) -> Self {
        Self { longest, ..Self::default() }
    }

    /// Reads the byte at the place `at` of `bytes`; the true path, where the library is given another one.
    pub(super) fn read(
        &mut self,
        byte: u8,
        at: usize,
        table: &mut HpackTable,
        bytes: &mut [u8],
    ) -> Option<Arc<[u8]>> {
        let mut path = None;
        match self.next {
            NextField::Field => path = self.begin(byte, table),
            NextField::Number { shift } => {
                self.number = self.number.saturating_add(usize::from(byte & 0x7f) << shift);
                self.next = NextField::Number { shift: (shift + 7).min(28) };
                if byte & 0x80 == 0 {
                    path = self.numbered(table);
                }
            }
            NextField::Length => {
                (self.is_coded, self.left) = (byte & 0x80 != 0, usize::from(byte & 0x7f));
                (self.taken, self.length) = (0, 0);
                (self.code, self.first, self.rank, self.bits) = (0, 0, 0, 0);
                self.next = if self.left < 0x7f { NextField::Text } else { NextField::Longer { shift: 0 } };
            }
            NextField::Longer { shift } => {
                self.left = self.left.saturating_add(usize::from(byte & 0x7f) << shift);
                let is_last = byte & 0x80 == 0;
                self.next =
                    if is_last { NextField::Text } else { NextField::Longer { shift: (shift + 7).min(28) } };
            }
            NextField::Text => {
                self.text(byte, at);
                (self.taken, self.left) = (self.taken + 1, self.left - 1);
            }
        }
        if matches!(self.next, NextField::Text) && self.left == 0 {
            path = self.end(table, bytes);
        }
        path
    }

    /// From where on of so many bytes nothing may be seen yet. What is read next begins there.
    pub(super) fn hold_from(&mut self, length: usize) -> usize {
        let from = self.places.first().copied().unwrap_or(length);
        self.places.iter_mut().for_each(|place| *place -= from);
        from
    }

    /// The first byte of a field: an index, or a literal whose name is one or follows.
    fn begin(&mut self, byte: u8, table: &mut HpackTable) -> Option<Arc<[u8]>> {
        let (kind, most) = match byte {
            0x80.. => (FieldForm::Indexed, 0x7f),
            0x40.. => (FieldForm::Literal { is_kept: true }, 0x3f),
            0x20.. => (FieldForm::Resized, 0x1f),
            _ => (FieldForm::Literal { is_kept: false }, 0x0f),
        };
        (self.kind, self.number, self.next) =
            (kind, usize::from(byte & most), NextField::Number { shift: 0 });
        if byte & most < most { self.numbered(table) } else { None }
    }

    /// The number at the beginning of a field is whole.
    fn numbered(&mut self, table: &mut HpackTable) -> Option<Arc<[u8]>> {
        self.next = NextField::Field;
        match self.kind {
            FieldForm::Indexed => return table.path(self.number),
            FieldForm::Resized => table.resize(self.number),
            FieldForm::Literal { .. } => {
                self.is_name = self.number == 0;
                (self.is_path, self.name) = if self.is_name { (true, 0) } else { table.name(self.number) };
                self.next = NextField::Length;
            }
        }
        None
    }

    /// A byte of a text.
    fn text(&mut self, byte: u8, at: usize) {
        if self.is_name {
            let [plain, coded] = PATH;
            let path = if self.is_coded { coded } else { plain };
            let is_last = self.left == 1;
            self.is_path &= path.get(self.taken) == Some(&byte) && (self.taken + 1 == path.len()) == is_last;
        }
        let is_guarded = self.is_path && !self.is_name && self.taken + self.left <= self.longest;
        if is_guarded {
            self.places.push(at);
        }
        if self.is_coded {
            self.decode(byte, is_guarded);
        } else {
            self.length += 1;
            if is_guarded {
                self.path.push(byte);
            }
        }
    }

    /// A text is over.
    fn end(&mut self, table: &mut HpackTable, bytes: &mut [u8]) -> Option<Arc<[u8]>> {
        if self.is_name {
            self.is_path &= self.taken > 0;
            (self.is_name, self.name, self.next) = (false, self.length, NextField::Length);
            return None;
        }
        let (path, places) = (std::mem::take(&mut self.path), std::mem::take(&mut self.places));
        let stand_in = if is_taken(&path) { None } else { stand_in(path.len(), places.len(), self.is_coded) };
        let path = stand_in.map(|stand_in| {
            for (place, byte) in places.iter().zip(stand_in) {
                if let Some(own) = bytes.get_mut(*place) {
                    *own = byte;
                }
            }
            Arc::from(path)
        });
        if let FieldForm::Literal { is_kept: true } = self.kind {
            table.push(self.is_path, self.name, self.length, path.clone());
        }
        self.next = NextField::Field;
        path
    }

    /// Reads signs of a text in Huffman's code.
    fn decode(&mut self, byte: u8, is_guarded: bool) {
        // How long a text is matters for what is kept alone.
        if !is_guarded && !matches!(self.kind, FieldForm::Literal { is_kept: true }) {
            return;
        }
        for place in (0..8).rev() {
            (self.code, self.first) = (self.code << 1 | u32::from(byte >> place & 1), self.first << 1);
            self.bits += 1;
            let codes = CODES.get(self.bits).copied().unwrap_or(u32::MAX);
            let number = self.code.wrapping_sub(self.first);
            if number >= codes {
                (self.first, self.rank) = (self.first.wrapping_add(codes), self.rank + codes as usize);
                continue;
            }
            if is_guarded {
                self.path.extend(SIGNS.get(self.rank + number as usize));
            }
            self.length += 1;
            (self.code, self.first, self.rank, self.bits) = (0, 0, 0, 0);
        }
    }
}

/// Whether the library takes a path, and all of it. It takes some more.
pub(super) fn is_taken(path: &[u8]) -> bool {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`');
    matches!(path, [] | [b'/', ..] | b"*") && path.iter().all(is_plain)
}

/// A path that the library takes, with as many signs, in as many bytes. There is none for a lone sign other than `/`, and
/// where nearly all signs are of the rarest: Huffman's code makes those longer, so that no encoder uses it.
pub(super) fn stand_in(signs: usize, bytes: usize, is_coded: bool) -> Option<Vec<u8>> {
    if !is_coded {
        let mut path = vec![b'a'; bytes];
        *path.first_mut()? = b'/';
        return Some(path);
    }
    let ([.., (_, shortest)], (slash, slash_length)) = (STAND_INS, SLASH);
    let mut spare = (8 * bytes).checked_sub(slash_length + shortest * signs.checked_sub(1)?)?;
    let (mut code, mut written, mut path) = (u64::from(slash), slash_length, Vec::with_capacity(bytes));
    for _ in 1..signs {
        let (sign, length) = *STAND_INS.iter().find(|(_, length)| length - shortest <= spare)?;
        spare -= length - shortest;
        (code, written) = (code << length | u64::from(sign), written + length);
        while written >= 8 {
            written -= 8;
            path.push(last_byte(code >> written));
        }
    }
    // What is left of the last byte is padding, of ones (RFC 7541 §5.2).
    match spare {
        0 => {}
        1..8 => path.push(last_byte(code << spare | ((1 << spare) - 1))),
        _ => return None,
    }
    Some(path)
}

const fn last_byte(bits: u64) -> u8 {
    let [byte, ..] = bits.to_le_bytes();
    byte
}
