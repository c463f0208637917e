//! The daemon's options. Without a configuration file they suffice; with one they are laid over what it says. And what a
//! self-test lays over both.

use super::faults::Faults;
use super::values::{AdminValue, DurationValue, ListenValue, seconds};
use super::{
    Config, HostPattern, Origin, OriginUrl, RefreshValue, RobotsConfig, RobotsFrom, SiteConfig, VerifyOptions,
};
use crate::enforce::Mode;
use crate::record::LogOptions;
use crate::request::address::Network;
use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};
use std::mem::take;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  robots-gateway --demo
  robots-gateway --origin http://127.0.0.1:3000 --robots robots.txt
  robots-gateway --config /etc/robots-gateway/gateway.toml
  robots-gateway self-test --config /etc/robots-gateway/gateway.toml";

/// What the daemon does instead of serving.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DaemonVerb {
    /// Try this configuration on a port and in a folder of its own: a crawler refused, a person let through, robots.txt served
    SelfTest,
}

/// A reverse proxy that makes robots.txt binding.
#[derive(Clone, Debug, Default, Parser)]
#[command(name = "robots-gateway", version, about, after_help = EXAMPLES)]
pub struct Arguments {
    /// What to do instead of serving
    #[arg(value_enum, value_name = "COMMAND", conflicts_with_all = ["demo", "upgrade"])]
    pub verb: Option<DaemonVerb>,
    /// Configuration file; the other options override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address to listen on; may be repeated [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    pub listen: Vec<ListenValue>,
    /// Origin of the site, a URL such as `http://127.0.0.1:3000`
    #[arg(long, value_name = "URL")]
    pub origin: Option<String>,
    /// The site's robots.txt
    #[arg(long, value_name = "FILE")]
    pub robots: Option<PathBuf>,
    /// Mode of all sites that set none of their own: off, audit or enforce [default: audit]
    #[arg(long, value_name = "MODE")]
    pub mode: Option<Mode>,
    /// How long a replaced robots.txt still excuses a crawler [default: 24h]
    #[arg(long, value_name = "TIME")]
    pub notice: Option<DurationValue>,
    /// Folder for the journal and other state
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// Journal of violations, or - for standard output [default: journal.jsonl in the state folder]
    #[arg(long, value_name = "FILE")]
    pub journal: Option<String>,
    /// Address of the admin listener, or off [default: 127.0.0.1:9309]
    #[arg(long, value_name = "ADDR")]
    pub admin: Option<AdminValue>,
    /// Control socket for gatewayctl
    #[arg(long, value_name = "SOCKET")]
    pub control: Option<PathBuf>,
    /// Network of proxies whose X-Forwarded-For is believed; may be repeated
    #[arg(long, value_name = "CIDR")]
    pub trusted_proxy: Vec<Network>,
    /// Address where other proxies ask whether a request may pass; only networks of --trusted-proxy are answered
    #[arg(long, value_name = "ADDR")]
    pub authorize: Option<ListenValue>,
    /// Worker threads [default: one for each processor]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_024))]
    pub threads: Option<usize>,
    /// Take over the sockets of the running gateway, which then finishes its requests and ends
    #[arg(long, conflicts_with = "demo")]
    pub upgrade: bool,
    /// Run over a built-in origin with a sample robots.txt, and print commands to try
    #[arg(long, conflicts_with_all = ["config", "origin"])]
    pub demo: bool,
}

impl Config {
    pub(super) fn overlay(&mut self, arguments: &Arguments, faults: &mut Faults<'_>) {
        if !arguments.listen.is_empty() {
            self.listen.clone_from(&arguments.listen);
        }
        self.mode = arguments.mode.unwrap_or(self.mode);
        self.notice = arguments.notice.unwrap_or(self.notice);
        self.admin = arguments.admin.unwrap_or(self.admin);
        self.threads = arguments.threads.unwrap_or(self.threads);
        self.state_dir = arguments.state_dir.clone().unwrap_or_else(|| take(&mut self.state_dir));
        self.control = arguments.control.clone().unwrap_or_else(|| take(&mut self.control));
        // In a file it is relative to the state folder, and here to where the command was typed.
        if let Some(journal) = &arguments.journal {
            let is_file = journal != "-";
            let here = std::path::absolute(journal).ok().filter(|_| is_file);
            self.journal = here.unwrap_or_else(|| journal.into());
        }
        arguments.trusted_proxy.iter().for_each(|network| self.trusted_proxies.insert(*network));
        if let Some(listen) = arguments.authorize {
            self.authorize.get_or_insert_default().listen = listen;
        }
        self.overlay_site(arguments, faults);
    }

    /// `--origin` and `--robots` speak of the default site, or of the only one.
    fn overlay_site(&mut self, arguments: &Arguments, faults: &mut Faults<'_>) {
        let origin = match arguments.origin.as_deref().map(str::parse::<OriginUrl>).transpose() {
            Ok(url) => url.map(Origin::single),
            Err(error) => return faults.push("--origin", format!("--origin: {error}"), ""),
        };
        if origin.is_none() && arguments.robots.is_none() {
            return;
        }
        let only = self.sites.len() == 1;
        if !self.sites.iter().any(|site| only || site.hosts.is_empty()) {
            if origin.is_none() && self.authorize.is_none() {
                return faults.push("", "--robots without an origin", "add --origin http://127.0.0.1:3000");
            }
            self.sites.push(SiteConfig::of_origin(Origin::default()));
        }
        let Some(site) = self.sites.iter_mut().find(|site| only || site.hosts.is_empty()) else { return };
        site.origin = origin.unwrap_or_else(|| take(&mut site.origin));
        site.robots.file = arguments.robots.clone().or_else(|| site.robots.file.take());
    }
}

/// The site whose robots.txt the self-test writes. The name is nobody's (RFC 2606 §2).
pub const SELF_TEST_HOST: &str = "self-test.invalid";

impl Config {
    /// What a self-test runs with: of this configuration what is tried, away from everything the running gateway uses. Hosts,
    /// rules, catalogue, certificates, limits and time limits are taken over. All else is as by default, and so leaves
    /// listeners, origins, folders, the fleet and other proxies alone. Notice and the operator's exceptions are off, so that
    /// a refusal can be seen at once.
    ///
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
