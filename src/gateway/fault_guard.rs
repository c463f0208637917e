//! A fence around our own stages: a panic there costs a judgement, not the request.

use crate::record::Totals;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `stage`; `None`, and a fault counted, when it panicked. The hook has reported where.
///
/// Nothing that a stage touches is left half changed by a panic: it computes values, and what it shares is
/// behind locks that recover.
pub(super) fn guarded<T>(totals: &Totals, stage: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(stage));
    if result.is_err() {
        totals.fault();
    }
    result.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_and_counted_and_nothing_else_is() {
        let totals = Totals::default();
        assert_eq!(guarded(&totals, || 1), Some(1));
        assert_eq!(totals.snapshot().faults, 0);
        assert_eq!(guarded(&totals, || -> u8 { panic!("a fault of ours") }), None);
        assert_eq!(totals.snapshot().faults, 1);
    }
}
