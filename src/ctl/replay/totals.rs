//! The ledger as what a report is made of.

use super::ledger::{ReplayReadKey, ReplayTotals, SubjectTotals};
use super::sites::Sites;
use crate::decide::NoticeTime;
use crate::enforce::Action;
use crate::identify::ClientKind;
use crate::policy::Site;
use crate::record::{
    CountSubject, CountedDecision, DecisionCount, EventKind, OTHER_PATHS, PathCounts, PathTotal, PeriodCount,
    ReadTotal, SeenInstants, SeenSpan, TimelinePoint, VersionRecord, Window, instant, printable,
};
use crate::report::{Series, WindowCounts};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// From the first request to the last.
pub(super) fn window(ledger: &ReplayTotals<'_>) -> Window {
    let (first, last) = ledger.span.map_or((0, 0), |span| (span.first, span.last));
    Window { from: instant(first), to: instant(last.saturating_add(1)) }
}

/// What was decided of a subject. A violation of rules that nobody had published had no notice.
fn decided(account: &SubjectTotals, ledger: &ReplayTotals<'_>) -> Vec<DecisionCount> {
    let is_hypothetical = ledger.is_hypothetical(account);
    let of = |(decision, seen): (&Arc<CountedDecision>, &SeenInstants)| {
        let without_notice = || CountedDecision { notice: None, ..CountedDecision::clone(decision) };
        DecisionCount {
            subject: Arc::clone(&account.subject),
            decision: if is_hypothetical { Arc::new(without_notice()) } else { Arc::clone(decision) },
            count: seen.count,
            first: instant(seen.first),
            last: instant(seen.last),
        }
    };
    account.decisions.iter().map(of).collect()
}

pub(super) fn counted(ledger: &ReplayTotals<'_>, sites: &Sites) -> WindowCounts {
    let seen = || ledger.accounts.iter().filter(|account| account.seen.is_some());
    WindowCounts {
        presence: ledger.accounts.iter().filter_map(presence).collect(),
        totals: seen().flat_map(|account| decided(account, ledger)).collect(),
        paths: seen().flat_map(paths).collect(),
        stretches: stretches(ledger),
        reads: seen().flat_map(|account| reads(account, sites)).collect(),
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

fn presence(account: &SubjectTotals) -> Option<SeenSpan> {
    let SeenInstants { first, last, .. } = account.seen?;
    Some(SeenSpan { subject: Arc::clone(&account.subject), first: instant(first), last: instant(last) })
}

/// Violations over time, for the page. Those whose names found no room are told together.
pub(super) fn series(ledger: &ReplayTotals<'_>) -> Series {
    let point = |(account, start, count): (Option<u32>, i64, u64)| {
        let of = ledger.accounts.get(account.unwrap_or_default() as usize)?;
        let rest = || CountSubject { client: ClientKind::Crawler, ..of.subject.nameless() };
        let subject = if account.is_some() { Arc::clone(&of.subject) } else { Arc::new(rest()) };
        let start = UNIX_EPOCH + Duration::from_secs(u64::try_from(start).unwrap_or_default());
        Some(TimelinePoint { start, subject, kind: EventKind::Violation, action: Action::Forward, count })
    };
    Series { grain: ledger.timeline.grain(), points: ledger.timeline.counts().filter_map(point).collect() }
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
fn reads(account: &SubjectTotals, sites: &Sites) -> Vec<ReadTotal> {
    let site = sites.all.iter().find(|site| *site.config.name == *account.subject.site);
    let Some(version) = site.and_then(Site::version) else { return Vec::new() };
    let total = |((host, network), seen): (&ReplayReadKey, &SeenInstants)| ReadTotal {
        subject: Arc::clone(&account.subject),
        host: host.clone(),
        network: network.clone(),
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
