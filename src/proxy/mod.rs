//! The only folder that names pingora: sessions in, stages called, answers and origins out.
//!
//! [`Gateway`] is pingora's view of one request's life; each callback does one step of the flow. The
//! stages themselves live elsewhere and know nothing of sessions.

mod accept;
mod answer;
mod context;
mod demo;
mod facts;
mod faults;
mod judging;
mod labels;
mod mount;
mod respond;
mod robots_txt;
mod serve;
mod sockets;
mod upstream;

pub use context::RequestContext;
pub use demo::{DemoError, DemoOrigin};
pub use mount::Pages;
pub use serve::{ServeError, Server};
pub use sockets::{BindError, ControlSocket, bind};

use crate::policy::CurrentPolicy;
use crate::record::{Journal, ReadBook, Totals};
use async_trait::async_trait;
use context::Route;
use judging::Step;
use pingora::http::RequestHeader;
use pingora::proxy::{FailToProxy, ProxyHttp, Session};
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, Result};
use std::sync::Arc;

/// What all requests share.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// The policy in force.
    pub current: Arc<CurrentPolicy>,
    /// Where events go.
    pub journal: Arc<Journal>,
    /// What is counted.
    pub totals: Arc<Totals>,
    /// Who read what.
    pub reads: Arc<ReadBook>,
    origin_faults: Arc<faults::OriginFaults>,
}

#[async_trait]
impl ProxyHttp for Gateway {
    type CTX = RequestContext;

    fn new_ctx(&self) -> RequestContext {
        RequestContext::default()
    }

    async fn early_request_filter(&self, session: &mut Session, _: &mut RequestContext) -> Result<()> {
        let timeouts = self.current.get().config.timeouts;
        // On every request: pingora forgets the limit after the first one of a connection. Off stays off: a
        // client that wants its connection closed waits for that.
        if session.get_keepalive().is_some() {
            session.set_keepalive(Some(timeouts.keepalive.as_secs().max(1)));
        }
        session.as_mut().set_read_timeout(Some(timeouts.client_read));
        session.as_mut().set_write_timeout(Some(timeouts.client_write));
        Ok(())
    }

    async fn request_filter(&self, session: &mut Session, context: &mut RequestContext) -> Result<bool> {
        match self.judge(session, context) {
            Step::Forward => Ok(false),
            Step::Answer { answer, read } => {
                respond::respond(session, answer).await?;
                if let Some(read) = read {
                    self.note(read);
                }
                Ok(true)
            }
        }
    }

    async fn upstream_peer(&self, _: &mut Session, context: &mut RequestContext) -> Result<Box<HttpPeer>> {
        upstream::peer(context)
    }

    fn fail_to_connect(
        &self,
        _: &mut Session,
        _: &HttpPeer,
        context: &mut RequestContext,
        mut error: Box<Error>,
    ) -> Box<Error> {
        error.set_retry(upstream::may_retry(context));
        error
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        context: &mut RequestContext,
    ) -> Result<()> {
        labels::forwarded(session, request, context)?;
        labels::verdict(request, context)
    }

    async fn fail_to_proxy(
        &self,
        session: &mut Session,
        error: &Error,
        _: &mut RequestContext,
    ) -> FailToProxy {
        faults::answer(session, error, &self.origin_faults).await
    }

    async fn logging(&self, session: &mut Session, _: Option<&Error>, context: &mut RequestContext) {
        if let Some(mut event) = context.event.take() {
            event.status = session.response_written().map(|response| response.status.as_u16());
            self.journal.record(*event);
        }
    }
}

impl Gateway {
    /// A gateway that serves under the policy in force.
    #[must_use]
    pub fn new(
        current: Arc<CurrentPolicy>,
        journal: Arc<Journal>,
        totals: Arc<Totals>,
        reads: Arc<ReadBook>,
    ) -> Self {
        Self { current, journal, totals, reads, origin_faults: Arc::default() }
    }

    fn route(&self, host: &str) -> Option<Route> {
        let policy = self.current.get();
        let site = Arc::clone(policy.site(host)?);
        Some(Route { policy, site })
    }

    fn note(&self, read: context::PendingRead) {
        self.reads.note(read.reader, read.version, read.in_force, std::time::SystemTime::now());
    }
}
