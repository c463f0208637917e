//! `gatewayctl check`: loads everything as the daemon would, and prints every error and finding.

mod beside;
mod compression;

use super::args::{CheckArgs, Cli};
use super::excerpt::{Excerpt, line_of};
use super::lint::{FileFinding, report};
use super::output::Output;
use super::{VerbResult, origin_copy, which_config};
use crate::config::{ConfigError, ConfigErrors, HostPattern, MOST_BYTES, reading, showable, www_sibling};
use crate::enforce::{Mode, RefusalPolicy};
use crate::fleet;
use crate::policy::{self, Policy, Site};
use crate::record::stand_in_advice;
use crate::robots::{Finding, Severity};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::SystemTime;

pub(super) fn run(cli: &Cli, arguments: &CheckArgs, output: &mut Output<'_>) -> VerbResult {
    let path = cli.needed_config_file()?;
    let loaded = which_config::load(cli, Some(path.clone()))
        .and_then(|config| policy::check(config, SystemTime::now()));
    let complaints = match &loaded {
        Ok(policy) => {
            let mut found = findings(&path, policy, arguments.offline);
            found.extend(beside::findings(&path, policy));
            if !arguments.offline {
                found.extend(seen(cli, &path));
            }
            found
        }
        Err(ConfigErrors(errors)) => errors.iter().map(error).collect(),
    };
    let outcome = report(&complaints, arguments.deny, output)?;
    if let Ok(policy) = &loaded
        && !output.is_json()
    {
        let sites = policy.sites().len();
        let plural = if sites == 1 { "site" } else { "sites" };
        output.line(format!("{}: the gateway would load it, with {sites} {plural}", path.display()))?;
    }
    Ok(outcome)
}

/// What a gateway that runs has seen of who comes, and through what; nothing where none runs.
pub(super) fn seen(cli: &Cli, path: &Path) -> Vec<FileFinding> {
    let Ok(running) = cli.status() else { return Vec::new() };
    let hint = "for CloudFront that is an origin request policy with the header User-Agent; docs/behind-cdn.md says more";
    let of_visitors = running.told.sites.iter().filter_map(|site| {
        let advice = stand_in_advice(&site.site, site.stand_in.as_deref()?);
        Some(FileFinding::whole(path, Severity::Warning, "stand-in", advice, hint))
    });
    let doors = running.told.authorize.iter().flat_map(|doors| &doors.robots_txt);
    of_visitors.chain(doors.map(|seen| beside::robots_txt(path, seen))).collect()
}

fn error(error: &ConfigError) -> FileFinding {
    FileFinding {
        path: error.path.display().to_string(),
        line: error.line,
        column: error.column,
        severity: Severity::Error,
        code: "configuration",
        message: error.message.clone(),
        hint: error.hint.clone(),
        excerpt: excerpt(error),
    }
}

/// The line of an error, where its file can still be read and the line may be shown.
fn excerpt(error: &ConfigError) -> Option<Excerpt> {
    let (line, column) = error.line.zip(error.column)?;
    let file = reading::read(&error.path, MOST_BYTES).ok()?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let line = std::str::from_utf8(line_of(&file.bytes, line)?).ok()?;
    let at = line.char_indices().nth(column - 1).map_or(line.len(), |(at, _)| at);
    showable(text, line, at).map(|shown| Excerpt::new(shown.as_bytes(), at + 1, 1))
}

fn findings(path: &Path, policy: &Policy, offline: bool) -> Vec<FileFinding> {
    let mut complaints = of_configuration(path, policy);
    let ranges = policy.evidence.faults.iter();
    complaints.extend(ranges.map(|fault| FileFinding {
        severity: Severity::Warning,
        code: "address-ranges",
        ..error(fault)
    }));
    let stale = policy.stale_catalogue(SystemTime::now());
    complaints.extend(stale.map(|stale| {
        FileFinding::whole(path, Severity::Note, "stale-catalogue", stale, "install a newer version")
    }));
    if !offline {
        complaints.extend(policy::name_server_doubt(&policy.config).map(|doubt| {
            let hint = "or write `dns = false` under [verify]";
            FileFinding::whole(path, Severity::Note, "name-servers", doubt, hint)
        }));
    }
    complaints.extend(of_certificates(policy));
    complaints.extend(of_signers(path, policy));
    for site in policy.sites() {
        complaints.extend(of_refusals(path, site));
        complaints.extend(of_siblings(path, policy, site));
        complaints.extend(site.findings.iter().map(|finding| of_finding(site, finding)));
        if !offline {
            complaints.extend(origin_copy::compare(path, site));
            let names_itself = policy.config.via;
            complaints.extend(names_itself.then(|| compression::finding(path, site)).flatten());
        }
    }
    complaints
}

/// A finding at its place in the part of the file that it stands in.
fn of_finding(site: &Site, finding: &Finding) -> FileFinding {
    let (path, line) = site.place_of(finding);
    FileFinding { line: line.and_then(|line| usize::try_from(line).ok()), ..FileFinding::of(path, finding) }
}

/// Certificates that run out, or have.
fn of_certificates(policy: &Policy) -> impl Iterator<Item = FileFinding> {
    let now = SystemTime::now();
    policy.certificates.shown.iter().filter_map(move |shown| {
        let trouble = shown.validity?.trouble(now)?;
        let message = format!("the certificate {trouble}");
        let hint = "renew it; the gateway shows a renewed pair from the next handshake on";
        let file = &shown.config.certificate;
        Some(FileFinding::whole(file, Severity::Warning, "certificate", message, hint))
    })
}

/// Crawlers that sign by the same keys: behind a browser's header nothing tells them apart.
fn of_signers(path: &Path, policy: &Policy) -> Vec<FileFinding> {
    let shared = policy.evidence.directories.iter().filter_map(|directory| {
        let (first, others) = directory.crawlers.split_first().filter(|(_, others)| !others.is_empty())?;
        let message = format!(
            "`{first}` and `{}` have the same `signature_agent`: what is signed behind a browser's header is taken for `{first}`",
            others.join("`, `")
        );
        let hint = "write `signature_agent = \"\"` for those that do not sign";
        Some(FileFinding::whole(path, Severity::Note, "same-signature-agent", message, hint))
    });
    shared.collect()
}

fn of_configuration(path: &Path, policy: &Policy) -> Vec<FileFinding> {
    let config = &policy.config;
    let mut complaints = Vec::new();
    if config.robots_max_age > config.notice {
        let message = "`robots_max_age` is longer than `notice`: a crawler may still hold a replaced file when that file no longer excuses it";
        let hint = "make `notice` at least as long";
        complaints.push(FileFinding::whole(path, Severity::Warning, "max-age", message, hint));
    }
    let named = config.crawlers.keys();
    let catalogue = policy.identifier.catalogue();
    let unknown: BTreeSet<&String> = named.filter(|name| catalogue.get(name).is_none()).collect();
    complaints.extend(unknown.into_iter().map(|name| {
        let message = format!("`[crawlers.{name}]`: the catalogue knows no crawler of this name");
        let hint = match catalogue.alike(name) {
            Some(meant) => {
                format!("did you mean `{meant}`? What is set applies to a client that calls itself `{name}`")
            }
            None => "what is set applies to a client that calls itself by this name; check the spelling"
                .to_owned(),
        };
        FileFinding::whole(path, Severity::Warning, "unknown-crawler", message, hint)
    }));
    complaints.extend(policy.ending_exceptions(SystemTime::now()).map(|message| {
        let hint = "remove it, or write a later `until`";
        FileFinding::whole(path, Severity::Warning, "exception", message, hint)
    }));
    let of_fleet = config.fleet.iter().flat_map(fleet::faults);
    complaints.extend(of_fleet.map(|error| {
        let hint = "until this works, the gateway stays apart from its fleet";
        FileFinding::whole(path, Severity::Warning, "fleet", error.to_string(), hint)
    }));
    complaints
}

/// Names of the site that are nobody's, though most visitors take them for the same: with `www.`, or without.
fn of_siblings(path: &Path, policy: &Policy, site: &Site) -> impl Iterator<Item = FileFinding> {
    site.config.hosts.iter().filter_map(HostPattern::exact).filter_map(move |host| {
        let other = www_sibling(host).filter(|other| policy.site(other).is_none())?;
        let is_in_front = policy.config.all_listeners().any(|listener| !listener.is_for_proxies);
        let what = match (&policy.config.authorize, is_in_front) {
            (None, _) => "are answered 421",
            (Some(_), true) => "are answered 421, and pass where another proxy asks",
            (Some(_), false) => "pass unjudged",
        };
        let message = format!("`{host}` belongs to a site, but `{other}` does not: requests for it {what}");
        let hint = format!("add \"{other}\" to its `hosts`, if the site has that name too");
        // It may well be meant: not every name exists.
        Some(FileFinding::whole(path, Severity::Note, "host", message, hint))
    })
}

/// What Google makes of a refusal, where the site refuses anybody, or would with another status than is usual.
fn of_refusals(path: &Path, site: &Site) -> Option<FileFinding> {
    let refuses = site.modes.0.iter().any(|one| one.mode == Mode::Enforce);
    let (name, status) = (&site.config.name, site.config.refusal.status);
    if !refuses && status == RefusalPolicy::default().status {
        return None;
    }
    if status == 429 {
        let message = format!("site `{name}`: refusing with 429 has Google crawl the whole site more slowly");
        let hint = "403 says that this page alone is meant";
        return Some(FileFinding::whole(path, Severity::Warning, "refusal-status", message, hint));
    }
    let message = format!(
        "site `{name}`: refusing with {status} has Google drop the page from its index, as every 4xx but 429 does"
    );
    let hint = "Google does not ask for what robots.txt disallows for it, unless it ignores a rule or could not read it";
    // 404 and 410 say to everybody that the page is gone, which it is not.
    let severity = if matches!(status, 404 | 410) { Severity::Warning } else { Severity::Note };
    Some(FileFinding::whole(path, severity, "refusal-status", message, hint))
}
