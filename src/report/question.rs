//! What a report is asked.

use crate::identify::{Catalogue, ClientKind, PurposeSet};
use crate::record::{CountSubject, Filter, StoreError, StoreReader, Window};
use std::collections::{HashMap, HashSet};
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

/// What a report needs of the catalogue.
#[derive(Clone, Debug, Default)]
pub struct CatalogueView {
    /// By name in lower case.
    crawlers: HashMap<String, KnownCrawler>,
    /// The control tokens that are for everybody.
    control: Vec<Box<str>>,
}

#[derive(Clone, Debug)]
struct KnownCrawler {
    tokens: Vec<Box<str>>,
    star: bool,
    /// Whose copy of robots.txt it may hold, in lower case.
    shares: HashSet<String>,
    /// The control tokens that are for it.
    control: Vec<Box<str>>,
}

impl CatalogueView {
    /// Takes from the catalogue what a report needs.
    pub fn of(catalogue: &Catalogue) -> Self {
        let mut pairs: HashMap<String, HashSet<String>> = HashMap::new();
        for crawler in catalogue.crawlers() {
            let name = crawler.name.to_ascii_lowercase();
            for other in &crawler.shares_cache_with {
                let other = other.to_ascii_lowercase();
                pairs.entry(other.clone()).or_default().insert(name.clone());
                pairs.entry(name.clone()).or_default().insert(other);
            }
        }
        let control = |crawler: Option<&crate::identify::Crawler>| {
            catalogue.control_for(crawler).map(|control| control.token.clone()).collect()
        };
        let known = |crawler: &crate::identify::Crawler| {
            let name = crawler.name.to_ascii_lowercase();
            let shares = reached(&name, &pairs);
            let (tokens, control) = (crawler.tokens.to_vec(), control(Some(crawler)));
            (name, KnownCrawler { tokens, star: crawler.star, shares, control })
        };
        Self { crawlers: catalogue.crawlers().iter().map(known).collect(), control: control(None) }
    }

    /// Whether the catalogue has the name, in lower case.
    pub(super) fn has(&self, name: &str) -> bool {
        self.crawlers.contains_key(name)
    }

    /// The token by which a crawler of the catalogue is named in robots.txt. Neither it nor the name holds anything that
    /// would have to be quoted there or in a command.
    pub(super) fn token(&self, name: &str) -> Option<&str> {
        let is_plain =
            |text: &str| text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_. ".contains(symbol));
        let token = self.crawlers.get(&name.to_ascii_lowercase())?.tokens.first()?;
        Some(&**token).filter(|token| is_plain(token) && is_plain(name))
    }

    /// Who may hold the same copy of robots.txt, by name in lower case.
    pub(super) fn sharers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.crawlers.get(name).into_iter().flat_map(|crawler| &crawler.shares).map(String::as_str)
    }

    /// The control tokens that are for a subject.
    pub(super) fn control(&self, subject: &CountSubject) -> &[Box<str>] {
        let known = subject.crawler.as_deref().and_then(|name| self.crawlers.get(&name.to_ascii_lowercase()));
        known.map_or(&self.control, |known| &known.control)
    }

    /// The product tokens of a subject, and whether the group `*` is for it (RFC 9309 §2.2.1).
    pub(super) fn tokens(&self, subject: &CountSubject) -> (Vec<Box<str>>, bool) {
        let name = subject.crawler.as_deref();
        if let Some(known) = name.and_then(|name| self.crawlers.get(&name.to_ascii_lowercase())) {
            return (known.tokens.clone(), known.star);
        }
        let star = matches!(subject.client, ClientKind::Crawler | ClientKind::Tool | ClientKind::Unnamed);
        (name.map(Into::into).into_iter().collect(), star)
    }
}

/// Everyone that sharing leads to from `name`: who shares with the same crawler shares with each other.
fn reached(name: &str, pairs: &HashMap<String, HashSet<String>>) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut next = vec![name];
    while let Some(at) = next.pop() {
        for other in pairs.get(at).into_iter().flatten() {
            if other != name && found.insert(other.clone()) {
                next.push(other);
            }
        }
    }
    found
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
