//! What an origin itself has at /robots.txt: until the gateway stood in front of it, that is what crawlers read.
//!
//! It is asked once for each host that was never here before, by its name, over a connection of its own, beside the requests.

use super::peer::{Authorities, reached};
use crate::config::{HostPattern, OriginUrl};
use crate::http::Body;
use crate::http::head::AnswerHead;
use crate::policy::{NewHosts, OriginWord, Policy, Reloader, Site};
use pingora::connectors::TransportConnector;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinSet, spawn_blocking};

/// How long all origins together may take. One that takes longer has said nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often it is looked whether there are new hosts.
const LOOK: Duration = Duration::from_millis(500);

/// How many origins are asked at once.
const AT_ONCE: usize = 32;

/// The longest answer that is read, in bytes.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Asks the origins of new hosts, whenever there are any.
#[derive(Debug)]
pub(crate) struct Inquiry {
    reloader: Arc<Reloader>,
    authorities: Arc<Authorities>,
    /// Those that were asked about already, by pattern.
    asked: HashSet<Box<str>>,
    generation: u64,
}

impl Inquiry {
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
        let Ok(mut hosts) = spawn_blocking(move || reloader.unexplained()).await else { return };
        hosts.retain(|hosts| self.asked.insert(hosts.pattern.clone()));
        if hosts.is_empty() {
            return;
        }
        let words = self.words(&policy, hosts).await;
        let reloader = Arc::clone(&self.reloader);
        // A reload may be under way; what was asked then is of no use any more.
        let _ = spawn_blocking(move || reloader.explain(&policy, &words)).await;
    }

    async fn words(&self, policy: &Arc<Policy>, hosts: Vec<NewHosts>) -> Vec<(NewHosts, OriginWord)> {
        let connector = Arc::new(TransportConnector::new(None));
        let room = Arc::new(Semaphore::new(AT_ONCE));
        let mut asking = JoinSet::new();
        for new in hosts {
            let (policy, connector) = (Arc::clone(policy), Arc::clone(&connector));
            let (authorities, room) = (Arc::clone(&self.authorities), Arc::clone(&room));
            asking.spawn(async move {
                let _place = room.acquire().await;
                let site = policy.sites().get(new.site)?;
                let word = word(&policy, site, &new.pattern, &connector, &authorities).await?;
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
async fn word(
    policy: &Policy,
    site: &Site,
    pattern: &str,
    connector: &TransportConnector,
    authorities: &Authorities,
) -> Option<OriginWord> {
    let server = site.origin.servers.first()?;
    let peer = reached(server, 0, site, &policy.config.timeouts, authorities).ok()?;
    let mut stream = connector.new_stream(&peer).await.ok()?;
    // HTTP/1.0 asks for an answer that ends with its length or the connection.
    let request = format!(
        "GET /robots.txt HTTP/1.0\r\nHost: {}\r\nUser-Agent: robots-gateway/{}\r\nAccept-Encoding: identity\r\n\r\n",
        host(pattern, site, &server.server.url),
        env!("CARGO_PKG_VERSION"),
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    stream.flush().await.ok()?;
    let mut answer = Vec::new();
    stream.take(MOST_BYTES).read_to_end(&mut answer).await.ok()?;
    read(&answer)
}

/// The host to ask for: one of a name by that, others by a name that their site has, else by the origin's own. What an
/// origin has for one name it need not have for another.
fn host(pattern: &str, site: &Site, url: &OriginUrl) -> String {
    if !pattern.starts_with('*') {
        return pattern.to_owned();
    }
    let own = site.config.hosts.iter().find_map(|host| match host {
        HostPattern::Exact(name) => Some(name.to_string()),
        HostPattern::Below(_) => None,
    });
    own.unwrap_or_else(|| match url {
        OriginUrl::Socket(_) => "localhost".to_owned(),
        OriginUrl::Tcp { .. } => {
            let url = url.to_string();
            let authority = url.split_once("://").map_or(&*url, |(_, authority)| authority);
            authority.trim_end_matches('/').to_owned()
        }
    })
}

/// A robots.txt that is whole; `None` for every other answer.
fn read(answer: &[u8]) -> Option<OriginWord> {
    let head = AnswerHead::read(answer).ok()??;
    let is_plain = head.text("content-encoding").is_none_or(|coding| coding.eq_ignore_ascii_case("identity"));
    if head.status != 200 || !is_plain {
        return None;
    }
    let rest = answer.get(head.length..)?;
    let bytes = match head.body("GET") {
        Body::Length(length) => rest.get(..usize::try_from(length).ok()?)?,
        Body::UntilClose => rest,
        Body::None | Body::Chunked => return None,
    };
    let modified = head.text("last-modified").and_then(|date| httpdate::parse_http_date(date).ok());
    Some(OriginWord { bytes: Some(bytes.to_vec()), modified })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_plain_file_is_a_word() {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        let told = read(format!("HTTP/1.1 200 OK\r\nlast-modified: {date}\r\n\r\nabc").as_bytes()).unwrap();
        assert_eq!(told.bytes.as_deref(), Some(&b"abc"[..]));
        assert_eq!(told.modified, httpdate::parse_http_date(date).ok());
        let told = read(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nabc").unwrap();
        assert_eq!((told.bytes.as_deref(), told.modified), (Some(&b"ab"[..]), None));
        for other in [
            &b"HTTP/1.1 404 Not Found\r\n\r\nabc"[..],
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nabc",
            b"HTTP/1.1 200 OK\r\n",
            b"",
        ] {
            assert_eq!(read(other), None, "{}", String::from_utf8_lossy(other));
        }
    }
}
