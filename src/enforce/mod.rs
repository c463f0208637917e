//! Mode and verdict → action.
//!
//! Two pure functions: [`enforce`] for what the rules say, and [`enforce_pace`] for a request that comes too fast. Audit
//! forwards everything; enforce refuses what is both disallowed and safe to refuse. The guards here are the last ones:
//! whatever a stage before got wrong, a person is not refused, nor is a certificate authority's check of this host.

mod mode;
mod refusal;

pub use mode::{ClientModes, Mode, SetByName};
pub use refusal::{Refusal, RefusalPolicy, prefers_json};

use crate::decide::{Verdict, VerdictOutcome};
use crate::identify::{Identity, Proof};
use crate::request::target::RequestTarget;

/// What was done with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[derive(strum::Display, strum::EnumString, strum::IntoStaticStr)]
pub enum Action {
    /// Sent on to the origin.
    #[strum(serialize = "forwarded")]
    Forward,
    /// Answered by the gateway with a refusal.
    #[strum(serialize = "refused")]
    Refuse,
    /// Sent to another address, as the operator wants it in place of a refusal.
    #[strum(serialize = "redirected")]
    Redirect,
    /// Answered with what the operator wrote.
    #[strum(serialize = "answered")]
    Answer,
    /// Sent on to another server than the origin.
    #[strum(serialize = "diverted")]
    Divert,
}

impl Action {
    /// The name used in the journal.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the request was kept from the origin.
    pub fn keeps_out(self) -> bool {
        self != Self::Forward
    }
}

/// What a site does about variants of a disallowed path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Variants {
    /// Refuse them in enforce mode.
    #[default]
    Refuse,
    /// Record and forward them.
    Forward,
}

/// What a site does about clients that borrow a crawler's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Contradicted {
    /// Refuse them, whatever they ask for, in enforce mode.
    Refuse,
    /// Record them, and judge them like the crawler they claim to be.
    #[default]
    Audit,
    /// Take no notice of the contradiction.
    Ignore,
}

/// What a site does about crawlers that come faster than they were asked to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum PaceChoice {
    /// Count them.
    #[default]
    Report,
    /// Answer 429 in enforce mode.
    Enforce,
}

/// A site's choices where the rules leave one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SiteChoices {
    /// Variants of a disallowed path.
    pub variants: Variants,
    /// Clients that borrow a name.
    pub contradicted: Contradicted,
    /// Crawlers that come faster than they were asked to.
    pub crawl_delay: PaceChoice,
}

/// Turns a verdict into an action.
pub fn enforce(
    mode: Mode,
    choices: SiteChoices,
    verdict: &Verdict<'_>,
    identity: &Identity,
    proof: Proof,
    target: &RequestTarget<'_>,
) -> Action {
    let may_be_refused = verdict.is_judged() && may_be_refused(mode, identity, target);
    let disallowed = match verdict.outcome {
        VerdictOutcome::Violation(_) => true,
        VerdictOutcome::Variant => choices.variants == Variants::Refuse,
        VerdictOutcome::Stale(notice) => !notice.excuses(),
        VerdictOutcome::Allow => false,
    };
    let borrowed_name = proof == Proof::Contradicted && choices.contradicted == Contradicted::Refuse;
    if may_be_refused && (disallowed || borrowed_name) { Action::Refuse } else { Action::Forward }
}

/// What is done with a request that comes too fast.
#[must_use]
pub fn enforce_pace(
    mode: Mode,
    choice: PaceChoice,
    identity: &Identity,
    target: &RequestTarget<'_>,
) -> Action {
    let refuses = choice == PaceChoice::Enforce && may_be_refused(mode, identity, target);
    if refuses { Action::Refuse } else { Action::Forward }
}

/// Whether anything that `identity` asks for may be refused, whatever it did.
fn may_be_refused(mode: Mode, identity: &Identity, target: &RequestTarget<'_>) -> bool {
    mode == Mode::Enforce
        && identity.client.is_judged()
        && !identity.is_audited_only()
        && !target.is_acme_challenge()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Notice, VerdictReason};
    use crate::identify::{Basis, ClientKind};
    use crate::request::target::PathParameters;
    use std::sync::Arc;

    fn target(path: &str) -> RequestTarget<'_> {
        RequestTarget::new(path.as_bytes(), PathParameters::Keep)
    }

    fn identity(client: ClientKind) -> Identity {
        let tokens = Arc::new([]);
        Identity { client, crawler: None, purpose: None, tokens, star: true, basis: Basis::Catalogue }
    }

    fn verdict(outcome: VerdictOutcome) -> Verdict<'static> {
        Verdict { outcome, reason: VerdictReason::Rule, ruling: None, version: None }
    }

    const VIOLATION: VerdictOutcome = VerdictOutcome::Violation(Notice::Read);

    fn action(mode: Mode, outcome: VerdictOutcome, path: &str) -> Action {
        let crawler = identity(ClientKind::Crawler);
        enforce(mode, SiteChoices::default(), &verdict(outcome), &crawler, Proof::Unchecked, &target(path))
    }

    #[test]
    fn only_enforce_refuses_and_only_what_is_disallowed() {
        assert_eq!(action(Mode::Enforce, VIOLATION, "/x"), Action::Refuse);
        assert_eq!(action(Mode::Enforce, VerdictOutcome::Variant, "/x"), Action::Refuse);
        for notice in [Notice::Pending, Notice::Unpublished] {
            assert_eq!(action(Mode::Enforce, VerdictOutcome::Stale(notice), "/x"), Action::Forward);
        }
        for notice in [Notice::Waived, Notice::Unknown] {
            assert_eq!(action(Mode::Enforce, VerdictOutcome::Stale(notice), "/x"), Action::Refuse);
            assert_eq!(action(Mode::Audit, VerdictOutcome::Stale(notice), "/x"), Action::Forward);
        }
        assert_eq!(action(Mode::Enforce, VerdictOutcome::Allow, "/x"), Action::Forward);
        for mode in [Mode::Audit, Mode::Off] {
            assert_eq!(action(mode, VIOLATION, "/x"), Action::Forward);
        }
    }

    #[test]
    fn a_certificate_authority_is_never_refused() {
        assert_eq!(action(Mode::Enforce, VIOLATION, "/.well-known/acme-challenge/token"), Action::Forward);
        for detour in [
            "/.well-known/acme-challenge/..%2f..%2fx",
            "/.well-known/acme-challenge/a\\a\\a%2f..%2f..%2f..%2fprivate/x.html",
            "/.well-known/acme-challenge/",
            "/.well-known/acme-challenge/a/b",
            "/.well-known/acme-challenge/a?b",
            "/.well-known/acme-challenge/a.html",
            "/.well-known//acme-challenge/a",
            "/x/../.well-known/acme-challenge/a",
        ] {
            assert_eq!(action(Mode::Enforce, VIOLATION, detour), Action::Refuse, "{detour}");
        }
    }

    #[test]
    fn a_person_is_not_refused_whatever_went_wrong_before() {
        let browser = identity(ClientKind::Browser);
        let choices = SiteChoices { contradicted: Contradicted::Refuse, ..SiteChoices::default() };
        let action = enforce(
            Mode::Enforce,
            choices,
            &verdict(VIOLATION),
            &browser,
            Proof::Contradicted,
            &target("/x"),
        );
        assert_eq!(action, Action::Forward);
    }

    #[test]
    fn a_second_opinion_alone_refuses_nobody() {
        let crawler = Identity { basis: Basis::SecondOpinion, ..identity(ClientKind::Crawler) };
        let verdict = verdict(VIOLATION);
        let action = enforce(
            Mode::Enforce,
            SiteChoices::default(),
            &verdict,
            &crawler,
            Proof::Unchecked,
            &target("/x"),
        );
        assert_eq!(action, Action::Forward);
    }

    #[test]
    fn a_site_chooses_what_becomes_of_variants_and_borrowed_names() {
        let crawler = identity(ClientKind::Crawler);
        let forward = SiteChoices { variants: Variants::Forward, ..SiteChoices::default() };
        let variant = verdict(VerdictOutcome::Variant);
        let act = |choices, verdict, proof| {
            enforce(Mode::Enforce, choices, verdict, &crawler, proof, &target("/x"))
        };
        assert_eq!(act(forward, &variant, Proof::Unchecked), Action::Forward);
        let refuse = SiteChoices { contradicted: Contradicted::Refuse, ..SiteChoices::default() };
        let allowed = verdict(VerdictOutcome::Allow);
        assert_eq!(act(refuse, &allowed, Proof::Contradicted), Action::Refuse);
        assert_eq!(act(refuse, &allowed, Proof::Unchecked), Action::Forward);
        assert_eq!(act(SiteChoices::default(), &allowed, Proof::Contradicted), Action::Forward);
    }
}
