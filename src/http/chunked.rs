//! The chunked transfer coding (RFC 9112 §7.1).

use super::HttpFault;
use super::head::Field;
use crate::http::claims;

/// Digits of a chunk's size. Fifteen are below any number that a recipient could overflow on.
const SIZE_DIGITS: usize = 15;

/// Bytes of extensions in one chunk (RFC 9112 §7.1.1 asks recipients to bound them).
const EXTENSION: usize = 256;

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

#[derive(Clone, Debug)]
enum ChunkState {
    /// In the digits of a size.
    Size {
        digits: usize,
        size: u64,
    },
    /// In blanks behind a size.
    Padding {
        length: usize,
        size: u64,
    },
    /// In an extension, in quotes or not.
    Extension {
        length: usize,
        quoted: bool,
        escaped: bool,
        size: u64,
    },
    /// Behind the CR of a size line.
    SizeEnd {
        size: u64,
    },
    /// In the data.
    Data {
        left: u64,
    },
    /// Behind the data: CR is due, then LF.
    DataCr,
    DataLf,
    /// In a trailer line, or the empty line that ends the body.
    Trailer,
    Done,
}

/// Reads one chunked body.
#[derive(Clone, Debug)]
pub struct ChunkedReader {
    state: ChunkState,
    /// The trailer line that is not whole yet.
    line: Vec<u8>,
    trailers: usize,
    /// Whether blanks may stand behind a size.
    allows_padding: bool,
}

impl Default for ChunkedReader {
    fn default() -> Self {
        Self {
            state: ChunkState::Size { digits: 0, size: 0 },
            line: Vec::new(),
            trailers: 0,
            allows_padding: false,
        }
    }
}

impl ChunkedReader {
    /// A reader of an answer's body. Some origins fill a field of a fixed width with blanks behind each size.
    pub(super) fn of_answer() -> Self {
        Self { allows_padding: true, ..Self::default() }
    }

    /// Whether the body is over.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, ChunkState::Done)
    }

    /// Reads on, gives each piece of data to `data`, and says how many of `bytes` belong to the body: all, unless it
    /// ends among them.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, HttpFault> {
        let mut rest = bytes;
        while let [byte, tail @ ..] = rest {
            match &mut self.state {
                ChunkState::Done => break,
                ChunkState::Data { left } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= here as u64;
                    if *left == 0 {
                        self.state = ChunkState::DataCr;
                    }
                    let (piece, behind) = rest.split_at_checked(here).unwrap_or((rest, &[]));
                    data(piece);
                    rest = behind;
                    continue;
                }
                ChunkState::Trailer => self.trailer(*byte)?,
                _ => self.framing(*byte)?,
            }
            rest = tail;
        }
        Ok(bytes.len() - rest.len())
    }

    /// A byte around the data.
    fn framing(&mut self, byte: u8) -> Result<(), HttpFault> {
        self.state = match (&self.state, byte) {
            (ChunkState::Size { digits, size }, _) if byte.is_ascii_hexdigit() && *digits < SIZE_DIGITS => {
                let digit = char::from(byte).to_digit(16).unwrap_or_default();
                ChunkState::Size { digits: digits + 1, size: size << 4 | u64::from(digit) }
            }
            (ChunkState::Size { digits: 1.., size } | ChunkState::Padding { size, .. }, b'\r') => {
                ChunkState::SizeEnd { size: *size }
            }
            (ChunkState::Size { digits: 1.., size }, b' ' | b'\t') if self.allows_padding => {
                ChunkState::Padding { length: 1, size: *size }
            }
            // No digit follows: whoever skips blanks would read another size.
            (ChunkState::Padding { length, size }, b' ' | b'\t') if *length < EXTENSION => {
                ChunkState::Padding { length: length + 1, size: *size }
            }
            (ChunkState::Size { digits: 1.., size } | ChunkState::Padding { size, .. }, b';') => {
                ChunkState::Extension { length: 0, quoted: false, escaped: false, size: *size }
            }
            (ChunkState::Extension { .. }, _) => self.extension(byte)?,
            (ChunkState::SizeEnd { size: 0 }, b'\n') => ChunkState::Trailer,
            (ChunkState::SizeEnd { size }, b'\n') => ChunkState::Data { left: *size },
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Size { digits: 0, size: 0 },
            _ => return Err(HttpFault::Chunk),
        };
        Ok(())
    }

    /// A byte of an extension. What extensions mean is nobody's business here, as long as their end is
    /// where everyone sees it.
    fn extension(&self, byte: u8) -> Result<ChunkState, HttpFault> {
        let ChunkState::Extension { length, quoted, escaped, size } = self.state else {
            return Err(HttpFault::Chunk);
        };
        if length >= EXTENSION || (byte < b' ' && !matches!(byte, b'\t' | b'\r')) || byte == 0x7f {
            return Err(HttpFault::Chunk);
        }
        let (quoted, escaped) = match byte {
            b'\r' if quoted => return Err(HttpFault::Chunk),
            b'\r' => return Ok(ChunkState::SizeEnd { size }),
            _ if escaped => (quoted, false),
            b'\\' if quoted => (quoted, true),
            b'"' => (!quoted, false),
            _ => (quoted, false),
        };
        Ok(ChunkState::Extension { length: length + 1, quoted, escaped, size })
    }

    fn trailer(&mut self, byte: u8) -> Result<(), HttpFault> {
        self.trailers += 1;
        if self.trailers > TRAILERS {
            return Err(HttpFault::Trailer);
        }
        self.line.push(byte);
        if byte != b'\n' {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r\n").ok_or(HttpFault::Trailer)?;
        if line.is_empty() {
            self.state = ChunkState::Done;
            return Ok(());
        }
        let field = Field::read(line).map_err(|_| HttpFault::Trailer)?;
        let is_never = NEVER_TRAILERS.iter().any(|name| field.is(name));
        if is_never || claims::is_disguised_framing(field.name) { Err(HttpFault::Trailer) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &[u8]) -> Result<(usize, bool), HttpFault> {
        let mut chunks = ChunkedReader::default();
        chunks.read(bytes, |_| {}).map(|read| (read, chunks.is_done()))
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
                assert_eq!(chunks.read(&[byte], |_| {}), Ok(1), "{body:?}");
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
        let long = format!("1;{}\r\na", "x".repeat(300));
        assert_eq!(whole(long.as_bytes()), Err(HttpFault::Chunk));
    }

    #[test]
    fn sizes_of_an_answer_may_be_padded_behind_and_no_digit_follows() {
        let answer = |body: &str| ChunkedReader::of_answer().read(body.as_bytes(), |_| {});
        let padded = "1  \t\r\na\r\n1 ;x\r\na\r\n0 \r\n\r\n";
        assert_eq!(answer(padded), Ok(padded.len()));
        let long = format!("1{}\r\na", " ".repeat(300));
        for bad in ["1 0\r\na\r\n", "1 x\r\na\r\n", "1 \na\r\n", " 1\r\na\r\n", &long] {
            assert_eq!(answer(bad), Err(HttpFault::Chunk), "{bad:?}");
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
