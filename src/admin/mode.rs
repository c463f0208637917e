//! Setting a mode over the control socket, what it leads to, and which modes are in force.

use super::{Admin, json, text};
use crate::config::ModeValue;
use crate::enforce::Mode;
use crate::identify::Purpose;
use crate::policy::{ModeInForce, ModeScope, Override, Scope, Site, SiteModes};
use http::{Request, Response, StatusCode};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The answer of `gatewayctl mode`; its field names are public API.
#[derive(Debug, Serialize)]
struct ModeReport {
    /// Whether anything changed; null where it was only asked what is in force.
    result: Option<&'static str>,
    /// The modes over those of the configuration, the general ones first.
    overrides: Vec<Override>,
    /// The mode of every site; crawlers, purposes and kinds of client may have others.
    sites: Vec<SiteMode>,
    /// Every mode that has a say, site by site, the strongest first, and why.
    in_force: Vec<SiteModes>,
    /// What an operator may not have meant.
    warnings: BTreeSet<String>,
}

#[derive(Debug, Serialize)]
struct SiteMode {
    site: String,
    mode: &'static str,
}

/// What is asked, in the query: `mode` or `clear`, and perhaps `crawler` or `purpose`, `site`, `persist`; or `all`.
#[derive(Debug, Default, PartialEq)]
struct ModeRequest {
    mode: Option<Mode>,
    clear: bool,
    persist: bool,
    /// Whom it is for. With `clear`, `all` is for every scope.
    scope: Scope,
}

pub(super) fn change(admin: &Admin, request: &Request<()>) -> Response<Vec<u8>> {
    let wish = match parse_request(request.uri().query().unwrap_or_default()) {
        Ok(wish) => wish,
        Err(error) => return text(StatusCode::BAD_REQUEST, &error),
    };
    let (scope, persists) = (wish.scope.clone(), wish.persist);
    let changed = match wish.mode {
        Some(mode) => admin.reloader.set_mode(&Override { scope, mode, persists, fleet: false }),
        None if scope.all => admin.reloader.clear_modes(),
        None => admin.reloader.clear_mode(&scope),
    };
    match changed {
        Ok(changed) => json(StatusCode::OK, &report(admin, Some((&wish, changed)))),
        Err(error) => text(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// Says which modes are in force, and changes none.
pub(super) fn show(admin: &Admin) -> Response<Vec<u8>> {
    json(StatusCode::OK, &report(admin, None))
}

fn report(admin: &Admin, done: Option<(&ModeRequest, bool)>) -> ModeReport {
    let policy = admin.reloader.current();
    let in_force = admin.reloader.modes_in_force();
    let mut warnings = BTreeSet::new();
    if let Some((ModeRequest { mode: Some(mode), scope, .. }, _)) = done {
        if let Some(name) =
            scope.crawler.as_deref().filter(|name| policy.identifier.catalogue().get(name).is_none())
        {
            let meant = policy.identifier.catalogue().alike(name);
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            let warning =
                format!("the catalogue knows no crawler `{name}`; it is for one that calls itself so{meant}");
            warnings.insert(warning);
        }
        let meant = |site: &&SiteModes| scope.site.as_ref().is_none_or(|name| *name == site.site);
        for site in in_force.iter().filter(meant) {
            warnings
                .extend(site.modes.iter().filter_map(|other| warn_of_mode_left(site, other, *mode, scope)));
        }
        if scope.all && *mode == Mode::Enforce {
            warnings.insert(
                "tools, fetchers, monitors and clients without a name are refused, too, and people may be behind them"
                    .to_owned(),
            );
        }
    }
    let site =
        |site: &Arc<Site>| SiteMode { site: site.config.name.clone(), mode: site.modes.general().as_str() };
    ModeReport {
        result: done.map(|(_, changed)| if changed { "changed" } else { "unchanged" }),
        overrides: admin.reloader.overrides(),
        sites: policy.sites().iter().map(site).collect(),
        in_force,
        warnings,
    }
}

/// What is to be known of another mode, of someone who would be expected to have the one that was set.
fn warn_of_mode_left(site: &SiteModes, other: &ModeInForce, mode: Mode, scope: &Scope) -> Option<String> {
    let own = other.mode;
    let is_stronger = own > mode;
    match &other.whom {
        ModeScope::Everybody if !scope.all => Some(format!(
            "everybody is in {own}, as was set with --all; nothing else counts until `gatewayctl mode --clear`"
        )),
        // It beats the others, so none of them is left.
        _ if scope.all => None,
        ModeScope::Crawler(name) if is_stronger && scope.crawler.is_none() => {
            Some(format!("crawler `{name}` stays in {own}; --crawler {name} changes it"))
        }
        ModeScope::Purpose(purpose) if is_stronger && scope.crawler.is_none() && scope.purpose.is_none() => {
            Some(format!("what fetches for {purpose} stays in {own}; --purpose {purpose} changes it"))
        }
        ModeScope::Client(client) if is_stronger && scope.crawler.is_none() && scope.purpose.is_none() => {
            let kind = client.as_str();
            let refused = if own == Mode::Enforce { "refused" } else { "recorded, and forwarded" };
            Some(format!(
                "clients of kind `{kind}` stay in {own} ({refused}); `{kind}` in [clients] of the configuration \
                 changes it"
            ))
        }
        ModeScope::Others if own != mode && *scope == Scope::default() => {
            let name = &site.site;
            Some(format!("site `{name}` has a mode of its own and stays in {own}; --site {name} changes it"))
        }
        _ => None,
    }
}

fn parse_request(query: &str) -> Result<ModeRequest, String> {
    let mut wish = ModeRequest::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = decoded(value).ok_or_else(|| format!("`{key}` is not percent-encoded UTF-8"))?;
        match key {
            "mode" => wish.mode = Some(value.parse::<ModeValue>().map_err(|error| error.to_string())?.0),
            "crawler" => wish.scope.crawler = Some(value),
            "purpose" => {
                let purpose = Purpose::named(&value);
                wish.scope.purpose =
                    Some(purpose.map_err(|expected| format!("invalid purpose `{value}`: {expected}"))?);
            }
            "site" => wish.scope.site = Some(value),
            "persist" => wish.persist = true,
            "clear" => wish.clear = true,
            "all" => wish.scope.all = true,
            _ => return Err(format!("unknown option `{key}` of a mode")),
        }
    }
    if wish.mode.is_some() == wish.clear {
        return Err("either `mode` or `clear`".to_owned());
    }
    let Scope { crawler, purpose, site, all } = &wish.scope;
    if *all && (crawler.is_some() || purpose.is_some() || site.is_some()) {
        return Err("`all` is for everybody, and goes without a site, a crawler or a purpose".to_owned());
    }
    if crawler.is_some() && purpose.is_some() {
        return Err("either a crawler or a purpose".to_owned());
    }
    Ok(wish)
}

/// Undoes percent-encoding (RFC 3986 §2.1).
fn decoded(value: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok())?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = rest.get(2..)?;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let scope = Scope { crawler: Some("a b&".to_owned()), ..Scope::default() };
        let asked = ModeRequest { mode: Some(Mode::Enforce), scope, persist: true, ..ModeRequest::default() };
        assert_eq!(parse_request("mode=enforce&crawler=a%20b%26&persist"), Ok(asked));
        for query in [
            "",
            "mode=loud",
            "mode=audit&clear",
            "mode=audit&x=1",
            "mode=off&all&crawler=a",
            "mode=off&purpose=fun",
            "mode=off&purpose=ai-train&crawler=a",
            "clear&all&site=a",
            "mode=audit&site=%f",
            "site=%ff&clear",
        ] {
            assert!(parse_request(query).is_err(), "{query}");
        }
    }
}
