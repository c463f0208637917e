//! What a report is asked.

use crate::identify::{Catalogue, ClientKind, Crawler, PurposeSet};
use crate::record::{CountSubject, Filter, StoreError, StoreReader, Window};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Its beginning, in seconds: the last year that is written with four digits.
const YEAR_9999: u64 = 253_370_764_800;

/// How often the window may have to be widened: minutes to hours, hours to days, and once to see that
/// nothing changed.
const ROUNDS: usize = 4;

/// What a report is about.
#[derive(Clone, Debug)]
pub struct ReportQuestion {
    /// From when. The window is widened to where the store's roll-ups begin.
    pub from: SystemTime,
    /// Until when, not included; widened likewise. What is later than `now` is part of the answer only as far as
    /// something is dated so late.
    pub to: SystemTime,
    /// When it is asked. `None` of an access log.
    pub now: Option<SystemTime>,
    /// Only this site, upper and lower case being one.
    pub site: Option<String>,
    /// Only this crawler, upper and lower case being one.
    pub crawler: Option<String>,
    /// Only what fetches for this.
    pub purpose: Option<PurposeSet>,
    /// How many targets of each element are told by name; the rest is `(other)`.
    pub top: usize,
    /// What the catalogue knows: tokens, and who shares a cache with whom.
    pub known: CatalogueView,
}

/// What a report needs of the catalogue. Names are in either case.
#[derive(Clone, Debug, Default)]
pub struct CatalogueView(Catalogue);

impl CatalogueView {
    /// Takes up a catalogue.
    pub fn of(catalogue: &Catalogue) -> Self {
        Self(catalogue.clone())
    }

    /// Whether the catalogue has the name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.get(name).is_some()
    }

    fn crawler(&self, subject: &CountSubject) -> Option<&Crawler> {
        self.0.get(subject.crawler.as_deref()?)
    }

    /// The token by which a crawler of the catalogue is named in robots.txt. Neither it nor the name holds anything that
    /// would have to be quoted there or in a command.
    pub(super) fn token(&self, name: &str) -> Option<&str> {
        let is_plain =
            |text: &str| text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_. ".contains(symbol));
        let token = self.0.get(name)?.tokens.first()?;
        Some(&**token).filter(|token| is_plain(token) && is_plain(name))
    }

    /// Who may hold the same copy of robots.txt, by name in lower case: everyone that sharing leads to. Who shares with the
    /// same crawler shares with each other.
    pub(super) fn sharers(&self, name: &str) -> BTreeSet<String> {
        let (mut found, mut next) = (BTreeSet::new(), vec![name.to_ascii_lowercase()]);
        while let Some(at) = next.pop() {
            let is_at = |name: &str| name.eq_ignore_ascii_case(&at);
            let own = self
                .0
                .get(&at)
                .into_iter()
                .flat_map(|crawler| &crawler.shares_cache_with)
                .map(|other| &**other);
            let with = |crawler: &&Crawler| crawler.shares_cache_with.iter().any(|other| is_at(other));
            let others = self.0.crawlers().iter().filter(with).map(|crawler| &*crawler.name);
            let names = own.chain(others).map(str::to_ascii_lowercase);
            next.extend(names.filter(|other| found.insert(other.clone())));
        }
        found.remove(&name.to_ascii_lowercase());
        found
    }

    /// The control tokens that are for a subject.
    pub(super) fn control(&self, subject: &CountSubject) -> impl Iterator<Item = &str> {
        self.0.control_for(self.crawler(subject)).map(|control| &*control.token)
    }

    /// The product tokens of a subject, and whether the group `*` is for it (RFC 9309 §2.2.1).
    pub(super) fn tokens(&self, subject: &CountSubject) -> (Vec<Box<str>>, bool) {
        if let Some(known) = self.crawler(subject) {
            return (known.tokens.to_vec(), known.star);
        }
        let star = matches!(subject.client, ClientKind::Crawler | ClientKind::Tool | ClientKind::Unnamed);
        (subject.crawler.clone().into_iter().collect(), star)
    }
}

impl ReportQuestion {
    /// A question about all sites and crawlers.
    pub const fn of_all(
        (from, to): (SystemTime, SystemTime),
        now: Option<SystemTime>,
        top: usize,
        known: CatalogueView,
    ) -> Self {
        Self { from, to, now, site: None, crawler: None, purpose: None, top, known }
    }

    /// The end of a question that asks for everything, also for what a clock that was ahead has dated later than now.
    pub fn open_end() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(YEAR_9999)
    }

    /// Where the time of the same length before the question begins: that is told, too.
    pub fn reaches_back(&self) -> SystemTime {
        let end = self.now.unwrap_or(self.to).min(self.to);
        self.from
            .checked_sub(end.duration_since(self.from).unwrap_or_default())
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The narrowest window around the question that begins and ends where the roll-ups of every store do. It ends now, or
    /// where the question does, or after what is dated latest.
    pub(super) fn window(&self, stores: &[StoreReader]) -> Result<Window, StoreError> {
        let mut to = self.to;
        if let Some(now) = self.now.filter(|now| *now < to) {
            let mut last = now;
            for store in stores {
                last = last.max(store.last()?.unwrap_or(now));
            }
            to = to.min(last);
        }
        let mut window = Window { from: self.from, to: to.max(self.from) };
        for _ in 0..ROUNDS {
            let before = window;
            for store in stores {
                window = store.window(window.from, window.to)?;
            }
            if window == before {
                break;
            }
        }
        Ok(window)
    }

    pub(super) fn filter(&self) -> Filter {
        Filter { site: self.site.clone(), crawler: self.crawler.clone(), purpose: self.purpose }
    }

    /// The same for reads: those of other crawlers may matter, too.
    pub(super) fn filter_of_reads(&self) -> Filter {
        Filter { site: self.site.clone(), ..Filter::default() }
    }
}
