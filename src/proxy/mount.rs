//! Plain pages on a socket: a function from a request to a response, served by pingora.
//!
//! The function knows neither sockets nor pingora, and may take its time: it runs beside the proxy's
//! workers, not on them.

use async_trait::async_trait;
use http::{HeaderValue, Request, Response};
use pingora::apps::http_app::{HttpServer, ServeHttp};
use pingora::protocols::http::ServerSession;
use std::fmt;
use std::sync::Arc;

type Answer = dyn Fn(&Request<()>) -> Response<Vec<u8>> + Send + Sync;

/// Answers a request without a body worth reading.
#[derive(Clone)]
pub struct Pages(Arc<Answer>);

impl Pages {
    /// Pages that `answer` gives.
    pub fn new(answer: impl Fn(&Request<()>) -> Response<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    pub(super) fn app(self) -> HttpServer<Self> {
        HttpServer::new_app(self)
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Pages")
    }
}

#[async_trait]
impl ServeHttp for Pages {
    async fn response(&self, session: &mut ServerSession) -> Response<Vec<u8>> {
        // Pingora keeps these connections alive whatever the client asked for.
        session.set_keepalive(None);
        let request = plain(session);
        let answer = Arc::clone(&self.0);
        let answered = tokio::task::spawn_blocking(move || answer(&request)).await;
        let mut response = answered.unwrap_or_else(|_| failed());
        let length = HeaderValue::from(response.body().len());
        response.headers_mut().insert(http::header::CONTENT_LENGTH, length);
        response
    }
}

fn plain(session: &ServerSession) -> Request<()> {
    let header = session.req_header();
    let mut request = Request::new(());
    *request.method_mut() = header.method.clone();
    *request.uri_mut() = header.uri.clone();
    *request.headers_mut() = header.headers.clone();
    request
}

/// The function panicked; the hook has reported where.
fn failed() -> Response<Vec<u8>> {
    let mut response = Response::new(b"500 the page could not be made\n".to_vec());
    *response.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
    response
}
