//! The head of another proxy's question at a door of `[authorize]`.
//!
//! Such a head carries fields of the proxy's client, as far as that proxy took them. A fault in one of them must not keep
//! the question from being answered, since a request that nobody answers for passes. So this reader keeps the fields of a
//! closed list, whatever bytes they hold, and leaves out all others before anything is counted or compared.

use super::framing::Framing;
use super::reader::{split_line, version};
use super::{Body, Field, HttpFault, HttpVersion, RequestHead, trimmed};
use memchr::memmem;

/// The most bytes of a head. Proxies take heads of up to 1 MiB from their clients (Go's default), and add their own fields.
const LARGEST: usize = 2 * 1024 * 1024;

/// The end of the last line, and the empty line. A line feed alone ends no line: it may be a byte of the client's.
const END: &[u8] = b"\r\n\r\n";

/// Reads one head of a question, once it is whole.
#[derive(Clone, Debug)]
pub struct QuestionReader {
    /// Whether the field of this name is read.
    is_read: fn(&[u8]) -> bool,
    /// How far the end has been searched for.
    searched: usize,
}

impl QuestionReader {
    /// A reader of the next head, which keeps the fields whose names `is_read` admits.
    pub fn new(is_read: fn(&[u8]) -> bool) -> Self {
        Self { is_read, searched: 0 }
    }

    /// Reads on. `bytes` are all bytes since reading began, those of earlier calls included. Of a whole head, only what
    /// follows it is left there.
    ///
    /// # Errors
    /// When there is no request line, or no end of the head within 2 MiB.
    pub fn read(&mut self, bytes: &mut Vec<u8>) -> Result<Option<RequestHead>, HttpFault> {
        let empty_lines = bytes.as_chunks().0.iter().take_while(|pair| *pair == b"\r\n").count();
        let begin = 2 * empty_lines;
        let from = self.searched.max(begin);
        let Some(found) = bytes.get(from..).and_then(|rest| memmem::find(rest, END)) else {
            self.searched = bytes.len().saturating_sub(END.len() - 1);
            return if bytes.len() > LARGEST { Err(HttpFault::HeadSize) } else { Ok(None) };
        };
        let end = from + found;
        let head = self.question(bytes.get(begin..end).unwrap_or_default())?;
        // Nothing else would give their memory back while the connection is idle.
        *bytes = bytes.split_off(end + END.len());
        Ok(Some(head))
    }

    /// Reads the lines of a whole head.
    fn question(&self, head: &[u8]) -> Result<RequestHead, HttpFault> {
        let ends = memmem::find_iter(head, b"\r\n").chain([head.len()]);
        let mut lines = ends.scan(0, |begin, end| {
            let line = head.get(*begin..end);
            *begin = end + 2;
            line
        });
        let [method, target, version_name] = split_line(lines.next().unwrap_or_default())?;
        let version = version(version_name)?;
        let mut framing = Framing::default();
        let (mut has_no_end, mut is_last_read) = (false, false);
        let mut fields: Vec<(&[u8], Vec<u8>)> = Vec::new();
        for line in lines {
            if let [b' ' | b'\t', ..] = line {
                // RFC 9112 §5.2: it continues the line before it, with a blank in the place of each end of a line.
                if let Some((_, value)) = fields.last_mut().filter(|_| is_last_read) {
                    value.extend_from_slice(b"  ");
                    value.extend(on_one_line(line));
                }
                continue;
            }
            let colon = memchr::memchr(b':', line).unwrap_or(line.len());
            let (name, value) = line.split_at_checked(colon).unwrap_or_default();
            let field = Field { name, value: trimmed(value.get(1..).unwrap_or_default()) };
            // Where the message ends, and whether another one follows (RFC 9112 §6).
            if ["content-length", "transfer-encoding", "connection"].into_iter().any(|own| field.is(own)) {
                has_no_end |= framing.note(&field, 0).is_err();
            }
            is_last_read = (self.is_read)(name) && !value.is_empty();
            if is_last_read {
                fields.push((name, on_one_line(field.value).collect()));
            }
        }
        // Nobody reads the body of a question. Where its end is uncertain, the connection ends with the answer.
        let body = framing.length(version == HttpVersion::Http10).ok().filter(|_| !has_no_end);
        let fields = fields.iter().map(|(name, value)| (*name, &**value));
        let body_or_end = body.unwrap_or(Body::UnknownLength);
        let mut whole = RequestHead::from_parts([method, target], None, version, body_or_end, fields);
        whole.options = framing.options;
        whole.options.close |= body.is_none();
        Ok(whole)
    }
}

/// A value without ends of lines in it: a blank takes the place of each (RFC 9112 §5.2).
fn on_one_line(value: &[u8]) -> impl Iterator<Item = u8> {
    value.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(name: &[u8]) -> bool {
        [&b"user-agent"[..], b"host"].iter().any(|own| name.eq_ignore_ascii_case(own))
    }

    fn read(fields: &[u8]) -> RequestHead {
        let bytes = [b"\r\nGET /a \xff HTTP/1.1\r\n", fields, b"\r\nGET /next"].concat();
        let mut reader = QuestionReader::new(is_read);
        for end in 0..bytes.len() - 9 {
            assert!(matches!(reader.read(&mut bytes[..end].to_vec()), Ok(None)), "{end}");
        }
        let mut left = bytes.clone();
        let Ok(Some(head)) = reader.read(&mut left) else { panic!("{bytes:?}") };
        assert_eq!((&*left, left.capacity()), (&b"GET /next"[..], 9));
        head
    }

    #[test]
    fn fields_of_the_list_are_read_whatever_bytes_they_hold_and_others_are_left_out() {
        for byte in 0..=u8::MAX {
            let own = [b"User-Agent: \t a", &[byte][..], b"b \r\nX: ", &[byte], b"\r\n", &[byte], b": c\r\n"];
            let head = read(&own.concat());
            let value = if matches!(byte, b'\r' | b'\n') { b' ' } else { byte };
            assert_eq!(head.get("user-agent"), Some(&[b'a', value, b'b'][..]), "{byte}");
            assert_eq!((head.target(), head.field_count()), (&b"/a \xff"[..], 1), "{byte}");
        }
    }

    #[test]
    fn every_line_of_a_field_is_read_and_folded_ones_belong_to_it() {
        let head = read(
            b"USER-AGENT: a\r\nX: y\r\n z\r\nuser-agent:b\r\n\tc\r\nno colon\r\n d\r\nUser-Agent : e\r\n",
        );
        assert_eq!(head.all("user-agent").collect::<Vec<_>>(), [&b"a"[..], b"b  \tc"]);
    }

    #[test]
    fn a_connection_goes_on_only_where_the_end_of_the_body_is_certain() {
        let of = |fields: &str| {
            let head = read(fields.as_bytes());
            (head.body, head.options.close)
        };
        assert_eq!(of(""), (Body::None, false));
        assert_eq!(of("Content-Length: 5\r\n"), (Body::Length(5), false));
        assert_eq!(of("Content_Length: 5\r\nTransfer.Encoding: x\r\n"), (Body::None, false));
        assert_eq!(of("Transfer-Encoding: chunked\r\n"), (Body::UnknownLength, false));
        assert_eq!(of("Connection: x, close\r\n"), (Body::None, true));
        for odd in [
            "Content-Length: 5\r\n".repeat(2).as_str(),
            "Content-Length: +5\r\n",
            "Content-Length:\r\n 5\r\n",
        ] {
            assert_eq!(of(odd), (Body::UnknownLength, true), "{odd}");
        }
        for odd in ["Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"] {
            assert_eq!(of(odd), (Body::UnknownLength, true), "{odd}");
        }
    }

    #[test]
    fn a_head_has_a_request_line_and_an_end() {
        let fault = |bytes: &[u8]| QuestionReader::new(is_read).read(&mut bytes.to_vec()).unwrap_err();
        assert_eq!(fault(b"GET /\r\n\r\n"), HttpFault::RequestLine);
        assert_eq!(fault(b"GET / HTTP/2.0\r\nX: y\r\n\r\n"), HttpFault::Version);
        let start = b"GET / HTTP/1.1\r\nX: ".to_vec();
        let long = |size: usize| [&start[..], &vec![b'a'; size - start.len()]].concat();
        assert!(matches!(QuestionReader::new(is_read).read(&mut long(LARGEST)), Ok(None)));
        assert_eq!(fault(&long(LARGEST + 1)), HttpFault::HeadSize);
    }
}
