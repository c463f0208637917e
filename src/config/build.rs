//! The file as written, and the options, made into a [`Config`].

use super::Config;
use super::access_log;
use super::alerts;
use super::arguments::Arguments;
use super::authorize;
use super::defaults;
use super::error::{ConfigError, ConfigErrors};
use super::file::{ConfigFile, KeyPlaces};
use super::fleet;
use super::forwarding::{self, Forwarding};
use super::host_pattern::HostPattern;
use super::limits;
use super::listener::Listening;
use super::modes::{self, NamedSettings};
use super::origin::Origin;
use super::origin_url::OriginUrl;
use super::robots::{RobotsConfig, RobotsSource};
use super::site::SiteConfig;
use super::values::DurationValue;
use super::written::WrittenConfig;
use crate::decide::NoticePeriod;
use crate::enforce::Mode;
use crate::record::{JournalOptions, JournalTarget, STORE_FILE, StoreOptions};
use std::collections::HashMap;
use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

/// The faults found so far, so that an operator sees all of them at once.
pub(super) struct Faults<'a> {
    path: &'a Path,
    pub(super) text: &'a str,
    found: Vec<ConfigError>,
}

impl Faults<'_> {
    pub(super) fn push(&mut self, span: Range<usize>, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::at(self.path, self.text, Some(span), message).with_hint(hint));
    }

    /// The value, or a fault at `span`.
    pub(super) fn value_or_fault<T, E: Display>(
        &mut self,
        span: Range<usize>,
        result: Result<T, E>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.found.push(ConfigError::at(self.path, self.text, Some(span), error.to_string()));
                None
            }
        }
    }

    /// All values, or a fault for each bad one.
    pub(super) fn values_or_faults<T, E: Display>(
        &mut self,
        results: impl Iterator<Item = (Range<usize>, Result<T, E>)>,
    ) -> Option<Vec<T>> {
        let values: Vec<Option<T>> =
            results.map(|(span, result)| self.value_or_fault(span, result)).collect();
        values.into_iter().collect()
    }

    fn none(self) -> Result<(), ConfigErrors> {
        if self.found.is_empty() { Ok(()) } else { Err(ConfigErrors(self.found)) }
    }

    /// A fault of an option.
    pub(super) fn push_option(&mut self, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::whole(Path::new(""), message).with_hint(hint));
    }

    fn push_whole(&mut self, message: impl Into<String>, hint: &str) {
        self.found.push(ConfigError::whole(self.path, message).with_hint(hint));
    }
}

pub(super) fn build(
    path: Option<&Path>,
    text: &str,
    mut file: ConfigFile,
    arguments: &Arguments,
) -> Result<Config, ConfigErrors> {
    let mut faults = Faults { path: path.unwrap_or_else(|| Path::new("")), text, found: Vec::new() };
    let base = path.and_then(Path::parent).unwrap_or_else(|| Path::new(""));
    let Listening { listen, listeners, authorize, certificates } =
        Listening::build(&mut file, base, arguments, &mut faults);
    let admin = admin(&file, arguments, &mut faults);
    let threads = limits::threads(file.threads.take(), arguments, &mut faults);
    let robots_max_size = robots_max_size(&file, &mut faults);
    let period = period(&file, arguments);
    let store = store(&file, period, &mut faults);
    let alerts = alerts::build(file.alerts.take(), base, &mut faults);
    let fleet = fleet::build(&mut file, base, &mut faults);
    let NamedSettings { purposes, crawlers, rates } = NamedSettings::of(&file, &mut faults);
    let verify = std::mem::take(&mut file.verify).build(base, &mut faults);
    let sites = sites(&mut file, base, arguments, (authorize.is_some(), &listen), &mut faults);
    let removed_fields = forwarding::removed_fields(&file, &mut faults);
    check_journal(&file, &mut faults);
    check_ranges(&file, &mut faults);
    faults.none()?;
    let (state_dir, control) = state_and_control_paths(&mut file, base, arguments);
    Ok(Config {
        path: path.map(Path::to_owned),
        written: WrittenConfig::default(),
        listen,
        listeners,
        certificates,
        authorize,
        mode: arguments.mode.or(file.mode).map_or(Mode::Audit, |mode| mode.0),
        period,
        journal: journal(&file, arguments, &state_dir),
        access_log: access_log::options(&file, &state_dir),
        store: StoreOptions { path: state_dir.join(STORE_FILE), is_shared: fleet.is_some(), ..store },
        alerts,
        fleet,
        control,
        state_dir,
        admin,
        admin_token: file.admin_token.take().map(Spanned::into_inner),
        threads,
        trusted_proxies: forwarding::trusted(&file, arguments),
        forwarding: Forwarding::from_file(&file),
        removed_fields,
        content_usage: file.content_usage,
        exempt: file.exempt.iter().map(|value| value.0).collect(),
        addresses: file.addresses,
        log_allowed: file.log_allowed,
        verdict_headers: file.verdict_headers,
        robots_max_age: duration(file.robots_max_age, defaults::ROBOTS_MAX_AGE),
        robots_max_size,
        catalogue: file.catalogue.map(|catalogue| base.join(catalogue)),
        grace: duration(file.grace, defaults::GRACE),
        log: file.log,
        timeouts: Arc::new(file.timeouts),
        limits: file.limits,
        verify,
        clients: modes::clients(&file.clients),
        purposes,
        crawlers,
        rates,
        sites,
    })
}

/// Whether an origin is where the gateway itself listens, as far as its URL says so.
fn is_own(url: &OriginUrl, listen: &[SocketAddr]) -> bool {
    let OriginUrl::Tcp { host, port, .. } = url else { return false };
    let address = if &**host == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { host.parse().ok() };
    let Some(address): Option<IpAddr> = address else { return false };
    let is_here = |ip: IpAddr| ip == address || ip.is_unspecified() && address.is_loopback();
    listen.iter().any(|own| own.port() == *port && *port != 0 && is_here(own.ip()))
}

/// The state folder and the control socket.
fn state_and_control_paths(file: &mut ConfigFile, base: &Path, arguments: &Arguments) -> (PathBuf, PathBuf) {
    let state_dir = file.state_dir.take().map(|folder| base.join(folder));
    let state_dir = arguments.state_dir.clone().or(state_dir).unwrap_or_else(defaults::state_dir);
    let control = file.control.take().map(|socket| base.join(socket));
    let control = arguments.control.clone().or(control).unwrap_or_else(defaults::control);
    (state_dir, control)
}

fn duration(value: Option<DurationValue>, default: Duration) -> Duration {
    value.map_or(default, |value| value.0)
}

/// The admin listener shows who visits the site; off the loopback it needs a token.
fn admin(file: &ConfigFile, arguments: &Arguments, faults: &mut Faults<'_>) -> Option<SocketAddr> {
    let default = || defaults::ADMIN.parse().ok();
    let written = file.admin.as_ref().map(|value| value.as_ref().0);
    let address = arguments.admin.map(|value| value.0).or(written).unwrap_or_else(default)?;
    if !address.ip().is_loopback() && file.admin_token.is_none() {
        let message = format!(
            "the admin listener {address} can be reached from elsewhere, and no `admin_token` is set"
        );
        let hint = "set `admin_token` in a configuration file, or listen on 127.0.0.1";
        match &file.admin {
            Some(value) if arguments.admin.is_none() => faults.push(value.span(), message, hint),
            _ => faults.push_option(message, hint),
        }
    }
    if let Some(token) = file.admin_token.as_ref().filter(|token| token.as_ref().is_empty()) {
        faults.push(
            token.span(),
            "an empty `admin_token` lets nobody in",
            "write a secret, or remove the key",
        );
    }
    Some(address)
}

fn robots_max_size(file: &ConfigFile, faults: &mut Faults<'_>) -> usize {
    let Some(size) = &file.robots_max_size else {
        return usize::try_from(defaults::ROBOTS_MAX_SIZE).unwrap_or(usize::MAX);
    };
    if size.as_ref().0 < defaults::ROBOTS_MAX_SIZE {
        faults.push(
            size.span(),
            "`robots_max_size` is below 500KiB, which RFC 9309 §2.5 asks for at least",
            "write `500KiB` or more",
        );
    }
    usize::try_from(size.as_ref().0).unwrap_or(usize::MAX)
}

/// A read settles after `settle`, but never so late that the notice would be over first.
fn period(file: &ConfigFile, arguments: &Arguments) -> NoticePeriod {
    let notice = duration(arguments.notice.or(file.notice), defaults::NOTICE);
    NoticePeriod { notice, settle: duration(file.settle, defaults::SETTLE).min(notice / 10) }
}

/// What is read straight into the types of others, and checked here, so that one fault does not hide the rest.
fn check_ranges(file: &ConfigFile, faults: &mut Faults<'_>) {
    let places = KeyPlaces::of_text(faults.text);
    file.limits.check(&places, faults);
    if !file.log.has_known_level() {
        let message = format!("invalid level `{}` of the log", file.log.level.as_deref().unwrap_or_default());
        faults.push(places.of("log", "level"), message, "write off, error, warn, info, debug or trace");
    }
}

/// A journal that is rotated with every line, or into files without number, is none.
fn check_journal(file: &ConfigFile, faults: &mut Faults<'_>) {
    if let Some(size) = file.journal_max_size.as_ref().filter(|size| size.as_ref().0 < 1 << 10) {
        faults.push(size.span(), "`journal_max_size` is below 1KiB", "write `1KiB` or more");
    }
    if let Some(keep) = file.journal_keep.as_ref().filter(|keep| *keep.as_ref() > 1_000) {
        faults.push(keep.span(), "`journal_keep` is above 1000", "write a number from 0 to 1000");
    }
}

fn journal(file: &ConfigFile, arguments: &Arguments, state_dir: &Path) -> JournalOptions {
    let name = arguments.journal.as_deref().or(file.journal.as_deref());
    let target = match (name, &arguments.journal) {
        (Some("-"), _) => JournalTarget::Stdout,
        (Some(path), Some(_)) => JournalTarget::File(path.into()),
        (name, _) => JournalTarget::File(state_dir.join(name.unwrap_or(defaults::JOURNAL))),
    };
    JournalOptions {
        name: "journal",
        target,
        max_bytes: file.journal_max_size.as_ref().map_or(defaults::JOURNAL_MAX_SIZE, |size| size.as_ref().0),
        keep: file.journal_keep.as_ref().map_or(defaults::JOURNAL_KEEP, |keep| *keep.as_ref()),
        rate: file.journal_rate.map_or(Some(defaults::JOURNAL_RATE), |rate| rate.0),
    }
}

/// The store but for its place. Versions within notice must not be forgotten, so retention is never shorter.
fn store(file: &ConfigFile, period: NoticePeriod, faults: &mut Faults<'_>) -> StoreOptions {
    let retention = file.retention.as_ref().map_or(defaults::RETENTION, |value| value.as_ref().0);
    let max_bytes = file.store_max_size.as_ref().map_or(defaults::STORE_MAX_SIZE, |value| value.as_ref().0);
    if let Some(written) = file.retention.as_ref().filter(|_| retention < defaults::RETENTION_MIN) {
        faults.push(written.span(), "`retention` is below a day", "write `1d` or more");
    }
    if let Some(written) = file.store_max_size.as_ref().filter(|_| max_bytes < defaults::STORE_MAX_SIZE_MIN) {
        faults.push(written.span(), "`store_max_size` is below 16MiB", "write `16MiB` or more");
    }
    StoreOptions {
        path: STORE_FILE.into(),
        retention: retention.max(period.notice),
        max_bytes,
        is_shared: false,
    }
}

fn sites(
    file: &mut ConfigFile,
    base: &Path,
    arguments: &Arguments,
    (is_beside, listen): (bool, &[SocketAddr]),
    faults: &mut Faults<'_>,
) -> Vec<SiteConfig> {
    let tables = std::mem::take(&mut file.sites);
    check_hosts(&tables, faults);
    if !is_beside && arguments.origin.is_none() {
        authorize::require_origins(&tables, faults);
    }
    let mut sites: Vec<SiteConfig> = tables
        .into_iter()
        .filter_map(|table| {
            let table = table.into_inner();
            let place = table.origin.as_ref().map_or(0..0, Spanned::span);
            let site = SiteConfig::from_table(table, base, faults)?;
            if let Some(own) = site.origin.servers.iter().find(|server| is_own(&server.url, listen)) {
                let url = &own.url;
                let message =
                    format!("the origin {url} is the gateway itself: every request would come back to it");
                faults.push(place, message, "name the address where the site itself answers");
            }
            Some(site)
        })
        .collect();
    apply_options(&mut sites, arguments, is_beside, faults);
    if sites.is_empty() && faults.found.is_empty() {
        faults.push_whole(
            "no site: there is nothing to stand in front of",
            "give --origin http://127.0.0.1:3000, or a [[sites]] table in a configuration file, or try --demo",
        );
    }
    sites
}

/// Two sites may not claim one host, nor may two sites claim the rest.
fn check_hosts(tables: &[Spanned<super::file::SiteTable>], faults: &mut Faults<'_>) {
    let mut seen: HashMap<Option<HostPattern>, usize> = HashMap::new();
    for (index, table) in tables.iter().enumerate() {
        let hosts = &table.as_ref().hosts;
        if hosts.is_empty() && seen.insert(None, index).is_some() {
            faults.push(
                table.span(),
                "a second site without `hosts`",
                "only one site can be the default; give this one `hosts`",
            );
        }
        for host in hosts {
            let Ok(pattern) = host.as_ref().parse::<HostPattern>() else { continue };
            match seen.insert(Some(pattern), index) {
                Some(other) if other == index => {
                    faults.push(
                        host.span(),
                        format!("`{}` is listed twice", host.as_ref()),
                        "remove one of the two",
                    );
                }
                Some(_) => faults.push(
                    host.span(),
                    format!("`{}` belongs to another site already", host.as_ref()),
                    "a host belongs to one site; remove it from the other or from this one",
                ),
                None => {}
            }
        }
    }
}

/// `--origin` and `--robots` speak of the default site, or of the only one.
fn apply_options(
    sites: &mut Vec<SiteConfig>,
    arguments: &Arguments,
    is_beside: bool,
    faults: &mut Faults<'_>,
) {
    let origin = match arguments.origin.as_deref().map(str::parse::<OriginUrl>) {
        Some(Ok(url)) => Some(Origin::single(url)),
        Some(Err(error)) => {
            faults.found.push(ConfigError::whole(Path::new(""), format!("--origin: {error}")));
            return;
        }
        None => None,
    };
    let only = sites.len() == 1;
    let named = sites.iter_mut().find(|site| only || site.hosts.is_empty());
    match (named, origin, &arguments.robots) {
        (_, None, None) => {}
        (Some(site), origin, robots) => {
            if let Some(origin) = origin {
                site.origin = origin;
            }
            if let Some(robots) = robots {
                site.robots = RobotsConfig {
                    source: RobotsSource::File(robots.clone()),
                    ..std::mem::take(&mut site.robots)
                };
            }
        }
        (None, Some(origin), robots) => {
            let robots = robots.clone().map_or_else(RobotsConfig::of_origin, RobotsConfig::of_file);
            sites.push(SiteConfig::from_options(origin, robots));
        }
        (None, None, Some(robots)) if is_beside => {
            let robots = RobotsConfig::of_file(robots.clone());
            sites.push(SiteConfig::from_options(Origin::without_servers(), robots));
        }
        (None, None, Some(_)) => {
            faults.push_whole("--robots without an origin", "add --origin http://127.0.0.1:3000");
        }
    }
}
