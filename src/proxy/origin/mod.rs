//! Origins: which server a request goes to, over what kind of connection, and whether it is well.

mod fetch;
mod health;
mod peer;
mod probe;

pub(crate) use fetch::Fetcher;
pub(crate) use health::watch_origins;
pub use peer::Authorities;
pub(super) use peer::reached;
