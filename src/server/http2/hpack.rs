//! Blocks of fields of HTTP/2 (RFC 7541), read just enough to find a path and to put another one in its place.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// How many codes there are of each length in Huffman's code, from the shortest on; those of one length follow each other
/// (RFC 7541 appendix B).
const CODES: [u32; 26] =
    [10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];
const SHORTEST: u32 = 5;

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

/// The sign that these bits begin with, and how many bits it has. What pads a text is none (RFC 7541 §5.2).
fn first_sign(bits: u64) -> Option<(u8, u32)> {
    let (mut first, mut rank) = (0, 0);
    for (length, codes) in (SHORTEST..).zip(CODES) {
        let number = (bits >> (64 - length)).wrapping_sub(first);
        if number < u64::from(codes) {
            return Some((*SIGNS.get(rank + usize::try_from(number).ok()?)?, length));
        }
        (first, rank) = ((first + u64::from(codes)) << 1, rank + codes as usize);
    }
    None
}

/// Replaces the paths of a block of fields that the library does not take, and tells `found` the true ones. `None` where the
/// block is none, for which the library ends the connection (RFC 7541 §2.3.3, RFC 9113 §4.3).
pub(super) fn replace_paths(
    block: &mut [u8],
    table: &mut HpackTable,
    found: &mut impl FnMut(Arc<[u8]>),
) -> Option<()> {
    let mut at = 0;
    while let Some(first) = block.get(at).copied() {
        // How a field is written (RFC 7541 §6): all of it by its index, a literal that is kept or not, a new size of the table.
        let bits = match first {
            0x80.. => {
                let index = number(block, &mut at, 0x7f)?;
                table.path(index).into_iter().for_each(&mut *found);
                continue;
            }
            0x40.. => 0x3f,
            0x20.. => {
                table.resize(number(block, &mut at, 0x1f)?);
                continue;
            }
            _ => 0x0f,
        };
        let (is_kept, index) = (first & 0x40 != 0, number(block, &mut at, bits)?);
        let (is_path, name) = if index == 0 {
            let name = HpackText::next(block, &mut at)?;
            (name.is_path(block), if is_kept { name.decode(block, |_| ()) } else { 0 })
        } else {
            table.name(index)
        };
        let value = HpackText::next(block, &mut at)?;
        let path = if is_path { value.replace(block) } else { None };
        if is_kept {
            let length = path.as_ref().map_or_else(|| value.decode(block, |_| ()), |path| path.len());
            table.push(is_path, name, length, path.clone());
        }
        path.into_iter().for_each(&mut *found);
    }
    Some(())
}

/// A number whose first byte has it in these bits (RFC 7541 §5.1).
fn number(block: &[u8], at: &mut usize, bits: u8) -> Option<usize> {
    let mut next = || block.get(*at).copied().inspect(|_| *at += 1);
    let mut number = usize::from(next()? & bits);
    if number < usize::from(bits) {
        return Some(number);
    }
    let mut shift = 0;
    loop {
        let byte = next()?;
        number = number.saturating_add(usize::from(byte & 0x7f) << shift);
        if byte & 0x80 == 0 {
            return Some(number);
        }
        shift = (shift + 7).min(28);
    }
}

/// A text in a block (RFC 7541 §5.2).
struct HpackText {
    is_coded: bool,
    place: Range<usize>,
}

impl HpackText {
    fn next(block: &[u8], at: &mut usize) -> Option<Self> {
        let is_coded = block.get(*at)? & 0x80 != 0;
        let length = number(block, at, 0x7f)?;
        let place = *at..at.checked_add(length).filter(|end| *end <= block.len())?;
        *at = place.end;
        Some(Self { is_coded, place })
    }

    fn bytes<'a>(&self, block: &'a [u8]) -> &'a [u8] {
        block.get(self.place.clone()).unwrap_or_default()
    }

    fn is_path(&self, block: &[u8]) -> bool {
        let [plain, coded] = PATH;
        self.bytes(block) == if self.is_coded { coded } else { plain }
    }

    /// Puts a path that the library takes in the place of one that it does not take, which it returns.
    fn replace(&self, block: &mut [u8]) -> Option<Arc<[u8]>> {
        let mut path = Vec::with_capacity(2 * self.place.len());
        self.decode(block, |sign| path.push(sign));
        let stand_in =
            if is_taken(&path) { None } else { stand_in(path.len(), self.place.len(), self.is_coded) }?;
        block.get_mut(self.place.clone())?.copy_from_slice(&stand_in);
        Some(path.into())
    }

    /// Reads its signs, and how many there are.
    fn decode(&self, block: &[u8], mut each: impl FnMut(u8)) -> usize {
        let bytes = self.bytes(block);
        if !self.is_coded {
            bytes.iter().copied().for_each(each);
            return bytes.len();
        }
        // Bits that were read, the oldest first, and how many.
        let (mut bits, mut count, mut length) = (0_u64, 0, 0);
        let mut rest = bytes.iter();
        loop {
            while count <= 32
                && let Some(byte) = rest.next()
            {
                (bits, count) = (bits | u64::from(*byte) << (56 - count), count + 8);
            }
            let Some((sign, taken)) = first_sign(bits).filter(|(_, taken)| *taken <= count) else { break };
            (bits, count, length) = (bits << taken, count - taken, length + 1);
            each(sign);
        }
        length
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
