//! Lines of a log through the gateway's own stages, in one thread.
//!
//! Nothing is shared with other threads but the policy: headers, hosts, subjects and decisions are remembered
//! here, by number, so that a line whose header was seen before costs one look-up.

use super::part::{ChunkResult, ForwardReason, JudgedKind, JudgedLine, LineKind, NewDecision, NewSubject};
use super::published::{LoggedAnswer, ReplayFiles};
use super::sites::Sites;
use crate::ctl::access_log::{Chunk, LogEntry, LoggedRequest, parse};
use crate::decide::{Notice, NoticeTime, Read, VerdictOutcome, VerdictReason};
use crate::enforce::{Action, Mode, Variants};
use crate::identify::{ClientKind, Identity, Proof, Recognised};
use crate::policy::{JudgedClient, JudgedRequest, Site};
use crate::record::{CountedDecision, Event, EventKind, ReadBook, ReaderId, printable};
use crate::request::target::RequestTarget;
use crate::request::{RequestFacts, host};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many headers of a site are remembered, and the longest of them.
const HEADERS: usize = 16_384;
const LONGEST_HEADER: usize = 1_024;

/// How many names of clients are remembered. Of strangers, a log may hold one in each line.
const NAMES: usize = if cfg!(test) { 64 } else { 32_768 };

/// How many names of hosts are remembered.
const HOSTS: usize = 16_384;

/// Stands for a client that robots.txt has nothing to say to.
const UNJUDGED: u32 = u32::MAX;

/// One sender.
#[derive(Clone, Debug)]
struct ReplaySender {
    recognised: Recognised,
    subject: u32,
}

/// What tells decisions apart. A rule's line, and the token that led to it, stand for its group and text.
type DecisionKey<'a> =
    (usize, EventKind, Action, Option<Notice>, Option<u32>, &'a str, Option<ForwardReason>);

/// One thread's memory.
pub(super) struct Judge<'a> {
    sites: &'a Sites,
    files: &'a ReplayFiles,
    since: i64,
    /// Who has read robots.txt so far, where events are to be told in full: then this thread is the only one.
    book: Option<ReadBook>,
    headers: Vec<HashMap<Box<[u8]>, ReplaySender>>,
    hosts: HashMap<Box<str>, (Option<usize>, u32)>,
    decisions: HashMap<DecisionKey<'a>, u32>,
    subjects: u32,
    names: HashMap<(usize, Option<Arc<str>>, ClientKind), u32>,
    new_hosts: u32,
}

impl<'a> Judge<'a> {
    pub(super) fn new(sites: &'a Sites, files: &'a ReplayFiles, since: i64, with_events: bool) -> Self {
        Self {
            sites,
            files,
            since,
            book: with_events.then(ReadBook::default),
            headers: vec![HashMap::new(); sites.all.len()],
            hosts: HashMap::new(),
            decisions: HashMap::new(),
            subjects: 0,
            names: HashMap::new(),
            new_hosts: 0,
        }
    }

    /// Judges a chunk.
    pub(super) fn chunk(&mut self, chunk: &Chunk) -> ChunkResult {
        let (log, broken) = (chunk.log, chunk.broken.clone());
        let mut part =
            ChunkResult { log, broken, subjects_anew: self.clear_if_full(), ..ChunkResult::default() };
        for _ in 0..chunk.overlong {
            part.physical += 1;
            part.tally.count(LineKind::Lines);
            part.unreadable(b"(a line of more than 128 KiB)");
        }
        let (mut from, bytes) = (0, chunk.bytes.as_slice());
        for end in memchr::memchr_iter(b'\n', bytes).chain(std::iter::once(bytes.len())) {
            let line = bytes.get(from..end).unwrap_or_default();
            part.physical += u64::from(from < bytes.len());
            from = end + 1;
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                self.line(line, &mut part);
            }
        }
        part
    }

    /// Begins to number subjects anew when there are too many; what they were is known where the parts are added up.
    fn clear_if_full(&mut self) -> bool {
        let is_full = self.names.len() >= NAMES;
        if is_full {
            self.names.clear();
            self.subjects = 0;
            // They hold the numbers.
            self.headers.iter_mut().for_each(HashMap::clear);
        }
        is_full
    }

    fn line(&mut self, line: &[u8], part: &mut ChunkResult) {
        part.tally.count(LineKind::Lines);
        let Some(entry) = parse(line) else { return part.unreadable(line) };
        if entry.at < self.since {
            part.tally.count(LineKind::BeforeSince);
            return;
        }
        let (site, host) = self.host(entry.host.as_deref(), part);
        let Some(site) = site else {
            part.tally.count(LineKind::OtherHosts);
            return;
        };
        part.seen(entry.at);
        let Some(request) = &entry.request else {
            part.tally.count(LineKind::NoRequest);
            return;
        };
        self.answer(&entry, request, site, part);
        let Some(agent) = entry.agent.header() else {
            part.tally.count(LineKind::WithoutUserAgent);
            return;
        };
        let Some(sender) = self.sender(site, agent, part) else { return };
        if sender.subject == UNJUDGED {
            match sender.recognised.identity.client {
                ClientKind::App => part.tally.count(LineKind::Apps),
                _ => part.tally.count(LineKind::Browsers),
            }
            return;
        }
        self.request(&entry, request, (site, host), sender, part);
    }

    /// Notes what robots.txt was answered with, whoever asked. Another spelling of the path may have had another answer.
    fn answer(&self, entry: &LogEntry<'_>, request: &LoggedRequest<'_>, site: usize, part: &mut ChunkResult) {
        if *request.target != *b"/robots.txt" || *request.method != *b"GET" || entry.status != Some(200) {
            return;
        }
        let answered = self.files.answered(site, entry);
        let told = entry.size.filter(|_| entry.is_encoded != Some(true));
        part.answers.push(LoggedAnswer { site, at: entry.at, answered, size: told });
    }

    /// The site of a host, and the number of the host's name.
    fn host(&mut self, named: Option<&str>, part: &mut ChunkResult) -> (Option<usize>, u32) {
        let named = named.unwrap_or_default();
        if let Some(known) = self.hosts.get(named) {
            return *known;
        }
        let site = self.sites.of(Some(named).filter(|named| !named.is_empty()));
        if self.hosts.len() >= HOSTS {
            // Only what is read there could be told apart, and nobody reads on so many hosts.
            return (site, 0);
        }
        let known = (site, self.new_hosts);
        part.hosts.push(host::normalise(named).into());
        self.new_hosts += 1;
        self.hosts.insert(named.into(), known);
        known
    }

    fn sender(&mut self, site: usize, agent: &[u8], part: &mut ChunkResult) -> Option<ReplaySender> {
        if let Some(known) = self.headers.get(site).and_then(|headers| headers.get(agent)) {
            return Some(known.clone());
        }
        let of = self.sites.all.get(site)?;
        let header = Some(agent).filter(|agent| !agent.is_empty());
        let recognised = of.recognise(&self.sites.policy, header);
        // A value of this thread's own: counting its holders would make the threads wait for each other.
        let own = |identity: &Arc<Identity>| Arc::new(Identity::clone(identity));
        let recognised = Recognised::new(own(recognised.at_first()), own(&recognised.identity));
        let subject = if recognised.identity.client.is_judged() {
            self.subject(site, &recognised, part)
        } else {
            UNJUDGED
        };
        let sender = ReplaySender { recognised, subject };
        if let Some(headers) = self.headers.get_mut(site).filter(|_| agent.len() <= LONGEST_HEADER) {
            if headers.len() >= HEADERS {
                headers.clear();
            }
            headers.insert(agent.into(), sender.clone());
        }
        Some(sender)
    }

    fn subject(&mut self, site: usize, recognised: &Recognised, part: &mut ChunkResult) -> u32 {
        let identity = &recognised.identity;
        let key = (site, identity.crawler.clone(), identity.client);
        *self.names.entry(key).or_insert_with(|| {
            part.subjects.push(NewSubject { site, identity: Arc::clone(identity) });
            self.subjects += 1;
            self.subjects - 1
        })
    }

    fn request(
        &mut self,
        entry: &LogEntry<'_>,
        request: &LoggedRequest<'_>,
        (site, host_number): (usize, u32),
        sender: ReplaySender,
        part: &mut ChunkResult,
    ) {
        let method = std::str::from_utf8(&request.method).unwrap_or_default();
        let Some(facts) = entry.facts(request, method).filter(|_| !method.is_empty()) else {
            part.tally.count(LineKind::NoRequest);
            return;
        };
        let sites = self.sites;
        let Some(of) = sites.all.get(site) else { return };
        let now = NoticeTime(Duration::from_micros(u64::try_from(entry.at).unwrap_or_default()));
        let target = RequestTarget::new(&facts.target, of.config.path_parameters);
        let ReplaySender { recognised, subject } = sender;
        let reads = |who: &Identity, proof| {
            self.book.as_ref().map_or_else(Vec::new, |book| book.of(&reader(&facts, who, proof)))
        };
        let (policy, proof) = (&sites.policy, |_: &Identity| Proof::Unchecked.into());
        let (facts, target) = (&facts, &target);
        let client = JudgedClient { policy, site: of, rules: &of.rules, facts, target, recognised, now };
        let judged = client.judge(proof, reads);
        let hit = |what, target| JudgedLine {
            at: entry.at,
            subject,
            what,
            target,
            host: host_number,
            address: entry.address,
        };
        match judged.verdict.reason {
            VerdictReason::RobotsTxt => {
                part.tally.count(LineKind::RobotsTxt);
                // What counts as a read (RFC 9309 §2.4): the whole file, or that it has not changed.
                if method == "GET" && matches!(entry.status, Some(200 | 304)) {
                    let answered = self.files.answered(site, entry);
                    let is_read = self.files.is_read(answered);
                    if let (Some(book), Some(_), true) = (&self.book, of.version(), is_read) {
                        let reader = reader(facts, &judged.identity, judged.proof);
                        book.note(reader, Read { rules: of.rules.current().rules, sequence: 0, at: now });
                    }
                    part.hits.push(hit(JudgedKind::Fetched(answered), 0..0));
                }
            }
            VerdictReason::Exempt => part.tally.count(LineKind::Exempt),
            _ if judged.mode == Mode::Off => part.tally.count(LineKind::Off),
            _ => {
                part.tally.count(LineKind::Judged);
                let what = JudgedKind::Decided(self.decision(site, of, &judged, target, part));
                let target = part.target(&facts.target);
                part.hits.push(hit(what, target));
                if self.book.is_some() {
                    event(facts, of, &judged, entry.status, SystemTime::UNIX_EPOCH + now.0, part);
                }
            }
        }
    }

    fn decision(
        &mut self,
        site: usize,
        of: &'a Site,
        judged: &JudgedRequest<'a>,
        target: &RequestTarget<'_>,
        part: &mut ChunkResult,
    ) -> u32 {
        let kind = EventKind::of(&judged.verdict, judged.proof);
        let ruling = judged.verdict.ruling.as_ref().filter(|_| kind != EventKind::Allowed);
        let rule = ruling.and_then(|ruling| ruling.rule.as_ref());
        let is_disallowed =
            matches!(judged.verdict.outcome, VerdictOutcome::Violation(_) | VerdictOutcome::Variant);
        let spared = (is_disallowed && judged.action == Action::Forward)
            .then(|| reason_to_forward(of, judged, target));
        let (line, token) = (rule.map(|rule| rule.line), ruling.map_or("", |ruling| ruling.token));
        let next = u32::try_from(self.decisions.len()).unwrap_or(u32::MAX);
        *self
            .decisions
            .entry((site, kind, judged.action, judged.verdict.notice(), line, token, spared))
            .or_insert_with(|| {
                let decision = CountedDecision {
                    kind,
                    action: judged.action,
                    notice: judged.verdict.notice(),
                    version: judged.verdict.version,
                    group: ruling.map_or_else(Vec::new, |ruling| {
                        ruling.group.iter().map(|name| (*name).into()).collect()
                    }),
                    line,
                    rule: rule.map(|rule| printable(rule.marked).into()),
                    proof_by: None,
                };
                part.decisions.push(NewDecision { decision, spared });
                next
            })
    }
}

/// Whom a read counts for.
fn reader<'a>(facts: &'a RequestFacts<'_>, who: &'a Identity, proof: Proof) -> ReaderId<'a> {
    ReaderId::new(&facts.host, who, proof, facts.address)
}

/// Why a disallowed request would be forwarded. The order is that of the stage that forwards it.
fn reason_to_forward(site: &Site, judged: &JudgedRequest<'_>, target: &RequestTarget<'_>) -> ForwardReason {
    if judged.mode != Mode::Enforce {
        let name = judged.identity.crawler.as_deref().map(str::to_ascii_lowercase);
        let of_crawler = name.is_some_and(|name| site.modes.crawlers.contains_key(&name));
        let of_purpose =
            judged.identity.purpose.is_some_and(|purpose| site.modes.purposes.contains_key(&purpose));
        let of_kind = judged.mode != site.modes.site;
        return if of_crawler {
            ForwardReason::Crawler
        } else if of_purpose {
            ForwardReason::Purpose
        } else if of_kind {
            ForwardReason::Kind
        } else {
            ForwardReason::Site
        };
    }
    if judged.identity.is_audited_only() {
        return ForwardReason::Doubt;
    }
    let is_variant = judged.verdict.outcome == VerdictOutcome::Variant;
    if is_variant && site.config.choices.variants == Variants::Forward && !target.is_acme_challenge() {
        ForwardReason::Variant
    } else {
        ForwardReason::Certificate
    }
}

/// Writes what the gateway would have written to its journal.
fn event(
    facts: &RequestFacts<'_>,
    site: &Site,
    judged: &JudgedRequest<'_>,
    status: Option<u16>,
    now: SystemTime,
    part: &mut ChunkResult,
) {
    let kind = EventKind::of(&judged.verdict, judged.proof);
    if kind == EventKind::Allowed {
        return;
    }
    let event = Event::of(kind, &judged.occurrence(facts, site, now));
    part.events.extend(event.line(status));
}

#[cfg(test)]
mod tests {
    use super::super::ledger::ReplayTotals;
    use super::*;
    use crate::ctl::args::Cli;
    use clap::Parser as _;

    #[test]
    fn names_are_forgotten_and_counted_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let robots = folder.path().join("robots.txt");
        std::fs::write(&robots, "User-agent: *\nDisallow: /private\n").unwrap();
        let cli = Cli::try_parse_from(["gatewayctl", "replay", "access.log"]).unwrap();
        let sites = Sites::load(&cli, Some(&robots), None, &[]).unwrap();
        let files = ReplayFiles::of(&sites, false);
        let mut judge = Judge::new(&sites, &files, i64::MIN, false);
        let mut ledger = ReplayTotals::new(&sites, &files, 1, 1);
        let line = |name: usize| {
            format!(
                "192.0.2.1 - - [01/Nov/2026:00:00:00 +0000] \"GET /private HTTP/1.1\" 200 5 \"-\" \
                 \"Bot-{}{}/1.0 (+https://bot.example/)\"\n",
                char::from(b'a' + u8::try_from(name / 26).unwrap()),
                char::from(b'a' + u8::try_from(name % 26).unwrap())
            )
        };
        for _ in 0..3 {
            for first in (0..300).step_by(30) {
                let bytes: String = (first..first + 30).map(line).collect();
                let chunk = Chunk { bytes: bytes.into_bytes(), ..Chunk::default() };
                ledger.add(0, &judge.chunk(&chunk));
                assert!(judge.names.len() < NAMES + 30);
            }
        }
        let counts: Vec<u64> = ledger
            .accounts
            .iter()
            .map(|account| account.decisions.values().map(|seen| seen.count).sum())
            .collect();
        assert_eq!(counts, vec![3; 300], "each name by itself");
        assert_eq!(ledger.timeline.counts().map(|(_, _, count)| count).sum::<u64>(), 900);
    }
}
