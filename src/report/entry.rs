//! One element of a report: one crawler, as one site knows it, with one proof.

use super::conduct::Conduct;
use super::files::{CrawlDelay, Told};
use super::headline::amount;
use super::optional_time;
use super::proved::MethodCounts;
use crate::decide::{Notice, VersionId};
use crate::record::{CountSubject, CountedDecision, EventKind, ReadTotal, Stretch, word};
use crate::robots::unmarked;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

/// What one crawler did at one site, as far as one proof goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportEntry {
    /// Which crawler, where, and what supported its name at the time.
    #[serde(flatten)]
    pub subject: CountSubject,
    /// By which methods that was known.
    pub proof_by: MethodCounts,
    /// What can be said of it in one word.
    pub conduct: Conduct,
    /// Requests that were judged, in the window.
    pub requests: u64,
    /// Complete reads of robots.txt, over all that is kept.
    pub reads: u64,
    /// The last of them.
    #[serde(serialize_with = "optional_time")]
    pub last_read: Option<SystemTime>,
    /// Which version that was.
    #[serde(with = "word::optional")]
    pub last_read_version: Option<VersionId>,
    /// Requests that every version it could hold disallows; of hypothetical rules, those that they disallow.
    pub violations: u64,
    /// Requests that only some of these versions disallow. Nobody is accused of them.
    pub stale: u64,
    /// Requests for a disallowed path in another spelling. No violations.
    pub variants: u64,
    /// Allowed requests under a borrowed name.
    pub spoofed: u64,
    /// Allowed requests that came faster than it was asked to come. No violations.
    pub too_fast: u64,
    /// Those of them that were answered 429.
    pub slowed: u64,
    /// Requests that were refused for what the rules say; each of them is one of the above, too.
    pub refused: u64,
    /// Bytes of the bodies that it was sent in answer to judged requests; `None` where they are not known.
    pub bytes: Option<u64>,
    /// Requests with a browser's header from addresses that it has to itself, by what the header says. They are judged
    /// by nothing, and in none of the other counts.
    pub hidden: BTreeMap<Box<str>, u64>,
    /// First seen, over all that is kept.
    #[serde(serialize_with = "optional_time")]
    pub first_seen: Option<SystemTime>,
    /// Last seen, over all that is kept.
    #[serde(serialize_with = "optional_time")]
    pub last_seen: Option<SystemTime>,
    /// When its first violation in the window came. From a store this is the start of the minute, hour or day by
    /// which counts of that time are kept, but not before it was first seen.
    #[serde(serialize_with = "optional_time")]
    pub first_violation: Option<SystemTime>,
    /// When its last one came, likewise.
    #[serde(serialize_with = "optional_time")]
    pub last_violation: Option<SystemTime>,
    /// How fast it was asked to come, and how fast it came.
    pub crawl_delay: CrawlDelay,
    /// The rules that violations, stale requests and variants rest on, the most frequent first.
    pub rules: Vec<RuleCount>,
    /// What it asked for, over the days that the window touches: by violations, then by requests; `(other)` last.
    pub paths: Vec<PathCount>,
    /// What it was told about the use of pages, in all that it read, the first first.
    pub told: Vec<Told>,
    /// Violations of a version that it had read; part of `violations`.
    #[serde(skip)]
    pub violations_after_read: u64,
    /// The last read by what may be the same crawler: its name with another proof, or one that shares its
    /// cache. It excuses, and convicts nobody.
    #[serde(skip)]
    pub kin_read: Option<SystemTime>,
    /// In a replay, when it last fetched a robots.txt that is not known to be the one that is judged by.
    #[serde(skip)]
    pub other_fetch: Option<SystemTime>,
    /// A read of it could have gone unseen, or its record been lost.
    #[serde(skip)]
    pub reads_may_be_missing: bool,
    /// What it read of which version, on whatever host, oldest first, over all that is kept.
    #[serde(skip)]
    pub reads_of: Vec<ReadTotal>,
    /// How many of its requests came when, in the order of time.
    #[serde(skip)]
    pub stretches: Vec<Stretch>,
}

/// How often one rule was met in one way, in whichever versions of the file it stands. The kind follows from
/// `notice`: `read` and `lapsed` are violations, the others are stale, and a variant has none. Of hypothetical rules
/// nobody had notice.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleCount {
    /// Kind, action, notice, group and text; line and version are those of the version in which it was met last.
    pub decision: Arc<CountedDecision>,
    /// How many requests.
    pub count: u64,
    /// The same by version, the one in which it was met last first.
    pub versions: Vec<RuleVersion>,
}

/// How often a rule was met in one version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleVersion {
    /// Which version; `None` for a site without a file.
    #[serde(rename = "robots_version", with = "word::optional")]
    pub version: Option<VersionId>,
    /// Its line there.
    pub line: Option<u32>,
    /// How many requests.
    pub count: u64,
}

/// How often one target was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathCount {
    /// Path and query; `(other)` for the rest.
    pub target: String,
    /// How many requests.
    pub count: u64,
    /// How many of them were violations.
    pub violations: u64,
    /// How many of them were refused.
    #[serde(skip)]
    pub refused: u64,
}

impl ReportEntry {
    /// The visits in disguise, in words.
    pub fn hidden_words(&self) -> Option<String> {
        let families: Vec<&str> = self.hidden.keys().map(|family| &**family).collect();
        let requests = amount(self.hidden.values().sum(), "request", "requests");
        let families = families.join(" and ");
        (!families.is_empty()).then(|| format!("also {requests} from its own addresses as {families}"))
    }

    /// Whether it is the rest of a day's many names, of whom nothing can be told one by one.
    pub fn is_rest(&self) -> bool {
        self.subject.crawler.as_deref() == Some(crate::record::OTHER_CRAWLERS)
    }

    /// Whether nothing can be said of it but what the rules would have meant.
    pub fn is_hypothetical(&self) -> bool {
        self.conduct == Conduct::Hypothetical
    }

    /// Violations without a counted read of the version, the notice of every version that allows the request
    /// being over. A read may have been seen that does not count: one that is too recent, or of another network.
    pub const fn violations_without_read(&self) -> u64 {
        self.violations.saturating_sub(self.violations_after_read)
    }
}

impl RuleCount {
    /// The rule as written, and what it was generated for.
    pub fn text(&self) -> (Option<&str>, Option<&str>) {
        let (text, source) = self.decision.rule.as_deref().map(unmarked).unzip();
        (text, source.flatten())
    }

    /// Versions beside the one that is named: `and 2 other versions`.
    pub fn more_versions(&self) -> Option<String> {
        let more = self.versions.len().saturating_sub(1) as u64;
        (more > 0).then(|| format!("and {}", amount(more, "other version", "other versions")))
    }

    /// What kind of request it counts.
    pub fn kind(&self) -> EventKind {
        self.decision.kind
    }

    /// The same in words.
    pub fn what(&self) -> &'static str {
        match (self.decision.kind, self.decision.notice) {
            (EventKind::Violation, None) => "would be disallowed",
            (EventKind::Violation, Some(Notice::Read)) => "after a counted read",
            (EventKind::Violation, _) => "without a counted read",
            (EventKind::Stale, Some(Notice::Unknown)) => "stale: not all that it could hold is known",
            (EventKind::Stale, Some(Notice::Unpublished)) => "stale: the file was not published",
            (EventKind::Stale, _) => "stale",
            (EventKind::Variant, _) => "in another spelling",
            (EventKind::Spoof, _) => "borrowed name",
            (EventKind::Pace, _) => "too fast",
            (EventKind::Allowed, _) => "allowed",
        }
    }

    /// Whether the version in force disallows it. A stale request may be one that only an older version
    /// disallows; then the rule is what allows it now, or there is none.
    pub fn is_of_disallow(&self) -> bool {
        let name = |rule: &str| {
            let rule = rule.trim_start();
            rule.split_once(|symbol: char| symbol == ':' || symbol.is_whitespace())
                .is_some_and(|(name, _)| name.eq_ignore_ascii_case("allow"))
        };
        self.decision.rule.as_deref().is_some_and(|rule| !name(rule))
    }
}

impl Serialize for RuleCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let decision = &*self.decision;
        let (text, source) = self.text();
        let rule = json!({
            "group": decision.group,
            "line": decision.line,
            "rule": text,
            "source": source,
            "robots_version": decision.version.as_ref().map(ToString::to_string),
            "notice": decision.notice.map(Notice::as_str),
            "action": decision.action.as_str(),
            "count": self.count,
            "versions": self.versions,
        });
        rule.serialize(serializer)
    }
}
