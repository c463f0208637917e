//! Where a body ends, and what of it is data.

use super::HttpFault;
use super::chunked::ChunkedReader;

/// How the end of a body is known (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// There is none.
    None,
    /// By its length in bytes.
    Length(u64),
    /// Nobody has said how long it is: over HTTP/1.1 its last chunk ends it, over HTTP/2 the end of its stream.
    UnknownLength,
    /// By the end of the connection; only answers of origins may end so.
    UntilClose,
}

/// Reads one body.
#[derive(Debug)]
pub enum BodyReader {
    /// The body is over.
    Done,
    /// So many more bytes belong to it.
    Length(u64),
    /// It comes in chunks.
    Chunked(Box<ChunkedReader>),
    /// All that comes belongs to it.
    UntilClose,
}

impl BodyReader {
    /// A reader of the body behind a head.
    pub fn new(body: Body) -> Self {
        match body {
            Body::None | Body::Length(0) => Self::Done,
            Body::Length(length) => Self::Length(length),
            Body::UnknownLength => Self::Chunked(Box::default()),
            Body::UntilClose => Self::UntilClose,
        }
    }

    /// The same of an answer.
    pub fn of_answer(body: Body) -> Self {
        match body {
            Body::UnknownLength => Self::Chunked(Box::new(ChunkedReader::of_answer())),
            body => Self::new(body),
        }
    }

    /// Whether the body is over.
    pub const fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Reads on, gives each piece of data to `data`, and says how many of `bytes` belong to the body.
    ///
    /// # Errors
    /// The first fault.
    pub fn read(&mut self, bytes: &[u8], mut data: impl FnMut(&[u8])) -> Result<usize, HttpFault> {
        self.read_framed(bytes, |piece, is_data| {
            if is_data {
                data(piece);
            }
        })
    }

    /// The same; `piece` is given the framing of chunks, too, as [`ChunkedReader::read`] gives it, and whether it is data.
    ///
    /// # Errors
    /// The first fault.
    pub fn read_framed(
        &mut self,
        bytes: &[u8],
        mut piece: impl FnMut(&[u8], bool),
    ) -> Result<usize, HttpFault> {
        let count = match self {
            Self::Done => return Ok(0),
            Self::UntilClose => bytes.len(),
            Self::Length(left) => {
                let count = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= count as u64;
                if *left == 0 {
                    *self = Self::Done;
                }
                count
            }
            Self::Chunked(chunks) => {
                let count = chunks.read(bytes, piece)?;
                if chunks.is_done() {
                    *self = Self::Done;
                }
                return Ok(count);
            }
        };
        if count > 0 {
            piece(bytes.get(..count).unwrap_or_default(), true);
        }
        Ok(count)
    }
}

/// Writes one chunk of data; none without data, which would be the last one (RFC 9112 §7.1).
pub fn push_chunk(out: &mut Vec<u8>, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", data.len()).as_bytes());
    out.extend_from_slice(data);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut BodyReader, bytes: &[u8]) -> (usize, Vec<u8>) {
        let mut data = Vec::new();
        let count = reader.read(bytes, |piece| data.extend_from_slice(piece)).unwrap();
        (count, data)
    }

    #[test]
    fn a_body_ends_where_its_head_said() {
        let mut reader = BodyReader::new(Body::Length(5));
        assert_eq!(read(&mut reader, b"hel"), (3, b"hel".to_vec()));
        assert_eq!(read(&mut reader, b"lo GET"), (2, b"lo".to_vec()));
        assert!(reader.is_done());
        assert!(BodyReader::new(Body::None).is_done() && BodyReader::new(Body::Length(0)).is_done());
        let mut reader = BodyReader::new(Body::UntilClose);
        assert_eq!(read(&mut reader, b"all"), (3, b"all".to_vec()));
        assert!(!reader.is_done());
    }

    #[test]
    fn chunks_are_read_as_they_are_written() {
        let data: Vec<u8> = (0..70_000_u32).flat_map(u32::to_be_bytes).collect();
        let mut written = Vec::new();
        for piece in [&data[..1], &data[1..1], &data[1..300], &data[300..]] {
            push_chunk(&mut written, piece);
        }
        written.extend_from_slice(b"0\r\n\r\nGET");
        let mut reader = BodyReader::new(Body::UnknownLength);
        assert_eq!(read(&mut reader, &written), (written.len() - 3, data));
        assert!(reader.is_done());
    }
}
