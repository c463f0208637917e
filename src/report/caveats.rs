//! What a report cannot see, or what it lacks: requests that are in no count, and reads that may have gone unseen.

use super::Report;
use super::headline::amount;
use super::question::ReportQuestion;
use crate::record::{
    FleetPart, LossReason, MissingCounts, PartialReads, PendingOutbox, SkippedCounts, Window, stand_in,
    stand_in_advice, timestamp,
};
use std::collections::BTreeSet;

/// How many places or times are named in a sentence.
const NAMED: usize = 3;

/// All of it, in whole sentences.
pub(super) fn caveats(report: &Report) -> Vec<String> {
    let mut found = Vec::new();
    if report.is_hypothetical() {
        found.push(
            "Without proof that these rules were published at the time, conduct is hypothetical: the counts say what they \
             would have disallowed."
                .to_owned(),
        );
    }
    found.extend(report.fleet.iter().flat_map(missing_of_fleet));
    found.extend(PartialReads::sentence(&report.partial_reads));
    found.extend(report.partial_reads.iter().filter_map(PartialReads::advice));
    found.extend(MissingCounts::sentences(&report.losses));
    for (count, [one, many], what) in [
        (
            report.details_dropped,
            ["detail (target, event) was", "details (targets, events) were"],
            "not recorded; counts are not affected.",
        ),
        (report.reads_lost, ["read of robots.txt was", "reads of robots.txt were"], "not recorded."),
        (report.details_removed, ["detail was", "details were"], "removed from the store by its size cap."),
    ] {
        if count > 0 {
            found.push(format!("{} {what}", amount(count, one, many)));
        }
    }
    if report.is_public {
        found.push(
            "For the public: paths, addresses, User-Agent headers, request ids and names of gateways are left out."
                .to_owned(),
        );
    }
    for entry in &report.crawlers {
        let hidden = entry.hidden_words();
        let who = [entry.subject.name(), &entry.subject.site];
        found.extend(
            hidden.map(|hidden| format!("{} at {}: {hidden}; nobody is judged for them.", who[0], who[1])),
        );
    }
    let borrowed: BTreeSet<&str> = report.borrowed().map(|entry| entry.subject.name()).collect();
    if !borrowed.is_empty() {
        let requests = report.borrowed().map(|entry| entry.requests).sum();
        found.push(format!(
            "{} came under {}; {} not count against those names.",
            amount(requests, "request", "requests"),
            amount(borrowed.len() as u64, "borrowed name", "borrowed names"),
            if requests == 1 { "it does" } else { "they do" },
        ));
    }
    found
}

/// Adds the requests that one store lacks to those that others do, as far as they are of the time.
pub(super) fn add_missing(all: &mut Vec<MissingCounts>, found: Vec<MissingCounts>, window: &Window) {
    for MissingCounts { reason, from, to, requests } in found {
        let (from, to) = (from.max(window.from), to.min(window.to));
        let same = all.iter_mut().find(|known| known.reason == reason);
        match same.and_then(|known| Some((known.requests.zip(requests)?, known))) {
            Some(((ours, theirs), known)) => {
                (known.from, known.to) = (known.from.min(from), known.to.max(to));
                known.requests = Some(ours.saturating_add(theirs));
            }
            None => all.push(MissingCounts { reason, from, to, requests }),
        }
    }
}

impl MissingCounts {
    /// What is missing, in whole sentences.
    fn sentences(all: &[Self]) -> Vec<String> {
        let mut found: Vec<String> = all.iter().filter_map(Self::sentence).collect();
        let ends: Vec<String> = all
            .iter()
            .filter(|missing| missing.reason == LossReason::UncleanEnd)
            .map(|end| format!("after {} and before {}", timestamp(end.from), timestamp(end.to)))
            .collect();
        if !ends.is_empty() {
            let more = ends.len().saturating_sub(NAMED);
            let more = (more > 0).then(|| format!("and {more} times more"));
            let times = ends.into_iter().take(NAMED).chain(more).collect::<Vec<_>>().join("; ");
            found.push(format!(
                "A gateway ended without writing what it had counted last (killed, or stopped while its store was locked), so requests may \
                 be missing that came {times}."
            ));
        }
        found
    }

    /// `None` where it is not known how many.
    fn sentence(&self) -> Option<String> {
        let requests = amount(self.requests?, "request is", "requests are");
        let why = match self.reason {
            LossReason::NotWritten => "the store could not be written",
            LossReason::SizeCap => "the store was at its size cap, which took the oldest",
            LossReason::Retention => "they were older than `retention`",
            LossReason::UncleanEnd => return None,
        };
        Some(format!("{requests} missing from the counts: {why}."))
    }
}

/// Adds what one store knows of unseen reads to what others do.
pub(super) fn add_unseen(all: &mut Vec<PartialReads>, found: Vec<PartialReads>, question: &ReportQuestion) {
    let wanted = |site: &str| question.site.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(site));
    for PartialReads { site, reason, from, to } in found {
        if !site.is_empty() && !wanted(&site) {
            continue;
        }
        match all.iter_mut().find(|known| known.site == site && known.reason == reason) {
            Some(known) => (known.from, known.to) = (known.from.min(from), known.to.max(to)),
            None => all.push(PartialReads { site, reason, from, to }),
        }
    }
}

/// Whether it matters at a site.
pub(super) fn concerns(all: &[PartialReads], site: &str) -> bool {
    all.iter().any(|partial| partial.site.is_empty() || *partial.site == *site)
}

impl PartialReads {
    /// What cannot be seen, and why; `None` where nothing is missing.
    fn sentence(all: &[Self]) -> Option<String> {
        let mut places: Vec<String> = all.iter().take(NAMED).map(Self::place).collect();
        if let more @ 1.. = all.len().saturating_sub(NAMED) {
            places.push(format!("{more} more"));
        }
        (!places.is_empty()).then(|| {
            format!(
                "Some reads of robots.txt may have gone unseen, so a crawler without a read may still have read it: {}.",
                places.join("; ")
            )
        })
    }

    /// What to do where visitors came under one name.
    fn advice(&self) -> Option<String> {
        let advice = stand_in_advice(&self.site, stand_in(&self.reason)?);
        let mut letters = advice.chars();
        let first = letters.next()?.to_ascii_uppercase();
        Some(format!("{first}{}.", letters.as_str()))
    }

    fn place(&self) -> String {
        match &*self.reason {
            name if stand_in(name).is_some() => format!("all visitors of {} came as `{name}`", self.site),
            "configured" => format!("the configuration of {} says so (`reads`)", self.site),
            "lost" => format!("some reads at {} were not recorded: memory had no room for them", self.site),
            "unclean-end" => format!(
                "a gateway ended without writing what it had seen last, after {}",
                timestamp(self.from)
            ),
            "removed" => format!("the size cap of the store took reads at {}", self.site),
            field => format!("requests for {} carried {field}, so a cache in front may answer it", self.site),
        }
    }
}

/// What of a fleet's counts is not in its report.
fn missing_of_fleet(part: &FleetPart) -> Vec<String> {
    let pending = part.outboxes.iter().map(|PendingOutbox { name, batches, since }| match batches {
        0 => format!(
            "Nothing was heard of {name} since {}: what it counts since then is missing.",
            timestamp(*since)
        ),
        _ => format!(
            "{} of {name} on the way, the oldest since {}: what it counts since then is missing.",
            amount(u64::try_from(*batches).unwrap_or_default(), "batch is", "batches are"),
            timestamp(*since)
        ),
    });
    let skipped = part.skipped.iter().map(|SkippedCounts { name, found }| {
        format!(
            "Counts of {name} before {} are missing: they waited for longer than its store had room.",
            timestamp(*found)
        )
    });
    pending.chain(skipped).collect()
}
