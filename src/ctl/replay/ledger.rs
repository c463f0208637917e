//! The parts of a log, in the order of the log, added up: what a report is made of.
//!
//! The memory is bounded whatever the log holds: names of strangers, targets and readers beyond a number are
//! counted with the rest, in the order of the log, so that the result does not depend on the number of threads.

use super::pace::ReplayPace;
use super::part::{ChunkResult, ForwardReason, JudgedKind, JudgedLine, LineCounts, NewDecision};
use super::published::{Answers, ReplayFiles};
use super::sites::Sites;
use super::timeline::{REQUESTS, Timeline, VIOLATIONS};
use crate::decide::{Notice, NoticePeriod, NoticeTime, Read, RulesId};
use crate::identify::{Basis, ClientKind, Identity, Proof};
use crate::record::{
    CountSubject, CountedDecision, EventKind, OTHER_CRAWLERS, OTHER_PATHS, PaceBook, PathCounts, ReadBook,
    ReaderId,
};
use crate::request::address::Network;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

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
    pub(super) first: i64,
    pub(super) last: i64,
    /// By number of the decision; an odd number is the one before, after a read.
    pub(super) decisions: HashMap<u32, SeenTimes>,
    pub(super) paths: HashMap<Box<[u8]>, PathCounts>,
    pub(super) other_paths: PathCounts,
    pub(super) reads: BTreeMap<ReplayReadKey, SeenTimes>,
    /// When it last fetched a robots.txt that is not known to be the one that is judged by.
    pub(super) other_fetch: Option<i64>,
    pub(super) pace: Option<ReplayPace>,
}

/// On which host, and from which network.
pub(super) type ReplayReadKey = (u32, Option<String>);

/// First, last, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenTimes {
    pub(super) first: i64,
    pub(super) last: i64,
    pub(super) count: u64,
}

impl SeenTimes {
    /// Nothing yet, from `at` on.
    pub(super) const fn at(at: i64) -> Self {
        Self { first: at, last: at, count: 0 }
    }

    pub(super) fn add(&mut self, at: i64) {
        self.merge(Self { first: at, last: at, count: 1 });
    }

    pub(super) fn merge(&mut self, other: Self) {
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
        self.count += other.count;
    }
}

/// What one worker's numbers stand for here.
#[derive(Debug, Default)]
struct WorkerNumbers {
    subjects: Vec<u32>,
    decisions: Vec<u32>,
    hosts: Vec<u32>,
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
    pub(super) span: Option<(i64, i64)>,
    numbers: Vec<WorkerNumbers>,
    pub(super) accounts: Vec<SubjectTotals>,
    by_subject: HashMap<CountSubject, u32>,
    strangers: usize,
    pub(super) decisions: Vec<NewDecision>,
    by_decision: HashMap<NewDecision, u32>,
    pub(super) hosts: Vec<Box<str>>,
    by_host: HashMap<Box<str>, u32>,
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
    pub(super) fn new(sites: &'a Sites, files: &'a ReplayFiles, workers: usize, logs: usize) -> Self {
        Self {
            sites,
            files,
            answers: vec![Answers::default(); sites.all.len()],
            period: sites.policy.config.period,
            tally: LineCounts::default(),
            span: None,
            numbers: (0..workers).map(|_| WorkerNumbers::default()).collect(),
            accounts: Vec::new(),
            by_subject: HashMap::new(),
            strangers: 0,
            decisions: Vec::new(),
            by_decision: HashMap::new(),
            hosts: Vec::new(),
            by_host: HashMap::new(),
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

    /// Adds the next part, which is `worker`'s.
    pub(super) fn add(&mut self, worker: usize, part: &ChunkResult) {
        if let (Some((line, text)), None) = (&part.unread, &self.unread) {
            let before = self.lines.get(part.log).copied().unwrap_or_default();
            self.unread = Some((part.log, before + line, text.clone()));
        }
        if let Some(lines) = self.lines.get_mut(part.log) {
            *lines += part.physical;
            self.broken.extend(part.broken.clone().map(|why| (part.log, *lines, why)));
        }
        self.tally.add(&part.tally);
        if let Some((first, last)) = part.span {
            let (from, to) = self.span.unwrap_or((first, last));
            self.span = Some((from.min(first), to.max(last)));
        }
        for answer in &part.answers {
            self.answers.get_mut(answer.site).into_iter().for_each(|answers| answers.add(*answer));
        }
        self.number(worker, part);
        let numbers = self.numbers.get_mut(worker).map(std::mem::take).unwrap_or_default();
        for hit in &part.hits {
            self.count_line(&numbers, hit, part.targets.get(hit.target.clone()).unwrap_or_default());
        }
        if let Some(place) = self.numbers.get_mut(worker) {
            *place = numbers;
        }
    }

    /// Gives what the worker has named in this part a number of ours.
    fn number(&mut self, worker: usize, part: &ChunkResult) {
        if part.subjects_anew {
            self.numbers.get_mut(worker).into_iter().for_each(|numbers| numbers.subjects.clear());
        }
        for new in &part.subjects {
            let number = self.subject(new.site, &new.identity);
            self.numbers.get_mut(worker).into_iter().for_each(|numbers| numbers.subjects.push(number));
        }
        for new in &part.decisions {
            let number = self.decision_number(new.clone());
            self.numbers.get_mut(worker).into_iter().for_each(|numbers| numbers.decisions.push(number));
        }
        for host in &part.hosts {
            let next = u32::try_from(self.hosts.len()).unwrap_or(u32::MAX);
            let number = *self.by_host.entry(host.clone()).or_insert(next);
            if number == next {
                self.hosts.push(host.clone());
            }
            self.numbers.get_mut(worker).into_iter().for_each(|numbers| numbers.hosts.push(number));
        }
    }

    fn decision_number(&mut self, new: NewDecision) -> u32 {
        let next = u32::try_from(self.decisions.len()).unwrap_or(u32::MAX / 2);
        let number = *self.by_decision.entry(new.clone()).or_insert(next);
        if number == next {
            self.decisions.push(new);
        }
        number
    }

    fn subject(&mut self, site: usize, identity: &Arc<Identity>) -> u32 {
        let name = self.sites.all.get(site).map_or("", |site| &site.config.name);
        let mut subject = CountSubject {
            site: name.into(),
            client: identity.client,
            crawler: identity.crawler.as_deref().map(Into::into),
            purpose: identity.purpose,
            proof: Proof::Unchecked,
        };
        if let Some(number) = self.by_subject.get(&subject) {
            return *number;
        }
        let is_stranger =
            subject.crawler.is_some() && !matches!(identity.basis, Basis::Catalogue | Basis::OperatorToken);
        if is_stranger && self.strangers >= STRANGERS {
            subject = CountSubject { crawler: Some(OTHER_CRAWLERS.into()), purpose: None, ..subject };
            if let Some(number) = self.by_subject.get(&subject) {
                return *number;
            }
        } else {
            self.strangers += usize::from(is_stranger);
        }
        let pace = self.sites.all.get(site).and_then(|site| ReplayPace::of(self.sites, site, identity));
        let pace = pace.map(|(pace, decided)| ReplayPace { decision: self.decision_number(decided), ..pace });
        let number = u32::try_from(self.accounts.len()).unwrap_or(u32::MAX);
        self.by_subject.insert(subject.clone(), number);
        self.accounts.push(SubjectTotals {
            subject: Arc::new(subject),
            identity: Arc::clone(identity),
            site,
            first: i64::MAX,
            last: i64::MIN,
            decisions: HashMap::new(),
            paths: HashMap::new(),
            other_paths: PathCounts::default(),
            reads: BTreeMap::new(),
            other_fetch: None,
            pace,
        });
        number
    }

    fn count_line(&mut self, numbers: &WorkerNumbers, hit: &JudgedLine, target: &[u8]) {
        let of = |list: &[u32], number: u32| list.get(number as usize).copied().unwrap_or_default();
        let (number, host) = (of(&numbers.subjects, hit.subject), of(&numbers.hosts, hit.host));
        let Some(account) = self.accounts.get_mut(number as usize) else { return };
        account.first = account.first.min(hit.at);
        account.last = account.last.max(hit.at);
        let host_name = self.hosts.get(host as usize).map_or("", |host| host);
        let site = self.sites.all.get(account.site).filter(|site| site.version().is_some());
        let rules = site.map(|site| site.rules.current().rules);
        let now = NoticeTime(Duration::from_micros(u64::try_from(hit.at).unwrap_or_default()));
        let decision = match hit.what {
            JudgedKind::Decided(decision) => decision,
            JudgedKind::Fetched(answered) if self.files.is_read(answered) => {
                if let Some(rules) = rules {
                    self.book.note(reader(account, host_name, hit), Read { rules, sequence: 0, at: now });
                }
                return count_read(account, &mut self.readers, host, hit);
            }
            JudgedKind::Fetched(_) => {
                account.other_fetch = account.other_fetch.max(Some(hit.at));
                return;
            }
        };
        let mut decision = of(&numbers.decisions, decision);
        if let Some(pace) = &account.pace {
            let who = reader(account, host_name, hit);
            decision = pace.of_request(&self.windows, &self.decisions, decision, (&who, target, now));
        }
        let Some(NewDecision { decision: decided, spared }) = self.decisions.get(decision as usize) else {
            return;
        };
        if let Some(reason) = spared {
            *self.spared.entry((*reason, number)).or_default() += 1;
        }
        let is_violation = decided.kind == EventKind::Violation;
        let had_read =
            is_violation && has_read(&self.book, &reader(account, host_name, hit), rules, self.period, now);
        if is_violation && matches!(account.subject.client, ClientKind::Crawler | ClientKind::SpecialCase) {
            self.timeline.add(number, hit.at);
        }
        let number_of_way = 2 * decision + u32::from(had_read);
        account.decisions.entry(number_of_way).or_insert_with(|| SeenTimes::at(hit.at)).add(hit.at);
        self.requests.add(number, hit.at);
        count_path(account, &mut self.targets, target, decided);
    }

    /// The decision of a number of [`SubjectTotals::decisions`]. A violation of rules that nobody had published had no notice.
    pub(super) fn decision(&self, number: u32, is_hypothetical: bool) -> Option<CountedDecision> {
        let decided = &self.decisions.get(number as usize / 2)?.decision;
        let notice = match (is_hypothetical, number % 2) {
            (true, _) => None,
            (false, 1) => Some(Notice::Read),
            (false, _) => decided.notice,
        };
        Some(CountedDecision { notice, ..decided.clone() })
    }

    /// Whether nothing can be said of an account but what the rules would have meant for it: the log does not show that
    /// they were being served, or not when it broke them. Who had fetched the file itself knew them.
    pub(super) fn is_hypothetical(&self, account: &SubjectTotals) -> bool {
        if self.files.is_vouched {
            return false;
        }
        let Some((from, to)) = self.answers.get(account.site).and_then(Answers::shown) else { return true };
        let violations = || {
            let is_violation = |number: &u32| {
                let decided = self.decisions.get(*number as usize / 2);
                decided.is_some_and(|decided| decided.decision.kind == EventKind::Violation)
            };
            account.decisions.iter().filter(move |(number, _)| is_violation(number))
        };
        !violations().any(|(number, _)| number % 2 == 1)
            && violations().any(|(_, seen)| seen.first < from || seen.last > to)
    }

    /// Violations of crawlers that had fetched this very file before.
    pub(super) fn after_read(&self) -> u64 {
        let known = self.accounts.iter().filter(|account| !self.is_hypothetical(account));
        let after = |account: &SubjectTotals| -> u64 {
            let after = account.decisions.iter().filter(|(number, _)| *number % 2 == 1);
            after.map(|(_, seen)| seen.count).sum()
        };
        known.map(after).sum()
    }
}

/// Whom a read counts for.
fn reader<'a>(account: &'a SubjectTotals, host: &'a str, hit: &JudgedLine) -> ReaderId<'a> {
    ReaderId::new(host, &account.identity, Proof::Unchecked, hit.address)
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

fn count_read(account: &mut SubjectTotals, readers: &mut usize, host: u32, hit: &JudgedLine) {
    let prefix = if account.identity.crawler.is_some() { (24, 48) } else { (32, 128) };
    let network = hit.address.map(|address| Network::around(address, prefix.0, prefix.1).to_string());
    let mut key = (host, network);
    if *readers >= READERS && !account.reads.contains_key(&key) {
        key = (host, None);
    }
    let seen = account.reads.entry(key).or_insert_with(|| {
        *readers += 1;
        SeenTimes::at(hit.at)
    });
    seen.add(hit.at);
}

fn count_path(
    account: &mut SubjectTotals,
    (targets, bytes): &mut (usize, usize),
    target: &[u8],
    decided: &CountedDecision,
) {
    let counts = PathCounts::one(decided.kind, decided.action);
    if let Some(known) = account.paths.get_mut(target) {
        known.add(&counts);
        return;
    }
    let has_room = *targets < TARGETS && *bytes < TARGET_BYTES && account.paths.len() < TARGETS_OF_ONE;
    if !has_room || target.len() > LONGEST_TARGET || target == OTHER_PATHS.as_bytes() {
        account.other_paths.add(&counts);
        return;
    }
    *targets += 1;
    *bytes += target.len();
    account.paths.insert(target.into(), counts);
}

/// The inverse of a count of microseconds since 1970.
pub(super) fn instant(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}
