//! `--log-format`: a format as the operator's server has it, nginx's `log_format` or Apache's `LogFormat`.

use super::cells::{quote_end, unescaped};
use super::entry::LineFields;
use super::names::{FORMATS, LogField, NamedField, field_named};
use super::reader::LineFault;
use crate::ctl::VerbFailure;
use regex::{Captures, Regex};
use std::path::PathBuf;
use std::sync::LazyLock;

/// nginx's own, and Apache's usual ones.
const COMBINED: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent""#;

/// Where nginx's formats are looked up by name.
const NGINX: [&str; 4] = [
    "/etc/nginx/nginx.conf",
    "/usr/local/nginx/conf/nginx.conf",
    "/etc/nginx/conf.d",
    "/etc/nginx/sites-enabled",
];

/// `$name` and `${name}`, as nginx has them.
static VARIABLE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\$(?:\{[^}]*\}|\w+)").ok());

/// `%h`, `%>s`, `%{User-Agent}i`, as Apache has them.
static LETTER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"%[<>!,\d]*(?:\{([^}]*)\})?(U%q|[A-Za-z%])?").ok());

/// A format: what the server puts in, each behind the text that stands in each line; and the text at the end. `None` of what
/// is not needed.
#[derive(Clone, Debug)]
pub(super) struct LogPattern(Vec<(Vec<u8>, Option<NamedField>)>, Vec<u8>);

impl LogPattern {
    /// The format that an operator names or writes out.
    ///
    /// # Errors
    /// When there is no format of that name, or it cannot be read as one.
    pub(super) fn named(text: &str) -> Result<Self, VerbFailure> {
        match text {
            "combined" => Self::parse(COMBINED),
            text if text.contains('$') => Self::parse(text),
            text if text.contains('%') => Self::parse(&as_nginx(text)?),
            text => Self::parse(&looked_up(text)?),
        }
    }

    fn parse(format: &str) -> Result<Self, VerbFailure> {
        let (mut pieces, mut end) = (Vec::new(), 0);
        for found in VARIABLE.iter().flat_map(|variable| variable.find_iter(format)) {
            let text = format.get(end..found.start()).unwrap_or_default();
            if text.is_empty() && end > 0 {
                let what = "--log-format: two fields follow each other without anything between them";
                let hint = "put something between two fields, such as a space";
                return Err(VerbFailure::with_hint(what, hint));
            }
            pieces.push((text.as_bytes().to_vec(), field_named(found.as_str().as_bytes())));
            end = found.end();
        }
        Ok(Self(pieces, format.get(end..).unwrap_or_default().as_bytes().to_vec()))
    }

    /// The fields of a line.
    ///
    /// # Errors
    /// The column where it does not follow the format.
    pub(super) fn read<'a>(&self, line: &'a [u8], fields: &mut LineFields<'a>) -> Result<(), LineFault> {
        let mut at = 0;
        let behind = self.0.iter().skip(1).map(|(text, _)| text).chain([&self.1]);
        for ((before, field), behind) in self.0.iter().zip(behind) {
            // A line that was cut off has no more.
            let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) else { break };
            let rest = rest.strip_prefix(&**before).ok_or((LogField::RequestLine, at))?;
            at += before.len();
            let end = match (&**before, &**behind) {
                (_, b"") => line.len(),
                ([.., b'"'], [b'"', ..]) => quote_end(line, at),
                _ => at + memchr::memmem::find(rest, behind).ok_or((LogField::RequestLine, at))?,
            };
            if let Some(field) = field {
                fields.put(*field, unescaped(line.get(at..end).unwrap_or_default()));
            }
            at = end;
        }
        Ok(())
    }
}

/// Apache's format in nginx's syntax.
fn as_nginx(format: &str) -> Result<String, VerbFailure> {
    let mut fault = None;
    let format = format.replace("\\\"", "\"").replace("\\t", "\t");
    let variable = |found: &Captures<'_>| {
        let [argument, letter] = [1, 2].map(|group| found.get(group).map(|text| text.as_str()));
        let name = match (letter.unwrap_or_default(), argument) {
            ("%", None) => return "%".to_owned(),
            // Apache writes brackets around it.
            ("t", None) => return "[$time]".to_owned(),
            ("i", Some(header)) => return format!("${{http {header}}}"),
            ("", _) => {
                fault = Some(VerbFailure("--log-format: expected a letter behind each `%`".to_owned()));
                ""
            }
            // What is written of a time by itself, such as its zone, would be lost without a word.
            ("t", Some(part)) if !is_whole_time(part) => {
                let hint = "write the whole time as one field, such as %t or %{%Y-%m-%dT%H:%M:%S%z}t";
                let what = format!("--log-format: `%{{{part}}}t` is a part of a time");
                fault = Some(VerbFailure::with_hint(what, hint));
                ""
            }
            (letter @ ("t" | "h" | "a"), _) | (letter, None) => {
                FORMATS.letters.get(letter).map_or("", String::as_str)
            }
            _ => "",
        };
        format!("${{{name}}}")
    };
    let translated = LETTER.as_ref().map(|letter| letter.replace_all(&format, variable).into_owned());
    fault.map_or_else(|| Ok(translated.unwrap_or_default()), Err)
}

/// Whether what `%{…}t` names has a time of day in it.
fn is_whole_time(named: &str) -> bool {
    ["sec", "msec", "usec"].contains(&named)
        || ["%T", "%H", "%s", "%c"].iter().any(|part| named.contains(part))
}

/// The `log_format` of a name in nginx's files, or in the one of `FILE:NAME`.
fn looked_up(named: &str) -> Result<String, VerbFailure> {
    let (places, name) = match named.rsplit_once(':') {
        Some((file, name)) => (vec![PathBuf::from(file)], name),
        None => (NGINX.map(PathBuf::from).to_vec(), named),
    };
    let files = places.iter().flat_map(|place| match std::fs::read_dir(place) {
        Ok(folder) => folder.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => vec![place.clone()],
    });
    let mut texts = files.filter_map(|file| std::fs::read_to_string(file).ok());
    texts.find_map(|text| nginx_format(&text, name)).ok_or_else(|| {
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let hint = "write the format itself, as in nginx's log_format or Apache's LogFormat, or FILE:NAME with the path of nginx.conf";
        VerbFailure::with_hint(format!("no log_format is called `{name}` in {}", places.join(", ")), hint)
    })
}

/// The format of a name in a text of nginx's: pieces, one behind the other, up to a semicolon.
fn nginx_format(text: &str, name: &str) -> Option<String> {
    const QUOTED: &str = r#"'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)""#;
    let name = regex::escape(name);
    let found = Regex::new(&format!(r#"(?s)\blog_format\s+{name}\s+((?:{QUOTED}|[^'";])*);"#)).ok()?;
    let piece = Regex::new(&format!(r#"(?s){QUOTED}|([^\s'"]+)"#)).ok()?;
    let escaped = Regex::new(r"(?s)\\(.)").ok()?;
    let behind = found.captures(text)?.get(1)?.as_str();
    let text =
        |found: Captures<'_>| found.iter().skip(1).flatten().next().map(|text| text.as_str().to_owned());
    let pieces = piece.captures_iter(behind).filter_map(text).filter(|text| !text.starts_with("escape="));
    Some(escaped.replace_all(&pieces.collect::<String>(), "$1").into_owned())
}

#[cfg(test)]
mod tests {
    use super::super::entry::LogBatch;
    use super::*;

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
                r#"%a %{sec}t %m %U%q %s %V "%{user-agent}i" %%"#,
                r#"192.0.2.1 1700000000 GET /a?b 403 h.example "x \"y\"" %"#,
            ),
        ] {
            let pattern = LogPattern::named(format).unwrap_or_else(|error| panic!("{format}: {error:?}"));
            let mut batch = LogBatch::default();
            let mut fields = LineFields::default();
            pattern.read(line.as_bytes(), &mut fields).unwrap();
            let entry = fields.keep(false, fields.time(), &mut batch).unwrap();
            batch.entries.push(entry);
            let entry = batch.entries().next().unwrap();
            assert_eq!(entry.at, 1_700_000_000_000_000, "{line}");
            assert_eq!(entry.host, Some(&b"h.example"[..]), "{line}");
            assert_eq!(entry.address, Some("192.0.2.1".parse().unwrap()), "{line}");
            assert_eq!(entry.request.unwrap().1, b"/a?b", "{line}");
            assert_eq!(entry.status, Some(403), "{line}");
            assert_eq!(entry.agent, Some(&b"x \"y\""[..]), "{line}");
        }
    }

    #[test]
    fn a_name_is_looked_up_in_nginx_conf() {
        let text = "http {\n  log_format other x$status;\n  log_format  main escape=default '$remote_addr [$time_local];'\n   '\"$request\" \\'' \"$http_user_agent\";\n}";
        assert_eq!(
            nginx_format(text, "main").unwrap(),
            r#"$remote_addr [$time_local];"$request" '$http_user_agent"#
        );
        assert_eq!(nginx_format(text, "other").unwrap(), "x$status");
        assert_eq!(nginx_format(text, "mai"), None);
    }

    #[test]
    fn what_is_wrong_with_a_format_is_named() {
        for (format, what) in [
            ("[$time_local] $request$http_user_agent", "two fields"),
            ("%{%z}t %r", "a part of a time"),
            ("%t %r %", "a letter"),
        ] {
            let told = LogPattern::named(format).unwrap_err().0;
            assert!(told.contains(what), "{told}");
        }
    }

    #[test]
    fn a_line_of_another_format_says_where_it_differs() {
        let pattern = LogPattern::parse(COMBINED).unwrap();
        assert_eq!(pattern.read(b"192.0.2.1 - - x [14/Nov", &mut LineFields::default()).unwrap_err().1, 17);
    }
}
