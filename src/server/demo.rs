//! `robots-gateway --demo`: a built-in origin of a few pages, a sample robots.txt, and what to try.

mod traffic;

pub use traffic::record_made_hour;

use super::pages::Pages;
use crate::config::{AdminValue, Arguments, Config, DurationValue, ListenerConfig};
use crate::enforce::Mode;
use crate::process::{SocketError, bind};
use crate::record::private_folder;
use http::{Request, Response};
use std::io::{self, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The robots.txt that ships as an example.
const SAMPLE: &str = include_str!("../../rules/robots.txt");

/// Where the report is shown.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9309);

/// The pages of the built-in origin: path and text. The sample robots.txt speaks of the same paths.
const PAGES: [(&str, &str); 6] = [
    ("/", "Welcome. People may read every page of this site."),
    ("/news/", "News: open to everyone."),
    ("/drafts/", "Drafts: people may read them, crawlers may not."),
    ("/drafts/preview.html", "A draft that search engines may show."),
    ("/private/", "Private: not for crawlers."),
    ("/private/contact.html", "How to reach us: open to everyone."),
];

pub(super) const CRAWLER: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";
pub(super) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

/// A browser's header that leaves room for the rest of a command on a line.
const SHORT_BROWSER: &str = "Mozilla/5.0 (X11) Firefox/140.0";

/// Why a demonstration or a self-test comes to nothing.
#[derive(Debug, thiserror::Error)]
pub enum BuiltInOriginError {
    /// The loopback has no free port.
    #[error(transparent)]
    Bind(#[from] SocketError),
    /// The sample cannot be written.
    #[error("{}: cannot write the sample", _0.display())]
    Sample(PathBuf, #[source] io::Error),
    /// What a self-test found.
    #[error("self-test failed: {0}")]
    Test(String),
}

/// A built-in origin on a free port of the loopback, with a folder of its own.
#[derive(Debug)]
pub struct DemoOrigin {
    pub(super) listener: TcpListener,
    pub(super) address: SocketAddr,
    pub(super) folder: PathBuf,
}

impl DemoOrigin {
    /// Binds the origin, writes the sample, and fills in every option that was not given.
    ///
    /// # Errors
    /// When no port or no folder can be had.
    pub fn prepare(arguments: &mut Arguments) -> Result<Self, BuiltInOriginError> {
        let demo = Self::with_robots(SAMPLE)?;
        let folder = &demo.folder;
        let robots = folder.join("robots.txt");
        arguments.origin = Some(format!("http://{}", demo.address));
        arguments.robots.get_or_insert(robots);
        arguments.state_dir.get_or_insert_with(|| folder.clone());
        arguments.control.get_or_insert_with(|| folder.join("control.sock"));
        arguments.admin.get_or_insert_with(|| AdminValue(free_address(ADMIN)));
        // No notice, so that a change of the rules can be seen at once too.
        arguments.notice.get_or_insert(DurationValue(Duration::ZERO));
        arguments.journal.get_or_insert_with(|| "-".to_owned());
        // To be seen at once; everywhere else a gateway starts in audit.
        arguments.mode.get_or_insert(Mode::Enforce);
        Ok(demo)
    }

    /// The origin alone, with this robots.txt in its folder.
    pub(super) fn with_robots(rules: &str) -> Result<Self, BuiltInOriginError> {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener
            .local_addr()
            .map_err(|source| SocketError { address: "127.0.0.1:0".to_owned(), source })?;
        let base = std::env::temp_dir();
        let folder = private_folder(&base, "robots-gateway-demo")
            .map_err(|error| BuiltInOriginError::Sample(base, error))?;
        let robots = folder.join("robots.txt");
        std::fs::write(&robots, rules).map_err(|error| BuiltInOriginError::Sample(robots, error))?;
        Ok(Self { listener, address, folder })
    }

    /// Prints what is running and what to try.
    pub fn introduce(&self, config: &Config, listeners: &[(TcpListener, ListenerConfig)]) {
        let address = listeners.first().and_then(|(listener, _)| listener.local_addr().ok());
        let url = address.map_or_else(String::new, |address| format!("http://{address}"));
        let robots = config.sites.first().and_then(|site| site.robots.file.as_deref());
        let robots = robots.map(|file| file.display().to_string()).unwrap_or_default();
        let page =
            |admin| format!("A report of an hour of generated traffic:\n  http://{admin}/?since=1h\n\n");
        let report = config.admin.map(page);
        // A closed standard output costs the introduction, not the gateway.
        let _ = writeln!(
            io::stdout(),
            "\
robots-gateway runs at {url} in front of a built-in site.

{report}A crawler that asks for a disallowed page is refused, and sees why:
  curl -A 'CCBot/2.0' {url}/drafts/

A browser may read every page:
  curl -A '{SHORT_BROWSER}' {url}/drafts/

Let the crawler in, and ask again; a saved file is in force at once:
  echo 'Allow: /drafts/' >> {robots}

Each event is a line of the journal, in JSON, below. Ctrl-C stops it.
",
            report = report.unwrap_or_default(),
        );
    }

    pub(super) fn pages() -> Pages {
        Pages { answer: Arc::new(page), takes_form: Arc::new(|_| false) }
    }

    /// Removes its folder. A thread that still writes a file into it makes this fail, so it is tried for a second.
    pub fn remove(&self) {
        for _ in 0..100 {
            match std::fs::remove_dir_all(&self.folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Ok(()) | Err(_) => return,
            }
        }
    }
}

/// This address of the loopback or, where somebody listens there, one that is free now.
fn free_address(wanted: SocketAddr) -> Option<SocketAddr> {
    let free = |address| bind(address).ok().and_then(|listener| listener.local_addr().ok());
    free(wanted).or_else(|| free(SocketAddr::new(wanted.ip(), 0)))
}

fn page(request: &Request<()>) -> Response<Vec<u8>> {
    let found = PAGES.iter().find(|(known, _)| *known == request.uri().path());
    let (status, text) = found.map_or((404, "No such page."), |(_, text)| (200, *text));
    let page = Response::builder().status(status).header("content-type", "text/plain; charset=utf-8");
    page.body(format!("{text}\n").into_bytes()).unwrap_or_default()
}
