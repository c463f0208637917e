//! What kinds of octets a value holds, found in one pass and remembered, so that the many values
//! without anything special need no second look.

/// A set of kinds of octets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits(u8);

impl Traits {
    /// A blank: it ends a pattern's hope to match anything.
    pub(super) const BLANK: u8 = 1;
    /// `#` or NUL: what follows does not count.
    pub(super) const CUT: u8 = 2;
    /// `%`: there may be encoded octets.
    pub(super) const PERCENT: u8 = 4;
    /// `*`.
    pub(super) const STAR: u8 = 8;
    /// An octet beyond ASCII.
    pub(super) const BEYOND_ASCII: u8 = 16;
    /// An octet that never occurs in UTF-8 and needs two bytes in comparable form.
    pub(super) const WIDE: u8 = 32;

    /// Whether any of `kinds` is there.
    pub(super) const fn has(self, kinds: u8) -> bool {
        self.0 & kinds != 0
    }
}

const fn kind(octet: u8) -> u8 {
    match octet {
        b' ' | b'\t' | 0x0B | 0x0C => Traits::BLANK,
        b'#' | 0 => Traits::CUT,
        b'%' => Traits::PERCENT,
        b'*' => Traits::STAR,
        0x80..0xF8 => Traits::BEYOND_ASCII,
        0xF8.. => Traits::BEYOND_ASCII | Traits::WIDE,
        _ => 0,
    }
}

const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut octet = 0_u8;
    let mut rest: &mut [u8] = &mut kinds;
    while let Some((first, others)) = rest.split_first_mut() {
        *first = kind(octet);
        octet = octet.wrapping_add(1);
        rest = others;
    }
    kinds
};

/// Octets looked at together.
const BLOCK: usize = 16;

/// The kinds of octets in `value`.
pub(super) fn traits(value: &[u8]) -> Traits {
    let Some(last) = value.last_chunk::<BLOCK>() else {
        let known = |octet: &u8| KINDS.get(usize::from(*octet)).copied().unwrap_or(0);
        return Traits(value.iter().fold(0, |all, octet| all | known(octet)));
    };
    let blocks = value.chunks_exact(BLOCK).filter_map(|block| block.first_chunk());
    // The rest is looked at together with octets before it, so that it makes a block too.
    Traits(blocks.fold(block(last), |all, octets| all | block(octets)))
}

/// [`kind`] of all octets of a block, without branches or look-ups, so that the compiler can compare
/// all of them at once.
fn block(octets: &[u8; BLOCK]) -> u8 {
    octets.iter().fold(0, |all, &octet| {
        let is = |kind: u8, yes: bool| if yes { kind } else { 0 };
        let blank = matches!(octet, b' ' | b'\t' | 0x0B | 0x0C);
        all | is(Traits::BLANK, blank)
            | is(Traits::CUT, matches!(octet, b'#' | 0))
            | is(Traits::PERCENT, octet == b'%')
            | is(Traits::STAR, octet == b'*')
            | is(Traits::BEYOND_ASCII, octet >= 0x80)
            | is(Traits::WIDE, octet >= 0xF8)
    })
}

pub(super) const fn is_blank(octet: u8) -> bool {
    kind(octet) == Traits::BLANK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_no_different() {
        for octet in 0..=255_u8 {
            for place in [0, 7, 15, 16, 20, 36] {
                let mut value = [b'a'; 37];
                value[place] = octet;
                assert_eq!(traits(&value), traits(&[octet]), "{octet} {place}");
            }
        }
    }

    #[test]
    fn kinds_of_octets() {
        assert_eq!(traits(b"/plain/path?x=1$"), Traits::default());
        assert!(traits(b"a b").has(Traits::BLANK));
        assert!(traits(b"a#").has(Traits::CUT) && traits(b"a\0").has(Traits::CUT));
        assert!(traits("\u{e9}".as_bytes()).has(Traits::BEYOND_ASCII));
        assert!(!traits("\u{10ffff}".as_bytes()).has(Traits::WIDE));
        assert!(traits(b"\xF8").has(Traits::WIDE));
        assert!(traits(b"%*").has(Traits::PERCENT) && traits(b"*").has(Traits::STAR));
    }
}
