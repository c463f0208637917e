//! What a process sees of the others of its state folder.

use super::NoticeHistory;
use crate::policy::Policy;
use crate::record::{HOLDS, HostRow, RowFolder, RowsError, whole_micros};
use std::sync::atomic::Ordering;

impl NoticeHistory {
    /// Sees what others wrote, once there is a folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn refresh(&mut self) -> Result<(), RowsError> {
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let is_new = folder.refresh(&mut self.own).map_err(|source| self.error(source))?;
        self.note_news(is_new);
        Ok(())
    }

    /// Sees what others wrote; `true` where the policy in force does not know of it. Where it cannot be read, what is known
    /// goes on to excuse, and nobody is accused once others may serve something else.
    pub(super) fn hear(&mut self) -> bool {
        let until = self.own.clock.now().after(HOLDS);
        if let Err(error) = self.refresh() {
            self.fail(&error);
        } else if self.folder.is_some() && !self.has_news {
            self.known_until.store(whole_micros(until.0), Ordering::Relaxed);
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

    /// Takes up what others wrote, ends the rows of what is served no more, and writes again what is not there; `true` where
    /// something is new.
    pub(super) fn look(&mut self, policy: &Policy) -> bool {
        if self.is_closed {
            return false;
        }
        let was_open = self.folder.is_some();
        // What a reload saw that changed nothing else is news, too.
        let is_new = self.hear();
        if self.folder.as_ref().is_some_and(RowFolder::is_written) {
            return self.has_former && self.end_former(policy) || is_new;
        }
        match self.record(policy) {
            Ok(is_news) => is_new || is_news || !was_open,
            Err(error) => {
                if !was_open {
                    self.folder = None;
                    self.fail(&error);
                }
                is_new
            }
        }
    }
}
