//! Beside the requests: names of origins resolved again, and their servers asked if they are well.

use super::ask::ask;
use super::pool::OriginConnections;
use crate::config::{HealthCheck, Probe, defaults};
use crate::policy::{CurrentPolicy, Policy, Site, Upstream};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::time::timeout;

/// How often it is looked what is due.
const STEP: Duration = Duration::from_millis(100);

/// Keeps what is known of the servers of all origins fresh, for as long as it is let.
pub(crate) async fn watch_origins(current: Arc<CurrentPolicy>) {
    let connections = Arc::new(OriginConnections::new(0));
    loop {
        look_after(&current.get(), &connections);
        tokio::time::sleep(STEP).await;
    }
}

/// Starts everything that is due; none of it is waited for.
fn look_after(policy: &Policy, connections: &Arc<OriginConnections>) {
    let now = Instant::now();
    let all = policy.origins();
    for (site, server) in all.flat_map(|(site, origin)| origin.servers.iter().map(move |one| (site, one))) {
        let (resolve, ask) = &mut *server.due.lock();
        if server.has_name() && *resolve <= now {
            *resolve = now + defaults::RESOLVE_INTERVAL;
            let (server, site) = (Arc::clone(server), site.map(|site| site.config.name.clone()));
            tokio::task::spawn_blocking(move || resolved(&server, site.as_deref()));
        }
        let check = site.map(|site| (site, &site.config.origin.health));
        if let Some((site, check)) = check.filter(|(_, check)| check.probe != Probe::Off && *ask <= now) {
            *ask = now + *check.interval;
            tokio::spawn(asked(Arc::clone(site), Arc::clone(server), Arc::clone(connections)));
        }
    }
}

fn resolved(server: &Upstream, site: Option<&str>) {
    let url = &server.server.url;
    match server.resolve() {
        Ok(true) => {
            tracing::info!(site, addresses = ?**server.addresses.load(), "the origin {url} has other addresses now");
        }
        Ok(false) => {}
        Err(error) => {
            tracing::debug!(
                site,
                "the name of origin {url} cannot be resolved: {error}; the last addresses are kept"
            );
        }
    }
}

async fn asked(site: Arc<Site>, server: Arc<Upstream>, connections: Arc<OriginConnections>) {
    let check = &site.config.origin.health;
    let is_well = timeout(*check.timeout, is_well(&connections, &site, &server)).await.unwrap_or(false);
    let (name, url) = (&site.config.name, &server.server.url);
    match (is_well, check.probe) {
        (false, _) => server.failed("it is not well when it is asked", SystemTime::now()),
        // That it takes connections says nothing of answers.
        (true, Probe::Http) => server.answered(),
        (true, Probe::Tcp | Probe::Off) => {}
    }
    match server.note(is_well, check) {
        Some(true) => tracing::info!(site = name, "the origin {url} is healthy again"),
        Some(false) => tracing::warn!(site = name, "the origin {url} is unhealthy, and gets no requests"),
        None => {}
    }
}

/// Whether a server accepts a connection and, where that is asked for, answers with a page or the way to one (RFC 9110 §15).
/// Never over one of the pool: a server that takes no new connections is not well.
async fn is_well(connections: &OriginConnections, site: &Site, server: &Arc<Upstream>) -> bool {
    let HealthCheck { probe, path, .. } = &site.config.origin.health;
    let Ok(mut connection) = connections.open(&site.origin, server, 0).await else { return false };
    if *probe != Probe::Http {
        return true;
    }
    // An origin of names is asked for the site's page, as its visitors do.
    let host = site.config.exact_host().map_or_else(|| server.server.url.authority(), str::to_owned);
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: robots-gateway-health\r\nConnection: close\r\n\r\n"
    );
    let answer = ask(&mut connection, &site.origin.timeouts, head, 0).await;
    answer.is_ok_and(|answer| matches!(answer.status, 200..=399))
}
