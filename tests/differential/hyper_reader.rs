//! What hyper makes of a request: its own connection reads it from memory.

use super::Reading;
use hyper::body::{Body as _, Incoming};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper::{Request, Response, Version};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Has bytes to be read, and throws away what is written.
struct Memory(io::Cursor<Vec<u8>>);

impl Read for Memory {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut room: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut bytes = vec![0; room.remaining()];
        let count = io::Read::read(&mut this.0, &mut bytes)?;
        room.put_slice(&bytes[..count]);
        Poll::Ready(Ok(()))
    }
}

impl Write for Memory {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The first request of `bytes`; `None` where hyper refuses it.
pub(crate) fn read(bytes: &[u8]) -> Option<Reading> {
    let first: Arc<Mutex<Option<Reading>>> = Arc::default();
    let seen = Arc::clone(&first);
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        let seen = Arc::clone(&seen);
        async move {
            let reading = reading(request).await;
            let mut seen = seen.lock().expect("one thread");
            if seen.is_none() {
                *seen = reading;
            }
            Ok::<_, Infallible>(Response::new(String::new()))
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    let connection = builder
        .keep_alive(false)
        .half_close(true)
        .serve_connection(Memory(io::Cursor::new(bytes.to_vec())), service);
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    // What follows behind the first request may be refused.
    let _ = runtime.block_on(connection);
    let mut reading = first.lock().expect("one thread").take()?;
    // It writes an empty path of a URL as a slash, which means the same (RFC 9110 §4.2.3).
    let target = &reading.target;
    if !bytes.windows(target.len()).any(|sent| sent == target) && target.ends_with(b"/") {
        reading.target.pop();
    }
    Some(reading)
}

async fn reading(request: Request<Incoming>) -> Option<Reading> {
    let (parts, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut incoming).poll_frame(context)).await {
        if let Ok(data) = frame.ok()?.into_data() {
            body.extend_from_slice(&data);
        }
    }
    let field = |(name, value): (&hyper::header::HeaderName, &hyper::header::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_vec())
    };
    let reading = Reading {
        method: parts.method.to_string(),
        target: parts.uri.to_string().into_bytes(),
        minor: u8::from(parts.version == Version::HTTP_11),
        fields: parts.headers.iter().map(field).collect(),
        body,
    };
    Some(reading.sorted())
}
