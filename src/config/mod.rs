//! `gateway.toml` and options → [`Config`]: complete, typed, every default filled in.
//!
//! Configuration names the modules below it; none of them names configuration. The file as written (`file`) has values
//! of types that refuse a bad one while they are read (`values`). `build` checks what several keys say together, fills in
//! the defaults, and makes the configuration. The reasons for the defaults stand in [`defaults`] and `limits`.

mod alerts;
mod arguments;
mod authorize;
mod bounded;
mod build;
pub mod catalogue;
pub mod defaults;
mod error;
mod file;
mod fleet;
mod host_pattern;
mod limits;
mod listener;
mod modes;
mod origin;
mod origin_url;
mod public;
pub mod ranges;
pub mod reading;
mod robots;
mod self_test;
mod site;
mod user_info;
mod values;
mod verify;
mod written;

pub use alerts::AlertsConfig;
pub use arguments::{Arguments, DaemonVerb};
pub use authorize::AuthorizeConfig;
pub use bounded::{BoundedThreads, TimedOut};
pub use error::{ConfigError, ConfigErrors};
pub use fleet::FleetConfig;
pub use host_pattern::{HostPattern, HostPatternError, www_sibling};
pub use limits::{ConnectionLimits, Timeouts};
pub use listener::{CertificateConfig, ListenerConfig};
pub use origin::{HealthCheck, Origin, OriginServer, OriginTimeouts, Probe};
pub use origin_url::{OriginError, OriginUrl};
pub use public::PublicConfig;
pub use robots::{FromOrigin, RobotsConfig, RobotsSource, RobotsUrl, WordPlace};
pub use self_test::SELF_TEST_HOST;
pub use site::SiteConfig;
pub use user_info::without_user_info;
pub use values::{AdminValue, DurationValue, ListenValue, NetworkValue, RateValue, SizeValue, ValueError};
pub use verify::{NameServers, VerifyOptions, mirror_folder};
pub use written::{KeyChange, WrittenConfig, showable};

use crate::decide::NoticePeriod;
use crate::enforce::{ClientModes, Mode, PaceRates};
use crate::http::claims::FieldChoices;
use crate::identify::Purpose;
use crate::record::{AccessLogOptions, AddressDetail, JournalOptions, LogOptions, StoreOptions};
use crate::request::address::NetworkList;
use crate::request::forwarded::ForwardedField;
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// No configuration is larger; a catalogue, a certificate or a key is not either.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Everything an operator can choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file this came from, if one did.
    pub path: Option<PathBuf>,
    /// What stands in that file.
    pub written: WrittenConfig,
    /// Addresses to listen on for plain HTTP.
    pub listen: Vec<SocketAddr>,
    /// Addresses with more to them: TLS, the PROXY protocol.
    pub listeners: Vec<ListenerConfig>,
    /// Where other proxies ask, if they may.
    pub authorize: Option<AuthorizeConfig>,
    /// Whom the gateway tells of what needs a look.
    pub alerts: Option<AlertsConfig>,
    /// The page that everybody may see, where one is wanted.
    pub public: Option<PublicConfig>,
    /// The fleet that the gateway is a member of, if it is of any.
    pub fleet: Option<FleetConfig>,
    /// What TLS shows there; the first one to whoever asks for a host that no other is for.
    pub certificates: Vec<CertificateConfig>,
    /// Mode of every site that has none of its own.
    pub mode: Mode,
    /// How long former versions of a robots.txt excuse a crawler.
    pub period: NoticePeriod,
    /// Folder for state.
    pub state_dir: PathBuf,
    /// Control socket.
    pub control: PathBuf,
    /// The journal.
    pub journal: JournalOptions,
    /// The store.
    pub store: StoreOptions,
    /// Admin listener; `None` is off.
    pub admin: Option<SocketAddr>,
    /// What the admin listener asks for as a bearer token.
    pub admin_token: Option<String>,
    /// Worker threads.
    pub threads: usize,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: NetworkList,
    /// How a request's way is told.
    pub forwarding: Forwarding,
    /// Fields that are taken out of requests or passed on, beside those that always are.
    pub fields: FieldChoices,
    /// Whether forwarded answers carry the `Content-Usage` preference that applies.
    pub content_usage: bool,
    /// The access log, if one is wanted.
    pub access_log: Option<AccessLogOptions>,
    /// Clients that are never judged.
    pub exempt: NetworkList,
    /// How much of an address is recorded.
    pub addresses: AddressDetail,
    /// Whether plainly allowed requests are recorded too.
    pub log_allowed: bool,
    /// Whether the origin is told of the verdict.
    pub verdict_headers: bool,
    /// `max-age` of robots.txt.
    pub robots_max_age: Duration,
    /// How much of a robots.txt is parsed, in bytes.
    pub robots_max_size: usize,
    /// The operator's own crawlers.
    pub catalogue: Option<PathBuf>,
    /// How long requests in flight may take after SIGTERM.
    pub grace: Duration,
    /// The operational log.
    pub log: LogOptions,
    /// Time limits.
    pub timeouts: Arc<Timeouts>,
    /// Bounds on connections and requests.
    pub limits: ConnectionLimits,
    /// How the names of crawlers are verified.
    pub verify: VerifyOptions,
    /// Modes by kind of client.
    pub clients: ClientModes,
    /// Modes by what crawlers fetch for.
    pub purposes: BTreeMap<Purpose, Mode>,
    /// Modes by crawler, the names in lower case.
    pub crawlers: HashMap<String, Mode>,
    /// Rates by crawler and purpose.
    pub rates: PaceRates,
    /// The sites; at least one.
    pub sites: Vec<SiteConfig>,
}

/// How a request's way is told, by the proxies in front and to the origins behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forwarding {
    /// In which field trusted proxies tell where a request came from.
    pub field: ForwardedField,
    /// Whether requests to origins say that they came through a gateway.
    pub via: bool,
}

impl Config {
    /// Reads the configuration file, if `arguments` names one, and applies the options over it.
    ///
    /// # Errors
    /// Every fault that can be told at once, each with file, line and column where there is one.
    pub fn load(arguments: &Arguments) -> Result<Self, ConfigErrors> {
        let Some(path) = &arguments.config else {
            return build::build(None, "", file::ConfigFile::default(), arguments);
        };
        let text = read(path)?;
        let file = file::ConfigFile::parse(path, &text)?;
        let written = WrittenConfig::of(path, &text)?;
        Ok(Self { written, ..build::build(Some(path), &text, file, arguments)? })
    }

    /// Every listener for HTTP, the plain ones first and that for other proxies last.
    pub fn all_listeners(&self) -> impl Iterator<Item = ListenerConfig> + '_ {
        let plain = self.listen.iter().copied().map(ListenerConfig::plain);
        let doors = self.authorize.iter().map(|doors| ListenerConfig::for_proxies(doors.listen));
        plain.chain(self.listeners.iter().copied()).chain(doors)
    }

    /// Where a configuration file puts the control socket, whatever else is wrong with it: the running gateway says what.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn control_of(path: &Path) -> Result<PathBuf, ConfigErrors> {
        let bytes = reading::contents(path, MOST_BYTES, "configuration")?;
        let text = String::from_utf8_lossy(&bytes);
        let table = toml::from_str(&text).ok().or_else(|| control_line(&text)).unwrap_or_default();
        let base = path.parent().unwrap_or_else(|| Path::new(""));
        let written = |key| table.get(key).and_then(toml::Value::as_str).map(|written| base.join(written));
        let default = || {
            let below = |_| written("state_dir").map(|folder| folder.join("control.sock"));
            defaults::control().or_else(|error| below(error).ok_or(error))
        };
        written("control")
            .map_or_else(default, Ok)
            .map_err(|error| ConfigErrors(vec![ConfigError::whole(path, error.to_string())]))
    }

    /// The files that the configuration is about: itself, catalogue, robots.txt of every site,
    /// certificates, the secret of other proxies, the webhook. Lists of address ranges are the policy's affair.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let robots = self.sites.iter().flat_map(|site| site.robots.files());
        let pairs = self.certificates.iter().flat_map(|pair| [&*pair.certificate, &*pair.key]);
        let secret = self.authorize.as_ref().and_then(|doors| doors.secret_file.as_deref());
        let webhook = self.alerts.as_ref().map(|alerts| &*alerts.webhook_file);
        let own = [self.path.as_deref(), self.catalogue.as_deref(), secret, webhook];
        own.into_iter().flatten().chain(robots).chain(pairs)
    }
}

/// The key `control` of a file that is no TOML as a whole: its line, above the first table.
fn control_line(text: &str) -> Option<toml::Table> {
    let mut above = text.lines().take_while(|line| !line.starts_with('[')).map(toml::from_str::<toml::Table>);
    above.find_map(|keys| keys.ok().filter(|keys| keys.contains_key("control")))
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let bytes = reading::contents(path, MOST_BYTES, "configuration")?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes().get(..at).unwrap_or_default()).into_owned();
        ConfigError::at(path, &text, Some(at..at), "the configuration is not UTF-8")
    })
}
