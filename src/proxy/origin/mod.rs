//! Origins: which server a request goes to, over what kind of connection, and whether it is well.

mod ask;
mod fetch;
mod health;
mod peer;

pub(crate) use fetch::Fetcher;
pub(crate) use health::watch_origins;
pub(super) use peer::reached;
