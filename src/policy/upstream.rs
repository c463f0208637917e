//! One server of an origin as the gateway knows it: its addresses, and whether it is well.
//!
//! What is learnt of a server outlives policies: a changed robots.txt is no reason to ask again who is well.
//! Asking is `proxy`'s affair, and noting the answers is done here, without a lock that a request waits for.

use super::certificates::read_certificates;
use super::load::OriginNames;
use crate::config::{BoundedThreads, ConfigError, HealthCheck, Origin, OriginServer, OriginUrl, Timeouts};
use arc_swap::{ArcSwap, Guard};
use parking_lot::Mutex;
use rustls::RootCertStore;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime};

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
    addresses: ArcSwap<Vec<SocketAddr>>,
    is_down: AtomicBool,
    /// Answers in a row that say otherwise than what is believed.
    doubts: AtomicU32,
    /// Whether there is a failure, so that an answer costs one look.
    is_failing: AtomicBool,
    failure: Mutex<Option<OriginFailures>>,
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

impl Upstream {
    fn new(server: &OriginServer) -> Self {
        let literal = match &server.url {
            OriginUrl::Tcp { host, port, .. } => {
                host.parse::<IpAddr>().map_or_else(|_| Vec::new(), |address| vec![(address, *port).into()])
            }
            OriginUrl::Socket(_) => Vec::new(),
        };
        Self {
            server: server.clone(),
            addresses: ArcSwap::from_pointee(literal),
            is_down: AtomicBool::new(false),
            doubts: AtomicU32::new(0),
            is_failing: AtomicBool::new(false),
            failure: Mutex::default(),
        }
    }

    /// Its addresses as last resolved; none for a socket, and for a name that has not been resolved yet.
    pub fn addresses(&self) -> Guard<Arc<Vec<SocketAddr>>> {
        self.addresses.load()
    }

    /// Whether it is taken to be well.
    pub fn is_up(&self) -> bool {
        !self.is_down.load(Ordering::Relaxed)
    }

    /// Whether its place is a name, which may move.
    pub fn has_name(&self) -> bool {
        matches!(&self.server.url, OriginUrl::Tcp { host, .. } if host.parse::<IpAddr>().is_err())
    }

    /// Whether nobody knows yet where it is.
    pub fn is_unresolved(&self) -> bool {
        self.has_name() && self.addresses.load().is_empty()
    }

    /// Resolves its name as [`Self::resolve`] does, for as long as a reload may wait for one.
    ///
    /// # Errors
    /// What the system's resolver says, or that it says nothing.
    pub(super) fn resolve_soon(self: &Arc<Self>) -> io::Result<bool> {
        let server = Arc::clone(self);
        NAMES
            .run(&self.server.url.authority(), move || server.resolve())
            .unwrap_or_else(|| Err(io::Error::new(io::ErrorKind::TimedOut, "no name server answers")))
    }

    /// Resolves its name; the last good addresses are kept where that fails. Whether they changed.
    ///
    /// # Errors
    /// What the system's resolver says.
    pub fn resolve(&self) -> io::Result<bool> {
        let OriginUrl::Tcp { host, port, .. } = &self.server.url else { return Ok(false) };
        let mut addresses: Vec<SocketAddr> = (&**host, *port).to_socket_addrs()?.collect();
        // A name server may turn its answers round; that alone is no change.
        addresses.sort_unstable();
        addresses.dedup();
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address"));
        }
        let is_new = **self.addresses.load() != addresses;
        if is_new {
            self.addresses.store(Arc::new(addresses));
        }
        Ok(is_new)
    }

    /// Notes that a request failed here.
    pub fn failed(&self, cause: &'static str, now: SystemTime) {
        let mut failure = self.failure.lock();
        let failure = failure.get_or_insert(OriginFailures { since: now, last: now, errors: 0, cause });
        (failure.errors, failure.last, failure.cause) = (failure.errors.saturating_add(1), now, cause);
        self.is_failing.store(true, Ordering::Relaxed);
    }

    /// Notes that a request was answered, whatever the answer was.
    pub fn answered(&self) {
        if self.is_failing.load(Ordering::Relaxed) {
            let mut failure = self.failure.lock();
            *failure = None;
            self.is_failing.store(false, Ordering::Relaxed);
        }
    }

    /// What failed since it last answered.
    pub fn failure(&self) -> Option<OriginFailures> {
        self.failure.lock().clone()
    }

    /// Notes an answer to "are you well?"; what is believed from here on, where that changed.
    pub fn note(&self, is_well: bool, check: &HealthCheck) -> Option<bool> {
        if is_well == self.is_up() {
            self.doubts.store(0, Ordering::Relaxed);
            return None;
        }
        let doubts = self.doubts.fetch_add(1, Ordering::Relaxed) + 1;
        if doubts < if is_well { check.successes } else { check.failures } {
            return None;
        }
        self.doubts.store(0, Ordering::Relaxed);
        self.is_down.store(!is_well, Ordering::Relaxed);
        Some(is_well)
    }
}

/// A server that belongs to no site, resolved.
///
/// # Errors
/// What the system's resolver says, or that it says nothing.
pub fn detached(url: &OriginUrl) -> io::Result<Arc<Upstream>> {
    let server = Arc::new(Upstream::new(&OriginServer::new(url.clone())));
    if server.is_unresolved() {
        server.resolve_soon()?;
    }
    Ok(server)
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

    /// Looks their names up. One without an address is no fault: a site whose origin has none yet is served, its
    /// robots.txt above all, and the address is looked for again.
    pub(super) fn look_up(&self, names: OriginNames, site: &str) {
        for server in self.servers.iter().filter(|server| server.has_name()) {
            let asks = match names {
                OriginNames::Leave => false,
                OriginNames::LookUnknown => server.is_unresolved(),
                OriginNames::Look => true,
            };
            if asks && let Err(error) = server.resolve_soon() {
                let url = &server.server.url;
                tracing::warn!(site, "the name of origin {url} cannot be resolved: {error}");
            }
        }
    }

    /// The same servers, trusted by whom the system trusts.
    pub fn without_ca(&self) -> Self {
        Self { ca: None, ..self.clone() }
    }

    /// Whether nobody knows yet where some server is.
    pub fn has_unresolved(&self) -> bool {
        self.servers.iter().any(|server| server.is_unresolved())
    }

    /// The server whose turn it is, by weight, among those that are well and not `tried`; where none is well
    /// the others count too, since a check may be wrong and an error page helps nobody.
    pub fn next(&self, tried: &[usize]) -> Option<usize> {
        // One server is the common case, and there is nothing to choose.
        if self.servers.len() == 1 {
            return Some(0);
        }
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let candidates = |is_fit: fn(&Upstream) -> bool| {
            let all = self.servers.iter().enumerate();
            let fit = all.filter(|(index, server)| !tried.contains(index) && is_fit(server));
            fit.map(|(index, server)| (index, server.server.weight as usize)).collect::<Vec<_>>()
        };
        let sets: [fn(&Upstream) -> bool; 2] =
            [|server| server.server.weight > 0 && server.is_up(), |server| server.server.weight > 0];
        let chosen = sets.into_iter().map(candidates).find(|set| !set.is_empty());
        let Some(chosen) = chosen else { return tried.first().copied() };
        let total: usize = chosen.iter().map(|(_, weight)| weight).sum();
        // A step that shares no factor with most totals spreads a heavy server's requests.
        let mut place = turn.wrapping_mul(7_919) % total;
        chosen
            .iter()
            .find(|(_, weight)| place.checked_sub(*weight).map(|left| place = left).is_none())
            .map(|(index, _)| *index)
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
    use crate::config::Probe;
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
        interval: Duration::from_secs(1),
        timeout: Duration::from_secs(1),
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
        assert_eq!(server.failure(), None);
        server.failed("it refuses connections", at(1));
        server.failed("it does not answer in time", at(2));
        let failure =
            OriginFailures { since: at(1), last: at(2), errors: 2, cause: "it does not answer in time" };
        assert_eq!(server.failure(), Some(failure));
        server.answered();
        assert_eq!(server.failure(), None);
        server.failed("it refuses connections", at(3));
        assert_eq!(server.failure().map(|failure| (failure.since, failure.errors)), Some((at(3), 1)));
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
        assert_eq!(server.addresses().len(), 1);
        assert!(!server.has_name() && !server.is_unresolved());
    }
}
