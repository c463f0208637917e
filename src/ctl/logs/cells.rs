//! A line cut into cells: by what stands between them, or into words, and texts in quotes, brackets and braces.

use crate::robots::hex_byte;
use memchr::{memchr, memchr2, memchr3, memmem};
use std::borrow::Cow;

/// How a cell is enclosed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enclosure {
    Word,
    Quotes,
    Brackets,
    Braces,
}

/// A cell of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogCell<'a> {
    pub(super) enclosure: Enclosure,
    /// What is within its quotes.
    pub(super) text: &'a [u8],
    /// The same with the key of `key="text"`.
    whole: &'a [u8],
}

impl<'a> LogCell<'a> {
    fn of(line: &'a [u8], enclosure: Enclosure, key: usize, start: usize, end: usize) -> Self {
        let part = |start| line.get(start..end).unwrap_or_default();
        Self { enclosure, text: part(start), whole: part(key) }
    }

    /// Key and value of `key=value`, `key="value"`, `key:value` and `[key value]`.
    pub(super) fn pair(&self) -> Option<(&'a [u8], &'a [u8])> {
        let has_key = self.whole.len() > self.text.len();
        let end = match self.enclosure {
            Enclosure::Brackets => memchr(b' ', self.whole)?,
            Enclosure::Quotes if !has_key => return None,
            _ => memchr2(b'=', b':', self.whole)?,
        };
        Some((self.whole.get(..end)?, if has_key { self.text } else { self.whole.get(end + 1..)? }))
    }
}

/// Cuts a line; without a separator into words and what is enclosed.
pub(super) fn cut(line: &[u8], separator: Option<u8>) -> Vec<LogCell<'_>> {
    separator.map_or_else(|| cut_words(line), |separator| cut_table(line, separator))
}

fn cut_words(line: &[u8]) -> Vec<LogCell<'_>> {
    let (mut cells, mut at) = (Vec::new(), 0);
    while let Some(first) = line.get(at) {
        let start = at + 1;
        let enclosed = match first {
            b' ' | b'\t' => {
                at += 1;
                continue;
            }
            b'"' => Some((Enclosure::Quotes, quote_end(line, start))),
            b'[' => closing(line, start, b']').map(|end| (Enclosure::Brackets, end)),
            b'{' => closing(line, start, b'}').map(|end| (Enclosure::Braces, end)),
            _ => None,
        };
        let mut start = start;
        let Some((enclosure, end)) = enclosed else {
            let (enclosure, start, end) = word(line, at);
            cells.push(LogCell::of(line, enclosure, at, start, end));
            at = end + usize::from(enclosure == Enclosure::Quotes);
            continue;
        };
        // What HAProxy captured stands between bars.
        while enclosure == Enclosure::Braces
            && let Some(bar) = line.get(start..end).and_then(|rest| memchr(b'|', rest))
        {
            cells.push(LogCell::of(line, enclosure, start, start, start + bar));
            start += bar + 1;
        }
        cells.push(LogCell::of(line, enclosure, start, start, end));
        at = end + 1;
    }
    cells
}

fn closing(line: &[u8], start: usize, mark: u8) -> Option<usize> {
    Some(start + memchr(mark, line.get(start..)?)?)
}

/// A word that begins at `start`, or what is in quotes behind `key=`. Lists have a blank behind each comma, nginx's of several
/// upstreams a colon between blanks; a day and a time of day, and a time and its zone, are one.
fn word(line: &[u8], start: usize) -> (Enclosure, usize, usize) {
    let mut at = start;
    loop {
        let Some(found) = line.get(at..).and_then(|rest| memchr3(b' ', b'\t', b'"', rest)) else {
            return (Enclosure::Word, start, line.len());
        };
        at += found;
        let (word, behind) =
            (line.get(start..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default());
        let is_quote = line.get(at) == Some(&b'"');
        if is_quote && (word.ends_with(b"=") || word.ends_with(b":")) {
            return (Enclosure::Quotes, at + 1, quote_end(line, at + 1));
        }
        let goes_on = match (word, behind) {
            _ if is_quote => true,
            ([.., _, b','], [next, ..]) => next.is_ascii_alphanumeric(),
            ([.., b' ', b':'], _) => true,
            ([_, _, b'/', .., _, _, b':', _, _], [b'+' | b'-', zone, ..]) => zone.is_ascii_digit(),
            (_, [mark, behind, minute, ..]) => match word {
                [_, _, _, _, b'-' | b'/', _, _, b'-' | b'/', _, _] => *minute == b':',
                _ => (*mark, *behind) == (b':', b' '),
            },
            _ => false,
        };
        if !goes_on {
            return (Enclosure::Word, start, at);
        }
        at += 1;
    }
}

/// Cells between separators; one in quotes may hold the separator, and quotes doubled (RFC 4180 §2).
fn cut_table(line: &[u8], separator: u8) -> Vec<LogCell<'_>> {
    let (mut cells, mut at) = (Vec::new(), Some(0));
    while let Some(mut start) = at {
        // Some write blanks around the separator.
        while separator != b' ' && line.get(start) == Some(&b' ') {
            start += 1;
        }
        let is_quoted = line.get(start) == Some(&b'"');
        start += usize::from(is_quoted);
        let mut end = if is_quoted { quote_end(line, start) } else { start };
        at = line.get(end..).and_then(|rest| memchr(separator, rest)).map(|found| end + found + 1);
        if !is_quoted {
            end = at.map_or(line.len(), |next| next - 1);
            end = start + line.get(start..end).unwrap_or_default().trim_ascii_end().len();
        }
        let enclosure = if is_quoted { Enclosure::Quotes } else { Enclosure::Word };
        cells.push(LogCell::of(line, enclosure, start, start, end));
    }
    cells
}

/// Where a quoted text ends: at a quote with nothing behind it but the end of a cell. A quote within is written as `\"`, `\x22`
/// or twice. A line that was cut off ends its last text.
pub(super) fn quote_end(line: &[u8], start: usize) -> usize {
    let mut at = start;
    while let Some(found) = line.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += found;
        match (line.get(at), line.get(at + 1)) {
            (Some(b'"'), None | Some(b' ' | b'\t' | b',' | b']' | b'}' | b'|' | b';')) => return at,
            (Some(b'\\'), _) | (_, Some(b'"')) => at += 2,
            _ => at += 1,
        }
    }
    line.len()
}

/// A text without the escapes that servers write.
pub(super) fn unescaped(text: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = memchr2(b'\\', b'"', text) else { return Cow::Borrowed(text) };
    let (plain, mut rest) = text.split_at_checked(first).unwrap_or((text, b""));
    let mut whole = plain.to_vec();
    while let [first, ..] = rest {
        let hex = match rest {
            [b'\\', b'x', high, low, ..] => hex_byte(*high, *low).map(|byte| (byte, 4)),
            // JSON's (RFC 8259 §7), as nginx escapes it.
            [b'\\', b'u', b'0', b'0', high, low, ..] => hex_byte(*high, *low).map(|byte| (byte, 6)),
            _ => None,
        };
        let (byte, length) = match (hex, rest) {
            (Some(hex), _) => hex,
            (_, [b'\\', letter, ..]) => {
                let control = b"nrtvbf".iter().zip(b"\n\r\t\x0B\x08\x0C").find(|(name, _)| *name == letter);
                (control.map_or(*letter, |(_, control)| *control), 2)
            }
            (_, [b'"', b'"', ..]) => (b'"', 2),
            _ => (*first, 1),
        };
        whole.push(byte);
        rest = rest.get(length..).unwrap_or_default();
    }
    Cow::Owned(whole)
}

/// A text with the bytes that `mark` and two hexadecimal digits stand for.
pub(in crate::ctl) fn decoded(text: &[u8], mark: &[u8]) -> Vec<u8> {
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, tail @ ..] = rest {
        let escaped = match rest.strip_prefix(mark) {
            Some([high, low, tail @ ..]) => hex_byte(*high, *low).map(|byte| (byte, tail)),
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((*first, tail));
        whole.push(byte);
        rest = tail;
    }
    whole
}

/// `+` is a blank, but in front of a link: operators write `+http://…` behind a blank or a bracket.
pub(super) fn with_blanks(text: &[u8]) -> Vec<u8> {
    let is_link = |at: usize| {
        let behind = text.get(at + 1..).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        (behind.starts_with(b"http") || behind.starts_with(b"www.")) && matches!(before, Some(b'(' | b'+'))
    };
    let blank = |(at, byte): (usize, &u8)| if *byte == b'+' && !is_link(at) { b' ' } else { *byte };
    text.iter().enumerate().map(blank).collect()
}

/// A header that was percent-encoded, once or twice. A header with a blank was not.
pub(super) fn percent_decoded(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let has = |text: &[u8], marks: &[&[u8]]| marks.iter().any(|mark| memmem::find(text, mark).is_some());
    let is_encoded =
        |text: &[u8]| !text.contains(&b' ') && has(text, &[b"%20", b"%25", b"%2F", b"%2f", b"%28"]);
    if !is_encoded(&text) {
        return text;
    }
    // As forms are encoded, a blank is a plus.
    let is_form = text.contains(&b'+') && !has(&text, &[b"%20", b"%2520"]);
    let once = decoded(&if is_form { Cow::Owned(with_blanks(&text)) } else { text }, b"%");
    Cow::Owned(if is_encoded(&once) { decoded(&once, b"%") } else { once })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(line: &str, separator: Option<u8>) -> Vec<String> {
        let cells = cut(line.as_bytes(), separator);
        cells.iter().map(|cell| String::from_utf8_lossy(cell.text).into_owned()).collect()
    }

    #[test]
    fn words_and_what_is_enclosed() {
        for (line, wanted) in [
            (
                r#"a, b - [c d] "e \" f" {g|h i|} k"#,
                &["a, b", "-", "c d", r#"e \" f"#, "g", "h i", "", "k"][..],
            ),
            (
                "2025-12-19 13:40:30,1 x 19/Dec/2025:13:40:30 +0100 y",
                &["2025-12-19 13:40:30,1", "x", "19/Dec/2025:13:40:30 +0100", "y"],
            ),
            (r#"rt=1 ua="x y" 0.1 : 0.2, 0.3 [z"#, &["rt=1", "x y", "0.1 : 0.2, 0.3", "[z"]),
            (r#""" "a"b" "cut"#, &["", "a\"b", "cut"]),
        ] {
            assert_eq!(cells(line, None), wanted, "{line}");
        }
    }

    #[test]
    fn tables_and_their_quotes() {
        assert_eq!(cells(r#""a,""b"" c",d ,"",e"#, Some(b',')), ["a,\"\"b\"\" c", "d", "", "e"]);
        assert_eq!(unescaped(br#"a,""b"" \x22\"\\n\u0022\t"#), &b"a,\"b\" \"\"\\n\"\t"[..]);
    }

    #[test]
    fn bytes_are_what_they_stand_for() {
        let sent = b"/caf\xe9/\\x41\\/\xc3\xa9";
        assert_eq!(decoded(crate::record::printable(sent).as_bytes(), b"\\x"), sent);
        assert_eq!(decoded(b"/\\x4", b"\\x"), b"/\\x4");
    }

    #[test]
    fn blanks_of_iis_and_links() {
        for (logged, sent) in [
            ("BUbiNG+(+http://law.di.unimi.it/BUbiNG.html)", "BUbiNG (+http://law.di.unimi.it/BUbiNG.html)"),
            (
                "Mozilla/5.0+(compatible;+Googlebot/2.1;++http://g.example/)",
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://g.example/)",
            ),
            ("curl/8.5.0", "curl/8.5.0"),
        ] {
            assert_eq!(String::from_utf8(with_blanks(logged.as_bytes())).unwrap(), sent);
        }
    }

    #[test]
    fn headers_are_decoded_once_or_twice() {
        for (logged, sent) in [
            ("GPTBot/1.2;%2520+https://a.example", "GPTBot/1.2; +https://a.example"),
            ("Mozilla/5.0%20(X11)", "Mozilla/5.0 (X11)"),
            ("App/1 CFNetwork%2F1", "App/1 CFNetwork%2F1"),
        ] {
            assert_eq!(&*percent_decoded(Cow::Borrowed(logged.as_bytes())), sent.as_bytes());
        }
    }
}
