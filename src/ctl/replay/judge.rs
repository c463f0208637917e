//! Lines of a log through the gateway's own stages, in one thread.
//!
//! Nothing is shared with other threads but the policy. What costs something to find is remembered here: who a header
//! is from, and which site a host belongs to.

use super::headers::HeaderCache;
use super::notice_time;
use super::part::{ChunkResult, ForwardReason, JudgedKind, JudgedLine, LineKind, NewSubject};
use super::published::{LoggedAnswer, ReplayFiles};
use super::sites::Sites;
use crate::ctl::access_log::{Chunk, LogEntry, LoggedRequest, parse};
use crate::decide::{Read, VerdictOutcome, VerdictReason};
use crate::enforce::{Action, Mode, Variants};
use crate::identify::{ClientKind, Identity, Proof, Recognised};
use crate::policy::{JudgedClient, JudgedRequest, Policy, Site};
use crate::record::{
    CountedDecision, DecisionRef, Event, EventKind, ReadBook, ReaderId, SeenInstants, instant,
};
use crate::request::target::RequestTarget;
use crate::request::{RequestFacts, host};
use hashbrown::HashMap;
use std::sync::Arc;

/// Where something stands in a list of the part that names it. Of another part the place says nothing.
#[derive(Clone, Copy, Debug, Default)]
struct PlaceInPart {
    /// Parts are counted from 1.
    part: u64,
    place: u32,
}

impl PlaceInPart {
    /// The place in the `list` of this `part`, where `new` is put if it is not there yet.
    fn of<T>(&mut self, part: u64, list: &mut Vec<T>, new: impl FnOnce() -> T) -> u32 {
        if self.part != part {
            *self = Self { part, place: u32::try_from(list.len()).unwrap_or(u32::MAX) };
            list.push(new());
        }
        self.place
    }
}

/// One sender.
#[derive(Debug)]
struct ReplaySender {
    recognised: Recognised,
    place: PlaceInPart,
}

impl ReplaySender {
    /// Who a header is from.
    fn new(policy: &Policy, site: &Site, agent: &[u8]) -> Self {
        let recognised = site.recognise(policy, Some(agent).filter(|agent| !agent.is_empty()));
        // A value of this thread's own: counting its holders would make the threads wait for each other.
        let own = |identity: &Arc<Identity>| Arc::new(Identity::clone(identity));
        let recognised = Recognised::new(own(recognised.at_first()), own(&recognised.identity));
        Self { recognised, place: PlaceInPart::default() }
    }
}

/// One thread's memory.
pub(super) struct Judge<'a> {
    sites: &'a Sites,
    files: &'a ReplayFiles,
    since: i64,
    /// Who has read robots.txt so far, where events are to be told in full: then this thread is the only one.
    book: Option<ReadBook>,
    /// By site.
    senders: Vec<HeaderCache<ReplaySender>>,
    hosts: HeaderCache<(Option<usize>, PlaceInPart)>,
    /// As many as the rules have.
    decisions: HashMap<CountedDecision, PlaceInPart>,
    /// The number of the part.
    part: u64,
}

impl<'a> Judge<'a> {
    pub(super) fn new(sites: &'a Sites, files: &'a ReplayFiles, since: i64, with_events: bool) -> Self {
        Self {
            sites,
            files,
            since,
            book: with_events.then(ReadBook::default),
            senders: sites.all.iter().map(|_| HeaderCache::default()).collect(),
            hosts: HeaderCache::default(),
            decisions: HashMap::new(),
            part: 0,
        }
    }

    /// Judges a chunk.
    pub(super) fn chunk(&mut self, chunk: &Chunk) -> ChunkResult {
        self.part += 1;
        let mut part = ChunkResult { log: chunk.log, broken: chunk.broken.clone(), ..ChunkResult::default() };
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

    fn line(&mut self, line: &[u8], part: &mut ChunkResult) {
        part.tally.count(LineKind::Lines);
        let mut lossy = String::new();
        let Some(entry) = parse(line, &mut lossy) else { return part.unreadable(line) };
        if entry.at < self.since {
            part.tally.count(LineKind::BeforeSince);
            return;
        }
        let (site, host) = self.host(entry.host.as_deref(), part);
        let Some(site) = site else {
            part.tally.count(LineKind::OtherHosts);
            return;
        };
        SeenInstants::once(entry.at).add_to(&mut part.span);
        let Some(request) = &entry.request else {
            part.tally.count(LineKind::NoRequest);
            return;
        };
        self.answer(&entry, request, site, part);
        let Some(agent) = entry.agent.header() else {
            part.tally.count(LineKind::WithoutUserAgent);
            return;
        };
        let Some((senders, of)) = self.senders.get_mut(site).zip(self.sites.all.get(site)) else { return };
        let policy = &self.sites.policy;
        let sender = senders.of(agent, || ReplaySender::new(policy, of, agent));
        let identity = &sender.recognised.identity;
        match identity.client {
            ClientKind::App => part.tally.count(LineKind::Apps),
            kind if !kind.is_judged() => part.tally.count(LineKind::Browsers),
            _ => {
                let new = || NewSubject { site, identity: Arc::clone(identity) };
                let subject = sender.place.of(self.part, &mut part.subjects, new);
                let recognised = sender.recognised.clone();
                self.request(&entry, request, (site, host, subject), recognised, part);
            }
        }
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

    /// The site of a host, and the place of the host's name.
    fn host(&mut self, named: Option<&str>, part: &mut ChunkResult) -> (Option<usize>, u32) {
        let named = named.unwrap_or_default();
        let site = || self.sites.of(Some(named).filter(|named| !named.is_empty()));
        let (site, place) = self.hosts.of(named.as_bytes(), || (site(), PlaceInPart::default()));
        (*site, place.of(self.part, &mut part.hosts, || host::normalise(named).into()))
    }

    fn request(
        &mut self,
        entry: &LogEntry<'_>,
        request: &LoggedRequest<'_>,
        (site, host, subject): (usize, u32, u32),
        recognised: Recognised,
        part: &mut ChunkResult,
    ) {
        let method = std::str::from_utf8(&request.method).unwrap_or_default();
        let Some(facts) = entry.facts(request, method).filter(|_| !method.is_empty()) else {
            part.tally.count(LineKind::NoRequest);
            return;
        };
        let sites = self.sites;
        let Some(of) = sites.all.get(site) else { return };
        let now = notice_time(entry.at);
        let target = RequestTarget::new(&facts.target, of.config.path_parameters);
        let reads = |who: &Identity, proof| {
            self.book.as_ref().map_or_else(Vec::new, |book| book.of(&reader(&facts, who, proof)))
        };
        let (policy, proof) = (&sites.policy, |_: &Identity| Proof::Unchecked.into());
        let (facts, target) = (&facts, &target);
        let client = JudgedClient { policy, site: of, rules: &of.rules, facts, target, recognised, now };
        let judged = client.judge(proof, reads);
        let hit =
            |what, target| JudgedLine { at: entry.at, subject, what, target, host, address: entry.address };
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
                let kind = EventKind::of(&judged.verdict, judged.proof);
                let occurrence = judged.occurrence(facts, of, instant(entry.at));
                let decision = DecisionRef::of(&occurrence, kind);
                let place = match self.decisions.get_mut(&decision) {
                    Some(known) => known,
                    None => self.decisions.entry((&decision).into()).or_default(),
                };
                let place = place.of(self.part, &mut part.decisions, || (&decision).into());
                let what = JudgedKind::Decided(place, reason_to_forward(of, &judged, target));
                let target = part.target(&facts.target);
                part.hits.push(hit(what, target));
                if self.book.is_some() && kind != EventKind::Allowed {
                    // What the gateway would have written to its journal.
                    part.events.extend(Event::of(kind, &occurrence).line(entry.status));
                }
            }
        }
    }
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
) -> Option<ForwardReason> {
    let is_variant = judged.verdict.outcome == VerdictOutcome::Variant;
    let is_disallowed = is_variant || matches!(judged.verdict.outcome, VerdictOutcome::Violation(_));
    if !is_disallowed || judged.action != Action::Forward {
        return None;
    }
    let name = || judged.identity.crawler.as_deref().map(str::to_ascii_lowercase);
    Some(if judged.mode == Mode::Enforce {
        if judged.identity.is_audited_only() {
            ForwardReason::Doubt
        } else if is_variant
            && site.config.choices.variants == Variants::Forward
            && !target.is_acme_challenge()
        {
            ForwardReason::Variant
        } else {
            ForwardReason::Certificate
        }
    } else if name().is_some_and(|name| site.modes.crawlers.contains_key(&name)) {
        ForwardReason::Crawler
    } else if judged.identity.purpose.is_some_and(|purpose| site.modes.purposes.contains_key(&purpose)) {
        ForwardReason::Purpose
    } else if judged.mode != site.modes.site {
        ForwardReason::Kind
    } else {
        ForwardReason::Site
    })
}

#[cfg(test)]
mod tests {
    use super::super::headers::HEADERS;
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
        let mut ledger = ReplayTotals::new(&sites, &files, 1);
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
                ledger.add(&judge.chunk(&chunk));
                assert!(judge.senders[0].len() <= HEADERS);
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
