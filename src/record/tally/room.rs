//! How much may wait in memory, how much does, and what found no room.

/// How much a batch may hold, or holds.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::record) struct BatchLimits {
    /// Roll-ups by minute; beyond it they are kept by hour, and beyond twice as many not at all.
    pub(in crate::record) rollups: usize,
    /// Targets by day.
    pub(in crate::record) paths: usize,
    /// Made-up names.
    pub(in crate::record) strangers: usize,
    /// Events in full.
    pub(in crate::record) samples: usize,
    /// Readers by version; beyond it they are kept without host and network, and beyond twice as many not at all.
    pub(in crate::record) reads: usize,
    /// Bytes of robots.txt files.
    pub(in crate::record) robots: usize,
}

/// What did not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Losses {
    /// Events, versions and targets that are missing; the requests are counted all the same.
    pub details_dropped: u64,
    /// Reads of robots.txt that are missing.
    pub reads_lost: u64,
    /// Requests that are not counted.
    pub counts_lost: u64,
}

impl Losses {
    pub(in crate::record) const fn plus(self, other: Self) -> Self {
        Self {
            details_dropped: self.details_dropped.saturating_add(other.details_dropped),
            reads_lost: self.reads_lost.saturating_add(other.reads_lost),
            counts_lost: self.counts_lost.saturating_add(other.counts_lost),
        }
    }
}

/// The room of one batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchRoom {
    pub(super) bounds: BatchLimits,
    pub(super) sizes: BatchLimits,
    pub(super) losses: Losses,
}

impl BatchRoom {
    pub(super) fn new(bounds: BatchLimits) -> Self {
        Self { bounds, sizes: BatchLimits::default(), losses: Losses::default() }
    }

    /// Takes room for all of `sizes`, or for none of it; `false` where there is too little.
    pub(super) const fn take(&mut self, more: BatchLimits) -> bool {
        let (bounds, had) = (&self.bounds, self.sizes);
        let all = BatchLimits {
            rollups: had.rollups + more.rollups,
            paths: had.paths + more.paths,
            strangers: had.strangers + more.strangers,
            samples: had.samples + more.samples,
            reads: had.reads + more.reads,
            robots: had.robots + more.robots,
        };
        let fits = all.rollups <= bounds.rollups
            && all.paths <= bounds.paths
            && all.strangers <= bounds.strangers
            && all.samples <= bounds.samples
            && all.reads <= bounds.reads
            && all.robots <= bounds.robots;
        if fits {
            self.sizes = all;
        }
        fits
    }

    /// Details that are missing, by the number of requests they were of.
    pub(super) const fn drop_details(&mut self, count: u64) {
        self.losses.details_dropped = self.losses.details_dropped.saturating_add(count);
    }

    pub(super) const fn lose_reads(&mut self, count: u64) {
        self.losses.reads_lost = self.losses.reads_lost.saturating_add(count);
    }

    pub(super) const fn lose_counts(&mut self, count: u64) {
        self.losses.counts_lost = self.losses.counts_lost.saturating_add(count);
    }
}
