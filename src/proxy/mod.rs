//! Origins: exchanges with them, the connections that are kept to them, and whether they are well.
//!
//! Not here: other proxies that ask whether a request may pass (`gateway::authorize`), and proxies in front of the gateway
//! (`request::forwarded`, `request::proxy_protocol`).

mod ask;
mod client;
mod exchange;
mod fault;
mod fetch;
mod health;
mod pool;
mod relay;

pub use client::{ClientFault, ExchangeClient};
pub use exchange::{ExchangeFailure, ExchangeOutcome, Exchanger};
pub use fault::{OriginFault, OriginFaults};
pub(crate) use fetch::Fetcher;
pub(crate) use health::watch_origins;
pub use pool::OriginConnections;
pub use relay::Progress;
