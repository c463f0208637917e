//! Logs in columns: W3C extended logs (IIS, `CloudFront`), whose names stand in a line of their own, and tables of commas, tabs
//! or bars, with a head or without one.

use super::entry::FieldsOfLine;
use super::guess;
use super::names::{LogField, field_of, spoken};
use super::pieces::{quote_end, unescaped};
use crate::robots::hex_byte;
use std::borrow::Cow;

/// What stands between the cells of a table.
const SEPARATORS: [u8; 4] = [b'\t', b'|', b';', b','];

/// What `#Fields:` begins with, in the W3C's extended log file format.
const FIELDS: &[u8] = b"#Fields:";

/// The columns of logs that are known without a head: `CloudFront`'s real-time and standard logs, IIS's, Bunny's and Tencent's,
/// as they offer them.
const HEADLESS: [(u8, &str); 5] = [
    (
        b'\t',
        "timestamp c-ip time-to-first-byte sc-status sc-bytes cs-method cs-protocol cs-host cs-uri-stem cs-bytes \
         x-edge-location x-edge-request-id x-host-header time-taken cs-protocol-version c-ip-version cs-user-agent \
         cs-referer cs-cookie cs-uri-query",
    ),
    (
        b'\t',
        "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) \
         cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header",
    ),
    (
        b' ',
        "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status \
         sc-substatus sc-win32-status time-taken",
    ),
    (b'|', "cache status timestamp bytes zone client-ip referer url edge user-agent request-id country"),
    (
        b' ',
        "time client-ip vhost request-uri bytes province isp status referer time-taken user-agent range method protocol",
    ),
];

/// The columns of a log.
#[derive(Clone, Debug)]
pub(super) struct LogColumns {
    fields: Vec<Option<(LogField, usize)>>,
    /// What stands between two of them; `None` for blanks or tabs, as the W3C has it.
    separator: Option<u8>,
    /// Whether texts may have the escapes that nginx and Apache write.
    is_escaped: bool,
}

impl LogColumns {
    /// Those that a line names: `#Fields: …`, or the head of a table. `None` for other lines.
    pub(super) fn named_by(line: &[u8]) -> Option<Self> {
        if let Some(names) = line.strip_prefix(FIELDS) {
            let names = std::str::from_utf8(names).ok()?;
            return Some(Self::of(names.split_ascii_whitespace(), None));
        }
        let separator = SEPARATORS.into_iter().find(|separator| line.contains(separator))?;
        let line = std::str::from_utf8(line).ok()?;
        let names = line.split(char::from(separator)).map(|name| name.trim().trim_matches('"'));
        let columns = Self::of(names, Some(separator));
        let has = |field| columns.fields.iter().flatten().any(|(known, _)| *known == field);
        (has(LogField::Time) && has(LogField::Status) && !line.contains(": ")).then_some(columns)
    }

    /// Those of lines without a head, known by what stands in them.
    pub(super) fn without_head(lines: &[&[u8]]) -> Option<Self> {
        for (separator, names) in HEADLESS {
            // The target begins with a slash, and the time is one, where these names say so.
            let columns = Self::of(names.split(' '), Some(separator).filter(|separator| *separator != b' '));
            let is_read = |line: &&[u8]| {
                let cells = line.split(|byte| *byte == separator).count();
                cells >= columns.fields.len() && columns.read(line).is_of_columns()
            };
            if lines.first().is_some_and(is_read) {
                return Some(columns);
            }
        }
        SEPARATORS.into_iter().find_map(|separator| {
            let cells = |line: &&'_ [u8]| -> Vec<Vec<u8>> {
                Cells { rest: Some(line), separator }.map(Cow::into_owned).collect()
            };
            let rows: Vec<Vec<Vec<u8>>> = lines.iter().map(cells).collect();
            let width = rows.iter().map(Vec::len).max()?;
            let column = |at| rows.iter().filter_map(|row| row.get(at).map(Vec::as_slice)).collect();
            let columns: Vec<Vec<&[u8]>> = (0..width).map(column).collect();
            let fields = guess::fields_of(&columns)?.into_iter().map(|field| Some((field?, 0))).collect();
            Some(Self { fields, separator: Some(separator), is_escaped: true })
        })
    }

    fn of<'n>(names: impl Iterator<Item = &'n str>, separator: Option<u8>) -> Self {
        let fields = names.map(|name| field_of(&spoken(name))).collect();
        Self { fields, separator, is_escaped: separator == Some(b'|') }
    }

    /// The fields of a line.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> FieldsOfLine<'a> {
        let separator = self.separator.unwrap_or_else(|| if line.contains(&b'\t') { b'\t' } else { b' ' });
        let mut fields = FieldsOfLine::default();
        let mut cells = Cells { rest: Some(line), separator };
        for field in &self.fields {
            let Some(cell) = cells.next() else { break };
            let Some((field, trust)) = *field else { continue };
            fields.put((field, trust), self.decoded(field, cell, separator));
        }
        fields
    }

    /// A cell as the client sent it. IIS writes `+` for a blank. `CloudFront` encodes what a URL may not hold, and what was
    /// encoded already a second time.
    fn decoded<'a>(&self, field: LogField, cell: Cow<'a, [u8]>, separator: u8) -> Cow<'a, [u8]> {
        match (field, self.separator, separator) {
            _ if self.is_escaped => match cell {
                Cow::Borrowed(cell) => unescaped(cell),
                owned @ Cow::Owned(_) => owned,
            },
            (LogField::UserAgent, None, b' ') if !cell.contains(&b' ') => Cow::Owned(with_blanks(&cell)),
            (LogField::UserAgent, ..) => percent_decoded(cell),
            (LogField::Path | LogField::Query | LogField::Target, None, b'\t')
                if memchr::memmem::find(&cell, b"%25").is_some() =>
            {
                Cow::Owned(replaced(&cell, b"%25", b"%"))
            }
            _ => cell,
        }
    }
}

/// The cells of a line; one in quotes may hold the separator, and quotes doubled (RFC 4180 §2).
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Cow<'a, [u8]>> {
        let rest = self.rest?;
        // Some write blanks around the separator.
        let blanks = rest.iter().take_while(|byte| **byte == b' ' && self.separator != b' ').count();
        let rest = rest.get(blanks..)?;
        if let Some((inside, end)) =
            rest.strip_prefix(b"\"").and_then(|inside| Some((inside, closing(inside)?)))
        {
            let behind = inside.get(end + 1..)?;
            self.rest = memchr::memchr(self.separator, behind).and_then(|at| behind.get(at + 1..));
            let cell = inside.get(..end)?;
            let is_plain = !cell.contains(&b'"');
            return Some(if is_plain {
                Cow::Borrowed(cell)
            } else {
                Cow::Owned(replaced(cell, b"\"\"", b"\""))
            });
        }
        let end = memchr::memchr(self.separator, rest);
        self.rest = end.and_then(|end| rest.get(end + 1..));
        Some(Cow::Borrowed(rest.get(..end.unwrap_or(rest.len()))?.trim_ascii_end()))
    }
}

/// Where a text in quotes ends, in which quotes are doubled.
fn closing(inside: &[u8]) -> Option<usize> {
    let mut end = 0;
    loop {
        end += memchr::memchr(b'"', inside.get(end..)?)?;
        if inside.get(end + 1) != Some(&b'"') {
            return Some(end);
        }
        end += 2;
    }
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut whole, mut at) = (Vec::with_capacity(text.len()), 0);
    for found in memchr::memmem::find_iter(text, from) {
        whole.extend_from_slice(text.get(at..found).unwrap_or_default());
        whole.extend_from_slice(to);
        at = found + from.len();
    }
    whole.extend_from_slice(text.get(at..).unwrap_or_default());
    whole
}

/// `+` is a blank, but in front of a link: operators write `+http://…` behind a blank or a bracket.
pub(super) fn with_blanks(cell: &[u8]) -> Vec<u8> {
    let is_link = |at: usize| {
        let begins =
            cell.get(at + 1..).is_some_and(|rest| rest.starts_with(b"http") || rest.starts_with(b"www."));
        begins
            && at
                .checked_sub(1)
                .and_then(|before| cell.get(before))
                .is_some_and(|byte| matches!(byte, b'(' | b'+'))
    };
    cell.iter()
        .enumerate()
        .map(|(at, byte)| if *byte == b'+' && !is_link(at) { b' ' } else { *byte })
        .collect()
}

/// A header that was percent-encoded, once or twice. A header with a blank was not.
pub(super) fn percent_decoded(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    let has =
        |text: &[u8], marks: &[&[u8]]| marks.iter().any(|mark| memchr::memmem::find(text, mark).is_some());
    let is_encoded =
        |text: &[u8]| !text.contains(&b' ') && has(text, &[b"%20", b"%25", b"%2F", b"%2f", b"%28"]);
    if !is_encoded(&text) {
        return text;
    }
    // As forms are encoded, a blank is a plus.
    let is_form = text.contains(&b'+') && !has(&text, &[b"%20", b"%2520"]);
    let once =
        if is_form { decoded_once(&replaced(&text, b"+", b" "), b'%') } else { decoded_once(&text, b'%') };
    Cow::Owned(if is_encoded(&once) { decoded_once(&once, b'%') } else { once })
}

/// A text with the bytes that `mark` and two hexadecimal digits stand for.
pub(super) fn decoded_once(text: &[u8], mark: u8) -> Vec<u8> {
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [byte, tail @ ..] = rest {
        let escaped = match tail {
            [high, low, tail @ ..] if *byte == mark => hex_byte(*high, *low).map(|byte| (byte, tail)),
            _ => None,
        };
        let (byte, tail) = escaped.unwrap_or((*byte, tail));
        whole.push(byte);
        rest = tail;
    }
    whole
}

/// The fields of a line of `key=value` and `key="value"`, as Heroku's router writes it, or of `key:value` between tabs. `None`
/// for other lines.
pub(super) fn pairs(line: &[u8]) -> Option<FieldsOfLine<'_>> {
    let mut fields = FieldsOfLine::default();
    let mut count = 0;
    let mut put = |key: &[u8], value| {
        if let Some(found) = std::str::from_utf8(key).ok().and_then(|key| field_of(&spoken(key))) {
            fields.put(found, value);
            count += 1;
        }
    };
    if line.contains(&b'\t') {
        for cell in line.split(|byte| *byte == b'\t') {
            let colon = memchr::memchr(b':', cell)?;
            put(cell.get(..colon)?, unescaped(cell.get(colon + 1..)?));
        }
    } else {
        let mut rest = line;
        while let Some(equals) = memchr::memchr(b'=', rest) {
            let key = rest.get(..equals)?.rsplit(|byte| *byte == b' ').next()?;
            let value = rest.get(equals + 1..)?;
            let (value, tail) = match value.strip_prefix(b"\"") {
                Some(inside) => inside.split_at_checked(quote_end(inside, 0))?,
                None => value.split_at_checked(memchr::memchr(b' ', value).unwrap_or(value.len()))?,
            };
            put(key, unescaped(value));
            rest = tail;
        }
    }
    (count > 2).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::entry::LoggedUserAgent;
    use super::*;
    use bytes::Bytes;

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

    #[test]
    fn a_table_names_its_columns() {
        let head = br#""time_micros","c_ip","cs_method","cs_uri","sc_status","cs_user_agent""#;
        let columns = LogColumns::named_by(head).unwrap();
        let line = br#""1700000000000000","192.0.2.1","GET","/a,b?c","200","x ""y"" z""#;
        let entry = columns.read(line).entry(&Bytes::new(), false, None).unwrap();
        assert_eq!(entry.at, 1_700_000_000_000_000);
        assert_eq!(&*entry.request.unwrap().1, b"/a,b?c");
        assert_eq!(entry.agent, LoggedUserAgent::Sent(Bytes::from_static(b"x \"y\" z")));
        assert!(LogColumns::named_by(b"192.0.2.1, 192.0.2.2 - - [x] \"GET / HTTP/1.1\" 200 1").is_none());
    }

    #[test]
    fn pairs_of_keys_and_values() {
        let line =
            br#"at=info method=GET path="/a b" host=h.example fwd="192.0.2.1" dyno=web.1 status=200 bytes=5"#;
        let entry = pairs(line).unwrap().entry(&Bytes::new(), false, Some(1)).unwrap();
        assert_eq!((entry.status, entry.size, entry.agent), (Some(200), Some(5), LoggedUserAgent::Unlogged));
        assert!(pairs(b"192.0.2.1 - - [x] \"GET /?a=b&c=d HTTP/1.1\" 200 1").is_none());
    }
}
