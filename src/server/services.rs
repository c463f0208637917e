//! What listeners serve with: one set of services for each worker, and how their connections are ended.

use super::admission::Admission;
use super::connection::{Service, WorkerContext};
use super::handler::{ConnectionHandler, acceptor};
use super::pages::Pages;
use super::room::ConnectionRoom;
use super::tls;
use crate::config::ListenerConfig;
use crate::gateway::Gateway;
use crate::policy::CurrentPolicy;
use crate::proxy::{Authorities, Exchanger, OriginConnections, OriginFaults};
use crate::record::{AccessLog, ConnectionTotals, Journal};
use std::sync::Arc;
use tokio::sync::watch;

/// How many connections the whole process may have, and how they are ended.
pub(super) struct ConnectionBounds {
    /// Those between two requests are closed.
    pub(super) closing: watch::Sender<bool>,
    room: ConnectionRoom,
    /// Those of other proxies that ask: the site's visitors take none of their places, nor they of those.
    asking: Arc<Admission>,
}

impl ConnectionBounds {
    pub(super) fn new(room: ConnectionRoom, totals: Arc<ConnectionTotals>) -> Self {
        Self { closing: watch::Sender::new(false), room, asking: Arc::new(Admission::new(totals)) }
    }

    /// What serves the sites on a listener, one for each worker.
    pub(super) fn handlers(
        &self,
        services: &[Arc<WorkerContext>],
        current: &Arc<CurrentPolicy>,
        admission: &Arc<Admission>,
        config: ListenerConfig,
    ) -> Vec<Arc<ConnectionHandler>> {
        let tls = config.tls.then(|| tls::settings(Arc::clone(current)));
        let (serve, admission): (fn(_) -> _, _) =
            if config.is_for_proxies { (Service::Doors, &self.asking) } else { (Service::Site, admission) };
        let handler = |site: &Arc<WorkerContext>| ConnectionHandler {
            service: serve(Arc::clone(site)),
            current: Arc::clone(current),
            admission: Arc::clone(admission),
            room: self.room,
            proxy_protocol: config.proxy_protocol,
            believe_named_proxies: config.believe_named_proxies,
            tls: tls.clone().map(acceptor),
            closing: self.closing.subscribe(),
        };
        services.iter().map(|site| Arc::new(handler(site))).collect()
    }

    /// What serves pages to the operator. A stop closes their idle connections at once.
    pub(super) fn pages(&self, pages: Pages, current: &Arc<CurrentPolicy>) -> ConnectionHandler {
        ConnectionHandler {
            service: Service::Pages(pages),
            current: Arc::clone(current),
            admission: Arc::default(),
            room: self.room,
            proxy_protocol: false,
            believe_named_proxies: false,
            tls: None,
            closing: self.closing.subscribe(),
        }
    }
}

/// The files that are rotated: of two gateways of an upgrade only one may.
#[derive(Debug)]
pub(super) struct Logs {
    journal: Arc<Journal>,
    access_log: Option<Arc<AccessLog>>,
}

impl Logs {
    pub(super) fn of(gateway: &Gateway) -> Self {
        Self { journal: Arc::clone(&gateway.journal), access_log: gateway.access_log.clone() }
    }

    pub(super) fn set_rotating(&self, may_rotate: bool) {
        self.journal.set_rotating(may_rotate);
        if let Some(log) = &self.access_log {
            log.lines.set_rotating(may_rotate);
        }
    }
}

/// What each worker serves with: its connections to origins are its own, and so never wait for another thread.
pub(super) fn services(
    gateway: &Gateway,
    authorities: &Arc<Authorities>,
    room: ConnectionRoom,
    workers: usize,
) -> Vec<Arc<WorkerContext>> {
    let faults = Arc::new(OriginFaults::default());
    let service = |_| {
        let connections = OriginConnections::new(Arc::clone(authorities), room.kept);
        let exchanger = Exchanger::new(connections, Arc::clone(&faults), Arc::clone(&gateway.totals));
        Arc::new(WorkerContext { gateway: gateway.for_worker(), exchanger })
    };
    (0..workers).map(service).collect()
}
