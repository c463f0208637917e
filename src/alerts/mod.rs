//! What needs a look, sent to the operator's webhook: one JSON object for each.
//!
//! A thread of its own looks at the status and the store every `alerts.every`, as `gatewayctl status` and `report` do. It
//! sends what it did not find the last time. No request waits for it, and no other thread waits for the receiver.

mod condition;
mod delivery;
mod look;
mod memory;

use crate::admin::Admin;
use crate::record::AlertTotals;
use delivery::Delivery;
use look::Look;
use memory::AlertMemory;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How often the thread has a turn.
const TURN: Duration = Duration::from_secs(1);

/// Starts the thread. Without `[alerts]` in the policy in force it does nothing.
///
/// # Errors
/// When the system gives no thread.
pub fn watch(admin: Arc<Admin>, totals: Arc<AlertTotals>) -> io::Result<()> {
    let turns = move || {
        let mut watcher = Watcher::new(totals);
        loop {
            watcher.turn(&admin);
            std::thread::sleep(TURN);
        }
    };
    std::thread::Builder::new().name("alerts".to_owned()).spawn(turns).map(drop)
}

/// What is known from one turn to the next.
struct Watcher {
    looked: Option<Instant>,
    look: Look,
    memory: Option<AlertMemory>,
    delivery: Delivery,
}

impl Watcher {
    fn new(totals: Arc<AlertTotals>) -> Self {
        Self { looked: None, look: Look::default(), memory: None, delivery: Delivery::new(totals) }
    }

    fn turn(&mut self, admin: &Admin) {
        let policy = admin.reloader.current();
        let config = &policy.config;
        let Some((options, webhook)) = config.alerts.as_ref().zip(policy.webhook.as_ref()) else { return };
        if self.looked.is_none_or(|looked| looked.elapsed() >= options.every) {
            self.looked = Some(Instant::now());
            let now = SystemTime::now();
            let memory = self.memory.get_or_insert_with(|| AlertMemory::open(&config.state_dir));
            for condition in memory.news(self.look.conditions(admin, &policy, now), now) {
                self.delivery.add(&condition, now, config);
            }
        }
        self.delivery.send(webhook, options.ca.as_deref());
    }
}
