//! The answer to "who breaks my rules?" in one sentence.
//!
//! It never says more than was seen: "no read was seen", not "never read", and that only of whom no read at all
//! was seen. A violation without a counted read is less: the read may be too recent to count, or of another
//! network.

use super::conduct::Conduct;
use super::names::NamedEntries;
use super::{Report, ReportEntry, caveats};
use crate::decide::Notice;
use std::cmp::Reverse;

/// Totals over crawlers under their own names, and what they come to in words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The answer in a line, where rules were broken.
    pub title: Option<String>,
    /// One sentence, without a full stop. Names in it are as the clients sent them: make them harmless.
    pub headline: String,
    /// What the report cannot see, or what it lacks: whole sentences; empty when nothing.
    pub caveats: Vec<String>,
    /// Crawlers by name, whatever the site and the proof, of which requests were judged. The rest of a day's
    /// many names is not among them.
    pub crawlers: usize,
    /// Those that broke a rule they had read.
    pub ignoring: usize,
    /// Those that broke a rule, read or not.
    pub violating: usize,
    /// Those that broke none, and of which rules that nobody had published would have disallowed requests.
    pub disallowed: usize,
    /// Requests, those of the rest of the names included, as in all that follows.
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

impl Summary {
    pub(super) fn of(report: &Report) -> Self {
        let mut summary = Self::default();
        // Who only read robots.txt neither obeyed nor broke it: no request of theirs was judged.
        let judged = || report.named().filter(|entry| entry.requests > 0);
        judged().for_each(|entry| summary.add(entry));
        let names = NamedEntries::all(judged().filter(|entry| !entry.is_rest()));
        let rest = NamedEntries { entries: judged().filter(|entry| entry.is_rest()).collect() };
        let are = |conduct| names.iter().filter(|deeds| deeds.conduct() == conduct).count();
        summary.crawlers = names.len();
        summary.ignoring = are(Conduct::Ignored);
        summary.disallowed = are(Conduct::Hypothetical);
        summary.violating = names.len() - are(Conduct::Obeyed) - are(Conduct::Excused) - summary.disallowed;
        summary.headline = if report.is_hypothetical() && summary.violating == 0 {
            hypothetical(&names, summary.disallowed)
        } else {
            headline(&names)
        };
        if summary.violating > 0 && summary.disallowed > 0 {
            let more = grouped(summary.disallowed as u64);
            let more = format!("; of {more} more, rules not known to be published disallow requests");
            summary.headline.push_str(&more);
        }
        if summary.crawlers == 0 && report.named().next().is_some() {
            "no request of a crawler was judged".clone_into(&mut summary.headline);
        }
        // Beside violations the title tells them.
        if summary.refused > 0 && summary.violations == 0 {
            let requests = amount(summary.refused, "request", "requests");
            let were = match (report.is_replay, summary.refused) {
                (true, _) => "would be",
                (false, 1) => "was",
                (false, _) => "were",
            };
            // Of targets that an origin may read in another way.
            let alone = summary.violations + summary.stale == 0;
            let what = if alone { " that could not be called a violation" } else { "" };
            let more = format!("; {requests} {were} refused{what}");
            summary.headline.push_str(&more);
        }
        if !rest.entries.is_empty() {
            summary.headline.push_str(&of_rest(&rest, summary.crawlers));
        }
        // Names beyond 1,000 a day are counted together, so the title could not say how many crawlers they were.
        summary.title = summary.title(report.is_replay).filter(|_| rest.entries.is_empty());
        summary.caveats = caveats::caveats(report);
        summary
    }

    fn title(&self, is_replay: bool) -> Option<String> {
        if self.violating == 0 {
            return None;
        }
        let who = of_crawlers(self.violating, self.crawlers);
        let requests = amount(self.violations, "request", "requests");
        let refused = match self.refused {
            _ if is_replay => String::new(),
            0 => ", none refused".to_owned(),
            count if count <= self.violations => format!(", {} refused", grouped(count)),
            count => format!(", and {} refused in all", amount(count, "request was", "requests were")),
        };
        Some(format!("{who} broke your rules: {requests}{refused}"))
    }

    fn add(&mut self, entry: &ReportEntry) {
        self.requests += entry.requests;
        self.violations += entry.violations;
        self.stale += entry.stale;
        self.variants += entry.variants;
        self.refused += entry.refused;
    }
}

/// Of rules that it could know.
fn violations(entry: &ReportEntry) -> u64 {
    if entry.is_hypothetical() { 0 } else { entry.violations }
}

/// Of those that it had read.
fn after_read(entry: &ReportEntry) -> u64 {
    if entry.conduct == Conduct::Ignored { entry.violations_after_read } else { 0 }
}

/// By rules that were not published, as far as is known.
fn hypothetically(entry: &ReportEntry) -> u64 {
    if entry.is_hypothetical() { entry.violations } else { 0 }
}

/// Conducts of those who broke rules, and how it is said whether one crawler had read them, or several.
const READ: [(Conduct, [&str; 2]); 3] = [
    (Conduct::Ignored, ["it had read", "they had read"]),
    (Conduct::NoReadSeen, ["that it was not seen to read", "that they were not seen to read"]),
    (Conduct::Unknown, ["that it may or may not have read", "that they may or may not have read"]),
];

/// Who broke rules, and whether they had read them; or that nobody did.
fn headline(names: &[NamedEntries<'_>]) -> String {
    let mut told = String::new();
    for (conduct, read) in READ {
        let who: Vec<&NamedEntries<'_>> = names.iter().filter(|name| name.conduct() == conduct).collect();
        let (count, [one, many]) = (who.len(), read);
        let read = if count == 1 { one } else { many };
        if count > 0 && told.is_empty() {
            let deeds: fn(&ReportEntry) -> u64 =
                if conduct == Conduct::Ignored { after_read } else { violations };
            told = format!("{} broke rules {read}{}", of_crawlers(count, names.len()), worst(&who, deeds));
        } else if count > 0 {
            let more = format!("; {} more broke rules {read}", grouped(count as u64));
            told.push_str(&more);
        }
    }
    if !told.is_empty() {
        return told;
    }
    excused(names).unwrap_or_else(|| match names.len() {
        0 => "no crawler was seen".to_owned(),
        1 => "the only crawler that was seen broke no rule".to_owned(),
        all => format!("none of {} crawlers broke a rule", grouped(all as u64)),
    })
}

/// The same where everything that was disallowed is excused; `None` where nothing was disallowed.
fn excused(names: &[NamedEntries<'_>]) -> Option<String> {
    let by = |notice| {
        let of_entry = |entry: &ReportEntry| {
            let rules = entry.rules.iter().filter(|rule| rule.decision.notice == Some(notice));
            rules.map(|rule| rule.count).sum()
        };
        names.iter().map(|name| name.sum(of_entry)).sum::<u64>()
    };
    let reasons = [
        (Notice::Unknown, "what was served before is not known"),
        (Notice::Pending, "a former version allows the page"),
        (Notice::Waived, "a former version allows the page, and you had the rules bind at once"),
        (Notice::Unpublished, "robots.txt does not come through the proxy"),
    ];
    let counts = reasons.map(|(notice, reason)| (by(notice), reason));
    let told: Vec<&(u64, &str)> = counts.iter().filter(|(count, _)| *count > 0).collect();
    let reasons = match &told[..] {
        [] => return None,
        [(_, reason)] => (*reason).to_owned(),
        several => {
            let each = several.iter().map(|(count, reason)| format!("of {} {reason}", grouped(*count)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let requests =
        amount(names.iter().map(|name| name.sum(|entry| entry.stale)).sum(), "request", "requests");
    let who = names.iter().filter(|name| name.sum(|entry| entry.stale) > 0).count();
    let who = amount(who as u64, "crawler", "crawlers");
    let is_one = requests.starts_with("1 ");
    let were = if is_one { "was disallowed, and does not count" } else { "were disallowed, and none counts" };
    Some(format!("{requests} of {who} {were} as a violation yet: {reasons}"))
}

/// The same where nobody can have broken anything: what the rules would have meant, and for whom.
fn hypothetical(names: &[NamedEntries<'_>], disallowed: usize) -> String {
    if names.is_empty() {
        return "no crawler was seen".to_owned();
    }
    if disallowed == 0 {
        return "these rules would have disallowed nothing that any crawler asked for".to_owned();
    }
    let (who, all) = (of_crawlers(disallowed, names.len()), names.iter().collect::<Vec<_>>());
    format!("these rules would have disallowed requests of {who}{}", worst(&all, hypothetically))
}

/// Whom nobody can tell apart are not counted, and not compared with those that are.
fn of_rest(rest: &NamedEntries<'_>, crawlers: usize) -> String {
    let others = if crawlers == 0 { "" } else { "others " };
    if let count @ 1.. = rest.sum(hypothetically) {
        return format!("; and {} of {others}names beyond 1,000 a day", amount(count, "request", "requests"));
    }
    match rest.sum(violations) {
        0 => format!("; and {others}beyond 1,000 names a day broke none"),
        count => format!("; and {others}beyond 1,000 names a day broke rules {}", times(count)),
    }
}

/// `2 of 7 crawlers`; of the only one, `1 crawler`.
fn of_crawlers(count: usize, all: usize) -> String {
    match all {
        1 => "1 crawler".to_owned(),
        all => format!("{} of {} crawlers", grouped(count as u64), grouped(all as u64)),
    }
}

/// `once`, `12 times`.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{} times", grouped(count)) }
}

/// Who did it most, how often, and how many of these requests are known to be its own.
fn worst(names: &[&NamedEntries<'_>], count: fn(&ReportEntry) -> u64) -> String {
    let Some(worst) = names.iter().max_by_key(|deeds| (deeds.sum(count), Reverse(deeds.name()))) else {
        return String::new();
    };
    let (all, confirmed) = (worst.sum(count), worst.confirmed(count));
    let proof = match confirmed {
        1 if all == 1 => "confirmed".to_owned(),
        0 if all == 1 => "not confirmed".to_owned(),
        0 => "none confirmed".to_owned(),
        _ if confirmed == all => "all confirmed".to_owned(),
        _ => format!("{} confirmed", grouped(confirmed)),
    };
    format!(": {} {} ({proof})", worst.name(), times(all))
}

/// A number with its thousands set apart: `1,204`.
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

/// So many bytes, in a word: `1.2 MB`.
pub fn byte_words(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut whole, mut tenths, mut unit) = (bytes, 0, "B");
    for larger in UNITS {
        if whole < 1_000 {
            break;
        }
        (tenths, whole, unit) = (whole % 1_000 / 100, whole / 1_000, larger);
    }
    if unit == "B" || whole >= 100 { format!("{whole} {unit}") } else { format!("{whole}.{tenths} {unit}") }
}

/// A number and what it is a number of: `1 request`, `1,204 requests`.
pub fn amount(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { many })
}
