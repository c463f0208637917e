//! What a host could hold, asked of the rows in a folder of its own.

mod fleet;
mod losses;
mod moves;
mod processes;
mod waived;

use super::*;
use crate::config::{Arguments, Config, DurationValue};
use crate::decide::{FormerVersion, SiteRules, VersionId};
use crate::policy::check;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use tempfile::TempDir;

/// A folder with a configuration, and what a gateway there would do.
struct HistoryScene(TempDir);

fn closing(path: &str) -> String {
    format!("User-agent: *\nDisallow: /{path}\n")
}

#[expect(clippy::unnecessary_wraps, reason = "what is not known has no id")]
fn id(path: &str) -> Option<VersionId> {
    Some(VersionId::of(closing(path).as_bytes()))
}

impl HistoryScene {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The configuration of sites: their hosts, and which path they close.
    fn config(&self, sites: &[(&[&str], &str)]) -> Config {
        use std::fmt::Write as _;
        let mut text = String::from("notice = \"1000s\"\nstate_dir = \"state\"\n");
        for (hosts, path) in sites {
            writeln!(text, "[[sites]]\norigin = \"http://127.0.0.1:9\"").unwrap();
            if *path == OF_ORIGIN {
                writeln!(text, "robots = {{ from = \"origin\" }}").unwrap();
            } else if *path == NO_FILE {
                writeln!(text, "robots = {{ from = \"none\" }}").unwrap();
            } else {
                std::fs::write(self.path().join(format!("{path}.txt")), closing(path)).unwrap();
                writeln!(text, "robots = \"{path}.txt\"").unwrap();
            }
            if !hosts.is_empty() {
                writeln!(text, "hosts = {hosts:?}").unwrap();
            }
        }
        let file = self.path().join("gateway.toml");
        std::fs::write(&file, text).unwrap();
        Config::load(&Arguments { config: Some(file), ..Arguments::default() }).unwrap()
    }

    fn policy(&self, sites: &[(&[&str], &str)]) -> Policy {
        check(self.config(sites), SystemTime::now()).unwrap()
    }

    /// A gateway that starts here.
    fn start(&self, sites: &[(&[&str], &str)]) -> (NoticeHistory, Policy) {
        let mut history = NoticeHistory::open(&self.config(sites), &ReadBook::default());
        let policy = history.begin(self.policy(sites));
        (history, policy)
    }

    /// A gateway that starts here, whose store remembers this of rows.
    fn start_with(&self, memory: RowsMemory, sites: &[(&[&str], &str)]) -> (NoticeHistory, Policy) {
        let mut history = NoticeHistory::new(&self.config(sites), (memory, NoticeTime::default()));
        let policy = history.begin(self.policy(sites));
        (history, policy)
    }

    /// The same gateway after a reload.
    fn reload(&self, history: &mut NoticeHistory, previous: &Policy, sites: &[(&[&str], &str)]) -> Policy {
        let mut policy = self.policy(sites);
        history.adopt(&mut policy, Some(previous)).unwrap();
        history.end_former(&policy);
        again(history, &policy)
    }
}

/// The same policy with the past as it is now.
fn again(history: &mut NoticeHistory, policy: &Policy) -> Policy {
    let mut next = Policy { in_force: OnceLock::new(), ..policy.clone() };
    history.give(&mut next);
    next
}

/// What a row says; `None` for what is not known.
fn id_of(former: &FormerVersion) -> Option<VersionId> {
    former.version.as_ref().ok()?.id
}

fn is_unknown(former: &FormerVersion) -> bool {
    former.version.is_err()
}

/// What visitors of a host could hold beside the version in force; `None` for what is not known.
fn held(policy: &Policy, host: &str) -> Vec<Option<VersionId>> {
    let (_, rules) = policy.found(policy.hosts.find(host)).unwrap();
    let mut held: Vec<_> = rules.former.iter().map(|former: &FormerVersion| id_of(former)).collect();
    held.sort_unstable();
    held
}

fn sorted(mut ids: Vec<Option<VersionId>>) -> Vec<Option<VersionId>> {
    ids.sort_unstable();
    ids
}

/// A host whose site has its origin's file, which is not known.
const OF_ORIGIN: &str = "(origin)";

/// A host whose site has no file.
const NO_FILE: &str = "";
