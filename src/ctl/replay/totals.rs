//! The ledger as what a report is made of.

use super::ledger::{ReplayTotals, SeenTimes, SubjectTotals, instant};
use super::sites::Sites;
use crate::decide::NoticeTime;
use crate::enforce::Action;
use crate::identify::{ClientKind, Proof};
use crate::policy::Site;
use crate::record::{
    CountSubject, DecisionCount, EventKind, OTHER_CRAWLERS, OTHER_PATHS, PathCounts, PathTotal, PeriodCount,
    ReadTotal, SeenSpan, TimelinePoint, VersionRecord, Window, printable,
};
use crate::report::{Series, WindowCounts};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// From the first request to the last.
pub(super) fn window(ledger: &ReplayTotals<'_>) -> Window {
    let (first, last) = ledger.span.unwrap_or_default();
    Window { from: instant(first), to: instant(last.saturating_add(1)) }
}

pub(super) fn counted(ledger: &ReplayTotals<'_>, sites: &Sites) -> WindowCounts {
    let seen = || ledger.accounts.iter().filter(|account| account.last >= account.first);
    let numbers = || seen().flat_map(|account| account.decisions.keys());
    let decisions: HashMap<(u32, bool), _> = numbers()
        .flat_map(|number| [(*number, false), (*number, true)])
        .filter_map(|key| Some((key, Arc::new(ledger.decision(key.0, key.1)?))))
        .collect();
    let totals = |account: &SubjectTotals| -> Vec<DecisionCount> {
        let is_hypothetical = ledger.is_hypothetical(account);
        let of = |(number, seen): (&u32, &SeenTimes)| {
            let (subject, decision) =
                (Arc::clone(&account.subject), Arc::clone(decisions.get(&(*number, is_hypothetical))?));
            let (first, last) = (instant(seen.first), instant(seen.last));
            Some(DecisionCount { subject, decision, count: seen.count, first, last })
        };
        account.decisions.iter().filter_map(of).collect()
    };
    WindowCounts {
        presence: seen()
            .map(|account| SeenSpan {
                subject: Arc::clone(&account.subject),
                first: instant(account.first),
                last: instant(account.last),
            })
            .collect(),
        totals: seen().flat_map(totals).collect(),
        paths: seen().flat_map(paths).collect(),
        stretches: stretches(ledger),
        reads: seen().flat_map(|account| reads(account, ledger, sites)).collect(),
        hypothetical: seen()
            .filter(|account| ledger.is_hypothetical(account))
            .map(|account| Arc::clone(&account.subject))
            .collect(),
        other_fetches: seen()
            .filter_map(|account| Some((Arc::clone(&account.subject), instant(account.other_fetch?))))
            .collect(),
        versions: sites.all.iter().filter_map(version).collect(),
    }
}

/// Violations over time, for the page. Those whose names found no room are told together.
pub(super) fn series(ledger: &ReplayTotals<'_>) -> Series {
    let rest = || {
        let of =
            ledger.accounts.first().map_or_else(|| "default".into(), |account| account.subject.site.clone());
        let crawler = Some(OTHER_CRAWLERS.into());
        Arc::new(CountSubject {
            site: of,
            client: ClientKind::Crawler,
            crawler,
            purpose: None,
            proof: Proof::Unchecked,
        })
    };
    let subject = |account: Option<u32>| {
        account
            .and_then(|account| ledger.accounts.get(account as usize))
            .map_or_else(rest, |account| Arc::clone(&account.subject))
    };
    let point = |(account, start, count)| TimelinePoint {
        start: UNIX_EPOCH + Duration::from_secs(u64::try_from(start).unwrap_or_default()),
        subject: subject(account),
        kind: EventKind::Violation,
        action: Action::Forward,
        count,
    };
    Series { grain: ledger.timeline.grain(), points: ledger.timeline.counts().map(point).collect() }
}

/// Requests over time. Those whose names found no room have no pace.
fn stretches(ledger: &ReplayTotals<'_>) -> Vec<PeriodCount> {
    let length = ledger.requests.grain();
    let stretch = |(account, start, count): (Option<u32>, i64, u64)| {
        let subject = Arc::clone(&ledger.accounts.get(account? as usize)?.subject);
        let start = UNIX_EPOCH + Duration::from_secs(u64::try_from(start).unwrap_or_default());
        Some(PeriodCount { subject, start, length, count, slowed: 0 })
    };
    ledger.requests.counts().filter_map(stretch).collect()
}

fn paths(account: &SubjectTotals) -> Vec<PathTotal> {
    let rest =
        (account.other_paths != PathCounts::default()).then(|| (OTHER_PATHS.to_owned(), account.other_paths));
    let named = account.paths.iter().map(|(target, counts)| (printable(target), *counts));
    let total = |(target, counts)| PathTotal { subject: Arc::clone(&account.subject), target, counts };
    named.chain(rest).map(total).collect()
}

/// The reads of a subject, as ones of the version that is judged by.
fn reads(account: &SubjectTotals, ledger: &ReplayTotals<'_>, sites: &Sites) -> Vec<ReadTotal> {
    let site = sites.all.iter().find(|site| *site.config.name == *account.subject.site);
    let Some(version) = site.and_then(Site::version) else { return Vec::new() };
    let total = |((host, network), seen): (&(u32, Option<String>), &SeenTimes)| ReadTotal {
        subject: Arc::clone(&account.subject),
        host: ledger.hosts.get(*host as usize).cloned().unwrap_or_default(),
        network: network.as_deref().map(Into::into),
        chosen: None,
        version,
        rules: None,
        in_force: UNIX_EPOCH,
        sequence: 0,
        at: NoticeTime::default(),
        first: instant(seen.first),
        last: instant(seen.last),
        count: seen.count,
    };
    account.reads.iter().map(total).collect()
}

/// The rules in force, for what they say of `Crawl-delay`.
fn version(site: &Site) -> Option<VersionRecord> {
    let id = site.version()?;
    Some(VersionRecord {
        row: 0,
        site: site.config.name.as_str().into(),
        sha256: None,
        id: Some(id),
        bytes: site.robots.as_ref().map(|file| Arc::from(file.bytes.as_slice())),
        from: UNIX_EPOCH,
        until: None,
    })
}
