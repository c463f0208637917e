//! One request to an origin: which server, over which connection, and once more where that is safe.

use super::client::{ClientFault, ExchangeClient};
use super::fault::{OriginFault, OriginFaults};
use super::pool::{OriginConnection, OriginConnections};
use super::relay::{Progress, Relay, RelayRequest};
use crate::gateway::{Incoming, RequestContext, forward, forwarded_target};
use crate::http::{Body, RequestHead, push_field};
use crate::policy::{Site, Upstream, Upstreams};
use crate::record::Totals;
use crate::request::target::RequestTarget;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many attempts there are to get a connection for one request. Nothing has been sent where connecting fails, so a
/// second attempt is safe for every method. A kept connection that proved stale counts as one.
const ATTEMPTS: usize = 2;

/// How long a connection may have been idle that carries a request which cannot be sent twice. Common origins close an
/// idle connection after two seconds at the earliest.
const FRESH: Duration = Duration::from_secs(1);

/// What has become of a request at its origin.
#[derive(Debug, Default)]
pub struct ExchangeOutcome {
    /// What has become of its answer.
    pub progress: Progress,
    /// The last server that was tried.
    pub server: Option<usize>,
    /// Why it came to no end.
    pub failure: Option<ExchangeFailure>,
}

/// Who ended an exchange before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeFailure {
    /// The origin.
    Origin(OriginFault),
    /// The client.
    Client(ClientFault),
}

/// Exchanges requests with origins, for one worker.
pub struct Exchanger {
    pub(crate) connections: OriginConnections,
    pub(crate) faults: Arc<OriginFaults>,
    pub(crate) totals: Arc<Totals>,
}

/// One request on its way to an origin.
struct ExchangeAttempt<'a> {
    incoming: Incoming<'a>,
    context: &'a RequestContext<'a>,
    site: &'a Site,
    origin: &'a Upstreams,
    /// The servers that were tried.
    tried: Vec<usize>,
    /// Those of them that failed, each once: a request that fails twice at one is one that failed.
    blamed: Vec<usize>,
}

impl Exchanger {
    /// Sends a request to its origin and the answer to the client. Where there is a failure and the client was sent
    /// nothing yet, the answer is the caller's to give.
    pub async fn exchange<C: ExchangeClient>(
        &self,
        incoming: Incoming<'_>,
        context: &RequestContext<'_>,
        client: &mut C,
        keeps_alive: bool,
    ) -> ExchangeOutcome {
        let (Some(site), Some(origin)) = (context.site(), context.origin()) else {
            let failure = Some(ExchangeFailure::Origin(OriginFault::NoAddress));
            return ExchangeOutcome { failure, ..ExchangeOutcome::default() };
        };
        let (tried, blamed) = (Vec::new(), Vec::new());
        let mut attempt = ExchangeAttempt { incoming, context, site, origin, tried, blamed };
        let (progress, failure) = self.attempts(&mut attempt, client, keeps_alive).await;
        if let Some(ExchangeFailure::Origin(fault)) = failure {
            attempt.blame(fault);
            self.totals.origins.faults.count(fault);
            self.faults.note(&site.config.name, fault);
        }
        ExchangeOutcome { progress, server: attempt.tried.last().copied(), failure }
    }

    async fn attempts<C: ExchangeClient>(
        &self,
        attempt: &mut ExchangeAttempt<'_>,
        client: &mut C,
        keeps_alive: bool,
    ) -> (Progress, Option<ExchangeFailure>) {
        let mut may_be_kept = true;
        loop {
            let opened = self.connect(attempt, may_be_kept).await;
            let (mut connection, server) = match opened {
                Ok(opened) => opened,
                Err(fault) => return (Progress::default(), Some(ExchangeFailure::Origin(fault))),
            };
            let head = attempt.head(&server);
            let relay = Relay::new(attempt.request(keeps_alive), head, client, &mut connection);
            let (progress, result) = relay.run().await;
            progress.first_byte.into_iter().for_each(|took| self.totals.origins.first_byte.observe(took));
            if progress.status.is_some() {
                server.answered();
            }
            match result {
                Ok(()) => {
                    if progress.keeps_origin {
                        let idle = *attempt.origin.timeouts.origin_idle;
                        let idle = progress.origin_idle.map_or(idle, |theirs| theirs.min(idle));
                        self.connections.keep(connection, idle);
                    }
                    return (progress, None);
                }
                // RFC 9110 §9.2.2: what may be done twice is asked once more.
                Err(_) if progress.is_stale && is_idempotent(attempt.incoming.head.method()) => {
                    may_be_kept = false;
                }
                Err(failure) => return (progress, Some(failure)),
            }
        }
    }

    /// A connection to the server whose turn it is, or to the next one where that cannot be reached.
    async fn connect(
        &self,
        attempt: &mut ExchangeAttempt<'_>,
        may_be_kept: bool,
    ) -> Result<(OriginConnection, Arc<Upstream>), OriginFault> {
        let origin = attempt.origin;
        loop {
            let index = origin.next(&attempt.tried).ok_or(OriginFault::NoAddress)?;
            let server = origin.servers.get(index).ok_or(OriginFault::NoAddress)?;
            self.totals.origins.attempt();
            let most = if attempt.may_be_sent_twice() { Duration::MAX } else { FRESH };
            if may_be_kept && let Some(kept) = self.connections.take(origin, server, most) {
                attempt.tried.push(index);
                return Ok((kept, Arc::clone(server)));
            }
            let before = attempt.tried.iter().filter(|tried| **tried == index).count();
            attempt.tried.push(index);
            // On the heap: a handshake's state is a hundred times that of an exchange over a kept connection, and every
            // request would carry room for it.
            match Box::pin(self.connections.open(origin, server, before)).await {
                Ok(connection) => return Ok((connection, Arc::clone(server))),
                Err(fault) if attempt.tried.len() >= ATTEMPTS => return Err(fault),
                Err(fault) => {
                    self.totals.origins.faults.count(fault);
                    attempt.blame(fault);
                }
            }
        }
    }
}

impl ExchangeAttempt<'_> {
    fn request(&self, keeps_alive: bool) -> RelayRequest<'_> {
        let robots_max_size = *self.context.policy.config.robots_max_size;
        RelayRequest {
            head: self.incoming.head,
            keeps_alive,
            added: &self.context.added,
            most: if self.is_unknown_robots() { robots_max_size } else { usize::MAX },
            timeouts: &self.origin.timeouts,
        }
    }

    /// Whether it can be sent again where a kept connection proves closed: with its body nothing is left to send.
    fn may_be_sent_twice(&self) -> bool {
        is_idempotent(self.incoming.head.method()) && self.incoming.head.body == Body::None
    }

    /// Whether it is for the robots.txt of an origin of which nothing is known yet: the answer is passed on unseen.
    fn is_unknown_robots(&self) -> bool {
        let target = || forwarded_target(self.incoming.head);
        self.site.is_unknown
            && RequestTarget::new(&target(), self.site.config.path_parameters).may_be_robots_txt()
    }

    /// The head that the origin is sent.
    fn head(&self, server: &Upstream) -> Vec<u8> {
        let head = self.incoming.head;
        let mut out = Vec::with_capacity(1_024);
        let target = forwarded_target(head);
        for part in [head.method().as_bytes(), b" ", &*target, b" HTTP/1.1\r\n"] {
            out.extend_from_slice(part);
        }
        let mut put = |name: &[u8], value: &[u8]| push_field(&mut out, name, value);
        forward(self.incoming, self.context, Some(server), &mut put);
        put_framing(head, &mut put);
        out.extend_from_slice(b"\r\n");
        out
    }

    /// Notes that the server which was tried last failed.
    fn blame(&mut self, fault: OriginFault) {
        if let Some(index) = self.tried.last().copied().filter(|index| !self.blamed.contains(index))
            && let Some(server) = self.origin.servers.get(index)
        {
            server.failed(fault.cause(), SystemTime::now());
            self.blamed.push(index);
        }
    }
}

/// Says how the request's body is framed, and what becomes of the connection.
fn put_framing(head: &RequestHead, put: &mut dyn FnMut(&[u8], &[u8])) {
    match head.body {
        Body::Length(length) => put(b"Content-Length", length.to_string().as_bytes()),
        Body::UnknownLength => put(b"Transfer-Encoding", b"chunked"),
        Body::None | Body::UntilClose if head.get("content-length").is_some() => put(b"Content-Length", b"0"),
        Body::None | Body::UntilClose => {}
    }
    if head.is_websocket_handshake() {
        put(b"Connection", b"Upgrade");
        put(b"Upgrade", b"websocket");
    }
}

/// RFC 9110 §9.2.2.
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "PUT" | "DELETE")
}
