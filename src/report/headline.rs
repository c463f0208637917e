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

/// Totals over crawlers under their own names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Crawlers by name, whatever the site and the proof, of which requests were judged. The rest of a day's
    /// many names is not among them.
    pub crawlers: usize,
    /// Those that broke a rule they had read.
    pub ignoring: usize,
    /// Those that broke a rule, read or not; where nobody published the rules, those of which they would have disallowed
    /// requests.
    pub violating: usize,
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

impl Report {
    /// Adds up what crawlers did, and says what it comes to.
    pub(super) fn sum_up(&mut self) {
        let is_hypothetical = self.is_hypothetical();
        // Who only read robots.txt neither obeyed nor broke it: no request of theirs was judged.
        let judged = || self.named().filter(|entry| entry.requests > 0);
        let names = NamedEntries::all(judged().filter(|entry| !entry.is_rest()));
        let rest = NamedEntries { entries: judged().filter(|entry| entry.is_rest()).collect() };
        let mut summary = Summary {
            crawlers: names.len(),
            ignoring: names.iter().filter(|name| name.conduct() == Conduct::Ignored).count(),
            violating: names.iter().filter(|name| name.sum(violations) > 0).count(),
            ..Summary::default()
        };
        judged().for_each(|entry| summary.add(entry));
        let mut headline = if names.is_empty() && self.named().next().is_some() {
            "no request of a crawler was judged".to_owned()
        } else {
            headline(&names, is_hypothetical)
        };
        // Beside violations the title tells them.
        if summary.refused > 0 && summary.violations == 0 {
            headline.push_str(&refused(&summary, self.is_replay));
        }
        if !rest.entries.is_empty() {
            headline.push_str(&of_rest(&rest, summary.crawlers, is_hypothetical));
        }
        // Names beyond 1,000 a day are counted together, so the title could not say how many crawlers they were.
        let is_titled = !is_hypothetical && rest.entries.is_empty();
        self.title = summary.title(self.is_replay).filter(|_| is_titled);
        (self.headline, self.summary, self.notes) = (headline, summary, caveats::caveats(self));
    }
}

impl Summary {
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

const fn violations(entry: &ReportEntry) -> u64 {
    entry.violations
}

/// Refusals of what is no violation.
fn refused(summary: &Summary, is_replay: bool) -> String {
    let [one, many] = if is_replay { ["would be"; 2] } else { ["was", "were"] };
    let requests = amount(summary.refused, &format!("request {one}"), &format!("requests {many}"));
    // Of targets that an origin may read in another way.
    let what = if summary.stale == 0 { " that could not be called a violation" } else { "" };
    format!("; {requests} refused{what}")
}

/// Conducts of those who broke rules, and how it is said whether one crawler had read them, or several.
const READ: [(Conduct, [&str; 2]); 3] = [
    (Conduct::Ignored, ["it had read", "they had read"]),
    (Conduct::NoReadSeen, ["that it was not seen to read", "that they were not seen to read"]),
    (Conduct::Unknown, ["that it may or may not have read", "that they may or may not have read"]),
];

/// Who broke rules, and whether they had read them; or that nobody did. Where nobody can have broken anything, what the rules
/// would have meant, and for whom.
fn headline(names: &[NamedEntries<'_>], is_hypothetical: bool) -> String {
    if is_hypothetical && !names.is_empty() {
        let who: Vec<&NamedEntries<'_>> = names.iter().filter(|name| name.sum(violations) > 0).collect();
        if who.is_empty() {
            return "these rules would have disallowed nothing that any crawler asked for".to_owned();
        }
        let (concerned, worst) = (of_crawlers(who.len(), names.len()), worst(&who, violations));
        return format!("these rules would have disallowed requests of {concerned}{worst}");
    }
    let mut all = READ.into_iter().filter_map(|(conduct, [one, many])| {
        let who: Vec<&NamedEntries<'_>> = names.iter().filter(|name| name.conduct() == conduct).collect();
        let read = if who.len() == 1 { one } else { many };
        (!who.is_empty()).then_some((conduct, who, read))
    });
    let Some((conduct, who, read)) = all.next() else {
        return excused(names).unwrap_or_else(|| match names.len() {
            0 => "no crawler was seen".to_owned(),
            1 => "the only crawler that was seen broke no rule".to_owned(),
            all => format!("none of {} crawlers broke a rule", grouped(all as u64)),
        });
    };
    let worst = match conduct {
        Conduct::Ignored => worst(&who, |entry| entry.violations_after_read),
        _ => worst(&who, violations),
    };
    let more = all.map(|(_, who, read)| format!("; {} more broke rules {read}", grouped(who.len() as u64)));
    let more = more.collect::<Vec<_>>().concat();
    format!("{} broke rules {read}{worst}{more}", of_crawlers(who.len(), names.len()))
}

/// The same where everything that was disallowed is excused; `None` where nothing was disallowed.
fn excused(names: &[NamedEntries<'_>]) -> Option<String> {
    let rules = || names.iter().flat_map(|name| &name.entries).flat_map(|entry| &entry.rules);
    let by =
        |notice| rules().filter(|rule| rule.decision.notice == Some(notice)).map(|rule| rule.count).sum();
    let reasons = [
        (Notice::Unknown, "what was served before is not known"),
        (Notice::Pending, "a former version allows the page"),
        (Notice::Waived, "a former version allows the page, and you had the rules bind at once"),
        (Notice::Unpublished, "robots.txt does not come through the proxy"),
    ];
    let counts: [(u64, &str); 4] = reasons.map(|(notice, reason)| (by(notice), reason));
    let told: Vec<&(u64, &str)> = counts.iter().filter(|(count, _)| *count > 0).collect();
    let reasons = match &told[..] {
        [] => return None,
        [(_, reason)] => (*reason).to_owned(),
        several => {
            let each = several.iter().map(|(count, reason)| format!("of {} {reason}", grouped(*count)));
            each.collect::<Vec<_>>().join(", ")
        }
    };
    let stale: Vec<u64> =
        names.iter().map(|name| name.sum(|entry| entry.stale)).filter(|stale| *stale > 0).collect();
    let requests = stale.iter().sum();
    let were =
        if requests == 1 { "was disallowed, and does not count" } else { "were disallowed, and none counts" };
    let (requests, who) =
        (amount(requests, "request", "requests"), amount(stale.len() as u64, "crawler", "crawlers"));
    Some(format!("{requests} of {who} {were} as a violation yet: {reasons}"))
}

/// Whom nobody can tell apart are not counted, and not compared with those that are.
fn of_rest(rest: &NamedEntries<'_>, crawlers: usize, is_hypothetical: bool) -> String {
    let others = if crawlers == 0 { "" } else { "others " };
    match rest.sum(violations) {
        0 => format!("; and {others}beyond 1,000 names a day broke none"),
        count if is_hypothetical => {
            format!("; and {} of {others}names beyond 1,000 a day", amount(count, "request", "requests"))
        }
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
