//! Listeners, workers and the connections of clients: everything between a socket and the decision about a request.

mod accept;
mod admission;
mod connection;
mod delivery;
mod demo;
mod handler;
mod http2;
mod life;
mod memory;
mod pages;
mod self_test;
mod serve;
mod services;
mod workers;

pub use demo::{BuiltInOriginError, DemoOrigin, record_made_hour};
pub use memory::MemoryServer;
pub use pages::Pages;
pub use self_test::SelfTest;
pub use serve::{ServeError, Server};
pub use workers::Workers;
