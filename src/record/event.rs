//! One event, as it is written to the journal: field names and their order are public API.

use super::bytes::{json_line, printable, start_within};
use super::word;
use crate::decide::{Notice, Verdict, VerdictOutcome, VerdictReason, VersionId};
use crate::enforce::{Action, Mode};
use crate::identify::{Identity, Proof, ProofMethod, Purpose};
use crate::request::RequestFacts;
use crate::request::address::Network;
use crate::robots::Rule;
use jiff::Timestamp;
use serde::Serialize;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

/// Version of the event's fields.
const SCHEMA: u32 = 1;

/// What kind of event a line tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum EventKind {
    /// Plainly allowed.
    Allowed,
    /// Disallowed by every version the client could hold.
    Violation,
    /// Disallowed by some of them only.
    Stale,
    /// Allowed as sent, and an origin may read it as a path that is disallowed.
    Variant,
    /// Allowed, from a client that borrows a crawler's name.
    Spoof,
    /// Allowed, and faster than the crawler was asked to come.
    Pace,
}

impl EventKind {
    /// The kind of event a verdict amounts to.
    pub fn of(verdict: &Verdict<'_>, proof: Proof) -> Self {
        match verdict.outcome {
            _ if matches!(verdict.reason, VerdictReason::CrawlDelay | VerdictReason::Rate) => Self::Pace,
            VerdictOutcome::Violation(_) => Self::Violation,
            VerdictOutcome::Stale(_) => Self::Stale,
            VerdictOutcome::Variant => Self::Variant,
            VerdictOutcome::Allow if proof == Proof::Contradicted && verdict.is_judged() => Self::Spoof,
            VerdictOutcome::Allow => Self::Allowed,
        }
    }

    /// The word in the journal.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// How much of a client's address is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
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
    /// As much of an address as is recorded.
    pub fn show(self, address: Option<IpAddr>) -> Option<IpAddr> {
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
    /// By which method that is known.
    pub proof_by: Option<ProofMethod>,
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
    /// What this gateway is called in its fleet.
    pub gateway: Option<&'a str>,
    /// Bytes of the body that it is answered with, as far as they are known already.
    pub bytes: u64,
}

/// One line of the journal: its fields in their order. Every one is always present, null where empty.
#[derive(Clone, Debug, Serialize)]
#[expect(clippy::struct_field_names, reason = "`event` is the name of a field of the line")]
pub struct Event {
    /// It rises when a field changes its meaning.
    v: u32,
    #[serde(serialize_with = "write_timestamp")]
    time: SystemTime,
    event: &'static str,
    site: Box<str>,
    mode: &'static str,
    action: &'static str,
    status: Option<u16>,
    client: &'static str,
    crawler: Option<Box<str>>,
    purpose: Option<&'static str>,
    token: Option<Box<str>>,
    proof: &'static str,
    proof_by: Option<&'static str>,
    address: Option<IpAddr>,
    scheme: &'static str,
    method: Box<str>,
    host: Box<str>,
    target: Box<str>,
    user_agent: Option<Box<str>>,
    group: Vec<Box<str>>,
    line: Option<u32>,
    source: Option<Box<str>>,
    rule: Option<Box<str>>,
    reason: &'static str,
    #[serde(with = "word::optional")]
    robots_version: Option<VersionId>,
    notice: Option<&'static str>,
    /// Fields of which only the start is written.
    cut: Option<Vec<&'static str>>,
    request_id: Box<str>,
    gateway: Option<Box<str>>,
}

impl Event {
    /// Puts an event together.
    pub fn new(occurrence: &Occurrence<'_>) -> Self {
        Self::of(EventKind::of(occurrence.verdict, occurrence.proof), occurrence)
    }

    /// As [`Self::new`], for an event that is to be told of as `kind`.
    pub fn of(kind: EventKind, occurrence: &Occurrence<'_>) -> Self {
        let Occurrence { facts, identity, verdict, addresses, .. } = *occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let mut cut: Vec<&'static str> = Vec::new();
        // What is UTF-8 stays so: no character is cut in two.
        let mut text = |name, value: &[u8]| -> Box<str> {
            let start = start_within(value, LONGEST);
            cut.extend((start.len() < value.len()).then_some(name));
            printable(start).into()
        };
        Self {
            v: SCHEMA,
            time: occurrence.now,
            event: kind.as_str(),
            site: occurrence.site.into(),
            mode: occurrence.mode.as_str(),
            action: occurrence.action.as_str(),
            status: None,
            client: identity.client.as_str(),
            crawler: identity.crawler.as_deref().map(Into::into),
            purpose: identity.purpose.map(Purpose::as_str),
            token: ruling.map(|ruling| ruling.group.token().into()),
            proof: occurrence.proof.as_str(),
            proof_by: occurrence.proof_by.map(ProofMethod::as_str),
            address: addresses.show(facts.address),
            scheme: facts.scheme.as_str(),
            method: text("method", facts.method.as_bytes()),
            host: facts.host.as_ref().into(),
            target: text("target", &facts.target),
            user_agent: facts.user_agent.as_deref().map(|header| text("user_agent", header)),
            group: ruling
                .map_or_else(Vec::new, |ruling| ruling.group.tokens())
                .into_iter()
                .map(Into::into)
                .collect(),
            line: rule.map(|rule| rule.line),
            source: rule.and_then(Rule::source).map(Into::into),
            rule: rule.map(|rule| printable(rule.text).into()),
            reason: verdict.reason.as_str(),
            robots_version: verdict.version,
            notice: verdict.notice().map(Notice::as_str),
            cut: Some(cut).filter(|names| !names.is_empty()),
            request_id: occurrence.request_id.into(),
            gateway: occurrence.gateway.map(Into::into),
        }
    }

    /// The event as one JSON line, its newline included, with the status that the client was answered with; `None` when it
    /// left before.
    pub fn line(self, status: Option<u16>) -> String {
        json_line(&Self { status, ..self })
    }
}

/// How much is written of a field that a client fills, in bytes of the line: what is escaped takes up to six times its
/// own. With all of it, a few requests would fill the disk and
/// leave no room for what others did.
const LONGEST: usize = 2_048;

/// A time in UTC as it is written everywhere: RFC 3339, to the millisecond.
pub fn timestamp(time: SystemTime) -> String {
    format!("{:.3}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

/// A length of time for people, in its two largest units: `0.25 s`, `90 min` is `1 h 30 min`, `3 d 2 h`. Nothing takes less
/// than a hundredth of a second.
pub fn format_span(span: Duration) -> String {
    let seconds = span.as_secs();
    if seconds < 10 {
        let text = format!("{:.2}", span.as_secs_f64().max(0.01));
        return format!("{} s", text.trim_end_matches('0').trim_end_matches('.'));
    }
    let units = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let first = units.iter().position(|(unit, _)| seconds >= *unit).unwrap_or_default();
    let mut left = seconds;
    let parts = units.iter().skip(first).take(2).filter_map(|(unit, word)| {
        let count = left / unit;
        left %= unit;
        (count > 0).then(|| format!("{count} {word}"))
    });
    parts.collect::<Vec<_>>().join(" ")
}

/// The same for what serde writes.
pub(super) fn write_timestamp<S: serde::Serializer>(
    time: &SystemTime,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&timestamp(*time))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Basis, ClientKind};
    use crate::record::bytes::is_harmful;
    use crate::request::Scheme;
    use std::borrow::Cow;
    use std::sync::Arc;
    use std::time::Duration;

    /// The fields of a line, in their order.
    const FIELDS: [&str; 29] = [
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
        "proof_by",
        "address",
        "scheme",
        "method",
        "host",
        "target",
        "user_agent",
        "group",
        "line",
        "source",
        "rule",
        "reason",
        "robots_version",
        "notice",
        "cut",
        "request_id",
        "gateway",
    ];

    fn line(addresses: AddressDetail) -> String {
        event(addresses).line(None)
    }

    fn event(addresses: AddressDetail) -> Event {
        event_of(&facts(), addresses)
    }

    fn facts() -> RequestFacts<'static> {
        RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("ex\u{200b}ample.org"),
            target: Cow::Borrowed(b"/caf\xe9\xe2\x80\xae"),
            user_agent: Some(Cow::Borrowed("\"\x1b[0m\u{9b}\u{2066}\u{e0041}caf\u{e9}".as_bytes())),
            address: "198.51.100.77".parse().ok(),
        }
    }

    fn event_of(facts: &RequestFacts<'_>, addresses: AddressDetail) -> Event {
        let tokens = Arc::new([]);
        let client = ClientKind::Tool;
        let identity =
            Identity { client, crawler: None, purpose: None, tokens, star: true, basis: Basis::Sign };
        let verdict = Verdict {
            outcome: VerdictOutcome::Allow,
            reason: VerdictReason::NoGroup,
            ruling: None,
            version: None,
        };
        Event::new(&Occurrence {
            facts,
            identity: &identity,
            proof: Proof::Unchecked,
            proof_by: None,
            verdict: &verdict,
            mode: Mode::Audit,
            action: Action::Forward,
            site: "example.org",
            now: SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_020),
            request_id: "1",
            addresses,
            gateway: None,
            bytes: 0,
        })
    }

    #[test]
    fn a_line_has_the_status_that_is_known_when_it_is_put_together() {
        let event = event(AddressDetail::Full);
        let line = |status| event.clone().line(status);
        assert!(line(None).contains("\"status\":null,"));
        assert_eq!(line(Some(403)), line(None).replacen("\"status\":null", "\"status\":403", 1));
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
        for field in ["crawler", "line", "status", "cut"] {
            assert!(value[field].is_null(), "{field}");
        }
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
    fn what_a_client_fills_is_cut_and_the_line_says_so() {
        let long = |middle: &str| ["/", &"a".repeat(LONGEST - 2), middle, &"b".repeat(20_000)].concat();
        let cases = [(long("c"), LONGEST), (long("\u{e9}"), LONGEST - 1), (long("\u{1f639}"), LONGEST - 1)];
        for (text, length) in cases {
            let facts = RequestFacts {
                method: "GET",
                target: Cow::Borrowed(text.as_bytes()),
                user_agent: Some(Cow::Owned(b"a".repeat(LONGEST))),
                ..facts()
            };
            let line = event_of(&facts, AddressDetail::Full).line(None);
            let value: serde_json::Value = serde_json::from_str(&line).unwrap();
            assert_eq!(value["cut"], serde_json::json!(["target"]));
            assert_eq!(value["target"], text[..length], "no character is cut in two");
        }
        let bytes = vec![0xff; 30_000];
        let method = "M".repeat(5_000);
        let facts = RequestFacts {
            method: &method,
            target: Cow::Borrowed(&bytes),
            user_agent: Some(Cow::Borrowed(&bytes)),
            ..facts()
        };
        let line = event_of(&facts, AddressDetail::Full).line(None);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["cut"], serde_json::json!(["method", "target", "user_agent"]));
        assert_eq!(value["target"], "\\xFF".repeat(LONGEST / "\\\\xFF".len()));
        // Three such fields, and what is not a client's.
        assert!(line.len() < 3 * LONGEST + 1_024, "{}", line.len());
    }

    #[test]
    fn an_address_is_shown_as_far_as_the_operator_wants() {
        assert!(line(AddressDetail::Full).contains("\"address\":\"198.51.100.77\""));
        assert!(line(AddressDetail::Truncated).contains("\"address\":\"198.51.100.0\""));
        assert!(line(AddressDetail::None).contains("\"address\":null"));
    }

    #[test]
    fn spans_are_said_in_two_units_at_most() {
        let spans = [0, 250, 2_100, 10_000, 59_999, 600_000, 3_599_000, 3_660_000, 90_000_000, 172_800_000];
        let spans = spans.map(|millis| format_span(Duration::from_millis(millis)));
        let told = [
            "0.01 s",
            "0.25 s",
            "2.1 s",
            "10 s",
            "59 s",
            "10 min",
            "59 min 59 s",
            "1 h 1 min",
            "1 d 1 h",
            "2 d",
        ];
        assert_eq!(spans, told);
    }
}
