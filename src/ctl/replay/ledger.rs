//! The parts of a log, in the order of the log, added up: what a report is made of.
//!
//! The memory is bounded whatever the log holds: names of strangers, targets and readers beyond a number are
//! counted with the rest, in the order of the log, so that the result does not depend on the number of threads.

use super::notice_time;
use super::pace::ReplayPace;
use super::part::{ChunkResult, ForwardReason, JudgedKind, JudgedLine, LineCounts, NewSubject};
use super::published::{Answers, ReplayFiles};
use super::sites::Sites;
use super::timeline::{REQUESTS, Timeline, VIOLATIONS};
use crate::decide::{Notice, NoticePeriod, NoticeTime, Read, RulesId};
use crate::identify::{Identity, Proof};
use crate::record::{
    CountSubject, CountedDecision, EventKind, OTHER_PATHS, PaceBook, PathCounts, ReadBook, ReaderId,
    SeenInstants, is_known,
};
use hashbrown::{HashMap, HashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names that the catalogue and robots.txt do not know.
const STRANGERS: usize = 10_000;

/// Targets told apart, in all and of one crawler, and their bytes in all.
const TARGETS: usize = 400_000;
const TARGETS_OF_ONE: usize = 50_000;
const TARGET_BYTES: usize = 48 << 20;

/// Longer targets are counted with the rest, as in the store.
const LONGEST_TARGET: usize = 2_048;

/// Readers told apart.
const READERS: usize = 65_536;

/// All that was counted of one subject.
#[derive(Debug)]
pub(super) struct SubjectTotals {
    pub(super) subject: Arc<CountSubject>,
    identity: Arc<Identity>,
    site: usize,
    /// `None` where its name came up, and nothing of it was counted.
    pub(super) seen: Option<SeenInstants>,
    pub(super) decisions: HashMap<Arc<CountedDecision>, SeenInstants>,
    pub(super) paths: HashMap<Box<[u8]>, PathCounts>,
    pub(super) other_paths: PathCounts,
    pub(super) reads: BTreeMap<ReplayReadKey, SeenInstants>,
    /// When it last fetched a robots.txt that is not known to be the one that is judged by.
    pub(super) other_fetch: Option<i64>,
    pub(super) pace: Option<ReplayPace>,
}

/// On which host, and from which network.
pub(super) type ReplayReadKey = (Box<str>, Option<Box<str>>);

/// A decision of a part.
struct PartDecision {
    decision: Arc<CountedDecision>,
    /// The same where whoever broke the rule had read it.
    after_read: Arc<CountedDecision>,
}

/// The sum of all parts.
#[derive(Debug)]
pub(super) struct ReplayTotals<'a> {
    pub(super) sites: &'a Sites,
    pub(super) files: &'a ReplayFiles,
    /// What robots.txt was answered with, by site.
    pub(super) answers: Vec<Answers>,
    period: NoticePeriod,
    pub(super) tally: LineCounts,
    pub(super) span: Option<SeenInstants>,
    pub(super) accounts: Vec<SubjectTotals>,
    by_subject: HashMap<CountSubject, u32>,
    strangers: usize,
    /// Each decision once, however many accounts have it.
    decisions: HashSet<Arc<CountedDecision>>,
    targets: (usize, usize),
    readers: usize,
    book: ReadBook,
    windows: PaceBook,
    /// Disallowed requests that enforce mode would forward, by reason and subject.
    pub(super) spared: BTreeMap<(ForwardReason, u32), u64>,
    /// Violations of crawlers over time.
    pub(super) timeline: Timeline,
    /// All their requests over time.
    pub(super) requests: Timeline,
    /// Lines of each log so far, and the first one that could not be read.
    lines: Vec<u64>,
    pub(super) unread: Option<(usize, u64, Vec<u8>)>,
    /// Logs that could not be read to their end: which, how many lines there were, and why.
    pub(super) broken: Vec<(usize, u64, String)>,
}

impl<'a> ReplayTotals<'a> {
    pub(super) fn new(sites: &'a Sites, files: &'a ReplayFiles, logs: usize) -> Self {
        Self {
            sites,
            files,
            answers: vec![Answers::default(); sites.all.len()],
            period: sites.policy.config.period,
            tally: LineCounts::default(),
            span: None,
            accounts: Vec::new(),
            by_subject: HashMap::new(),
            strangers: 0,
            decisions: HashSet::new(),
            targets: (0, 0),
            readers: 0,
            book: ReadBook::default(),
            windows: PaceBook::default(),
            spared: BTreeMap::new(),
            timeline: Timeline::new(VIOLATIONS),
            requests: Timeline::new(REQUESTS),
            lines: vec![0; logs],
            unread: None,
            broken: Vec::new(),
        }
    }

    /// Adds the next part.
    pub(super) fn add(&mut self, part: &ChunkResult) {
        if let Some(lines) = self.lines.get_mut(part.log) {
            let unread = part.unread.clone().map(|(line, text)| (part.log, *lines + line, text));
            self.unread = self.unread.take().or(unread);
            *lines += part.physical;
            self.broken.extend(part.broken.clone().map(|why| (part.log, *lines, why)));
        }
        self.tally.add(&part.tally);
        if let Some(span) = part.span {
            span.add_to(&mut self.span);
        }
        for answer in &part.answers {
            self.answers.get_mut(answer.site).into_iter().for_each(|answers| answers.add(*answer));
        }
        let subjects: Vec<Option<u32>> = part.subjects.iter().map(|new| self.account(new)).collect();
        let decisions: Vec<PartDecision> =
            part.decisions.iter().map(|decision| self.part_decision(decision)).collect();
        for hit in &part.hits {
            if let Some(account) = subjects.get(hit.subject as usize).copied().flatten() {
                self.count_line(account, hit, part, &decisions);
            }
        }
    }

    fn shared(&mut self, decision: &CountedDecision) -> Arc<CountedDecision> {
        Arc::clone(self.decisions.get_or_insert_with(decision, |decision| Arc::new(decision.clone())))
    }

    fn part_decision(&mut self, decision: &CountedDecision) -> PartDecision {
        let notice = if decision.kind == EventKind::Violation { Some(Notice::Read) } else { decision.notice };
        let after_read = self.shared(&CountedDecision { notice, ..decision.clone() });
        PartDecision { decision: self.shared(decision), after_read }
    }

    /// The number of a subject's account.
    fn account(&mut self, NewSubject { site, identity }: &NewSubject) -> Option<u32> {
        let of = self.sites.all.get(*site)?;
        let named = CountSubject::new(&of.config.name, identity, Proof::Unchecked);
        let is_new_stranger = !is_known(identity) && !self.by_subject.contains_key(&named);
        let has_no_room = is_new_stranger && self.strangers >= STRANGERS;
        let subject = if has_no_room { named.nameless() } else { named };
        if let Some(number) = self.by_subject.get(&subject) {
            return Some(*number);
        }
        self.strangers += usize::from(is_new_stranger && !has_no_room);
        let number = u32::try_from(self.accounts.len()).ok()?;
        self.by_subject.insert(subject.clone(), number);
        self.accounts.push(SubjectTotals {
            subject: Arc::new(subject),
            identity: Arc::clone(identity),
            site: *site,
            seen: None,
            decisions: HashMap::new(),
            paths: HashMap::new(),
            other_paths: PathCounts::default(),
            reads: BTreeMap::new(),
            other_fetch: None,
            pace: ReplayPace::of(self.sites, of, identity),
        });
        Some(number)
    }

    fn count_line(&mut self, number: u32, hit: &JudgedLine, part: &ChunkResult, decisions: &[PartDecision]) {
        let Some(account) = self.accounts.get_mut(number as usize) else { return };
        let seen = SeenInstants::once(hit.at);
        seen.add_to(&mut account.seen);
        let host = part.hosts.get(hit.host as usize).map_or("", |host| host);
        let who = ReaderId::new(host, &account.identity, Proof::Unchecked, hit.address);
        let site = self.sites.all.get(account.site).filter(|site| site.version().is_some());
        let rules = site.map(|site| site.rules.current().rules);
        let now = notice_time(hit.at);
        let (decision, spared) = match hit.what {
            JudgedKind::Decided(decision, spared) => (decision, spared),
            JudgedKind::Fetched(answered) if self.files.is_read(answered) => {
                count_read(&mut account.reads, &mut self.readers, &who, seen);
                if let Some(rules) = rules {
                    self.book.note(who, Read { rules, sequence: 0, at: now });
                }
                return;
            }
            JudgedKind::Fetched(_) => {
                account.other_fetch = account.other_fetch.max(Some(hit.at));
                return;
            }
        };
        let Some(PartDecision { decision, after_read }) = decisions.get(decision as usize) else { return };
        let target = part.targets.get(hit.target.clone()).unwrap_or_default();
        let is_violation = decision.kind == EventKind::Violation;
        let decided = match &account.pace {
            Some(pace) if pace.is_exceeded(&self.windows, decision, (&who, target, now)) => &pace.decision,
            _ if is_violation && has_read(&self.book, &who, rules, self.period, now) => after_read,
            _ => decision,
        };
        if let Some(reason) = spared {
            *self.spared.entry((reason, number)).or_default() += 1;
        }
        if is_violation && account.subject.is_crawler() {
            self.timeline.add(number, hit.at);
        }
        count_path(&mut account.paths, &mut account.other_paths, &mut self.targets, target, decided);
        match account.decisions.get_mut(decided) {
            Some(known) => known.add(seen),
            None => drop(account.decisions.insert(Arc::clone(decided), seen)),
        }
        self.requests.add(number, hit.at);
    }

    /// Whether the violations of an account are hypothetical: the log does not show that the rules were served at the time
    /// of each of them. They are not where one follows a read of the file by the account itself.
    pub(super) fn is_hypothetical(&self, account: &SubjectTotals) -> bool {
        if self.files.is_vouched {
            return false;
        }
        let Some((from, to)) = self.answers.get(account.site).and_then(Answers::shown) else { return true };
        let violations =
            || account.decisions.iter().filter(|(decision, _)| decision.kind == EventKind::Violation);
        !violations().any(|(decision, _)| decision.notice == Some(Notice::Read))
            && violations().any(|(_, seen)| seen.first < from || seen.last > to)
    }

    /// How many requests were decided so.
    pub(super) fn count_of(&self, is_so: impl Fn(&SubjectTotals, &CountedDecision) -> bool) -> u64 {
        let of = |account: &SubjectTotals| -> u64 {
            let so = account.decisions.iter().filter(|(decision, _)| is_so(account, decision));
            so.map(|(_, seen)| seen.count).sum()
        };
        self.accounts.iter().map(of).sum()
    }
}

/// Whether the reader had read this very file before, and long enough before.
fn has_read(
    book: &ReadBook,
    reader: &ReaderId<'_>,
    rules: Option<RulesId>,
    period: NoticePeriod,
    now: NoticeTime,
) -> bool {
    book.of(reader).iter().any(|read| Some(read.rules) == rules && period.counts(read, now))
}

fn count_read(
    reads: &mut BTreeMap<ReplayReadKey, SeenInstants>,
    readers: &mut usize,
    who: &ReaderId<'_>,
    seen: SeenInstants,
) {
    let mut key: ReplayReadKey = (who.host().into(), who.network().map(|network| network.to_string().into()));
    if *readers >= READERS && !reads.contains_key(&key) {
        key = (OTHER_PATHS.into(), None);
    }
    if let Some(known) = reads.get_mut(&key) {
        known.add(seen);
    } else {
        *readers += 1;
        reads.insert(key, seen);
    }
}

fn count_path(
    paths: &mut HashMap<Box<[u8]>, PathCounts>,
    other_paths: &mut PathCounts,
    (targets, bytes): &mut (usize, usize),
    target: &[u8],
    decided: &CountedDecision,
) {
    let counts = PathCounts::one(decided.kind, decided.action);
    if let Some(known) = paths.get_mut(target) {
        known.add(&counts);
        return;
    }
    let has_room = *targets < TARGETS && *bytes < TARGET_BYTES && paths.len() < TARGETS_OF_ONE;
    if !has_room || target.len() > LONGEST_TARGET || target == OTHER_PATHS.as_bytes() {
        other_paths.add(&counts);
        return;
    }
    *targets += 1;
    *bytes += target.len();
    paths.insert(target.into(), counts);
}
