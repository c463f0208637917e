//! What a report cannot see, or what it lacks: requests that are in no count, and reads that may have gone unseen.

use super::headline::amount;
use super::question::ReportQuestion;
use super::{FleetPart, PendingOutbox, Report, SkippedCounts};
use crate::record::{
    Missing, MissingWhat, NOT_WRITTEN, RETENTION, SIZE_CAP, UNCLEAN_END, Window, instant, micros, stand_in,
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
    found.extend(of_reads(&report.partial_reads));
    found.extend(report.partial_reads.iter().filter_map(advice));
    found.extend(of_requests(&report.losses));
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
    for (entry, hidden) in report.crawlers.iter().filter_map(|entry| Some((entry, entry.hidden_words()?))) {
        let (name, site) = (entry.subject.name(), &entry.subject.site);
        found.push(format!("{name} at {site}: {hidden}; nobody is judged for them."));
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

/// The requests and the reads that stores lack, as far as they are of the time and the sites.
pub(super) fn lacking(found: Vec<Missing>, question: &ReportQuestion, window: &Window) -> [Vec<Missing>; 2] {
    let [mut losses, mut unseen] = [Vec::new(), Vec::new()];
    let wanted = |site: &str| question.site.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(site));
    for mut missing in found.into_iter().filter(|missing| missing.site.is_empty() || wanted(&missing.site)) {
        match missing.what {
            MissingWhat::Details => {}
            MissingWhat::Reads => missing.add_to(&mut unseen),
            MissingWhat::Requests => {
                missing.from = missing.from.max(micros(window.from));
                missing.to = missing.to.min(micros(window.to));
                if *missing.reason == *UNCLEAN_END {
                    losses.push(missing);
                } else {
                    missing.add_to(&mut losses);
                }
            }
        }
    }
    [losses, unseen]
}

/// Which requests are missing, in whole sentences.
fn of_requests(all: &[Missing]) -> Vec<String> {
    let mut found: Vec<String> = all.iter().filter_map(of_counted).collect();
    let ends = all.iter().filter(|missing| *missing.reason == *UNCLEAN_END);
    let ends = ends.map(|end| format!("after {} and before {}", time(end.from), time(end.to)));
    if let Some(times) = first_of(ends.collect(), |more| format!("and {more} times more")) {
        found.push(format!(
            "A gateway ended without writing what it had counted last (killed, or stopped while its store was locked), so requests may \
             be missing that came {times}."
        ));
    }
    found
}

/// `None` where it is not known how many.
fn of_counted(missing: &Missing) -> Option<String> {
    let requests = amount(missing.count?, "request is", "requests are");
    let why = match &*missing.reason {
        SIZE_CAP => "the store was at its size cap, which took the oldest",
        RETENTION => "they were older than `retention`",
        _ => "the store could not be written",
    };
    Some(format!("{requests} missing from the counts: {why}."))
}

/// Which reads cannot be seen, and why; `None` where none is missing.
fn of_reads(all: &[Missing]) -> Option<String> {
    let places = first_of(all.iter().map(place).collect(), |more| format!("{more} more"))?;
    Some(format!(
        "Some reads of robots.txt may have gone unseen, so a crawler without a read may still have read it: {places}."
    ))
}

/// The first of a list, and how many more there are; `None` of an empty one.
fn first_of(mut all: Vec<String>, words: fn(usize) -> String) -> Option<String> {
    let more = all.split_off(NAMED.min(all.len())).len();
    all.extend((more > 0).then(|| words(more)));
    (!all.is_empty()).then(|| all.join("; "))
}

/// What to do where visitors came under one name.
fn advice(missing: &Missing) -> Option<String> {
    let advice = stand_in_advice(&missing.site, stand_in(&missing.reason)?);
    let mut letters = advice.chars();
    let first = letters.next()?.to_ascii_uppercase();
    Some(format!("{first}{}.", letters.as_str()))
}

fn place(Missing { reason, site, from, .. }: &Missing) -> String {
    match &**reason {
        name if stand_in(name).is_some() => format!("all visitors of {site} came as `{name}`"),
        "configured" => format!("the configuration of {site} says so (`reads`)"),
        NOT_WRITTEN => format!("some reads at {site} were not recorded: memory had no room for them"),
        UNCLEAN_END => {
            format!("a gateway ended without writing what it had seen last, after {}", time(*from))
        }
        SIZE_CAP => format!("the size cap of the store took reads at {site}"),
        field => format!("requests for {site} carried {field}, so a cache in front may answer it"),
    }
}

fn time(micros: i64) -> String {
    timestamp(instant(micros))
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
