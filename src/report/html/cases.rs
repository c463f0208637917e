//! Elements of a report one by one: the rules they met, where they went, what they read.

use super::rows::{about, conduct, times};
use super::text::{moment, seconds, visible};
use crate::decide::Notice;
use crate::enforce::Action;
use crate::record::EventKind;
use crate::report::{Conduct, CrawlDelay, PathCount, ReadOf, ReportEntry, RuleCount, amount, grouped};

/// How many rules, paths and reads are shown of one element.
const MOST: usize = 10;

pub(super) struct CaseView {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) about: String,
    pub(super) site: Option<String>,
    pub(super) facts: Vec<Fact>,
    pub(super) rules: Vec<RuleView>,
    pub(super) more_rules: Option<String>,
    pub(super) paths: Vec<PathView>,
    pub(super) reads: Vec<ReadView>,
}

pub(super) struct Fact {
    pub(super) label: &'static str,
    pub(super) value: String,
}

pub(super) struct RuleView {
    pub(super) count: String,
    pub(super) what: &'static str,
    pub(super) line: String,
    pub(super) text: String,
    pub(super) group: String,
    pub(super) version: String,
    pub(super) more_versions: Option<String>,
    pub(super) action: &'static str,
}

pub(super) struct PathView {
    pub(super) target: String,
    pub(super) requests: String,
    pub(super) violations: String,
    pub(super) refused: String,
}

pub(super) struct ReadView {
    pub(super) version: String,
    pub(super) in_force: String,
    pub(super) count: String,
    pub(super) first: String,
    pub(super) last: String,
}

impl CaseView {
    pub(super) fn new(entry: &ReportEntry, id: String, shows_site: bool) -> Self {
        let more = entry.rules.len().saturating_sub(MOST);
        let requests = amount(entry.requests, "request", "requests");
        let mut about = format!("{}; {}; {requests}", about(entry), entry.proof);
        if entry.is_crawler() && !entry.is_borrowed() {
            about = format!("{about}; {}", conduct(entry.conduct));
        }
        Self {
            id,
            name: visible(entry.name()),
            about,
            site: shows_site.then(|| visible(&entry.site)),
            facts: facts(entry),
            rules: entry.rules.iter().take(MOST).map(rule).collect(),
            more_rules: (more > 0).then(|| {
                let rest = entry.rules.iter().skip(MOST).map(|rule| rule.count).sum();
                let requests = amount(rest, "request", "requests");
                format!("{more} more, with {requests}, {} in the JSON.", if more == 1 { "is" } else { "are" })
            }),
            paths: paths(&entry.paths),
            reads: entry.reads_of.iter().rev().take(MOST).map(read).collect(),
        }
    }
}

fn facts(entry: &ReportEntry) -> Vec<Fact> {
    let time = |time: Option<std::time::SystemTime>| time.map_or_else(|| "–".to_owned(), moment);
    let mut facts = vec![
        Fact { label: "First seen", value: time(entry.first_seen) },
        Fact { label: "Last seen", value: time(entry.last_seen) },
    ];
    if entry.is_hypothetical() && entry.violations > 0 {
        facts.push(Fact {
            label: "Would be disallowed",
            value: amount(entry.violations, "request", "requests"),
        });
        facts.push(Fact { label: "The first of them", value: time(entry.first_violation) });
        facts.push(Fact { label: "The last of them", value: time(entry.last_violation) });
    } else if entry.violations > 0 {
        let (after, without) = (entry.violations_after_read, entry.violations_without_read());
        let value = match (after, without) {
            (0, _) if entry.conduct == Conduct::NoReadSeen => {
                format!("{}, and no read was seen; the notice was over", grouped(without))
            }
            (0, _) => format!("{} without a counted read; the notice was over", grouped(without)),
            (_, 0) => format!("{} of a version that it had read", grouped(after)),
            _ => format!(
                "{} of a version that it had read, {} without a counted read; the notice was over",
                grouped(after),
                grouped(without)
            ),
        };
        facts.push(Fact { label: "Violations", value });
        facts.push(Fact { label: "First violation", value: time(entry.first_violation) });
        facts.push(Fact { label: "Last violation", value: time(entry.last_violation) });
    }
    if entry.reads > 0 {
        facts.push(Fact { label: "Read robots.txt", value: times(entry.reads) });
    }
    if let Some(value) = delay(entry.crawl_delay) {
        facts.push(Fact { label: "Crawl-delay", value });
    }
    facts
}

/// Beside what was asked for stands what was seen. It is no rule of RFC 9309, and nobody is accused of it.
fn delay(delay: CrawlDelay) -> Option<String> {
    let observed = delay
        .observed
        .map(|gap| format!("half of its requests came within about {} of the one before", seconds(gap)));
    match (delay.declared, observed) {
        (None, observed) => observed.map(|observed| format!("none asked for; {observed}")),
        (Some(asked), None) => Some(format!("{} asked for", seconds(asked))),
        (Some(asked), Some(observed)) => Some(format!("{} asked for; {observed}", seconds(asked))),
    }
}

fn rule(rule: &RuleCount) -> RuleView {
    let (decision, (text, source)) = (&*rule.decision, rule.text());
    RuleView {
        count: grouped(rule.count),
        what: match (decision.kind, decision.notice) {
            (EventKind::Violation, None) => "would be disallowed",
            (EventKind::Violation, Some(Notice::Read)) => "violation, had read it",
            (EventKind::Violation, _) => "violation, notice was over",
            (EventKind::Stale, _) => "stale",
            (EventKind::Variant, _) => "variant",
            (EventKind::Spoof, _) => "borrowed name",
            (EventKind::Allowed, _) => "allowed",
        },
        line: decision.line.map_or_else(String::new, |line| match source {
            Some(source) => format!("{line} ({})", visible(source)),
            None => line.to_string(),
        }),
        text: text.map_or_else(String::new, visible),
        group: visible(&decision.group.join(", ")),
        version: decision.version.map_or_else(String::new, |version| version.to_string()),
        more_versions: more_versions(rule),
        action: match decision.action {
            Action::Forward => "forwarded",
            Action::Refuse => "refused",
        },
    }
}

/// Versions beside the one that is named.
fn more_versions(rule: &RuleCount) -> Option<String> {
    let more = rule.versions.len().saturating_sub(1);
    (more > 0).then(|| format!("and {}", amount(more as u64, "other version", "other versions")))
}

fn paths(paths: &[PathCount]) -> Vec<PathView> {
    let view = |path: &PathCount| PathView {
        target: visible(&path.target),
        requests: grouped(path.counts.requests()),
        violations: grouped(path.counts.violations),
        refused: grouped(path.counts.refused),
    };
    paths.iter().take(MOST).map(view).collect()
}

fn read(read: &ReadOf) -> ReadView {
    ReadView {
        version: read.version.to_string(),
        in_force: moment(read.in_force),
        count: grouped(read.count),
        first: moment(read.first),
        last: moment(read.last),
    }
}
