//! Setting a mode over the control socket, what it leads to, and which modes are in force.

use super::{Admin, AnswerOrRefusal, json, query};
use crate::control::{ModeReport, SiteMode};
use crate::enforce::Mode;
use crate::identify::PurposeSet;
use crate::policy::{ModeInForce, ModeScope, Scope, Site, SiteModes};
use crate::record::word;
use http::{Request, Response, StatusCode};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::sync::Arc;

/// What is asked, in the query: `mode` or `clear`, and perhaps `crawler` or `purpose`, `site`, `persist`; or `all`.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ModeRequest {
    mode: Option<Mode>,
    clear: bool,
    persist: bool,
    crawler: Option<String>,
    #[serde(with = "word::optional")]
    purpose: Option<PurposeSet>,
    site: Option<String>,
    /// With `clear`, every scope.
    all: bool,
}

impl ModeRequest {
    /// Whom it is for: one, or each purpose of several.
    fn scopes(&self) -> Result<Vec<Scope>, &'static str> {
        if self.mode.is_some() == self.clear {
            return Err("either `mode` or `clear`");
        }
        if self.all && (self.crawler.is_some() || self.purpose.is_some() || self.site.is_some()) {
            return Err("`all` is for everybody, and goes without a site, a crawler or a purpose");
        }
        if self.crawler.is_some() && self.purpose.is_some() {
            return Err("either a crawler or a purpose");
        }
        let (crawler, site) = (self.crawler.clone(), self.site.clone());
        Ok(Scope { crawler, purpose: None, site, all: self.all }.of_each(self.purpose))
    }
}

pub(super) fn change(admin: &Admin, request: &Request<()>) -> AnswerOrRefusal {
    let refuse = |error: &dyn Display| (StatusCode::BAD_REQUEST, error.to_string());
    let wish: ModeRequest = query::read(request)?;
    let scopes = wish.scopes().map_err(|error| refuse(&error))?;
    let ModeRequest { mode, persist: persists, .. } = wish;
    let mut has_changed = false;
    for scope in &scopes {
        let changed = admin.reloader.change_mode(scope, mode, persists);
        has_changed |= changed.map_err(|error| refuse(&error))?;
    }
    let mut report = report(admin);
    report.result = Some(if has_changed { "changed" } else { "unchanged" }.into());
    if let Some(mode) = mode {
        report.warnings =
            scopes.iter().flat_map(|scope| warnings(admin, &report.in_force, mode, scope)).collect();
    }
    Ok(json(&report))
}

/// Says which modes are in force, and changes none.
pub(super) fn show(admin: &Admin) -> Response<Vec<u8>> {
    json(&report(admin))
}

fn report(admin: &Admin) -> ModeReport {
    let policy = admin.reloader.current();
    let site = |site: &Arc<Site>| SiteMode {
        site: site.config.name.clone(),
        mode: site.modes.general().as_str().into(),
        notice: admin.reloader.notice(&policy, site).to_string(),
    };
    ModeReport {
        result: None,
        overrides: admin.reloader.overrides(),
        sites: policy.sites().iter().map(site).collect(),
        in_force: admin.reloader.modes_in_force(),
        warnings: BTreeSet::new(),
    }
}

/// What an operator who set this mode may not have meant.
fn warnings(admin: &Admin, in_force: &[SiteModes], mode: Mode, scope: &Scope) -> BTreeSet<String> {
    let policy = admin.reloader.current();
    let catalogue = policy.identifier.catalogue();
    let unknown = scope.crawler.as_deref().filter(|name| catalogue.get(name).is_none()).map(|name| {
        let meant = catalogue.alike(name).map(|meant| format!("; did you mean `{meant}`?"));
        let meant = meant.unwrap_or_default();
        format!("the catalogue knows no crawler `{name}`: the mode applies to clients that call themselves so{meant}")
    });
    let people = "tools, fetchers, monitors and clients without a name are refused, too, and people may be behind them";
    let people = (scope.all && mode == Mode::Enforce).then(|| people.to_owned());
    let is_meant = |site: &&SiteModes| scope.site.as_ref().is_none_or(|name| *name == site.site);
    let left = in_force
        .iter()
        .filter(is_meant)
        .flat_map(|site| site.modes.0.iter().filter_map(|other| warn_of_mode_left(site, other, mode, scope)));
    left.chain(unknown).chain(people).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_read_or_refused() {
        let read = |query: &str| {
            let request = Request::builder().uri(format!("/mode?{query}")).body(()).unwrap();
            let wish: ModeRequest = query::read(&request)?;
            let scopes = wish.scopes().map_err(|error| (StatusCode::BAD_REQUEST, error.to_owned()))?;
            Ok::<_, (StatusCode, String)>((wish.mode, wish.persist, scopes))
        };
        let scope = Scope { crawler: Some("a b&".to_owned()), ..Scope::default() };
        assert_eq!(
            read("mode=enforce&crawler=a%20b%26&persist"),
            Ok((Some(Mode::Enforce), true, vec![scope]))
        );
        let everybody = Scope { all: true, ..Scope::default() };
        assert_eq!(read("clear&all"), Ok((None, false, vec![everybody])));
        let purposes = read("mode=off&purpose=ai").unwrap().2;
        let words: Vec<_> = purposes.iter().map(|scope| scope.purpose.unwrap().as_str()).collect();
        assert_eq!(words, ["ai-search", "ai-train", "ai-user"]);
        for query in [
            "",
            "mode=loud",
            "mode=audit&clear",
            "mode=audit&x=1",
            "mode=off&all&crawler=a",
            "mode=off&purpose=fun",
            "mode=off&purpose=ai-train&crawler=a",
            "clear&all&site=a",
            "mode=audit&site",
        ] {
            assert_eq!(read(query).map_err(|(status, _)| status), Err(StatusCode::BAD_REQUEST), "{query}");
        }
    }
}
