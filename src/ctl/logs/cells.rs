//! A line cut into cells: by what stands between them, or into words, and texts in quotes, brackets and braces.

use crate::robots::hex_byte;
use bstr::ByteSlice as _;
use memchr::{memchr, memchr2, memchr3, memmem};
use std::borrow::Cow;
use std::iter::from_fn;

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
    /// With the key of `key="text"`.
    whole: &'a [u8],
    /// What is within its quotes.
    pub(super) text: &'a [u8],
}

impl<'a> LogCell<'a> {
    /// Key and value of `key=value`, `key="value"`, `key:value` and `[key value]`.
    pub(super) fn pair(&self) -> Option<(&'a [u8], &'a [u8])> {
        let (whole, has_key) = (self.whole, self.whole.len() > self.text.len());
        let end = match self.enclosure {
            Enclosure::Brackets => memchr(b' ', whole)?,
            Enclosure::Quotes if !has_key => return None,
            _ => memchr2(b'=', b':', whole)?,
        };
        Some((whole.get(..end)?, if has_key { self.text } else { whole.get(end + 1..)? }))
    }
}

/// How a cell is enclosed; where the key of `key="text"` begins, or else the text; where the text does; and where it ends.
type CellSpan = (Enclosure, usize, usize, usize);

/// The cells of a line; without a separator words and what is enclosed.
pub(super) fn cells(line: &[u8], separator: Option<u8>) -> impl Iterator<Item = LogCell<'_>> {
    let (mut at, mut braces) = (0, 0);
    from_fn(move || {
        let (enclosure, key, start, end) = match separator {
            Some(separator) => next_of_table(line, separator, &mut at)?,
            None => next_word(line, &mut at, &mut braces)?,
        };
        let [whole, text] = [key, start].map(|start| line.get(start..end).unwrap_or_default());
        Some(LogCell { enclosure, whole, text })
    })
}

/// The word or what is enclosed from `at` on, which goes on behind it; `braces` is where those end that were opened last.
fn next_word(line: &[u8], at: &mut usize, braces: &mut usize) -> Option<CellSpan> {
    // What HAProxy captured stands between bars.
    if *at < *braces {
        let (start, inside) = (*at, line.get(*at..*braces - 1)?);
        let end = start + memchr(b'|', inside).unwrap_or(inside.len());
        *at = end + 1;
        return Some((Enclosure::Braces, start, start, end));
    }
    let first = *at + line.get(*at..)?.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let start = first + 1;
    let closing = |mark| Some(start + memchr(mark, line.get(start..)?)?);
    let enclosed = match line.get(first)? {
        b'"' => Some((Enclosure::Quotes, quote_end(line, start))),
        b'[' => closing(b']').map(|end| (Enclosure::Brackets, end)),
        b'{' => closing(b'}').map(|end| (Enclosure::Braces, end)),
        _ => None,
    };
    if let Some((Enclosure::Braces, end)) = enclosed {
        (*at, *braces) = (start, end + 1);
        return next_word(line, at, braces);
    }
    let span = enclosed.map_or_else(|| word(line, first), |(enclosure, end)| (enclosure, start, start, end));
    *at = span.3 + 1;
    Some(span)
}

/// A word that begins at `start`, or what is in quotes behind `key=`. Lists have a blank behind each comma, nginx's of several
/// upstreams a colon between blanks; a day and a time of day, and a time and its zone, are one.
fn word(line: &[u8], start: usize) -> CellSpan {
    let mut at = start;
    loop {
        let Some(found) = line.get(at..).and_then(|rest| memchr3(b' ', b'\t', b'"', rest)) else {
            return (Enclosure::Word, start, start, line.len());
        };
        at += found;
        let (word, behind) =
            (line.get(start..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default());
        let is_quote = line.get(at) == Some(&b'"');
        if is_quote && (word.ends_with(b"=") || word.ends_with(b":")) {
            return (Enclosure::Quotes, start, at + 1, quote_end(line, at + 1));
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
            return (Enclosure::Word, start, start, at);
        }
        at += 1;
    }
}

/// The cell from `at` on up to a separator; one in quotes may hold the separator, and quotes doubled (RFC 4180 §2).
fn next_of_table(line: &[u8], separator: u8, at: &mut usize) -> Option<CellSpan> {
    // Some write blanks around the separator.
    let blanks = line.get(*at..)?.iter().take_while(|byte| **byte == b' ' && separator != b' ').count();
    let is_quoted = line.get(*at + blanks) == Some(&b'"');
    let start = *at + blanks + usize::from(is_quoted);
    let end = if is_quoted { quote_end(line, start) } else { start };
    let next = end + memchr(separator, line.get(end..)?).unwrap_or(line.len() - end);
    *at = next + 1;
    if is_quoted {
        return Some((Enclosure::Quotes, start, start, end));
    }
    Some((Enclosure::Word, start, start, start + line.get(start..next)?.trim_ascii_end().len()))
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
    while let [first, tail @ ..] = rest {
        // JSON has another form (RFC 8259 §7), as nginx escapes it.
        let hex = escaped(rest, b"\\x").or_else(|| escaped(rest, b"\\u00"));
        let (byte, tail) = match (hex, rest) {
            (Some(hex), _) => hex,
            (_, [b'\\', letter, tail @ ..]) => {
                let control = b"nrtvbf".iter().zip(b"\n\r\t\x0B\x08\x0C").find(|(name, _)| *name == letter);
                (control.map_or(*letter, |(_, control)| *control), tail)
            }
            (_, [b'"', b'"', tail @ ..]) => (b'"', tail),
            _ => (*first, tail),
        };
        whole.push(byte);
        rest = tail;
    }
    Cow::Owned(whole)
}

/// A text with the bytes that `mark` and two hexadecimal digits stand for.
pub(in crate::ctl) fn decoded(text: &[u8], mark: &[u8]) -> Vec<u8> {
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [first, tail @ ..] = rest {
        let (byte, tail) = escaped(rest, mark).unwrap_or((*first, tail));
        whole.push(byte);
        rest = tail;
    }
    whole
}

/// The byte that `mark` and two hexadecimal digits stand for where a text begins with them, and what is behind.
fn escaped<'a>(text: &'a [u8], mark: &[u8]) -> Option<(u8, &'a [u8])> {
    let [high, low, tail @ ..] = text.strip_prefix(mark)? else { return None };
    Some((hex_byte(*high, *low)?, tail))
}

/// `+` is a blank, but in front of a link: operators write `+http://…` behind a blank or a bracket.
pub(super) fn with_blanks(text: &[u8]) -> Vec<u8> {
    let links = [("( http", "(+http"), ("  http", " +http"), ("( www.", "(+www."), ("  www.", " +www.")];
    links.iter().fold(text.replace("+", " "), |text, (blank, plus)| text.replace(blank, plus))
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

    fn texts(line: &str, separator: Option<u8>) -> Vec<String> {
        let cells = cells(line.as_bytes(), separator);
        cells.map(|cell| String::from_utf8_lossy(cell.text).into_owned()).collect()
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
            assert_eq!(texts(line, None), wanted, "{line}");
        }
    }

    #[test]
    fn tables_and_their_quotes() {
        assert_eq!(texts(r#""a,""b"" c",d ,"",e"#, Some(b',')), ["a,\"\"b\"\" c", "d", "", "e"]);
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
