//! Random requests, well formed at first, and then changed at a few places.

/// A generator of numbers that is the same each time (Marsaglia, xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).expect("64 bits") % most
    }

    pub(crate) fn of<'a>(&mut self, all: &[&'a [u8]]) -> &'a [u8] {
        all[self.below(all.len())]
    }
}

const LINES: [&[u8]; 12] = [
    b"HEAD http://a/x HTTP/1.0",
    b"X-Y /\xc3\xa9 HTTP/1.1",
    b"get //x%2f HTTP/1.1",
    b"HEAD /private HTTP/1.1",
    b"GET /private/x HTTP/1.1",
    b"GET /robots.txt HTTP/1.1",
    b"GET / HTTP/1.1",
    b"POST /a?b=c HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"PUT http://a/x HTTP/1.1",
    b"POST /x HTTP/1.0",
    b"DELETE //x%2f;y=/.. HTTP/1.1",
];
const FIELDS: [&[u8]; 11] = [
    b"host:a:80",
    b"Transfer-Encoding: chunked",
    b"Connection: close",
    b"Connection: keep-alive, x",
    b"X:",
    b"X: \t y \t",
    b"User-Agent: Mozilla/5.0 (x; y)",
    b"Cookie: a=b; c=\"d\"",
    b"Accept: */*",
    b"Forwarded: for=\"[::1]\"",
    b"X-Latin: caf\xe9",
];
const BODIES: [&[u8]; 9] = [
    b"\r\n",
    b"Content-Length: 0\r\n\r\n",
    b"Content-Length: 5\r\n\r\nhello",
    b"content-length:11\r\n\r\nhello world",
    b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n00a\r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\n",
    b"Transfer-Encoding: chunked\r\n\r\n3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n",
    b"transfer-encoding:\tchunked\r\n\r\nA\r\n0123456789\r\n0\r\nX-Trailer: x\r\n\r\n",
];
const ODD: [&[u8]; 20] = [
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
    b"0",
    b"5",
    b"f",
    b";",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: identity\r\n",
];

/// A request, and perhaps the beginning of another one.
pub(crate) fn message(random: &mut Random) -> Vec<u8> {
    let mut text = random.of(&LINES).to_vec();
    text.extend_from_slice(b"\r\nHost: a\r\n");
    for _ in 0..random.below(5) {
        text.extend_from_slice(random.of(&FIELDS));
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(random.of(&BODIES));
    if random.below(4) == 0 {
        text.extend_from_slice(b"GET /next HTTP/1.1\r\nHost: b\r\n\r\n");
    }
    for _ in 0..random.below(4) {
        let at = random.below(text.len());
        match random.below(4) {
            0 => drop(text.splice(at..at, random.of(&ODD).iter().copied())),
            1 => drop(text.remove(at)),
            2 => text[at] = u8::try_from(random.below(256)).expect("a byte"),
            _ => drop(text.splice(at..at, random.of(&FIELDS).iter().copied())),
        }
    }
    text
}
