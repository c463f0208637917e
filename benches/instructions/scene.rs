//! What the stages work on: the shipped catalogue, the sample robots.txt in enforce mode, and typical requests.

use clap::Parser as _;
use robots_gateway::config::{Arguments, Config};
use robots_gateway::decide::{NoticeTime, Read};
use robots_gateway::policy::{Policy, Site, trial};
use robots_gateway::record::{ReadBook, ReaderId, Recorder};
use robots_gateway::request::{RequestFacts, Scheme, host, target};
use std::borrow::Cow;
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

pub(crate) const BROWSER: &[u8] =
    b"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

pub(crate) const CRAWLER: &[u8] =
    b"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";

/// A target that the sample allows GPTBot, and one that it does not.
pub(crate) const ALLOWED: &[u8] = b"/news/2024/05/the-long-read.html?page=2";
pub(crate) const DISALLOWED: &[u8] = b"/products/shoes/running/42.html?page=2";

const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/robots.txt");

/// What all stages share.
pub(crate) struct BenchScene {
    pub(crate) policy: Policy,
    pub(crate) site: Arc<Site>,
    pub(crate) recorder: Recorder,
    pub(crate) reads: ReadBook,
    pub(crate) now: SystemTime,
    _folder: TempDir,
}

impl BenchScene {
    pub(crate) fn new() -> Result<Self, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        let state = folder.path().display().to_string();
        let options =
            ["instructions", "--origin", "http://127.0.0.1:9", "--robots", SAMPLE, "--mode", "enforce"];
        let arguments = Arguments::parse_from(options.into_iter().chain(["--state-dir", &state]));
        // A fixed time, so that no count falls into another minute in one run and not in the next.
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let policy = trial(Config::load(&arguments)?, now)?;
        let site = policy.site("example.org").cloned().ok_or("the configuration has no default site")?;
        let recorder = Recorder::start(&policy.config.store())?;
        let reads = ReadBook::default();
        let scene = Self { policy, site, recorder, reads, now, _folder: folder };
        scene.crawler_has_read();
        Ok(scene)
    }

    /// GPTBot has read the file, as a crawler has that fetches pages.
    fn crawler_has_read(&self) {
        let identity = self.policy.identifier.recognise(Some(CRAWLER));
        let facts = facts(CRAWLER, DISALLOWED);
        let proof = robots_gateway::identify::Proof::Unchecked;
        let reader = ReaderId::new(&facts.host, &identity, proof, facts.address);
        if self.site.version().is_some() {
            let rules = self.site.rules.current().rules;
            let read = Read { rules, as_of: NoticeTime::default(), at: NoticeTime::default() };
            self.reads.note(reader, identity.client, read);
        }
    }
}

/// When requests come: what was read at the beginning counts.
pub(crate) const NOW: NoticeTime = NoticeTime(Duration::from_secs(600));

/// A request's head as the proxy would read it.
pub(crate) fn facts<'a>(user_agent: &'a [u8], sent: &'a [u8]) -> RequestFacts<'a> {
    RequestFacts {
        scheme: Scheme::Http,
        method: "GET",
        host: host::normalise("www.example.org:8080"),
        target: target::origin_form(sent).unwrap_or(Cow::Borrowed(b"/")),
        user_agent: Some(Cow::Borrowed(user_agent)),
        address: Some(IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7))),
    }
}
