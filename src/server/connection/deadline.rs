//! One timer for all waits of a connection.
//!
//! It is set again only where a wait ends sooner than it would fire. A wait that ends later lets it fire, looks, and
//! sets it then: a busy connection hardly ever touches it.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::Sleep;

#[derive(Debug, Default)]
pub(in crate::server) struct Deadline(Option<Pin<Box<Sleep>>>);

impl Deadline {
    /// Ready at `at`.
    pub(in crate::server) fn poll(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        self.poll_from(context, at, Instant::now())
    }

    /// Ready at `at`, for who has just looked at the clock.
    pub(super) fn poll_from(&mut self, context: &mut Context<'_>, at: Instant, mut now: Instant) -> Poll<()> {
        let wake = tokio::time::Instant::from_std(at);
        loop {
            if at <= now {
                return Poll::Ready(());
            }
            let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(wake)));
            if timer.deadline() > wake || timer.is_elapsed() {
                timer.as_mut().reset(wake);
            }
            ready!(timer.as_mut().poll(context));
            now = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::time::Duration;

    #[tokio::test]
    async fn a_wait_ends_when_it_should_whatever_was_waited_for_before() {
        let mut deadline = Deadline::default();
        let start = Instant::now();
        let late = start + Duration::from_secs(3_600);
        let soon = start + Duration::from_millis(30);
        poll_fn(|context| {
            assert!(deadline.poll(context, late).is_pending());
            deadline.poll(context, soon)
        })
        .await;
        assert!(start.elapsed() >= Duration::from_millis(30) && start.elapsed() < Duration::from_secs(60));
        // What was set for the sooner wait does not end a later one.
        let later = Instant::now() + Duration::from_millis(30);
        poll_fn(|context| deadline.poll(context, later)).await;
        assert!(Instant::now() >= later);
    }
}
