//! What several keys say together: what follows from it is filled in, and what contradicts itself is told.

use super::arguments::Arguments;
use super::faults::Faults;
use super::origin::{OriginServer, OriginUrl};
use super::site::HostPattern;
use super::values::{DurationValue, ListenValue};
use super::{Config, defaults, listener, modes};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};

impl Config {
    /// Fills in what follows from several keys, and tells what contradicts itself.
    pub(super) fn complete(&mut self, arguments: &Arguments, faults: &mut Faults<'_>) {
        for (at, site) in self.sites.iter_mut().enumerate() {
            site.complete(&format!("sites.{at}"), faults);
        }
        self.overlay(arguments, faults);
        if self.state_dir.as_os_str().is_empty() {
            self.state_dir = defaults::state_dir().unwrap_or_default();
            let hint = "name a folder with `state_dir` or --state-dir";
            faults.require(!self.state_dir.as_os_str().is_empty(), "", defaults::NO_HOME, hint);
        }
        if self.control.as_os_str().is_empty() {
            self.control = defaults::control().unwrap_or_else(|| self.state_dir.join("control.sock"));
        }
        // Where `[[listeners]]` say where to listen, nothing is added that nobody asked for; nor where only other proxies ask:
        // `listen` is empty, or no site has an origin.
        let has_origin = self.sites.iter().any(|site| !site.origin.servers.is_empty());
        let is_beside_only = self.authorize.is_some() && (faults.has("listen") || !has_origin);
        if self.listen.is_empty() && self.listeners.is_empty() && !is_beside_only {
            // Loopback: a gateway started to be tried out is not on the internet by accident.
            self.listen.push(ListenValue((Ipv4Addr::LOCALHOST, 8080).into()));
        }
        modes::complete(self, faults);
        self.check_sites(arguments, faults);
        listener::check_listeners(self, faults);
    }

    /// What can be told whatever else is wrong.
    pub(super) fn check_tables(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        // The admin listener shows who visits the site; off the loopback it needs a token.
        let is_open = self.admin_token.is_none() && !faults.has("admin_token");
        if let Some(address) = self.admin.filter(|address| is_open && !address.ip().is_loopback()) {
            let message = format!(
                "the admin listener {address} can be reached from elsewhere, and no `admin_token` is set"
            );
            let hint = "set `admin_token` in a configuration file, or listen on 127.0.0.1";
            faults.push(if arguments.admin.is_some() { "--admin" } else { "admin" }, message, hint);
        }
        let is_secret = self.admin_token.as_ref().is_none_or(|token| !token.is_empty());
        let message = "an empty `admin_token` lets nobody in";
        faults.require(is_secret, "admin_token", message, "write a secret, or remove the key");
        self.check_bounds(faults);
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

    /// Two sites may not claim one host, nor may two sites claim the rest. A site needs an origin, which is not the gateway.
    fn check_sites(&self, arguments: &Arguments, faults: &mut Faults<'_>) {
        let mut seen: HashMap<Option<&HostPattern>, usize> = HashMap::new();
        let needs_origin = self.authorize.is_none() && arguments.origin.is_none();
        for (index, site) in self.sites.iter().enumerate() {
            let (key, servers) = (format!("sites.{index}"), &site.origin.servers);
            let is_only = !site.hosts.is_empty() || seen.insert(None, index).is_none();
            let hint = "only one site can be the default; give this one `hosts`";
            faults.require(is_only, &key, "a second site without `hosts`", hint);
            for (at, host) in site.hosts.iter().enumerate() {
                let elsewhere = "a host belongs to one site; remove it from the other or from this one";
                let (what, hint) = match seen.insert(Some(host), index) {
                    None => continue,
                    Some(other) if other == index => ("is listed twice", "remove one of the two"),
                    Some(_) => ("belongs to another site already", elsewhere),
                };
                faults.push(&format!("{key}.hosts.{at}"), format!("`{host}` {what}"), hint);
            }
            let has_origin = !servers.is_empty() || faults.has(&format!("{key}.origin"));
            let hint = "write origin = \"http://127.0.0.1:3000\"; only beside another proxy, with [authorize], a site needs none";
            faults.require(has_origin || !needs_origin, &key, "missing field `origin`", hint);
            if let Some(OriginServer { url, .. }) = servers.iter().find(|own| is_own(&own.url, &self.listen))
            {
                let message =
                    format!("the origin {url} is the gateway itself: every request would come back to it");
                let hint = "name the address where the site itself answers";
                faults.push(&format!("{key}.origin"), message, hint);
            }
        }
        if self.sites.is_empty() && faults.found.is_empty() {
            let hint = "give --origin http://127.0.0.1:3000, or a [[sites]] table in a configuration file, or try --demo";
            faults.push("", "no site is configured", hint);
        }
    }

    /// A journal that is rotated with every line, or into files without number, is none. Browsers send about twenty fields,
    /// and their heads with cookies fit into 4 KiB: less would refuse people. The most bounds what one head may take of
    /// memory and time. A page for everybody takes reading all counts that are kept. A lease that is shorter would run out in
    /// the time that a database takes to start again. Sizes are in bytes, and times in milliseconds.
    fn check_bounds(&self, faults: &mut Faults<'_>) {
        let (limits, verify) = (&self.limits, &self.verify);
        let (some, any) = ("a number from 1 to 1000000", "a number from 1 to 4294967295");
        let (some, any, end) = ((1, 1_000_000, some), (1, u32::MAX.into(), any), u128::MAX);
        let time = |time: Option<DurationValue>| time.map_or(end, |time| time.as_millis());
        let head = (4 << 10, 1 << 20, "a size from `4KiB` to `1MiB`");
        let file = (500 << 10, end, "`500KiB` or more (RFC 9309 §2.5)");
        let hour = (3_600_000, end, "`1h` or more, or `off`");
        let brief = "a time from `1ms` to `1m`; to ask no name server, write `dns = false`";
        for (key, value, (least, most, fit)) in [
            ("limits.connections", limits.connections as u128, some),
            ("limits.connections_per_address", limits.connections_per_address as u128, some),
            ("limits.requests_per_connection", limits.requests_per_connection.into(), any),
            ("limits.header_size", *limits.header_size as u128, head),
            ("limits.header_fields", limits.header_fields as u128, (32, 10_000, "a number from 32 to 10000")),
            ("limits.h2_streams", limits.h2_streams.into(), any),
            ("limits.h2_requests", limits.h2_requests as u128, some),
            ("limits.h2_requests_per_address", limits.h2_requests_per_address as u128, some),
            ("limits.h2_resets", limits.h2_resets.into(), any),
            ("limits.h2_control_frames", limits.h2_control_frames.into(), any),
            ("journal_keep", self.journal_keep as u128, (0, 1_000, "a number from 0 to 1000")),
            ("threads", self.threads as u128, (1, 1_024, "a number from 1 to 1024")),
            ("robots_max_size", *self.robots_max_size as u128, file),
            ("store_max_size", (*self.store_max_size).into(), (16 << 20, end, "`16MiB` or more")),
            ("journal_max_size", (*self.journal_max_size).into(), (1 << 10, end, "`1KiB` or more")),
            ("retention", time(Some(self.retention)), (24 * 3_600_000, end, "`1d` or more")),
            ("catalogue.every", time(Some(self.catalogue.every)), (60_000, end, "`1m` or more")),
            ("alerts.every", time(self.alerts.as_ref().map(|to| to.every)), (1_000, end, "`1s` or more")),
            ("public.every", time(self.public.as_ref().map(|to| to.every)), (60_000, end, "`1m` or more")),
            ("verify.refresh", time(verify.refresh.map(DurationValue)), hour),
            ("verify.timeout", time(Some(verify.timeout)), (1, 60_000, brief)),
            ("fleet.lease", time(self.fleet.as_ref().map(|own| own.lease)), (10_000, end, "`10s` or more")),
        ] {
            faults.within(key, value, &(least..=most), fit);
        }
    }
}

/// Whether an origin is where the gateway itself listens, as far as its URL says so.
fn is_own(url: &OriginUrl, listen: &[ListenValue]) -> bool {
    let OriginUrl::Tcp { host, port, .. } = url else { return false };
    let host = if **host == *"localhost" { "127.0.0.1" } else { host };
    let Ok(address) = host.parse::<IpAddr>() else { return false };
    let is_here = |ip: IpAddr| ip == address || ip.is_unspecified() && address.is_loopback();
    listen.iter().any(|own| own.port() == *port && *port != 0 && is_here(own.ip()))
}
