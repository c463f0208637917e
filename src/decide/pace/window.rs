//! What one crawler asked for in the last while: a ring of counts, and nothing of single requests.

use super::PaceLimit;
use std::time::Duration;

/// Parts of a window. One minute has parts of a second; when the oldest is over, all that was counted in it is.
const PARTS: usize = 60;

/// After so long the others cannot be heard: they tell once a second.
const CUT_OFF: Duration = Duration::from_secs(5);

/// Whoever is one too many only until the others are heard again comes again after so long.
const NEXT_TOLD: Duration = Duration::from_secs(2);

/// A crawler that came to nobody else in so many exchanges comes here alone.
const ALONE: u32 = 2;

/// So many times as many requests as may come are told to the others at most.
const MOST_TOLD: u32 = 4;

/// What one crawler asked for in the last window.
///
/// Only what is let through counts. So a crawler that goes on too fast gets what it may have, and no less than one that
/// waits.
#[derive(Clone, Debug)]
pub struct PaceWindow {
    counts: [u32; PARTS],
    /// The sum of them.
    sum: u32,
    /// The number of the newest part.
    head: u64,
    /// How long a part is, in microseconds.
    part: u64,
    /// Files that pages brought and that were not fetched yet.
    files: u32,
    /// Requests that were too many, in this stretch of a window's length and in the one before it.
    excess: [u32; 2],
    /// What other members of a fleet were asked for in the same time, what this one was then and the time before, and
    /// when that was heard.
    elsewhere: u32,
    here: u32,
    here_before: u32,
    told_at: Duration,
    /// How often in a row nobody else was asked for anything.
    alone: u32,
    /// How many there may be here until that is heard again; no bound where all together are asked for too much.
    until_told: Option<u32>,
    /// How many requests were too many and did not come again yet, as far as that can be known, and until when the last of
    /// them was told to wait.
    waiting: u32,
    until: Duration,
}

/// One request too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceExcess {
    /// Whoever waits as long is let through. Of several that are too many, each is told when there is room for it, too:
    /// crawlers fetch in parallel.
    pub retry_after: Duration,
    /// Requests of the last window, this one included.
    pub asked: u32,
}

impl PaceWindow {
    /// One in which nothing was asked for yet, of a gateway beside so many others.
    #[must_use]
    pub fn new(limit: &PaceLimit, others: u32, now: Duration) -> Self {
        let part = part_of(limit);
        Self {
            counts: [0; PARTS],
            sum: 0,
            head: number(now, part),
            part,
            files: 0,
            excess: [0; 2],
            elsewhere: 0,
            here: 0,
            here_before: 0,
            told_at: now,
            alone: 0,
            until_told: part_of_room(limit.allowed, others),
            waiting: 0,
            until: Duration::ZERO,
        }
    }

    /// Takes up what so many other members of a fleet are asked for.
    pub fn hear(&mut self, limit: &PaceLimit, elsewhere: u32, others: u32, now: Duration) {
        self.go_on_to(now);
        (self.elsewhere, self.here_before, self.here, self.told_at) =
            (elsewhere, self.here, self.asked(), now);
        self.alone = if elsewhere == 0 && self.here > 0 { self.alone.saturating_add(1) } else { 0 };
        let room = limit.allowed.saturating_sub(self.sum.saturating_add(elsewhere));
        let is_free = room == 0 || self.alone > ALONE;
        let room = part_of_room(room, others).filter(|_| !is_free);
        self.until_told = room.map(|room| self.sum.saturating_add(room));
    }

    /// Lets a request through and counts it, or says that it is one too many.
    ///
    /// # Errors
    /// How long to wait.
    pub fn admit(&mut self, limit: &PaceLimit, target: &[u8], now: Duration) -> Result<(), PaceExcess> {
        self.go_on_to(now);
        if limit.files > 0 && self.files > 0 && PaceLimit::is_file(target) {
            self.files -= 1;
            return Ok(());
        }
        let allowed = self.share(limit, now);
        if self.sum >= allowed {
            let asked = self.asked().saturating_add(1);
            let retry_after = self.refuse(allowed, Duration::MAX, now);
            return Err(PaceExcess { retry_after, asked });
        }
        // The others may let as many through before they hear of it. Who keeps its delay is not limited for that.
        let is_too_soon = self.until_told.is_some_and(|until_told| self.sum >= until_told.max(limit.kept()));
        if is_too_soon && !self.is_cut_off(now) {
            let asked = self.asked().saturating_add(1);
            let retry_after = self.refuse(allowed, NEXT_TOLD, now);
            return Err(PaceExcess { retry_after, asked });
        }
        self.sum += 1;
        self.waiting = self.waiting.saturating_sub(1);
        self.files = self.files.saturating_add(limit.files).min(limit.files.saturating_mul(limit.allowed));
        if let Some(newest) = self.counts.get_mut(place(self.head)) {
            *newest += 1;
        }
        Ok(())
    }

    /// Counts a request too many, and says how long it has to wait, at the longest.
    fn refuse(&mut self, allowed: u32, longest: Duration, now: Duration) -> Duration {
        let [newest, _] = &mut self.excess;
        *newest = newest.saturating_add(1);
        self.waiting = if now < self.until { self.waiting.saturating_add(1).min(allowed) } else { 1 };
        let wait = self.wait(allowed.saturating_sub(self.waiting.saturating_sub(1)), now).min(longest);
        self.until = self.until.max(now + wait);
        wait
    }

    /// What a request was told a moment ago: whether one was too many and is to wait still. Nothing is counted.
    ///
    /// # Errors
    /// How long to wait.
    pub fn look(&mut self, now: Duration) -> Result<(), PaceExcess> {
        self.go_on_to(now);
        let left = self.until.saturating_sub(now).as_micros().div_ceil(1_000_000);
        let retry_after = Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX));
        if left == 0 { Ok(()) } else { Err(PaceExcess { retry_after, asked: self.asked() }) }
    }

    /// Requests of the last window, those that were too many among them.
    #[must_use]
    pub fn asked(&self) -> u32 {
        let [newest, before] = self.excess;
        let left = PARTS as u64 - self.head % PARTS as u64;
        let before = u64::from(before) * left / PARTS as u64;
        self.sum.saturating_add(newest).saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
    }

    /// The same, as members of a fleet tell each other. What is far too many is no reason to have all of the pace at one
    /// member.
    #[must_use]
    pub fn told(&self, limit: &PaceLimit) -> u32 {
        self.asked().min(limit.allowed.saturating_mul(MOST_TOLD))
    }

    /// Moves on, and forgets what is over. A clock that goes back stands still here.
    pub fn go_on_to(&mut self, now: Duration) {
        let head = number(now, self.part);
        let steps = head.saturating_sub(self.head);
        if steps == 0 {
            return;
        }
        let (turn, parts) = (head / PARTS as u64 - self.head / PARTS as u64, PARTS as u64);
        match turn {
            0 => {}
            1 => self.excess = [0, self.excess[0]],
            _ => self.excess = [0; 2],
        }
        for number in self.head + 1..=self.head + steps.min(parts) {
            if let Some(count) = self.counts.get_mut(place(number)) {
                self.sum -= std::mem::take(count);
            }
        }
        if self.sum == 0 {
            self.files = 0;
        }
        self.head = head;
    }

    /// How much of what a crawler may have it may have here: as large a part as it asks for here. Who keeps to its pace at
    /// all members together asks for no more than that at any. Where it asks for too much, what it asked for here counts as
    /// the others know it: what they are asked for now this member does not know either. When nothing was heard for a while,
    /// it keeps the part that it had, and what its delay itself lets through: it may all come here now. One that had none
    /// here is not held to any.
    fn share(&self, limit: &PaceLimit, now: Duration) -> u32 {
        let allowed = limit.allowed;
        if self.elsewhere == 0 {
            return allowed;
        }
        let is_cut_off = self.is_cut_off(now);
        let here = match self.until_told {
            _ if is_cut_off => self.here,
            None => self.here.min(self.here_before).max(1),
            Some(_) => self.asked().saturating_add(1),
        };
        let here = here.min(allowed.saturating_mul(MOST_TOLD));
        if here == 0 {
            return allowed;
        }
        let all = u64::from(here) + u64::from(self.elsewhere);
        let share = u32::try_from((u64::from(allowed) * u64::from(here)).div_ceil(all)).unwrap_or(allowed);
        if is_cut_off { share.max(limit.kept()).min(allowed) } else { share }
    }

    fn is_cut_off(&self, now: Duration) -> bool {
        now.saturating_sub(self.told_at) > CUT_OFF
    }

    /// How long it is until fewer than `allowed` are left, in whole seconds.
    fn wait(&self, allowed: u32, now: Duration) -> Duration {
        let mut left = self.sum;
        let oldest = (self.head + 1).saturating_sub(PARTS as u64);
        let free = (oldest..=self.head).find(|number| {
            left -= self.counts.get(place(*number)).copied().unwrap_or_default().min(left);
            left < allowed
        });
        let at = (free.unwrap_or(self.head) + PARTS as u64).saturating_mul(self.part);
        let wait = u128::from(at).saturating_sub(now.as_micros()).div_ceil(1_000_000);
        Duration::from_secs(u64::try_from(wait).unwrap_or(u64::MAX).max(1))
    }
}

/// What a gateway may let through, of what there is room for, before the others hear of it: half of its part, since what
/// they said may be as old as the last exchange. A gateway alone has no such bound.
fn part_of_room(room: u32, others: u32) -> Option<u32> {
    (others > 0).then(|| room.div_ceil(others.saturating_add(1).saturating_mul(2)))
}

fn part_of(limit: &PaceLimit) -> u64 {
    u64::try_from(limit.window.as_micros() / PARTS as u128).unwrap_or(u64::MAX).max(1)
}

fn number(now: Duration, part: u64) -> u64 {
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX) / part
}

fn place(number: u64) -> usize {
    usize::try_from(number % PARTS as u64).unwrap_or_default()
}
