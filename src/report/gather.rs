//! Reading the stores and adding them up, subject by subject.

use super::blocks::{Proposal, proposals};
use super::conduct::{Conduct, conduct};
use super::entry::{PathCount, ReportEntry};
use super::files::RobotsFiles;
use super::kin::NameReads;
use super::pace;
use super::proved::MethodCounts;
use super::question::ReportQuestion;
use super::rules::rules;
use crate::decide::{Notice, VersionId};
use crate::enforce::Action;
use crate::identify::{ClientKind, Purpose};
use crate::record::{
    Activities, Activity, CountSubject, CountedDecision, EventKind, Missing, MissingWhat, PathCounts,
    ReadSum, ReadTotal, SeenInstants, StoreError, StoreReader, VersionRecord, Window, instant, micros,
    top_paths,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// What one element stands for. A name that was a crawler's and becomes a tool's has two; what it fetches for tells nobody
/// apart. Upper and lower case are one, as they are in robots.txt (RFC 9309 §2.2.1): whoever reads as `FooBot` is `FOOBOT`.
fn element(subject: &CountSubject) -> CountSubject {
    let crawler = subject.crawler.as_deref().map(|name| name.to_ascii_lowercase().into());
    CountSubject { crawler, purpose: None, ..subject.clone() }
}

/// All that the stores tell of one key.
#[derive(Debug, Default)]
pub(super) struct GatheredActivity {
    did: Activity,
    purpose: Option<Purpose>,
    /// How its name was written, with the requests that wrote it so.
    spellings: BTreeMap<Box<str>, u64>,
    /// Requests with a browser's header from its own addresses, by what the header says.
    hidden: BTreeMap<Box<str>, u64>,
}

/// Everything that was asked for, added up.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    accounts: BTreeMap<CountSubject, GatheredActivity>,
    /// What browsers did: visits in disguise of the crawler that is named.
    hidden: Vec<(Arc<CountSubject>, Activity)>,
    /// Reads by anyone at the sites in question.
    kin: NameReads,
    versions: Vec<VersionRecord>,
    files: RobotsFiles,
    /// What the stores lack, whatever the site.
    pub(super) missing: Vec<Missing>,
}

/// Reads all stores.
pub(super) fn gather(
    stores: &[StoreReader],
    question: &ReportQuestion,
    window: &Window,
) -> Result<Gathered, StoreError> {
    let mut gathered = Gathered::default();
    // What is cut from one store may be another's most frequent target.
    let top = question.top.map(|top| if stores.len() == 1 { top } else { usize::MAX });
    let filter = question.filter();
    for store in stores {
        gathered.add(store.activities(window, &filter, top)?);
        gathered.take_reads(store.reads(&question.filter_of_reads())?, question, window);
        gathered.versions.extend(store.versions(question.site.as_deref())?);
        gathered.missing.extend(store.missing(window)?);
    }
    gathered.compile_files(window);
    Ok(gathered)
}

/// Adds up what was counted of a log.
pub(super) fn add_up(
    mut counted: Activities,
    versions: Vec<VersionRecord>,
    question: &ReportQuestion,
    window: &Window,
) -> Gathered {
    let mut gathered = Gathered { versions, ..Gathered::default() };
    for activity in counted.values_mut() {
        gathered.take_reads(std::mem::take(&mut activity.reads), question, window);
    }
    gathered.add(counted);
    gathered.compile_files(window);
    gathered
}

impl Gathered {
    fn add(&mut self, counted: Activities) {
        for (subject, activity) in counted {
            if subject.client == ClientKind::Browser {
                self.hidden.push((subject, activity));
                continue;
            }
            self.account(&subject, activity.requests(|_| true)).did.add(activity);
        }
    }

    /// The one that a subject is part of, with so many requests.
    fn account(&mut self, subject: &CountSubject, requests: u64) -> &mut GatheredActivity {
        let account = self.accounts.entry(element(subject)).or_default();
        account.purpose = account.purpose.or(subject.purpose);
        if let Some(name) = &subject.crawler {
            *account.spellings.entry(name.clone()).or_default() += requests;
        }
        account
    }

    /// What began before the window's end: later reads are no part of its story.
    fn take_reads(&mut self, reads: Vec<ReadTotal>, question: &ReportQuestion, window: &Window) {
        let (filter, to) = (question.filter(), micros(window.to));
        for read in reads.into_iter().filter(|read| read.sum.seen.first < to) {
            self.kin.note(&read);
            if filter.admits(&read.subject) {
                let subject = Arc::clone(&read.subject);
                self.account(&subject, 0).did.reads.push(read);
            }
        }
    }

    /// Visits in disguise are told beside what the crawler did under its own name, where it was proved to be that.
    fn take_hidden(&mut self) {
        for (subject, activity) in std::mem::take(&mut self.hidden) {
            if activity.decisions.is_empty() {
                continue;
            }
            let own = CountSubject { client: ClientKind::Crawler, ..element(&subject) };
            let is_own = |key: &&CountSubject| CountSubject { client: own.client, ..(*key).clone() } == own;
            let known = self.accounts.keys().find(is_own).cloned();
            let account = self.accounts.entry(known.unwrap_or(own)).or_default();
            if let Some(name) = &subject.crawler {
                account.spellings.entry(name.clone()).or_default();
            }
            for (decision, seen) in &activity.decisions {
                for family in &decision.group {
                    *account.hidden.entry(family.clone()).or_default() += seen.count;
                }
            }
        }
    }

    /// What robots.txt said; and who was of the window.
    fn compile_files(&mut self, window: &Window) {
        self.accounts.retain(|_, account| account.is_of(window));
        self.take_hidden();
        let reads = self.accounts.values().flat_map(|account| &account.did.reads);
        let read: HashSet<VersionId> = reads.map(|read| read.key.version).collect();
        self.files = RobotsFiles::of(&self.versions, &read, window.to);
    }

    /// The elements of the report, in its order: those that count against nobody are last.
    pub(super) fn entries(&mut self, question: &ReportQuestion) -> (Vec<ReportEntry>, Vec<Proposal>) {
        let accounts = std::mem::take(&mut self.accounts);
        let mut entries: Vec<ReportEntry> =
            accounts.into_iter().map(|(key, account)| self.entry(key, account, question)).collect();
        entries.sort_by_key(|entry| {
            let deeds = (entry.violations_after_read, entry.violations, entry.requests);
            (entry.subject.is_borrowed(), Reverse(deeds))
        });
        let proposals = proposals(&entries, &self.files.in_force, &question.known);
        (entries, proposals)
    }

    pub(super) fn entry(
        &self,
        key: CountSubject,
        account: GatheredActivity,
        question: &ReportQuestion,
    ) -> ReportEntry {
        let subject = CountSubject { crawler: account.spelling(), purpose: account.purpose, ..key };
        let (violated, reads_of) = (account.violated(), account.reads_of());
        let GatheredActivity { mut did, hidden, .. } = account;
        let stretches = pace::whole(std::mem::take(&mut did.stretches));
        let of_kind = |kind: EventKind| did.requests(|decision| decision.kind == kind);
        let is_pace = |decision: &CountedDecision| decision.kind == EventKind::Pace;
        let last = did.reads.iter().max_by_key(|read| read.sum.seen.last);
        let path = |(target, counts): (String, PathCounts)| {
            let (count, violations, refused) = (counts.requests(), counts.violations, counts.refused);
            PathCount { target, count, violations, refused }
        };
        let concerns = |missing: &Missing| {
            missing.what == MissingWhat::Reads && (missing.site.is_empty() || missing.site == subject.site)
        };
        let mut entry = ReportEntry {
            conduct: Conduct::Hypothetical,
            requests: did.requests(|_| true),
            reads: reads_of.iter().map(|read| read.sum.seen.count).sum(),
            last_read: last.map(|read| instant(read.sum.seen.last)),
            last_read_version: last.map(|read| read.key.version),
            violations: of_kind(EventKind::Violation),
            stale: of_kind(EventKind::Stale),
            variants: of_kind(EventKind::Variant),
            spoofed: of_kind(EventKind::Spoof),
            too_fast: of_kind(EventKind::Pace),
            slowed: did.requests(|decision| is_pace(decision) && decision.action == Action::Refuse),
            refused: did.requests(|decision| !is_pace(decision) && decision.action.keeps_out()),
            bytes: did.bytes,
            hidden,
            first_seen: did.seen.map(|seen| instant(seen.first)),
            last_seen: did.seen.map(|seen| instant(seen.last)),
            first_violation: violated.map(|seen| instant(seen.first)),
            last_violation: violated.map(|seen| instant(seen.last)),
            crawl_delay: self.files.delay(&subject, &question.known, &did.reads, &stretches),
            rules: rules(&did.decisions),
            told: self.files.told(&subject, &question.known, &did.reads),
            violations_after_read: did.requests(|decision| decision.notice == Some(Notice::Read)),
            reads_of,
            stretches,
            kin_read: self.kin.read(&subject, &question.known),
            other_fetch: did.other_fetch.map(instant),
            reads_may_be_missing: self.missing.iter().any(concerns),
            subject,
            proof_by: MethodCounts::of(&did),
            paths: top_paths(did.paths, question.top.unwrap_or_default()).into_iter().map(path).collect(),
        };
        if !did.is_hypothetical {
            entry.conduct = conduct(&entry);
        }
        entry
    }
}

impl GatheredActivity {
    /// Whether anything of it may have been within the window: a request, or a read of a version between the first and the
    /// last.
    fn is_of(&self, window: &Window) -> bool {
        let (from, to) = (micros(window.from), micros(window.to));
        let overlaps = |read: &ReadTotal| read.sum.seen.first < to && read.sum.seen.last >= from;
        !self.did.decisions.is_empty() || self.did.reads.iter().any(overlaps)
    }

    /// The name as most requests wrote it.
    fn spelling(&self) -> Option<Box<str>> {
        let most = self.spellings.iter().max_by_key(|(name, count)| (**count, Reverse(*name)));
        most.map(|(name, _)| name.clone())
    }

    /// When the first and the last violation came. Nobody broke a rule before it was first seen, whatever the minute
    /// begins with.
    fn violated(&self) -> Option<SeenInstants> {
        let violations =
            self.did.decisions.iter().filter(|(decision, _)| decision.kind == EventKind::Violation);
        let mut all = None;
        violations.for_each(|(_, seen)| seen.add_to(&mut all));
        let all: SeenInstants = all?;
        let first = self.did.seen.map_or(all.first, |seen| seen.first.max(all.first));
        Some(SeenInstants { first, last: all.last.max(first), ..all })
    }

    /// One row for each version.
    fn reads_of(&self) -> Vec<ReadTotal> {
        let mut found: BTreeMap<VersionId, ReadTotal> = BTreeMap::new();
        for read in &self.did.reads {
            let known = found.entry(read.key.version).or_insert_with(|| ReadTotal {
                sum: ReadSum { seen: SeenInstants { count: 0, ..read.sum.seen }, ..read.sum },
                ..read.clone()
            });
            known.sum.seen.add(read.sum.seen);
            known.key.in_force = known.key.in_force.min(read.key.in_force);
        }
        let mut found: Vec<ReadTotal> = found.into_values().collect();
        found.sort_by_key(|read| (read.key.in_force, read.key.version));
        found
    }
}
