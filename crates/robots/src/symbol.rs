//! The comparable form of paths: what RFC 9309 section 2.2.2 calls percent-encoded or decoded
//! "prior to comparison".
//!
//! A path is a row of *symbols*. A symbol is one byte after decoding `%XX` once, and a mark when
//! a delimiter (`/ ? & =`) was encoded: figure 4 of section 2.2.2 keeps an encoded delimiter apart
//! from a raw one. For every other byte the encoding makes no difference. In the query, that is
//! after the first raw `?`, `/` and `?` are plain data, and the mark is dropped for them too.
//!
//! Symbols are written as bytes, so that ordinary byte search works on them. Bytes up to `F7`
//! stand for themselves. The others never occur in UTF-8, and together with the four marked
//! delimiters they become two bytes: a lead byte (`FE`, `FF`) that starts no other symbol, and a
//! trail byte (`F8`…`FD`) that starts none at all. A search can therefore never match half a symbol.

/// First byte that needs two bytes.
pub(super) const WIDE: u8 = 0xF8;

/// The values of hexadecimal digits; 16 for any other byte, so that two are asked about at once. A table takes a third of
/// the time of comparing.
#[expect(clippy::indexing_slicing, reason = "each byte has a place, and a constant cannot panic")]
const DIGITS: [u8; 256] = {
    let mut digits = [16; 256];
    let (mut rest, mut value): (&[u8], u8) = (b"0123456789abcdefABCDEF", 0);
    while let [digit, more @ ..] = rest {
        digits[*digit as usize] = if value < 16 { value } else { value - 6 };
        (rest, value) = (more, value + 1);
    }
    digits
};

/// The byte that two hexadecimal digits stand for, as escapes write it (RFC 3986 section 2.1).
#[inline]
pub fn hex_byte(high: u8, low: u8) -> Option<u8> {
    let [high, low] = [high, low].map(|digit| DIGITS.get(usize::from(digit)).copied().unwrap_or(16));
    ((high | low) < 16).then_some(high << 4 | low)
}

/// One byte of a path as written, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathByte {
    pub(super) value: u8,
    pub(super) encoded: bool,
}

impl PathByte {
    /// The byte that `raw` starts with, and what follows it. A `%` without two hexadecimal digits
    /// stands for itself.
    pub(super) fn split(raw: &[u8]) -> Option<(Self, &[u8])> {
        if let [b'%', high, low, rest @ ..] = raw
            && let Some(value) = hex_byte(*high, *low)
        {
            return Some((Self { value, encoded: true }, rest));
        }
        let (value, rest) = raw.split_first()?;
        Some((Self { value: *value, encoded: false }, rest))
    }

    /// RFC 3986 section 2.3.
    pub(super) const fn is_unreserved(self) -> bool {
        self.value.is_ascii_alphanumeric() || matches!(self.value, b'-' | b'.' | b'_' | b'~')
    }

    /// The bytes of the symbol; the second is meaningful when the flag says so.
    pub(super) const fn symbol(self, query: bool) -> ([u8; 2], bool) {
        match self.value {
            b'/' | b'?' if query => ([self.value, 0], false),
            b'/' if self.encoded => ([0xFE, 0xF8], true),
            b'?' if self.encoded => ([0xFE, 0xF9], true),
            b'&' if self.encoded => ([0xFE, 0xFA], true),
            b'=' if self.encoded => ([0xFE, 0xFB], true),
            0xF8 => ([0xFE, 0xFC], true),
            0xF9 => ([0xFE, 0xFD], true),
            0xFA..=0xFF => ([0xFF, self.value - 2], true),
            value => ([value, 0], false),
        }
    }
}

/// Whether `raw` already is its own comparable form.
pub(super) fn is_plain(raw: &[u8]) -> bool {
    let mut blocks = raw.chunks_exact(16);
    if !blocks.all(|block| block.try_into().is_ok_and(|block: &[u8; 16]| is_plain_block(block))) {
        return false;
    }
    // The rest is looked at together with bytes before it, so that it makes a block too.
    match (raw.last_chunk::<16>(), raw.first_chunk::<8>(), raw.last_chunk::<8>()) {
        (Some(last), ..) => is_plain_block(last),
        (None, Some(first), Some(last)) => is_plain_block(first) && is_plain_block(last),
        _ => raw.iter().all(|&byte| byte != b'%' && byte < WIDE),
    }
}

/// Without branches, so that all bytes are compared at once.
fn is_plain_block<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(0, |odd, &byte| odd | u8::from(byte == b'%') | u8::from(byte >= WIDE)) == 0
}

/// Calls `work` with the comparable form of `target`. Allocates only for a target of more than 8 KiB that has encoded bytes.
pub(super) fn with_symbols<R>(target: &[u8], work: impl FnOnce(&[u8]) -> R) -> R {
    if is_plain(target) {
        return work(target);
    }
    // A raw byte may become two bytes.
    match target.len().saturating_mul(2) {
        0..=512 => work(fill(&mut [0; 512], target)),
        513..=2048 => work(fill(&mut [0; 2048], target)),
        2049..=16_384 => work(fill(&mut [0; 16_384], target)),
        size => work(fill(&mut vec![0; size], target)),
    }
}

/// A target of 8 KiB is written several times where it may be read in several ways. In runs that takes a fifth of the
/// instructions that it takes byte by byte. `buffer` has room for two bytes in place of each.
fn fill<'b>(buffer: &'b mut [u8], target: &[u8]) -> &'b [u8] {
    let (mut rest, mut query, mut length) = (target, false, 0);
    while !rest.is_empty() {
        let (run, tail) = rest.split_at_checked(plain_run(rest)).unwrap_or((b"", rest));
        let Some(slots) = buffer.get_mut(length..length + run.len()) else { break };
        slots.copy_from_slice(run);
        query = query || memchr::memchr(b'?', run).is_some();
        (length, rest) = (length + run.len(), tail);
        // As many as a block has stand before the next one is looked for.
        for _ in 0..RUN {
            let Some((first, tail)) = rest.split_first() else { break };
            // A byte that stands for itself takes half of the time so.
            if *first != b'%' && *first < WIDE {
                let Some(slot) = buffer.get_mut(length) else { break };
                (*slot, rest) = (*first, tail);
                query |= *first == b'?';
                length += 1;
                continue;
            }
            let Some((byte, tail)) = PathByte::split(rest) else { break };
            let (bytes, wide) = byte.symbol(query);
            let bytes = if wide { &bytes[..] } else { bytes.split_at(1).0 };
            let Some(slots) = buffer.get_mut(length..length + bytes.len()) else { break };
            slots.copy_from_slice(bytes);
            (length, rest) = (length + bytes.len(), tail);
        }
    }
    buffer.get(..length).unwrap_or_default()
}

/// How many blocks of bytes that stand for themselves `raw` begins with, in bytes.
fn plain_run(raw: &[u8]) -> usize {
    let (blocks, _) = raw.as_chunks::<RUN>();
    RUN * blocks.iter().take_while(|block| is_plain_block(block)).count()
}

/// Bytes of a block.
const RUN: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn form(target: &[u8]) -> Vec<u8> {
        with_symbols(target, <[u8]>::to_vec)
    }

    #[test]
    fn encoding_makes_no_difference_but_for_delimiters() {
        for byte in 0..=255_u8 {
            let raw = [b'/', byte];
            let encoded = format!("/%{byte:02x}").into_bytes();
            let same = form(&raw) == form(&encoded);
            assert_eq!(same, !b"/?&=".contains(&byte), "{byte:02x}");
        }
    }

    #[test]
    fn slash_and_question_mark_are_data_in_the_query() {
        assert_eq!(form(b"/a?u=/b?c"), form(b"/a?u=%2fb%3Fc"));
        assert_ne!(form(b"/a?u=b&c"), form(b"/a?u=b%26c"));
        assert_ne!(form(b"/a?u=b"), form(b"/a?u%3Db"));
        assert_ne!(form(b"/a?b"), form(b"/a%3Fb"));
    }

    #[test]
    fn every_pair_of_bytes_is_a_byte_or_none() {
        for (high, low) in (0..=255_u8).flat_map(|high| (0..=255).map(move |low| (high, low))) {
            let pair = [high, low];
            let digits = std::str::from_utf8(&pair).ok().filter(|digits| !digits.contains('+'));
            let expected = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            assert_eq!(hex_byte(high, low), expected, "{high:#x} {low:#x}");
        }
    }

    #[test]
    fn decodes_once_and_leaves_a_stray_percent_sign() {
        assert_ne!(form(b"/%2561"), form(b"/a"));
        assert_eq!(form(b"/100%"), form(b"/100%25"));
        assert_eq!(form(b"/%zz%4"), b"/%zz%4");
    }

    #[test]
    fn every_pair_of_symbols_is_told_apart() {
        let mut all: Vec<Vec<u8>> = (0..=255_u8).map(|b| form(&[b])).collect();
        all.extend(["%2F", "%3F", "%26", "%3D"].map(|e| form(e.as_bytes())));
        for (i, a) in all.iter().enumerate() {
            for (j, b) in all.iter().enumerate() {
                assert!(i == j || !a.starts_with(b), "{i} {j}");
                assert!(i == j || !a.ends_with(b), "{i} {j}");
            }
        }
    }

    #[test]
    fn runs_are_what_their_bytes_are() {
        let pieces: [&[u8]; 8] = [
            b"abcdefghijklmnopqrstuvwxyz/",
            b"%20",
            b"?",
            b"\xFF",
            b"%",
            b"%2f",
            b"&=0123456789",
            b"/a?b/%3f",
        ];
        for number in 0..pieces.len().pow(4) {
            let piece = |at: u32| pieces[number / pieces.len().pow(at) % pieces.len()];
            let target = [piece(0), piece(1), piece(2), piece(3)].concat();
            let (mut expected, mut rest, mut query) = (Vec::new(), &*target, false);
            while let Some((byte, tail)) = PathByte::split(rest) {
                let (bytes, wide) = byte.symbol(query);
                expected.extend_from_slice(if wide { &bytes } else { bytes.split_at(1).0 });
                query |= byte == PathByte { value: b'?', encoded: false };
                rest = tail;
            }
            assert_eq!(form(&target), expected, "{}", target.escape_ascii());
        }
    }

    #[test]
    fn buffers_of_each_size_hold_the_whole() {
        let piece = b"%e3\xFF/%41?";
        for size in [1, 100, 255, 256, 257, 1024, 8192, 20_000] {
            let whole = form(&piece.repeat(size));
            assert_eq!(whole.len(), size * form(piece).len());
        }
    }
}
