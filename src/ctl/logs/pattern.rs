//! `--log-format`: a format as the operator's server has it, nginx's `log_format` or Apache's `LogFormat`.

use super::entry::FieldsOfLine;
use super::names::{LogField, field_of, spoken};
use super::pieces::{quote_end, unescaped};
use crate::ctl::VerbFailure;
use std::path::{Path, PathBuf};

/// nginx's own, and Apache's usual ones.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Where nginx's formats are looked up by name.
const NGINX: [&str; 4] = [
    "/etc/nginx/nginx.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/etc/nginx/conf.d",
    "/etc/nginx/sites-enabled",
];

/// Apache's letters.
const LETTERS: [(char, LogField); 14] = [
    ('h', LogField::Address),
    ('a', LogField::Address),
    ('t', LogField::Time),
    ('r', LogField::RequestLine),
    ('m', LogField::Method),
    ('U', LogField::Path),
    ('q', LogField::Query),
    ('v', LogField::Host),
    ('V', LogField::Host),
    ('s', LogField::Status),
    ('b', LogField::Size),
    ('B', LogField::Size),
    ('O', LogField::Size),
    ('I', LogField::Rewritten),
];

/// A piece of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FormatPiece {
    /// As it stands in each line.
    Text(Vec<u8>),
    /// What the server puts in; `None` where it is not needed.
    Field(Option<(LogField, usize)>),
}

/// A format.
#[derive(Clone, Debug)]
pub(in crate::ctl) struct LogPattern {
    pieces: Vec<FormatPiece>,
}

impl LogPattern {
    /// The format that an operator names or writes out.
    ///
    /// # Errors
    /// When there is no format of that name, or it cannot be read as one.
    pub(in crate::ctl) fn named(text: &str) -> Result<Self, VerbFailure> {
        if text == "combined" {
            return Self::parse(COMBINED);
        }
        if text.contains(['$', '%']) {
            return Self::parse(text);
        }
        let (places, name) = match text.rsplit_once(':') {
            Some((file, name)) => (vec![PathBuf::from(file)], name),
            None => (NGINX.map(PathBuf::from).to_vec(), text),
        };
        let found = places.iter().flat_map(|place| files(place)).find_map(|file| {
            let text = std::fs::read_to_string(file).ok()?;
            nginx_format(&text, name)
        });
        let hint = "write the format itself, as in nginx's log_format or Apache's LogFormat, or FILE:NAME with \
                    the path of nginx.conf";
        let failure = || {
            VerbFailure::with_hint(format!("no log_format is called `{name}` in {}", shown(&places)), hint)
        };
        Self::parse(&found.ok_or_else(failure)?)
    }

    fn parse(format: &str) -> Result<Self, VerbFailure> {
        let is_nginx = format.contains('$');
        let mut pieces = Vec::new();
        let mut rest = format;
        let mark = if is_nginx { '$' } else { '%' };
        while let Some(at) = rest.find(mark) {
            let (text, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            add_text(&mut pieces, text, is_nginx);
            let behind = from.get(1..).unwrap_or_default();
            rest = if is_nginx { variable(behind, &mut pieces) } else { letter(behind, &mut pieces)? };
        }
        add_text(&mut pieces, rest, is_nginx);
        let touching = |pair: &[FormatPiece]| matches!(pair, [FormatPiece::Field(_), FormatPiece::Field(_)]);
        if pieces.windows(2).any(touching) {
            let hint = "put something between two fields, such as a space";
            return Err(VerbFailure::with_hint(
                "--log-format: two fields follow each other without anything between them",
                hint,
            ));
        }
        let has = |wanted| {
            pieces
                .iter()
                .any(|piece| matches!(piece, FormatPiece::Field(Some((field, _))) if *field == wanted))
        };
        let has_target = [LogField::RequestLine, LogField::Target, LogField::Path].into_iter().any(has);
        match (has(LogField::Time), has_target, has(LogField::UserAgent)) {
            (true, true, true) => Ok(Self { pieces }),
            (false, ..) => Err(lacking("a time", "$time_local or %t")),
            (_, false, _) => Err(lacking("a request", "$request or %r")),
            _ => Err(lacking("a User-Agent", "$http_user_agent or %{User-Agent}i")),
        }
    }

    /// The fields of a line.
    ///
    /// # Errors
    /// The column where it does not follow the format.
    pub(super) fn read<'a>(&self, line: &'a [u8]) -> Result<FieldsOfLine<'a>, usize> {
        let (mut fields, mut at) = (FieldsOfLine::default(), 0);
        let mut pieces = self.pieces.iter().peekable();
        let mut is_quoted = false;
        while let Some(piece) = pieces.next() {
            match piece {
                FormatPiece::Text(text) => {
                    // A line that was cut off has no more.
                    if at == line.len() {
                        break;
                    }
                    if !line.get(at..).unwrap_or_default().starts_with(text) {
                        return Err(at);
                    }
                    at += text.len();
                    is_quoted = text.ends_with(b"\"");
                }
                FormatPiece::Field(field) => {
                    let end = match pieces.peek() {
                        Some(FormatPiece::Text(text)) if is_quoted && text.starts_with(b"\"") => {
                            quote_end(line, at)
                        }
                        Some(FormatPiece::Text(text)) => {
                            let rest = line.get(at..).unwrap_or_default();
                            at + memchr::memmem::find(rest, text).ok_or(at)?
                        }
                        _ => line.len(),
                    };
                    if let Some(field) = field {
                        fields.put(*field, unescaped(line.get(at..end).unwrap_or_default()));
                    }
                    at = end;
                }
            }
        }
        Ok(fields)
    }
}

fn lacking(what: &str, write: &str) -> VerbFailure {
    VerbFailure::with_hint(
        format!("--log-format: the format has no field with {what}"),
        format!("it needs {write}"),
    )
}

fn add_text(pieces: &mut Vec<FormatPiece>, text: &str, is_nginx: bool) {
    // As both stand in a configuration file.
    let text = if is_nginx { text.to_owned() } else { text.replace("\\\"", "\"").replace("\\t", "\t") };
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(FormatPiece::Text(known)) => known.extend(text.bytes()),
        _ => pieces.push(FormatPiece::Text(text.into_bytes())),
    }
}

/// `$name` and `${name}`.
fn variable<'t>(behind: &'t str, pieces: &mut Vec<FormatPiece>) -> &'t str {
    let in_braces = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
    let (name, rest) = in_braces.unwrap_or_else(|| {
        let end = behind.find(|symbol: char| !symbol.is_ascii_alphanumeric() && symbol != '_');
        behind.split_at_checked(end.unwrap_or(behind.len())).unwrap_or((behind, ""))
    });
    pieces.push(FormatPiece::Field(field_of(&spoken(name))));
    rest
}

/// `%h`, `%>s`, `%{User-Agent}i`.
fn letter<'t>(behind: &'t str, pieces: &mut Vec<FormatPiece>) -> Result<&'t str, VerbFailure> {
    let behind = behind.trim_start_matches(|symbol: char| {
        matches!(symbol, '<' | '>' | '!' | ',') || symbol.is_ascii_digit()
    });
    let (name, behind) = match behind.strip_prefix('{').and_then(|behind| behind.split_once('}')) {
        Some((name, rest)) => (Some(name), rest),
        None => (None, behind),
    };
    let Some(letter) = behind.chars().next() else {
        return Err(VerbFailure("--log-format: expected a letter after `%`, at the end".to_owned()));
    };
    let rest = behind.get(letter.len_utf8()..).unwrap_or_default();
    let field = match (letter, name) {
        ('%', None) => {
            add_text(pieces, "%", false);
            return Ok(rest);
        }
        ('i', Some(name)) => field_of(&spoken(&format!("http {name}"))),
        // What is written of a time by itself, such as its zone, would be lost without a word.
        ('t', Some(part)) if !is_whole_time(part) => {
            let hint = "write the whole time as one field, such as %t or %{%Y-%m-%dT%H:%M:%S%z}t";
            return Err(VerbFailure::with_hint(
                format!("--log-format: `%{{{part}}}t` is a part of a time"),
                hint,
            ));
        }
        ('t' | 'h' | 'a', _) => {
            LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, field)| (*field, 0))
        }
        (_, Some(_)) => None,
        (letter, None) => LETTERS.iter().find(|(known, _)| *known == letter).map(|(_, field)| (*field, 0)),
    };
    // Apache writes brackets around it.
    let in_brackets = letter == 't' && name.is_none();
    if in_brackets {
        add_text(pieces, "[", false);
    }
    match (pieces.last_mut(), letter) {
        // `%U%q`: the path, and its query with the question mark.
        (Some(FormatPiece::Field(path @ Some((LogField::Path, _)))), 'q') => {
            *path = Some((LogField::Target, 0));
        }
        _ => pieces.push(FormatPiece::Field(field)),
    }
    if in_brackets {
        add_text(pieces, "]", false);
    }
    Ok(rest)
}

/// Whether what `%{…}t` names has a time of day in it.
fn is_whole_time(named: &str) -> bool {
    ["sec", "msec", "usec"].contains(&named)
        || ["%T", "%H", "%s", "%c"].iter().any(|part| named.contains(part))
}

/// The files of a place, which may be a folder.
fn files(place: &Path) -> Vec<PathBuf> {
    match std::fs::read_dir(place) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => vec![place.to_owned()],
    }
}

fn shown(places: &[PathBuf]) -> String {
    places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The format of a name in a text of nginx's: quoted pieces, one behind the other, up to a semicolon.
fn nginx_format(text: &str, name: &str) -> Option<String> {
    let is_wanted = |behind: &&str| {
        let mut words = behind.split_ascii_whitespace();
        words.next() == Some(name)
    };
    let behind = text.split("log_format").skip(1).find(is_wanted)?.trim_start().get(name.len()..)?;
    let (mut format, mut quote, mut escaped) = (String::new(), None, false);
    for symbol in behind.chars() {
        match (quote, symbol) {
            (Some(_), _) if escaped => {
                format.push(symbol);
                escaped = false;
            }
            (Some(_), '\\') => escaped = true,
            (Some(open), close) if open == close => quote = None,
            (Some(_), symbol) => format.push(symbol),
            (None, '\'' | '"') => quote = Some(symbol),
            (None, ';') => return Some(format),
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::entry::{LogEntry, LoggedUserAgent};
    use super::*;
    use bytes::Bytes;

    fn entry(pattern: &LogPattern, line: &str) -> LogEntry {
        let whole = Bytes::copy_from_slice(line.as_bytes());
        pattern.read(line.as_bytes()).unwrap().entry(&whole, false, None).unwrap()
    }

    #[test]
    fn formats_of_nginx_and_apache() {
        for (format, line) in [
            (
                r#"$host|${remote_addr}|$msec|"$request"|$status|$request_time|"$http_user_agent""#,
                r#"h.example|192.0.2.1|1700000000.000|"GET /a?b HTTP/1.1"|403|0.001|"x \x22y\x22""#,
            ),
            (
                r#"%v %h %l %u %t \"%r\" %>s %b %D \"%{Referer}i\" \"%{User-Agent}i\""#,
                r#"h.example 192.0.2.1 - - [14/Nov/2023:22:13:20 +0000] "GET /a?b HTTP/1.1" 403 5 77 "-" "x \"y\"""#,
            ),
            (
                r#"{"t":"$time_iso8601","ip":"$remote_addr","v":"$host","m":"$request_method","u":"$request_uri","s":$status,"ua":"$http_user_agent"}"#,
                r#"{"t":"2023-11-14T22:13:20+00:00","ip":"192.0.2.1","v":"h.example","m":"GET","u":"/a?b","s":403,"ua":"x \"y\""}"#,
            ),
            (
                r#"%a %{sec}t %m %U%q %s %V "%{user-agent}i""#,
                r#"192.0.2.1 1700000000 GET /a?b 403 h.example "x \"y\"""#,
            ),
        ] {
            let pattern = LogPattern::parse(format).unwrap_or_else(|error| panic!("{format}: {error:?}"));
            let entry = entry(&pattern, line);
            assert_eq!(entry.at, 1_700_000_000_000_000, "{line}");
            assert_eq!(entry.host.as_deref(), Some(&b"h.example"[..]), "{line}");
            assert_eq!(entry.address, Some("192.0.2.1".parse().unwrap()), "{line}");
            assert_eq!(&*entry.request.unwrap().1, b"/a?b", "{line}");
            assert_eq!(entry.status, Some(403), "{line}");
            assert_eq!(entry.agent, LoggedUserAgent::Sent(Bytes::from_static(b"x \"y\"")), "{line}");
        }
    }

    #[test]
    fn a_name_is_looked_up_in_nginx_conf() {
        let text = "http {\n  log_format other 'x';\n  log_format  main escape=default '$remote_addr [$time_local] '\n   '\"$request\" \"$http_user_agent\"';\n}";
        assert_eq!(
            nginx_format(text, "main").unwrap(),
            r#"$remote_addr [$time_local] "$request" "$http_user_agent""#
        );
        assert_eq!(nginx_format(text, "mai"), None);
    }

    #[test]
    fn what_a_format_lacks_is_named() {
        for (format, what) in [
            ("$remote_addr \"$request\" \"$http_user_agent\"", "a time"),
            ("[$time_local] \"$http_user_agent\"", "a request"),
            ("[$time_local] \"$request\"", "a User-Agent"),
            ("[$time_local] $request$http_user_agent", "two fields"),
        ] {
            let told = LogPattern::parse(format).unwrap_err().0;
            assert!(told.contains(what), "{told}");
        }
    }

    #[test]
    fn a_line_of_another_format_says_where_it_differs() {
        let pattern = LogPattern::parse(COMBINED).unwrap();
        assert_eq!(pattern.read(b"192.0.2.1 - - x [14/Nov").unwrap_err(), 17);
    }
}
