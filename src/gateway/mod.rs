//! The decision about one request, and its record: a head in, a decision out. No sockets.
//!
//! [`Gateway::decide`] is called once for each request. It runs the stages through `policy::judge`, adds the pace, and counts.
//! [`Gateway::finish`] is called once when the request is over, and records its event. Where another proxy asks about
//! a request, [`Gateway::advise`] is called in place of `decide`.

mod access;
mod authorize;
pub mod date;
mod decision;
mod facts;
mod fault_guard;
mod forwarding;
mod hidden;
mod pace;
mod partial_reads;
mod pending_events;
mod request;
mod request_id;
mod robots_fields;
mod robots_txt;
#[cfg(test)]
mod tests;

pub use access::{CLIENT_GONE, Fragment, RequestEnding};
pub use authorize::{Advice, is_read_of_question};
pub use decision::{BODY_TOO_LARGE, Decision};
pub use forwarding::{forward, malformed_answer, target as forwarded_target};
pub use request::RequestContext;
use request::{Advised, DecidedFor};
pub use robots_fields::AddedField;

use crate::config::Config;
use crate::http::RequestHead;
use crate::policy::{CurrentPolicy, FleetStanding, Prover};
use crate::record::{
    AccessLog, CompleteRead, ConnectionTotals, Journal, PaceBook, ReadBook, Recorder, Totals,
};
use crate::request::forwarded::ForwardedField;
use pending_events::{PendingEvent, PendingEvents};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What all requests share.
#[derive(Clone, Debug)]
pub struct Gateway {
    /// The policy in force.
    pub current: Arc<CurrentPolicy>,
    /// Where events go.
    pub journal: Arc<Journal>,
    /// Where counts go.
    pub recorder: Arc<Recorder>,
    /// What is counted.
    pub totals: Arc<Totals>,
    /// Who read what.
    pub reads: Arc<ReadBook>,
    /// How far a fleet lets this gateway go.
    pub standing: Arc<FleetStanding>,
    /// What is known to prove names.
    pub prover: Arc<Prover>,
    /// Who came how fast.
    pub pace: Arc<PaceBook>,
    /// Where what becomes of connections is counted.
    pub connections: Arc<ConnectionTotals>,
    /// The access log, where one is wanted.
    pub access_log: Option<Arc<AccessLog>>,
    /// Events whose requests are under way.
    pending: Arc<PendingEvents>,
    /// Whether the operator was told of a proxy that is not in `trusted_proxies`.
    has_warned: Arc<AtomicBool>,
}

/// What is known of a client's connection before its requests.
#[derive(Clone, Debug)]
pub struct ConnectionInfo {
    /// The address that connected to us.
    pub peer: Option<IpAddr>,
    /// The same as text.
    pub shown: Box<str>,
    /// Whether the client speaks TLS with us.
    pub is_tls: bool,
    /// Whether a proxy may have written its fields, as far as the connection shows.
    pub may_be_relayed: bool,
    /// Whether it is another proxy's, which asks about the requests of its clients.
    pub is_asking: bool,
}

impl ConnectionInfo {
    /// What a connection from `peer` shows.
    pub fn new(peer: Option<IpAddr>, is_tls: bool, may_be_relayed: bool) -> Self {
        let peer = peer.map(|peer| peer.to_canonical());
        let shown = peer.map_or_else(String::new, |peer| peer.to_string()).into();
        Self { peer, shown, is_tls, may_be_relayed, is_asking: false }
    }

    /// The peer, where its fields are believed: it is one of `trusted_proxies`.
    fn trusted_peer(&self, config: &Config) -> Option<IpAddr> {
        self.peer.filter(|peer| self.may_be_relayed && config.trusted_proxies.contains(*peer))
    }
}

/// A request's head and the connection that it came on.
#[derive(Clone, Copy, Debug)]
pub struct Incoming<'a> {
    /// What was asked.
    pub head: &'a RequestHead,
    /// By whom.
    pub connection: &'a ConnectionInfo,
}

impl Incoming<'_> {
    /// In which field the way of the request is told. Who asks about a request describes it always in the same.
    const fn way_field(&self, config: &Config) -> ForwardedField {
        if self.connection.is_asking { ForwardedField::XForwardedFor } else { config.forwarded_header }
    }
}

impl Gateway {
    /// A gateway that serves under the policy in force.
    pub fn new(
        current: Arc<CurrentPolicy>,
        journal: Arc<Journal>,
        recorder: Arc<Recorder>,
        reads: Arc<ReadBook>,
        prover: Arc<Prover>,
    ) -> Self {
        Self {
            current,
            journal,
            recorder,
            totals: Arc::default(),
            reads,
            standing: Arc::default(),
            prover,
            pace: Arc::default(),
            connections: Arc::default(),
            access_log: None,
            pending: Arc::default(),
            has_warned: Arc::default(),
        }
    }

    /// Records a request that is over, with what became of it.
    pub fn finish(&self, incoming: Incoming<'_>, ending: RequestEnding, mut context: RequestContext<'_>) {
        let status = match context.advice {
            None => ending.status,
            Some(Advised::Passes) => None,
            Some(Advised::Refused(status)) => ending.status.and(Some(status)),
        };
        if let Some(pending) = context.event.take().and_then(|key| self.pending.take(key)) {
            self.record(*pending, status);
        }
        self.sent(&mut context, ending.bytes);
        let is_elsewhere = context.advice == Some(Advised::Passes);
        let status = (!is_elsewhere).then(|| status.unwrap_or(CLIENT_GONE));
        if let Some(log) = &self.access_log {
            self.guarded(|| access::record(log, incoming, (status, ending), &context));
        }
    }

    /// The same gateway for another worker, whose requests are its own.
    pub fn for_worker(&self) -> Self {
        Self { pending: Arc::default(), ..self.clone() }
    }

    /// Records what requests that are cut off leave: they were answered with nothing.
    pub fn finish_all(&self) {
        for pending in self.pending.take_all() {
            self.record(pending, None);
        }
    }

    /// Adds what a counted request was sent. What another proxy sends is not known here.
    fn sent(&self, context: &mut RequestContext<'_>, bytes: usize) {
        let Some((identity, proof)) = context.counted.take().filter(|_| bytes > 0) else { return };
        if let Some(site) = context.site().filter(|_| context.decided_for == DecidedFor::Client) {
            let (bytes, began) = (u64::try_from(bytes).unwrap_or(u64::MAX), context.began);
            self.guarded(|| self.recorder.sent(&site.config.name, &identity, proof, began, bytes));
        }
    }

    fn record(&self, PendingEvent { event, has_line, wanted }: PendingEvent, status: Option<u16>) {
        self.guarded(|| {
            let line = event.line(status);
            if has_line {
                self.journal.record(&line);
            }
            if let Some(wanted) = wanted {
                self.recorder.keep(wanted, line);
            }
        });
    }

    /// Notes a read of robots.txt whose answer has arrived.
    pub fn note_read(&self, read: CompleteRead) {
        self.guarded(|| self.recorder.read(&read));
        self.guarded(|| self.reads.note(read.reader, read.identity.client, read.read));
    }

    fn guarded<T>(&self, stage: impl FnOnce() -> T) -> Option<T> {
        fault_guard::guarded(&self.totals, stage)
    }
}
