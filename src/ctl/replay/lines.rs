//! What the lines of a log were.

use serde::Serialize;

/// How many lines of each kind there are; field names are public API.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(in crate::ctl) struct LineCounts {
    /// Those that could not be read, too.
    pub(super) lines: u64,
    pub(super) before_since: u64,
    /// Of a host that none of the sites has.
    pub(in crate::ctl) other_hosts: u64,
    /// No request at all, or none for a path.
    pub(super) no_request: u64,
    /// Lines of a log without the User-Agent.
    pub(in crate::ctl) without_user_agent: u64,
    pub(super) browsers: u64,
    pub(super) apps: u64,
    pub(super) exempt: u64,
    pub(super) off: u64,
    pub(super) judged: u64,
    /// Requests for robots.txt, whoever made them.
    pub(super) robots_txt: u64,
}
