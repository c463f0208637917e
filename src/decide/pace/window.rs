//! What one crawler asked for in the last while: a ring of counts, and nothing of single requests.

use super::PaceLimit;
use std::time::Duration;

/// Parts of a window. One minute has parts of a second; when the oldest is over, all that was counted in it is.
const PARTS: usize = 60;

/// What one crawler asked for in the last window.
///
/// Only what is let through counts. So a crawler that goes on too fast gets what it may have, and no less than one that
/// waits.
#[derive(Clone, Debug)]
pub struct PaceWindow {
    /// Of each part how many requests were let through, and how many were too many.
    counts: [[u32; 2]; PARTS],
    /// The sums of them.
    sums: [u32; 2],
    /// The number of the newest part.
    head: u64,
    /// How long a part is, in microseconds.
    part: u64,
    /// Files that pages brought and that were not fetched yet.
    files: u32,
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
    /// One in which nothing was asked for yet.
    #[must_use]
    pub fn new(limit: &PaceLimit, now: Duration) -> Self {
        let part = u64::try_from(limit.window.as_micros() / PARTS as u128).unwrap_or(u64::MAX).max(1);
        Self {
            counts: [[0; 2]; PARTS],
            sums: [0; 2],
            head: number(now, part),
            part,
            files: 0,
            waiting: 0,
            until: Duration::ZERO,
        }
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
        let is_excess = self.sums[0] >= limit.allowed;
        self.count(is_excess);
        if is_excess {
            return Err(PaceExcess { retry_after: self.refuse(limit.allowed, now), asked: self.asked() });
        }
        self.waiting = self.waiting.saturating_sub(1);
        self.files = self.files.saturating_add(limit.files).min(limit.files.saturating_mul(limit.allowed));
        Ok(())
    }

    /// How long a request too many has to wait.
    fn refuse(&mut self, allowed: u32, now: Duration) -> Duration {
        self.waiting = if now < self.until { self.waiting.saturating_add(1).min(allowed) } else { 1 };
        let wait = self.wait(allowed.saturating_sub(self.waiting.saturating_sub(1)), now);
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
        let [admitted, excess] = self.sums;
        admitted.saturating_add(excess)
    }

    /// Moves on, and forgets what is over. A clock that goes back stands still here.
    pub fn go_on_to(&mut self, now: Duration) {
        let head = number(now, self.part);
        let steps = head.saturating_sub(self.head).min(PARTS as u64);
        for number in self.head + 1..=self.head + steps {
            let over = self.counts.get_mut(place(number)).map(std::mem::take).unwrap_or_default();
            self.sums.iter_mut().zip(over).for_each(|(sum, over)| *sum = sum.saturating_sub(over));
        }
        if self.sums[0] == 0 {
            self.files = 0;
        }
        self.head = self.head.max(head);
    }

    /// Counts a request that is let through, or one too many, in the newest part.
    fn count(&mut self, is_excess: bool) {
        let one = if is_excess { [0, 1] } else { [1, 0] };
        for counts in self.counts.get_mut(place(self.head)).into_iter().chain([&mut self.sums]) {
            counts.iter_mut().zip(one).for_each(|(count, one)| *count = count.saturating_add(one));
        }
    }

    /// How long it is until fewer than `allowed` are left, in whole seconds.
    fn wait(&self, allowed: u32, now: Duration) -> Duration {
        let [mut left, _] = self.sums;
        let oldest = (self.head + 1).saturating_sub(PARTS as u64);
        let free = (oldest..=self.head).find(|number| {
            left = left.saturating_sub(self.counts.get(place(*number)).map_or(0, |[admitted, _]| *admitted));
            left < allowed
        });
        let at = (free.unwrap_or(self.head) + PARTS as u64).saturating_mul(self.part);
        let wait = u128::from(at).saturating_sub(now.as_micros()).div_ceil(1_000_000);
        Duration::from_secs(u64::try_from(wait).unwrap_or(u64::MAX).max(1))
    }
}

fn number(now: Duration, part: u64) -> u64 {
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX) / part
}

fn place(number: u64) -> usize {
    usize::try_from(number % PARTS as u64).unwrap_or_default()
}
