//! The only folder that names pingora: sessions in, stages called, answers and origins out.
//!
//! [`Gateway`] is pingora's view of one request's life; each callback does one step of the flow. What is refused mostly
//! never gets so far (`early`). The stages themselves live elsewhere and know nothing of sessions.

mod accept;
mod accesses;
mod answer;
mod asked;
mod bare;
mod bounds;
mod context;
mod delivery;
mod demo;
mod early;
mod facts;
mod farewell;
mod faults;
mod forwarding;
mod guard;
mod judging;
mod labels;
mod life;
mod listen;
mod mount;
mod origin;
mod renewal;
mod respond;
mod returning;
mod robots_txt;
mod serve;
mod sockets;
mod unseen;
mod upgrade;
mod usage;
mod wire;
mod workers;

pub use context::RequestContext;
pub use demo::{DemoError, DemoOrigin};
pub use facts::is_near;
pub use life::{Heritage, InheritError, Inherited, raise_open_files};
pub use mount::Pages;
pub use serve::{ServeError, Server};
pub use sockets::{BindError, ControlSocket, bind};
pub use workers::Workers;

use crate::config::Config;
use crate::policy::{CurrentPolicy, Prover};
use crate::record::{AccessLog, AddressDetail, CompleteRead, Journal, ReadBook, Recorder, Totals};
use accesses::Ending;
use asked::Asked;
use async_trait::async_trait;
use bytes::Bytes;
use judging::Step;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::modules::http::HttpModules;
use pingora::proxy::{FailToProxy, ProxyHttp, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What all requests share.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// The policy in force.
    pub current: Arc<CurrentPolicy>,
    /// Where events go.
    pub journal: Arc<Journal>,
    /// Where counts go.
    pub recorder: Arc<Recorder>,
    /// What is counted.
    pub totals: Arc<Totals>,
    /// Who read what.
    pub reads: Arc<ReadBook>,
    /// What is known to prove names.
    pub prover: Arc<Prover>,
    origin_faults: Arc<faults::OriginFaults>,
    authorities: Arc<origin::Authorities>,
    /// The access log, where one is wanted.
    pub access_log: Option<Arc<AccessLog>>,
    /// Whether the operator was told of a proxy that is not in `trusted_proxies`.
    has_warned: Arc<AtomicBool>,
    /// Set only where forwarding alone is measured.
    bare: Option<bare::Bare>,
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = RequestContext;

    fn new_ctx(&self) -> RequestContext {
        // The one time that a request asks which policy is in force. What is looked at early and not refused has asked
        // before, and nothing came of that.
        RequestContext::new(self.current.held())
    }

    /// None: pingora's own, which compresses, is on every request's way even where it is off.
    fn init_downstream_modules(&self, _: &mut HttpModules) {}

    async fn early_request_filter(&self, session: &mut Session, context: &mut RequestContext) -> Result<()> {
        bounds::begin(session, context);
        upgrade::settle(session);
        bounds::keep_to_1_0(session);
        context.request_id = forwarding::given_id(Asked::of(session), context)
            .unwrap_or_else(labels::request_id)
            .into_boxed_str();
        Ok(())
    }

    async fn request_filter(&self, session: &mut Session, context: &mut RequestContext) -> Result<bool> {
        if let Err(event) = bounds::take_place(context) {
            if !self.wants_robots_txt(Asked::of(session), context) {
                respond::send(session, bounds::turn_away(context, event)).await?;
                return Ok(true);
            }
            bounds::hurry(session, context);
        }
        let refusal = bounds::refusal(session, context);
        if let Some(answer) = refusal.or_else(|| forwarding::last_stop(session)) {
            respond::respond(session, answer).await?;
            return Ok(true);
        }
        let step = match &self.bare {
            None => self.judge(Asked::of(session), context),
            Some(bare) => self.pass(bare, session, context),
        };
        match step {
            Step::Forward => Ok(false),
            Step::Answer { answer, read } => {
                respond::respond(session, answer).await?;
                if let Some(read) = read {
                    self.note(session, *read, &context.policy.config).await;
                }
                Ok(true)
            }
        }
    }

    async fn upstream_peer(
        &self,
        session: &mut Session,
        context: &mut RequestContext,
    ) -> Result<Box<HttpPeer>> {
        origin::peer(session, context, &self.authorities)
    }

    fn fail_to_connect(
        &self,
        _: &mut Session,
        _: &HttpPeer,
        context: &mut RequestContext,
        mut error: Box<Error>,
    ) -> Box<Error> {
        context.blame(&error);
        error.set_retry(origin::may_retry(context));
        error
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        context: &mut RequestContext,
    ) -> Result<()> {
        forwarding::forward(session, request, context)?;
        labels::verdict(request, context)
    }

    async fn request_body_filter(
        &self,
        _: &mut Session,
        body: &mut Option<Bytes>,
        is_last: bool,
        context: &mut RequestContext,
    ) -> Result<()> {
        bounds::piece(context, body.as_ref(), is_last)?;
        // Pingora writes an empty last piece, as HTTP/2 clients send it, as a last chunk, and then the last
        // chunk: the second one would be the beginning of the origin's next request (RFC 9112 §7.1).
        // Before the last piece it must stand: no piece at all would be taken for the end.
        if is_last && body.as_ref().is_some_and(Bytes::is_empty) {
            *body = None;
        }
        Ok(())
    }

    async fn response_filter(
        &self,
        session: &mut Session,
        response: &mut ResponseHeader,
        context: &mut RequestContext,
    ) -> Result<()> {
        upgrade::answered(session, response)?;
        if let Some(server) = context.server() {
            server.answered();
        }
        returning::settle(response);
        if let Some(preference) = context.usage.take_if(|_| !response.headers.contains_key("content-usage")) {
            response.insert_header("Content-Usage", preference)?;
        }
        // HTTP/1.0 knows no transfer codings: the body ends with the connection (RFC 9112 §6.1).
        if session.req_header().version == http::Version::HTTP_10
            && response.remove_header(&http::header::TRANSFER_ENCODING).is_some()
        {
            session.set_keepalive(None);
        }
        Ok(())
    }

    async fn fail_to_proxy(
        &self,
        session: &mut Session,
        error: &Error,
        context: &mut RequestContext,
    ) -> FailToProxy {
        context.blame(error);
        let site = context.site().map_or("", |site| &site.config.name);
        let failed = faults::answer(session, error, site, &self.origin_faults).await;
        context.failure = Some(failed.error_code);
        failed
    }

    async fn logging(&self, session: &mut Session, _: Option<&Error>, context: &mut RequestContext) {
        let ending = Ending {
            status: respond::final_status(session),
            bytes: session.body_bytes_sent(),
            fault: wire::gate(session).and_then(wire::Gate::fault),
        };
        self.over(Asked::of(session), ending, context);
        if let Some(gate) = wire::gate(session) {
            gate.release();
        }
    }
}

impl Gateway {
    /// A gateway that serves under the policy in force.
    #[must_use]
    pub fn new(
        current: Arc<CurrentPolicy>,
        journal: Arc<Journal>,
        recorder: Arc<Recorder>,
        totals: Arc<Totals>,
        reads: Arc<ReadBook>,
        prover: Arc<Prover>,
    ) -> Self {
        Self {
            current,
            journal,
            recorder,
            totals,
            reads,
            prover,
            origin_faults: Arc::default(),
            authorities: Arc::default(),
            access_log: None,
            has_warned: Arc::default(),
            bare: None,
        }
    }

    /// Tells of a request that is over.
    fn over(&self, asked: Asked<'_>, ending: Ending, context: &mut RequestContext) {
        if let Some(event) = context.event.take() {
            self.guarded(|| event.answered(ending.status));
        }
        bounds::end(context);
        if let Some(log) = &self.access_log {
            self.guarded(|| accesses::record(log, asked, ending, context));
        }
    }

    /// The files that are rotated.
    fn logs(&self) -> Logs {
        Logs { journal: Arc::clone(&self.journal), access_log: self.access_log.clone() }
    }

    fn guarded<T>(&self, stage: impl FnOnce() -> T) -> Option<T> {
        guard::guarded(&self.totals, stage)
    }

    /// Notes a read of robots.txt whose answer has arrived.
    async fn note(&self, session: &mut Session, read: context::PendingRead, config: &Config) {
        if delivery::is_delivered(session, &config.timeouts).await {
            self.guarded(|| self.recorder.read(&complete(&read, config.addresses)));
            self.guarded(|| self.reads.note(read.reader, read.read));
        }
    }
}

/// The files that are rotated: of two gateways of an upgrade only one may.
#[derive(Debug)]
struct Logs {
    journal: Arc<Journal>,
    access_log: Option<Arc<AccessLog>>,
}

impl Logs {
    fn set_rotating(&self, may_rotate: bool) {
        self.journal.set_rotating(may_rotate);
        if let Some(log) = &self.access_log {
            log.set_rotating(may_rotate);
        }
    }
}

fn complete(read: &context::PendingRead, addresses: AddressDetail) -> CompleteRead<'_> {
    CompleteRead {
        site: &read.site,
        identity: &read.identity,
        reader: &read.reader,
        version: read.version,
        in_force: read.in_force,
        time: read.time,
        read: read.read,
        addresses,
    }
}
