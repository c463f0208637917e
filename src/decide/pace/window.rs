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
        let part = part_of(limit);
        Self {
            counts: [0; PARTS],
            sum: 0,
            head: number(now, part),
            part,
            files: 0,
            excess: [0; 2],
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
        if self.sum >= limit.allowed {
            let asked = self.asked().saturating_add(1);
            return Err(PaceExcess { retry_after: self.refuse(limit.allowed, now), asked });
        }
        self.sum += 1;
        self.waiting = self.waiting.saturating_sub(1);
        self.files = self.files.saturating_add(limit.files).min(limit.files.saturating_mul(limit.allowed));
        if let Some(newest) = self.counts.get_mut(place(self.head)) {
            *newest += 1;
        }
        Ok(())
    }

    /// Counts a request too many, and says how long it has to wait.
    fn refuse(&mut self, allowed: u32, now: Duration) -> Duration {
        let [newest, _] = &mut self.excess;
        *newest = newest.saturating_add(1);
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
        let [newest, before] = self.excess;
        let left = PARTS as u64 - self.head % PARTS as u64;
        let before = u64::from(before) * left / PARTS as u64;
        self.sum.saturating_add(newest).saturating_add(u32::try_from(before).unwrap_or(u32::MAX))
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

fn part_of(limit: &PaceLimit) -> u64 {
    u64::try_from(limit.window.as_micros() / PARTS as u128).unwrap_or(u64::MAX).max(1)
}

fn number(now: Duration, part: u64) -> u64 {
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX) / part
}

fn place(number: u64) -> usize {
    usize::try_from(number % PARTS as u64).unwrap_or_default()
}
