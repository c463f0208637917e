//! Fair notice against a brute-force simulator.
//!
//! The simulator knows nothing of "held versions": it walks over every moment at which a crawler could
//! have fetched the copy it acts on, and calls the crawler innocent if any of those copies allows the
//! request. RFC 9309 §2.4: a copy may be used for up to 24 hours, here `notice`; a counted read forgets
//! every copy fetched before it. The pure function must never convict where an innocent history exists,
//! and must not acquit where none does.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may fail loudly")]

#[path = "dice/mod.rs"]
mod dice;

use dice::Dice;
use robots_gateway::config::catalogue;
use robots_gateway::decide::{
    Notice, NoticePeriod, NoticeTime, Read, RobotsVersion, SiteRules, VerdictInput, VerdictOutcome,
    VersionId, decide,
};
use robots_gateway::identify::{Identifier, Identity, Proof};
use robots_gateway::record::{HostRows, ReadBook, ReaderId, RowVersion};
use robots_gateway::request::target::{PathParameters, RequestTarget};
use robots_gateway::robots::{ParseLimits, Robots};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

const TICKS: u64 = 60;

/// More than a site keeps compiled, so that some are dropped.
const VERSIONS: u64 = 32;

const USER_AGENT: &[u8] = b"SomeBot/1.0 (+https://example.org/bot)";

/// What happened until now: which version was in force at each tick, and when the crawler read.
#[derive(Debug)]
struct History {
    in_force: Vec<usize>,
    reads: Vec<u64>,
    notice: u64,
    settle: u64,
}

impl History {
    fn roll(dice: &mut Dice) -> Self {
        // From a file that hardly ever changes to one that changes all the time.
        let restless = 2 + dice.below(8);
        let mut in_force = vec![0];
        for _ in 1..TICKS {
            let last = in_force[in_force.len() - 1];
            let next =
                if dice.below(restless) == 0 { usize::try_from(dice.below(VERSIONS)).unwrap() } else { last };
            in_force.push(next);
        }
        let reads = (0..dice.below(4)).map(|_| dice.below(TICKS)).collect();
        let notice = dice.below(60);
        Self { in_force, reads, notice, settle: dice.below(notice / 10 + 1) }
    }

    fn version_at(&self, tick: u64) -> usize {
        self.in_force[usize::try_from(tick).unwrap()]
    }

    /// The last read that counts at `now`.
    fn last_counted_read(&self, now: u64) -> Option<u64> {
        self.reads.iter().copied().filter(|at| at + self.settle <= now).max()
    }

    /// Every version of which the crawler could act on a copy at `now`.
    fn possible_copies(&self, now: u64) -> Vec<usize> {
        let oldest = self.last_counted_read(now);
        (0..=now)
            .filter(|fetched| oldest.is_none_or(|read| *fetched >= read))
            .filter(|fetched| *fetched == now || now - fetched < self.notice + self.gap(*fetched))
            .map(|fetched| self.version_at(fetched))
            .collect()
    }

    /// Time is continuous: a copy fetched in the tick before a replacement may be fetched at its very end,
    /// which is the moment of the replacement.
    fn gap(&self, fetched: u64) -> u64 {
        let tick = usize::try_from(fetched).unwrap();
        u64::from(self.in_force.get(tick + 1).is_some_and(|next| *next != self.in_force[tick]))
    }
}

struct World {
    versions: Vec<Arc<RobotsVersion>>,
    disallows: Vec<bool>,
    identifier: Identifier,
}

impl World {
    /// Versions that differ, most of which disallow `/x`.
    fn new() -> Self {
        let texts: Vec<String> = (0..VERSIONS)
            .map(|number| {
                let path = if number % 8 == 0 { "/other" } else { "/x" };
                format!("User-agent: *\nDisallow: {path}\nDisallow: /{number}\n")
            })
            .collect();
        let versions = texts.iter().map(|text| {
            let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
            Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots)))
        });
        Self {
            versions: versions.collect(),
            disallows: (0..VERSIONS).map(|number| number % 8 != 0).collect(),
            identifier: Identifier::new(catalogue::bundled()).unwrap(),
        }
    }

    /// The host's rules and the crawler's reads as the gateway would have kept them.
    fn kept(&self, history: &History, now: u64) -> (SiteRules, Vec<Read>) {
        let period = period(history.notice, 0);
        let (book, identity) = (ReadBook::default(), self.recognised());
        let reader = ReaderId::new("host", &identity, Proof::Confirmed, None);
        let mut past = HostRows::default();
        for tick in 0..=now {
            self.serve(&mut past, history.version_at(tick), tick);
            past.prune(period, time(tick));
            let rules = self.rules(&past, history.version_at(tick), tick);
            for _ in history.reads.iter().filter(|at| **at == tick) {
                let read = Read { rules: rules.current().rules, as_of: rules.as_of, at: time(tick) };
                book.note(reader.clone(), identity.client, read);
            }
        }
        (self.rules(&past, history.version_at(now), now), book.of(&reader))
    }

    /// Serves a version, and nothing else, from a tick on.
    fn serve(&self, past: &mut HostRows, version: usize, tick: u64) {
        let row =
            RowVersion::Known { rules: self.versions[version].rules, file: Some(version.to_string().into()) };
        past.serve(&row, UNIX_EPOCH);
        past.close(|one| *one == row, time(tick));
    }

    fn rules(&self, past: &HostRows, version: usize, tick: u64) -> SiteRules {
        let known = |file: &Option<Box<str>>| {
            let number: usize = file.as_deref().unwrap().parse().unwrap();
            Ok(Arc::clone(&self.versions[number]))
        };
        past.rules(&self.versions[version], time(tick), known)
    }

    fn recognised(&self) -> Arc<Identity> {
        self.identifier.recognise(Some(USER_AGENT))
    }

    /// What the function says, and whether it had to forget a version.
    fn outcome(&self, history: &History, now: u64) -> (VerdictOutcome, bool) {
        let (rules, reads) = self.kept(history, now);
        let recognised = self.recognised();
        let target = RequestTarget::new(b"/x", PathParameters::Keep);
        let case = VerdictInput {
            target: &target,
            user_agent: Some(USER_AGENT),
            recognised: &recognised,
            identity: &recognised,
            exempt: false,
            reads: &reads,
            is_all_known: true,
            now: time(now),
        };
        let period = period(history.notice, history.settle);
        let has_dropped = rules.former.iter().any(|old| old.version.is_err());
        (decide(&rules, period, &case).outcome, has_dropped)
    }
}

fn time(tick: u64) -> NoticeTime {
    NoticeTime(Duration::from_secs(1_000_000 + tick))
}

fn period(notice: u64, settle: u64) -> NoticePeriod {
    NoticePeriod { notice: Duration::from_secs(notice), settle: Duration::from_secs(settle) }
}

#[test]
fn a_verdict_of_guilty_leaves_no_innocent_history() {
    let world = World::new();
    let (mut convicted, mut with_dropped, mut unknown) = (0, 0, 0);
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let history = History::roll(&mut dice);
        let now = dice.below(TICKS);
        let copies = history.possible_copies(now);
        let guilty = copies.iter().all(|version| world.disallows[*version]);
        let (outcome, has_dropped) = world.outcome(&history, now);
        let is_convicted = matches!(outcome, VerdictOutcome::Violation(_));
        assert!(guilty || !is_convicted, "seed {seed}, now {now}: {history:?}");
        if has_dropped {
            // Whoever could hold what was forgotten is not accused. It is refused, unless a version that is still known
            // and that it could hold allows the request.
            with_dropped += 1;
            let is_pending = outcome == VerdictOutcome::Stale(Notice::Pending);
            assert!(!is_pending || !guilty, "seed {seed}, now {now}: {history:?}");
            unknown += u32::from(outcome == VerdictOutcome::Stale(Notice::Unknown));
            continue;
        }
        assert_eq!(is_convicted, guilty, "seed {seed}, now {now}: {outcome:?}, {history:?}");
        convicted += u32::from(is_convicted);
        let some_disallow = copies.iter().any(|version| world.disallows[*version]);
        assert_eq!(
            outcome == VerdictOutcome::Stale(Notice::Pending),
            some_disallow && !guilty,
            "seed {seed}, now {now}: {history:?}"
        );
    }
    assert!((2_000..18_000).contains(&convicted), "{convicted}: the dice must show both sides");
    assert!(with_dropped > 100, "{with_dropped}: some histories must be too long to keep");
    assert!(unknown > 0, "{unknown}: some requests must be judged beside something unknown");
}

#[test]
fn read_is_said_only_of_a_client_whose_last_read_is_of_the_version_in_force() {
    let world = World::new();
    for seed in 0..20_000 {
        let mut dice = Dice(seed);
        let history = History::roll(&mut dice);
        let now = dice.below(TICKS);
        let counts = |at: &&u64| **at + history.settle <= now;
        let last = history.reads.iter().filter(counts).max();
        let has_read = last.is_some_and(|at| history.version_at(*at) == history.version_at(now));
        if let (VerdictOutcome::Violation(notice), _) = world.outcome(&history, now) {
            let expected = if has_read { Notice::Read } else { Notice::Lapsed };
            assert_eq!(notice, expected, "seed {seed}, now {now}: {history:?}");
        }
    }
}

/// The file is replaced while a slow client is still being sent the old one: that is the copy it holds,
/// whatever the clock says of the replacement.
#[test]
fn a_read_that_overlaps_a_reload_leaves_the_old_copy_in_the_clients_hands() {
    let world = World::new();
    let allows = &world.versions[0];
    let mut past = HostRows::default();
    world.serve(&mut past, 0, 0);
    let before = world.rules(&past, 0, 0);
    world.serve(&mut past, 1, 10);
    let rules = world.rules(&past, 1, 10);
    let reads = [Read { rules: allows.rules, as_of: before.as_of, at: time(11) }];
    let recognised = world.recognised();
    let target = RequestTarget::new(b"/x", PathParameters::Keep);
    let case = VerdictInput {
        target: &target,
        user_agent: Some(USER_AGENT),
        recognised: &recognised,
        identity: &recognised,
        exempt: false,
        reads: &reads,
        is_all_known: true,
        now: time(100),
    };
    let outcome = decide(&rules, period(1_000, 0), &case).outcome;
    assert_eq!(outcome, VerdictOutcome::Stale(Notice::Pending));
}
