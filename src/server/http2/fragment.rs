//! `#` in a `:path`. It has no place there (RFC 3986 §3.3), and the HTTP/2 library would cut off the rest without a word.
//!
//! Field sections are read along as they pass by, just enough to find one (RFC 9113 §4.3, RFC 7541). It is made a `>`,
//! which is as long in Huffman's code and no more allowed: whoever reads the path then refuses it. Tables stay as they
//! are, so what a client repeats from its table is refused as well. Names that a client has put into its own table are not
//! followed: a path under such a name loses its fragment before it is judged.

use super::frames::{CONTINUATION, HEAD, HEADERS, PREFACE};

/// Flags of `HEADERS` (RFC 9113 §6.2).
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// How many codes there are of each length in Huffman's code, whose codes of one length follow each other (RFC 7541
/// appendix B). The first one of [`LONG`] bits is `#`, the second one `>`.
const CODES: [u32; 31] =
    [0, 0, 0, 0, 0, 10, 26, 32, 6, 0, 5, 3, 2, 6, 2, 3, 0, 0, 0, 3, 8, 13, 26, 29, 12, 4, 15, 19, 29, 0, 4];
const LONG: usize = 12;

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
    fields: Fields,
}

impl FragmentGuard {
    pub(super) fn new() -> Self {
        Self {
            skip: PREFACE,
            block: 0,
            padding: 0,
            head: Vec::with_capacity(HEAD + 1),
            fields: Fields::default(),
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
                self.fields.read(first);
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
            self.fields = Fields::default();
        }
        self.head.clear();
    }
}

/// What comes next in a block of fields.
#[derive(Clone, Copy, Debug, Default)]
enum Next {
    #[default]
    Field,
    /// The rest of an index, and behind it a field or a value.
    Index {
        is_literal: bool,
    },
    /// How long a text is: its first byte, and others.
    Length {
        is_name: bool,
    },
    Longer {
        is_name: bool,
        shift: u32,
    },
    Name,
    Value,
}

/// Reads a block of fields (RFC 7541 §6).
#[derive(Debug, Default)]
struct Fields {
    next: Next,
    is_path: bool,
    is_coded: bool,
    /// Bytes of a text that were read, and that are to come.
    taken: usize,
    left: usize,
    /// A code as far as it was read, the first one of its length, and that length.
    code: u32,
    first: u32,
    bits: usize,
}

impl Fields {
    fn read(&mut self, byte: &mut u8) {
        match self.next {
            Next::Field => self.begin(*byte),
            Next::Index { .. } if *byte & 0x80 != 0 => {}
            Next::Index { is_literal: true } => self.next = Next::Length { is_name: false },
            Next::Index { is_literal: false } => self.next = Next::Field,
            Next::Length { is_name } => {
                (self.is_coded, self.taken, self.left) = (*byte & 0x80 != 0, 0, usize::from(*byte & 0x7f));
                self.next = Next::Longer { is_name, shift: 0 };
                if self.left < 0x7f {
                    self.text(is_name);
                }
            }
            Next::Longer { is_name, shift } => {
                self.left = self.left.saturating_add(usize::from(*byte & 0x7f) << shift);
                self.next = Next::Longer { is_name, shift: (shift + 7).min(28) };
                if *byte & 0x80 == 0 {
                    self.text(is_name);
                }
            }
            Next::Name => {
                let [plain, coded] = PATH;
                let path = if self.is_coded { coded } else { plain };
                let is_last = self.left == 1;
                self.is_path &=
                    path.get(self.taken) == Some(byte) && (self.taken + 1 == path.len()) == is_last;
                self.pass(Next::Length { is_name: false });
            }
            Next::Value => {
                if self.is_path {
                    self.guard(byte);
                }
                self.pass(Next::Field);
            }
        }
    }

    /// The first byte of a field: an index, or a literal whose name is one or follows.
    fn begin(&mut self, byte: u8) {
        let (is_literal, most) = match byte {
            0x80.. => (false, 0x7f),
            0x40.. => (true, 0x3f),
            0x20.. => (false, 0x1f),
            _ => (true, 0x0f),
        };
        let index = byte & most;
        self.is_path = is_literal && matches!(index, 0 | 4 | 5);
        self.next = match index {
            _ if index == most => Next::Index { is_literal },
            _ if !is_literal => Next::Field,
            index => Next::Length { is_name: index == 0 },
        };
    }

    /// A text begins whose length is known.
    fn text(&mut self, is_name: bool) {
        (self.code, self.first, self.bits) = (0, 0, 0);
        self.next = match (is_name, self.left) {
            (true, 0) => Next::Length { is_name: false },
            (false, 0) => Next::Field,
            (true, _) => Next::Name,
            (false, _) => Next::Value,
        };
        self.is_path &= !(is_name && self.left == 0);
    }

    /// A byte of a text was read; `next` comes behind the last one.
    fn pass(&mut self, next: Next) {
        (self.taken, self.left) = (self.taken + 1, self.left - 1);
        if self.left == 0 {
            self.next = next;
        }
    }

    fn guard(&mut self, byte: &mut u8) {
        if !self.is_coded {
            if *byte == b'#' {
                *byte = b'>';
            }
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
            if self.bits == LONG && self.code == self.first {
                *byte |= 1 << place;
            }
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
}
