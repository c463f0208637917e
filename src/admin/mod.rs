//! A plain request → a plain response: what an operator and `gatewayctl` may ask a running gateway.
//!
//! It knows no socket: `server` mounts it on the control socket and on the admin listener. The control socket is guarded by
//! the rights of its file. The admin listener answers fewer questions, and `guard` checks who asks.

mod exposition;
mod guard;
mod metrics;
mod mode;
mod page;
mod public;
mod query;
mod robots;
mod status;
mod tester;

pub use page::LivePage;
pub use public::publish;

use crate::alerts::AlertTotals;
use crate::control::StatusReport;
use crate::fleet::Fleet;
use crate::gateway::Gateway;
use crate::policy::{Reloader, Trigger};
use http::{Method, Request, Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSource {
    /// The control socket: only the owner of the gateway can open it.
    Control,
    /// The admin listener.
    Listener,
}

/// What there is to ask about.
#[derive(Debug)]
pub struct Admin {
    /// The policy in force, and how to replace it.
    pub reloader: Arc<Reloader>,
    /// What requests share: journal, store and counters.
    pub gateway: Gateway,
    /// Membership in a fleet, if there is one.
    pub fleet: Option<Arc<Fleet>>,
    /// What became of alerts.
    pub alerts: Arc<AlertTotals>,
    /// When the gateway started.
    pub started: Instant,
    /// The same by the clock on the wall.
    pub started_at: SystemTime,
    /// The report as a page.
    pub page: LivePage,
    /// What the admin listener asks for as a bearer token.
    pub token: Option<String>,
}

/// An answer, or the status and the sentence that say why there is none.
type AnswerOrRefusal = Result<Response<Vec<u8>>, (StatusCode, String)>;

/// What is asked of a reload.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct ReloadRequest {
    accept_empty: bool,
    now: bool,
    /// With `now`, only this site.
    site: Option<String>,
    /// With `now`, only this crawler.
    crawler: Option<String>,
}

impl Admin {
    /// Whether the body of a request is read: that of the form, from who may ask. No other is kept in memory.
    pub fn takes_form(&self, request: &Request<()>) -> bool {
        request.method() == Method::POST
            && request.uri().path() == "/test"
            && guard::admit(request, self.token.as_deref()).is_ok()
            && guard::is_of_own_page(request)
    }

    /// Answers one request.
    pub fn answer(&self, door: RequestSource, request: &Request<()>) -> Response<Vec<u8>> {
        let path = request.uri().path();
        // Whoever sends a probe, such as a kubelet, has no token, and learns one word.
        if door == RequestSource::Listener
            && !matches!(path, "/healthz" | "/readyz")
            && let Err((status, sentence)) = guard::admit(request, self.token.as_deref())
        {
            let mut response = text(status, sentence);
            if status == StatusCode::UNAUTHORIZED {
                let scheme = header::HeaderValue::from_static(guard::SCHEMES);
                response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
            }
            return response;
        }
        // Whoever sends HEAD gets the head of what GET is answered with.
        let method = if request.method() == Method::HEAD { &Method::GET } else { request.method() };
        match (door, path, method) {
            (_, "/healthz", &Method::GET) => text(StatusCode::OK, "ok"),
            (_, "/readyz", &Method::GET) => text(StatusCode::OK, self.readiness()),
            (_, "/status", &Method::GET) => json(&self.status()),
            (_, "/", &Method::GET) => page::answer(self, request.uri().query()),
            (_, "/test", &Method::GET | &Method::POST) => tester::answer(self, request),
            (_, "/metrics", &Method::GET) => metrics::answer(self),
            (RequestSource::Control, "/reload", &Method::POST) => answered(self.reload(request)),
            (RequestSource::Control, "/mode", &Method::POST) => answered(mode::change(self, request)),
            (RequestSource::Control, "/mode", &Method::GET) => mode::show(self),
            (RequestSource::Control, "/robots", &Method::GET) => answered(robots::show(self, request)),
            (RequestSource::Control, "/robots/refresh", &Method::POST) => {
                answered(robots::refresh(self, request))
            }
            (_, "/" | "/healthz" | "/readyz" | "/status" | "/metrics", _)
            | (RequestSource::Control, "/robots", _) => use_instead("GET, HEAD"),
            (RequestSource::Control, "/reload" | "/robots/refresh", _) => use_instead("POST"),
            (RequestSource::Control, "/mode", _) | (_, "/test", _) => use_instead("GET, HEAD, POST"),
            _ => text(StatusCode::NOT_FOUND, "no such page"),
        }
    }

    /// What a running gateway says of itself.
    pub fn status(&self) -> StatusReport {
        status::status(self)
    }

    /// A member of a fleet that may accuse nobody is as good at answering as any other.
    fn readiness(&self) -> &'static str {
        match self.fleet.as_ref().map(|fleet| fleet.status().standing).as_deref() {
            Some("isolated") => "ready, but isolated from the fleet: no violations are counted",
            Some("joining") => "ready, and joining the fleet: no violations are counted yet",
            _ => "ready",
        }
    }

    fn reload(&self, request: &Request<()>) -> AnswerOrRefusal {
        let ReloadRequest { accept_empty, now, site, crawler } = query::read(request)?;
        let reloaded = if now {
            self.reloader.reload_now(accept_empty)
        } else {
            self.reloader.reload(Trigger::Control, accept_empty)
        };
        let mut report = reloaded.map_err(|busy| (StatusCode::SERVICE_UNAVAILABLE, busy.to_string()))?;
        if now {
            let bound = self.reloader.bind_now(&mut report, site.as_deref(), crawler.as_deref());
            bound.map_err(|error| (StatusCode::CONFLICT, error))?;
        }
        Ok(json(&report))
    }
}

/// 405, with the methods that are allowed (RFC 9110 §15.5.6).
fn use_instead(methods: &'static str) -> Response<Vec<u8>> {
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, methods);
    response.headers_mut().insert(header::ALLOW, header::HeaderValue::from_static(methods));
    response
}

fn answered(result: AnswerOrRefusal) -> Response<Vec<u8>> {
    result.unwrap_or_else(|(status, sentence)| text(status, &sentence))
}

fn text(status: StatusCode, sentence: &str) -> Response<Vec<u8>> {
    response(status, "text/plain; charset=utf-8", format!("{sentence}\n").into_bytes())
}

fn json(value: &impl Serialize) -> Response<Vec<u8>> {
    let mut body = serde_json::to_vec(value).unwrap_or_default();
    body.push(b'\n');
    response(StatusCode::OK, "application/json", body)
}

fn response(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Response<Vec<u8>> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let fields = response.headers_mut();
    fields.insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    fields.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    fields.insert(header::X_CONTENT_TYPE_OPTIONS, header::HeaderValue::from_static("nosniff"));
    response
}
