//! What a refused crawler is told: which rule, of which group, on which line, and whom to ask.
//!
//! A refusal that explains itself is read by the crawler's operator; one that does not is retried.

use crate::decide::{PaceExcess, PaceLimit, Ruling, Verdict, VerdictReason, VersionId};
use crate::http::Response;
use crate::robots::Rule;
use bytes::Bytes;
use serde::Serialize;
use std::borrow::Cow;
use std::time::Duration;

/// What a client is told whose target has more readings than are followed.
const UNCLEAR: &str = "servers may read this address in too many ways: ask for it in its plain form";

/// How a site refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalPolicy {
    /// 402, 403, 404, 410, 429 or 451.
    pub status: u16,
    /// Whom a crawler's operator may ask, as a URI or plain text.
    pub contact: Option<String>,
    /// When to come back, sent with 429 (RFC 9110 §10.2.3).
    pub retry_after: Duration,
}

impl Default for RefusalPolicy {
    fn default() -> Self {
        Self { status: 403, contact: None, retry_after: Duration::from_secs(86_400) }
    }
}

/// The content of a refusal, field by field. Delays are in seconds, the time to wait in whole ones.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Refusal<'a> {
    error: &'static str,
    crawler: Option<&'a str>,
    group: Vec<&'a str>,
    line: Option<u32>,
    /// What the line was generated for.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    rule: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    declared: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
    robots: &'a str,
    robots_version: Option<String>,
    contact: Option<&'a str>,
}

impl<'a> Refusal<'a> {
    /// Gathers what the refused client is told. `robots` is where the rules can be read. What the rules
    /// allow is refused only to a client that borrows a name, and then no rule is to blame.
    pub fn new(
        verdict: &'a Verdict<'_>,
        crawler: Option<&'a str>,
        robots: &'a str,
        contact: Option<&'a str>,
    ) -> Self {
        let is_borrowed = verdict.allows();
        let ruling = verdict.ruling.as_ref().filter(|_| !is_borrowed);
        let error = match verdict.reason {
            _ if is_borrowed => "this address is not one of the crawler's",
            VerdictReason::Variant if ruling.is_none_or(|ruling| ruling.rule.is_none()) => UNCLEAR,
            _ => "disallowed by robots.txt",
        };
        Self { error, crawler, robots, contact, ..Self::of(verdict.version, ruling) }
    }

    /// Gathers what `crawler` is told that comes too fast; the verdict is the one on its pace.
    pub fn of_pace(
        verdict: &'a Verdict<'_>,
        crawler: Option<&'a str>,
        (limit, excess): (&PaceLimit, PaceExcess),
        robots: &'a str,
        contact: Option<&'a str>,
    ) -> Self {
        let round = |seconds: f64| Some((seconds * 1_000.0).round() / 1_000.0);
        Self {
            error: "too many requests: come more slowly",
            crawler,
            declared: round(limit.delay.as_secs_f64()),
            observed: round(limit.window.as_secs_f64() / f64::from(excess.asked.max(1))),
            retry_after: Some(excess.retry_after.as_secs()),
            robots,
            contact,
            ..Self::of(verdict.version, verdict.ruling.as_ref())
        }
    }

    fn of(version: Option<VersionId>, ruling: Option<&'a Ruling<'_>>) -> Self {
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        Self {
            group: ruling.map_or_else(Vec::new, |ruling| ruling.group.tokens()),
            line: rule.map(|rule| rule.line),
            source: rule.and_then(Rule::source),
            rule: rule.map(|rule| String::from_utf8_lossy(rule.text)),
            robots_version: version.map(|version| version.to_string()),
            ..Self::default()
        }
    }

    /// Renders the refusal for a client that sent `accept`.
    pub fn reply(&self, policy: &RefusalPolicy, accept: Option<&[u8]>) -> Response {
        if !prefers_json(accept) {
            return policy.answer("text/plain; charset=utf-8", self.text().into());
        }
        // Nothing here has a form that JSON lacks.
        let mut body = serde_json::to_vec(self).unwrap_or_default();
        body.push(b'\n');
        policy.answer("application/json", body.into())
    }

    fn text(&self) -> String {
        let mut body = String::with_capacity(256);
        let mut field = |name: &str, value: &str| body.extend([name, ": ", value, "\n"]);
        field("error", self.error);
        self.crawler.iter().for_each(|crawler| field("crawler", crawler));
        if !self.group.is_empty() {
            field("group", &self.group.join(", "));
        }
        self.line.iter().for_each(|line| field("line", &line.to_string()));
        self.source.iter().for_each(|source| field("source", source));
        self.rule.iter().for_each(|rule| field("rule", rule));
        for (name, delay) in [("declared", self.declared), ("observed", self.observed)] {
            if let Some(delay) = delay {
                field(name, &format!("one request each {delay} s"));
            }
        }
        self.retry_after.iter().for_each(|seconds| field("retry_after", &format!("{seconds} s")));
        field("robots", self.robots);
        self.robots_version.iter().for_each(|version| field("robots_version", version));
        self.contact.iter().for_each(|contact| field("contact", contact));
        body
    }
}

impl RefusalPolicy {
    /// A refusal with this body.
    pub fn answer(&self, content_type: &'static str, body: Bytes) -> Response {
        let reply = Response::new(self.status, body)
            .with("Content-Type", content_type)
            // Two caches are told apart: a shared one must not answer a browser with a crawler's refusal.
            .with("Cache-Control", "private, no-store")
            .with("cdn-cache-control", "no-store")
            .with("vary", "User-Agent")
            .with("link", "</robots.txt>; rel=\"describedby\"");
        if self.status == 429 {
            return reply.with("retry-after", self.retry_after.as_secs().to_string());
        }
        reply
    }
}

/// Whether `accept` asks for JSON in so many words. Wildcards get text: a person reads it more easily.
pub fn prefers_json(accept: Option<&[u8]>) -> bool {
    const JSON: &[u8] = b"application/json";
    let Some(accept) = accept.filter(|accept| accept.len() >= JSON.len()) else { return false };
    accept.split(|byte| *byte == b',').any(|range| {
        let mut parts = range.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
        let named = parts.next().is_some_and(|media| media.eq_ignore_ascii_case(JSON));
        named && !parts.any(|parameter| matches!(parameter, b"q=0" | b"q=0.0" | b"q=0.00" | b"q=0.000"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Notice, Ruling, RulingGroup, VerdictOutcome};
    use crate::robots::{ParseLimits, Robots};

    fn reply(policy: &RefusalPolicy, accept: Option<&str>) -> Response {
        let robots =
            Robots::parse(b"User-agent: A\nUser-agent: B\nDisallow: /x\n", &ParseLimits::default()).robots;
        let judgement = robots.judge(&["B"], true, b"/x");
        let group = judgement.group.unwrap();
        let verdict = Verdict {
            outcome: VerdictOutcome::Violation(Notice::Read),
            reason: VerdictReason::Rule,
            ruling: Some(Ruling { group: RulingGroup::Rules(group), rule: judgement.rule }),
            version: Some(VersionId::of(b"")),
        };
        let contact = policy.contact.as_deref();
        Refusal::new(&verdict, Some("B"), "/robots.txt", contact).reply(policy, accept.map(str::as_bytes))
    }

    fn header<'a>(reply: &'a Response, name: &str) -> Option<&'a str> {
        let mut found = reply.fields().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| std::str::from_utf8(value).unwrap())
    }

    #[test]
    fn a_refusal_names_group_line_and_rule() {
        let policy =
            RefusalPolicy { contact: Some("mailto:web@example.org".to_owned()), ..RefusalPolicy::default() };
        let reply = reply(&policy, None);
        assert_eq!(reply.status, 403);
        assert_eq!(
            reply.body,
            "error: disallowed by robots.txt\ncrawler: B\ngroup: A, B\nline: 3\nrule: Disallow: /x\n\
             robots: /robots.txt\nrobots_version: e3b0c44298fc\ncontact: mailto:web@example.org\n"
        );
        assert_eq!(header(&reply, "link"), Some("</robots.txt>; rel=\"describedby\""));
        assert_eq!(header(&reply, "cache-control"), Some("private, no-store"));
        assert_eq!(header(&reply, "retry-after"), None);
    }

    #[test]
    fn a_borrowed_name_is_no_matter_of_rules() {
        let (outcome, reason) = (VerdictOutcome::Allow, VerdictReason::NoRule);
        let verdict = Verdict { outcome, reason, ruling: None, version: Some(VersionId::of(b"")) };
        let refusal = Refusal::new(&verdict, Some("B"), "/robots.txt", None);
        assert_eq!(
            refusal.reply(&RefusalPolicy::default(), None).body,
            "error: this address is not one of the crawler's\ncrawler: B\nrobots: /robots.txt\n\
             robots_version: e3b0c44298fc\n"
        );
    }

    #[test]
    fn a_target_with_too_many_readings_is_no_matter_of_one_rule() {
        let ruling = Some(Ruling { group: RulingGroup::Name("B"), rule: None });
        let (outcome, reason) = (VerdictOutcome::Variant, VerdictReason::Variant);
        let verdict = Verdict { outcome, reason, ruling, version: Some(VersionId::of(b"")) };
        let refusal = Refusal::new(&verdict, Some("B"), "/robots.txt", None);
        assert_eq!(
            refusal.reply(&RefusalPolicy::default(), None).body,
            "error: servers may read this address in too many ways: ask for it in its plain form\ncrawler: B\n\
             group: B\nrobots: /robots.txt\nrobots_version: e3b0c44298fc\n"
        );
    }

    #[test]
    fn json_is_for_those_who_ask_for_it() {
        let policy = RefusalPolicy::default();
        let json = reply(&policy, Some("text/html;q=0.5, application/json"));
        assert_eq!(header(&json, "content-type"), Some("application/json"));
        assert_eq!(
            json.body,
            "{\"error\":\"disallowed by robots.txt\",\"crawler\":\"B\",\"group\":[\"A\",\"B\"],\"line\":3,\
             \"rule\":\"Disallow: /x\",\"robots\":\"/robots.txt\",\"robots_version\":\"e3b0c44298fc\",\"contact\":null}\n"
        );
        for accept in [None, Some("*/*"), Some("text/html"), Some("application/json;q=0")] {
            assert_eq!(header(&reply(&policy, accept), "content-type"), Some("text/plain; charset=utf-8"));
        }
    }

    #[test]
    fn too_many_requests_says_when_to_come_back() {
        let policy =
            RefusalPolicy { status: 429, retry_after: Duration::from_secs(60), ..RefusalPolicy::default() };
        assert_eq!(header(&reply(&policy, None), "retry-after"), Some("60"));
    }
}
