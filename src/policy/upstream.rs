//! One server of an origin as the gateway knows it: its addresses, and whether it is well.
//!
//! What is learnt of a server outlives policies: a changed robots.txt is no reason to ask again who is well.
//! Asking is `proxy`'s affair, and noting the answers is done here, without a lock that a request waits for.

use super::certificates::read_certificates;
use crate::config::{
    BoundedThreads, ConfigError, HealthCheck, Origin, OriginServer, OriginUrl, Timeouts, defaults,
};
use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use rustls::RootCertStore;
use std::collections::BTreeSet;
use std::io;
use std::iter::repeat_n;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime};

/// How long the reload of a policy waits for a name. It is looked up again beside the requests in any case.
const NAME_PATIENCE: Duration = Duration::from_secs(2);

/// How long for another name while one has not been answered.
const NAME_BRIEF: Duration = Duration::from_millis(100);

static NAMES: LazyLock<BoundedThreads> = LazyLock::new(|| BoundedThreads::new(NAME_PATIENCE, NAME_BRIEF));

/// The servers of a site's origin.
#[derive(Clone, Debug)]
pub struct Upstreams {
    /// All of them, in the order of the configuration.
    pub servers: Vec<Arc<Upstream>>,
    /// The certificates that theirs must be signed with, in DER; `None` for what the system trusts.
    pub ca: Option<Arc<[Vec<u8>]>>,
    /// The time limits of what is asked of them.
    pub timeouts: Timeouts,
    turn: Arc<AtomicUsize>,
}

/// One server.
#[derive(Debug)]
pub struct Upstream {
    /// What the operator wrote.
    pub server: OriginServer,
    /// Its addresses as last resolved; none for a socket, and for a name that has not been resolved yet.
    pub addresses: ArcSwap<Vec<SocketAddr>>,
    is_down: AtomicBool,
    /// Answers in a row that say otherwise than what is believed.
    doubts: AtomicU32,
    /// When its name is resolved again, and when it is asked again whether it is well.
    pub due: Mutex<(Instant, Instant)>,
    /// What failed since it last answered.
    pub failure: ArcSwapOption<OriginFailures>,
}

/// Requests that failed at a server since it last answered one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginFailures {
    /// When the first of them failed.
    pub since: SystemTime,
    /// When the last of them did.
    pub last: SystemTime,
    /// How many there were.
    pub errors: u64,
    /// What became of the last.
    pub cause: &'static str,
}

/// The address of a server whose place is no name.
fn literal(url: &OriginUrl) -> Option<SocketAddr> {
    let OriginUrl::Tcp { host, port, .. } = url else { return None };
    Some((host.parse::<IpAddr>().ok()?, *port).into())
}

impl Upstream {
    fn new(server: &OriginServer) -> Self {
        let now = Instant::now();
        Self {
            server: server.clone(),
            addresses: ArcSwap::from_pointee(literal(&server.url).into_iter().collect()),
            is_down: AtomicBool::new(false),
            doubts: AtomicU32::new(0),
            due: Mutex::new((now + defaults::RESOLVE_INTERVAL, now)),
            failure: ArcSwapOption::empty(),
        }
    }

    /// Whether it is taken to be well.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Ordering::Relaxed)
    }

    /// Whether its place is a name, which may move.
    pub fn has_name(&self) -> bool {
        matches!(self.server.url, OriginUrl::Tcp { .. }) && literal(&self.server.url).is_none()
    }

    /// Whether nobody knows yet where it is.
    pub fn is_unresolved(&self) -> bool {
        self.has_name() && self.addresses.load().is_empty()
    }

    /// Resolves its name as [`Self::resolve`] does, for as long as a reload may wait for one.
    ///
    /// # Errors
    /// What the system's resolver says, or that it says nothing.
    pub(super) fn resolve_soon(self: &Arc<Self>) -> Result<(), String> {
        let (server, url) = (Arc::clone(self), &self.server.url);
        let silent = || Err(io::Error::new(io::ErrorKind::TimedOut, "no name server answers"));
        let resolved = NAMES.run(&url.authority(), move || server.resolve()).unwrap_or_else(silent);
        resolved.map(drop).map_err(|error| format!("the name of origin {url} cannot be resolved: {error}"))
    }

    /// Resolves its name; the last good addresses are kept where that fails. Whether they changed.
    ///
    /// # Errors
    /// What the system's resolver says.
    pub fn resolve(&self) -> io::Result<bool> {
        let OriginUrl::Tcp { host, port, .. } = &self.server.url else { return Ok(false) };
        // A name server may turn its answers round; that alone is no change.
        let found: BTreeSet<SocketAddr> = (&**host, *port).to_socket_addrs()?.collect();
        if found.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        let addresses = Arc::new(Vec::from_iter(found));
        Ok(self.addresses.swap(Arc::clone(&addresses)) != addresses)
    }

    /// Notes that a request failed here.
    pub fn failed(&self, cause: &'static str, now: SystemTime) {
        self.failure.rcu(|former| {
            let (since, errors) = former.as_ref().map_or((now, 0), |former| (former.since, former.errors));
            Some(Arc::new(OriginFailures { since, last: now, errors: errors.saturating_add(1), cause }))
        });
    }

    /// Notes that a request was answered, whatever the answer was.
    pub fn answered(&self) {
        if self.failure.load().is_some() {
            self.failure.store(None);
        }
    }

    /// Notes an answer to "are you well?"; what is believed from here on, where that changed.
    pub fn note(&self, is_well: bool, check: &HealthCheck) -> Option<bool> {
        let doubts = if is_well == self.is_up() { 0 } else { self.doubts.load(Ordering::Relaxed) + 1 };
        let is_new = doubts >= if is_well { check.successes } else { check.failures };
        self.doubts.store(if is_new { 0 } else { doubts }, Ordering::Relaxed);
        self.is_down.fetch_xor(is_new, Ordering::Relaxed);
        is_new.then_some(is_well)
    }
}

impl Upstreams {
    /// The servers of `origin`; those that `former` knows already stay what they are.
    ///
    /// # Errors
    /// When the file of certificates cannot be used.
    pub(super) fn new(
        origin: &Origin,
        timeouts: &Timeouts,
        former: Option<&Self>,
    ) -> Result<Self, ConfigError> {
        let known = |server: &OriginServer| {
            former?.servers.iter().find(|upstream| upstream.server == *server).map(Arc::clone)
        };
        let server = |server| known(server).unwrap_or_else(|| Arc::new(Upstream::new(server)));
        Ok(Self {
            servers: origin.servers.iter().map(server).collect(),
            ca: origin.ca.as_deref().map(authorities).transpose()?,
            timeouts: origin.timeouts.over(timeouts),
            turn: former.map_or_else(Arc::default, |former| Arc::clone(&former.turn)),
        })
    }

    /// Whether these are the servers of `origin`.
    pub(super) fn are(&self, origin: &Origin) -> bool {
        self.servers.iter().map(|upstream| &upstream.server).eq(&origin.servers)
    }

    /// A server that belongs to no site, and is trusted by whom the system trusts.
    ///
    /// # Errors
    /// When its name cannot be resolved.
    pub fn resolved(url: &OriginUrl, timeouts: &Timeouts) -> Result<Self, String> {
        let servers = vec![Arc::new(Upstream::new(&OriginServer::new(url.clone())))];
        let all = Self { servers, ca: None, timeouts: *timeouts, turn: Arc::default() };
        all.unresolved().try_for_each(Upstream::resolve_soon)?;
        Ok(all)
    }

    /// Those whose addresses are not known yet.
    pub(super) fn unresolved(&self) -> impl Iterator<Item = &Arc<Upstream>> {
        self.servers.iter().filter(|server| server.is_unresolved())
    }

    /// The server whose turn it is, by weight, among those that are well and not `tried`; where none is well
    /// the others count too, since a check may be wrong and an error page helps nobody.
    pub fn next(&self, tried: &[usize]) -> Option<usize> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        // Each as often as it weighs.
        let fit = |is_well: bool| {
            let all = self.servers.iter().enumerate();
            let fit = all.filter(|(index, server)| (server.is_up() || !is_well) && !tried.contains(index));
            let weighed = fit.flat_map(|(index, server)| repeat_n(index, server.server.weight as usize));
            weighed.collect::<Vec<_>>()
        };
        let well = fit(true);
        let chosen = if well.is_empty() { fit(false) } else { well };
        // A step that shares no factor with most totals spreads a heavy server's requests.
        let place = turn.wrapping_mul(7_919).checked_rem(chosen.len());
        place.map_or_else(|| tried.first(), |place| chosen.get(place)).copied()
    }
}

/// Reads certificates that may sign others.
fn authorities(path: &Path) -> Result<Arc<[Vec<u8>]>, ConfigError> {
    let certificates = read_certificates(path)?;
    for certificate in &certificates {
        let added = RootCertStore::empty().add(certificate.clone());
        added.map_err(|error| ConfigError::whole(path, format!("a certificate cannot be used: {error}")))?;
    }
    Ok(certificates.iter().map(|certificate| certificate.to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DurationValue, Probe};
    use std::time::Duration;

    fn upstreams(weights: &[u32]) -> Upstreams {
        let servers = weights.iter().enumerate().map(|(index, weight)| {
            let url: OriginUrl = format!("http://192.0.2.{}:80", index + 1).parse().unwrap();
            OriginServer { url, weight: *weight, server_name: Some("a".into()) }
        });
        let mut origin = Origin::single("http://a".parse().unwrap());
        origin.servers = servers.collect();
        Upstreams::new(&origin, &Timeouts::default(), None).unwrap()
    }

    const CHECK: HealthCheck = HealthCheck {
        probe: Probe::Tcp,
        path: String::new(),
        interval: DurationValue(Duration::from_secs(1)),
        timeout: DurationValue(Duration::from_secs(1)),
        failures: 3,
        successes: 2,
    };

    #[test]
    fn requests_are_shared_by_weight() {
        let upstreams = upstreams(&[1, 3, 0]);
        let mut counts = [0; 3];
        for _ in 0..400 {
            counts[upstreams.next(&[]).unwrap()] += 1;
        }
        assert_eq!(counts, [100, 300, 0]);
        assert_eq!(upstreams.next(&[1]), Some(0), "a second attempt goes elsewhere");
        assert_eq!(upstreams.next(&[0, 1]), Some(0), "where all have been tried, once more");
    }

    fn down(server: &Upstream) {
        for _ in 0..3 {
            server.note(false, &CHECK);
        }
    }

    #[test]
    fn who_is_down_gets_nothing_unless_all_are() {
        let upstreams = upstreams(&[1, 1]);
        let down = |index: usize| down(&upstreams.servers[index]);
        down(0);
        assert!((0..10).all(|_| upstreams.next(&[]) == Some(1)));
        down(1);
        assert!((0..10).any(|_| upstreams.next(&[]) == Some(0)));
    }

    #[test]
    fn one_answer_changes_no_belief() {
        let upstreams = upstreams(&[1]);
        let server = &upstreams.servers[0];
        let answers = [false, false, true, false, false, false, true, false, true, true];
        let beliefs: Vec<_> = answers.iter().map(|well| server.note(*well, &CHECK)).collect();
        let mut expected = [None; 10];
        (expected[5], expected[9]) = (Some(false), Some(true));
        assert_eq!(beliefs, expected);
    }

    #[test]
    fn failures_are_counted_until_an_answer_comes() {
        let upstreams = upstreams(&[1]);
        let server = &upstreams.servers[0];
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        assert_eq!(server.failure.load_full(), None);
        server.failed("it refuses connections", at(1));
        server.failed("it does not answer in time", at(2));
        let failure =
            OriginFailures { since: at(1), last: at(2), errors: 2, cause: "it does not answer in time" };
        assert_eq!(server.failure.load_full().as_deref(), Some(&failure));
        server.answered();
        assert_eq!(server.failure.load_full(), None);
        server.failed("it refuses connections", at(3));
        assert_eq!(
            server.failure.load_full().map(|failure| (failure.since, failure.errors)),
            Some((at(3), 1))
        );
    }

    #[test]
    fn what_is_known_of_a_server_stays() {
        let before = upstreams(&[1, 1]);
        down(&before.servers[1]);
        let mut origin = Origin::single("http://192.0.2.9".parse().unwrap());
        origin.servers.push(before.servers[1].server.clone());
        let after = Upstreams::new(&origin, &Timeouts::default(), Some(&before)).unwrap();
        assert!(after.servers[0].is_up() && !after.servers[1].is_up());
    }

    #[test]
    fn addresses_need_no_resolver() {
        let server = Upstream::new(&upstreams(&[1]).servers[0].server);
        assert_eq!(server.addresses.load().len(), 1);
        assert!(!server.has_name() && !server.is_unresolved());
    }
}
