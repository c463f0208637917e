//! One event, as it is written to the journal: field names and their order are public API.

use crate::decide::{Outcome, Verdict, VersionId};
use crate::enforce::{Action, Mode};
use crate::identify::{Identity, Proof};
use crate::record::octets::{escaped_json, shown};
use crate::request::RequestFacts;
use crate::request::address::Network;
use jiff::Timestamp;
use memchr::memmem::Finder;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::SystemTime;

/// Version of the event's fields; it rises when one of them changes its meaning.
const SCHEMA: u32 = 1;

/// What kind of event a line tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// Disallowed by every version the client could hold.
    Violation,
    /// Disallowed by some of them only.
    Stale,
    /// Allowed as sent, disallowed once the path is folded.
    Variant,
    /// Allowed, from a client that borrows a crawler's name.
    Spoof,
    /// Plainly allowed.
    Allowed,
}

impl EventKind {
    /// The kind of event a verdict amounts to.
    #[must_use]
    pub fn of(verdict: &Verdict<'_>, proof: Proof) -> Self {
        match verdict.outcome {
            Outcome::Violation(_) => Self::Violation,
            Outcome::Stale => Self::Stale,
            Outcome::Variant => Self::Variant,
            Outcome::Allow if proof == Proof::Contradicted && verdict.is_judged() => Self::Spoof,
            Outcome::Allow => Self::Allowed,
        }
    }
}

/// How much of a client's address is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressDetail {
    /// The whole address.
    #[default]
    Full,
    /// Its network: /24 for IPv4, /48 for IPv6.
    Truncated,
    /// Nothing.
    None,
}

impl AddressDetail {
    pub(super) fn show(self, address: Option<IpAddr>) -> Option<IpAddr> {
        match self {
            Self::Full => address,
            Self::Truncated => address.map(|address| Network::around(address, 24, 48).address()),
            Self::None => None,
        }
    }
}

/// Everything an event is made of, as the stages before left it.
#[derive(Clone, Copy, Debug)]
pub struct Occurrence<'a> {
    /// The request.
    pub facts: &'a RequestFacts<'a>,
    /// Who it was.
    pub identity: &'a Identity,
    /// What supports that.
    pub proof: Proof,
    /// What the rules say.
    pub verdict: &'a Verdict<'a>,
    /// The mode in force for the client.
    pub mode: Mode,
    /// What was done.
    pub action: Action,
    /// The site's name.
    pub site: &'a str,
    /// When the request came.
    pub now: SystemTime,
    /// The request's id.
    pub request_id: &'a str,
    /// How much of the address is recorded.
    pub addresses: AddressDetail,
}

/// One line of the journal, in the form in which it is written. Every field is always present, null where empty.
///
/// It is written once, from what the stages before still hold: a copy of each field would cost more than the
/// line.
#[derive(Clone, Debug)]
pub struct Event {
    line: Vec<u8>,
    /// Where the status is to stand, while it is not known.
    status: Option<usize>,
}

/// How a line has it that there is no status.
const NO_STATUS: &[u8] = b"\"status\":null";

/// What finds it; to prepare the search costs more than the search.
static STATUS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(NO_STATUS));

/// Room for a line of usual length; longer ones grow.
const USUAL: usize = 1_024;

impl Event {
    /// Puts an event together; the status is filled in when the request is over.
    #[must_use]
    pub fn new(occurrence: &Occurrence<'_>) -> Self {
        Self::of(EventKind::of(occurrence.verdict, occurrence.proof), occurrence)
    }

    /// As [`Self::new`], for an event that is to be told of as `kind`.
    #[must_use]
    pub fn of(kind: EventKind, occurrence: &Occurrence<'_>) -> Self {
        let mut line = Vec::with_capacity(USUAL);
        // Nothing here has a form that JSON lacks, and memory does not fail.
        let _ = serde_json::to_writer(&mut line, &Fields::of(kind, occurrence));
        spell_out(&mut line);
        line.push(b'\n');
        // Within a string its quotes would be escaped.
        let status = STATUS.find(&line).map(|at| at + NO_STATUS.len() - "null".len());
        Self { line, status }
    }

    /// Fills in the status the client was answered with; `None` when it left before.
    pub fn answered(&mut self, status: Option<u16>) {
        let Some((at, status)) = self.status.take().zip(status) else { return };
        self.line.splice(at..at + "null".len(), status.to_string().into_bytes());
    }

    /// The event as one JSON line, its newline included.
    #[must_use]
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// The same, to keep.
    #[must_use]
    pub fn into_line(self) -> Vec<u8> {
        self.line
    }
}

/// The fields of a line in their order.
#[derive(Serialize)]
struct Fields<'a> {
    v: u32,
    time: Shown<Instant>,
    event: EventKind,
    site: &'a str,
    mode: &'static str,
    action: &'static str,
    status: Option<u16>,
    client: &'static str,
    crawler: Option<&'a str>,
    purpose: Option<&'static str>,
    token: Option<&'a str>,
    proof: &'static str,
    address: Option<Shown<IpAddr>>,
    scheme: &'static str,
    method: &'a str,
    host: &'a str,
    target: Cow<'a, str>,
    user_agent: Option<Cow<'a, str>>,
    group: &'a [&'a str],
    line: Option<u32>,
    rule: Option<Cow<'a, str>>,
    reason: &'static str,
    robots_version: Option<Shown<VersionId>>,
    notice: Option<&'static str>,
    request_id: &'a str,
}

impl<'a> Fields<'a> {
    fn of(kind: EventKind, occurrence: &Occurrence<'a>) -> Self {
        let Occurrence { facts, identity, proof, verdict, mode, action, site, now, request_id, addresses } =
            *occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        Self {
            v: SCHEMA,
            time: Shown(Instant(now)),
            event: kind,
            site,
            mode: mode.as_str(),
            action: action.as_str(),
            status: None,
            client: identity.client.as_str(),
            crawler: identity.crawler.as_deref(),
            purpose: identity.purpose.map(crate::identify::Purpose::as_str),
            token: ruling.map(|ruling| ruling.token),
            proof: proof.as_str(),
            address: addresses.show(facts.address).map(Shown),
            scheme: facts.scheme.as_str(),
            method: facts.method,
            host: &facts.host,
            target: shown(&facts.target),
            user_agent: facts.user_agent.as_deref().map(shown),
            group: ruling.map_or(&[], |ruling| &ruling.group),
            line: rule.map(|rule| rule.line),
            rule: rule.map(|rule| shown(rule.text)),
            reason: verdict.reason.as_str(),
            robots_version: verdict.version.map(Shown),
            notice: verdict.notice().map(crate::decide::Notice::as_str),
            request_id,
        }
    }
}

/// A string in JSON, as it is displayed.
struct Shown<T>(T);

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

/// JSON leaves U+009B alone, which a terminal takes for an escape, and U+202E, which turns a line round.
fn spell_out(line: &mut Vec<u8>) {
    // Nearly every line is plain: JSON itself escapes what is below a blank.
    if line.iter().all(|octet| *octet < 0x7f) {
        return;
    }
    let text = String::from_utf8_lossy(line);
    let escaped = escaped_json(&text).into_owned();
    *line = escaped.into_bytes();
}

/// A time in UTC, RFC 3339, to the millisecond.
struct Instant(SystemTime);

impl fmt::Display for Instant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:.3}", Timestamp::try_from(self.0).unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

/// A time in UTC as it is written everywhere: RFC 3339, to the millisecond.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    Instant(time).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Reason;
    use crate::identify::{Basis, Client};
    use crate::record::octets::is_harmful;
    use crate::request::Scheme;
    use std::sync::Arc;
    use std::time::Duration;

    /// The fields of a line, in their order.
    const FIELDS: [&str; 25] = [
        "v",
        "time",
        "event",
        "site",
        "mode",
        "action",
        "status",
        "client",
        "crawler",
        "purpose",
        "token",
        "proof",
        "address",
        "scheme",
        "method",
        "host",
        "target",
        "user_agent",
        "group",
        "line",
        "rule",
        "reason",
        "robots_version",
        "notice",
        "request_id",
    ];

    fn line(addresses: AddressDetail) -> String {
        String::from_utf8(event(addresses).into_line()).unwrap()
    }

    fn event(addresses: AddressDetail) -> Event {
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("ex\u{200b}ample.org"),
            target: Cow::Borrowed(b"/caf\xe9\xe2\x80\xae"),
            user_agent: Some(Cow::Borrowed("\"\x1b[0m\u{9b}\u{2066}\u{e0041}caf\u{e9}".as_bytes())),
            address: "198.51.100.77".parse().ok(),
        };
        let tokens = Arc::new([]);
        let client = Client::Tool;
        let identity =
            Identity { client, crawler: None, purpose: None, tokens, star: true, basis: Basis::Sign };
        let verdict =
            Verdict { outcome: Outcome::Allow, reason: Reason::NoGroup, ruling: None, version: None };
        Event::new(&Occurrence {
            facts: &facts,
            identity: &identity,
            proof: Proof::Unchecked,
            verdict: &verdict,
            mode: Mode::Audit,
            action: Action::Forward,
            site: "example.org",
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_020),
            request_id: "1",
            addresses,
        })
    }

    #[test]
    fn the_status_is_filled_in_once_and_nothing_else_changes() {
        let mut event = event(AddressDetail::Full);
        let before = String::from_utf8(event.line().to_vec()).unwrap();
        assert!(before.contains("\"status\":null,"));
        event.answered(Some(403));
        event.answered(Some(500));
        let after = String::from_utf8(event.into_line()).unwrap();
        assert_eq!(after, before.replacen("\"status\":null", "\"status\":403", 1));
    }

    #[test]
    fn every_field_is_present_in_its_order_and_null_where_empty() {
        let line = line(AddressDetail::Full);
        let mut rest = line.as_str();
        for field in FIELDS {
            let key = format!("\"{field}\":");
            let at = rest.find(&key).unwrap_or_else(|| panic!("{field} is missing or out of order: {line}"));
            rest = &rest[at + key.len()..];
        }
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
        assert!(value["crawler"].is_null() && value["line"].is_null() && value["status"].is_null());
        assert_eq!(value["time"], "2023-11-14T22:13:20.020Z");
        assert_eq!(value["target"], "/caf\\xE9\u{202e}");
        assert!(line.ends_with("}\n"));
        assert_eq!(value["user_agent"], "\"\u{1b}[0m\u{9b}\u{2066}\u{e0041}caf\u{e9}");
        assert_eq!(value["host"], "ex\u{200b}ample.org");
        // What a terminal or an editor would obey or hide is there for a parser only.
        assert_eq!(line.trim_end().chars().find(|symbol| is_harmful(*symbol)), None, "{line}");
        assert!(line.contains("caf\u{e9}") && line.contains("\\u202e"), "{line}");
    }

    #[test]
    fn an_address_is_shown_as_far_as_the_operator_wants() {
        assert!(line(AddressDetail::Full).contains("\"address\":\"198.51.100.77\""));
        assert!(line(AddressDetail::Truncated).contains("\"address\":\"198.51.100.0\""));
        assert!(line(AddressDetail::None).contains("\"address\":null"));
    }
}
