//! The robots.txt of a site as it is served.

use super::{Admin, json, query, text};
use crate::request::host;
use http::{Request, Response, StatusCode};

/// Asks the origins now, or that of the site which serves the host `site`, and answers with what came of it.
pub(super) fn refresh(admin: &Admin, request: &Request<()>) -> Response<Vec<u8>> {
    let wanted = match site(request) {
        Ok(wanted) => wanted,
        Err(answer) => return *answer,
    };
    let policy = admin.reloader.current();
    let Some(host) = wanted.as_deref().map(host::normalise) else {
        return json(StatusCode::OK, &admin.reloader.refresh_origins(None));
    };
    match policy.asked_site(Some(&host)) {
        Ok(site) if site.config.robots.origin().is_some() => {
            json(StatusCode::OK, &admin.reloader.refresh_origins(Some(site)))
        }
        Ok(site) => {
            let name = &site.config.name;
            text(StatusCode::CONFLICT, &format!("site `{name}` does not take its robots.txt from its origin"))
        }
        Err(error) => text(StatusCode::NOT_FOUND, &error.to_string()),
    }
}

/// The site that is asked for; the answer to a question that cannot be read.
fn site(request: &Request<()>) -> Result<Option<String>, Box<Response<Vec<u8>>>> {
    let mut wanted = None;
    for (name, value) in query::pairs(request.uri().query().unwrap_or_default()) {
        if name != "site" {
            let told = format!("unknown option `{name}` of robots");
            return Err(Box::new(text(StatusCode::BAD_REQUEST, &told)));
        }
        wanted = Some(value);
    }
    Ok(wanted)
}

/// Answers with the lines of the site that serves the host `site`, or of the default one, or of the only one.
pub(super) fn show(admin: &Admin, request: &Request<()>) -> Response<Vec<u8>> {
    let wanted = match site(request) {
        Ok(wanted) => wanted,
        Err(answer) => return *answer,
    };
    let policy = admin.reloader.current();
    match policy.asked_site(wanted.as_deref().map(host::normalise).as_deref()) {
        Ok(site) => json(StatusCode::OK, &site.served()),
        Err(error) => text(StatusCode::NOT_FOUND, &error.to_string()),
    }
}
