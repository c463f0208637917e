//! Origins: exchanges with them, the connections that are kept to them, and whether they are well.

mod client;
mod exchange;
mod fault;
mod origin;
mod pool;
mod relay;

pub use client::{ClientFault, ExchangeClient};
pub use exchange::{ExchangeFailure, ExchangeOutcome, Exchanger};
pub use fault::{OriginFault, OriginFaults};
pub use origin::Authorities;
pub(crate) use origin::{Fetcher, OriginInquiry, watch_origins};
pub use pool::OriginConnections;
