//! The answer to "who breaks my rules?" in one sentence.
//!
//! It never says more than was seen: "no read was seen", not "never read".

use super::conduct::Conduct;
use super::{Entry, Reads, Report};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Totals over crawlers under their own names, and what they come to in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// One sentence, without a full stop. Names in it are as the clients sent them: make them harmless.
    pub headline: String,
    /// What the report cannot see, or what it lacks: whole sentences; empty when nothing.
    pub caveats: Vec<String>,
    /// Crawlers by name, whatever the site and the proof.
    pub crawlers: usize,
    /// Those that broke a rule they had read.
    pub ignoring: usize,
    /// Those that broke a rule, read or not.
    pub violating: usize,
    /// Their requests.
    pub requests: u64,
    /// Their violations.
    pub violations: u64,
    /// Their stale requests.
    pub stale: u64,
    /// Their variants.
    pub variants: u64,
    /// Their refused requests.
    pub refused: u64,
}

/// What one name did at all sites.
#[derive(Clone, Copy, Debug, Default)]
struct Deeds {
    violations: u64,
    after_read: u64,
    ignored: bool,
    no_read_seen: bool,
}

impl Summary {
    pub(super) fn of(report: &Report) -> Self {
        let mut names: BTreeMap<&str, Deeds> = BTreeMap::new();
        let mut summary = Self::default();
        for entry in report.named() {
            summary.add(entry);
            let deeds = names.entry(entry.name()).or_default();
            deeds.violations += entry.violations;
            deeds.after_read +=
                if entry.conduct == Conduct::Ignored { entry.violations_after_read } else { 0 };
            deeds.ignored |= entry.conduct == Conduct::Ignored;
            deeds.no_read_seen |= entry.conduct == Conduct::NoReadSeen;
        }
        summary.crawlers = names.len();
        summary.ignoring = names.values().filter(|deeds| deeds.ignored).count();
        summary.violating = names.values().filter(|deeds| deeds.violations > 0).count();
        summary.headline = headline(&summary, &names);
        summary.caveats = caveats(report);
        summary
    }

    fn add(&mut self, entry: &Entry) {
        self.requests += entry.requests;
        self.violations += entry.violations;
        self.stale += entry.stale;
        self.variants += entry.variants;
        self.refused += entry.refused;
    }
}

fn headline(summary: &Summary, names: &BTreeMap<&str, Deeds>) -> String {
    let all = summary.crawlers;
    if all == 0 {
        return "no crawler was seen".to_owned();
    }
    if summary.violating == 0 {
        return match all {
            1 => "the only crawler that was seen broke no rule".to_owned(),
            2 => "neither of the 2 crawlers broke a rule".to_owned(),
            _ => format!("none of {} crawlers broke a rule", grouped(all as u64)),
        };
    }
    let of_all = format!("of {} {}", grouped(all as u64), if all == 1 { "crawler" } else { "crawlers" });
    let unread = names.values().filter(|deeds| deeds.no_read_seen && !deeds.ignored).count();
    if summary.ignoring > 0 {
        let worst = worst(names, |deeds| deeds.after_read);
        let more = match unread {
            0 => String::new(),
            _ => format!("; {} more broke rules, and no read was seen", grouped(unread as u64)),
        };
        return format!(
            "{} {of_all} broke rules they had read{worst}{more}",
            grouped(summary.ignoring as u64)
        );
    }
    let (count, worst) = (grouped(summary.violating as u64), worst(names, |deeds| deeds.violations));
    if unread == summary.violating {
        format!("{count} {of_all} broke rules, and no read was seen{worst}")
    } else {
        format!("{count} {of_all} broke rules they were not seen to read{worst}")
    }
}

/// Who did it most, and how often.
fn worst(names: &BTreeMap<&str, Deeds>, count: impl Fn(&Deeds) -> u64) -> String {
    let worst = names.iter().max_by_key(|(name, deeds)| (count(deeds), Reverse(**name)));
    worst.map_or_else(String::new, |(name, deeds)| match count(deeds) {
        1 => format!("; {name} once"),
        many => format!("; {name} {} times", grouped(many)),
    })
}

fn caveats(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    if report.reads == Reads::Partial {
        found.push(
            "Reads of robots.txt are seen in part only: a cache in front of the gateway may answer them, \
             so a crawler without a read may have read it all the same."
                .to_owned(),
        );
    }
    for (count, what) in [
        (report.counts_lost, "requests are missing from the counts: the store could not be written."),
        (
            report.details_dropped,
            "details (targets, events, reads) were not recorded; counts are not affected.",
        ),
        (report.removed.counts, "requests were removed from the store by its size cap."),
        (report.removed.details, "details were removed from the store by its size cap."),
    ] {
        if count > 0 {
            found.push(format!("{} {what}", grouped(count)));
        }
    }
    let borrowed: BTreeSet<&str> = report.borrowed().map(Entry::name).collect();
    if !borrowed.is_empty() {
        let requests = report.borrowed().map(|entry| entry.requests).sum();
        found.push(format!(
            "{} requests came under borrowed names ({}); they count against nobody.",
            grouped(requests),
            borrowed.len(),
        ));
    }
    found
}

/// A number with its thousands set apart: `1,204`.
#[must_use]
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
