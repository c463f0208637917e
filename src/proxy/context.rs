//! What one request carries from its head to its record.

use crate::decide::VersionId;
use crate::policy::{Policy, Site};
use crate::record::{Event, Reader};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

/// Pingora's context of a request. Everything in it was decided under the one policy it holds.
#[derive(Debug, Default)]
pub struct RequestContext {
    pub(super) route: Option<Route>,
    /// The event, waiting for the status of the answer.
    pub(super) event: Option<Box<Event>>,
    /// What the origin may be told.
    pub(super) labels: Option<VerdictLabels>,
    /// The client's address as judged.
    pub(super) client: Option<IpAddr>,
    /// How often an origin was tried.
    pub(super) attempts: usize,
}

/// Under which policy, and to which site, a request goes.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) policy: Arc<Policy>,
    pub(super) site: Arc<Site>,
}

/// The verdict in the words of the header fields that tell the origin of it.
#[derive(Debug)]
pub(super) struct VerdictLabels {
    pub(super) crawler: Option<Arc<str>>,
    pub(super) verdict: &'static str,
    pub(super) proof: &'static str,
}

/// A read of robots.txt that counts once its answer has been sent whole.
#[derive(Debug)]
pub(super) struct PendingRead {
    pub(super) reader: Reader,
    pub(super) version: VersionId,
    pub(super) in_force: SystemTime,
}
