//! Reading the stores and adding them up, subject by subject.

use super::blocks::{Proposal, proposals};
use super::caveats;
use super::conduct::{Conduct, ConductFacts, conduct};
use super::entry::{PathCount, ReadOf, ReportEntry};
use super::files::RobotsFiles;
use super::kin::NameReads;
use super::pace::Pace;
use super::proved::MethodCounts;
use super::question::ReportQuestion;
use super::rules::{DecisionTimes, rules};
use crate::decide::{Notice, VersionId};
use crate::enforce::Action;
use crate::identify::{ClientKind, Proof, Purpose};
use crate::record::{
    CountSubject, CountedDecision, DecisionCount, EventKind, Missing, MissingWhat, OTHER_CRAWLERS,
    OTHER_PATHS, PathCounts, ReadTotal, SeenSpan, StoreError, StoreReader, VersionRecord, Window,
    WindowCounts,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

/// How many stretches an element's course has.
const COURSE: u32 = 48;

/// What one element stands for. A name that was a crawler's and becomes a tool's has two. Upper and lower
/// case are one, as they are in robots.txt (RFC 9309 §2.2.1): whoever reads as `FooBot` is `FOOBOT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ElementKey {
    site: Box<str>,
    /// In lower case.
    crawler: Option<Box<str>>,
    client: ClientKind,
    proof: Proof,
}

impl From<&CountSubject> for ElementKey {
    fn from(subject: &CountSubject) -> Self {
        let CountSubject { site, client, crawler, proof, .. } = subject;
        let crawler = crawler.as_deref().map(|name| name.to_ascii_lowercase().into());
        Self { site: site.clone(), crawler, client: *client, proof: *proof }
    }
}

/// All that the stores tell of one key.
#[derive(Debug, Default)]
struct GatheredActivity {
    purpose: Option<Purpose>,
    /// How its name was written, with the requests that wrote it so.
    spellings: BTreeMap<Box<str>, u64>,
    totals: HashMap<Arc<CountedDecision>, DecisionTimes>,
    paths: HashMap<String, PathCounts>,
    seen: Option<(SystemTime, SystemTime)>,
    /// `None` where nothing was counted: beside another proxy, or of a log without them.
    bytes: Option<u64>,
    pace: Pace,
    is_hypothetical: bool,
    /// Requests with a browser's header from its own addresses, by what the header says.
    hidden: BTreeMap<Box<str>, u64>,
    other_fetch: Option<SystemTime>,
    reads: Vec<ReadTotal>,
}

/// Everything that was asked for, added up.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    accounts: BTreeMap<ElementKey, GatheredActivity>,
    /// What is counted of browsers: visits in disguise of the crawler that is named.
    hidden: Vec<DecisionCount>,
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
        let counted = WindowCounts {
            presence: store.presence(&filter)?,
            totals: store.totals(window, &filter)?,
            paths: store.paths(window, &filter, top)?,
            stretches: store.stretches(window, &filter)?,
            sent: store.sent(window, &filter)?,
            reads: store.reads(&question.filter_of_reads())?,
            versions: store.versions(question.site.as_deref())?,
            ..WindowCounts::default()
        };
        gathered.add(counted, question, window);
        let missing = store.missing(window)?;
        let sum =
            |what| missing.iter().filter(|one| one.what == what).filter_map(|one| one.count).sum::<u64>();
        gathered.details_dropped += sum(MissingWhat::Details);
        gathered.reads_lost += sum(MissingWhat::Reads);
        gathered.details_removed += store.removed()?.details;
        let lists = [&mut gathered.losses, &mut gathered.unseen];
        caveats::add_missing(lists, missing, question, window);
    }
    gathered.compile_files(window);
    Ok(gathered)
}

/// Adds up what was counted elsewhere.
pub(super) fn add_up(counted: WindowCounts, question: &ReportQuestion, window: &Window) -> Gathered {
    let mut gathered = Gathered::default();
    gathered.add(counted, question, window);
    gathered.compile_files(window);
    gathered
}

/// The version of each site that was in force just before `to`; the youngest, where several gateways differ.
fn in_force(versions: &[VersionRecord], to: SystemTime) -> HashMap<&str, &VersionRecord> {
    let mut found: HashMap<&str, &VersionRecord> = HashMap::new();
    for version in versions.iter().filter(|version| version.from < to) {
        let ended = |record: &VersionRecord| record.until.is_some_and(|until| until < to);
        let later =
            |known: &&mut &VersionRecord| (!ended(version), version.from) >= (!ended(known), known.from);
        match found.get_mut(&*version.site) {
            None => drop(found.insert(&version.site, version)),
            Some(known) if later(&known) => *known = version,
            Some(_) => {}
        }
    }
    found
}

impl Gathered {
    fn add(&mut self, counted: WindowCounts, question: &ReportQuestion, window: &Window) {
        let is_hidden = |subject: &CountSubject| subject.client == ClientKind::Browser;
        let seen = counted.presence.into_iter().filter(|span| !is_hidden(&span.subject));
        for SeenSpan { subject, first, last } in seen {
            let seen = &mut self.account(&subject).seen;
            *seen = Some(seen.map_or((first, last), |known| (known.0.min(first), known.1.max(last))));
        }
        let (hidden, totals) =
            counted.totals.into_iter().partition::<Vec<_>, _>(|total| is_hidden(&total.subject));
        self.hidden.extend(hidden);
        for total in totals {
            let account = self.account(&total.subject);
            if let Some(name) = total.subject.crawler.as_deref() {
                *account.spellings.entry(name.into()).or_default() += total.count;
            }
            let met = DecisionTimes { count: total.count, first: total.first, last: total.last };
            account.totals.entry(total.decision).and_modify(|known| known.add(met)).or_insert(met);
        }
        for path in counted.paths.into_iter().filter(|path| !is_hidden(&path.subject)) {
            self.account(&path.subject).paths.entry(path.target).or_default().add(&path.counts);
        }
        for stretch in counted.stretches.iter().filter(|stretch| !is_hidden(&stretch.subject)) {
            self.account(&stretch.subject).pace.add(stretch);
        }
        for sent in counted.sent.iter().filter(|sent| !is_hidden(&sent.subject)) {
            let bytes = &mut self.account(&sent.subject).bytes;
            *bytes = Some(bytes.unwrap_or_default().saturating_add(sent.bytes));
        }
        for subject in &counted.hypothetical {
            self.account(subject).is_hypothetical = true;
        }
        for (subject, last) in &counted.other_fetches {
            let account = self.account(subject);
            account.other_fetch = account.other_fetch.max(Some(*last));
        }
        self.take_reads(counted.reads, question, window);
        self.versions.extend(counted.versions);
    }

    fn account(&mut self, subject: &CountSubject) -> &mut GatheredActivity {
        let account = self.accounts.entry(ElementKey::from(subject)).or_default();
        account.purpose = account.purpose.or(subject.purpose);
        if let Some(name) = subject.crawler.as_ref().filter(|name| !account.spellings.contains_key(*name)) {
            account.spellings.insert(name.clone(), 0);
        }
        account
    }

    /// What began before the window's end: later reads are no part of its story.
    fn take_reads(&mut self, reads: Vec<ReadTotal>, question: &ReportQuestion, window: &Window) {
        let wanted = question.crawler.as_deref();
        for read in reads.into_iter().filter(|read| read.first < window.to) {
            self.kin.note(&read);
            let name = read.subject.crawler.as_deref();
            let is_named =
                wanted.is_none_or(|wanted| name.is_some_and(|name| name.eq_ignore_ascii_case(wanted)));
            if is_named
                && question
                    .purpose
                    .is_none_or(|set| read.subject.purpose.is_some_and(|own| set.contains(own)))
            {
                let subject = Arc::clone(&read.subject);
                self.account(&subject).reads.push(read);
            }
        }
    }

    /// Visits in disguise are told beside what the crawler did under its own name, where it was proved to be that.
    fn take_hidden(&mut self) {
        for total in std::mem::take(&mut self.hidden) {
            let own = ElementKey { client: ClientKind::Crawler, ..ElementKey::from(&*total.subject) };
            let is_own = |key: &&ElementKey| {
                (&key.site, &key.crawler, key.proof) == (&own.site, &own.crawler, own.proof)
            };
            let known = self.accounts.keys().find(is_own).cloned();
            let account = self.accounts.entry(known.unwrap_or(own)).or_default();
            if let Some(name) = &total.subject.crawler {
                account.spellings.entry(name.clone()).or_default();
            }
            for family in &total.decision.group {
                *account.hidden.entry(family.clone()).or_default() += total.count;
            }
        }
    }

    /// What robots.txt said; and who was of the window.
    fn compile_files(&mut self, window: &Window) {
        self.accounts.retain(|_, account| account.is_of(window));
        self.take_hidden();
        let reads = self.accounts.values().flat_map(|account| &account.reads);
        let read: HashSet<VersionId> = reads.map(|read| read.version).collect();
        let in_force = in_force(&self.versions, window.to).into_values();
        self.files = RobotsFiles::new(in_force, &self.versions, |id| read.contains(&id));
    }

    /// The elements of the report, in its order: those that count against nobody are last.
    pub(super) fn entries(
        &mut self,
        question: &ReportQuestion,
        window: &Window,
    ) -> (Vec<ReportEntry>, Vec<Proposal>) {
        let accounts = std::mem::take(&mut self.accounts);
        let mut entries: Vec<ReportEntry> =
            accounts.into_iter().map(|(key, account)| self.entry(key, account, question, window)).collect();
        entries.sort_by_key(|entry| {
            let deeds = (entry.violations_after_read, entry.violations, entry.requests);
            (entry.subject.is_borrowed(), Reverse(deeds))
        });
        let proposals = proposals(&entries, &self.files.in_force, &question.known);
        (entries, proposals)
    }

    fn entry(
        &self,
        key: ElementKey,
        mut account: GatheredActivity,
        question: &ReportQuestion,
        window: &Window,
    ) -> ReportEntry {
        let ElementKey { site, client, proof, .. } = key;
        let subject =
            CountSubject { site, crawler: account.spelling(), client, purpose: account.purpose, proof };
        let requests = account.sum(|_| true);
        let violations = account.sum(|decision| decision.kind == EventKind::Violation);
        let stale = account.sum(|decision| decision.kind == EventKind::Stale);
        let after_read = account.sum(|decision| decision.notice == Some(Notice::Read));
        let kin_read = self.kin.read(&subject, &question.known);
        let violated = account.violated();
        let is_pace = |decision: &CountedDecision| decision.kind == EventKind::Pace;
        let facts = ConductFacts {
            requests,
            violations,
            stale,
            after_read,
            proof: subject.proof,
            is_rest: subject.crawler.as_deref() == Some(OTHER_CRAWLERS),
            a_read_was_seen: kin_read.is_some() || account.other_fetch.is_some() || !account.reads.is_empty(),
            reads_may_be_missing: caveats::concerns(&self.unseen, &subject.site),
        };
        let crawl_delay = self.files.delay(&subject, &question.known, &account.reads, &account.pace);
        let reads_of = account.reads_of();
        let last = account.reads.iter().max_by_key(|read| read.last);
        ReportEntry {
            conduct: if account.is_hypothetical { Conduct::Hypothetical } else { conduct(&facts) },
            requests,
            reads: reads_of.iter().map(|read| read.count).sum(),
            last_read: last.map(|read| read.last),
            last_read_version: last.map(|read| read.version),
            violations,
            stale,
            variants: account.sum(|decision| decision.kind == EventKind::Variant),
            spoofed: account.sum(|decision| decision.kind == EventKind::Spoof),
            too_fast: account.sum(is_pace),
            slowed: account.sum(|decision| is_pace(decision) && decision.action == Action::Refuse),
            refused: account.sum(|decision| !is_pace(decision) && decision.action.keeps_out()),
            bytes: account.bytes,
            hidden: std::mem::take(&mut account.hidden),
            first_seen: account.seen.map(|(first, _)| first),
            last_seen: account.seen.map(|(_, last)| last),
            first_violation: violated.map(|(first, _)| first),
            last_violation: violated.map(|(_, last)| last),
            crawl_delay,
            rules: rules(&account.totals),
            paths: account.paths(question.top),
            told: self.files.told(&subject, &question.known, &account.reads),
            violations_after_read: after_read,
            reads_of,
            course: account.pace.course(window, COURSE),
            kin_read,
            other_fetch: account.other_fetch,
            reads_may_be_missing: facts.reads_may_be_missing,
            subject,
            proof_by: MethodCounts::of(&account.totals),
        }
    }
}

impl GatheredActivity {
    /// Whether anything of it may have been within the window: a request, or a read of a version between the first and the
    /// last.
    fn is_of(&self, window: &Window) -> bool {
        let overlaps = |read: &ReadTotal| read.first < window.to && read.last >= window.from;
        !self.totals.is_empty() || self.reads.iter().any(overlaps)
    }

    /// The name as most requests wrote it.
    fn spelling(&self) -> Option<Box<str>> {
        let most = self.spellings.iter().max_by_key(|(name, count)| (**count, Reverse(*name)));
        most.map(|(name, _)| name.clone())
    }

    fn sum(&self, admits: impl Fn(&CountedDecision) -> bool) -> u64 {
        self.totals.iter().filter(|(decision, _)| admits(decision)).map(|(_, met)| met.count).sum()
    }

    /// When the first and the last violation came. Nobody broke a rule before it was first seen, whatever the minute
    /// begins with.
    fn violated(&self) -> Option<(SystemTime, SystemTime)> {
        let is_violation = |decision: &CountedDecision| decision.kind == EventKind::Violation;
        let mut met = self.totals.iter().filter(|(decision, _)| is_violation(decision)).map(|(_, met)| *met);
        let mut all = met.next()?;
        met.for_each(|met| all.add(met));
        let earliest = self.seen.map_or(all.first, |(first, _)| first.max(all.first));
        Some((earliest, all.last.max(earliest)))
    }

    /// The `top` targets, and the sum of all others.
    fn paths(&mut self, top: usize) -> Vec<PathCount> {
        let mut rest = self.paths.remove(OTHER_PATHS).unwrap_or_default();
        let mut paths: Vec<PathCount> =
            self.paths.drain().map(|(target, counts)| PathCount { target, counts }).collect();
        paths.sort_by(|one, two| {
            two.counts.weight().cmp(&one.counts.weight()).then_with(|| one.target.cmp(&two.target))
        });
        for path in paths.drain(top.min(paths.len())..) {
            rest.add(&path.counts);
        }
        if rest.requests() > 0 {
            paths.push(PathCount { target: OTHER_PATHS.to_owned(), counts: rest });
        }
        paths
    }

    fn reads_of(&self) -> Vec<ReadOf> {
        let mut found: BTreeMap<_, ReadOf> = BTreeMap::new();
        for read in &self.reads {
            let ReadTotal { version, in_force, first, last, count, .. } = *read;
            let read = ReadOf { version, in_force, first, last, count };
            found.entry(version).and_modify(|known| known.merge(&read)).or_insert(read);
        }
        let mut found: Vec<ReadOf> = found.into_values().collect();
        found.sort_by_key(|read| (read.in_force, read.version));
        found
    }
}
