//! Plain pages on a socket: a function from a request to a response.
//!
//! The function knows no sockets and may take its time: it runs beside the workers, not on them.

use crate::http::{RequestHead, Response};
use bytes::Bytes;
use std::sync::Arc;

/// Answers a request.
type PageAnswer = dyn Fn(&http::Request<()>) -> http::Response<Vec<u8>> + Send + Sync;

/// Whether something is so of a request.
type FormQuestion = dyn Fn(&http::Request<()>) -> bool + Send + Sync;

/// Answers requests.
#[derive(Clone)]
pub struct Pages {
    /// What answers them. A body, where one is read, is the extension `Bytes` of the request.
    pub answer: Arc<PageAnswer>,
    /// Whether the body of a request is read. It must not wait for anything.
    pub takes_form: Arc<FormQuestion>,
}

impl Pages {
    /// Whether the body of this request is read.
    pub(super) fn takes_form(&self, head: &RequestHead) -> bool {
        plain(head).is_some_and(|request| (self.takes_form)(&request))
    }

    /// The answer to one request.
    pub(super) async fn answer(&self, head: &RequestHead, body: Vec<u8>) -> Response {
        let Some(mut request) = plain(head) else {
            return Response::page(400, "the request could not be understood");
        };
        if !body.is_empty() {
            request.extensions_mut().insert(Bytes::from(body));
        }
        let answer = Arc::clone(&self.answer);
        let answered = tokio::task::spawn_blocking(move || answer(&request)).await;
        // Where the function panicked, the hook has reported that.
        answered.map_or_else(|_| Response::page(500, "the page could not be made"), response)
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
