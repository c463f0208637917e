//! Reading the stores and adding them up, subject by subject.

use super::blocks::{Proposal, proposals};
use super::caveats;
use super::conduct::{Conduct, ConductFacts, conduct};
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
    Activities, Activity, CountSubject, CountedDecision, EventKind, Missing, MissingWhat, OTHER_CRAWLERS,
    ReadSum, ReadTotal, SIZE_CAP, SeenInstants, StoreError, StoreReader, VersionRecord, Window, instant,
    micros, top_paths,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

/// What one element stands for. A name that was a crawler's and becomes a tool's has two; what it fetches for tells nobody
/// apart. Upper and lower case are one, as they are in robots.txt (RFC 9309 §2.2.1): whoever reads as `FooBot` is `FOOBOT`.
fn element(subject: &CountSubject) -> CountSubject {
    let crawler = subject.crawler.as_deref().map(|name| name.to_ascii_lowercase().into());
    CountSubject { crawler, purpose: None, ..subject.clone() }
}

/// All that the stores tell of one key.
#[derive(Debug, Default)]
struct GatheredActivity {
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
    pub(super) details_dropped: u64,
    pub(super) reads_lost: u64,
    pub(super) losses: Vec<Missing>,
    pub(super) details_removed: u64,
    pub(super) unseen: Vec<Missing>,
}

/// Reads all stores.
pub(super) fn gather(
    stores: &[StoreReader],
    question: &ReportQuestion,
    window: &Window,
) -> Result<Gathered, StoreError> {
    let mut gathered = Gathered::default();
    // What is cut from one store may be another's most frequent target.
    let top = if stores.len() == 1 { question.top } else { usize::MAX };
    let filter = question.filter();
    for store in stores {
        gathered.add(store.activities(window, &filter, top)?);
        gathered.take_reads(store.reads(&question.filter_of_reads())?, question, window);
        gathered.versions.extend(store.versions(question.site.as_deref())?);
        let missing = store.missing(window)?;
        let (taken, dropped): (Vec<&Missing>, Vec<&Missing>) =
            missing.iter().partition(|missing| *missing.reason == *SIZE_CAP);
        gathered.details_dropped += Missing::sum(dropped, MissingWhat::Details);
        gathered.details_removed += Missing::sum(taken, MissingWhat::Details);
        gathered.reads_lost += Missing::sum(&missing, MissingWhat::Reads);
        let lists = [&mut gathered.losses, &mut gathered.unseen];
        caveats::add_missing(lists, missing, question, window);
    }
    gathered.compile_files(window);
    Ok(gathered)
}

/// Adds up what was counted of a log.
pub(super) fn add_up(
    counted: Activities,
    versions: Vec<VersionRecord>,
    question: &ReportQuestion,
    window: &Window,
) -> Gathered {
    let mut gathered = Gathered { versions, ..Gathered::default() };
    let mut counted = counted;
    for activity in counted.values_mut() {
        gathered.take_reads(std::mem::take(&mut activity.reads), question, window);
    }
    gathered.add(counted);
    gathered.compile_files(window);
    gathered
}

/// The version of each site that was in force just before `to`; the youngest, where several gateways differ.
fn in_force(versions: &[VersionRecord], to: SystemTime) -> HashMap<&str, &VersionRecord> {
    let mut begun: Vec<&VersionRecord> = versions.iter().filter(|version| version.from < to).collect();
    begun.sort_by_key(|version| (version.until.is_none_or(|until| until >= to), version.from));
    // Of each site the last one stays.
    begun.into_iter().map(|version| (&*version.site, version)).collect()
}

impl Gathered {
    fn add(&mut self, counted: Activities) {
        for (subject, activity) in counted {
            if subject.client == ClientKind::Browser {
                self.hidden.push((subject, activity));
                continue;
            }
            let account = self.account(&subject);
            if let Some(name) = subject.crawler.as_deref() {
                *account.spellings.entry(name.into()).or_default() += activity.requests(|_| true);
            }
            account.did.add(activity);
        }
    }

    fn account(&mut self, subject: &CountSubject) -> &mut GatheredActivity {
        let account = self.accounts.entry(element(subject)).or_default();
        account.purpose = account.purpose.or(subject.purpose);
        if let Some(name) = subject.crawler.as_ref().filter(|name| !account.spellings.contains_key(*name)) {
            account.spellings.insert(name.clone(), 0);
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
                self.account(&subject).did.reads.push(read);
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
        let in_force = in_force(&self.versions, window.to).into_values();
        self.files = RobotsFiles::new(in_force, &self.versions, |id| read.contains(&id));
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

    fn entry(&self, key: CountSubject, account: GatheredActivity, question: &ReportQuestion) -> ReportEntry {
        let subject = CountSubject { crawler: account.spelling(), purpose: account.purpose, ..key };
        let (violated, reads_of) = (account.violated(), account.reads_of());
        let GatheredActivity { mut did, hidden, .. } = account;
        let stretches = pace::whole(std::mem::take(&mut did.stretches));
        let of_kind = |kind: EventKind| did.requests(|decision| decision.kind == kind);
        let is_pace = |decision: &CountedDecision| decision.kind == EventKind::Pace;
        let (requests, violations, stale) =
            (did.requests(|_| true), of_kind(EventKind::Violation), of_kind(EventKind::Stale));
        let after_read = did.requests(|decision| decision.notice == Some(Notice::Read));
        let kin_read = self.kin.read(&subject, &question.known);
        let other_fetch = did.other_fetch.map(instant);
        let facts = ConductFacts {
            requests,
            violations,
            stale,
            after_read,
            proof: subject.proof,
            is_rest: subject.crawler.as_deref() == Some(OTHER_CRAWLERS),
            a_read_was_seen: kin_read.is_some() || other_fetch.is_some() || !did.reads.is_empty(),
            reads_may_be_missing: caveats::concerns(&self.unseen, &subject.site),
        };
        let last = did.reads.iter().max_by_key(|read| read.sum.seen.last);
        ReportEntry {
            conduct: if did.is_hypothetical { Conduct::Hypothetical } else { conduct(&facts) },
            requests,
            reads: reads_of.iter().map(|read| read.sum.seen.count).sum(),
            last_read: last.map(|read| instant(read.sum.seen.last)),
            last_read_version: last.map(|read| read.key.version),
            violations,
            stale,
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
            violations_after_read: after_read,
            reads_of,
            stretches,
            kin_read,
            other_fetch,
            reads_may_be_missing: facts.reads_may_be_missing,
            subject,
            proof_by: MethodCounts::of(&did.decisions),
            paths: top_paths(did.paths, question.top)
                .into_iter()
                .map(|(target, counts)| PathCount { target, counts })
                .collect(),
        }
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
