//! Logs in columns, whose names stand in a line of their own: W3C extended logs (IIS, `CloudFront`), and tables of commas or
//! tabs with a head.

use super::entry::FieldsOfLine;
use super::names::{LogField, field_of, spoken};
use crate::hex;
use std::borrow::Cow;

/// What `#Fields:` begins with, in the W3C's extended log file format.
const FIELDS: &[u8] = b"#Fields:";

/// The columns of `CloudFront`'s real-time logs as it offers them: they have no head.
const REAL_TIME: &str = "timestamp c-ip time-to-first-byte sc-status sc-bytes cs-method cs-protocol cs-host cs-uri-stem \
                         cs-bytes x-edge-location x-edge-request-id x-host-header time-taken cs-protocol-version \
                         c-ip-version cs-user-agent cs-referer cs-cookie cs-uri-query";

/// The columns of a log.
#[derive(Clone, Debug)]
pub(super) struct LogColumns {
    fields: Vec<Option<(LogField, usize)>>,
    /// What stands between two of them; `None` for blanks or tabs, as the W3C has it.
    separator: Option<u8>,
}

impl LogColumns {
    /// Those that a line names: `#Fields: …`, or the head of a table. `None` for other lines.
    pub(super) fn named_by(line: &[u8]) -> Option<Self> {
        if let Some(names) = line.strip_prefix(FIELDS) {
            let names = std::str::from_utf8(names).ok()?;
            return Some(Self::of(names.split_ascii_whitespace(), None));
        }
        let separator = [b',', b'\t'].into_iter().find(|separator| line.contains(separator))?;
        let line = std::str::from_utf8(line).ok()?;
        let names: Vec<&str> = line.split(char::from(separator)).map(|name| name.trim_matches('"')).collect();
        let columns = Self::of(names.into_iter(), Some(separator));
        let has = |field| columns.fields.iter().flatten().any(|(known, _)| *known == field);
        (has(LogField::Time) && has(LogField::Status) && !line.contains(": ")).then_some(columns)
    }

    /// The columns of `CloudFront`'s real-time logs, where these lines have them.
    pub(super) fn real_time(line: &[u8]) -> Option<Self> {
        let cells: Vec<&[u8]> = line.split(|byte| *byte == b'\t').collect();
        let is_time = cells.first()?.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
        let is_host = cells.get(8)?.starts_with(b"/");
        (is_time && is_host && cells.len() >= 20).then(|| Self::of(REAL_TIME.split(' '), Some(b'\t')))
    }

    fn of<'n>(names: impl Iterator<Item = &'n str> + Clone, separator: Option<u8>) -> Self {
        let has_day = names.clone().any(|name| name == "date");
        let field = |name: &str| match name {
            "time" if has_day => Some((LogField::Clock, 0)),
            "date" => Some((LogField::Time, 0)),
            _ => field_of(&spoken(name)),
        };
        Self { fields: names.map(field).collect(), separator }
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
            (LogField::UserAgent, None, b' ') => Cow::Owned(with_blanks(&cell)),
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
        if self.separator != b' '
            && let Some(inside) = rest.strip_prefix(b"\"")
        {
            let mut end = 0;
            loop {
                end += memchr::memchr(b'"', inside.get(end..)?)?;
                if inside.get(end + 1) != Some(&b'"') {
                    break;
                }
                end += 2;
            }
            self.rest = inside.get(end + 2..);
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
        Some(Cow::Borrowed(rest.get(..end.unwrap_or(rest.len()))?))
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
fn with_blanks(cell: &[u8]) -> Vec<u8> {
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
    let is_encoded = |text: &[u8]| {
        !text.contains(&b' ')
            && [&b"%20"[..], b"%25", b"%2F", b"%2f"]
                .iter()
                .any(|mark| memchr::memmem::find(text, mark).is_some())
    };
    if !is_encoded(&text) {
        return text;
    }
    let once = decoded_once(&text);
    Cow::Owned(if is_encoded(&once) { decoded_once(&once) } else { once })
}

fn decoded_once(text: &[u8]) -> Vec<u8> {
    let (mut whole, mut rest) = (Vec::with_capacity(text.len()), text);
    while let [byte, tail @ ..] = rest {
        rest = match (byte, tail) {
            (b'%', [high, low, tail @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                whole.push(hex::digit(*high) << 4 | hex::digit(*low));
                tail
            }
            _ => {
                whole.push(*byte);
                tail
            }
        };
    }
    whole
}

/// The fields of a line of `key=value` and `key="value"`, as Heroku's router writes it. `None` for other lines.
pub(super) fn pairs(line: &[u8]) -> Option<FieldsOfLine<'_>> {
    let mut fields = FieldsOfLine::default();
    let (mut rest, mut count) = (line, 0);
    while let Some(equals) = memchr::memchr(b'=', rest) {
        let key = rest.get(..equals)?.rsplit(|byte| *byte == b' ').next()?;
        let value = rest.get(equals + 1..)?;
        let (value, tail) = match value.strip_prefix(b"\"") {
            Some(inside) => inside.split_at_checked(memchr::memchr(b'"', inside)?)?,
            None => value.split_at_checked(memchr::memchr(b' ', value).unwrap_or(value.len()))?,
        };
        if let Some(found) = std::str::from_utf8(key).ok().and_then(|key| field_of(&spoken(key))) {
            fields.put(found, Cow::Borrowed(value));
            count += 1;
        }
        rest = tail;
    }
    (count > 2).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::super::entry::LoggedUserAgent;
    use super::*;

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
        let entry = columns.read(line).entry(false, None).unwrap();
        assert_eq!(entry.at, 1_700_000_000_000_000);
        assert_eq!(&*entry.request.unwrap().1, b"/a,b?c");
        assert_eq!(entry.agent, LoggedUserAgent::Sent(Cow::Borrowed(b"x \"y\" z")));
        assert!(LogColumns::named_by(b"192.0.2.1, 192.0.2.2 - - [x] \"GET / HTTP/1.1\" 200 1").is_none());
    }

    #[test]
    fn pairs_of_keys_and_values() {
        let line =
            br#"at=info method=GET path="/a b" host=h.example fwd="192.0.2.1" dyno=web.1 status=200 bytes=5"#;
        let entry = pairs(line).unwrap().entry(false, Some(1)).unwrap();
        assert_eq!((entry.status, entry.size, entry.agent), (Some(200), Some(5), LoggedUserAgent::Unlogged));
        assert!(pairs(b"192.0.2.1 - - [x] \"GET /?a=b&c=d HTTP/1.1\" 200 1").is_none());
    }
}
