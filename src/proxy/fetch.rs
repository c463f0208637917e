//! robots.txt files that sites take from their origins: fetched beside the requests, spread over time.
//!
//! A fetch is what a crawler would ask for, as far as the origin can tell: the site's public host and scheme, no cookies
//! (RFC 9309 §2.3). It goes to the origin's own server, whatever a redirect says, so nothing new is resolved and nobody can
//! have the gateway ask elsewhere.

use super::ask::{OriginAnswer, ask};
use super::fault::OriginFault;
use super::pool::OriginConnections;
use crate::config::OriginUrl;
use crate::policy::{
    FETCH_MARKER, FetchAnswer, OWN_FETCH, Policy, Reloader, Site, Upstreams, Validators, retry_after,
};
use crate::request::host;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};
use tokio::task::spawn_blocking;
use url::{Position, Url};

/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_millis(200);

/// The same before the first client is served.
const MOMENT: Duration = Duration::from_millis(20);

/// How many origins are asked at once.
const AT_ONCE: usize = 32;

/// How long one fetch may take, with its redirects.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the first of a start may take, all together, before clients are served.
const FIRST: Duration = Duration::from_secs(2);

/// RFC 9309 §2.3.1.2 asks for five at least.
const REDIRECTS: usize = 5;

/// The longest file that is read, as from disk.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Fetches what is due, for as long as the gateway runs.
#[derive(Clone)]
pub(crate) struct Fetcher {
    reloader: Arc<Reloader>,
    connections: Arc<OriginConnections>,
}

impl Fetcher {
    pub(crate) fn new(reloader: Arc<Reloader>) -> Self {
        Self { reloader, connections: Arc::new(OriginConnections::new(0)) }
    }

    /// Asks for what is unknown before the first client is served, as far as that comes soon.
    pub(crate) async fn begin(&self) {
        let all = async {
            while self.ask() {
                tokio::time::sleep(MOMENT).await;
                self.put_in_force().await;
            }
        };
        let _ = tokio::time::timeout(FIRST, all).await;
    }

    /// Goes on asking for as long as it is let.
    pub(crate) async fn go_on(self) {
        loop {
            tokio::time::sleep(LOOK).await;
            self.ask();
            self.put_in_force().await;
        }
    }

    /// Begins as many fetches as are due and have room. Whether anything is asked for now, or new.
    fn ask(&self) -> bool {
        let policy = self.reloader.current();
        let files = &self.reloader.origin_files;
        for (name, validators) in files.take_due(&policy.config, AT_ONCE) {
            let (own, policy) = (self.clone(), Arc::clone(&policy));
            tokio::spawn(async move {
                let fetched = fetch(&policy, &name, validators.as_ref(), &own.connections);
                let answer = tokio::time::timeout(PATIENCE, fetched).await;
                let answer =
                    answer.unwrap_or_else(|_| Err("the origin did not answer within 10 s".to_owned()));
                let answer = answer.unwrap_or_else(failed);
                spawn_blocking(move || own.reloader.origin_files.record_answer(&policy, &name, answer)).await
            });
        }
        files.are_asked() || files.has_news.load(Ordering::Relaxed)
    }

    /// Puts in force what has come since the last time. What comes meanwhile is put in force together.
    async fn put_in_force(&self) {
        if self.reloader.origin_files.has_news.load(Ordering::Relaxed) {
            let reloader = Arc::clone(&self.reloader);
            let _ = spawn_blocking(move || reloader.take_origin_news()).await;
        }
    }
}

fn failed(why: impl Into<String>) -> FetchAnswer {
    FetchAnswer::Failed { why: why.into(), retry_after: None }
}

/// Asks the origin of a site, or the place that is named in its stead.
async fn fetch(
    policy: &Policy,
    name: &str,
    validators: Option<&Validators>,
    connections: &OriginConnections,
) -> Result<FetchAnswer, String> {
    let site = policy.named(name).ok_or("the site is not in force yet")?;
    let url = site.config.robots.origin().ok_or("the site has a file of its own")?.url.as_deref();
    // Whom the operator trusts for the origin says nothing of another place.
    let elsewhere = match url.map(|url| url.origin().ascii_serialization().parse::<OriginUrl>()) {
        Some(server) => {
            let (server, timeouts) = (server?, site.origin.timeouts);
            let found = spawn_blocking(move || Upstreams::resolved(&server, &timeouts)).await;
            Some(found.map_err(|_| "the name could not be resolved")??)
        }
        None => None,
    };
    let origin = elsewhere.as_ref().unwrap_or(&site.origin);
    let server = origin.next(&[]).and_then(|at| origin.servers.get(at)).ok_or("the origin has no server")?;
    let step = first_step(policy, site, url, &server.server.url);
    let mut step = step.ok_or("the origin's name can be no part of a URL")?;
    for _ in 0..=REDIRECTS {
        let told = |fault: OriginFault| format!("the origin {}: {}", server.server.url, fault.cause());
        let mut connection = connections.open(origin, server, 0).await.map_err(told)?;
        let head = request(&step, validators);
        let answer = ask(&mut connection, &origin.timeouts, head, MOST_BYTES).await.map_err(told)?;
        if answer.is_too_long() {
            return Err("the origin serves more than 16 MiB as robots.txt".to_owned());
        }
        match followed(&answer, &step, site)? {
            Some(next) => step = next,
            None => return Ok(meaning(answer)),
        }
    }
    Err(format!("the origin redirects more than {REDIRECTS} times"))
}

/// Where the first request of a fetch goes: to the robots.txt of the site, under the scheme that clients use.
fn first_step(policy: &Policy, site: &Site, url: Option<&Url>, server: &OriginUrl) -> Option<Url> {
    if url.is_some() {
        return url.cloned();
    }
    let own = site.config.robots.origin().and_then(|from| from.host.as_ref()).map(|host| &*host.0);
    let host = own.or_else(|| site.config.exact_host()).map_or_else(|| server.authority(), str::to_owned);
    let is_tls = policy.config.all_listeners().any(|listener| listener.tls);
    let scheme = if is_tls { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{host}/robots.txt")).ok()
}

/// Where an answer sends on, if it does; why one may not go there.
fn followed(answer: &OriginAnswer, step: &Url, site: &Site) -> Result<Option<Url>, String> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = answer.text("location");
    let location =
        location.ok_or_else(|| format!("the origin answers {} without a place to go", answer.status))?;
    let next = step.join(location).ok().filter(|next| matches!(next.scheme(), "http" | "https"));
    let next =
        next.ok_or_else(|| format!("the origin redirects to `{location}`, which is no page of the web"))?;
    let name = host::normalise(next.host_str().unwrap_or_default());
    let is_ours =
        next.host_str() == step.host_str() || site.config.hosts.iter().any(|pattern| pattern.admits(&name));
    if !is_ours {
        let host = &next[Position::BeforeHost..Position::AfterPort];
        return Err(format!("the origin redirects to another host, `{host}`, which is not asked"));
    }
    Ok(Some(next))
}

fn meaning(answer: OriginAnswer) -> FetchAnswer {
    if answer.has(FETCH_MARKER) {
        return failed(
            "the origin leads back to this gateway: its own robots.txt is not taken for the origin's",
        );
    }
    let is_plain =
        answer.text("content-encoding").is_none_or(|coding| coding.eq_ignore_ascii_case("identity"));
    match answer.status {
        304 => FetchAnswer::NotModified,
        200..=299 if !is_plain => failed(
            "the origin compresses its robots.txt though it was asked not to (Accept-Encoding: identity)",
        ),
        200..=299 => {
            let text = |name| answer.text(name).map(str::to_owned);
            let validators = Validators { etag: text("etag"), modified: text("last-modified") };
            FetchAnswer::File { bytes: answer.body, validators }
        }
        // A 421 was sent to the wrong server, which says nothing of the right one (RFC 9110 §15.5.20).
        status @ 400..=499 if !matches!(status, 421 | 429) => FetchAnswer::None(status),
        status => {
            let why = format!("the origin answers {status}");
            let later = answer.text("retry-after");
            let retry_after = later.and_then(|field| retry_after(field, SystemTime::now()));
            FetchAnswer::Failed { why, retry_after }
        }
    }
}

fn request(step: &Url, validators: Option<&Validators>) -> String {
    let (scheme, host) = (step.scheme(), &step[Position::BeforeHost..Position::AfterPort]);
    let path = &step[Position::BeforePath..Position::AfterQuery];
    let mut text = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: robots-gateway/{}\r\nAccept: text/plain, */*;q=0.1\r\n\
         Accept-Encoding: identity\r\nX-Forwarded-Proto: {scheme}\r\nX-Forwarded-Host: {host}\r\n\
         {FETCH_MARKER}: {}\r\nConnection: close\r\n",
        env!("CARGO_PKG_VERSION"),
        *OWN_FETCH,
    );
    for (name, value) in validators.into_iter().flat_map(Validators::fields) {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text
}
