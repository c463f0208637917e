//! The pace of those in a log: what would have been answered 429.

use super::part::NewDecision;
use super::sites::Sites;
use crate::decide::{DeclaredPace, NoticeTime, PaceLimit};
use crate::enforce::{Action, Mode, PaceChoice};
use crate::identify::Identity;
use crate::policy::{Site, pace_in_force};
use crate::record::{CountedDecision, EventKind, PaceBook, ReaderId, printable};

/// What one subject is asked to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplayPace {
    pub(super) limit: PaceLimit,
    /// The number of what is decided of a request too many.
    pub(super) decision: u32,
}

impl ReplayPace {
    /// The limit of a client at a site, and what is decided beyond it.
    pub(super) fn of(sites: &Sites, site: &Site, identity: &Identity) -> Option<(PaceLimit, NewDecision)> {
        let DeclaredPace { limit, source } = pace_in_force(&sites.policy, &site.rules, identity)?;
        let mode = site.modes.of(identity);
        let is_enforced = mode == Mode::Enforce
            && site.config.choices.crawl_delay == PaceChoice::Enforce
            && !identity.is_audited_only();
        let decision = CountedDecision {
            kind: EventKind::Pace,
            action: if is_enforced { Action::Refuse } else { Action::Forward },
            notice: None,
            version: site.version(),
            group: source
                .map_or_else(Vec::new, |(group, _)| group.tokens().into_iter().map(Into::into).collect()),
            line: source.map(|(_, line)| line.line),
            rule: source.map(|(_, line)| printable(line.text).into()),
            proof_by: None,
        };
        (mode != Mode::Off).then_some((limit, NewDecision { decision, spared: None }))
    }

    /// The number of what is decided of a request: another one than `decided` where it is one too many.
    pub(super) fn of_request(
        &self,
        windows: &PaceBook,
        decisions: &[NewDecision],
        decided: u32,
        (who, target, now): (&ReaderId<'_>, &[u8], NoticeTime),
    ) -> u32 {
        let Some(NewDecision { decision, .. }) = decisions.get(decided as usize) else { return decided };
        let is_forwarded = decision.action == Action::Forward;
        let is_too_many = is_forwarded && windows.admit(who, &self.limit, target, now.0, true).is_err();
        if is_too_many && decision.kind == EventKind::Allowed { self.decision } else { decided }
    }
}
