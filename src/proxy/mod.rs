//! Origins: exchanges with them, the connections that are kept to them, and whether they are well.

mod client;
mod exchange;
mod fault;
mod origin;
mod pool;
mod relay;

pub use client::{Client, ClientFault};
pub use exchange::{Exchanged, Exchanger, Failure};
pub use fault::{OriginFault, OriginFaults};
pub use origin::Authorities;
pub(crate) use origin::{Fetcher, Inquiry, keep};
pub use pool::OriginConnections;
