//! Lines of a log through the gateway's own stages.

use super::sites::{LineCounts, Sites};
use crate::ctl::args::ReplayArgs;
use crate::ctl::logs::LogEntry;
use crate::decide::{NoticeTime, Read, VerdictReason};
use crate::enforce::Mode;
use crate::identify::{ClientKind, Identity, Proof};
use crate::policy::JudgedClient;
use crate::record::{Event, EventKind, LogTables, Occurrence, PaceBook, ReadBook, ReaderId, instant, micros};
use crate::request::RequestFacts;
use crate::request::target::RequestTarget;
use std::time::Duration;

/// What came of the lines that were judged.
#[derive(Debug, Default)]
pub(super) struct JudgedLog {
    book: ReadBook,
    windows: PaceBook,
    pub(super) lines: LineCounts,
    pub(super) counts: LogTables,
    /// What was sent to everybody, people too.
    pub(super) bytes: u64,
}

impl JudgedLog {
    /// Judges a request; where it is an event and events are wanted, as a line of the journal.
    pub(super) fn request(
        &mut self,
        sites: &Sites,
        arguments: &ReplayArgs,
        entry: &LogEntry<&[u8]>,
    ) -> Option<Vec<u8>> {
        let since = arguments.since.map_or(i64::MIN, micros);
        let (site, ref facts) = sites.request(entry, since, &mut self.lines)?;
        self.counts.span(entry.at);
        self.bytes = self.bytes.saturating_add(entry.size.unwrap_or_default());
        // A log has no other clock for notice to run by.
        let now = NoticeTime(Duration::from_micros(u64::try_from(entry.at).unwrap_or_default()));
        let policy = &sites.policy;
        let recognised = site.recognise(policy, facts.user_agent.as_deref());
        let kind = recognised.identity.client;
        if !kind.is_judged() {
            let lines = &mut self.lines;
            let people = if kind == ClientKind::App { &mut lines.apps } else { &mut lines.browsers };
            *people += 1;
            return None;
        }
        let target = &RequestTarget::new(&facts.target, site.config.path_parameters);
        let reads = |who: &Identity, proof| self.book.of(&reader(facts, who, proof));
        let (rules, signature) = (&site.rules, None);
        let client = JudgedClient { policy, site, rules, facts, target, signature, recognised, now };
        let mut judged = client.judge(|_| Proof::Unchecked.into(), reads);
        match judged.verdict.reason {
            VerdictReason::RobotsTxt => {
                self.lines.robots_txt += 1;
                // What counts as a read (RFC 9309 §2.4): the whole file, or that it has not changed.
                if facts.method == "GET" && matches!(entry.status, Some(200 | 304)) {
                    let reader = reader(facts, &judged.identity, judged.proof);
                    let rules = site.rules.current().rules;
                    let version = site.version().filter(|_| arguments.published);
                    let (version, who) =
                        (version.map(|version| (version, rules)), (&*site.config.name, &*judged.identity));
                    self.counts.fetch(who, entry.at, &reader, version);
                    if version.is_some() {
                        let read = Read { rules, as_of: NoticeTime::default(), at: now };
                        self.book.note(reader, judged.identity.client, read);
                    }
                }
            }
            VerdictReason::Exempt => self.lines.exempt += 1,
            _ if judged.mode == Mode::Off => self.lines.off += 1,
            _ => {
                self.lines.judged += 1;
                let pace = judged.keep_pace(&self.windows, site, facts, target, now.0, true);
                let kind = if pace.is_some() { EventKind::Pace } else { judged.kind(site) };
                let bytes = entry.size.unwrap_or_default();
                let occurrence = Occurrence { bytes, ..judged.occurrence(facts, site, instant(entry.at)) };
                self.counts.count(&occurrence, kind);
                // What the gateway would have written to its journal.
                let is_event = arguments.events && kind != EventKind::Allowed;
                return is_event.then(|| Event::of(kind, &occurrence).line(entry.status).into_bytes());
            }
        }
        None
    }
}

/// Whom a read counts for.
fn reader<'a>(facts: &'a RequestFacts<'_>, who: &'a Identity, proof: Proof) -> ReaderId<'a> {
    ReaderId::new(&facts.host, who, proof, facts.address)
}
