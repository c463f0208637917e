//! Lines of a log through the gateway's own stages.
//!
//! What costs something to find is remembered here: who a header is from, and which site a host belongs to.

use super::lines::{HeaderCache, LineCounts, LineKind};
use super::notice_time;
use super::sites::Sites;
use crate::ctl::logs::{LogEntry, WalkedLine};
use crate::decide::{NoticeTime, Read, VerdictOutcome, VerdictReason};
use crate::enforce::{Action, Mode, PaceChoice, Variants, enforce_pace};
use crate::identify::{ClientKind, Identity, Proof, Recognised};
use crate::policy::{JudgedClient, JudgedRequest, ModeScope, Site, pace_in_force};
use crate::record::{
    CountedDecision, DecisionRef, Event, EventKind, LogTables, PaceBook, ReadBook, ReaderId, instant,
    printable,
};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::collections::BTreeMap;

/// A sender, and the number of its counts.
type ReplaySender = (Recognised, Option<u32>);

/// Judges lines, and counts what came of them.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    sites: &'a Sites,
    /// The rules were published all the time, says the operator: whoever fetched robots.txt had read them.
    is_published: bool,
    since: i64,
    with_events: bool,
    book: ReadBook,
    windows: PaceBook,
    /// By site.
    senders: Vec<HeaderCache<ReplaySender>>,
    hosts: HeaderCache<Option<usize>>,
    pub(super) lines: LineCounts,
    pub(super) counts: LogTables,
    /// What was sent to everybody, people too.
    pub(super) bytes: u64,
    /// Disallowed requests that enforce mode would forward, by reason and subject.
    pub(super) spared: BTreeMap<(&'static str, u32), u64>,
    /// Requests that would be answered 429 where pace is enforced, by subject, with the rule.
    pub(super) slowed: BTreeMap<u32, (Option<String>, u64)>,
    /// The first line that could not be read: where, what was expected, and the line.
    pub(super) unread: Option<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(sites: &'a Sites, is_published: bool, since: i64, with_events: bool) -> Self {
        Self {
            sites,
            is_published,
            since,
            with_events,
            book: ReadBook::default(),
            windows: PaceBook::default(),
            senders: sites.all.iter().map(|_| HeaderCache::default()).collect(),
            hosts: HeaderCache::default(),
            lines: LineCounts::default(),
            counts: LogTables::default(),
            bytes: 0,
            spared: BTreeMap::new(),
            slowed: BTreeMap::new(),
            unread: None,
        }
    }

    /// Judges a line; where it is an event and events are wanted, as a line of the journal.
    pub(super) fn line(&mut self, log: &str, number: u64, line: &WalkedLine<&[u8]>) -> Option<Vec<u8>> {
        self.lines.count(LineKind::Lines);
        match line {
            WalkedLine::Entry(entry) => self.entry(entry),
            WalkedLine::Unread { expected, column, line } => {
                self.lines.count(LineKind::Unread);
                let unread = || format!("{log}:{number}:{column}: expected {expected}: {}", printable(line));
                self.unread.get_or_insert_with(unread);
                None
            }
        }
    }

    fn entry(&mut self, entry: &LogEntry<&[u8]>) -> Option<Vec<u8>> {
        if entry.at < self.since {
            self.lines.count(LineKind::BeforeSince);
            return None;
        }
        let Some(site) = self.site(entry.host) else {
            self.lines.count(LineKind::OtherHosts);
            return None;
        };
        self.counts.span(entry.at);
        self.bytes = self.bytes.saturating_add(entry.size.unwrap_or_default());
        let Some(facts) = entry.facts() else {
            self.lines.count(LineKind::NoRequest);
            return None;
        };
        let Some(agent) = entry.agent else {
            self.lines.count(LineKind::WithoutUserAgent);
            return None;
        };
        let (sites, of) = (self.sites, self.sites.all.get(site)?);
        let new = || (of.recognise(&sites.policy, Some(agent).filter(|agent| !agent.is_empty())), None);
        let (recognised, number) = self.senders.get_mut(site)?.of(agent, new);
        match recognised.identity.client {
            ClientKind::App => self.lines.count(LineKind::Apps),
            kind if !kind.is_judged() => self.lines.count(LineKind::Browsers),
            _ => {
                let counts = &mut self.counts;
                let number =
                    *number.get_or_insert_with(|| counts.number(&of.config.name, &recognised.identity));
                let recognised = recognised.clone();
                return self.request(entry, &facts, of, (number, recognised));
            }
        }
        None
    }

    /// The site of a host.
    fn site(&mut self, named: Option<&[u8]>) -> Option<usize> {
        let (sites, named) = (self.sites, named.unwrap_or_default());
        let site = || sites.of(std::str::from_utf8(named).ok().filter(|named| !named.is_empty()));
        *self.hosts.of(named, site)
    }

    fn request(
        &mut self,
        entry: &LogEntry<&[u8]>,
        facts: &RequestFacts<'_>,
        site: &'a Site,
        (number, recognised): (u32, Recognised),
    ) -> Option<Vec<u8>> {
        let (policy, now) = (&self.sites.policy, notice_time(entry.at));
        let target = RequestTarget::new(&facts.target, site.config.path_parameters);
        let reads = |who: &Identity, proof| self.book.of(&reader(facts, who, proof));
        let proof = |_: &Identity| Proof::Unchecked.into();
        let client =
            JudgedClient { policy, site, rules: &site.rules, facts, target: &target, recognised, now };
        let mut judged = client.judge(proof, reads);
        match judged.verdict.reason {
            VerdictReason::RobotsTxt => {
                self.lines.count(LineKind::RobotsTxt);
                // What counts as a read (RFC 9309 §2.4): the whole file, or that it has not changed.
                if facts.method == "GET" && matches!(entry.status, Some(200 | 304)) {
                    let reader = reader(facts, &judged.identity, judged.proof);
                    let rules = site.rules.current().rules;
                    let version = site.version().filter(|_| self.is_published);
                    self.counts.fetch(number, entry.at, &reader, version.map(|version| (version, rules)));
                    if version.is_some() {
                        self.book.note(reader, Read { rules, as_of: NoticeTime::default(), at: now });
                    }
                }
                None
            }
            VerdictReason::Exempt => {
                self.lines.count(LineKind::Exempt);
                None
            }
            _ if judged.mode == Mode::Off => {
                self.lines.count(LineKind::Off);
                None
            }
            _ => {
                self.lines.count(LineKind::Judged);
                if let Some(reason) = reason_to_forward(site, &judged, &target) {
                    *self.spared.entry((reason, number)).or_default() += 1;
                }
                let kind = self.kind_by_pace(facts, site, number, &target, &mut judged, now);
                let occurrence = judged.occurrence(facts, site, instant(entry.at));
                self.counts.count(number, entry.at, &occurrence, kind, entry.size.unwrap_or_default());
                // What the gateway would have written to its journal.
                let is_event = self.with_events && kind != EventKind::Allowed;
                is_event.then(|| Event::of(kind, &occurrence).line(entry.status).into_bytes())
            }
        }
    }

    /// What a request is counted as, once its client's pace is known. What is disallowed already stays that.
    fn kind_by_pace(
        &mut self,
        facts: &RequestFacts<'_>,
        site: &'a Site,
        number: u32,
        target: &RequestTarget<'_>,
        judged: &mut JudgedRequest<'a>,
        now: NoticeTime,
    ) -> EventKind {
        let kind = EventKind::of(&judged.verdict, judged.proof);
        let may_be_slowed =
            judged.action == Action::Forward && judged.verdict.is_judged() && !target.is_acme_challenge();
        // By the version in force: a log does not say which others there were.
        let pace = pace_in_force(&self.sites.policy, &site.rules, &judged.identity);
        let Some(pace) = pace.filter(|_| may_be_slowed) else { return kind };
        let who = reader(facts, &judged.identity, judged.proof);
        let is_exceeded = self.windows.admit(&who, &pace.limit, target.judged(), now.0, true).is_err();
        if !is_exceeded || kind != EventKind::Allowed {
            return kind;
        }
        judged.verdict = pace.verdict(&judged.verdict);
        let by = |choice| enforce_pace(judged.mode, choice, &judged.identity, target);
        if by(PaceChoice::Enforce) == Action::Refuse {
            let rule = rule_of(&DecisionRef::new(EventKind::Pace, Action::Refuse, &judged.verdict, None));
            let (_, count) = self.slowed.entry(number).or_insert((rule, 0));
            *count += 1;
        }
        judged.action = by(site.config.crawl_delay);
        EventKind::Pace
    }
}

/// The rule of a decision, as it is counted.
fn rule_of(decided: &DecisionRef<'_>) -> Option<String> {
    CountedDecision::from(decided).rule.as_deref().map(str::to_owned)
}

/// Whom a read counts for.
fn reader<'a>(facts: &'a RequestFacts<'_>, who: &'a Identity, proof: Proof) -> ReaderId<'a> {
    ReaderId::new(&facts.host, who, proof, facts.address)
}

/// Why a disallowed request would be forwarded, where it would. The order is that of the stage that forwards it.
fn reason_to_forward(
    site: &Site,
    judged: &JudgedRequest<'_>,
    target: &RequestTarget<'_>,
) -> Option<&'static str> {
    let is_variant = judged.verdict.outcome == VerdictOutcome::Variant;
    let is_disallowed = is_variant || matches!(judged.verdict.outcome, VerdictOutcome::Violation(_));
    if !is_disallowed || judged.action != Action::Forward {
        return None;
    }
    if judged.mode != Mode::Enforce {
        return Some(match site.modes.deciding(&judged.identity).map(|one| &one.whom) {
            Some(ModeScope::Crawler(_)) => "crawler",
            Some(ModeScope::Purpose(_)) => "purpose",
            Some(ModeScope::Client(_)) => "client",
            Some(ModeScope::Everybody | ModeScope::Others) | None => "site",
        });
    }
    let is_left = is_variant && site.config.variants == Variants::Forward && !target.is_acme_challenge();
    // It may be a person's browser after all, or the path is disallowed in another spelling only, or a certificate
    // authority's check.
    Some(if judged.identity.is_audited_only() {
        "doubt"
    } else if is_left {
        "variant"
    } else {
        "certificate"
    })
}
