//! One request of a connection: decided, answered or exchanged, and recorded.

use super::{ClientStream, Http1Connection};
use crate::gateway::{
    Advice, BODY_TOO_LARGE, ConnectionInfo, Decision, Gateway, Incoming, RequestContext, RequestEnding, date,
};
use crate::http::{BodyReader, HttpVersion, RequestHead, Response};
use crate::proxy::{ClientFault, ExchangeClient, ExchangeFailure, Exchanger};
use crate::record::CompleteRead;
use crate::server::delivery;
use crate::server::pages::Pages;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How much of an unwanted request body is read so that the answer arrives and the connection lives on. A larger body
/// costs its sender the connection.
const DRAIN_BYTES: usize = 256 * 1024;

/// How long such a body may take.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// How large a form may be: a robots.txt of 500 KiB takes up to three times as much in one.
const FORM_BYTES: usize = 2 * 1024 * 1024;

/// How long it may take.
const FORM_TIME: Duration = Duration::from_secs(10);

/// What answers the requests of a listener.
#[derive(Clone)]
pub(crate) enum Service {
    /// The sites.
    Site(Arc<WorkerContext>),
    /// The sites, for other proxies that ask about requests to them.
    Doors(Arc<WorkerContext>),
    /// The operator's pages.
    Pages(Pages),
}

/// The sites, as one worker serves them.
pub(crate) struct WorkerContext {
    /// Decides about requests.
    pub(crate) gateway: Gateway,
    /// Sends them to origins.
    pub(crate) exchanger: Exchanger,
}

/// What has become of a request.
#[derive(Default)]
pub(in crate::server) struct RequestOutcome {
    pub(in crate::server) ending: RequestEnding,
    /// Whether all of the answer was sent.
    pub(in crate::server) is_whole: bool,
    /// Whether the connection can carry a next request.
    goes_on: bool,
}

impl RequestOutcome {
    /// An answer of the gateway's own that was sent whole, or not at all, with so many bytes of body.
    pub(in crate::server) fn own(response: &Response, is_sent: bool, bytes: usize, goes_on: bool) -> Self {
        let status = is_sent.then_some(response.status);
        let bytes = if is_sent { bytes } else { 0 };
        let ending = RequestEnding { status, bytes, ..RequestEnding::default() };
        Self { ending, is_whole: is_sent, goes_on: goes_on && is_sent }
    }
}

/// A client as it is answered, whatever version of HTTP it speaks.
pub(in crate::server) trait Recipient: ExchangeClient {
    /// Sends an answer of the gateway's own.
    fn respond(
        &mut self,
        response: &Response,
        head: &RequestHead,
        keeps_alive: bool,
    ) -> impl Future<Output = RequestOutcome> + Send;

    /// Reads what is left of the request's body, up to a limit; whether that was all.
    fn is_drained(&mut self, head: &RequestHead) -> impl Future<Output = bool> + Send;

    /// Whether all that was sent arrives.
    fn is_delivered(&mut self) -> impl Future<Output = bool> + Send;
}

impl Service {
    /// What decides about requests, where they are for sites.
    pub(super) fn gateway(&self) -> Option<&Gateway> {
        match self {
            Self::Site(site) | Self::Doors(site) => Some(&site.gateway),
            Self::Pages(_) => None,
        }
    }
}

impl<S: ClientStream> Http1Connection<S> {
    /// Answers a request; whether a next one may follow.
    #[expect(clippy::manual_async_fn, reason = "arguments of an async function are in its state twice")]
    pub(super) fn request(
        &mut self,
        head: RequestHead,
        service: &Service,
        info: &ConnectionInfo,
        is_last: bool,
    ) -> impl Future<Output = bool> + Send {
        async move {
            self.life.requests = self.life.requests.saturating_add(1);
            self.body = BodyReader::new(head.body);
            self.meter = super::BodyMeter::default();
            let keeps_alive = self.may_go_on(&head) && !is_last;
            let incoming = Incoming { head: &head, connection: info };
            match service {
                Service::Site(site) => self.site_request(incoming, site, keeps_alive).await,
                Service::Doors(site) => Box::pin(self.question(incoming, &site.gateway, keeps_alive)).await,
                Service::Pages(pages) => Box::pin(self.page_request(&head, pages, keeps_alive)).await,
            }
        }
    }

    async fn page_request(&mut self, head: &RequestHead, pages: &Pages, keeps_alive: bool) -> bool {
        let form = async {
            if !pages.takes_form(head) {
                return Some(Vec::new());
            }
            timeout(FORM_TIME, rest_of_body(self, FORM_BYTES, true)).await.unwrap_or_default()
        };
        let response = match form.await {
            Some(body) => pages.answer(head, body).await,
            None => Response::page(413, "the form is too large, or comes too slowly"),
        };
        self.respond(&response, head, keeps_alive).await.goes_on
    }

    /// Whether the request leaves the connection open for a next one (RFC 9112 §9.3).
    const fn may_go_on(&self, head: &RequestHead) -> bool {
        let wants = match head.version {
            HttpVersion::Http10 => head.options.keep_alive && !head.options.close,
            _ => !head.options.close,
        };
        wants && self.life.requests < self.life.limits.requests_per_connection
    }

    async fn site_request(
        &mut self,
        incoming: Incoming<'_>,
        site: &WorkerContext,
        keeps_alive: bool,
    ) -> bool {
        let policy = site.gateway.current.get();
        let mut context = RequestContext::new(&policy);
        let RequestOutcome { ending, goes_on, .. } =
            answer(self, incoming, site, keeps_alive, &mut context).await;
        site.gateway.finish(incoming, ending, context);
        goes_on
    }

    /// Answers another proxy; a connection on which nobody may ask ends.
    async fn question(&mut self, asked: Incoming<'_>, gateway: &Gateway, keeps_alive: bool) -> bool {
        let policy = gateway.current.get();
        let mut context = RequestContext::new(&policy);
        let Some(Advice { answer, head, read }) = gateway.advise(asked, &mut context) else { return false };
        // A body that is announced and does not come must not keep the proxy's client waiting.
        let is_here = timeout(Duration::ZERO, self.is_drained(asked.head)).await.unwrap_or_default();
        let goes_on = keeps_alive && is_here;
        let mut answered = self.say(&answer, asked.head, goes_on).await;
        note_read(self, read, gateway, &mut answered).await;
        if let Some(head) = &head {
            gateway.finish(Incoming { head, connection: asked.connection }, answered.ending, context);
        }
        answered.goes_on
    }

    /// Sends an answer of the gateway's own, and whether the connection goes on.
    async fn say(&mut self, response: &Response, head: &RequestHead, goes_on: bool) -> RequestOutcome {
        let written = response.written(head.is_head(), &date::now(), goes_on);
        let is_sent = send(self, &written).await.is_ok();
        let bytes = if head.is_head() { 0 } else { response.body.len() };
        RequestOutcome::own(response, is_sent, bytes, goes_on)
    }
}

impl<S: ClientStream> Recipient for Http1Connection<S> {
    async fn respond(
        &mut self,
        response: &Response,
        head: &RequestHead,
        keeps_alive: bool,
    ) -> RequestOutcome {
        let goes_on = keeps_alive && self.is_drained(head).await;
        self.say(response, head, goes_on).await
    }

    /// A client that waits to be asked for its body (`Expect: 100-continue`) is not asked (RFC 9110 §10.1.1).
    async fn is_drained(&mut self, head: &RequestHead) -> bool {
        if self.body.is_done() {
            return true;
        }
        let announces_more = matches!(self.body, BodyReader::Length(left) if left > DRAIN_BYTES as u64);
        if announces_more || head.get("expect").is_some() {
            return false;
        }
        self.meter.ignore();
        Box::pin(drain(self)).await
    }

    async fn is_delivered(&mut self) -> bool {
        delivery::is_acknowledged(self.socket, *self.life.timeouts.client_write).await
    }
}

/// Answers a request of a site.
pub(in crate::server) async fn answer<C: Recipient>(
    client: &mut C,
    incoming: Incoming<'_>,
    site: &WorkerContext,
    keeps_alive: bool,
    context: &mut RequestContext<'_>,
) -> RequestOutcome {
    let head = incoming.head;
    match site.gateway.decide(incoming, context) {
        Decision::Answer(response) => client.respond(&response, head, keeps_alive).await,
        Decision::RobotsTxt(response, read) => {
            let mut answered = client.respond(&response, head, keeps_alive).await;
            Box::pin(note_read(client, read, &site.gateway, &mut answered)).await;
            answered
        }
        // On the heap by itself: a request that is answered here needs no room for it.
        Decision::Forward => Box::pin(exchange(client, incoming, site, keeps_alive, context)).await,
    }
}

/// Notes a read of robots.txt, if its answer arrives. Otherwise the connection ends with it: a client that takes nothing
/// could ask again and again, and each answer would be waited for.
async fn note_read<C: Recipient>(
    client: &mut C,
    read: Option<Box<CompleteRead>>,
    gateway: &Gateway,
    answered: &mut RequestOutcome,
) {
    let Some(read) = read.filter(|_| answered.ending.status.is_some()) else { return };
    let is_delivered = client.is_delivered().await;
    answered.goes_on &= is_delivered;
    if is_delivered {
        gateway.note_read(*read);
    }
}

/// Exchanges a request with its origin; where that failed and nothing was sent, an answer follows.
async fn exchange<C: Recipient>(
    client: &mut C,
    incoming: Incoming<'_>,
    site: &WorkerContext,
    keeps_alive: bool,
    context: &mut RequestContext<'_>,
) -> RequestOutcome {
    let (head, gateway) = (incoming.head, &site.gateway);
    let exchanged = site.exchanger.exchange(incoming, context, client, keeps_alive).await;
    let (progress, server) = (exchanged.progress, exchanged.server);
    let ending = RequestEnding { status: progress.status, bytes: progress.sent, fault: None, server };
    let Some(failure) = exchanged.failure else {
        let goes_on = progress.keeps_client && client.is_drained(head).await;
        return RequestOutcome { ending, is_whole: true, goes_on };
    };
    let fault = match failure {
        ExchangeFailure::Client(ClientFault::Malformed(fault)) => {
            gateway.totals.malformed();
            Some(fault)
        }
        _ => None,
    };
    let Some(page) = page(failure).filter(|_| !progress.has_begun) else {
        let status = ending.status.filter(|_| progress.has_begun);
        let ending = RequestEnding { status, fault, ..ending };
        return RequestOutcome { ending, ..RequestOutcome::default() };
    };
    let answered = client.respond(&page, head, false).await;
    RequestOutcome { ending: RequestEnding { fault, server, ..answered.ending }, ..answered }
}

/// Sends all of `bytes`.
pub(in crate::server) async fn send<C: ExchangeClient>(
    client: &mut C,
    bytes: &[u8],
) -> Result<(), ClientFault> {
    let mut sent = 0;
    while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
        sent += poll_fn(|context| client.poll_send(context, rest)).await?;
    }
    poll_fn(|context| client.poll_flush(context)).await
}

/// Reads what is left of a request's body, up to a limit; whether that was all.
pub(in crate::server) async fn drain<C: ExchangeClient>(client: &mut C) -> bool {
    timeout(DRAIN_TIME, rest_of_body(client, DRAIN_BYTES, false)).await.unwrap_or_default().is_some()
}

/// What is left of a request's body, where it `is_kept`; `None` where that is more than `most`, or has a fault.
async fn rest_of_body<C: ExchangeClient>(client: &mut C, most: usize, is_kept: bool) -> Option<Vec<u8>> {
    let (mut body, mut count) = (Vec::new(), 0);
    loop {
        let before = body.len();
        let is_last = poll_fn(|context| client.poll_body(context, &mut body)).await.ok()?;
        count += body.len() - before;
        if count > most {
            return None;
        }
        if is_last {
            return Some(body);
        }
        if !is_kept {
            body.clear();
        }
    }
}

/// What a client is told of a failure; `None` where nobody is left to tell.
pub(in crate::server) fn page(failure: ExchangeFailure) -> Option<Response> {
    let page = match failure {
        ExchangeFailure::Origin(fault) => Response::page(fault.status(), fault.sentence()),
        ExchangeFailure::Client(ClientFault::Gone) => return None,
        ExchangeFailure::Client(ClientFault::Malformed(fault)) => {
            Response::page(fault.status(), fault.sentence())
        }
        ExchangeFailure::Client(ClientFault::TooLarge) => Response::page(413, BODY_TOO_LARGE),
        ExchangeFailure::Client(ClientFault::TooSlow) => Response::page(408, "the request took too long"),
    };
    Some(page)
}
