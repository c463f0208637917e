//! What a report is asked.

use crate::identify::{Catalogue, PurposeSet};
use crate::record::{Filter, StoreError, StoreReader, Window};
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
    /// How many targets of each element are told by name; the rest is `(other)`. `None` where nobody tells any: to read them
    /// from a store takes longer than all the rest.
    pub top: Option<usize>,
    /// What the catalogue knows: tokens, and who shares a cache with whom.
    pub known: Catalogue,
}

impl ReportQuestion {
    /// A question about all sites and crawlers.
    pub const fn of_all(
        (from, to): (SystemTime, SystemTime),
        now: Option<SystemTime>,
        top: Option<usize>,
        known: Catalogue,
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
