//! The policy in force. Readers take an `Arc` without waiting; replacing it is one atomic swap.

use super::Policy;
use arc_swap::ArcSwap;
use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

/// A policy as the requests of one thread hold it: they are counted in memory that no other thread writes. A count that
/// all threads had in common would go to and fro between their processors with every request.
#[derive(Debug)]
pub struct HeldPolicy(Arc<Policy>);

impl Deref for HeldPolicy {
    type Target = Policy;

    fn deref(&self) -> &Policy {
        &self.0
    }
}

thread_local! {
    /// What this thread took last. It stays until the thread takes another.
    static HELD: RefCell<Option<Arc<HeldPolicy>>> = const { RefCell::new(None) };
}

/// The single place where a policy is replaced.
#[derive(Debug)]
pub struct CurrentPolicy(ArcSwap<Policy>);

impl CurrentPolicy {
    /// Puts the first policy in force.
    pub fn new(policy: Policy) -> Self {
        Self(ArcSwap::from_pointee(policy))
    }

    /// The policy in force.
    pub fn get(&self) -> Arc<Policy> {
        self.0.load_full()
    }

    /// The policy in force, for a request on this thread, which takes it once and keeps it.
    pub fn held(&self) -> Arc<HeldPolicy> {
        let current = self.0.load();
        let is_current = |held: &Arc<HeldPolicy>| Arc::ptr_eq(&held.0, &current);
        // A thread that is ending holds nothing any more.
        let known = HELD.try_with(|held| held.borrow().clone().filter(is_current));
        if let Ok(Some(known)) = known {
            return known;
        }
        let next = Arc::new(HeldPolicy(Arc::clone(&current)));
        let former = HELD.try_with(|held| held.replace(Some(Arc::clone(&next))));
        drop(former);
        next
    }

    pub(super) fn replace(&self, next: Policy) {
        self.0.store(Arc::new(next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::check;
    use std::time::SystemTime;

    #[test]
    fn each_thread_holds_the_policy_in_force_for_itself_and_no_other_for_long() {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let first = check(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap();
        let second = first.next(SystemTime::now());
        let current = CurrentPolicy::new(first);
        let request = current.held();
        assert!(Arc::ptr_eq(&request, &current.held()));
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| current.held()).join().unwrap());
        assert!(!Arc::ptr_eq(&request, &elsewhere) && Arc::ptr_eq(&request.0, &elsewhere.0));
        drop(elsewhere);

        let former = Arc::downgrade(&request.0);
        current.replace(second);
        assert_eq!(current.held().generation, request.generation + 1);
        assert!(former.upgrade().is_some(), "a request keeps its policy to its end");
        drop(request);
        assert!(former.upgrade().is_none(), "nobody else does");
    }
}
