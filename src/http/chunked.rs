//! The chunked transfer coding (RFC 9112 §7.1).

use super::Fault;
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
enum State {
    /// In the digits of a size.
    Size {
        digits: usize,
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
pub struct Chunks {
    state: State,
    /// The trailer line that is not whole yet.
    line: Vec<u8>,
    trailers: usize,
}

impl Default for Chunks {
    fn default() -> Self {
        Self { state: State::Size { digits: 0, size: 0 }, line: Vec::new(), trailers: 0 }
    }
}

impl Chunks {
    /// Whether the body is over.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Reads on, gives each piece of data to `data`, and says how many of `bytes` belong to the body: all, unless it
    /// ends among them.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(&mut self, octets: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, Fault> {
        let mut rest = octets;
        while let [octet, tail @ ..] = rest {
            match &mut self.state {
                State::Done => break,
                State::Data { left } => {
                    let here = usize::try_from(*left).unwrap_or(usize::MAX).min(rest.len());
                    *left -= here as u64;
                    if *left == 0 {
                        self.state = State::DataCr;
                    }
                    let (piece, behind) = rest.split_at_checked(here).unwrap_or((rest, &[]));
                    data(piece);
                    rest = behind;
                    continue;
                }
                State::Trailer => self.trailer(*octet)?,
                _ => self.framing(*octet)?,
            }
            rest = tail;
        }
        Ok(octets.len() - rest.len())
    }

    /// An byte around the data.
    fn framing(&mut self, octet: u8) -> Result<(), Fault> {
        self.state = match (&self.state, octet) {
            (State::Size { digits, size }, _) if octet.is_ascii_hexdigit() && *digits < SIZE_DIGITS => {
                let digit = char::from(octet).to_digit(16).unwrap_or_default();
                State::Size { digits: digits + 1, size: size << 4 | u64::from(digit) }
            }
            (State::Size { digits: 1.., size }, b'\r') => State::SizeEnd { size: *size },
            (State::Size { digits: 1.., size }, b';') => {
                State::Extension { length: 0, quoted: false, escaped: false, size: *size }
            }
            (State::Extension { .. }, _) => self.extension(octet)?,
            (State::SizeEnd { size: 0 }, b'\n') => State::Trailer,
            (State::SizeEnd { size }, b'\n') => State::Data { left: *size },
            (State::DataCr, b'\r') => State::DataLf,
            (State::DataLf, b'\n') => State::Size { digits: 0, size: 0 },
            _ => return Err(Fault::Chunk),
        };
        Ok(())
    }

    /// An byte of an extension. What extensions mean is nobody's business here, as long as their end is
    /// where everyone sees it.
    fn extension(&self, octet: u8) -> Result<State, Fault> {
        let State::Extension { length, quoted, escaped, size } = self.state else { return Err(Fault::Chunk) };
        if length >= EXTENSION || (octet < b' ' && !matches!(octet, b'\t' | b'\r')) || octet == 0x7f {
            return Err(Fault::Chunk);
        }
        let (quoted, escaped) = match octet {
            b'\r' if quoted => return Err(Fault::Chunk),
            b'\r' => return Ok(State::SizeEnd { size }),
            _ if escaped => (quoted, false),
            b'\\' if quoted => (quoted, true),
            b'"' => (!quoted, false),
            _ => (quoted, false),
        };
        Ok(State::Extension { length: length + 1, quoted, escaped, size })
    }

    fn trailer(&mut self, octet: u8) -> Result<(), Fault> {
        self.trailers += 1;
        if self.trailers > TRAILERS {
            return Err(Fault::Trailer);
        }
        self.line.push(octet);
        if octet != b'\n' {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r\n").ok_or(Fault::Trailer)?;
        if line.is_empty() {
            self.state = State::Done;
            return Ok(());
        }
        let field = Field::read(line).map_err(|_| Fault::Trailer)?;
        let is_never = NEVER_TRAILERS.iter().any(|name| field.is(name));
        if is_never || claims::is_disguised_framing(field.name) { Err(Fault::Trailer) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(octets: &[u8]) -> Result<(usize, bool), Fault> {
        let mut chunks = Chunks::default();
        chunks.read(octets, |_| {}).map(|read| (read, chunks.is_done()))
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
            let mut chunks = Chunks::default();
            for octet in body.bytes() {
                assert!(!chunks.is_done(), "{body:?}");
                assert_eq!(chunks.read(&[octet], |_| {}), Ok(1), "{body:?}");
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
            assert_eq!(whole(body.as_bytes()), Err(Fault::Chunk), "{body:?}");
        }
        let long = format!("1;{}\r\na", "x".repeat(300));
        assert_eq!(whole(long.as_bytes()), Err(Fault::Chunk));
    }

    #[test]
    fn trailers_are_fields_and_none_that_decides_anything() {
        for trailer in ["X\r\n", " X: y\r\n", "X : y\r\n", "X: y\n", "Content-Length: 5\r\n", "host: a\r\n"] {
            assert_eq!(whole(format!("0\r\n{trailer}\r\n").as_bytes()), Err(Fault::Trailer), "{trailer:?}");
        }
        assert_eq!(whole(format!("0\r\nX: {}\r\n", "y".repeat(9_000)).as_bytes()), Err(Fault::Trailer));
    }
}
