//! Connections that come from memory: for tests and fuzzers of what a client may send. The daemon serves none.

use super::admission::{Admission, ConnectionRoom};
use super::connection::{Http1Connection, NewConnection, Service};
use super::life::ClientLife;
use super::services::services;
use super::workers::Stage;
use crate::gateway::{ConnectionInfo, Gateway};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::io::DuplexStream;
use tokio::sync::watch;

/// Serves sites to clients without a socket, on one thread.
pub struct MemoryServer {
    gateway: Gateway,
    service: Service,
    admission: Arc<Admission>,
    /// Never told to stop.
    running: watch::Sender<Stage>,
}

impl MemoryServer {
    /// One that asks `gateway`; `None` where it has nothing to serve.
    pub fn new(gateway: Gateway) -> Option<Self> {
        let site = services(&gateway, ConnectionRoom::new(None, 0, 1, false), 1).pop()?;
        let admission = Arc::new(Admission::new(Arc::clone(&gateway.connections)));
        Some(Self {
            gateway,
            service: Service::Site(site),
            admission,
            running: watch::Sender::new(Stage::Running),
        })
    }

    /// Serves a connection of HTTP/1 from `client` to its end.
    pub async fn serve(&self, stream: DuplexStream, client: IpAddr) {
        let (limits, timeouts) = {
            let config = &self.gateway.current.get().config;
            (config.limits, Arc::clone(&config.timeouts))
        };
        let life = ClientLife::new(self.admission.enter(), limits, timeouts);
        let opened = NewConnection { stream, socket: None, life };
        let info = ConnectionInfo::new(Some(client), false, true);
        Http1Connection::new(opened).serve(&self.service, info, self.running.subscribe()).await;
    }
}
