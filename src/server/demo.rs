//! `robots-gateway --demo`: a built-in origin of a few pages, a sample robots.txt, and what to try.

use super::pages::Pages;
use crate::config::{AdminValue, Arguments, Config, DurationValue, ListenerConfig, ModeValue};
use crate::enforce::Mode;
use crate::process::{SocketError, bind};
use http::{Request, Response, StatusCode};
use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The robots.txt that ships as an example.
const SAMPLE: &str = include_str!("../../rules/robots.txt");

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
const OTHER_CRAWLER: &str = "CCBot/2.0 (https://commoncrawl.org/faq/)";
pub(super) const BROWSER: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36";

/// Why the demonstration cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The loopback has no free port.
    #[error(transparent)]
    Bind(#[from] SocketError),
    /// The sample cannot be written.
    #[error("{}: cannot write the sample", _0.display())]
    Sample(PathBuf, #[source] io::Error),
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
    pub fn prepare(arguments: &mut Arguments) -> Result<Self, DemoError> {
        let demo = Self::with_robots(SAMPLE)?;
        let folder = &demo.folder;
        let robots = folder.join("robots.txt");
        arguments.origin = Some(format!("http://{}", demo.address));
        arguments.robots.get_or_insert(robots);
        arguments.state_dir.get_or_insert_with(|| folder.clone());
        arguments.control.get_or_insert_with(|| folder.join("control.sock"));
        arguments.journal.get_or_insert_with(|| "-".to_owned());
        arguments.admin.get_or_insert(AdminValue(None));
        // No notice, so that a change of the rules can be seen at once too.
        arguments.notice.get_or_insert(DurationValue(Duration::ZERO));
        // To be seen at once; everywhere else a gateway starts in audit.
        arguments.mode.get_or_insert(ModeValue(Mode::Enforce));
        Ok(demo)
    }

    /// The origin alone, with this robots.txt in its folder.
    pub(super) fn with_robots(rules: &str) -> Result<Self, DemoError> {
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener
            .local_addr()
            .map_err(|source| SocketError { address: "127.0.0.1:0".to_owned(), source })?;
        let folder = own_folder()?;
        let robots = folder.join("robots.txt");
        std::fs::write(&robots, rules).map_err(|error| DemoError::Sample(robots, error))?;
        Ok(Self { listener, address, folder })
    }

    /// Prints what is running and what to try.
    pub fn introduce(&self, config: &Config, listeners: &[(TcpListener, ListenerConfig)]) {
        let address = listeners.first().and_then(|(listener, _)| listener.local_addr().ok());
        let url = address.map_or_else(String::new, |address| format!("http://{address}"));
        let control = config.control.display();
        let robots = config
            .sites
            .first()
            .and_then(|site| site.robots.file())
            .unwrap_or_else(|| Path::new(""))
            .display();
        // A closed standard output costs the introduction, not the gateway.
        let _ = writeln!(
            io::stdout(),
            "\
robots-gateway stands at {url} in front of a built-in site, in mode {mode}.
Its rules: {robots}

A browser reads every page:
  curl -A '{BROWSER}' {url}/drafts/

A crawler is refused what robots.txt forbids it, and told why:
  curl -i -A '{CRAWLER}' {url}/drafts/

What it may read, it may:
  curl -A '{CRAWLER}' {url}/news/

So may a crawler without a group of its own, which obeys that of `*`:
  curl -A '{OTHER_CRAWLER}' {url}/news/

A tool is only recorded; each record is a line below:
  curl {url}/drafts/

The rules, served by the gateway itself:
  curl -i {url}/robots.txt

Change the rules in another terminal and ask again as that crawler; they are in force as soon as the file
is saved:
  echo 'Disallow: /news/' >> {robots}
  {gatewayctl} status --control {control}

Ctrl-C stops it.
",
            mode = config.mode,
            gatewayctl = gatewayctl(),
        );
    }

    pub(super) fn pages() -> Pages {
        Pages::new(page)
    }

    /// Removes its folder. One that stays behind hurts nobody.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The tool as it can be called from here: it is built beside this program, which need not be on `PATH`.
fn gatewayctl() -> String {
    let beside = std::env::current_exe().ok().map(|program| program.with_file_name("gatewayctl"));
    let here = std::env::current_dir().ok();
    let found = beside.filter(|path| path.exists()).map(|path| {
        let shortened = here.and_then(|here| path.strip_prefix(here).map(Path::to_owned).ok());
        shortened.unwrap_or(path).display().to_string()
    });
    found.unwrap_or_else(|| "gatewayctl".to_owned())
}

/// A new folder that nobody else can have prepared.
fn own_folder() -> Result<PathBuf, DemoError> {
    let process = std::process::id();
    let mut taken = None;
    for number in 0..100 {
        let folder = std::env::temp_dir().join(format!("robots-gateway-demo-{process}-{number}"));
        match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) => taken = Some(DemoError::Sample(folder, error)),
        }
    }
    Err(taken.unwrap_or_else(|| DemoError::Sample(std::env::temp_dir(), io::ErrorKind::AlreadyExists.into())))
}

fn page(request: &Request<()>) -> Response<Vec<u8>> {
    let path = request.uri().path();
    let text = PAGES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text);
    let status = if text.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
    let mut response = Response::new(format!("{}\n", text.unwrap_or("No such page.")).into_bytes());
    *response.status_mut() = status;
    let content_type = http::HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(http::header::CONTENT_TYPE, content_type);
    response
}
