//! `gatewayctl check`: loads everything as the daemon would, and prints every error and finding.

use super::args::CheckArgs;
use super::excerpt::Excerpt;
use super::lint::{FileFinding, FileFindings, report};
use super::{Cli, Output, VerbResult, origin_copy, which_config};
use crate::config::{ConfigError, ConfigErrors, HostPattern, MOST_BYTES, reading, showable, www_sibling};
use crate::control::RobotsTxtSeen;
use crate::enforce::{Mode, RefusalPolicy};
use crate::fleet;
use crate::policy::{self, COPIES, Policy, Site};
use crate::record::stand_in_advice;
use crate::report::amount;
use crate::robots::Severity;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &CheckArgs, output: &mut Output<'_>) -> VerbResult {
    let path = cli.needed_config_file()?;
    let loaded = which_config::load(cli, Some(path.clone()))
        .and_then(|config| policy::check(config, SystemTime::now()));
    let mut found = FileFindings::of(&path);
    match &loaded {
        Ok(policy) => {
            of_configuration(&mut found, policy, arguments.offline);
            for site in policy.sites() {
                of_site(&mut found, policy, site, arguments.offline);
            }
            of_doors(&mut found, policy);
            if !arguments.offline {
                seen(cli, &mut found);
            }
        }
        Err(ConfigErrors(errors)) => {
            found.all.extend(errors.iter().map(|error| told(error, Severity::Error, "configuration")));
        }
    }
    let outcome = report(&found.all, arguments.deny.is_some(), output)?;
    if let Ok(policy) = &loaded
        && !output.is_json()
    {
        let sites = amount(policy.sites().len() as u64, "site", "sites");
        output.line(format!("{}: the gateway would load it, with {sites}", path.display()))?;
    }
    Ok(outcome)
}

/// What a gateway that runs has seen of who comes, and through what; nothing where none runs.
pub(super) fn seen(cli: &Cli, found: &mut FileFindings<'_>) {
    let Ok(running) = cli.status() else { return };
    for (site, name) in running.sites.iter().filter_map(|site| Some((&site.site, site.stand_in.as_deref()?)))
    {
        let hint = "for CloudFront that is an origin request policy with the header User-Agent; docs/behind-cdn.md says more";
        found.add(Severity::Warning, "stand-in", stand_in_advice(site, name), hint);
    }
    // Whether /robots.txt came through the other proxy lately.
    for RobotsTxtSeen { hosts, seconds_ago, .. } in
        running.authorize.iter().flat_map(|doors| &doors.robots_txt)
    {
        if let Some(ago) = seconds_ago {
            let message =
                format!("/robots.txt of `{hosts}` arrives through the other proxy: last {ago} s ago");
            found.add(Severity::Note, "robots-arrives", message, "this is right");
        } else {
            let message = format!(
                "/robots.txt of `{hosts}` has not arrived through the other proxy within 24 h, so no violations are \
                 counted and nothing is refused"
            );
            let hint = "have the proxy pass /robots.txt on to the listener of [authorize], and ask the proxy for that file once";
            found.add(Severity::Warning, "robots-elsewhere", message, hint);
        }
    }
}

fn told(error: &ConfigError, severity: Severity, code: &'static str) -> FileFinding {
    let (path, excerpt) = (error.path.display().to_string(), excerpt(error));
    let ConfigError { line, column, message, hint, .. } = error.clone();
    FileFinding { path, line, column, severity, code, message, hint, excerpt }
}

/// The line of an error, where its file can still be read and the line may be shown.
fn excerpt(error: &ConfigError) -> Option<Excerpt> {
    let (line, column) = error.line.zip(error.column)?;
    let file = reading::read(&error.path, MOST_BYTES).ok()?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let line = text.lines().nth(line.checked_sub(1)?).unwrap_or_default();
    let at = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
    showable(text, line, at).map(|shown| Excerpt::new(shown.as_bytes(), at + 1, 1))
}

fn of_configuration(found: &mut FileFindings<'_>, policy: &Policy, offline: bool) {
    let (config, now) = (&policy.config, SystemTime::now());
    if *config.robots_max_age > *config.notice {
        let message = "`robots_max_age` is longer than `notice`: a crawler may still hold a replaced file when that file no longer excuses it";
        found.add(Severity::Warning, "max-age", message, "make `notice` at least as long");
    }
    let catalogue = policy.identifier.catalogue();
    for name in config.crawlers.keys().filter(|name| catalogue.get(name).is_none()) {
        let message = format!("`[crawlers.{name}]`: the catalogue knows no crawler of this name");
        let hint = match catalogue.alike(name) {
            Some(meant) => {
                format!("did you mean `{meant}`? What is set applies to a client that calls itself `{name}`")
            }
            None => "what is set applies to a client that calls itself by this name; check the spelling"
                .to_owned(),
        };
        found.add(Severity::Warning, "unknown-crawler", message, hint);
    }
    for message in policy.ending_exceptions(now) {
        found.add(Severity::Warning, "exception", message, "remove it, or write a later `until`");
    }
    for error in config.fleet.iter().flat_map(fleet::faults) {
        let hint = "until this works, the gateway stays apart from its fleet";
        found.add(Severity::Warning, "fleet", error.to_string(), hint);
    }
    let ranges = policy.evidence.faults.iter();
    found.all.extend(ranges.map(|fault| told(fault, Severity::Warning, "address-ranges")));
    if let Some(stale) = policy.stale_catalogue(now) {
        found.add(Severity::Note, "stale-catalogue", stale, "install a newer version");
    }
    if !offline && let Some(doubt) = policy::name_server_doubt(config) {
        found.add(Severity::Note, "name-servers", doubt, "or write `dns = false` under [verify]");
    }
    // Certificates that run out, or have.
    for shown in &policy.certificates.shown {
        let Some(trouble) = shown.validity.and_then(|validity| validity.trouble(now)) else { continue };
        let mut of_file = FileFindings::of(&shown.config.certificate);
        let hint = "renew it; the gateway shows a renewed pair from the next handshake on";
        of_file.add(Severity::Warning, "certificate", format!("the certificate {trouble}"), hint);
        found.all.append(&mut of_file.all);
    }
    // Crawlers that sign by the same keys: behind a browser's header nothing tells them apart.
    for directory in &policy.evidence.directories {
        let [first, others @ ..] = &directory.crawlers[..] else { continue };
        if !others.is_empty() {
            let message = format!(
                "`{first}` and `{}` have the same `signature_agent`: what is signed behind a browser's header is taken for `{first}`",
                others.join("`, `")
            );
            let hint = "write `signature_agent = \"\"` for those that do not sign";
            found.add(Severity::Note, "same-signature-agent", message, hint);
        }
    }
}

fn of_site(found: &mut FileFindings<'_>, policy: &Policy, site: &Site, offline: bool) {
    of_refusals(found, site);
    // Names of the site that are nobody's, though most visitors take them for the same: with `www.`, or without.
    for host in site.config.hosts.iter().filter_map(HostPattern::exact) {
        let Some(other) = www_sibling(host).filter(|other| policy.site(other).is_none()) else { continue };
        let is_in_front = policy.config.all_listeners().any(|listener| !listener.is_for_proxies);
        let what = match (&policy.config.authorize, is_in_front) {
            (None, _) => "are answered 421",
            (Some(_), true) => "are answered 421, and pass where another proxy asks",
            (Some(_), false) => "pass unjudged",
        };
        let message = format!("`{host}` belongs to a site, but `{other}` does not: requests for it {what}");
        let hint = format!("add \"{other}\" to its `hosts`, if the site has that name too");
        // It may well be meant: not every name exists.
        found.add(Severity::Note, "host", message, hint);
    }
    found.all.extend(site.findings.iter().map(|finding| {
        // At its place in the part of the file that it stands in.
        let (path, line) = site.place_of(finding);
        FileFinding { line: line.map(|line| line as usize), ..FileFinding::of(path, finding) }
    }));
    if !offline {
        origin_copy::compare(found, site);
        if policy.config.via {
            origin_copy::compare_compression(found, site);
        }
    }
}

/// What Google makes of a refusal, where the site refuses anybody, or would with another status than is usual.
fn of_refusals(found: &mut FileFindings<'_>, site: &Site) {
    let refuses = site.modes.0.iter().any(|one| one.mode == Mode::Enforce);
    let (name, status) = (&site.config.name, site.config.refusal.status);
    if !refuses && status == RefusalPolicy::default().status {
        return;
    }
    if status == 429 {
        let message = format!("site `{name}`: refusing with 429 has Google crawl the whole site more slowly");
        return found.add(
            Severity::Warning,
            "refusal-status",
            message,
            "403 says that this page alone is meant",
        );
    }
    let message = format!(
        "site `{name}`: refusing with {status} has Google drop the page from its index, as every 4xx but 429 does"
    );
    let hint = "Google does not ask for what robots.txt disallows for it, unless it ignores a rule or could not read it";
    // 404 and 410 say to everybody that the page is gone, which it is not.
    let severity = if matches!(status, 404 | 410) { Severity::Warning } else { Severity::Note };
    found.add(severity, "refusal-status", message, hint);
}

/// Everything about the listener that other proxies ask at; nothing where there is none.
fn of_doors(found: &mut FileFindings<'_>, policy: &Policy) {
    let Some(doors) = &policy.config.authorize else { return };
    if policy.config.trusted_proxies.is_empty() {
        let message = "[authorize] answers only peers in `trusted_proxies`, which is empty";
        let hint = "name the proxy's address there; on this machine that is \"127.0.0.1\" and \"::1\"";
        found.add(Severity::Warning, "authorize-nobody", message, hint);
    }
    if doors.secret_file.is_none() && !doors.listen.ip().is_loopback() {
        let message =
            format!("[authorize] can be reached from elsewhere at {}, and asks for no secret", *doors.listen);
        let hint = "set `secret_file`: whoever sends from a trusted address could make up reads and clients";
        found.add(Severity::Warning, "authorize-open", message, hint);
    }
    for site in policy.sites().iter().filter(|site| site.config.origin.servers.is_empty()) {
        let name = &site.config.name;
        let message = format!(
            "site `{name}` has no origin: response status, origin metrics and comparison of robots.txt are unavailable"
        );
        let hint = "that is right for a site that another proxy serves";
        found.add(Severity::Note, "no-origin", message, hint);
        if site.config.redirect_https {
            let message = format!(
                "site `{name}`: `redirect_https` does nothing for requests that another proxy asks about"
            );
            found.add(Severity::Note, "no-redirect", message, "have that proxy redirect");
        }
    }
    // A folder that keeps a proxy of another user from the copies of robots.txt.
    let Ok(copies) = policy.config.state_dir.join(COPIES).canonicalize() else { return };
    let is_shut =
        |folder: &&Path| folder.metadata().is_ok_and(|found| found.permissions().mode() & 0o001 == 0);
    if let Some(shut) = copies.ancestors().find(is_shut) {
        let message = format!(
            "only its owner and its group may enter {}: a proxy that runs as another user cannot give crawlers the copies of \
             robots.txt in {} while the gateway is down",
            shut.display(),
            copies.display()
        );
        let hint = "let others pass through it: `chmod o+x FOLDER`";
        found.add(Severity::Note, "copies-shut", message, hint);
    }
}
