//! What really happened, and what crawlers could hold because of it.

use super::{NOTICE, SETTLE};
use crate::dice::Dice;
use crate::support::journal::JournalFile;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

pub(super) const HOSTS: [&str; 5] = ["a.example", "b.example", "x.w.example", "y.w.example", "other.example"];
pub(super) const PATTERNS: [&str; 4] = ["a.example", "b.example", "*.w.example", "x.w.example"];
pub(super) const FILES: usize = 3;
/// The number of a site that serves no file, which allows everything.
pub(super) const NO_FILE: usize = FILES;
pub(super) const PAGES: u64 = 3;

pub(super) fn index(dice: &mut Dice, bound: usize) -> usize {
    usize::try_from(dice.below(bound as u64)).expect("small")
}

/// Which pages a version disallows, one bit for each.
pub(super) type PageSet = u64;

/// A stretch of time in which a host was given one version.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) rules: PageSet,
    /// It was certainly served until here.
    pub(super) at_least_until: Instant,
    /// And certainly not any more after this.
    pub(super) at_most_until: Instant,
}

/// A complete read by a crawler.
#[derive(Clone, Copy, Debug)]
pub(super) struct ModelRead {
    pub(super) begun: Instant,
    pub(super) done: Instant,
}

/// What really happened.
#[derive(Default)]
pub(super) struct Truth {
    pub(super) served: BTreeMap<&'static str, Vec<Served>>,
    pub(super) reads: BTreeMap<(&'static str, usize), Vec<ModelRead>>,
    /// When something happened last that may make the gateway lenient for a while.
    pub(super) shaken: Option<Instant>,
    /// When records of what was served were lost last.
    pub(super) lost: Option<Instant>,
}

/// What each host is given.
pub(super) type Given = BTreeMap<&'static str, PageSet>;

impl Truth {
    /// The hosts are given something else than `old` from between `from` and `to` on.
    pub(super) fn change(&mut self, old: &Given, next: &Given, from: Instant, to: Instant) {
        for (host, rules) in old {
            if next.get(host) != Some(rules) {
                let served = Served { rules: *rules, at_least_until: from, at_most_until: to };
                self.served.entry(host).or_default().push(served);
            }
        }
        for list in self.served.values_mut() {
            list.retain(|served| served.at_most_until.elapsed() < 2 * NOTICE);
        }
    }

    /// Whether a version that the crawler could hold allows the page.
    pub(super) fn excuse(
        &self,
        host: &'static str,
        who: usize,
        page: u64,
        sent: Instant,
        done: Instant,
        certainly: bool,
    ) -> bool {
        let reads = self.reads.get(&(host, who)).map_or(&[][..], Vec::as_slice);
        let mut held =
            self.served.get(host).into_iter().flatten().filter(|served| served.rules >> page & 1 == 0);
        held.any(|served| {
            if certainly {
                let within = served.at_least_until + NOTICE > done;
                let has_read = reads
                    .iter()
                    .any(|read| read.begun + SETTLE <= done && read.done >= served.at_least_until);
                within && !has_read
            } else {
                let within = served.at_most_until + NOTICE > sent;
                let has_read =
                    reads.iter().any(|read| read.done + SETTLE <= sent && read.begun > served.at_most_until);
                within && !has_read
            }
        })
    }
}

/// Which file stands at which pattern; patterns without one belong to the default site.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) files: BTreeMap<&'static str, usize>,
    pub(super) default: usize,
}

impl Layout {
    pub(super) fn roll(dice: &mut Dice) -> Self {
        let mut files = BTreeMap::new();
        for pattern in PATTERNS {
            if dice.below(3) > 0 {
                files.insert(pattern, index(dice, FILES + 1));
            }
        }
        Self { files, default: index(dice, FILES) }
    }

    pub(super) fn file(&self, host: &str) -> usize {
        let wildcard = host.ends_with(".w.example").then_some("*.w.example");
        let found = self.files.get(host).or_else(|| self.files.get(wildcard?));
        found.copied().unwrap_or(self.default)
    }

    /// Patterns of one file are one site; its name changes with the first of them.
    pub(super) fn config(&self, origin: &str) -> String {
        let mut text = format!(
            "mode = \"enforce\"\nsettle = \"{}ms\"\ntrusted_proxies = [\"127.0.0.1\"]\n\
             journal_rate = \"off\"\n[verify]\ndns = false\n",
            SETTLE.as_millis()
        );
        for file in 0..=FILES {
            let hosts: Vec<&str> =
                self.files.iter().filter(|(_, of)| **of == file).map(|(pattern, _)| *pattern).collect();
            if !hosts.is_empty() {
                let robots = if file == NO_FILE {
                    "robots = { from = \"none\" }\n".to_owned()
                } else {
                    format!("robots = \"robots-{file}.txt\"\n")
                };
                write!(text, "[[sites]]\nhosts = {hosts:?}\norigin = \"{origin}\"\n{robots}")
                    .expect("a String");
            }
        }
        let default = self.default;
        write!(text, "[[sites]]\norigin = \"{origin}\"\nrobots = \"robots-{default}.txt\"\n")
            .expect("a String");
        text
    }
}

pub(super) fn robots(rules: PageSet, comment: u64) -> String {
    let mut text = format!("# {comment}\nUser-agent: *\nAllow: /open\n");
    for page in (0..PAGES).filter(|page| rules >> page & 1 == 1) {
        writeln!(text, "Disallow: /page{page}").expect("a String");
    }
    text
}

/// A copy that a crawler has, and what it asks with whether that is current.
#[derive(Clone, Debug)]
pub(super) struct KeptVersion {
    pub(super) rules: PageSet,
    pub(super) etag: String,
    pub(super) date: String,
}

/// How many requests the journal accuses crawlers of. Of those that were `asked`, none may be one that a version which the
/// crawler certainly could hold allows.
pub(super) fn accused(state: &Path, asked: &BTreeMap<String, bool>) -> usize {
    let events = JournalFile(state.join("journal.jsonl")).events();
    let accused = events.iter().filter(|event| event["event"] == "violation");
    accused
        .inspect(|event| {
            let is_held = event["target"].as_str().and_then(|target| asked.get(target)).copied();
            assert_ne!(is_held, Some(true), "accused unfairly: {event}");
        })
        .count()
}

/// Where libfaketime is, which steps the time of day for one process.
pub(crate) fn library() -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let found =
        folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists())?;
    found.to_str().map(str::to_owned)
}
