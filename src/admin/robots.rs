//! The robots.txt of a site as it is served.

use super::{Admin, AnswerOrRefusal, json, query};
use crate::request::host;
use http::{Request, StatusCode};
use serde::Deserialize;

/// Which site is asked for: by a host that it serves.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RobotsRequest {
    site: Option<String>,
}

fn asked_host(request: &Request<()>) -> Result<Option<String>, (StatusCode, String)> {
    let RobotsRequest { site } = query::read(request)?;
    Ok(site.map(|site| host::normalise(&site).into_owned()))
}

/// Asks the origins now, or that of the site which serves the host `site`, and answers with what came of it.
pub(super) fn refresh(admin: &Admin, request: &Request<()>) -> AnswerOrRefusal {
    let policy = admin.reloader.current();
    let Some(host) = asked_host(request)? else {
        return Ok(json(&admin.reloader.refresh_origins(None)));
    };
    let site = policy.asked_site(Some(&host)).map_err(|error| (StatusCode::NOT_FOUND, error.to_string()))?;
    if site.config.robots.origin().is_none() {
        let name = &site.config.name;
        let told = format!("site `{name}` does not take its robots.txt from its origin");
        return Err((StatusCode::CONFLICT, told));
    }
    Ok(json(&admin.reloader.refresh_origins(Some(site))))
}

/// Answers with the lines of the site that serves the host `site`, or of the default one, or of the only one.
pub(super) fn show(admin: &Admin, request: &Request<()>) -> AnswerOrRefusal {
    let policy = admin.reloader.current();
    let site = policy.asked_site(asked_host(request)?.as_deref());
    let site = site.map_err(|error| (StatusCode::NOT_FOUND, error.to_string()))?;
    Ok(json(&site.served()))
}
