//! A time of day that is wrong: nothing becomes old because of it, and it is told.

use crate::load::send;
use crate::place::{StorePlace, status, stop};
use crate::support::until;

/// Waits until the gateway has looked for what is old, and gives what it tells of the clock.
fn doubt(gateway: &crate::support::Daemon) -> Option<String> {
    let store = until("the store was looked after", || {
        let store = status(gateway)["store"].clone();
        (store["bytes"].as_u64() > Some(0)).then_some(store)
    });
    store["clock_doubt"].as_str().map(str::to_owned)
}

#[test]
fn a_start_with_a_clock_that_is_months_ahead_or_behind_erases_nothing() {
    let place = StorePlace::new();
    let gateway = place.start();
    let sent = send(gateway.address(), 1, 200);
    place.settles_at(&sent);
    assert_eq!(doubt(&gateway), None);
    stop(gateway);
    for (offset, far) in [("+120d", "120 d ahead of"), ("-120d", "120 d behind")] {
        let Some(gateway) = place.start_at_time(offset) else { return };
        let told = doubt(&gateway);
        let (text, log) = (gateway.ctl(&["status"]).exits(0).stdout, gateway.log.text());
        stop(gateway);
        let left = place.counted();
        assert_eq!(left.sum(), sent.sum(), "requests are left after {offset}");
        assert!(left == sent, "{}", left.difference(&sent));
        for (what, said) in [("status as json", told.unwrap_or_default()), ("status", text), ("the log", log)]
        {
            assert!(said.contains(far), "{what} does not say `{far}`: {said}");
        }
    }
    let gateway = place.start();
    assert_eq!(doubt(&gateway), None, "the clock was set right");
    stop(gateway);
}
