//! What the store tells an operator: who came, what they asked for, which rules they broke, and whether
//! they had read them.
//!
//! [`Report::of`] reads stores and nothing else: no clock, no network, no file but theirs. It is data. It serialises
//! itself to JSON, and [`html`] makes it a page; `ctl` makes tables and CSV. [`ViolationTimeline`] is the same over time,
//! for charts, and [`CrawlerCase`] is what one crawler can be held to.
//!
//! Each number is of one of these times:
//!
//! - *Counts* are of the window, which the report names as `from` and `to`. It begins and ends where the store's roll-ups do,
//!   so counts are exact.
//! - *Targets* are kept by day. They are those of the days, in UTC, that the window touches.
//! - *First and last seen* are of everything that is kept, before and after the window.
//! - *Reads* of robots.txt are those that began before the window's end, however long ago: a read weeks ago still obliges
//!   (RFC 9309 §2.4). A version that was first read after the window counts as not read. Of repeated reads the store keeps
//!   the first, the last and the sum, so repeats after the window are in the sum.

mod before;
mod blocks;
mod case;
mod caveats;
mod conduct;
mod course;
mod entry;
mod files;
mod fleet_part;
mod gather;
mod headline;
pub mod html;
mod kin;
mod names;
mod pace;
mod proved;
mod public;
mod question;
mod rules;

pub use before::{CountsBefore, PeriodBefore};
pub use blocks::{Blocked, Proposal, purpose_label};
pub use case::CrawlerCase;
pub use conduct::Conduct;
pub use course::{CourseGrid, TimelineCurve, ViolationTimeline, add_counts};
pub use entry::{PathCount, ReportEntry, RuleCount, RuleVersion};
pub use files::{CrawlDelay, Told};
pub use fleet_part::{FleetPart, PendingOutbox, SkippedCounts};
pub use headline::{Summary, amount, byte_words, grouped};
pub use names::NamedEntries;
pub use pace::MinuteCounts;
pub use proved::MethodCounts;
pub use public::public_page;
pub use question::ReportQuestion;

pub use crate::record::{Missing, Reads};

use crate::record::{
    Activities, MissingWhat, SIZE_CAP, StoreError, StoreReader, VersionRecord, Window, write_missing,
};
use serde::{Serialize, Serializer};
use std::time::SystemTime;

/// The whole report. As JSON it has exactly the fields of `docs/report-schema.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The first moment that counts speak of.
    #[serde(serialize_with = "time")]
    pub from: SystemTime,
    /// The moment after the last.
    #[serde(serialize_with = "time")]
    pub to: SystemTime,
    /// Whether every read was seen.
    pub reads: Reads,
    /// Where reads may have gone unseen, when, and what shows it.
    #[serde(serialize_with = "write_missing")]
    pub partial_reads: Vec<Missing>,
    /// Targets and events in full that were not recorded within the window, to the hour.
    pub details_dropped: u64,
    /// Reads of robots.txt that were not recorded within the window, to the hour.
    pub reads_lost: u64,
    /// Requests that are missing from the counts of the window, to the hour: the sum of `losses`, as far as it is known.
    pub counts_lost: u64,
    /// Why they are missing.
    #[serde(serialize_with = "write_missing")]
    pub losses: Vec<Missing>,
    /// The answer in a line, where rules were broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The answer in one sentence, without a full stop. Names in it are as the clients sent them: make them harmless.
    pub headline: String,
    /// What the report cannot see, or what it lacks, in whole sentences.
    pub notes: Vec<String>,
    /// The totals of [`Self::named`].
    #[serde(skip)]
    pub summary: Summary,
    /// One element for each site, crawler and proof: who broke rules they had read first, then by
    /// violations, then by requests; borrowed names last.
    pub crawlers: Vec<ReportEntry>,
    /// What generated lines of robots.txt disallow, by purpose and crawler, most first.
    pub blocked: Vec<Blocked>,
    /// For crawlers that took most and that robots.txt does not name, the lines that would stop them.
    pub proposals: Vec<Proposal>,
    /// What the same crawlers did in the time of the same length before; only where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<PeriodBefore>,
    /// Of all gateways of a fleet: what is not in it yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPart>,
    /// Details that the size cap took from the stores, ever.
    #[serde(skip)]
    pub details_removed: u64,
    /// Whether it is of a log: what would have been refused was not.
    #[serde(skip)]
    pub is_replay: bool,
    /// Whether it is fit to be shown around.
    #[serde(skip)]
    pub is_public: bool,
}

impl Report {
    /// Reads what `question` asks for from all `stores`, and adds it up.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn of(stores: &[StoreReader], question: &ReportQuestion) -> Result<Self, StoreError> {
        let window = question.window(stores)?;
        let gathered = gather::gather(stores, question, &window)?;
        let before = before::of(stores, question, &window)?;
        Ok(Self { before, ..Self::made_of(gathered, question, window, false) })
    }

    /// Adds up what was counted of a log, of exactly this `window`, by these `versions` of robots.txt.
    pub fn of_log(
        counted: Activities,
        versions: Vec<VersionRecord>,
        question: &ReportQuestion,
        window: Window,
    ) -> Self {
        Self::made_of(gather::add_up(counted, versions, question, &window), question, window, true)
    }

    fn made_of(
        mut gathered: gather::Gathered,
        question: &ReportQuestion,
        window: Window,
        is_replay: bool,
    ) -> Self {
        let (crawlers, proposals) = gathered.entries(question);
        let missing = gathered.missing;
        let (taken, dropped): (Vec<&Missing>, Vec<&Missing>) =
            missing.iter().partition(|missing| *missing.reason == *SIZE_CAP);
        let [details_removed, details_dropped] =
            [taken, dropped].map(|missing| Missing::sum(missing, MissingWhat::Details));
        let reads_lost = Missing::sum(&missing, MissingWhat::Reads);
        let [losses, unseen] = caveats::lacking(missing, question, &window);
        let mut report = Self {
            from: window.from,
            to: window.to,
            reads: if unseen.is_empty() { Reads::Complete } else { Reads::Partial },
            partial_reads: unseen,
            details_dropped,
            reads_lost,
            counts_lost: losses.iter().filter_map(|loss| loss.count).sum(),
            losses,
            title: None,
            headline: String::new(),
            notes: Vec::new(),
            summary: Summary::default(),
            blocked: blocks::blocked(&crawlers),
            crawlers,
            proposals,
            before: None,
            fleet: None,
            details_removed,
            is_replay,
            is_public: false,
        };
        report.sum_up();
        report
    }

    /// The same as the report of a fleet, of which some may be missing.
    #[must_use]
    pub fn of_fleet(mut self, part: FleetPart) -> Self {
        self.fleet = Some(part);
        self.notes = caveats::caveats(&self);
        self
    }

    /// The same without what is nobody else's business: what was asked for, which may name people, and names of gateways.
    #[must_use]
    pub fn public(mut self) -> Self {
        self.is_public = true;
        for entry in &mut self.crawlers {
            entry.paths.clear();
        }
        if let Some(part) = &mut self.fleet {
            let outboxes = part.outboxes.iter_mut().map(|outbox| &mut outbox.name);
            let names = outboxes.chain(part.skipped.iter_mut().map(|skipped| &mut skipped.name));
            names.for_each(|name| "a gateway".clone_into(name));
        }
        self.notes = caveats::caveats(&self);
        self
    }

    /// The window of the counts.
    pub const fn window(&self) -> Window {
        Window { from: self.from, to: self.to }
    }

    /// Crawlers under their own name: what headline and totals are about.
    pub fn named(&self) -> impl Iterator<Item = &ReportEntry> {
        self.crawlers.iter().filter(|entry| entry.subject.is_crawler() && !entry.subject.is_borrowed())
    }

    /// Traffic under the name of a crawler that it does not come from. It counts against nobody.
    pub fn borrowed(&self) -> impl Iterator<Item = &ReportEntry> {
        self.crawlers.iter().filter(|entry| entry.subject.is_crawler() && entry.subject.is_borrowed())
    }

    /// Fetchers, tools, monitors and clients without a name: outside headline and totals.
    pub fn others(&self) -> impl Iterator<Item = &ReportEntry> {
        self.crawlers.iter().filter(|entry| !entry.subject.is_crawler())
    }

    /// Whether some of it is of rules that were not published when the requests came, as far as is known.
    pub fn is_hypothetical(&self) -> bool {
        self.crawlers.iter().any(ReportEntry::is_hypothetical)
    }
}

fn time<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&crate::record::timestamp(*time))
}

#[expect(clippy::ref_option, reason = "the shape that serde calls")]
fn optional_time<S: Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        Some(time) => self::time(time, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests;
