//! One timer for all waits of a connection.
//!
//! The waits of a client's connection, and where each is bounded:
//!
//! | the client | at most | where |
//! |---|---|---|
//! | sends the header of the PROXY protocol | `client_header` | `server::handler` |
//! | does the TLS handshake | `tls_handshake` | `server::handler` |
//! | sends a head | `client_header` | `ClientLife::poll_silence` |
//! | is silent between two requests | `keepalive`, less where room is short | `ClientLife::poll_silence` |
//! | sends a body | `client_read` of silence, and `body_rate` | `body::BodyMeter` |
//! | takes a piece of an answer | `client_write` | `Stall` |
//! | acknowledges its robots.txt | `client_write` | `server::delivery` |
//! | hears the end of a connection | `client_write`, or 2 s where it is still sending | `Http1Connection::end`, `linger` |
//! | of HTTP/2: the same waits | the same | the same |
//! | waits for the origin | `origin_read`, `origin_write` | `proxy::relay`, which sets this timer, too |
//!
//! It is set again only where a wait ends sooner than it would fire. A wait that ends later lets it fire, looks, and
//! sets it then: a busy connection hardly ever touches it.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::task::coop::has_budget_remaining;
use tokio::time::Sleep;

#[derive(Debug, Default)]
pub(in crate::server) struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes.
    woken: Option<Waker>,
}

impl Deadline {
    /// Ready at `at`.
    pub(in crate::server) fn poll(&mut self, context: &mut Context<'_>, at: Instant) -> Poll<()> {
        let wake = tokio::time::Instant::from_std(at);
        loop {
            let timer = self.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(wake)));
            // The clock is read only once the timer has fired, which may have been set for a wait that ends sooner.
            if timer.is_elapsed() && at <= Instant::now() {
                return Poll::Ready(());
            }
            if timer.deadline() > wake || timer.is_elapsed() {
                timer.as_mut().reset(wake);
                self.woken = None;
            }
            if self.woken.as_ref().is_some_and(|woken| woken.will_wake(context.waker())) {
                return Poll::Pending;
            }
            // When the task has used up its budget, the timer notes no waker, and tokio polls the task again.
            let is_noted = has_budget_remaining();
            if timer.as_mut().poll(context).is_pending() {
                self.woken = is_noted.then(|| context.waker().clone());
                return Poll::Pending;
            }
        }
    }
}

/// Since when a client takes nothing of what is sent.
#[derive(Debug, Default)]
pub(in crate::server) struct Stall(Option<Instant>);

impl Stall {
    /// What came of a `step` that sends something; `None` where the client has taken nothing for longer than `patience`.
    pub(in crate::server) fn poll<T>(
        &mut self,
        step: Poll<T>,
        deadline: &mut Deadline,
        patience: Duration,
        context: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        if let Poll::Ready(done) = step {
            self.0 = None;
            return Poll::Ready(Some(done));
        }
        let since = *self.0.get_or_insert_with(Instant::now);
        deadline.poll(context, since + patience).map(|()| None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
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
        // A moment that has gone by is over, however often it is asked for.
        for _ in 0..2 {
            poll_fn(|context| deadline.poll(context, start)).await;
        }
        // What was set for the sooner wait does not end a later one.
        let later = Instant::now() + Duration::from_millis(30);
        poll_fn(|context| deadline.poll(context, later)).await;
        assert!(Instant::now() >= later);
    }

    /// As of a body that drips: each piece has its end be asked for anew.
    #[tokio::test]
    async fn an_end_that_is_asked_for_again_and_again_comes() {
        let mut deadline = Deadline::default();
        let start = Instant::now();
        poll_fn(|context| deadline.poll(context, start + Duration::from_millis(5))).await;
        let at = start + Duration::from_millis(60);
        let mut ticks = tokio::time::interval(Duration::from_millis(1));
        let ended = async {
            while poll_fn(|context| Poll::Ready(deadline.poll(context, at))).await.is_pending() {
                ticks.tick().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(5), ended).await.expect("it ends");
        assert!(Instant::now() >= at);
    }

    /// The runtime lets nothing be ready to a task that has done its share, a timer no more than a socket.
    #[tokio::test]
    async fn a_wait_that_begins_when_the_task_has_done_its_share_ends_all_the_same() {
        let mut deadline = Deadline::default();
        let at = Instant::now() + Duration::from_millis(30);
        let mut is_first = true;
        let wait = poll_fn(|context| {
            while is_first && has_budget_remaining() {
                let _ = pin!(tokio::task::coop::consume_budget()).poll(context);
            }
            is_first = false;
            deadline.poll(context, at)
        });
        tokio::time::timeout(Duration::from_secs(5), wait).await.expect("it ends");
        assert!(Instant::now() >= at && at.elapsed() < Duration::from_secs(4));
    }
}
