//! From bytes to physical lines, and from a line to a record.
//!
//! Knows line ends, comments and the names of records (RFC 9309 section 2.2, ABNF, and section
//! 2.2.4 for other records). Knows nothing of groups.

use memchr::{memchr, memchr2};

/// The record names this engine knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumString)]
#[strum(serialize_all = "kebab-case", ascii_case_insensitive)]
pub(super) enum RecordName {
    UserAgent,
    Allow,
    Disallow,
    Sitemap,
    CrawlDelay,
    Host,
    ContentSignal,
    ContentUsage,
    /// Where the terms of use are (RSL 1.0).
    License,
    /// Google gave it up in 2019.
    Noindex,
    /// A record others define; kept out of the way without a finding.
    #[strum(serialize = "clean-param", serialize = "request-rate", serialize = "visit-time")]
    #[strum(serialize = "indexnow", serialize = "content-access")]
    Foreign,
    #[strum(disabled)]
    Unknown,
}

/// One line that is a record: name and value, without comment and outer blanks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'b> {
    pub(super) name: RecordName,
    /// The name as written.
    pub(super) key: &'b [u8],
    pub(super) value: &'b [u8],
    /// Offsets in the file: of the key, and of the value.
    pub(super) start: usize,
    pub(super) value_start: usize,
    pub(super) misspelt: bool,
    pub(super) colon: bool,
    /// A comment starts right after the value, and with no blank of its own.
    pub(super) cut: bool,
}

impl Record<'_> {
    /// The offset of the end of the value.
    pub(super) const fn end(&self) -> usize {
        self.value_start + self.value.len()
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Content<'b> {
    Empty,
    /// Not empty, not a record; with the offset of its first byte.
    Junk(&'b [u8], usize),
    Record(Record<'b>),
}

/// One physical line.
#[derive(Clone, Copy, Debug)]
pub(super) struct PhysicalLine<'b> {
    /// Counted from 1.
    pub(super) number: u32,
    /// Offset of its first byte.
    pub(super) start: usize,
    /// Offset of its first NUL, where it has one before any comment.
    pub(super) nul: Option<usize>,
    pub(super) content: Content<'b>,
}

/// Iterates over the lines of a file; `CR`, `LF` and `CR LF` all end one.
#[derive(Clone)]
pub(super) struct PhysicalLines<'b> {
    bytes: &'b [u8],
    at: usize,
    number: u32,
}

impl<'b> PhysicalLines<'b> {
    /// `at` is where the first line starts, after a byte order mark.
    pub(super) const fn new(bytes: &'b [u8], at: usize) -> Self {
        Self { bytes, at, number: 0 }
    }
}

impl<'b> Iterator for PhysicalLines<'b> {
    type Item = PhysicalLine<'b>;

    fn next(&mut self) -> Option<PhysicalLine<'b>> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let line = rest.get(..length).unwrap_or(rest);
        let end = match rest.get(length..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            _ => 0,
        };
        self.at += length + end;
        self.number = self.number.saturating_add(1);
        let (nul, content) = content(line, start);
        Some(PhysicalLine { number: self.number, start, nul, content })
    }
}

/// The length of the longest start of the UTF-8 byte order mark that `bytes` starts with.
pub(super) fn byte_order_mark(bytes: &[u8]) -> usize {
    match bytes {
        [0xEF, 0xBB, 0xBF, ..] => 3,
        [0xEF, 0xBB, ..] => 2,
        [0xEF, ..] => 1,
        _ => 0,
    }
}

/// The longest part of `bytes` that is at most `limit` long and holds whole lines only.
pub(super) fn whole_lines(bytes: &[u8], limit: usize) -> &[u8] {
    let Some(head) = bytes.get(..limit).filter(|head| head.len() < bytes.len()) else {
        return bytes;
    };
    // The byte after the limit may be the line end that makes the last line whole.
    if matches!(bytes.get(limit), Some(b'\n' | b'\r')) {
        return head;
    }
    let end = memchr::memrchr2(b'\n', b'\r', head).map_or(0, |at| at + 1);
    head.get(..end).unwrap_or(head)
}

/// `bytes` without outer blanks, and how many were removed in front.
fn trim(bytes: &[u8]) -> (&[u8], usize) {
    let lead = bytes.iter().take_while(|&&b| is_blank(b)).count();
    let rest = bytes.get(lead..).unwrap_or_default();
    let tail = rest.iter().rev().take_while(|&&b| is_blank(b)).count();
    (rest.get(..rest.len() - tail).unwrap_or_default(), lead)
}

fn content(line: &[u8], start: usize) -> (Option<usize>, Content<'_>) {
    let stop = line.iter().position(|&b| matches!(b, b':' | b'#' | 0));
    if let Some((key, value)) =
        stop.filter(|&at| line.get(at) == Some(&b':')).and_then(|at| line.split_at_checked(at))
    {
        return with_colon(key, value.get(1..).unwrap_or_default(), start);
    }
    let (nul, body) = uncommented(line);
    let (text, lead) = trim(body);
    let content = if text.is_empty() { Content::Empty } else { colonless(text, start + lead) };
    (nul.map(|nul| start + nul), content)
}

/// The text up to its comment. A NUL is outside the grammar and ends the line early.
fn uncommented(text: &[u8]) -> (Option<usize>, &[u8]) {
    match memchr2(b'#', 0, text) {
        None => (None, text),
        Some(at) => {
            let nul = (text.get(at) == Some(&0)).then_some(at);
            (nul, text.get(..at).unwrap_or(text))
        }
    }
}

/// `key` and `rest` are what is before and after the first colon.
fn with_colon<'b>(key: &'b [u8], rest: &'b [u8], start: usize) -> (Option<usize>, Content<'b>) {
    let after = start + key.len() + 1;
    let (nul, text) = uncommented(rest);
    let (value, lead) = trim(text);
    let comment = rest.get(text.len() + 1).filter(|_| nul.is_none());
    let cut =
        comment.is_some_and(|&next| !is_blank(next)) && !value.is_empty() && lead + value.len() == text.len();
    let nul = nul.map(|nul| after + nul);
    let (key, key_lead) = trim(key);
    if key.is_empty() {
        let junk = if value.is_empty() { &b":"[..] } else { value };
        return (nul, Content::Junk(junk, after - 1));
    }
    let (name, misspelt) = name(key);
    let (start, value_start) = (start + key_lead, after + lead);
    (nul, Content::Record(Record { name, key, value, start, value_start, misspelt, colon: true, cut }))
}

/// Section 2.2.4 lets a parser be lenient: a line of exactly two words is a record whose colon was
/// forgotten. Anything else without a colon is not a record.
fn colonless(text: &[u8], start: usize) -> Content<'_> {
    let first = text.iter().take_while(|&&b| !is_blank(b)).count();
    let (key, rest) = text.split_at_checked(first).unwrap_or((text, b""));
    let (value, lead) = trim(rest);
    let (name, misspelt) = name(key);
    let is_named = !matches!(
        name,
        RecordName::Unknown | RecordName::Foreign | RecordName::License | RecordName::Noindex
    );
    if value.is_empty() || value.iter().any(|&b| is_blank(b)) || !is_named {
        return Content::Junk(text, start);
    }
    let value_start = start + first + lead;
    Content::Record(Record { name, key, value, start, value_start, misspelt, colon: false, cut: false })
}

/// Names compare without regard to ASCII case. The misspellings are those that Google's parser
/// accepts, no others: a file is tested against that parser by its owner.
fn name(key: &[u8]) -> (RecordName, bool) {
    let word = std::str::from_utf8(key).unwrap_or_default();
    if let Ok(name) = word.parse() {
        return (name, false);
    }
    let is_any = |words: &[&str]| words.iter().any(|known| known.eq_ignore_ascii_case(word));
    if is_any(&["dissallow", "dissalow", "disalow", "diasllow", "disallaw"]) {
        (RecordName::Disallow, true)
    } else if is_any(&["useragent", "user agent"]) {
        (RecordName::UserAgent, true)
    } else {
        (RecordName::Unknown, false)
    }
}

/// The column of an offset, counted in bytes from 1.
pub(super) fn column(source: &[u8], offset: u32) -> u32 {
    let before = source.get(..offset as usize).unwrap_or_default();
    let first = || byte_order_mark(before);
    let start = memchr::memrchr2(b'\n', b'\r', before).map_or_else(first, |at| at + 1);
    super::pattern::index(before.len() - start + 1)
}

/// Blanks within a line.
pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | 0x0B | 0x0C)
}

/// Whether the file is a web page: it starts with a tag, which no record does.
pub(super) fn is_html(bytes: &[u8]) -> bool {
    matches!(text(bytes), [b'<', b'a'..=b'z' | b'A'..=b'Z' | b'!' | b'?', ..])
}

/// Whether `bytes` starts like JSON: an error of a server that answers programs.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    matches!(text(bytes).first(), Some(b'{' | b'['))
}

/// What follows a byte order mark, blanks and empty lines.
fn text(bytes: &[u8]) -> &[u8] {
    bytes.get(byte_order_mark(bytes)..).unwrap_or_default().trim_ascii_start()
}

/// Whether `bytes` is text in UTF-16, told by its byte order mark or by its NULs.
pub(super) fn is_utf16(bytes: &[u8]) -> bool {
    let marked = matches!(bytes, [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..]);
    marked || (memchr(0, bytes.get(..4).unwrap_or_default()).is_some() && alternates(bytes))
}

fn alternates(bytes: &[u8]) -> bool {
    let head = bytes.get(..64).unwrap_or(bytes);
    let nuls = |skip: usize| head.iter().skip(skip).step_by(2).all(|&b| b == 0);
    head.len() >= 4 && (nuls(0) != nuls(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(file: &str) -> Vec<(u32, RecordName, &str)> {
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        PhysicalLines::new(file.as_bytes(), 0)
            .filter_map(|line| match line.content {
                Content::Record(record) => Some((line.number, record.name, text(record.value))),
                Content::Empty | Content::Junk(..) => None,
            })
            .collect()
    }

    #[test]
    fn lines_end_in_three_ways() {
        let found = records("allow: 1\ndisallow: 2\r\nallow: 3\rdisallow: 4\n\r\n\rallow: 5");
        let lines: Vec<u32> = found.iter().map(|record| record.0).collect();
        assert_eq!(lines, [1, 2, 3, 4, 7]);
    }

    #[test]
    fn names_compare_without_case_and_whole() {
        use RecordName::{Allow, CrawlDelay, Disallow, Unknown, UserAgent};
        for (key, name) in [
            ("USER-AGENT", UserAgent),
            ("User Agent", UserAgent),
            ("dissallow", Disallow),
            ("disallowed", Unknown),
            ("desallow", Unknown),
            ("aLLow", Allow),
            ("crawl-delay", CrawlDelay),
        ] {
            assert_eq!(records(&format!("{key}: x")), [(1, name, "x")]);
        }
    }

    #[test]
    fn values_lose_blanks_and_comments() {
        assert_eq!(records(" \tallow \t: \t/a b \t# c:d"), [(1, RecordName::Allow, "/a b")]);
        assert_eq!(records("allow:#x"), [(1, RecordName::Allow, "")]);
        assert_eq!(records("allow: /a\0b"), [(1, RecordName::Allow, "/a")]);
        assert_eq!(records("al#low: /a"), []);
        assert_eq!(records(": /a"), []);
    }

    #[test]
    fn a_colon_may_be_missing_between_two_words() {
        assert_eq!(records("disallow\t/a"), [(1, RecordName::Disallow, "/a")]);
        assert_eq!(records("disallow /a /b"), []);
        assert_eq!(records("disallow"), []);
        assert_eq!(records("hello world"), []);
    }

    #[test]
    fn offsets_are_those_of_the_file() {
        for file in ["x\n  Disallow :  /a  # c", "x\nDisallow /a"] {
            let line = PhysicalLines::new(file.as_bytes(), 0).nth(1).unwrap();
            let Content::Record(record) = line.content else { panic!("{line:?}") };
            assert_eq!(&file[record.value_start..][..record.value.len()], "/a");
            assert!(file[record.start..].starts_with("Disallow"));
        }
    }

    #[test]
    fn the_limit_never_cuts_a_line() {
        let cut = |text: &'static [u8], limit| std::str::from_utf8(whole_lines(text, limit)).unwrap();
        assert_eq!(cut(b"ab\ncd\nef", 20), "ab\ncd\nef");
        assert_eq!(cut(b"ab\ncd\nef", 8), "ab\ncd\nef");
        assert_eq!(cut(b"ab\ncd\nef", 7), "ab\ncd\n");
        assert_eq!(cut(b"ab\ncd\nef", 5), "ab\ncd");
        assert_eq!(cut(b"ab\ncd\nef", 4), "ab\n");
        assert_eq!(cut(b"abcdef", 4), "");
    }

    #[test]
    fn utf16_and_html_are_told() {
        assert!(is_utf16(b"\xFF\xFEU\0") && is_utf16(b"U\0s\0e\0r\0") && is_utf16(b"\0U\0s\0e"));
        assert!(!is_utf16(b"User") && !is_utf16(b"a\0b\0c d") && !is_utf16(b""));
        assert!(
            is_html(b" \n<!doctype HTML>")
                && is_html(b"\xEF\xBB\xBF<?xml")
                && is_html(b"<html>")
                && !is_html(b"User-agent: <html>")
        );
    }
}
