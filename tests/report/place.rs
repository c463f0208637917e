//! A place that outlives its gateways: robots.txt, address ranges, state folder and origin.

use crate::support::command::ctl;
use crate::support::{Builder, Daemon, Ended, Folder, Nginx, configured};
use serde_json::Value;

/// Lines count: the ledger names them.
pub(crate) const ROBOTS: &str = "User-agent: *\nDisallow: /private/\nDisallow: /secret\nAllow: /private/open\nCrawl-delay: 10\n\nUser-agent: GPTBot\nDisallow: /private/\nDisallow: /article\n";

/// What an operator publishes: GPTBot comes from here.
const RANGES: &str = r#"{"prefixes": [{"ipv4Prefix": "20.171.206.0/24"}]}"#;

pub(crate) struct ReportPlace {
    pub(crate) folder: Folder,
    origin: Nginx,
}

impl ReportPlace {
    pub(crate) fn new() -> Self {
        Self::with(ROBOTS)
    }

    pub(crate) fn with(robots: &str) -> Self {
        let folder = Folder::new();
        folder.write("robots.txt", robots);
        let ranges = folder.join("state").join("ranges");
        std::fs::create_dir_all(&ranges).expect("a folder");
        std::fs::write(ranges.join("openai.com_gptbot.json"), RANGES).expect("a list");
        Self { folder, origin: Nginx::start() }
    }

    /// Starts a gateway here, in enforce mode, behind a proxy that says where clients come from.
    #[track_caller]
    pub(crate) fn start(&self) -> Daemon {
        self.start_with("settle = \"0s\"\ntrusted_proxies = [\"127.0.0.1\"]")
    }

    /// Starts a gateway with these lines at the top of its configuration.
    #[track_caller]
    pub(crate) fn start_with(&self, lines: &str) -> Daemon {
        self.start_at(lines, "")
    }

    /// The same, and it has served its file for a month.
    #[track_caller]
    pub(crate) fn start_after_long(&self, lines: &str) -> Daemon {
        let robots = std::fs::read(self.folder.join("robots.txt")).expect("a robots.txt");
        self.builder(lines, "").having_served(&robots).start()
    }

    /// The same with these lines of its site.
    #[track_caller]
    pub(crate) fn start_at(&self, lines: &str, site: &str) -> Daemon {
        self.builder(lines, site).start()
    }

    /// Starts a gateway whose time of day is wrong; `None` where nothing can make it so.
    #[track_caller]
    pub(crate) fn start_at_time(&self, offset: &str) -> Option<Daemon> {
        let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
        let mut libraries = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
        let Some(library) = libraries.find(|path| path.exists()) else {
            println!("skipped: libfaketime is not installed");
            return None;
        };
        let builder = self.builder("", "").variable("LD_PRELOAD", library.to_str()?);
        Some(builder.variable("FAKETIME", offset).variable("FAKETIME_DONT_FAKE_MONOTONIC", "1").start())
    }

    fn builder(&self, lines: &str, site: &str) -> Builder {
        let robots = self.folder.join("robots.txt");
        let config = format!(
            "{lines}\n[verify]\ndns = false\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"{}\"\n{site}\n",
            robots.display()
        );
        configured(&config).in_mode("enforce").arg("--state-dir").arg(&self.state()).in_front_of(&self.origin)
    }

    pub(crate) fn state(&self) -> String {
        self.folder.join("state").to_str().expect("UTF-8").to_owned()
    }

    /// Runs `gatewayctl report` on the store here.
    pub(crate) fn report(&self, arguments: &[&str]) -> Ended {
        ctl([&["report", "--state-dir", &self.state()], arguments].concat())
    }

    /// The report as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        self.report(&[arguments, &["--format", "json"]].concat()).exits(0).json()
    }
}

/// Stops a gateway as a service manager does.
#[track_caller]
pub(crate) fn stop(mut gateway: Daemon) {
    gateway.signal("TERM");
    let code = gateway.ends_within(std::time::Duration::from_secs(20));
    assert_eq!(code, Some(0), "it said:\n{}", gateway.log.text());
}
