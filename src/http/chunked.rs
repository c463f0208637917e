//! The chunked transfer coding (RFC 9112 §7.1).

use super::HttpFault;
use super::head::{Field, trimmed};
use crate::http::claims;
use std::borrow::Cow;

/// Digits of a chunk's size. Fifteen are below any number that a recipient could overflow on.
const SIZE_DIGITS: usize = 15;
/// Bytes of a line that has a size, its extensions among them (RFC 9112 §7.1.1 asks recipients to bound them).
const SIZE_LINE: usize = 256;
/// Bytes of all trailer lines.
const TRAILERS: usize = 8 * 1024;
/// Fields that decide about framing, routing or access come too late in a trailer (RFC 9110 §6.5.1).
const NEVER_TRAILERS: [&str; 12] = [
    "content-length",
    "transfer-encoding",
    "host",
    "trailer",
    "te",
    "connection",
    "content-encoding",
    "content-type",
    "content-range",
    "authorization",
    "cookie",
    "user-agent",
];

/// What comes next of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ChunkPart {
    /// The line with a size.
    #[default]
    Size,
    /// So many bytes of data.
    Data(u64),
    /// The end of the line that the data is on.
    DataEnd,
    /// A trailer line, or the empty line that ends the body.
    Trailer,
    Nothing,
}

/// Reads one chunked body.
#[derive(Clone, Debug, Default)]
pub struct ChunkedReader {
    next: ChunkPart,
    /// A line that is not whole yet.
    line: Vec<u8>,
    trailers: usize,
    /// Whether blanks may stand behind a size.
    allows_padding: bool,
}

impl ChunkedReader {
    /// A reader of an answer's body. Some origins fill a field of a fixed width with blanks behind each size.
    pub(super) fn of_answer() -> Self {
        Self { allows_padding: true, ..Self::default() }
    }

    /// Whether the body is over.
    pub fn is_done(&self) -> bool {
        self.next == ChunkPart::Nothing
    }

    /// Reads on, and says how many of `bytes` belong to the body: all, unless it ends among them. `piece` is given each
    /// piece of data, and of what frames it: of the latter nothing that may be missing, and as it is where it has no more.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(&mut self, bytes: &[u8], mut piece: impl FnMut(&[u8], bool)) -> Result<usize, HttpFault> {
        let mut rest = bytes;
        while !rest.is_empty() && !self.is_done() {
            if let ChunkPart::Data(left) = &mut self.next {
                let (data, behind) =
                    rest.split_at(usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len()));
                *left -= data.len() as u64;
                if *left == 0 {
                    self.next = ChunkPart::DataEnd;
                }
                piece(data, true);
                rest = behind;
                continue;
            }
            let (part, behind) = rest.split_at(memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1));
            rest = behind;
            let before = std::mem::take(&mut self.line);
            // Nearly always a line is here as a whole.
            let line =
                if before.is_empty() { Cow::Borrowed(part) } else { Cow::Owned([&before, part].concat()) };
            self.check_beginning(&line, part.len())?;
            if !line.ends_with(b"\n") {
                self.line = line.into_owned();
                continue;
            }
            let next = self.behind(&line)?;
            let before = std::mem::replace(&mut self.next, next);
            let plain = match (before, next) {
                (ChunkPart::Size, ChunkPart::Data(size)) => format!("{size:x}\r\n").into_bytes(),
                (ChunkPart::Size, _) => b"0\r\n".to_vec(),
                (ChunkPart::Trailer, ChunkPart::Trailer) => continue,
                _ => b"\r\n".to_vec(),
            };
            piece(if plain.eq_ignore_ascii_case(&line) { &line } else { &plain }, false);
        }
        Ok(bytes.len() - rest.len())
    }

    /// Looks for a fault in as much of a line as has come, with so many bytes that are `new`: its sender may wait for an
    /// answer before it sends the rest.
    fn check_beginning(&mut self, line: &[u8], new: usize) -> Result<(), HttpFault> {
        let is_fine = match self.next {
            ChunkPart::Size => {
                let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                (1..=SIZE_DIGITS).contains(&digits) && line.len() <= SIZE_LINE
            }
            ChunkPart::DataEnd => b"\r\n".starts_with(line),
            _ => {
                self.trailers += new;
                self.trailers <= TRAILERS
            }
        };
        if is_fine { Ok(()) } else { Err(self.fault()) }
    }

    /// What comes behind a whole line.
    fn behind(&self, line: &[u8]) -> Result<ChunkPart, HttpFault> {
        let line = line.strip_suffix(b"\r\n").ok_or_else(|| self.fault())?;
        Ok(match self.next {
            ChunkPart::Size => match self.size(line).ok_or(HttpFault::Chunk)? {
                0 => ChunkPart::Trailer,
                size => ChunkPart::Data(size),
            },
            ChunkPart::Trailer if line.is_empty() => ChunkPart::Nothing,
            ChunkPart::Trailer => {
                let field = Field::read(line).map_err(|_| HttpFault::Trailer)?;
                let is_never = NEVER_TRAILERS.iter().any(|name| field.is(name));
                if is_never || claims::is_disguised_framing(field.name) {
                    return Err(HttpFault::Trailer);
                }
                ChunkPart::Trailer
            }
            _ => ChunkPart::Size,
        })
    }

    /// The size that a line names. What its extensions mean is nobody's business here, as long as their end is where
    /// everyone sees it.
    fn size(&self, line: &[u8]) -> Option<u64> {
        let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
        let (digits, extensions) = line.split_at(end);
        // No digit follows blanks: whoever skips them would read another size.
        let extensions = if self.allows_padding { trimmed(extensions) } else { extensions };
        let is_fine = extensions.is_empty() || are_extensions(extensions);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_fine)?;
        u64::from_str_radix(digits, 16).ok()
    }

    fn fault(&self) -> HttpFault {
        if self.next == ChunkPart::Trailer { HttpFault::Trailer } else { HttpFault::Chunk }
    }
}

/// Whether these are extensions of a chunk, with every quote closed (RFC 9112 §7.1.1).
fn are_extensions(bytes: &[u8]) -> bool {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let are_plain = bytes.iter().all(|byte| {
        let escapes = is_quoted && !is_escaped && *byte == b'\\';
        is_quoted ^= *byte == b'"' && !is_escaped;
        is_escaped = escapes;
        !byte.is_ascii_control() || *byte == b'\t'
    });
    bytes.starts_with(b";") && are_plain && !is_quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Result<(usize, bool), HttpFault> {
        let mut chunks = ChunkedReader::default();
        chunks.read(bytes, |_, _| {}).map(|read| (read, chunks.is_done()))
    }

    #[test]
    fn ends_behind_the_last_chunk_and_its_trailers() {
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "A;x=y;z=\"a;\\\"b\"\r\n0123456789\r\n000\r\n\r\n",
            "1\r\na\r\n0\r\nX-Sum: 1\r\nY: z\r\n\r\n",
        ] {
            let followed = format!("{body}GET / HTTP/1.1");
            assert_eq!(whole(followed.as_bytes()), Ok((body.len(), true)), "{body:?}");
            let mut chunks = ChunkedReader::default();
            for byte in body.bytes() {
                assert!(!chunks.is_done(), "{body:?}");
                assert_eq!(chunks.read(&[byte], |_, _| {}), Ok(1), "{body:?}");
            }
            assert!(chunks.is_done(), "{body:?}");
        }
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_a_fault() {
        for body in [
            "\r\n",
            "x\r\n",
            "-1\r\n",
            "+1\r\na\r\n",
            "0x1\r\na\r\n",
            " 1\r\na\r\n",
            "1 \r\na\r\n",
            "1\na\r\n",
            "1\r\na\n",
            "1\r\nab\r\n",
            "1;a\nb\r\n",
            "1;\"a\r\n",
            "1\ra\r\n",
            "1;\0\r\n",
            "1,0\r\n",
            "1000000000000000\r\n",
            "g\r\n",
            "1\r\na0\r\n\r\n",
        ] {
            assert_eq!(whole(body.as_bytes()), Err(HttpFault::Chunk), "{body:?}");
        }
        let long = |length| whole(format!("1;{}\r\na", "x".repeat(length)).as_bytes());
        assert_eq!((long(252), long(253)), (Ok((257, false)), Err(HttpFault::Chunk)));
    }

    #[test]
    fn a_fault_is_known_before_its_line_is_whole() {
        for body in ["x", "1\r\nab", "1\r\na\n"] {
            assert_eq!(whole(body.as_bytes()), Err(HttpFault::Chunk), "{body:?}");
        }
        assert_eq!(whole(&[b'1'; SIZE_DIGITS]), Ok((SIZE_DIGITS, false)));
        assert_eq!(whole(&[b'1'; SIZE_DIGITS + 1]), Err(HttpFault::Chunk));
    }

    #[test]
    fn sizes_of_an_answer_may_be_padded_behind_and_no_digit_follows() {
        let answer = |body: &str| ChunkedReader::of_answer().read(body.as_bytes(), |_, _| {});
        let padded = "1  \t\r\na\r\n1 ;x\r\na\r\n0 \r\n\r\n";
        assert_eq!(answer(padded), Ok(padded.len()));
        let long = format!("1{}\r\na", " ".repeat(300));
        for bad in ["1 0\r\na\r\n", "1 x\r\na\r\n", "1 \na\r\n", " 1\r\na\r\n", &long] {
            assert_eq!(answer(bad), Err(HttpFault::Chunk), "{bad:?}");
        }
    }

    #[test]
    fn framing_is_given_without_what_may_be_missing() {
        let body = b"00A;x=y\r\n0123456789\r\n1\r\na\r\nB \r\n0123456789a\r\n000\r\nX: y\r\n\r\nGET";
        for size in 1..body.len() {
            let (mut chunks, mut given) = (ChunkedReader::of_answer(), Vec::new());
            for part in body.chunks(size) {
                chunks.read(part, |piece, _| given.extend_from_slice(piece)).unwrap();
            }
            let given = String::from_utf8(given).unwrap();
            assert_eq!(given, "a\r\n0123456789\r\n1\r\na\r\nb\r\n0123456789a\r\n0\r\n\r\n", "{size}");
        }
    }

    #[test]
    fn trailers_are_fields_and_none_that_decides_anything() {
        for trailer in ["X\r\n", " X: y\r\n", "X : y\r\n", "X: y\n", "Content-Length: 5\r\n", "host: a\r\n"] {
            assert_eq!(
                whole(format!("0\r\n{trailer}\r\n").as_bytes()),
                Err(HttpFault::Trailer),
                "{trailer:?}"
            );
        }
        assert_eq!(whole(format!("0\r\nX: {}\r\n", "y".repeat(9_000)).as_bytes()), Err(HttpFault::Trailer));
    }
}
