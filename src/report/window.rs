//! One window for several stores.

use super::question::ReportQuestion;
use crate::record::{StoreError, StoreReader, Window};

/// How often the window may have to be widened: minutes to hours, hours to days, and once to see that
/// nothing changed.
const ROUNDS: usize = 4;

/// The narrowest window around the question that begins and ends where the roll-ups of every store do. It ends now, or
/// where the question does, or after what is dated latest.
pub(super) fn common(stores: &[StoreReader], question: &ReportQuestion) -> Result<Window, StoreError> {
    let mut to = question.to;
    if let Some(now) = question.now.filter(|now| *now < to) {
        let mut last = now;
        for store in stores {
            last = last.max(store.last()?.unwrap_or(now));
        }
        to = to.min(last);
    }
    let mut window = Window { from: question.from, to: to.max(question.from) };
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
