//! Plain pages on a socket: a function from a request to a response.
//!
//! The function knows no sockets and may take its time: it runs beside the workers, not on them.

use crate::http::{RequestHead, Response};
use bytes::Bytes;
use std::fmt;
use std::sync::Arc;

type PageAnswer = dyn Fn(&http::Request<()>) -> http::Response<Vec<u8>> + Send + Sync;

/// Answers requests. A body, where there is one, is the extension `Bytes` of the request.
#[derive(Clone)]
pub struct Pages(Arc<PageAnswer>);

impl Pages {
    /// Pages that `answer` gives.
    pub fn new(
        answer: impl Fn(&http::Request<()>) -> http::Response<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(answer))
    }

    /// The answer to one request.
    pub(super) async fn answer(&self, head: &RequestHead, body: Vec<u8>) -> Response {
        let Some(mut request) = plain(head) else {
            return Response::page(400, "the request could not be understood");
        };
        if !body.is_empty() {
            request.extensions_mut().insert(Bytes::from(body));
        }
        let answer = Arc::clone(&self.0);
        let answered = tokio::task::spawn_blocking(move || answer(&request)).await;
        // Where the function panicked, the hook has reported that.
        answered.map_or_else(|_| Response::page(500, "the page could not be made"), response)
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Pages")
    }
}

/// The request as the function takes it; `None` where it is none.
fn plain(head: &RequestHead) -> Option<http::Request<()>> {
    let mut request = http::Request::builder().method(head.method()).uri(head.target());
    for (name, value) in head.fields() {
        request = request.header(name, value);
    }
    request.body(()).ok()
}

fn response(answer: http::Response<Vec<u8>>) -> Response {
    let (parts, body) = answer.into_parts();
    let empty = Response::new(parts.status.as_u16(), body);
    parts.headers.iter().fold(empty, |answer, (name, value)| answer.with(name.as_str(), value))
}
