//! An answer that the gateway gives itself, before it meets a session.

use crate::enforce::Reply;
use bytes::Bytes;
use std::borrow::Cow;
use std::fmt::Display;

/// Status, header fields and body. `content-length` is set when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) body: Bytes,
}

impl Answer {
    /// A short page of the gateway's own: status and a sentence, nothing internal.
    pub(super) fn page(status: u16, sentence: impl Display) -> Self {
        let headers =
            vec![("content-type", "text/plain; charset=utf-8".into()), ("cache-control", "no-store".into())];
        Self { status, headers, body: format!("{status} {sentence}\n").into() }
    }

    pub(super) fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Self {
        Self { status: reply.status, headers: reply.headers, body: reply.body }
    }
}
