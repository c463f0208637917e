//! One JSON object a line.
//!
//! nginx writes what its `log_format` says, under names of its operator's choosing: those of its variables,
//! and a few that are common, are known here. Caddy has names of its own.

use super::{LogEntry, LoggedRequest, LoggedUserAgent, time};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

type Text<'a> = Option<Cow<'a, str>>;

/// The fields that are looked for.
#[derive(Debug, Default)]
struct JsonLogLine<'a> {
    address: Text<'a>,
    time: Option<JsonValue<'a>>,
    request: Option<JsonValue<'a>>,
    method: Text<'a>,
    target: Text<'a>,
    status: Option<JsonValue<'a>>,
    size: Option<JsonValue<'a>>,
    encoding: Text<'a>,
    answer: Option<CaddyResponse>,
    agent: Text<'a>,
    host: Text<'a>,
}

/// What a field may hold.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum JsonValue<'a> {
    Number(f64),
    #[serde(borrow)]
    Text(Cow<'a, str>),
    #[serde(borrow)]
    Parts(Box<CaddyRequest<'a>>),
    Other(IgnoredAny),
}

/// Caddy's request.
#[derive(Debug, Deserialize)]
struct CaddyRequest<'a> {
    #[serde(borrow)]
    client_ip: Text<'a>,
    #[serde(borrow)]
    remote_ip: Text<'a>,
    #[serde(borrow)]
    method: Text<'a>,
    #[serde(borrow)]
    host: Text<'a>,
    #[serde(borrow)]
    uri: Text<'a>,
    #[serde(default)]
    headers: HashMap<String, Vec<String>>,
}

/// Caddy's answer: the fields of its head, of which one is looked for.
#[derive(Debug, Deserialize)]
struct CaddyResponse {
    #[serde(rename = "Content-Encoding", default)]
    encoding: Vec<String>,
}

impl<'de> Deserialize<'de> for JsonLogLine<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(LogFields)
    }
}

/// Reads the fields of a line. A log may tell one thing under several names; the first counts.
struct LogFields;

impl<'de> Visitor<'de> for LogFields {
    type Value = JsonLogLine<'de>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonLogLine<'de>, A::Error> {
        let mut line = JsonLogLine::default();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "resp_headers" {
                line.answer = map.next_value()?;
                continue;
            }
            let (text, value) = match &*key {
                "remote_addr" | "client_ip" | "remote_ip" | "client" | "ip" => {
                    (Some(&mut line.address), None)
                }
                "request_method" | "method" => (Some(&mut line.method), None),
                "request_uri" | "uri" | "path" => (Some(&mut line.target), None),
                "http_user_agent" | "user_agent" | "useragent" | "agent" => (Some(&mut line.agent), None),
                "host" | "http_host" | "server_name" | "vhost" => (Some(&mut line.host), None),
                "time" | "ts" | "timestamp" | "@timestamp" | "time_iso8601" | "time_local" | "msec" => {
                    (None, Some(&mut line.time))
                }
                "request" => (None, Some(&mut line.request)),
                "status" => (None, Some(&mut line.status)),
                "body_bytes_sent" | "size" | "bytes" => (None, Some(&mut line.size)),
                "sent_http_content_encoding" => (Some(&mut line.encoding), None),
                _ => (None, None),
            };
            match (text, value) {
                (Some(place @ None), _) => {
                    if let JsonValue::Text(text) = map.next_value()? {
                        *place = Some(text);
                    }
                }
                (_, Some(place @ None)) => *place = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(line)
    }
}

/// Reads a line. A server may pass on bytes that are not UTF-8: what they were is then lost, and no more than that. Such a
/// line is read from `lossy`.
pub(super) fn parse<'a>(line: &'a [u8], lossy: &'a mut String) -> Option<LogEntry<'a>> {
    let text = std::str::from_utf8(line).unwrap_or_else(|_| {
        *lossy = String::from_utf8_lossy(line).into_owned();
        lossy
    });
    entry(serde_json::from_str(text).ok()?)
}

fn entry(line: JsonLogLine<'_>) -> Option<LogEntry<'_>> {
    let at = match line.time? {
        JsonValue::Number(number) => time::seconds(number)?,
        JsonValue::Text(text) => time::any(&text)?,
        JsonValue::Parts(_) | JsonValue::Other(_) => return None,
    };
    let status = line.status.and_then(number).and_then(|status| u16::try_from(status).ok());
    let size = line.size.and_then(number);
    let is_encoded = match (&line.encoding, &line.answer) {
        (Some(coding), _) => Some(!matches!(&**coding, "" | "-" | "identity")),
        (None, Some(answer)) => Some(!answer.encoding.is_empty()),
        (None, None) => None,
    };
    let (mut host, mut address, mut agent) = (line.host, line.address, line.agent);
    let request = match line.request {
        Some(JsonValue::Text(line)) => LoggedRequest::parse(bytes(line)),
        Some(JsonValue::Parts(parts)) => {
            agent = agent.or_else(|| Some(Cow::Owned(parts.agent())));
            host = host.or(parts.host);
            address = parts.client_ip.or(parts.remote_ip).or(address);
            parsed(parts.method, parts.uri)
        }
        _ => parsed(line.method, line.target),
    };
    let address = address.and_then(|text| text.parse().ok()).map(|address: IpAddr| address.to_canonical());
    let agent = agent.map_or(LoggedUserAgent::Unlogged, |agent| LoggedUserAgent::of(bytes(agent)));
    let host = host.filter(|host| !host.is_empty() && &**host != "-");
    Some(LogEntry { host, address, at, request, status, size, is_encoded, agent })
}

/// A number, or the digits of one.
fn number(value: JsonValue<'_>) -> Option<u64> {
    match value {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "out of range it saturates"
        )]
        JsonValue::Number(number) => Some(number as u64),
        JsonValue::Text(text) => text.parse().ok(),
        JsonValue::Parts(_) | JsonValue::Other(_) => None,
    }
}

impl CaddyRequest<'_> {
    /// The header's lines, joined. A request without it is logged without it; others with all that they had.
    fn agent(&self) -> String {
        let field = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("user-agent"));
        field.map(|(_, lines)| lines.join(" ")).unwrap_or_default()
    }
}

fn parsed<'a>(method: Text<'a>, target: Text<'a>) -> Option<LoggedRequest<'a>> {
    let (method, target) = (method?, target?);
    (!method.is_empty() && !target.is_empty() && !target.contains(' '))
        .then(|| LoggedRequest { method: bytes(method), target: bytes(target) })
}

fn bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(line: &[u8]) -> bool {
        parse(line, &mut String::new()).is_some()
    }

    /// Host, address, method, target, status, agent.
    fn shown(line: &str) -> String {
        let mut lossy = String::new();
        let entry = parse(line.as_bytes(), &mut lossy).unwrap_or_else(|| panic!("{line}"));
        let request = entry.request.map_or_else(
            || "no request".to_owned(),
            |request| [&*request.method, &*request.target].map(String::from_utf8_lossy).join(" "),
        );
        let agent = match &entry.agent {
            LoggedUserAgent::Sent(agent) => String::from_utf8_lossy(agent).into_owned(),
            other => format!("{other:?}"),
        };
        let address = entry.address.map(|address| address.to_string()).unwrap_or_default();
        format!(
            "{}|{address}|{}|{request}|{}|{agent}",
            entry.host.unwrap_or_default(),
            entry.at / 1_000_000,
            entry.status.unwrap_or_default()
        )
    }

    #[test]
    fn nginx_under_several_names() {
        let wanted = "example.org|192.0.2.1|1700000000|GET /a?b=\"c\"|403|GPTBot/1.2";
        for line in [
            r#"{"time_iso8601":"2023-11-14T22:13:20+00:00","remote_addr":"192.0.2.1","host":"example.org","request":"GET /a?b=\"c\" HTTP/1.1","status":"403","http_user_agent":"GPTBot/1.2"}"#,
            r#"{"msec":"1700000000.000","remote_addr":"192.0.2.1","server_name":"example.org","request_method":"GET","request_uri":"/a?b=\"c\"","status":403,"http_user_agent":"GPTBot/1.2","body_bytes_sent":12}"#,
            r#"{"time_iso8601":"2023-11-14T22:13:20Z","time_local":"x","host":"example.org","http_host":"other","status":403,"upstream":null,"remote_addr":"192.0.2.1","request":"GET /a?b=\"c\" HTTP/1.1","request_uri":"/other","http_user_agent":"GPTBot/1.2"}"#,
            r#"{"@timestamp":1700000000000,"client_ip":"::ffff:192.0.2.1","vhost":"example.org","method":"GET","uri":"/a?b=\u0022c\u0022","status":403,"agent":"GPTBot/1.2","nested":{"a":[1,{}]}}"#,
        ] {
            assert_eq!(shown(line), wanted, "{line}");
        }
    }

    #[test]
    fn caddy() {
        let line = r#"{"level":"info","ts":1700000000.25,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"192.0.2.1","remote_port":"41342","client_ip":"192.0.2.7","proto":"HTTP/2.0","method":"GET","host":"example.org","uri":"/a","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]},"tls":{"resumed":false}},"bytes_read":0,"user_id":"","duration":0.0009,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;
        assert_eq!(shown(line), "example.org|192.0.2.7|1700000000|GET /a|200|curl/7.82.0");
        let bare =
            r#"{"ts":1700000000,"request":{"method":"GET","host":"h","uri":"/","headers":{}},"status":200}"#;
        assert_eq!(shown(bare), "h||1700000000|GET /|200|Absent");
    }

    #[test]
    fn what_is_not_logged_is_not_made_up() {
        let line = r#"{"time":"17/May/2015:10:05:03 +0000","request":"-","status":400}"#;
        assert_eq!(shown(line), "||1431857103|no request|400|Unlogged");
        for line in [
            "{}",
            "{",
            r#"{"time":"soon","request":"GET / HTTP/1.1"}"#,
            r#"{"time":1e300}"#,
            "{\"time\":\"\\ud800\"}",
        ] {
            assert!(!is_read(line.as_bytes()), "{line}");
        }
        let line = b"{\"time\":1700000000,\"request\":\"GET /\xff HTTP/1.1\",\"status\":200}";
        assert!(parse(line, &mut String::new()).unwrap().request.is_some());
    }
}
