//! Who came how fast: a window for each site's host, crawler and proof, and network where nothing proves a name; and for
//! each limit, so that a changed one begins anew, and clients of one name with two of them have neither the other's.
//!
//! Bounded: windows have places in a table, by a keyed hash of 64 bits, so that two crawlers share none. Where all places of
//! a set are taken, the window goes that is the least full. So whoever makes up names takes places from others of that
//! kind, and not from a crawler that is being slowed; what is forgotten only excuses. Nothing is kept until somebody is
//! asked to keep a pace.

use super::reads::ReaderId;
use crate::decide::{PaceExcess, PaceLimit, PaceWindow};
use hashbrown::DefaultHashBuilder;
use parking_lot::Mutex;
use std::hash::BuildHasher as _;
use std::sync::OnceLock;
use std::time::Duration;

/// Sets of places.
const SETS: usize = 2_048;

/// Places of a set. All windows together take 10 MB.
const PLACES: usize = 8;

#[derive(Debug)]
struct PaceSlot {
    of: u64,
    window: PaceWindow,
    limit: PaceLimit,
}

impl PaceSlot {
    /// How full it is: of 65,536.
    fn level(&mut self, now: Duration) -> u64 {
        self.window.go_on_to(now);
        u64::from(self.window.asked()) * 65_536 / u64::from(self.limit.allowed.max(1))
    }
}

type PaceSet = Mutex<Vec<PaceSlot>>;

/// The windows of all hosts.
#[derive(Debug, Default)]
pub struct PaceBook {
    sets: OnceLock<Box<[PaceSet]>>,
    state: DefaultHashBuilder,
}

impl PaceBook {
    /// Lets a request through and counts it, or says that it is one too many. Where it is only asked about again, this says
    /// what was told.
    ///
    /// # Errors
    /// How long to wait.
    pub fn admit(
        &self,
        who: &ReaderId<'_>,
        limit: &PaceLimit,
        target: &[u8],
        now: Duration,
        is_counted: bool,
    ) -> Result<(), PaceExcess> {
        // Another limit has another window: nobody broke it yet.
        let key = (who, limit.window, limit.allowed);
        let of = self.state.hash_one(key);
        let sets = self.sets.get_or_init(|| (0..SETS).map(|_| Mutex::default()).collect());
        let place = usize::try_from(of >> 32).unwrap_or_default() % SETS;
        let Some(set) = sets.get(place) else { return Ok(()) };
        let mut set = set.lock();
        let at = set.iter().position(|slot| slot.of == of).unwrap_or_else(|| {
            take_place(&mut set, now, PaceSlot { of, window: PaceWindow::new(limit, now), limit: *limit })
        });
        let Some(slot) = set.get_mut(at) else { return Ok(()) };
        if is_counted { slot.window.admit(limit, target, now) } else { slot.window.look(now) }
    }
}

/// A place for a new window, if need be that of the least full one.
fn take_place(set: &mut Vec<PaceSlot>, now: Duration, new: PaceSlot) -> usize {
    if set.len() < PLACES {
        set.push(new);
        return set.len() - 1;
    }
    let levels = set.iter_mut().map(|slot| slot.level(now)).enumerate();
    let least = levels.min_by_key(|(_, level)| *level).map_or(0, |(at, _)| at);
    if let Some(slot) = set.get_mut(least) {
        *slot = new;
    }
    least
}
