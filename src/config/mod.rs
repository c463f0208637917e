//! `gateway.toml` and options → [`Config`]: complete, typed, every default filled in.
//!
//! Configuration names the modules below it; none of them names configuration. The file is read straight into what the
//! program uses: values of types that refuse a bad one (`values`), and defaults where nothing is written, which stand
//! with their keys. `faults` gathers all that is wrong with it. Then the options are laid over it (`arguments`), and what several
//! keys say together is checked (`check`).

mod arguments;
pub mod catalogue;
mod check;
pub mod defaults;
mod faults;
mod fleet;
mod listener;
mod modes;
mod origin;
pub mod ranges;
pub mod reading;
mod robots;
mod site;
mod values;

pub use arguments::{Arguments, DaemonVerb, SELF_TEST_HOST};
pub use catalogue::{
    CatalogueConfig, MirrorValue, NameServers, RefreshValue, ResolverValue, VerifyOptions, mirror_folder,
};
pub use faults::{ConfigError, ConfigErrors, showable};
pub use fleet::{AlertsConfig, FleetConfig, PublicConfig};
pub use listener::*;
pub use modes::{ActionConfig, Exception, NamedSetting, PageUrl};
pub use origin::{HealthCheck, Origin, OriginServer, OriginTimeouts, OriginUrl, Probe};
pub use reading::BoundedThreads;
pub use robots::{RobotsConfig, RobotsFrom, RobotsHost, RobotsTag, RobotsUrl};
pub use site::{HostPattern, SiteConfig, www_sibling};
pub use values::*;

use crate::decide::NoticePeriod;
use crate::enforce::{ClientModes, Mode};
use crate::identify::PurposeSet;
use crate::record::{
    AccessFormat, AddressDetail, JournalOptions, JournalRate, LogOptions, STORE_FILE, StoreOptions,
};
use crate::request::forwarded::ForwardedField;
use crate::request::prefixes::Prefixes;
use faults::{Faults, rebase, text_of};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// No configuration is larger; a catalogue, a certificate or a key is not either.
pub const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Everything an operator can choose.
#[derive(Clone, Debug, PartialEq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Config {
    /// The file this came from, if one did.
    #[serde(skip)]
    pub path: Option<PathBuf>,
    /// What stands in that file.
    #[serde(skip)]
    pub written: toml::Table,
    /// That file and all that it and the options name: a change of any has all of them read anew.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
    /// Addresses to listen on for plain HTTP.
    pub listen: Vec<ListenValue>,
    /// Addresses with more to them: TLS, the PROXY protocol.
    pub listeners: Vec<ListenerConfig>,
    /// What TLS shows there; the first one to whoever asks for a host that no other is for.
    pub certificates: Vec<CertificateConfig>,
    /// Where other proxies ask, if they may.
    pub authorize: Option<AuthorizeConfig>,
    /// Whom the gateway tells of what needs a look.
    pub alerts: Option<AlertsConfig>,
    /// The page that everybody may see, where one is wanted.
    pub public: Option<PublicConfig>,
    /// The fleet that the gateway is a member of, if it is of any.
    pub fleet: Option<FleetConfig>,
    /// Mode of every site that has none of its own.
    #[default(Mode::Audit)]
    pub mode: Mode,
    /// How long former versions of a robots.txt excuse a crawler.
    // RFC 9309 §2.4: a crawler should not use a cached copy for more than 24 hours.
    #[default(seconds::<86_400>())]
    pub notice: DurationValue,
    /// How long after a read it counts.
    // The time between a crawler's read and the moment its queues can know of it.
    #[default(seconds::<60>())]
    pub settle: DurationValue,
    /// Folder for state.
    pub state_dir: PathBuf,
    /// Control socket.
    pub control: PathBuf,
    /// The journal, relative to the state folder, or `-`.
    #[default("journal.jsonl")]
    pub journal: PathBuf,
    /// Size in bytes at which it is rotated.
    // Some 150,000 lines.
    #[default(SizeValue(100 << 20))]
    pub journal_max_size: SizeValue,
    /// How many rotated ones are kept.
    #[default(5)]
    pub journal_keep: usize,
    /// How many of its lines one sender may have; `None` bounds nobody.
    // A crawl at full speed has some tens of violations in a second; a flood would have the lines of all others rotated
    // away within minutes.
    #[default(RateValue(Some(JournalRate { lines: 100, period: Duration::from_secs(1) })))]
    pub journal_rate: RateValue,
    /// How long counts, events, reads and former versions are kept.
    // A season, which is as long as an abuse report takes to be answered.
    #[default(seconds::<{ 90 * 86_400 }>())]
    pub retention: DurationValue,
    /// How large the store may become, in bytes.
    // 90 days of 300 crawlers with a thousand paths a day each stay far below it on most sites, and it is nothing beside
    // the logs of a site that needs more.
    #[default(SizeValue(1 << 30))]
    pub store_max_size: SizeValue,
    /// Admin listener; `None` is off.
    // Loopback, and a port that recalls RFC 9309.
    #[default(AdminValue(Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 9309)))))]
    pub admin: AdminValue,
    /// What the admin listener asks for as a bearer token.
    pub admin_token: Option<String>,
    /// Worker threads.
    // One worker for each processor.
    #[default(std::thread::available_parallelism().map_or(1, std::num::NonZero::get))]
    pub threads: usize,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Prefixes,
    /// In which field trusted proxies tell where a request came from.
    pub forwarded_header: ForwardedField,
    /// Fields that are taken out of requests, beside those that always are.
    pub remove_fields: Vec<FieldToRemove>,
    /// Fields that are passed on, although they are among those.
    pub keep_fields: Vec<FieldToKeep>,
    /// Whether requests to origins say that they came through a gateway (RFC 9110 §7.6.3).
    #[default(true)]
    pub via: bool,
    /// Whether forwarded answers carry the `Content-Usage` preference that applies.
    pub content_usage: bool,
    /// What forwarded answers say of themselves to robots.
    pub robots_tags: Vec<RobotsTag>,
    /// The access log, if one is wanted, relative to the state folder, or `-`.
    pub access_log: Option<PathBuf>,
    /// The form of its lines.
    pub access_log_format: AccessFormat,
    /// Clients that are never judged.
    pub exempt: Vec<Exception>,
    /// How much of an address is recorded.
    pub addresses: AddressDetail,
    /// Whether plainly allowed requests are recorded too.
    pub log_allowed: bool,
    /// Whether the origin is told of the verdict.
    pub verdict_headers: bool,
    /// `max-age` of robots.txt.
    // Long enough to spare the origin of questions, short beside the notice.
    #[default(seconds::<3_600>())]
    pub robots_max_age: DurationValue,
    /// How much of a robots.txt is parsed, in bytes.
    // RFC 9309 §2.5: at least 500 kibibytes must be parsed.
    #[default(MemorySize(500 << 10))]
    pub robots_max_size: MemorySize,
    /// The operator's own crawlers, and published ones.
    pub catalogue: CatalogueConfig,
    /// How long requests in flight may take after SIGTERM.
    #[default(seconds::<30>())]
    pub grace: DurationValue,
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
    /// Modes and rates by what crawlers fetch for.
    pub purposes: BTreeMap<PurposeSet, NamedSetting>,
    /// Modes and rates by crawler, the names in lower case.
    pub crawlers: BTreeMap<String, NamedSetting>,
    /// The sites; at least one.
    pub sites: Vec<SiteConfig>,
}

impl Config {
    /// Reads the configuration file, if `arguments` names one, and applies the options over it.
    ///
    /// # Errors
    /// Every fault that can be told at once, each with file, line and column where there is one.
    pub fn load(arguments: &Arguments) -> Result<Self, ConfigErrors> {
        let path = arguments.config.as_deref();
        let text = path.map(read).transpose()?.unwrap_or_default();
        let mut faults = Faults::new(path.unwrap_or_else(|| Path::new("")), &text);
        let mut config: Self = faults.read();
        // What several keys say together can be told once each of them is understood.
        if faults.found.is_empty() {
            let base = path.and_then(Path::parent).unwrap_or_else(|| Path::new(""));
            let named = |path: &&mut PathBuf| !path.as_os_str().is_empty();
            let own = [&mut config.state_dir, &mut config.control].into_iter().filter(named);
            let public = config.public.iter_mut().map(|public| &mut public.folder);
            own.chain(public).for_each(|path| rebase(base, path));
            config.named_files().into_iter().for_each(|path| rebase(base, path));
            config.complete(arguments, &mut faults);
        }
        config.check_tables(arguments, &mut faults);
        let mut config = faults.finish(config).map_err(ConfigErrors)?;
        config.path = path.map(Path::to_owned);
        config.written = toml::from_str(&text).unwrap_or_default();
        config.files = config.named_files().into_iter().map(|path| path.clone()).collect();
        config.files.extend(config.path.clone());
        Ok(config)
    }

    /// The keys above all tables that the files of the two say different things of, tables among them.
    pub fn changed_keys(&self, next: &Self) -> BTreeSet<String> {
        let all = self.written.keys().chain(next.written.keys());
        all.filter(|key| self.written.get(*key) != next.written.get(*key)).cloned().collect()
    }

    /// A fault of `key` that shows only beside other files, at its place in the file as it is now.
    pub fn fault_of(&self, key: &str, message: String, hint: &str) -> Option<ConfigError> {
        let path = self.path.as_deref()?;
        let text = read(path).unwrap_or_default();
        let mut faults = Faults::new(path, &text);
        faults.push(key, message, hint);
        faults.finish(()).err()?.pop()
    }

    /// Every file that it names.
    fn named_files(&mut self) -> Vec<&mut PathBuf> {
        let mut paths: Vec<&mut PathBuf> = Vec::new();
        paths.extend(self.authorize.iter_mut().flat_map(|doors| &mut doors.secret_file));
        paths.extend(self.certificates.iter_mut().flat_map(|pair| [&mut pair.certificate, &mut pair.key]));
        paths.extend(self.alerts.iter_mut().flat_map(|to| to.ca.iter_mut().chain([&mut to.webhook_file])));
        paths.extend(
            self.fleet.iter_mut().flat_map(|own| own.password_file.iter_mut().chain(&mut own.ca_file)),
        );
        paths.extend(self.verify.ca.iter_mut().chain(self.verify.ranges.values_mut().flatten()));
        for set in self.crawlers.values_mut().chain(self.purposes.values_mut()) {
            if let Some(ActionConfig::Answer { body, .. }) = &mut set.action {
                paths.push(body);
            }
        }
        paths.extend(&mut self.catalogue.file);
        for SiteConfig { origin, robots, .. } in &mut self.sites {
            paths.extend(origin.ca.iter_mut().chain(&mut robots.file).chain(&mut robots.additions));
        }
        paths
    }

    /// Every exception, with the key that it is written at.
    pub fn exceptions<'a>(&'a self) -> impl Iterator<Item = (String, &'a Exception)> {
        let each = |(key, all): (String, &'a Vec<Exception>)| all.iter().map(move |one| (key.clone(), one));
        let named = self.named_settings().map(|(key, set)| (format!("{key}.except"), &set.except));
        std::iter::once(("exempt".to_owned(), &self.exempt)).chain(named).flat_map(each)
    }

    /// What notice is given. A read settles after `settle`, but never so late that the notice would be over first.
    pub fn period(&self) -> NoticePeriod {
        NoticePeriod { notice: *self.notice, settle: (*self.settle).min(*self.notice / 10) }
    }

    /// The journal.
    pub fn journal(&self) -> JournalOptions {
        self.lines("journal", &self.journal, *self.journal_rate)
    }

    /// The access log, if one is wanted, which is rotated as the journal is.
    pub fn access_log(&self) -> Option<JournalOptions> {
        Some(self.lines("access log", self.access_log.as_ref()?, None))
    }

    /// The lines that go into `file`: `-` is standard output.
    fn lines(&self, name: &'static str, file: &Path, rate: Option<JournalRate>) -> JournalOptions {
        let file = (file != Path::new("-")).then(|| self.state_dir.join(file));
        JournalOptions { name, file, max_bytes: *self.journal_max_size, keep: self.journal_keep, rate }
    }

    /// The store. Versions within notice must not be forgotten, so retention is never shorter.
    pub fn store(&self) -> StoreOptions {
        let (retention, max_bytes) = ((*self.retention).max(*self.notice), *self.store_max_size);
        StoreOptions { path: self.store_path(), retention, max_bytes, is_shared: self.fleet.is_some() }
    }

    /// The file of the store.
    pub fn store_path(&self) -> PathBuf {
        self.state_dir.join(STORE_FILE)
    }

    /// Every listener for HTTP, the plain ones first and that for other proxies last.
    pub fn all_listeners(&self) -> impl Iterator<Item = ListenerConfig> + '_ {
        let plain = self.listen.iter().map(|own| ListenerConfig::bare(*own, false));
        let doors = self.authorize.iter().map(|doors| ListenerConfig::bare(doors.listen, true));
        plain.chain(self.listeners.iter().copied()).chain(doors)
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    let bytes = reading::contents(path, MOST_BYTES, "configuration")?;
    text_of(path, &bytes, "configuration").map(str::to_owned)
}

#[cfg(test)]
pub(crate) mod tests;
