//! What an origin itself has at /robots.txt: until the gateway stood in front of it, that is what crawlers read.
//!
//! It is asked once for each host that was never here before, by its name, over a connection of its own, beside the requests.

use super::fetch::{FetchStep, FetchedResponse, ask};
use super::peer::Authorities;
use crate::config::OriginUrl;
use crate::policy::{NewHosts, OriginWord, Policy, Reloader, Site};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};

/// How long all origins together may take. One that takes longer has said nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked whether there are new hosts.
const LOOK: Duration = Duration::from_millis(500);

/// How many origins are asked at once.
const AT_ONCE: usize = 32;

/// Asks the origins of new hosts, whenever there are any.
#[derive(Debug)]
pub(crate) struct OriginInquiry {
    reloader: Arc<Reloader>,
    authorities: Arc<Authorities>,
    /// Those that were asked about already, by pattern.
    asked: HashSet<Box<str>>,
    generation: u64,
}

impl OriginInquiry {
    pub(crate) fn new(reloader: Arc<Reloader>, authorities: Arc<Authorities>) -> Self {
        Self { reloader, authorities, asked: HashSet::new(), generation: 0 }
    }

    /// Goes on asking until the gateway stops.
    pub(crate) async fn go_on(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                _ = stopped.wait_for(|stop| *stop) => return,
            }
            self.once().await;
        }
    }

    /// Asks the origins of all hosts that are new now, and takes their word.
    pub(crate) async fn once(&mut self) {
        let policy = self.reloader.current();
        if policy.generation == self.generation {
            return;
        }
        self.generation = policy.generation;
        // The ledger may be waiting for the disk.
        let reloader = Arc::clone(&self.reloader);
        let Ok(mut hosts) = spawn_blocking(move || reloader.hosts_without_past()).await else { return };
        hosts.retain(|hosts| self.asked.insert(hosts.pattern.clone()));
        if hosts.is_empty() {
            return;
        }
        let words = self.words(&policy, hosts).await;
        let reloader = Arc::clone(&self.reloader);
        // A reload may be under way; what was asked then is of no use any more.
        let _ = spawn_blocking(move || reloader.take_origin_words(&policy, &words)).await;
    }

    async fn words(&self, policy: &Arc<Policy>, hosts: Vec<NewHosts>) -> Vec<(NewHosts, OriginWord)> {
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let mut asking = JoinSet::new();
        for new in hosts {
            let (policy, room) = (Arc::clone(policy), Arc::clone(&room));
            let authorities = Arc::clone(&self.authorities);
            asking.spawn(async move {
                let _place = room.acquire().await;
                let site = policy.sites().get(new.site)?;
                let word = word(&policy, site, &new.pattern, &authorities).await?;
                Some((new, word))
            });
        }
        let mut words = Vec::new();
        let all = async {
            while let Some(answered) = asking.join_next().await {
                words.extend(answered.ok().flatten());
            }
        };
        // Those that did not answer in time are as good as silent.
        let _ = tokio::time::timeout(PATIENCE, all).await;
        words
    }
}

/// What the first server of an origin says of the hosts of a pattern; `None` where it says nothing that is of use.
async fn word(policy: &Policy, site: &Site, pattern: &str, authorities: &Authorities) -> Option<OriginWord> {
    let server = site.origin.servers.first()?;
    let step = FetchStep::to_robots_txt(policy, host(pattern, site, &server.server.url));
    said(ask(policy, site, server, &step, None, authorities).await.ok()?)
}

/// The host to ask for: one of a name by that, others by a name that their site has, else by the origin's own. What an
/// origin has for one name it need not have for another.
fn host(pattern: &str, site: &Site, url: &OriginUrl) -> String {
    let name = if pattern.starts_with('*') { site.config.exact_host() } else { Some(pattern) };
    name.map_or_else(|| url.authority(), str::to_owned)
}

/// A robots.txt; `None` for every other answer.
fn said(answer: FetchedResponse) -> Option<OriginWord> {
    if answer.status != 200 || answer.coding.is_some() {
        return None;
    }
    let modified = answer.validators.modified.and_then(|date| httpdate::parse_http_date(&date).ok());
    Some(OriginWord { bytes: Some(answer.body), modified })
}

#[cfg(test)]
mod tests {
    use super::super::fetch::answer;
    use super::*;

    async fn said_by(text: &str) -> Option<OriginWord> {
        said(answer(&mut text.as_bytes()).await.ok()?)
    }

    #[tokio::test]
    async fn a_plain_file_is_a_word() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let told = said_by(&format!("HTTP/1.1 200 OK\r\nlast-modified: {date}\r\n\r\nabc")).await.unwrap();
        assert_eq!(told.bytes.as_deref(), Some(&b"abc"[..]));
        assert_eq!(told.modified, httpdate::parse_http_date(date).ok());
        let told = said_by("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nabc").await.unwrap();
        assert_eq!((told.bytes.as_deref(), told.modified), (Some(&b"ab"[..]), None));
        for other in [
            "HTTP/1.1 404 Not Found\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nabc",
        ] {
            assert_eq!(said_by(other).await, None, "{other}");
        }
    }
}
