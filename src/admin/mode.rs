//! Setting a mode over the control socket, and what it leads to.

use super::{Admin, json, text};
use crate::enforce::Mode;
use crate::identify::Client;
use crate::policy::{Override, Scope, Site};
use http::{Request, Response, StatusCode};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The kinds of client that can have a mode.
const JUDGED: [Client; 6] =
    [Client::Crawler, Client::SpecialCase, Client::Fetcher, Client::Tool, Client::Monitor, Client::Unnamed];

/// The answer of `gatewayctl mode`; its field names are public API.
#[derive(Debug, Serialize)]
struct ModeReport {
    /// Whether anything changed.
    result: &'static str,
    /// The modes over those of the configuration, the general ones first.
    overrides: Vec<Override>,
    /// The mode of every site; crawlers and kinds of client may have others.
    sites: Vec<SiteMode>,
    /// What an operator may not have meant.
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct SiteMode {
    site: String,
    mode: &'static str,
}

/// What is asked, in the query: `mode` or `clear`, and perhaps `crawler`, `site`, `persist`; or `clear` and `all`.
#[derive(Debug, Default, PartialEq)]
struct Wish {
    mode: Option<Mode>,
    clear: bool,
    /// Clear the modes of all scopes.
    all: bool,
    persist: bool,
    scope: Scope,
}

pub(super) fn change(admin: &Admin, request: &Request<()>) -> Response<Vec<u8>> {
    let wish = match wish(request.uri().query().unwrap_or_default()) {
        Ok(wish) => wish,
        Err(error) => return text(StatusCode::BAD_REQUEST, &error),
    };
    let (scope, persists) = (wish.scope.clone(), wish.persist);
    let changed = match wish.mode {
        Some(mode) => admin.reloader.set_mode(&Override { scope, mode, persists }),
        None if wish.all => admin.reloader.clear_modes(),
        None => admin.reloader.clear_mode(&scope),
    };
    match changed {
        Ok(changed) => json(StatusCode::OK, &report(admin, &wish, changed)),
        Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

fn report(admin: &Admin, wish: &Wish, changed: bool) -> ModeReport {
    let policy = admin.reloader.current();
    let sites = policy.sites().iter();
    let mut warnings = Vec::new();
    if let Some(name) = wish.scope.crawler.as_deref().filter(|_| wish.mode.is_some())
        && policy.identifier.catalogue().get(name).is_none()
    {
        warnings.push(format!("the catalogue knows no crawler `{name}`; it is for one that calls itself so"));
    }
    if let Some(mode) = wish.mode.filter(|_| wish.scope == Scope::default()) {
        let others = sites.clone().filter(|site| site.modes.site != mode);
        warnings.extend(others.map(|site| {
            let (name, own) = (&site.config.name, site.modes.site);
            format!("site `{name}` has a mode of its own and stays in {own}; --site {name} changes it")
        }));
    }
    if let Some(mode) = wish.mode.filter(|_| wish.scope.crawler.is_none()) {
        let meant = |site: &&Arc<Site>| wish.scope.site.as_ref().is_none_or(|name| *name == site.config.name);
        warnings.extend(stronger(sites.clone().filter(meant), mode));
    }
    let site = |site: &Arc<Site>| SiteMode { site: site.config.name.clone(), mode: site.modes.site.as_str() };
    ModeReport {
        result: if changed { "changed" } else { "unchanged" },
        overrides: admin.reloader.overrides(),
        sites: sites.map(site).collect(),
        warnings,
    }
}

/// Crawlers and kinds of client with a mode of their own that is stronger than the one that was set, each told once.
fn stronger<'a>(sites: impl Iterator<Item = &'a Arc<Site>>, mode: Mode) -> BTreeSet<String> {
    let mut told = BTreeSet::new();
    for site in sites {
        for (crawler, own) in site.modes.crawlers.iter().filter(|(_, own)| **own > mode) {
            told.insert(format!("crawler `{crawler}` stays in {own}; --crawler {crawler} changes it"));
        }
        for client in JUDGED {
            if let Some(own) = site.modes.clients.of(client).filter(|own| *own > mode) {
                let kind = client.as_str();
                let refused = if own == Mode::Enforce { "refused" } else { "recorded, and forwarded" };
                told.insert(format!(
                    "clients of kind `{kind}` stay in {own} ({refused}); `{kind}` in [clients] of the \
                     configuration changes it"
                ));
            }
        }
    }
    told
}

fn wish(query: &str) -> Result<Wish, String> {
    let mut wish = Wish::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value).ok_or_else(|| format!("`{key}` is not percent-encoded UTF-8"))?;
        match key {
            "mode" => wish.mode = Some(value.parse().map_err(|error| format!("{error}"))?),
            "crawler" => wish.scope.crawler = Some(value),
            "site" => wish.scope.site = Some(value),
            "persist" => wish.persist = true,
            "clear" => wish.clear = true,
            "all" => wish.all = true,
            _ => return Err(format!("`{key}` is no part of the question")),
        }
    }
    if wish.mode.is_some() == wish.clear {
        return Err("either `mode` or `clear`".to_owned());
    }
    if wish.all && (!wish.clear || wish.scope != Scope::default()) {
        return Err("`all` goes with `clear`, without a site or a crawler".to_owned());
    }
    Ok(wish)
}

/// Undoes percent-encoding (RFC 3986 §2.1).
fn decoded(value: &str) -> Option<String> {
    let mut octets = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            octets.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        octets.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let scope = Scope { crawler: Some("a b&".to_owned()), site: None };
        let asked = Wish { mode: Some(Mode::Enforce), scope, persist: true, ..Wish::default() };
        assert_eq!(wish("mode=enforce&crawler=a%20b%26&persist"), Ok(asked));
        for query in [
            "",
            "mode=loud",
            "mode=audit&clear",
            "mode=audit&x=1",
            "mode=off&all",
            "clear&all&site=a",
            "mode=audit&site=%f",
            "site=%ff&clear",
        ] {
            assert!(wish(query).is_err(), "{query}");
        }
    }
}
