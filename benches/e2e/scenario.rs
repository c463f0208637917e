//! What is asked of the peers, and the proof that they did it.
//!
//! A figure of a peer that answered something else is worth nothing. So before anything is measured each peer is
//! asked once by hand, and after each load the statuses that the load saw are counted.

use crate::load::Load;
use crate::origin::{
    CHUNKED_TARGET, HUGE_SIZE, HUGE_TARGET, LARGE, LARGE_TARGET, MARK, MIDDLING_SIZE, MIDDLING_TARGET, SMALL,
};
use crate::peers::{Kind, Peer};
use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

pub(crate) const BROWSER: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

const CRAWLER: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";

/// The name by which the lists know [`CRAWLER`].
pub(crate) const REFUSED_CRAWLER: &str = "GPTBot";

/// Another crawler, which the sample robots.txt lets have the page.
const OTHER_CRAWLER: &str = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)";

const PAGE: &str = "/products/shoes/running/42.html?page=2";

/// What is to become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedAnswer {
    /// The origin's page of so many bytes.
    Page(usize),
    /// 403, without the origin.
    Refusal,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// HTTP/1.1 without TLS.
    Http1,
    /// HTTP/1.1 over TLS.
    Tls,
    /// HTTP/2 over TLS.
    Http2,
}

/// One kind of request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) user_agent: &'static str,
    pub(crate) target: &'static str,
    pub(crate) protocol: Protocol,
    /// Whether each request has a connection of its own.
    pub(crate) fresh: bool,
    /// How many bytes are sent with it; `POST` where there are any.
    pub(crate) body: usize,
    pub(crate) expected: ExpectedAnswer,
    peers: fn(Kind) -> bool,
}

pub(crate) const PROXIED: &str = "page of 1 KB";
pub(crate) const REFUSED: &str = "refusal";
pub(crate) const LARGER: &str = "page of 100 KB";

pub(crate) const TLS: &str = "page of 1 KB, TLS with keep-alive";
pub(crate) const UPLOAD: &str = "POST of 10 KB";
pub(crate) const MIDDLING: &str = "page of 64 KB";
pub(crate) const HUGE: &str = "page of 1 MB";
pub(crate) const CHUNKED: &str = "page of 64 KB in chunks";

/// A page that a browser asks for, over connections that are kept.
const fn page(name: &'static str, target: &'static str, size: usize) -> Scenario {
    Scenario {
        name,
        user_agent: BROWSER,
        target,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(size),
        peers: |kind| kind != Kind::EveryLine,
    }
}

/// All scenarios.
pub(crate) const SCENARIOS: [Scenario; 14] = [
    Scenario {
        name: PROXIED,
        user_agent: BROWSER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(SMALL),
        peers: |kind| kind != Kind::EveryLine,
    },
    Scenario {
        name: REFUSED,
        user_agent: CRAWLER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Refusal,
        peers: |kind| kind != Kind::Audit,
    },
    Scenario {
        name: LARGER,
        user_agent: BROWSER,
        target: LARGE_TARGET,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(LARGE),
        peers: |kind| kind != Kind::EveryLine,
    },
    Scenario {
        name: "page of 1 KB, fresh connections",
        user_agent: BROWSER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: true,
        body: 0,
        expected: ExpectedAnswer::Page(SMALL),
        peers: |kind| kind != Kind::EveryLine,
    },
    Scenario {
        name: "refusal, fresh connections",
        user_agent: CRAWLER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: true,
        body: 0,
        expected: ExpectedAnswer::Refusal,
        peers: |kind| !matches!(kind, Kind::Audit | Kind::EveryLine),
    },
    Scenario {
        name: "page of 1 KB for a crawler that may have it",
        user_agent: OTHER_CRAWLER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(SMALL),
        peers: |kind| matches!(kind, Kind::Enforce | Kind::Audit | Kind::Minimal),
    },
    Scenario {
        name: "page of 1 KB for a crawler that may not, in audit mode",
        user_agent: CRAWLER,
        target: PAGE,
        protocol: Protocol::Http1,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(SMALL),
        peers: |kind| kind == Kind::Audit,
    },
    Scenario {
        name: "page of 1 KB, HTTP/2 over TLS",
        user_agent: BROWSER,
        target: PAGE,
        protocol: Protocol::Http2,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Page(SMALL),
        peers: |kind| kind != Kind::EveryLine,
    },
    Scenario {
        name: "refusal, HTTP/2 over TLS",
        user_agent: CRAWLER,
        target: PAGE,
        protocol: Protocol::Http2,
        fresh: false,
        body: 0,
        expected: ExpectedAnswer::Refusal,
        peers: |kind| !matches!(kind, Kind::Audit | Kind::EveryLine),
    },
    Scenario { protocol: Protocol::Tls, ..page(TLS, PAGE, SMALL) },
    Scenario { body: 10_240, ..page(UPLOAD, PAGE, SMALL) },
    page(MIDDLING, MIDDLING_TARGET, MIDDLING_SIZE),
    page(HUGE, HUGE_TARGET, HUGE_SIZE),
    page(CHUNKED, CHUNKED_TARGET, MIDDLING_SIZE),
];

impl Scenario {
    /// Whether `kind` has a part in it.
    pub(crate) fn is_for(&self, kind: Kind) -> bool {
        (self.peers)(kind)
    }

    /// Asks `peer` once, and says what is wrong with its answer.
    pub(crate) fn prove(&self, peer: &Peer) -> Result<(), Box<dyn Error>> {
        let answer = match self.protocol {
            Protocol::Http1 if self.body == 0 => ask(peer.addresses.plain, self.target, self.user_agent)?,
            Protocol::Http1 => {
                let body = "b".repeat(self.body);
                curl(
                    &["--data-raw", &body, &format!("http://{}{}", peer.addresses.plain, self.target)],
                    self,
                )?
            }
            Protocol::Tls => {
                curl(&["--http1.1", &format!("https://{}{}", peer.addresses.tls, self.target)], self)?
            }
            Protocol::Http2 => {
                curl(&["--http2", &format!("https://{}{}", peer.addresses.tls, self.target)], self)?
            }
        };
        self.examine(&answer).map_err(|fault| format!("{}: {}: {fault}", peer.kind.name(), self.name).into())
    }

    fn examine(&self, answer: &str) -> Result<(), String> {
        let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a head")?;
        let head = head.to_ascii_lowercase();
        let from_origin = head.lines().any(|line| line == MARK);
        let status = head.split(' ').nth(1).unwrap_or_default();
        match self.expected {
            ExpectedAnswer::Page(size) if status == "200" && from_origin && body.len() >= size => Ok(()),
            ExpectedAnswer::Page(_) => {
                Err(format!("it did not forward: status {status}, {} bytes", body.len()))
            }
            ExpectedAnswer::Refusal if status == "403" && !from_origin => Ok(()),
            ExpectedAnswer::Refusal => Err(format!("it did not refuse: status {status}")),
        }
    }

    /// Whether every request of a load had the expected answer.
    pub(crate) fn judge(&self, kind: Kind, load: &Load) -> Result<(), Box<dyn Error>> {
        if load.requests == 0 {
            return Err(format!("{}: {}: it answered nothing", kind.name(), self.name).into());
        }
        let wanted = if self.expected == ExpectedAnswer::Refusal { load.requests } else { 0 };
        // A connection that the load itself cut off at its end may count as one error.
        if load.statuses_above_399 != wanted || load.socket_errors > load.requests / 1_000 {
            let (errors, sockets) = (load.statuses_above_399, load.socket_errors);
            let requests = load.requests;
            return Err(format!(
                "{}: {}: of {requests} requests {errors} had a status above 399 and {sockets} failed",
                kind.name(),
                self.name
            )
            .into());
        }
        Ok(())
    }
}

/// One request on a connection of its own, and the whole answer.
pub(crate) fn ask(address: SocketAddr, target: &str, user_agent: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let head = format!(
        "GET {target} HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: {user_agent}\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The same by curl, in the version of HTTP that the scenario is of.
fn curl(arguments: &[&str], scenario: &Scenario) -> Result<String, Box<dyn Error>> {
    let mut curl = Command::new("curl");
    curl.args(["-sSik", "-A", scenario.user_agent]).args(arguments);
    let output = curl.output().map_err(|error| format!("cannot run curl: {error}"))?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = if scenario.protocol == Protocol::Http2 { "HTTP/2 " } else { "HTTP/1.1 " };
    if !answer.starts_with(version) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("it does not speak {version}: {answer}{said}").into());
    }
    Ok(answer)
}
