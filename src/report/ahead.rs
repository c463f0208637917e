//! Requests that are dated later than they are reported: a gateway's clock was ahead.

use super::headline::{amount, grouped};
use super::question::ReportQuestion;
use crate::record::{StoreError, StoreReader, Window, timestamp};
use std::time::{Duration, SystemTime};

/// How far the clocks of two machines may be apart without a word.
const SLACK: Duration = Duration::from_secs(60);

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClockAhead {
    /// In the stores.
    pub(super) requests: u64,
    /// Within the report's window.
    counted: u64,
    /// The latest minute that has any.
    last: Option<SystemTime>,
}

impl ClockAhead {
    pub(super) fn add(
        &mut self,
        store: &StoreReader,
        question: &ReportQuestion,
        window: &Window,
    ) -> Result<(), StoreError> {
        let Some(from) = question.now.and_then(|now| now.checked_add(SLACK)) else { return Ok(()) };
        if store.span()?.is_none_or(|span| span.to <= from) {
            return Ok(());
        }
        for (to, sum) in [(ReportQuestion::open_end(), &mut self.requests), (window.to, &mut self.counted)] {
            for total in store.totals(&Window { from, to }, &question.filter())? {
                *sum += total.count;
                self.last = self.last.max(Some(total.last));
            }
        }
        Ok(())
    }

    /// What is to be known of them.
    pub(super) fn sentence(&self) -> Option<String> {
        let last = self.last?;
        let counted = match self.counted {
            0 => "None of that is counted here: the report ends before.".to_owned(),
            counted if counted == self.requests => "That is counted here.".to_owned(),
            counted => format!("{} of that are counted here.", grouped(counted)),
        };
        Some(format!(
            "{} dated later than now, up to {}: the clock of the gateway was ahead, or is behind now. {counted}",
            amount(self.requests, "request is", "requests are"),
            timestamp(last)
        ))
    }
}
