use super::*;
use crate::record::OfferedFiles;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What nobody has heard of may be served where the operator will not wait for the others.
fn may_serve_at_once(reads: &ReadBook) -> bool {
    reads.fleet.serves_meanwhile(OfferedFiles::from([("a.example".into(), [Some("digest".into())].into())]))
}

#[test]
fn a_forced_reload_that_panics_forces_no_other() {
    let reads = ReadBook::default();
    assert!(!may_serve_at_once(&reads));
    let forced = catch_unwind(AssertUnwindSafe(|| {
        let _forced = ForcedReload::begin(&reads);
        panic!("planted");
    }));
    assert!(forced.is_err() && !may_serve_at_once(&reads));
    let forced = ForcedReload::begin(&reads);
    assert!(may_serve_at_once(&reads));
    drop(forced);
}
