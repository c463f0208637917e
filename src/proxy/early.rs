//! Refusals that are made before pingora begins a request.
//!
//! A session of pingora's costs more than a refusal, and a crawler that is refused has nothing of it: no body is read,
//! and no origin is asked. So where the head of a request says by itself that it will be refused, it is answered as it
//! stands at the gate. It goes through the same stages, is told with the same words, and is recorded in the same way.
//! Whatever is not plain is left alone, uncounted, to the callbacks: so is every request that is not refused.

use super::accesses::Ending;
use super::answer::Answer;
use super::asked::Asked;
use super::bounds;
use super::context::RequestContext;
use super::facts::{self, Head};
use super::judging::{Hearing, Step, redirect};
use super::wire::Caller;
use super::{Gateway, forwarding, labels, respond};
use crate::decide::Reason;
use crate::enforce::Action;
use crate::request::target::Target;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, header};
use pingora::http::RequestHeader;
use pingora::proxy::ProxyHttp as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// More fields than these make no plain request.
const FIELDS: usize = 48;

/// An answer that waits to be sent, and what is to be told of it.
#[derive(Debug)]
pub(super) struct EarlyRefusal {
    octets: Vec<u8>,
    status: u16,
    /// Octets of its body.
    body: usize,
    /// Whether the connection ends with it.
    pub(super) is_last: bool,
    head: RequestHeader,
    context: RequestContext,
}

impl EarlyRefusal {
    /// The answer as it is sent.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }
}

impl Gateway {
    /// The refusal of a request whose whole head `octets` is, and which has no body; `None` for any other, of which
    /// nothing is counted or recorded. `is_stopping` says that no connection is to go on.
    pub(super) fn refuse_early(
        &self,
        octets: &[u8],
        caller: &Caller,
        is_stopping: bool,
    ) -> Option<EarlyRefusal> {
        if self.bare.is_some() {
            return None;
        }
        // What panics here does so in the callbacks, too, where it is counted.
        catch_unwind(AssertUnwindSafe(|| self.refusal_of(plain(octets)?, caller, is_stopping))).ok()?
    }

    fn refusal_of(&self, plain: Plain, caller: &Caller, is_stopping: bool) -> Option<EarlyRefusal> {
        let mut context = self.new_ctx();
        let head = plain.head;
        let answer = self.judged_early(&head, caller, &mut context)?;
        caller.line.begin(false);
        context.line = Some(Arc::clone(&caller.line));
        let is_last = plain.is_last || is_stopping || caller.line.is_used_up();
        let body = if head.method == Method::HEAD { 0 } else { answer.body.len() };
        let octets = respond::octets(&answer, body > 0, !is_last);
        Some(EarlyRefusal { octets, status: answer.status, body, is_last, head, context })
    }

    /// The answer to a request that is refused. It is counted, and what is to be told of it is in `context`.
    fn judged_early(
        &self,
        head: &RequestHeader,
        caller: &Caller,
        context: &mut RequestContext,
    ) -> Option<Answer> {
        let policy = Arc::clone(&context.policy);
        let asked = Asked { head, peer: caller.peer, is_tls: caller.is_tls };
        if bounds::is_head_too_large(head, &policy.config.limits) {
            return None;
        }
        let Head::Request(facts) = facts::read(asked, &policy.config) else { return None };
        let site = policy.site(&facts.host)?;
        if redirect(&facts, site).is_some() {
            return None;
        }
        let target = Target::new(&facts.target, site.config.path_parameters);
        let hearing =
            Hearing { asked, facts: &facts, policy: &policy, site, target: &target, now: context.began };
        let judged = self.judged(hearing);
        if judged.action != Action::Refuse || judged.verdict.reason == Reason::RobotsTxt {
            return None;
        }
        context.request_id =
            forwarding::given_id(asked, context).unwrap_or_else(labels::request_id).into_boxed_str();
        let outcome = self.concluded(hearing, &judged, &context.request_id);
        // From here on it is a request like any other.
        self.look_for_unnamed_proxy(asked, &policy);
        self.totals.request();
        context.site = Some(Arc::clone(site));
        let step = self.told(outcome, site, context);
        self.totals.judging.observe(context.clock.elapsed());
        match step {
            Step::Answer { answer, .. } => Some(answer),
            Step::Forward => None,
        }
    }

    /// A refusal was sent, or its client has left.
    pub(super) fn refused(&self, refusal: EarlyRefusal, caller: &Caller, is_sent: bool) {
        let EarlyRefusal { status, body, head, mut context, .. } = refusal;
        let status = is_sent.then_some(status);
        let ending = Ending { status, bytes: if is_sent { body } else { 0 }, fault: None };
        self.over(Asked { head: &head, peer: caller.peer, is_tls: caller.is_tls }, ending, &mut context);
    }
}

/// A request that leaves nothing to settle: it has no body, and asks for none of what only callbacks know.
struct Plain {
    head: RequestHeader,
    /// Whether its client wants no other answer on the connection.
    is_last: bool,
}

fn plain(octets: &[u8]) -> Option<Plain> {
    let whole = Bytes::copy_from_slice(octets);
    let mut fields = [httparse::EMPTY_HEADER; FIELDS];
    let mut request = httparse::Request::new(&mut fields);
    // By the grammar that the gate has checked already.
    request.parse(&whole).ok().filter(httparse::Status::is_complete)?;
    let method = request.method.filter(|method| matches!(*method, "GET" | "HEAD"))?;
    if request.version != Some(1) {
        return None;
    }
    let mut is_last = false;
    for field in &*request.headers {
        is_last |= option(field)?;
    }
    let count = Some(request.headers.len());
    let mut head = RequestHeader::build_no_case(method, request.path?.as_bytes(), count).ok()?;
    for field in &*request.headers {
        let value = HeaderValue::from_maybe_shared(whole.slice_ref(field.value)).ok()?;
        head.append_header(whole.slice_ref(field.name.as_bytes()), value).ok()?;
    }
    Some(Plain { head, is_last })
}

/// Fields that say something of the connection or the body.
const SETTLED_ELSEWHERE: [HeaderName; 5] =
    [header::UPGRADE, header::EXPECT, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::TRAILER];

/// Whether a field ends the connection (RFC 9112 §9.6); `None` for one that is not plain.
fn option(field: &httparse::Header<'_>) -> Option<bool> {
    if !field.name.eq_ignore_ascii_case("connection") {
        let is_plain = !SETTLED_ELSEWHERE.iter().any(|name| field.name.eq_ignore_ascii_case(name.as_str()));
        return is_plain.then_some(false);
    }
    let is_close = field.value.eq_ignore_ascii_case(b"close");
    (is_close || field.value.eq_ignore_ascii_case(b"keep-alive")).then_some(is_close)
}

#[cfg(test)]
mod tests {
    use super::super::listen::Line;
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::{CurrentPolicy, Prover};
    use crate::record::{Journal, ReadBook, Recorder, Totals};
    use std::time::SystemTime;

    const GPTBOT: &str = "GPTBot/1.2";

    /// A gateway that enforces a file, and the folder of its state.
    fn gateway(more: &str) -> (Gateway, Caller, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let (robots, path) = (folder.path().join("robots.txt"), folder.path().join("gateway.toml"));
        std::fs::write(&robots, "User-agent: *\nDisallow: /\nAllow: /open\n").unwrap();
        let state = folder.path().join("state");
        let text = format!(
            "mode = \"enforce\"\nstate_dir = {state:?}\n{more}[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = {robots:?}\n"
        );
        std::fs::write(&path, text).unwrap();
        let config = Config::load(&Arguments { config: Some(path), ..Arguments::default() }).unwrap();
        let (limits, timeouts) = (config.limits, config.timeouts);
        let (journal, store) = (config.journal.clone(), config.store.clone());
        let policy = crate::policy::check(config, SystemTime::now()).unwrap();
        let gateway = Gateway::new(
            Arc::new(CurrentPolicy::new(policy)),
            Arc::new(Journal::open(&journal).unwrap()),
            Arc::new(Recorder::start(&store).unwrap()),
            Arc::new(Totals::default()),
            Arc::new(ReadBook::default()),
            Arc::new(Prover::start().unwrap()),
        );
        let line = Line::alone(limits, timeouts);
        (gateway, Caller { peer: "192.0.2.1".parse().ok(), is_tls: false, line }, folder)
    }

    fn asks(line: &str, fields: &str) -> Vec<u8> {
        format!("{line}\r\nHost: a.example\r\nUser-Agent: {GPTBOT}\r\n{fields}\r\n").into_bytes()
    }

    #[test]
    fn a_plain_request_is_refused_and_counted_once() {
        let (gateway, caller, _folder) = gateway("");
        for (line, has_body) in [("GET /private HTTP/1.1", true), ("HEAD /private HTTP/1.1", false)] {
            let before = gateway.totals.snapshot();
            let refusal = gateway.refuse_early(&asks(line, ""), &caller, false).unwrap();
            let text = String::from_utf8_lossy(refusal.octets()).into_owned();
            assert!(text.starts_with("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain"), "{text}");
            assert_eq!(text.contains("\r\n\r\nerror: disallowed"), has_body, "{text}");
            gateway.refused(refusal, &caller, true);
            let after = gateway.totals.snapshot();
            assert_eq!((after.requests - before.requests, after.refused - before.refused), (1, 1));
        }
        gateway.journal.close();
        gateway.recorder.close();
    }

    #[test]
    fn what_is_not_plain_or_not_refused_is_left_alone() {
        let (gateway, caller, _folder) = gateway("");
        let plain = "GET /private HTTP/1.1";
        for (line, fields) in [
            ("POST /private HTTP/1.1", ""),
            ("OPTIONS /private HTTP/1.1", ""),
            ("GET /private HTTP/1.0", ""),
            ("GET /open HTTP/1.1", ""),
            ("GET /robots.txt HTTP/1.1", ""),
            (plain, "connection: keep-alive, upgrade\r\n"),
            (plain, "Upgrade: websocket\r\n"),
            (plain, "Expect: 100-continue\r\n"),
            (plain, "content-length: 0\r\n"),
            (plain, "Transfer-Encoding: chunked\r\n"),
            (plain, "Trailer: x\r\n"),
            (plain, &"X: y\r\n".repeat(FIELDS)),
        ] {
            assert!(gateway.refuse_early(&asks(line, fields), &caller, false).is_none(), "{line} {fields}");
        }
        let person = b"GET /private HTTP/1.1\r\nHost: a.example\r\nUser-Agent: curl/8.0\r\n\r\n";
        for octets in [&person[..], b"GET /private HTTP/1.1\r\nHost: a.example\r\n", b"", b"\r\n\r\n"] {
            assert!(gateway.refuse_early(octets, &caller, false).is_none());
        }
        assert_eq!(gateway.totals.snapshot().requests, 0);
        assert_eq!(gateway.totals.snapshot().faults, 0);
    }

    #[test]
    fn who_says_that_a_request_is_the_last_is_told_so() {
        let (gateway, caller, _folder) = gateway("[limits]\nrequests_per_connection = 4\n");
        let lasts = |fields: &str, is_stopping| {
            let octets = asks("GET /private HTTP/1.1", fields);
            let refusal = gateway.refuse_early(&octets, &caller, is_stopping).unwrap();
            let says_so = String::from_utf8_lossy(refusal.octets()).contains("\r\nConnection: close\r\n\r\n");
            assert_eq!(says_so, refusal.is_last);
            gateway.refused(refusal, &caller, true);
            says_so
        };
        assert!(!lasts("Connection: Keep-Alive\r\n", false));
        assert!(lasts("connection: Close\r\n", false));
        assert!(lasts("", true));
        assert!(lasts("", false), "the fourth of four");
    }
}
