//! The access log: one line per request, as JSON or in the combined form that log tools know.
//!
//! Optional, and no part of what is judged or counted. It goes through a bounded writer of its own, so that a
//! slow disk costs lines, which are counted, and never a request.

use super::bytes::{json_line, shown};
use super::event::write_timestamp;
use super::journal::Journal;
use jiff::Timestamp;
use serde::{Serialize, Serializer};
use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AccessFormat {
    /// A JSON object.
    #[default]
    Json,
    /// Apache's combined log format.
    Combined,
}

/// Bytes as they were sent, which are written as text.
#[derive(Clone, Copy, Debug)]
pub struct ShownBytes<'a>(pub &'a [u8]);

impl Serialize for ShownBytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&shown(self.0))
    }
}

/// What there is to say of a request that is over. The names of the fields in JSON are public API.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AccessRecord<'a> {
    /// When it began.
    #[serde(serialize_with = "write_timestamp")]
    pub time: SystemTime,
    /// The client's address, where one is known, as far as it is written.
    pub address: Option<IpAddr>,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// As sent; `None` where it is not known, the request being none.
    pub method: Option<&'a str>,
    /// As sent.
    pub host: Option<ShownBytes<'a>>,
    /// As sent; without a method, the first line of what was sent.
    pub target: ShownBytes<'a>,
    /// `HTTP/1.1` and the like.
    pub version: Option<&'a str>,
    /// The status that was sent; 499 where the client left before, none where another proxy answers.
    pub status: Option<u16>,
    /// Bytes of the body that were sent.
    pub bytes: usize,
    /// How long it took.
    #[serde(rename = "duration_ms", serialize_with = "milliseconds")]
    pub duration: Duration,
    /// As sent.
    pub referer: Option<ShownBytes<'a>>,
    /// As sent.
    pub user_agent: Option<ShownBytes<'a>>,
    /// The site that served it.
    pub site: Option<&'a str>,
    /// The server of the origin that was asked last.
    pub origin: Option<&'a str>,
    /// What was wrong with it, in a word, where it was no request that could be understood.
    pub fault: Option<&'a str>,
    /// The request's id, the same as in the journal.
    pub request_id: &'a str,
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((duration.as_secs_f64() * 1e6).round() / 1e3)
}

/// The writing end.
#[derive(Debug)]
pub struct AccessLog {
    /// Its file.
    pub lines: Journal,
    /// The form of its lines.
    pub format: AccessFormat,
}

impl AccessLog {
    /// Hands a line to the writer, or counts it as dropped. Never waits for a disk.
    pub fn record(&self, access: &AccessRecord<'_>) {
        self.lines.record(&match self.format {
            AccessFormat::Json => json_line(access),
            AccessFormat::Combined => access.combined(),
        });
    }
}

impl AccessRecord<'_> {
    fn combined(&self) -> String {
        let time = Timestamp::try_from(self.time).unwrap_or(Timestamp::UNIX_EPOCH);
        let address = self.address.map_or_else(|| "-".to_owned(), |address| address.to_string());
        let mut line = format!("{address} - - [{}] \"", time.strftime("%d/%b/%Y:%H:%M:%S +0000"));
        // Writing to a `String` cannot fail.
        if let Some(method) = self.method {
            let _ = write!(line, "{method} ");
        }
        escape(&mut line, self.target.0);
        if let Some(version) = self.version {
            let _ = write!(line, " {version}");
        }
        let status = self.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        let _ = write!(line, "\" {status} {} \"", self.bytes);
        escape(&mut line, self.referer.map_or(b"-", |bytes| bytes.0));
        line.push_str("\" \"");
        escape(&mut line, self.user_agent.map_or(b"-", |bytes| bytes.0));
        line.push_str("\"\n");
        line
    }
}

/// Writes bytes so that a line stays a line and a quoted string ends where it should.
fn escape(line: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f.. => {
                // Writing to a `String` cannot fail.
                let _ = write!(line, "\\x{byte:02X}");
            }
            _ => line.push(char::from(*byte)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::bytes::is_harmful;

    fn access() -> AccessRecord<'static> {
        AccessRecord {
            time: SystemTime::UNIX_EPOCH + Duration::from_millis(1_000_000_000_500),
            duration: Duration::from_micros(1_234),
            address: "198.51.100.7".parse().ok(),
            scheme: "http",
            method: Some("GET"),
            target: ShownBytes(b"/a?\"b\"\\"),
            version: Some("HTTP/1.1"),
            host: Some(ShownBytes(b"example.org")),
            status: Some(200),
            bytes: 12,
            referer: None,
            user_agent: Some(ShownBytes(b"x\xff\ny")),
            site: Some("example.org"),
            origin: None,
            fault: None,
            request_id: "1-2",
        }
    }

    #[test]
    fn combined_lines_are_what_log_tools_know() {
        let line = access().combined();
        let expected = "198.51.100.7 - - [09/Sep/2001:01:46:40 +0000] \"GET /a?\\x22b\\x22\\x5C HTTP/1.1\" 200 12 \
                        \"-\" \"x\\xFF\\x0Ay\"\n";
        assert_eq!(line, expected);
        let none = AccessRecord {
            method: None,
            target: ShownBytes(b"\x16\x03 \""),
            version: None,
            status: Some(400),
            fault: Some("method"),
            ..access()
        };
        let line = none.combined();
        assert!(line.contains("+0000] \"\\x16\\x03 \\x22\" 400 12 "), "{line}");
        let line: serde_json::Value = serde_json::from_str(&json_line(&none)).unwrap();
        assert!(line["method"].is_null() && line["version"].is_null() && line["fault"] == "method", "{line}");
        let nobody = AccessRecord { address: None, ..access() };
        assert!(nobody.combined().starts_with("- - - ["));
    }

    #[test]
    fn json_lines_have_every_field() {
        let line: serde_json::Value = serde_json::from_str(&json_line(&access())).unwrap();
        assert_eq!(line["time"], "2001-09-09T01:46:40.500Z");
        assert_eq!((&line["status"], &line["bytes"]), (&200.into(), &12.into()));
        assert_eq!(line["duration_ms"], 1.234);
        assert_eq!(line["user_agent"], "x\\xFF\ny");
        assert!(line["referer"].is_null() && line["origin"].is_null());
    }

    #[test]
    fn no_line_holds_what_a_terminal_obeys_or_hides() {
        let text = "/\u{202e}gnp\u{9b}31m\u{2066}\u{feff}\u{e0041}";
        let access = AccessRecord {
            target: ShownBytes(text.as_bytes()),
            host: Some(ShownBytes(text.as_bytes())),
            referer: Some(ShownBytes(text.as_bytes())),
            user_agent: Some(ShownBytes(text.as_bytes())),
            ..access()
        };
        for line in [json_line(&access), access.combined()] {
            assert_eq!(line.trim_end().chars().find(|symbol| is_harmful(*symbol)), None, "{line}");
        }
        let line: serde_json::Value = serde_json::from_str(&json_line(&access)).unwrap();
        for field in ["target", "host", "referer", "user_agent"] {
            assert_eq!(line[field], text, "a parser reads the same {field}");
        }
    }
}
