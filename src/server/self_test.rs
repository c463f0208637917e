//! `robots-gateway self-test`: a gateway with the configuration given, on a port and in a folder of its own, asked by
//! itself.
//!
//! It shows that this program, on this machine, with these files, refuses a crawler, lets a person through and serves
//! the robots.txt of each site. Whether origins answer is not its question, so they are not asked.

use super::demo::{BROWSER, BuiltInOriginError, CRAWLER, DemoOrigin};
use crate::config::{Config, HostPattern, ListenerConfig, SELF_TEST_HOST};
use crate::policy::Policy;
use crate::process::terminate;
use std::io::{self, Write as _};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// The rules of the site that refuses.
const RULES: &str = "User-agent: *\nDisallow: /\n";

/// Longer than any start takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// No robots.txt that is kept in memory is larger.
const MOST_BYTES: u64 = 64 << 20;

/// A self-test: first its place, then its questions.
#[derive(Debug)]
pub struct SelfTest {
    /// The built-in origin.
    pub origin: Arc<DemoOrigin>,
    asking: Option<JoinHandle<Result<(), BuiltInOriginError>>>,
}

/// A site, and what it has to serve.
struct ExpectedSite {
    name: String,
    host: String,
    robots: Option<Vec<u8>>,
}

impl SelfTest {
    /// Finds a free port and a folder.
    ///
    /// # Errors
    /// When there is none.
    pub fn prepare() -> Result<Self, BuiltInOriginError> {
        Ok(Self { origin: Arc::new(DemoOrigin::with_robots(RULES)?), asking: None })
    }

    /// The configuration, moved to the place of the test.
    pub fn moved(&self, config: Config) -> Config {
        config.for_self_test(&self.origin.folder, self.origin.address)
    }

    /// Asks, on a thread of its own, and then has the gateway stop.
    ///
    /// # Errors
    /// When there is no thread, or nothing listens.
    pub fn begin(
        &mut self,
        policy: &Policy,
        listeners: &[(TcpListener, ListenerConfig)],
    ) -> Result<(), BuiltInOriginError> {
        let address = listeners.first().and_then(|(listener, _)| listener.local_addr().ok());
        let address = address.ok_or_else(|| BuiltInOriginError::Test("nothing listens".to_owned()))?;
        let sites: Vec<ExpectedSite> =
            policy.sites().iter().map(|site| ExpectedSite::of(policy, &site.config.hosts)).collect();
        let asking = move || {
            let asked = ask(&format!("http://{address}"), &sites);
            let _ = terminate();
            asked
        };
        let thread = std::thread::Builder::new().name("self-test".to_owned());
        let wrong = |error| BuiltInOriginError::Test(format!("there is no thread for it: {error}"));
        self.asking = Some(thread.spawn(asking).map_err(wrong)?);
        Ok(())
    }

    /// What came of it.
    ///
    /// # Errors
    /// The first answer that was wrong.
    pub fn end(&mut self) -> Result<(), BuiltInOriginError> {
        let asked = self.asking.take().map(JoinHandle::join);
        let gone = || BuiltInOriginError::Test("it was never asked".to_owned());
        asked.and_then(Result::ok).ok_or_else(gone)?
    }
}

impl ExpectedSite {
    /// A host of the site, and what whoever asks there is to be served.
    fn of(policy: &Policy, hosts: &[HostPattern]) -> Self {
        let any = || format!("default.{SELF_TEST_HOST}");
        let host = hosts.first().map_or_else(any, |host| host.to_string().replace('*', "self-test"));
        let site = policy.site(&host);
        let robots = site.and_then(|site| site.robots.as_ref()).map(|file| file.bytes.clone());
        Self { name: site.map_or_else(|| host.clone(), |site| site.config.name.clone()), host, robots }
    }
}

/// Asks each site as a crawler and as a person.
fn ask(url: &str, sites: &[ExpectedSite]) -> Result<(), BuiltInOriginError> {
    let config = ureq::Agent::config_builder().timeout_global(Some(PATIENCE)).http_status_as_error(false);
    let agent = ureq::Agent::from(config.max_redirects(0).proxy(None).build());
    let get = |host: &str, path: &str, header: &str| -> Result<(u16, Vec<u8>), BuiltInOriginError> {
        let silent =
            |error| BuiltInOriginError::Test(format!("{path} of `{host}` was not answered: {error}"));
        let request = agent.get(format!("{url}{path}")).header("Host", host).header("User-Agent", header);
        let mut answer = request.call().map_err(silent)?;
        let body = answer.body_mut().with_config().limit(MOST_BYTES).read_to_vec().map_err(silent)?;
        Ok((answer.status().as_u16(), body))
    };
    for ExpectedSite { name, host, robots } in sites {
        let (status, served) = get(host, "/robots.txt", CRAWLER)?;
        let (is_right, wanted) = match robots {
            Some(expected) => (status == 200 && served == *expected, "the file in force"),
            None => (status == 404, "a page that is not there"),
        };
        check(is_right, || format!("site `{name}`: /robots.txt is not {wanted} (status {status})"))?;
        let (status, _) = get(host, "/", BROWSER)?;
        check(status == 200, || format!("site `{name}`: a person was not let through: status {status}"))?;
    }
    let (status, _) = get(SELF_TEST_HOST, "/", CRAWLER)?;
    check(status == 403, || format!("a crawler was not refused: status {status}"))?;
    // One site is the test's own.
    let (count, plural) = (sites.len() - 1, if sites.len() == 2 { "" } else { "s" });
    // Whoever closed standard output has the exit code.
    let _ = writeln!(
        io::stdout(),
        "self-test passed: robots.txt served and a person let through at {count} site{plural}, a crawler refused"
    );
    Ok(())
}

fn check(is_right: bool, wrong: impl Fn() -> String) -> Result<(), BuiltInOriginError> {
    if is_right { Ok(()) } else { Err(BuiltInOriginError::Test(wrong())) }
}
