//! What this reader accepts, another one reads in the same way: random and mutated heads beside httparse.

use super::{HeadLimits, HeadReader, Progress, RequestHead, Version};

/// A generator of numbers that is the same each time (Marsaglia, xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % most
    }

    fn of<'a>(&mut self, all: &[&'a [u8]]) -> &'a [u8] {
        all[self.below(all.len())]
    }
}

const LINES: [&[u8]; 6] = [
    b"GET / HTTP/1.1",
    b"POST /a?b=c HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"HEAD http://a/x HTTP/1.0",
    b"X-Y /\xc3\xa9 HTTP/1.1",
    b"get //x%2f HTTP/1.1",
];
const FIELDS: [&[u8]; 12] = [
    b"Host: a",
    b"host:a:80",
    b"Content-Length: 5",
    b"Transfer-Encoding: chunked",
    b"Connection: close, x",
    b"X:",
    b"X: \t y \t",
    b"User-Agent: Mozilla/5.0 (x; y)",
    b"Cookie: a=b; c=\"d\"",
    b"Accept: */*",
    b"Forwarded: for=\"[::1]\"",
    b"X-Latin: caf\xe9",
];
const ODD: [&[u8]; 14] = [
    b"\r",
    b"\n",
    b"\r\n",
    b" ",
    b"\t",
    b":",
    b"\0",
    b"\x7f",
    b"\xff",
    b"(",
    b"Host: b\r\n",
    b" x: y\r\n",
    b"\x0b",
    b",",
];

fn message(random: &mut Random) -> Vec<u8> {
    let mut text = random.of(&LINES).to_vec();
    text.extend_from_slice(b"\r\nHost: a\r\n");
    for _ in 0..random.below(6) {
        text.extend_from_slice(random.of(&FIELDS));
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"\r\n");
    for _ in 0..random.below(3) {
        let at = random.below(text.len());
        match random.below(4) {
            0 => drop(text.splice(at..at, random.of(&ODD).iter().copied())),
            1 => drop(text.remove(at)),
            2 => text[at] = u8::try_from(random.below(256)).unwrap(),
            _ => drop(text.splice(at..at, random.of(&FIELDS).iter().copied())),
        }
    }
    text
}

fn own(text: &[u8]) -> Option<(usize, RequestHead)> {
    let mut reader = HeadReader::new(HeadLimits { octets: 10_000, fields: 60 });
    match reader.read(text).ok()? {
        Progress::Whole(head) => Some((head.end, reader.into_head(text, head))),
        Progress::More => None,
    }
}

#[test]
fn whatever_is_accepted_others_read_the_same_way() {
    let (mut random, mut accepted) = (Random(0x9e37_79b9_7f4a_7c15), 0);
    for _ in 0..200_000 {
        let text = message(&mut random);
        let Some((end, head)) = own(&text) else { continue };
        accepted += 1;
        let mut room = [httparse::EMPTY_HEADER; 64];
        let mut other = httparse::Request::new(&mut room);
        let shown = text.escape_ascii().to_string();
        assert_eq!(other.parse(&text), Ok(httparse::Status::Complete(end)), "{shown}");
        assert_eq!(other.method, Some(head.method()), "{shown}");
        assert_eq!(other.path.map(str::as_bytes), Some(head.target()), "{shown}");
        assert_eq!(other.version == Some(1), head.version == Version::Http11, "{shown}");
        let theirs = other.headers.iter().map(|field| (field.name.as_bytes(), field.value));
        assert!(head.fields().eq(theirs), "{shown}");
    }
    assert!(accepted > 50_000, "only {accepted} were accepted");
}
