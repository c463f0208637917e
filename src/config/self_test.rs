//! The configuration that a self-test runs with: of the one given, what is tried, away from everything the running gateway
//! uses.
//!
//! Hosts, rules, catalogue, certificates, limits and time limits are taken over. All else is as by default, and so leaves
//! listeners, origins, folders, the fleet and other proxies alone. Notice and the operator's exceptions are off, so that a
//! refusal can be seen at once.

use super::values::{AdminValue, ListenValue, seconds};
use super::verify::RefreshValue;
use super::{Config, HostPattern, Origin, OriginUrl, RobotsConfig, RobotsFrom, SiteConfig, VerifyOptions};
use crate::enforce::Mode;
use crate::record::LogOptions;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

/// The site whose robots.txt the self-test writes. The name is nobody's (RFC 2606 §2).
pub const SELF_TEST_HOST: &str = "self-test.invalid";

impl Config {
    /// The same sites with this origin, on a free port of the loopback, with all state in `folder`. One more site,
    /// [`SELF_TEST_HOST`], refuses by `folder/robots.txt`.
    #[must_use]
    pub fn for_self_test(self, folder: &Path, origin: SocketAddr) -> Self {
        let url = OriginUrl::Tcp { tls: false, host: origin.ip().to_string().into(), port: origin.port() };
        let origin = Origin::single(url);
        let own = SiteConfig {
            name: SELF_TEST_HOST.to_owned(),
            hosts: SELF_TEST_HOST.parse::<HostPattern>().into_iter().collect(),
            mode: Some(Mode::Enforce),
            robots: RobotsConfig { file: Some(folder.join("robots.txt")), ..RobotsConfig::default() },
            ..SiteConfig::of_origin(origin.clone())
        };
        let moved = |site: SiteConfig| SiteConfig {
            origin: origin.clone(),
            // What only the origin could say is left out: it is not asked.
            robots: RobotsConfig { from: RobotsFrom::None, ..site.robots },
            redirect_https: false,
            ..site
        };
        Self {
            listen: vec![ListenValue(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))],
            admin: AdminValue(None),
            notice: seconds::<0>(),
            control: folder.join("control.sock"),
            state_dir: folder.to_owned(),
            verify: VerifyOptions { dns: false, refresh: RefreshValue(None), ..self.verify },
            log: LogOptions { level: Some("error".to_owned()), ..self.log },
            sites: self.sites.into_iter().map(moved).chain([own]).collect(),
            path: self.path,
            certificates: self.certificates,
            robots_max_size: self.robots_max_size,
            catalogue: self.catalogue,
            timeouts: self.timeouts,
            limits: self.limits,
            ..Self::default()
        }
    }
}
