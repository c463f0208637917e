//! What several keys say together: what follows from it is filled in, and what contradicts itself is told.

use super::arguments::Arguments;
use super::faults::Faults;
use super::host_pattern::HostPattern;
use super::origin::{OriginServer, OriginUrl};
use super::{Config, defaults, listener, modes};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

impl Config {
    pub(super) fn complete(&mut self, arguments: &Arguments, faults: &mut Faults<'_>) {
        self.complete_folders(faults);
        self.complete_listen(faults);
        modes::complete(self, faults);
        self.check_sites(arguments, faults);
        listener::check(self, faults);
    }

    /// What can be told whatever else is wrong.
    pub(super) fn check_tables(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        self.check_admin(arguments, faults);
        self.check_numbers(faults);
        self.check_times(faults);
        self.catalogue.check(faults);
        self.fleet.iter().for_each(|fleet| fleet.check(faults));
        for (at, exception) in self.exempt.iter().enumerate() {
            let message = "an exception without `address` exempts everybody";
            let hint = "write `address`, or `mode = \"off\"` if nobody is to be judged";
            faults.require(exception.address.is_some(), &format!("exempt.{at}"), message, hint);
        }
        let level = self.log.level.as_deref().unwrap_or_default();
        let message = format!("invalid level `{level}` of the log");
        let hint = "write off, error, warn, info, debug or trace";
        faults.require(self.log.has_known_level(), "log.level", message, hint);
    }

    /// The state folder and the control socket, where nobody named them.
    fn complete_folders(&mut self, faults: &mut Faults<'_>) {
        if self.state_dir.as_os_str().is_empty() {
            self.state_dir = defaults::state_dir().unwrap_or_else(|| {
                faults.push_whole(defaults::NO_HOME, "name a folder with `state_dir` or --state-dir");
                PathBuf::new()
            });
        }
        if self.control.as_os_str().is_empty() {
            self.control = defaults::control().unwrap_or_else(|| self.state_dir.join("control.sock"));
        }
    }

    /// Where `[[listeners]]` say where to listen, nothing is added that nobody asked for; nor where only other proxies ask:
    /// `listen` is empty, or no site has an origin.
    fn complete_listen(&mut self, faults: &Faults<'_>) {
        let has_origin = self.sites.iter().any(|site| !site.origin.servers.is_empty());
        let is_beside_only = self.authorize.is_some() && (faults.has("listen") || !has_origin);
        if self.listen.is_empty() && self.listeners.is_empty() && !is_beside_only {
            // Loopback: a gateway started to be tried out is not on the internet by accident.
            self.listen.push((Ipv4Addr::LOCALHOST, 8080).into());
        }
    }

    fn check_sites(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        self.check_hosts(faults);
        for (at, site) in self.sites.iter().enumerate() {
            let (key, servers) = (format!("sites.{at}"), &site.origin.servers);
            let needs_origin = self.authorize.is_none() && arguments.origin.is_none();
            let has_origin = !servers.is_empty() || faults.has(&format!("{key}.origin"));
            let hint = "write origin = \"http://127.0.0.1:3000\"; only beside another proxy, with [authorize], a site needs none";
            faults.require(has_origin || !needs_origin, &key, "missing field `origin`", hint);
            if let Some(OriginServer { url, .. }) = servers.iter().find(|own| is_own(&own.url, &self.listen))
            {
                let message =
                    format!("the origin {url} is the gateway itself: every request would come back to it");
                let hint = "name the address where the site itself answers";
                faults.push_at(Some(&format!("{key}.origin")), message, hint);
            }
        }
        if self.sites.is_empty() && faults.is_empty() {
            let hint = "give --origin http://127.0.0.1:3000, or a [[sites]] table in a configuration file, or try --demo";
            faults.push_whole("no site is configured", hint);
        }
    }

    /// Two sites may not claim one host, nor may two sites claim the rest.
    fn check_hosts(&self, faults: &mut Faults<'_>) {
        let mut seen: HashMap<Option<&HostPattern>, usize> = HashMap::new();
        for (index, site) in self.sites.iter().enumerate() {
            let is_only = !site.hosts.is_empty() || seen.insert(None, index).is_none();
            let hint = "only one site can be the default; give this one `hosts`";
            faults.require(is_only, &format!("sites.{index}"), "a second site without `hosts`", hint);
            for (at, host) in site.hosts.iter().enumerate() {
                let elsewhere = "a host belongs to one site; remove it from the other or from this one";
                let (what, hint) = match seen.insert(Some(host), index) {
                    None => continue,
                    Some(other) if other == index => ("is listed twice", "remove one of the two"),
                    Some(_) => ("belongs to another site already", elsewhere),
                };
                faults.push_at(Some(&format!("sites.{index}.hosts.{at}")), format!("`{host}` {what}"), hint);
            }
        }
    }

    /// The admin listener shows who visits the site; off the loopback it needs a token.
    fn check_admin(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        let is_open = self.admin_token.is_none() && !faults.has("admin_token");
        if let Some(address) = self.admin.filter(|address| is_open && !address.ip().is_loopback()) {
            let message = format!(
                "the admin listener {address} can be reached from elsewhere, and no `admin_token` is set"
            );
            let hint = "set `admin_token` in a configuration file, or listen on 127.0.0.1";
            faults.push_at(arguments.admin.is_none().then_some("admin"), message, hint);
        }
        let is_secret = self.admin_token.as_ref().is_none_or(|token| !token.is_empty());
        let message = "an empty `admin_token` lets nobody in";
        faults.require(is_secret, "admin_token", message, "write a secret, or remove the key");
    }

    /// A journal that is rotated with every line, or into files without number, is none. Browsers send about twenty fields,
    /// and their heads with cookies fit into 4 KiB: less would refuse people. The most bounds what one head may take of
    /// memory and time.
    fn check_numbers(&self, faults: &mut Faults<'_>) {
        let (limits, most) = (&self.limits, u32::MAX as usize);
        for (key, number, range) in [
            ("limits.connections", limits.connections, 1..=1_000_000),
            ("limits.connections_per_address", limits.connections_per_address, 1..=1_000_000),
            ("limits.requests_per_connection", limits.requests_per_connection as usize, 1..=most),
            ("limits.header_fields", limits.header_fields, 32..=10_000),
            ("limits.h2_streams", limits.h2_streams as usize, 1..=most),
            ("limits.h2_requests", limits.h2_requests, 1..=1_000_000),
            ("limits.h2_requests_per_address", limits.h2_requests_per_address, 1..=1_000_000),
            ("limits.h2_resets", limits.h2_resets as usize, 1..=most),
            ("limits.h2_control_frames", limits.h2_control_frames as usize, 1..=most),
            ("journal_keep", self.journal_keep, 0..=1_000),
            ("threads", self.threads, 1..=1_024),
        ] {
            let fit = format!("a number from {} to {}", range.start(), range.end());
            faults.within(key, &number, range, &fit);
        }
        for (key, size, least, fit) in [
            ("robots_max_size", self.robots_max_size as u64, 500 << 10, "`500KiB` or more (RFC 9309 §2.5)"),
            ("store_max_size", self.store_max_size, 16 << 20, "`16MiB` or more"),
            ("journal_max_size", self.journal_max_size, 1 << 10, "`1KiB` or more"),
        ] {
            faults.within(key, &size, least.., fit);
        }
        let fit = "a size from `4KiB` to `1MiB`";
        faults.within("limits.header_size", &limits.header_size, 4 << 10..=1 << 20, fit);
    }

    /// A page for everybody takes reading all counts that are kept. A lease that is shorter would run out in the time that
    /// a database takes to start again.
    fn check_times(&self, faults: &mut Faults<'_>) {
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        for (key, time, least, fit) in [
            ("retention", Some(self.retention), 24 * 60 * minute, "`1d` or more"),
            ("catalogue.every", Some(self.catalogue.every), minute, "`1m` or more"),
            ("alerts.every", self.alerts.as_ref().map(|alerts| alerts.every), second, "`1s` or more"),
            ("public.every", self.public.as_ref().map(|public| public.every), minute, "`1m` or more"),
            ("verify.refresh", self.verify.refresh, 60 * minute, "`1h` or more, or `off`"),
            ("fleet.lease", self.fleet.as_ref().map(|fleet| fleet.lease), 10 * second, "`10s` or more"),
        ] {
            if let Some(time) = time {
                faults.within(key, &time, least.., fit);
            }
        }
        let fit = "a time from `1ms` to `1m`; to ask no name server, write `dns = false`";
        faults.within("verify.timeout", &self.verify.timeout, Duration::from_millis(1)..=minute, fit);
    }
}

/// Whether an origin is where the gateway itself listens, as far as its URL says so.
fn is_own(url: &OriginUrl, listen: &[SocketAddr]) -> bool {
    let OriginUrl::Tcp { host, port, .. } = url else { return false };
    let address = if &**host == "localhost" { Some(Ipv4Addr::LOCALHOST.into()) } else { host.parse().ok() };
    let Some(address): Option<IpAddr> = address else { return false };
    let is_here = |ip: IpAddr| ip == address || ip.is_unspecified() && address.is_loopback();
    listen.iter().any(|own| own.port() == *port && *port != 0 && is_here(own.ip()))
}
