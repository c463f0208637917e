//! One event, as it is written to the journal: field names and their order are public API.

use crate::decide::{Outcome, Verdict, VersionId};
use crate::enforce::{Action, Mode};
use crate::identify::{Identity, Proof};
use crate::record::octets::printable;
use crate::request::RequestFacts;
use crate::request::address::Network;
use jiff::Timestamp;
use serde::Serialize;
use std::fmt::Write as _;
use std::net::IpAddr;
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
    pub(super) fn show(self, address: Option<IpAddr>) -> Option<String> {
        match self {
            Self::Full => address.map(|address| address.to_string()),
            Self::Truncated => address.map(|address| Network::around(address, 24, 48).address().to_string()),
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

/// One line of the journal. Every field is always present, null where empty.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    v: u32,
    time: String,
    /// What kind of event this is.
    pub event: EventKind,
    site: String,
    mode: &'static str,
    action: &'static str,
    /// Status the client was answered with; null when it left before.
    pub status: Option<u16>,
    client: &'static str,
    crawler: Option<String>,
    purpose: Option<&'static str>,
    token: Option<String>,
    proof: &'static str,
    address: Option<String>,
    scheme: &'static str,
    method: String,
    host: String,
    target: String,
    user_agent: Option<String>,
    group: Vec<String>,
    line: Option<u32>,
    rule: Option<String>,
    reason: &'static str,
    robots_version: Option<String>,
    notice: Option<&'static str>,
    request_id: String,
}

impl Event {
    /// Puts an event together; the status is filled in when the request is over.
    #[must_use]
    pub fn new(occurrence: &Occurrence<'_>) -> Self {
        let Occurrence { facts, identity, proof, verdict, mode, action, site, now, request_id, addresses } =
            *occurrence;
        let ruling = verdict.ruling.as_ref();
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        Self {
            v: SCHEMA,
            time: timestamp(now),
            event: EventKind::of(verdict, proof),
            site: site.to_owned(),
            mode: mode.as_str(),
            action: action.as_str(),
            status: None,
            client: identity.client.as_str(),
            crawler: identity.crawler.as_deref().map(str::to_owned),
            purpose: identity.purpose.map(crate::identify::Purpose::as_str),
            token: ruling.map(|ruling| ruling.token.to_owned()),
            proof: proof.as_str(),
            address: addresses.show(facts.address),
            scheme: facts.scheme.as_str(),
            method: facts.method.to_owned(),
            host: facts.host.clone().into_owned(),
            target: printable(&facts.target),
            user_agent: facts.user_agent.as_deref().map(printable),
            group: ruling.map_or_else(Vec::new, |ruling| {
                ruling.group.iter().map(|token| (*token).to_owned()).collect()
            }),
            line: rule.map(|rule| rule.line),
            rule: rule.map(|rule| printable(rule.text)),
            reason: verdict.reason.as_str(),
            robots_version: verdict.version.as_ref().map(VersionId::to_string),
            notice: verdict.notice().map(crate::decide::Notice::as_str),
            request_id: request_id.to_owned(),
        }
    }

    /// The event as one JSON line, its newline included.
    #[must_use]
    pub fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_string(self).unwrap_or_default();
        // JSON leaves the upper control characters alone; a terminal takes U+009B for an escape.
        if line.contains(is_upper_control) {
            line = line.chars().fold(String::with_capacity(line.len() + 16), |mut line, symbol| {
                if is_upper_control(symbol) {
                    // Writing to a `String` cannot fail.
                    let _ = write!(line, "\\u{:04x}", u32::from(symbol));
                } else {
                    line.push(symbol);
                }
                line
            });
        }
        line.push('\n');
        line.into_bytes()
    }
}

const fn is_upper_control(symbol: char) -> bool {
    matches!(symbol, '\u{7f}'..='\u{9f}')
}

/// A time in UTC as it is written everywhere: RFC 3339, to the millisecond.
#[must_use]
pub fn timestamp(time: SystemTime) -> String {
    format!("{:.3}", Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Reason;
    use crate::identify::{Basis, Client};
    use crate::request::Scheme;
    use std::borrow::Cow;
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
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("example.org"),
            target: Cow::Borrowed(b"/caf\xe9"),
            user_agent: Some(Cow::Borrowed(b"\"\x1b[0m\xc2\x9b")),
            address: "198.51.100.77".parse().ok(),
        };
        let tokens = Arc::new([]);
        let client = Client::Tool;
        let identity =
            Identity { client, crawler: None, purpose: None, tokens, star: true, basis: Basis::Sign };
        let verdict =
            Verdict { outcome: Outcome::Allow, reason: Reason::NoGroup, ruling: None, version: None };
        let event = Event::new(&Occurrence {
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
        });
        String::from_utf8(event.line()).unwrap()
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
        assert_eq!(value["target"], "/caf\\xE9");
        assert!(line.ends_with("}\n") && !line.contains(['\u{1b}', '\u{9b}']));
        assert_eq!(value["user_agent"], "\"\u{1b}[0m\u{9b}");
    }

    #[test]
    fn an_address_is_shown_as_far_as_the_operator_wants() {
        assert!(line(AddressDetail::Full).contains("\"address\":\"198.51.100.77\""));
        assert!(line(AddressDetail::Truncated).contains("\"address\":\"198.51.100.0\""));
        assert!(line(AddressDetail::None).contains("\"address\":null"));
    }
}
