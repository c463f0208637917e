//! Files and targets made from a seed: small alphabets, so that rules and targets often meet.

/// A small generator of numbers (xorshift64*), the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 33) as usize) % bound.max(1)
    }

    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    pub(crate) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }
}

pub(crate) const TOKENS: [&str; 7] = ["FooBot", "foobot", "BarBot", "AI2Bot", "Foo", "x-y_z", "NoSuchBot"];

const AGENTS: [&[u8]; 14] = [
    b"*",
    b"*",
    b"FooBot",
    b"foobot",
    b"FOOBOT/1.0",
    b"BarBot",
    b"Foo Bar",
    b"AI2Bot",
    b"x-y_z",
    b"* all",
    b"",
    b"/",
    b"Foo*",
    b"*Bot",
];

/// Which bytes a path is made of.
#[derive(Clone, Copy)]
pub(crate) enum Alphabet {
    /// Mostly plain letters and separators.
    Plain,
    /// Every way of writing the bytes that differ between implementations.
    Encoded,
    /// Words, so that files grow large with few equal rules.
    Words,
}

const PLAIN: [&[u8]; 12] = [b"/", b"/", b"a", b"a", b"b", b"ab", b"?", b"=", b"&", b".", b"a/", b"b/a"];
const ENCODED: [&[u8]; 44] = [
    b"/",
    b"/",
    b"%2F",
    b"%2f",
    b"?",
    b"?",
    b"%3F",
    b"%3f",
    b"&",
    b"%26",
    b"=",
    b"%3D",
    b"%3d",
    b"a",
    b"%61",
    b"b",
    b"%62",
    b"%",
    b"%4",
    b"%2561",
    b"%25",
    b":",
    b"%3A",
    b"%2A",
    b"%24",
    b"$",
    b"%C3%A9",
    b"\xC3\xA9",
    b"%c3",
    b"\xF7",
    b"%F7",
    b"\xF8",
    b"%f8",
    b"\xFE",
    b"%FE",
    b"\xFF",
    b"%FF",
    b"\xFD",
    b"%01",
    b"%00",
    b"~",
    b"%7E",
    b"<",
    b"%3C",
];
const WORDS: [&[u8]; 16] = [
    b"/alpha",
    b"/beta",
    b"/gamma",
    b"/delta",
    b"/al",
    b"/alp",
    b"/news",
    b"/item",
    b"?id=",
    b"&page=",
    b"?sort=",
    b".html",
    b".php",
    b"-x",
    b"/",
    b"/archive",
];

impl Alphabet {
    fn pieces(self) -> &'static [&'static [u8]] {
        match self {
            Self::Plain => &PLAIN,
            Self::Encoded => &ENCODED,
            Self::Words => &WORDS,
        }
    }

    pub(crate) fn any(random: &mut Random) -> Self {
        random.pick(&[Self::Plain, Self::Encoded, Self::Words])
    }
}

pub(crate) fn pattern(random: &mut Random, alphabet: Alphabet) -> Vec<u8> {
    let mut out = Vec::new();
    if !random.one_in(8) {
        out.push(if random.one_in(5) { b'*' } else { b'/' });
    }
    let stars = random.below(3) * random.below(3);
    let length = random.below(7);
    for _ in 0..length {
        out.extend_from_slice(random.pick(alphabet.pieces()));
        if random.below(7) < stars {
            out.push(b'*');
        }
    }
    if random.one_in(4) {
        out.push(b'$');
    }
    if random.one_in(60) {
        out.insert(out.len() / 2, b' ');
    }
    out
}

pub(crate) fn target(random: &mut Random, alphabet: Alphabet) -> Vec<u8> {
    let mut out = vec![b'/'];
    for _ in 0..random.below(10) {
        out.extend_from_slice(random.pick(alphabet.pieces()));
    }
    out
}

/// A target that a pattern is likely to match, or nearly.
pub(crate) fn near(random: &mut Random, pattern: &[u8], alphabet: Alphabet) -> Vec<u8> {
    let mut out = Vec::new();
    let body = pattern.strip_suffix(b"$").filter(|_| !random.one_in(8)).unwrap_or(pattern);
    for &byte in body {
        if byte == b'*' {
            for _ in 0..random.below(3) {
                out.extend_from_slice(random.pick(alphabet.pieces()));
            }
        } else if random.one_in(40) {
            out.extend_from_slice(random.pick(alphabet.pieces()));
        } else {
            out.push(byte);
        }
    }
    if random.one_in(3) {
        out.extend_from_slice(random.pick(alphabet.pieces()));
    }
    out
}

pub(crate) struct GeneratedFile {
    pub(crate) bytes: Vec<u8>,
    pub(crate) patterns: Vec<Vec<u8>>,
    pub(crate) alphabet: Alphabet,
}

/// A file of up to about `most` rules.
pub(crate) fn file(random: &mut Random, most: usize) -> GeneratedFile {
    let alphabet = Alphabet::any(random);
    let end: &[u8] = random.pick::<&[u8]>(&[b"\n", b"\n", b"\r\n", b"\r"]);
    let mut file = GeneratedFile { bytes: Vec::new(), patterns: Vec::new(), alphabet };
    if random.one_in(20) {
        file.bytes.extend_from_slice(b"\xEF\xBB\xBF");
    }
    let share = 1 + random.below(most);
    while file.patterns.len() < share {
        for _ in 0..=random.below(3) {
            let line = [
                random.pick::<&[u8]>(&[b"User-agent: ", b"user-agent:", b"useragent : "]),
                random.pick(&AGENTS),
            ]
            .concat();
            push(&mut file.bytes, &line, end, random);
        }
        for _ in 0..random.below(1 + most) {
            let pattern = pattern(random, alphabet);
            let name =
                random.pick::<&[u8]>(&[b"Disallow: ", b"Disallow:", b"Allow: ", b"disalow: ", b"ALLOW : "]);
            push(&mut file.bytes, &[name, pattern.as_slice()].concat(), end, random);
            file.patterns.push(pattern);
        }
        if file.patterns.is_empty() && random.one_in(3) {
            break;
        }
    }
    file
}

fn push(bytes: &mut Vec<u8>, line: &[u8], end: &[u8], random: &mut Random) {
    bytes.extend_from_slice(line);
    if random.one_in(12) {
        bytes.extend_from_slice(b" # comment: /a");
    }
    bytes.extend_from_slice(end);
    if random.one_in(10) {
        let noise: &[&[u8]] = &[
            b"",
            b"Sitemap: https://example.com/s.xml",
            b"Crawl-delay: 5",
            b"nonsense",
            b"# note",
            b"Host: x",
            b"disallow /a",
            b"a\0b: c",
        ];
        bytes.extend_from_slice(random.pick(noise));
        bytes.extend_from_slice(end);
    }
}
