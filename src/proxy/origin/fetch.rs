//! robots.txt files that sites take from their origins: fetched beside the requests, spread over time.
//!
//! A fetch is what a crawler would ask for, as far as the origin can tell: the site's public host and scheme, no cookies
//! (RFC 9309 §2.3). It goes to the origin's own server, whatever a redirect says, so nothing new is resolved and nobody can
//! have the gateway ask elsewhere.

use super::ask::{OriginAnswer, ask};
use crate::config::{OriginUrl, RobotsUrl};
use crate::policy::{FETCH_MARKER, FetchAnswer, Policy, Reloader, Site, Validators, detached, retry_after};
use crate::proxy::pool::OriginConnections;
use crate::request::host;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use url::{Position, Url};

/// How often it is looked whether one is due.
const LOOK: Duration = Duration::from_millis(200);

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
#[derive(Debug)]
pub(crate) struct Fetcher {
    reloader: Arc<Reloader>,
    connections: Arc<OriginConnections>,
    asking: JoinSet<(String, FetchAnswer)>,
    /// What came, and was not taken yet.
    answers: Vec<(String, FetchAnswer)>,
    /// Whether something new is not in force yet.
    is_behind: bool,
}

impl Fetcher {
    pub(crate) fn new(reloader: Arc<Reloader>) -> Self {
        let connections = Arc::new(OriginConnections::new(0));
        Self { reloader, connections, asking: JoinSet::new(), answers: Vec::new(), is_behind: false }
    }

    /// Asks for what is unknown before the first client is served, as far as that comes soon.
    pub(crate) async fn begin(&mut self) {
        let all = async {
            loop {
                self.ask();
                if self.asking.is_empty() {
                    return;
                }
                self.take().await;
            }
        };
        let _ = tokio::time::timeout(FIRST, all).await;
    }

    /// Goes on asking until the gateway stops.
    pub(crate) async fn go_on(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = stopped.wait_for(|stop| *stop) => return,
            }
            self.ask();
            if !self.asking.is_empty() || self.is_behind {
                self.take().await;
            }
        }
    }

    /// Begins as many fetches as are due and have room.
    fn ask(&mut self) {
        let policy = self.reloader.current();
        for (name, validators) in
            self.reloader.origin_files.take_due(AT_ONCE - self.asking.len().min(AT_ONCE))
        {
            let (policy, connections) = (Arc::clone(&policy), Arc::clone(&self.connections));
            self.asking.spawn(async move {
                let site = policy.sites().iter().find(|site| site.config.name == name);
                let Some(site) = site else { return (name, failed("the site is not in force yet")) };
                let fetched =
                    tokio::time::timeout(PATIENCE, fetch(&policy, site, validators.as_ref(), &connections));
                let answer =
                    fetched.await.unwrap_or_else(|_| failed("the origin did not answer within 10 s"));
                (name, answer)
            });
        }
    }

    /// Takes the answers that come within a moment: what is new is put in force together. None is lost if this is dropped.
    async fn take(&mut self) {
        let moment = tokio::time::sleep(LOOK);
        tokio::pin!(moment);
        loop {
            tokio::select! {
                answer = self.asking.join_next() => match answer {
                    Some(answer) => {
                        self.answers.extend(answer.ok());
                        // To put in force what is new takes the longer, the more sites there are.
                        self.ask();
                    }
                    None => break,
                },
                () = &mut moment => break,
            }
        }
        if self.answers.is_empty() && !self.is_behind {
            return;
        }
        let (reloader, policy) = (Arc::clone(&self.reloader), self.reloader.current());
        let (answers, is_behind) = (std::mem::take(&mut self.answers), self.is_behind);
        self.is_behind = true;
        let taken = spawn_blocking(move || reloader.take_origin_answers(&policy, answers, is_behind));
        self.is_behind = !taken.await.unwrap_or(true);
    }
}

fn failed(why: impl Into<String>) -> FetchAnswer {
    FetchAnswer::Failed { why: why.into(), retry_after: None }
}

/// Asks the origin of a site, or the place that is named in its stead.
async fn fetch(
    policy: &Policy,
    site: &Site,
    validators: Option<&Validators>,
    connections: &OriginConnections,
) -> FetchAnswer {
    let Some(from) = site.config.robots.origin() else { return failed("the site has a file of its own") };
    let elsewhere = match &from.url {
        None => None,
        Some(url) => {
            let origin = url.server.clone();
            match spawn_blocking(move || detached(&origin)).await {
                Ok(Ok(server)) => Some((server, url)),
                Ok(Err(error)) => return failed(format!("{} cannot be resolved: {error}", url.server)),
                Err(_) => return failed("the name could not be resolved"),
            }
        }
    };
    // Whom the operator trusts for the origin says nothing of another place.
    let plain = elsewhere.as_ref().map(|_| site.origin.without_ca());
    let origin = plain.as_ref().unwrap_or(&site.origin);
    let server = match &elsewhere {
        Some((server, _)) => server,
        None => match site.origin.next(&[]).and_then(|at| site.origin.servers.get(at)) {
            Some(server) => server,
            None => return failed("the origin has no server"),
        },
    };
    let url = elsewhere.as_ref().map(|(_, url)| *url);
    let Some(mut step) = first_step(policy, site, url, &server.server.url) else {
        return failed("the origin's name can be no part of a URL");
    };
    for _ in 0..=REDIRECTS {
        let head = request(policy, &step, validators);
        match ask(connections, (origin, server), head, MOST_BYTES).await {
            Ok(answer) if answer.is_too_long() => {
                return failed("the origin serves more than 16 MiB as robots.txt");
            }
            Ok(answer) => match followed(&answer, &step, site) {
                Some(Ok(next)) => step = next,
                Some(Err(why)) => return failed(why),
                None => return meaning(answer),
            },
            Err(fault) => return failed(format!("the origin {}: {}", server.server.url, fault.cause())),
        }
    }
    failed(format!("the origin redirects more than {REDIRECTS} times"))
}

/// Where the first request of a fetch goes: to the robots.txt of the site, under the scheme that clients use.
fn first_step(policy: &Policy, site: &Site, url: Option<&RobotsUrl>, server: &OriginUrl) -> Option<Url> {
    let (is_tls, host, path) = if let Some(url) = url {
        (url.server.is_tls(), url.server.authority(), &*url.path)
    } else {
        let own = site.config.robots.origin().and_then(|from| from.host.as_ref()).map(|host| &*host.0);
        let host = own.or_else(|| site.config.exact_host()).map(str::to_owned);
        let is_tls = policy.config.all_listeners().any(|listener| listener.tls);
        (is_tls, host.unwrap_or_else(|| server.authority()), "/robots.txt")
    };
    let scheme = if is_tls { "https" } else { "http" };
    Url::parse(&format!("{scheme}://{host}{path}")).ok()
}

/// Where an answer sends on; why one may not go there.
fn followed(answer: &OriginAnswer, step: &Url, site: &Site) -> Option<Result<Url, String>> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return None;
    }
    let Some(location) = answer.text("location") else {
        return Some(Err(format!("the origin answers {} without a place to go", answer.status)));
    };
    let next = step.join(location).ok().filter(|next| matches!(next.scheme(), "http" | "https"));
    let Some(next) = next else {
        return Some(Err(format!("the origin redirects to `{location}`, which is no page of the web")));
    };
    let name = host::normalise(next.host_str().unwrap_or_default());
    let is_ours =
        next.host_str() == step.host_str() || site.config.hosts.iter().any(|pattern| pattern.admits(&name));
    if !is_ours {
        let host = &next[Position::BeforeHost..Position::AfterPort];
        return Some(Err(format!("the origin redirects to another host, `{host}`, which is not asked")));
    }
    Some(Ok(next))
}

fn meaning(answer: OriginAnswer) -> FetchAnswer {
    if answer.has(FETCH_MARKER) {
        return failed(
            "the origin leads back to this gateway: its own robots.txt is not taken for the origin's",
        );
    }
    match answer.status {
        304 => FetchAnswer::NotModified,
        200..=299 if is_coded(&answer) => failed(
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

fn is_coded(answer: &OriginAnswer) -> bool {
    answer.text("content-encoding").is_some_and(|coding| !coding.eq_ignore_ascii_case("identity"))
}

fn request(policy: &Policy, step: &Url, validators: Option<&Validators>) -> String {
    let (scheme, host) = (step.scheme(), &step[Position::BeforeHost..Position::AfterPort]);
    let path = &step[Position::BeforePath..Position::AfterQuery];
    let mut text = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: robots-gateway/{}\r\nAccept: text/plain, */*;q=0.1\r\n\
         Accept-Encoding: identity\r\nX-Forwarded-Proto: {scheme}\r\nX-Forwarded-Host: {host}\r\n\
         {FETCH_MARKER}: {}\r\nConnection: close\r\n",
        env!("CARGO_PKG_VERSION"),
        &policy.fetch_marker,
    );
    let mut field = |name: &str, value: Option<&String>| {
        if let Some(value) =
            value.filter(|value| value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()))
        {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{name}: {value}\r\n");
        }
    };
    field("If-None-Match", validators.and_then(|known| known.etag.as_ref()));
    field("If-Modified-Since", validators.and_then(|known| known.modified.as_ref()));
    text.push_str("\r\n");
    text
}
