//! What one request carries from its head to its record.

use super::faults;
use super::listen::{BodyWatch, Line, Place};
use crate::decide::{Read, VersionId};
use crate::identify::Identity;
use crate::policy::{HeldPolicy, Site, Upstream};
use crate::record::{Event, Journal, Reader, Recorder, Wanted};
use crate::request::message::Fault;
use http::HeaderValue;
use pingora::Error;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Pingora's context of a request. Everything in it was decided under the one policy it holds.
#[derive(Debug)]
pub struct RequestContext {
    /// The policy in force when the request began.
    pub(super) policy: Arc<HeldPolicy>,
    /// Where its host stands among those of the policy, once it is known.
    pub(super) slot: Option<usize>,
    /// The event, waiting for the status of the answer.
    pub(super) event: Option<PendingEvent>,
    /// What the origin may be told.
    pub(super) labels: Option<VerdictLabels>,
    /// The connection it came on.
    pub(super) line: Option<Arc<Line>>,
    /// Its place among the requests under way, where it needs one.
    pub(super) place: Option<Place>,
    /// Its body, while that is on its way.
    pub(super) body: Option<BodyWatch>,
    /// The id it goes by, here and at the origin.
    pub(super) request_id: Box<str>,
    /// When it began, and a clock that nobody sets.
    pub(super) began: SystemTime,
    pub(super) clock: Instant,
    /// The status of its failure, where it failed.
    pub(super) failure: Option<u16>,
    /// What was wrong with it, where it was no request.
    pub(super) fault: Option<Fault>,
    /// The preference that its answer is to carry.
    pub(super) usage: Option<HeaderValue>,
    /// How often an origin was tried.
    pub(super) attempts: usize,
    /// The servers that were tried, by their place in the origin.
    pub(super) tried: Vec<usize>,
    /// The servers of them that failed, each once: a request that fails twice at one is one that failed.
    blamed: Vec<usize>,
}

impl RequestContext {
    pub(super) fn new(policy: Arc<HeldPolicy>) -> Self {
        Self {
            policy,
            slot: None,
            event: None,
            labels: None,
            line: None,
            place: None,
            body: None,
            request_id: Box::default(),
            began: SystemTime::now(),
            clock: Instant::now(),
            failure: None,
            fault: None,
            usage: None,
            attempts: 0,
            tried: Vec::new(),
            blamed: Vec::new(),
        }
    }

    /// The server that was tried last.
    pub(super) fn server(&self) -> Option<&Upstream> {
        self.site()?.origin.servers.get(*self.tried.last()?).map(|server| &**server)
    }

    /// Notes that the server which was tried last failed, unless the client did.
    pub(super) fn blame(&mut self, error: &Error) {
        if let Some(index) = self.tried.last().copied().filter(|index| !self.blamed.contains(index))
            && let Some(cause) = faults::cause(error)
            && let Some(server) = self.server()
        {
            server.failed(cause, SystemTime::now());
            self.blamed.push(index);
        }
    }

    /// Where it goes, once its host is known.
    pub(super) fn site(&self) -> Option<&Site> {
        self.policy.found(self.slot).map(|(site, _)| site)
    }
}

/// An event that is recorded when its request is over, however it ends: what is cut off before it was
/// answered is recorded without a status.
#[derive(Debug)]
pub(super) struct PendingEvent {
    event: Option<Event>,
    /// Where the store wants it in full.
    wanted: Option<Wanted>,
    journal: Arc<Journal>,
    recorder: Arc<Recorder>,
}

impl PendingEvent {
    pub(super) fn new(
        event: Event,
        wanted: Option<Wanted>,
        journal: &Arc<Journal>,
        recorder: &Arc<Recorder>,
    ) -> Self {
        let (journal, recorder) = (Arc::clone(journal), Arc::clone(recorder));
        Self { event: Some(event), wanted, journal, recorder }
    }

    pub(super) fn answered(mut self, status: Option<u16>) {
        if let Some(event) = &mut self.event {
            event.answered(status);
        }
    }
}

impl Drop for PendingEvent {
    fn drop(&mut self) {
        if let Some(event) = self.event.take() {
            if let Some(wanted) = self.wanted.take() {
                self.recorder.keep(wanted, &event);
            }
            self.journal.record(&event);
        }
    }
}

/// The verdict in the words of the header fields that tell the origin of it.
#[derive(Debug)]
pub(super) struct VerdictLabels {
    pub(super) crawler: Option<Arc<str>>,
    pub(super) verdict: &'static str,
    pub(super) proof: &'static str,
}

/// A read of robots.txt that counts once its answer has reached the client whole.
#[derive(Debug)]
pub(super) struct PendingRead {
    pub(super) site: Box<str>,
    pub(super) identity: Arc<Identity>,
    pub(super) reader: Reader<'static>,
    pub(super) version: VersionId,
    /// Since when that version has been in force.
    pub(super) in_force: SystemTime,
    /// When it was taken from the policy in force.
    pub(super) time: SystemTime,
    /// What fair notice makes of it; what replaces the version later did not come before this read.
    pub(super) read: Read,
}
