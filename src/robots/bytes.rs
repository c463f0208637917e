//! What kinds of bytes a value holds, found in one pass and remembered, so that the many values
//! without anything special need no second look.

/// A set of kinds of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ByteTraits(u8);

impl ByteTraits {
    /// A blank: it ends a pattern's hope to match anything.
    pub(super) const BLANK: u8 = 1;
    /// `#` or NUL: what follows does not count.
    pub(super) const CUT: u8 = 2;
    /// `%`: there may be encoded bytes.
    pub(super) const PERCENT: u8 = 4;
    /// `*`.
    pub(super) const STAR: u8 = 8;
    /// A byte beyond ASCII.
    pub(super) const BEYOND_ASCII: u8 = 16;
    /// A byte that never occurs in UTF-8 and needs two bytes in comparable form.
    pub(super) const WIDE: u8 = 32;

    /// Whether any of `kinds` is there.
    pub(super) const fn has(self, kinds: u8) -> bool {
        self.0 & kinds != 0
    }
}

const fn kind(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' | 0x0B | 0x0C => ByteTraits::BLANK,
        b'#' | 0 => ByteTraits::CUT,
        b'%' => ByteTraits::PERCENT,
        b'*' => ByteTraits::STAR,
        0x80..0xF8 => ByteTraits::BEYOND_ASCII,
        0xF8.. => ByteTraits::BEYOND_ASCII | ByteTraits::WIDE,
        _ => 0,
    }
}

const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    let mut rest: &mut [u8] = &mut kinds;
    while let Some((first, others)) = rest.split_first_mut() {
        *first = kind(byte);
        byte = byte.wrapping_add(1);
        rest = others;
    }
    kinds
};

/// Bytes looked at together.
const BLOCK: usize = 16;

/// The kinds of bytes in `value`.
pub(super) fn traits(value: &[u8]) -> ByteTraits {
    let Some(last) = value.last_chunk::<BLOCK>() else {
        let known = |byte: &u8| KINDS.get(usize::from(*byte)).copied().unwrap_or(0);
        return ByteTraits(value.iter().fold(0, |all, byte| all | known(byte)));
    };
    let blocks = value.chunks_exact(BLOCK).filter_map(|block| block.first_chunk());
    // The rest is looked at together with bytes before it, so that it makes a block too.
    ByteTraits(blocks.fold(block(last), |all, bytes| all | block(bytes)))
}

/// [`kind`] of all bytes of a block, without branches or look-ups, so that the compiler can compare
/// all of them at once.
fn block(bytes: &[u8; BLOCK]) -> u8 {
    bytes.iter().fold(0, |all, &byte| {
        let is = |kind: u8, yes: bool| if yes { kind } else { 0 };
        let blank = matches!(byte, b' ' | b'\t' | 0x0B | 0x0C);
        all | is(ByteTraits::BLANK, blank)
            | is(ByteTraits::CUT, matches!(byte, b'#' | 0))
            | is(ByteTraits::PERCENT, byte == b'%')
            | is(ByteTraits::STAR, byte == b'*')
            | is(ByteTraits::BEYOND_ASCII, byte >= 0x80)
            | is(ByteTraits::WIDE, byte >= 0xF8)
    })
}

pub(super) const fn is_blank(byte: u8) -> bool {
    kind(byte) == ByteTraits::BLANK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_no_different() {
        for byte in 0..=255_u8 {
            for place in [0, 7, 15, 16, 20, 36] {
                let mut value = [b'a'; 37];
                value[place] = byte;
                assert_eq!(traits(&value), traits(&[byte]), "{byte} {place}");
            }
        }
    }

    #[test]
    fn kinds_of_bytes() {
        assert_eq!(traits(b"/plain/path?x=1$"), ByteTraits::default());
        assert!(traits(b"a b").has(ByteTraits::BLANK));
        assert!(traits(b"a#").has(ByteTraits::CUT) && traits(b"a\0").has(ByteTraits::CUT));
        assert!(traits("\u{e9}".as_bytes()).has(ByteTraits::BEYOND_ASCII));
        assert!(!traits("\u{10ffff}".as_bytes()).has(ByteTraits::WIDE));
        assert!(traits(b"\xF8").has(ByteTraits::WIDE));
        assert!(traits(b"%*").has(ByteTraits::PERCENT) && traits(b"*").has(ByteTraits::STAR));
    }
}
