//! What a process sees of the others of its state folder.

use super::HistoryState;
use crate::decide::NoticeTime;
use crate::policy::Policy;
use crate::record::{HOLDS, HostRow, PastRows, RowFolder};
use std::sync::atomic::Ordering;

impl HistoryState {
    /// Sees what others wrote; `true` where the policy in force does not know of it. Where it cannot be read, what is known
    /// goes on to excuse, and nobody is accused once others may serve something else.
    pub(super) fn hear(&mut self) -> bool {
        let until = self.own.clock.now().after(HOLDS);
        match self.folder.as_mut().map(|folder| folder.refresh(&mut self.own)) {
            Some(Ok(is_new)) => {
                self.fault = None;
                self.note_news(is_new);
                if !self.has_news {
                    let until = until.0.as_micros().try_into().unwrap_or(u64::MAX);
                    self.known_until.store(until, Ordering::Relaxed);
                }
            }
            Some(Err(error)) => self.fault = Some(error.to_string()),
            None => {}
        }
        self.has_news
    }

    pub(super) fn note_news(&mut self, is_new: bool) {
        if is_new {
            (self.has_news, self.news) = (true, self.own.clock.now());
        }
    }

    /// Whether others may serve something: the file of one that lives may have been removed with what is lost.
    pub(super) fn may_have_company(&self) -> bool {
        let now = self.own.clock.now();
        !self.own.others.is_empty()
            || self.own.hosts.rows().filter_map(HostRow::until).any(|until| until > now)
    }

    /// Takes up what others wrote, ends the rows of what is served no more, and writes again what is not there.
    pub(super) fn look(&mut self, policy: &Policy) -> bool {
        if self.is_closed {
            return false;
        }
        let (was_open, as_of) = (self.folder.is_some(), self.as_of);
        // What a reload saw that changed nothing else is news, too.
        let is_new = self.hear();
        if self.folder.as_ref().is_some_and(RowFolder::is_written) {
            let is_ended = self.has_former && self.end_former(policy);
            return is_ended || is_new || self.has_ended_since(as_of);
        }
        match self.record(policy) {
            Ok(is_news) => is_new || is_news || !was_open,
            Err(error) => {
                if !was_open {
                    (self.folder, self.fault) = (None, Some(error.to_string()));
                }
                is_new
            }
        }
    }

    /// Whether anything ended since then.
    fn has_ended_since(&self, as_of: NoticeTime) -> bool {
        let now = self.own.clock.now();
        let mut rows = self.own.processes().flat_map(PastRows::rows);
        rows.any(|row| row.until().is_some_and(|until| until > as_of && until <= now))
    }
}
