//! The file as written, and the options, made into a [`Config`].

use super::alerts::AlertsConfig;
use super::arguments::Arguments;
use super::authorize;
use super::defaults;
use super::error::{ConfigErrors, Faults};
use super::file::ConfigFile;
use super::fleet;
use super::host_pattern::HostPattern;
use super::limits;
use super::listener::Listening;
use super::modes::NamedSettings;
use super::origin::Origin;
use super::origin_url::OriginUrl;
use super::public::PublicConfig;
use super::robots::RobotsSource;
use super::site::{SiteConfig, SiteTable};
use super::values::{DurationValue, NetworkValue, SizeValue};
use super::written::WrittenConfig;
use super::{Config, Forwarding};
use crate::decide::NoticePeriod;
use crate::enforce::Mode;
use crate::http::claims::{FieldChoices, FieldPattern};
use crate::record::{AccessLogOptions, JournalOptions, JournalTarget, STORE_FILE, StoreOptions};
use crate::request::address::NetworkList;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toml::Spanned;

pub(super) fn build(
    path: Option<&Path>,
    text: &str,
    mut file: ConfigFile,
    arguments: &Arguments,
) -> Result<Config, ConfigErrors> {
    let mut faults = Faults::new(path.unwrap_or_else(|| Path::new("")), text);
    let base = path.and_then(Path::parent).unwrap_or_else(|| Path::new(""));
    let Listening { listen, listeners, authorize, certificates } =
        Listening::build(&mut file, base, arguments, &mut faults);
    let admin = admin(&file, arguments, &mut faults);
    let threads = limits::threads(file.threads, arguments, &mut faults);
    check_sizes(&file, &mut faults);
    let period = period(&file, arguments);
    let alerts = file.alerts.take().map(|alerts: AlertsConfig| alerts.checked(base, &mut faults));
    let public = file.public.take().map(|public: PublicConfig| public.checked(base, &mut faults));
    let fleet = file.fleet.take().map(|table| fleet::build(table, base, &mut faults));
    let NamedSettings { purposes, crawlers, rates } = NamedSettings::of(&file, &mut faults);
    let verify = std::mem::take(&mut file.verify).build(base, &mut faults);
    let sites = sites(&mut file, base, arguments, (authorize.is_some(), &listen), &mut faults);
    let fields = field_choices(&file, &mut faults);
    file.limits.check(&mut faults);
    check_log(&file, &mut faults);
    let (state_dir, control) = state_and_control_paths(&mut file, base, arguments, &mut faults);
    faults.none()?;
    let journal = journal(&file, arguments, &state_dir);
    Ok(Config {
        path: path.map(Path::to_owned),
        written: WrittenConfig::default(),
        listen,
        listeners,
        certificates,
        authorize,
        mode: arguments.mode.or(file.mode).unwrap_or(Mode::Audit),
        period,
        access_log: access_log(&file, &journal, &state_dir),
        journal,
        store: store(&file, period, &state_dir, fleet.is_some()),
        alerts,
        public,
        fleet,
        control,
        state_dir,
        admin,
        admin_token: file.admin_token,
        threads,
        trusted_proxies: networks(file.trusted_proxies.iter().chain(&arguments.trusted_proxy)),
        // RFC 9110 §7.6.3: a gateway has to say that a request came through it.
        forwarding: Forwarding { field: file.forwarded_header, via: file.via.unwrap_or(true) },
        fields,
        content_usage: file.content_usage,
        exempt: networks(&file.exempt),
        addresses: file.addresses,
        log_allowed: file.log_allowed,
        verdict_headers: file.verdict_headers,
        robots_max_age: duration(file.robots_max_age, defaults::ROBOTS_MAX_AGE),
        robots_max_size: file.robots_max_size.unwrap_or(SizeValue(defaults::ROBOTS_MAX_SIZE)).into(),
        catalogue: file.catalogue.map(|catalogue| base.join(catalogue)),
        grace: duration(file.grace, defaults::GRACE),
        log: file.log,
        timeouts: Arc::new(file.timeouts),
        limits: file.limits,
        verify,
        clients: file.clients,
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
fn state_and_control_paths(
    file: &mut ConfigFile,
    base: &Path,
    arguments: &Arguments,
    faults: &mut Faults<'_>,
) -> (PathBuf, PathBuf) {
    let state_dir = file.state_dir.take().map(|folder| base.join(folder));
    let state_dir = arguments.state_dir.clone().or(state_dir).map_or_else(defaults::state_dir, Ok);
    let state_dir = state_dir.unwrap_or_else(|error| {
        faults.push_whole(error.to_string(), "name a folder with `state_dir` or --state-dir");
        PathBuf::new()
    });
    let control = file.control.take().map(|socket| base.join(socket));
    let control = arguments.control.clone().or(control).map_or_else(defaults::control, Ok);
    let control = control.unwrap_or_else(|_| state_dir.join("control.sock"));
    (state_dir, control)
}

fn duration(value: Option<DurationValue>, default: Duration) -> Duration {
    value.map_or(default, |value| value.0)
}

fn networks<'v>(values: impl IntoIterator<Item = &'v NetworkValue>) -> NetworkList {
    values.into_iter().map(|value| value.0).collect()
}

fn field_choices(file: &ConfigFile, faults: &mut Faults<'_>) -> FieldChoices {
    let removed = faults.values_or_faults(&file.remove_fields, FieldPattern::to_remove);
    let kept = faults.values_or_faults(&file.keep_fields, FieldPattern::to_keep);
    let all = |patterns: Option<Vec<FieldPattern>>| patterns.unwrap_or_default().into_iter().collect();
    FieldChoices { removed: all(removed), kept: all(kept) }
}

fn check_log(file: &ConfigFile, faults: &mut Faults<'_>) {
    let message = format!("invalid level `{}` of the log", file.log.level.as_deref().unwrap_or_default());
    let hint = "write off, error, warn, info, debug or trace";
    faults.require(file.log.has_known_level(), "log.level", message, hint);
}

/// The admin listener shows who visits the site; off the loopback it needs a token.
fn admin(file: &ConfigFile, arguments: &Arguments, faults: &mut Faults<'_>) -> Option<SocketAddr> {
    let written = arguments.admin.or(file.admin).map(|value| value.0);
    let address = written.unwrap_or_else(|| defaults::ADMIN.parse().ok())?;
    if !address.ip().is_loopback() && file.admin_token.is_none() {
        let message = format!(
            "the admin listener {address} can be reached from elsewhere, and no `admin_token` is set"
        );
        let hint = "set `admin_token` in a configuration file, or listen on 127.0.0.1";
        faults.push_at(arguments.admin.is_none().then_some("admin"), message, hint);
    }
    faults.require(
        file.admin_token.as_ref().is_none_or(|token| !token.is_empty()),
        "admin_token",
        "an empty `admin_token` lets nobody in",
        "write a secret, or remove the key",
    );
    Some(address)
}

/// A read settles after `settle`, but never so late that the notice would be over first.
fn period(file: &ConfigFile, arguments: &Arguments) -> NoticePeriod {
    let notice = duration(arguments.notice.or(file.notice), defaults::NOTICE);
    NoticePeriod { notice, settle: duration(file.settle, defaults::SETTLE).min(notice / 10) }
}

/// The store. Versions within notice must not be forgotten, so retention is never shorter.
fn store(file: &ConfigFile, period: NoticePeriod, state_dir: &Path, is_shared: bool) -> StoreOptions {
    StoreOptions {
        path: state_dir.join(STORE_FILE),
        retention: duration(file.retention, defaults::RETENTION).max(period.notice),
        max_bytes: file.store_max_size.map_or(defaults::STORE_MAX_SIZE, |size| size.0),
        is_shared,
    }
}

/// How large and how old files may at least become. A journal that is rotated with every line, or into files without
/// number, is none.
fn check_sizes(file: &ConfigFile, faults: &mut Faults<'_>) {
    let (robots, store) = (defaults::ROBOTS_MAX_SIZE, defaults::STORE_MAX_SIZE_MIN);
    let asked = "is below 500KiB, which RFC 9309 §2.5 asks for at least";
    for (key, size, least, what, hint) in [
        ("robots_max_size", file.robots_max_size, robots, asked, "write `500KiB` or more"),
        ("store_max_size", file.store_max_size, store, "is below 16MiB", "write `16MiB` or more"),
        ("journal_max_size", file.journal_max_size, 1 << 10, "is below 1KiB", "write `1KiB` or more"),
    ] {
        faults.require(size.is_none_or(|size| size.0 >= least), key, format!("`{key}` {what}"), hint);
    }
    let is_long = file.retention.is_none_or(|retention| retention.0 >= defaults::RETENTION_MIN);
    faults.require(is_long, "retention", "`retention` is below a day", "write `1d` or more");
    let is_few = file.journal_keep.is_none_or(|keep| keep <= 1_000);
    faults.require(is_few, "journal_keep", "`journal_keep` is above 1000", "write a number from 0 to 1000");
}

/// Where a journal of this name goes: `-` is standard output.
fn target(name: &str, folder: &Path) -> JournalTarget {
    if name == "-" { JournalTarget::Stdout } else { JournalTarget::File(folder.join(name)) }
}

fn journal(file: &ConfigFile, arguments: &Arguments, state_dir: &Path) -> JournalOptions {
    let target = match (&arguments.journal, &file.journal) {
        (Some(name), _) => target(name, Path::new("")),
        (None, name) => target(name.as_deref().unwrap_or(defaults::JOURNAL), state_dir),
    };
    JournalOptions {
        name: "journal",
        target,
        max_bytes: file.journal_max_size.map_or(defaults::JOURNAL_MAX_SIZE, |size| size.0),
        keep: file.journal_keep.unwrap_or(defaults::JOURNAL_KEEP),
        rate: file.journal_rate.map_or(Some(defaults::JOURNAL_RATE), |rate| rate.0),
    }
}

/// The access log, which is rotated as the journal is.
fn access_log(file: &ConfigFile, journal: &JournalOptions, state_dir: &Path) -> Option<AccessLogOptions> {
    let target = target(file.access_log.as_deref()?, state_dir);
    let file_options = JournalOptions { name: "access log", target, rate: None, ..*journal };
    Some(AccessLogOptions { file: file_options, format: file.access_log_format })
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
    if sites.is_empty() && faults.is_empty() {
        faults.push_whole(
            "no site: there is nothing to stand in front of",
            "give --origin http://127.0.0.1:3000, or a [[sites]] table in a configuration file, or try --demo",
        );
    }
    sites
}

/// Two sites may not claim one host, nor may two sites claim the rest.
fn check_hosts(tables: &[Spanned<SiteTable>], faults: &mut Faults<'_>) {
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
            let (what, hint) = match seen.insert(Some(pattern), index) {
                None => continue,
                Some(other) if other == index => ("is listed twice", "remove one of the two"),
                Some(_) => (
                    "belongs to another site already",
                    "a host belongs to one site; remove it from the other or from this one",
                ),
            };
            faults.push(host.span(), format!("`{}` {what}", host.as_ref()), hint);
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
    let origin = match arguments.origin.as_deref().map(str::parse::<OriginUrl>).transpose() {
        Ok(url) => url.map(Origin::single),
        Err(error) => {
            return faults.push_option(format!("--origin: {error}"));
        }
    };
    if origin.is_none() && arguments.robots.is_none() {
        return;
    }
    let only = sites.len() == 1;
    if !sites.iter().any(|site| only || site.hosts.is_empty()) {
        if origin.is_none() && !is_beside {
            return faults.push_whole("--robots without an origin", "add --origin http://127.0.0.1:3000");
        }
        sites.push(SiteConfig::of_origin(Origin::default()));
    }
    let Some(site) = sites.iter_mut().find(|site| only || site.hosts.is_empty()) else { return };
    site.origin = origin.unwrap_or_else(|| site.origin.clone());
    if let Some(robots) = &arguments.robots {
        site.robots.source = RobotsSource::File(robots.clone());
    }
}
