//! Refusals that are made before pingora begins a request.
//!
//! A session of pingora's costs more than a refusal, and a crawler that is refused has nothing of it: no body is read,
//! and no origin is asked. So where the head of a request says by itself that it will be refused, it is answered as it
//! stands at the gate. It goes through the same stages, is told with the same words, and is recorded in the same way.
//! Whatever is not plain is left alone, uncounted, to the callbacks: so is every request that is not refused.

use super::accesses::Ending;
use super::answer::Answer;
use super::bounds;
use super::context::RequestContext;
use super::facts::{self, Head};
use super::judging::{Hearing, Step, concluded, redirect};
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
    answer: Written,
    /// Whether the connection ends with it.
    pub(super) is_last: bool,
    head: RequestHeader,
    context: RequestContext,
}

impl EarlyRefusal {
    /// The answer as it is sent.
    pub(super) fn octets(&self) -> &[u8] {
        &self.answer.octets
    }
}

/// An answer in octets.
#[derive(Debug)]
struct Written {
    octets: Vec<u8>,
    status: u16,
    /// How many of the octets are its body.
    body: usize,
}

impl Written {
    fn of(answer: &Answer, head: &RequestHeader, is_last: bool) -> Self {
        let body = if head.method == Method::HEAD { 0 } else { answer.body.len() };
        Self { octets: respond::octets(answer, body > 0, !is_last), status: answer.status, body }
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
    ) -> Option<Box<EarlyRefusal>> {
        // In audit nobody looks at all.
        if self.bare.is_some() || !self.current.may_refuse() {
            return None;
        }
        // What panics here does so in the callbacks, too, where it is counted.
        catch_unwind(AssertUnwindSafe(|| self.refusal_of(plain(octets)?, caller, is_stopping))).ok()?
    }

    fn refusal_of(&self, plain: Plain, caller: &Caller, is_stopping: bool) -> Option<Box<EarlyRefusal>> {
        let Plain { head, is_last } = plain;
        let is_last = is_last || is_stopping || caller.line.ends_with_next();
        let mut context = self.new_ctx();
        let answer = self.answer_early(&head, is_last, caller, &mut context)?;
        caller.line.begin(false);
        context.line = Some(Arc::clone(&caller.line));
        // On the heap: while it is sent it would take its room in every connection, idle ones too.
        Some(Box::new(EarlyRefusal { answer, is_last, head, context }))
    }

    /// The answer to a request that is refused. It is counted then, after all that could go wrong, and what is to be
    /// told of it is in `context`.
    fn answer_early(
        &self,
        head: &RequestHeader,
        is_last: bool,
        caller: &Caller,
        context: &mut RequestContext,
    ) -> Option<Written> {
        let policy = Arc::clone(&context.policy);
        let asked = caller.asks(head);
        if bounds::is_head_too_large(head, &policy.config.limits) {
            return None;
        }
        let Head::Request(facts) = facts::read(asked, &policy.config) else { return None };
        let slot = policy.hosts().find(&facts.host);
        let (site, rules) = policy.found(slot)?;
        if redirect(&facts, site).is_some() {
            return None;
        }
        let target = Target::new(&facts.target, site.config.path_parameters);
        let hearing = Hearing {
            asked,
            facts: &facts,
            policy: &policy,
            site,
            rules,
            target: &target,
            now: context.began,
        };
        let judged = self.judged(hearing);
        if judged.action != Action::Refuse || judged.verdict.reason == Reason::RobotsTxt {
            return None;
        }
        context.request_id =
            forwarding::given_id(asked, context).unwrap_or_else(labels::request_id).into_boxed_str();
        let mut outcome = concluded(hearing, &judged, &context.request_id);
        let Step::Answer { answer, .. } = &outcome.step else { return None };
        let written = Written::of(answer, head, is_last);
        // From here on it is a request like any other.
        self.count(hearing, &judged, &context.request_id, &mut outcome);
        self.look_for_unnamed_proxy(asked, &policy);
        self.totals.request();
        context.slot = slot;
        self.told(outcome, site, context);
        self.totals.judging.observe(context.clock.elapsed());
        Some(written)
    }

    /// A refusal was sent, or its client has left.
    pub(super) fn refused(&self, refusal: Box<EarlyRefusal>, caller: &Caller, is_sent: bool) {
        let EarlyRefusal { answer, head, mut context, .. } = *refusal;
        let status = is_sent.then_some(answer.status);
        let ending = Ending { status, bytes: if is_sent { answer.body } else { 0 }, fault: None };
        self.over(caller.asks(&head), ending, &mut context);
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
    let is_last = is_last(request.headers)?;
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

/// Whether the connection ends with the request (RFC 9112 §9.6); `None` where the fields are not plain.
fn is_last(fields: &[httparse::Header<'_>]) -> Option<bool> {
    let mut option = None;
    for field in fields {
        let is = |name: &HeaderName| field.name.eq_ignore_ascii_case(name.as_str());
        let is_second = is(&header::CONNECTION) && option.replace(field.value).is_some();
        if is_second || SETTLED_ELSEWHERE.iter().any(is) {
            return None;
        }
    }
    match option {
        None => Some(false),
        Some(option) if option.eq_ignore_ascii_case(b"keep-alive") => Some(false),
        Some(option) => option.eq_ignore_ascii_case(b"close").then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::super::listen::Line;
    use super::super::wire::Checked;
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::{CurrentPolicy, Prover};
    use crate::record::{Journal, ReadBook, Recorder, Totals};
    use async_trait::async_trait;
    use pingora::apps::{HttpServerApp, ReusedHttpStream, ServerApp as _};
    use pingora::http::ResponseHeader;
    use pingora::protocols::GetProxyDigest as _;
    use pingora::protocols::http::ServerSession;
    use pingora::protocols::l4::stream::Stream as L4Stream;
    use pingora::protocols::raw_connect::ProxyDigest;
    use pingora::server::ShutdownWatch;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::SystemTime;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    const GPTBOT: &str = "GPTBot/1.2";

    /// A gateway that enforces a file, and the folder of its state.
    fn gateway(settings: &str) -> (Gateway, Caller, tempfile::TempDir) {
        let mode = if settings.contains("mode = ") { "" } else { "mode = \"enforce\"\n" };
        let folder = tempfile::tempdir().unwrap();
        let (robots, path) = (folder.path().join("robots.txt"), folder.path().join("gateway.toml"));
        std::fs::write(&robots, "User-agent: *\nDisallow: /\nAllow: /open\n").unwrap();
        let state = folder.path().join("state");
        let text = format!(
            "state_dir = {state:?}\n{mode}{settings}[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = {robots:?}\n"
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

    #[test]
    fn a_refusal_that_did_not_arrive_has_no_status() {
        let (mut gateway, caller, folder) = gateway("");
        let log = folder.path().join("access.log");
        let target = crate::record::JournalTarget::File(log.clone());
        let name = "access log";
        let file = crate::record::JournalOptions { name, target, max_bytes: 1 << 20, keep: 1, rate: None };
        let format = crate::record::AccessFormat::Json;
        let lines =
            crate::record::AccessLog::open(&crate::record::AccessLogOptions { file, format }).unwrap();
        gateway.access_log = Some(Arc::new(lines));
        let octets = asks("GET /private HTTP/1.1", "");
        for is_sent in [true, false] {
            let refusal = gateway.refuse_early(&octets, &caller, false).unwrap();
            gateway.refused(refusal, &caller, is_sent);
        }
        gateway.journal.close();
        gateway.access_log.as_ref().unwrap().close();
        let statuses = |path: &std::path::Path| -> Vec<serde_json::Value> {
            let text = std::fs::read_to_string(path).unwrap();
            let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
            lines.map(|line| line["status"].clone()).collect()
        };
        assert_eq!(statuses(&log), [403, 499]);
        let journal = statuses(&folder.path().join("state").join("journal.jsonl"));
        assert_eq!(journal, [serde_json::json!(403), serde_json::Value::Null]);
    }

    /// Pingora's place in the flow: counts the requests that get so far.
    #[derive(Default)]
    struct Behind(AtomicUsize);

    #[async_trait]
    impl HttpServerApp for Behind {
        async fn process_new_http(
            self: &Arc<Self>,
            _: ServerSession,
            _: &ShutdownWatch,
        ) -> Option<ReusedHttpStream> {
            self.0.fetch_add(1, Ordering::Relaxed);
            None
        }
    }

    /// How many requests get as far as pingora when a client asks `octets` on one connection, and what it is answered.
    fn asked(mode: &str, octets: &[u8]) -> (usize, String) {
        let (gateway, caller, _folder) = gateway(mode);
        let behind = Arc::new(Behind::default());
        let checked = Arc::new(Checked::new(Arc::clone(&behind), gateway));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = runtime.block_on(async {
            let (mut client, served) = tokio::net::UnixStream::pair().unwrap();
            client.write_all(octets).await.unwrap();
            client.shutdown().await.unwrap();
            let mut stream = L4Stream::from(served);
            let header = Box::new(ResponseHeader::build(200, None).unwrap());
            stream.set_proxy_digest(ProxyDigest::new(header, Some(Box::new(caller.line))));
            let (_stop, shutdown) = tokio::sync::watch::channel(false);
            assert!(checked.process_new(Box::new(stream), &shutdown).await.is_none());
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            answer
        });
        (behind.0.load(Ordering::Relaxed), answer)
    }

    #[test]
    fn only_what_is_refused_spares_pingora_its_request() {
        let refused = asks("GET /private HTTP/1.1", "");
        let (forwarded, rules) = (asks("GET /open HTTP/1.1", ""), asks("GET /robots.txt HTTP/1.1", ""));
        let (passed, answer) = asked("", &[&*refused, &refused, &refused].concat());
        assert_eq!((passed, answer.matches("HTTP/1.1 403 Forbidden\r\n").count()), (0, 3), "{answer}");
        for other in [&forwarded, &rules] {
            assert_eq!(asked("", other), (1, String::new()));
        }
        let (passed, answer) = asked("", &[&*refused, &forwarded].concat());
        assert_eq!((passed, answer.matches("HTTP/1.1 ").count()), (1, 1), "{answer}");
        // In audit nobody is refused.
        assert_eq!(asked("mode = \"audit\"\n", &refused), (1, String::new()));
    }
}
