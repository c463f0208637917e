//! Lines that would stop those that took most, ready to copy.

use super::text::visible;
use crate::report::{Proposal, amount};
use std::fmt::Write as _;

/// What is proposed for one site.
pub(super) struct Proposed {
    pub(super) site: Option<String>,
    pub(super) lines: String,
}

impl Proposed {
    /// One for each site; they stand in the order of sites.
    pub(super) fn all(proposals: &[Proposal], shows_site: bool) -> Vec<Self> {
        let of_site = |proposals: &[Proposal]| Self {
            site: proposals.first().filter(|_| shows_site).map(|first| visible(&first.site)),
            lines: lines(proposals),
        };
        proposals.chunk_by(|one, two| one.site == two.site).map(of_site).collect()
    }
}

fn lines(proposals: &[Proposal]) -> String {
    let mut lines = String::new();
    for Proposal { crawler, purpose, requests, lines: own, .. } in proposals {
        let purpose = purpose.map(|purpose| format!(", {purpose}")).unwrap_or_default();
        let gap = if lines.is_empty() { "" } else { "\n" };
        let requests = amount(*requests, "request", "requests");
        // Writing to a `String` cannot fail.
        let _ = write!(lines, "{gap}# {}{purpose}: {requests}\n{own}", visible(crawler));
    }
    lines
}
