//! The policy in force. Readers clone one `Arc` without waiting; replacing it is one atomic swap.

use super::Policy;
use arc_swap::ArcSwap;
use std::sync::Arc;

/// The single place where a policy is replaced.
#[derive(Debug)]
pub struct CurrentPolicy(ArcSwap<Policy>);

impl CurrentPolicy {
    /// Puts the first policy in force.
    #[must_use]
    pub fn new(policy: Policy) -> Self {
        Self(ArcSwap::from_pointee(policy))
    }

    /// The policy in force. A request takes it once and keeps it.
    #[must_use]
    pub fn get(&self) -> Arc<Policy> {
        self.0.load_full()
    }

    /// Whether the policy in force could refuse anybody anything.
    #[must_use]
    pub fn may_refuse(&self) -> bool {
        self.0.load().may_refuse()
    }

    pub(super) fn replace(&self, next: Policy) {
        self.0.store(Arc::new(next));
    }
}
