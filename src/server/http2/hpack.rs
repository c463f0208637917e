//! Blocks of fields of HTTP/2 (RFC 7541), read just enough to find a path, and to spell it where the library does not take it.
//!
//! The library takes letters beyond ASCII, so one of those stands for each sign that it does not take; [`true_path`] turns
//! them back. An entry of the library's table with such a path is longer than the client's own. So clients are told of half
//! of that table, and their changes of its size are left out: whatever a client's table still has, the library's has, too.

use std::borrow::Cow;

/// How large clients are told that their tables may be. The library's has what all of them may have at first (RFC 9113
/// §6.5.2), which is twice as much.
pub(super) const TABLE: u32 = 2_048;

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

/// `:path` as a name, as it is and in Huffman's code.
const PATH: [HpackText<'_>; 2] = [(false, b":path"), (true, &[0xb9, 0x58, 0xd3, 0x3f])];

/// A text (RFC 7541 §5.2), behind whether it is in Huffman's code.
type HpackText<'a> = (bool, &'a [u8]);

/// What every path begins with that is spelled. A client's own that begins so is spelled itself.
const SPELLED: &str = "/\u{200}";

/// Reads the blocks of one client in their order.
#[derive(Debug, Default)]
pub(super) struct BlockReader {
    /// Which of the entries that the client's table may have are named `:path`, the newest in the lowest bit. Each of them
    /// counts for 32 bytes and more (RFC 7541 §4.1).
    paths: u128,
}

impl BlockReader {
    /// A block as the library takes it. `None` where it is none, for which the library ends the connection (RFC 7541 §2.3.3,
    /// RFC 9113 §4.3).
    pub(super) fn read<'a>(&mut self, block: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let (mut out, mut written, mut at) = (Vec::new(), 0, 0);
        while let Some(first) = block.get(at).copied() {
            let begin = at;
            // How a field is written (RFC 7541 §6): by its index alone, as a literal that is kept or not; or a new size.
            let bits = match first {
                0x80.. => 0x7f,
                0x40.. => 0x3f,
                0x20.. => 0x1f,
                _ => 0x0f,
            };
            let index = number(block, &mut at, bits)?;
            match first {
                // Behind a field it may not stand (RFC 7541 §4.2), and the library says so.
                0x20..0x40 if begin == written && index <= 2 * TABLE as usize => written = at,
                0x20..0x40 | 0x80.. => {}
                _ => {
                    let name = if index == 0 { Some(text(block, &mut at)?) } else { None };
                    let is_path = name.map_or_else(|| self.names_path(index), |name| PATH.contains(&name));
                    let value_at = at;
                    let value = text(block, &mut at)?;
                    if first & 0x40 != 0 {
                        self.paths = self.paths << 1 | u128::from(is_path);
                    }
                    if let Some(path) = Some(value).filter(|_| is_path).and_then(spelled) {
                        out.extend_from_slice(block.get(written..value_at)?);
                        put_text(&mut out, path.as_bytes());
                        written = at;
                    }
                }
            }
        }
        if written == 0 {
            return Some(Cow::Borrowed(block));
        }
        out.extend_from_slice(block.get(written..)?);
        Some(Cow::Owned(out))
    }

    /// Whether the entry at `index` is named `:path`. The static table has it at two places (RFC 7541 appendix A).
    fn names_path(&self, index: usize) -> bool {
        let own = index.checked_sub(62).and_then(|place| self.paths.checked_shr(u32::try_from(place).ok()?));
        matches!(index, 4 | 5) || own.is_some_and(|paths| paths & 1 == 1)
    }
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

fn text<'a>(block: &'a [u8], at: &mut usize) -> Option<HpackText<'a>> {
    let is_coded = block.get(*at)? & 0x80 != 0;
    let length = number(block, at, 0x7f)?;
    let text = block.get(*at..at.checked_add(length)?)?;
    *at += length;
    Some((is_coded, text))
}

/// Writes a text as it is.
pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    let mut length = text.len();
    if length >= 0x7f {
        out.push(0x7f);
        length -= 0x7f;
        while length >= 0x80 {
            out.push(low(length) | 0x80);
            length >>= 7;
        }
    }
    out.push(low(length));
    out.extend_from_slice(text);
}

const fn low(number: usize) -> u8 {
    let [low, ..] = number.to_le_bytes();
    low
}

/// A path in signs that the library takes, where it does not take all of it as it is. It takes some more.
fn spelled((is_coded, text): HpackText<'_>) -> Option<String> {
    let path = if is_coded { Cow::Owned(decoded(text)?) } else { Cow::Borrowed(text) };
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'#' | b'<' | b'>' | b'`');
    if matches!(&*path, [] | [b'/', ..] | b"*") && path.iter().all(|byte| is_plain(*byte)) {
        return None;
    }
    // The lowest byte of a letter is the byte that it stands for.
    let sign = |byte: &u8| char::from_u32(u32::from(*byte) | if is_plain(*byte) { 0 } else { 0x100 });
    Some(SPELLED.chars().chain(path.iter().filter_map(sign)).collect())
}

/// The path that a client has sent, of which the library says that it is `path`.
pub(super) fn true_path(path: &str) -> Cow<'_, [u8]> {
    match path.strip_prefix(SPELLED) {
        Some(spelled) => spelled.chars().map(|sign| low(sign as usize)).collect(),
        None => Cow::Borrowed(path.as_bytes()),
    }
}

/// What a text in Huffman's code says; `None` where it is none.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let mut signs = Vec::with_capacity(2 * text.len());
    // Bits that were read, the oldest first, and how many.
    let (mut bits, mut count, mut rest) = (0_u64, 0, text.iter());
    loop {
        while count <= 32
            && let Some(byte) = rest.next()
        {
            (bits, count) = (bits | u64::from(*byte) << (56 - count), count + 8);
        }
        let Some((sign, taken)) = first_sign(bits).filter(|(_, taken)| *taken <= count) else { break };
        (bits, count) = (bits << taken, count - taken);
        signs.push(sign);
    }
    // What is left of the last byte is padding, of ones.
    (count < 8 && bits | u64::MAX >> count == u64::MAX).then_some(signs)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spelled_path_is_taken_and_stands_for_the_one_that_was_sent() {
        for byte in 0..=u8::MAX {
            for path in [vec![b'/', byte, b'x'], vec![byte], vec![byte, b'/', b'y'], vec![b'/', b'?', byte]] {
                let Some(text) = spelled((false, &path)) else {
                    assert_eq!(*true_path(str::from_utf8(&path).unwrap()), *path);
                    continue;
                };
                let taken = http::uri::PathAndQuery::try_from(&*text).unwrap();
                assert_eq!(taken.as_str(), text, "{path:x?}");
                assert_eq!(*true_path(&text), *path, "{text}");
                // No path that a client writes itself passes for a spelled one.
                assert_ne!(spelled((false, text.as_bytes())), None);
            }
        }
        assert_eq!(*true_path("/caf\u{e9}"), *"/caf\u{e9}".as_bytes(), "of a block that was not read");
    }

    #[test]
    fn a_text_in_code_is_read_to_its_end_or_not_at_all() {
        // `/p#f`; then with padding of zeros, of too many bits, and what ends all texts in it.
        assert_eq!(decoded(&[0x62, 0xbf, 0xfa, 0x97]).as_deref(), Some(&b"/p#f"[..]));
        for wrong in [&[0x62, 0xbf, 0xfa, 0x90][..], &[0x62, 0xbf, 0xfa, 0x97, 0xff], &[0xff; 5]] {
            assert_eq!(decoded(wrong), None, "{wrong:x?}");
        }
        assert_eq!(decoded(&[]).as_deref(), Some(&b""[..]));
    }

    #[test]
    fn long_texts_are_written_with_their_lengths() {
        for length in [0, 1, 126, 127, 128, 254, 255, 16_510, 16_511, 70_000] {
            let (text, mut out, mut at) = (vec![b'/'; length], vec![0], 1);
            put_text(&mut out, &text);
            assert_eq!(super::text(&out, &mut at), Some((false, &*text)));
            assert_eq!(at, out.len());
        }
    }
}
