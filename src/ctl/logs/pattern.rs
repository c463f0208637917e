//! `--log-format`: a format as the operator's server has it, nginx's `log_format` or Apache's `LogFormat`.

use super::cells::{quote_end, unescaped};
use super::entry::LineFields;
use super::names::{FORMATS, LogField, NamedField, field_named};
use super::reader::LineFault;
use crate::ctl::VerbFailure;
use regex::{Captures, Regex};

/// A format: what the server puts in, each behind the text that stands in each line; and the text at the end. `None` of what
/// is not needed.
#[derive(Clone, Debug)]
pub(super) struct LogPattern(Vec<(Vec<u8>, Option<NamedField>)>, Vec<u8>);

impl LogPattern {
    /// The format that an operator writes out.
    ///
    /// # Errors
    /// When it cannot be read as one.
    pub(super) fn named(format: &str) -> Result<Self, VerbFailure> {
        if format.contains('$') {
            // `$name` and `${name}`, as nginx has them.
            return Self::parse(format, r"\$(?:\{([^}]*)\}|(\w+))", |found| {
                Ok(found.iter().skip(1).flatten().map(|name| name.as_str()).collect())
            });
        }
        // Apache writes brackets around a time.
        let format = format.replace("\\\"", "\"").replace("\\t", "\t").replace("%t", "[%{%c}t]");
        // `%h`, `%>s`, `%{User-Agent}i`, as Apache has them.
        Self::parse(&format, r"%[<>!,\d]*(?:\{([^}]*)\})?(U%q|[A-Za-z%])?", apache_name)
    }

    /// The fields that `field` finds in a format, under the names that it gives them.
    fn parse(
        format: &str,
        field: &str,
        name: impl Fn(&Captures<'_>) -> Result<String, VerbFailure>,
    ) -> Result<Self, VerbFailure> {
        let (mut pieces, mut end) = (Vec::new(), 0);
        for found in Regex::new(field)?.captures_iter(format) {
            let Some(whole) = found.get(0) else { continue };
            let text = format.get(end..whole.start()).unwrap_or_default();
            if text.is_empty() && end > 0 {
                let what = "--log-format: two fields follow each other without anything between them";
                return Err(VerbFailure::with_hint(
                    what,
                    "put something between two fields, such as a space",
                ));
            }
            pieces.push((text.as_bytes().to_vec(), field_named(name(&found)?.as_bytes())));
            end = whole.end();
        }
        if pieces.is_empty() {
            let what = format!("--log-format: expected fields such as $request or %r in `{format}`");
            let hint = "write the format itself, as in nginx's log_format or Apache's LogFormat";
            return Err(VerbFailure::with_hint(what, hint));
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

/// The name of the field that Apache writes so.
fn apache_name(found: &Captures<'_>) -> Result<String, VerbFailure> {
    let [argument, letter] = [1, 2].map(|group| found.get(group).map(|text| text.as_str()));
    match (letter.unwrap_or_default(), argument) {
        ("", _) => Err(VerbFailure("--log-format: expected a letter behind each `%`".to_owned())),
        ("i", Some(header)) => Ok(format!("http {header}")),
        // What is written of a time by itself, such as its zone, would be lost without a word.
        ("t", Some(part)) if !is_whole_time(part) => {
            let hint = "write the whole time as one field, such as %t or %{%Y-%m-%dT%H:%M:%S%z}t";
            Err(VerbFailure::with_hint(format!("--log-format: `%{{{part}}}t` is a part of a time"), hint))
        }
        (letter @ ("t" | "h" | "a"), _) | (letter, None) => {
            Ok(FORMATS.letters.get(letter).cloned().unwrap_or_default())
        }
        _ => Ok(String::new()),
    }
}

/// Whether what `%{…}t` names has a time of day in it.
fn is_whole_time(named: &str) -> bool {
    ["sec", "msec", "usec"].contains(&named)
        || ["%T", "%H", "%s", "%c"].iter().any(|part| named.contains(part))
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
    fn what_is_wrong_with_a_format_is_named() {
        for (format, what) in [
            ("[$time_local] $request$http_user_agent", "two fields"),
            ("%{%z}t %r", "a part of a time"),
            ("%t %r %", "a letter"),
            ("main", "expected fields"),
        ] {
            let told = LogPattern::named(format).unwrap_err().0;
            assert!(told.contains(what), "{told}");
        }
    }

    #[test]
    fn a_line_of_another_format_says_where_it_differs() {
        let pattern = LogPattern::named("$remote_addr - $remote_user [$time_local] \"$request\"").unwrap();
        assert_eq!(pattern.read(b"192.0.2.1 - - x [14/Nov", &mut LineFields::default()).unwrap_err().1, 17);
    }
}
