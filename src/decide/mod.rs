//! Rules, identity, target, reads and time → verdict.
//!
//! Two pure functions: [`decide`] judges a request, and [`declared_pace`] says how fast its client was asked to come.
//! `policy::judge` calls both, for the daemon and for the tools, so they cannot disagree. Both read no clock and no
//! socket, and know no mode: what is done about a verdict is the next stage's business.

mod notice;
mod pace;
mod rules;
mod verdict;
mod version;

pub use notice::{Notice, NoticePeriod, NoticeTime, Read};
pub use pace::{DeclaredPace, FILES_OF_A_PAGE, PaceExcess, PaceLimit, PaceWindow, declared_pace};
pub use rules::{Doubt, FormerVersion, KnownVersion, SiteRules, Waiver};
pub use verdict::{Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason};
pub use version::{DigestId, NO_GROUP, RobotsVersion, RulesId, VersionId};

use crate::identify::Identity;
use crate::request::target::RequestTarget;
use crate::robots::{Judgement, JudgementReason, Rule, RuleKind};
use notice::HeldVersions;
use std::sync::Arc;

/// Everything about one request that a verdict depends on, beside the rules.
#[derive(Clone, Copy, Debug)]
pub struct VerdictInput<'a> {
    /// The target in the forms it is judged in.
    pub target: &'a RequestTarget<'a>,
    /// The `User-Agent` bytes; former versions may name other tokens found in it.
    pub user_agent: Option<&'a [u8]>,
    /// Who the client is, by the catalogue and the signs alone.
    pub recognised: &'a Arc<Identity>,
    /// Who it is with the tokens of the version in force.
    pub identity: &'a Identity,
    /// Whether the operator exempted the client's address.
    pub exempt: bool,
    /// What this client has read.
    pub reads: &'a [Read],
    /// Whether all that could be served elsewhere is among the host's former versions.
    pub is_all_known: bool,
    /// The time of the request, on the clock that notice runs by.
    pub now: NoticeTime,
}

/// Judges one request.
///
/// The order matters: `/robots.txt` is open to everyone, exempt addresses and people are never judged,
/// and only then do the rules speak (RFC 9309 §2.2).
pub fn decide<'r>(rules: &'r SiteRules, period: NoticePeriod, case: &VerdictInput<'_>) -> Verdict<'r> {
    let current = rules.current();
    let unjudged =
        |reason| Verdict { outcome: VerdictOutcome::Allow, reason, ruling: None, version: current.id };
    if case.target.is_robots_txt() {
        return unjudged(VerdictReason::RobotsTxt);
    }
    if case.exempt {
        return unjudged(VerdictReason::Exempt);
    }
    if !case.identity.client.is_judged() {
        return unjudged(VerdictReason::NotJudged);
    }
    let in_force = VersionAnswers::new(current, case.identity, case.target);
    let holdings = HeldVersions::new(rules, case.reads, period, case.now);
    let outcome = weigh(&in_force, &holdings, rules, case);
    let is_variant = outcome == VerdictOutcome::Variant;
    let reason = if is_variant { VerdictReason::Variant } else { reason_of(&in_force.direct) };
    let ruling = if is_variant { in_force.ruling_of_variant() } else { Ruling::of(&in_force.direct) };
    Verdict { outcome, reason, ruling, version: current.id }
}

/// One version's answers for the target as judged and, where that is allowed, for what origins may read it as.
struct VersionAnswers<'r> {
    direct: Judgement<'r>,
    /// The first reading that is disallowed.
    reading: Option<Judgement<'r>>,
    /// Whether there are more readings than were judged, and rules that may disallow one of them.
    is_in_doubt: bool,
}

impl<'r> VersionAnswers<'r> {
    fn new(version: &'r RobotsVersion, identity: &Identity, target: &RequestTarget<'_>) -> Self {
        let judge = |path| version.robots.judge(&identity.tokens, identity.star, path);
        let direct = judge(target.judged());
        if !direct.allow {
            return Self { direct, reading: None, is_in_doubt: false };
        }
        let reading = target.readings().map(judge).find(|reading| !reading.allow);
        let disallows = |rule: Rule<'_>| rule.kind == RuleKind::Disallow && rule.bytes > 0;
        let is_in_doubt =
            target.has_more_readings() && direct.group.is_some_and(|group| group.rules().any(disallows));
        Self { direct, reading, is_in_doubt }
    }

    const fn disallows(&self) -> bool {
        !self.direct.allow
    }

    /// Whether the target is disallowed, or an origin may take it for one that is.
    const fn disallows_reading(&self) -> bool {
        self.disallows() || self.reading.is_some() || self.is_in_doubt
    }

    /// The group, and the rule that disallows a reading. No rule where there were too many readings to find it.
    fn ruling_of_variant(&self) -> Option<Ruling<'r>> {
        let ruling = Ruling::of(self.reading.as_ref().unwrap_or(&self.direct))?;
        Some(Ruling { rule: ruling.rule.filter(|_| self.reading.is_some()), ..ruling })
    }
}

/// All that the client could hold against the version in force. A version that is known to allow the request excuses it
/// from a refusal, unless the operator has set that version aside. What nobody knows excuses from an accusation only.
fn weigh(
    in_force: &VersionAnswers<'_>,
    holdings: &HeldVersions<'_>,
    rules: &SiteRules,
    case: &VerdictInput<'_>,
) -> VerdictOutcome {
    let crawler = case.identity.crawler.as_deref();
    let (mut all, mut any) = (in_force.disallows(), in_force.disallows());
    let (mut all_binding, mut all_readings) = (all, in_force.disallows_reading());
    let mut is_known = case.is_all_known;
    for former in holdings.former() {
        let Ok(version) = &former.version else {
            is_known = false;
            continue;
        };
        let (disallows, disallows_reading) = judged_by_former(version, case);
        all &= disallows;
        any |= disallows;
        if !rules.is_waived(former.until, crawler) {
            all_binding &= disallows;
            all_readings &= disallows_reading;
        }
    }
    match (all, any) {
        (_, true) if rules.is_unpublished => VerdictOutcome::Stale(Notice::Unpublished),
        (true, _) if is_known => VerdictOutcome::Violation(holdings.of_violation(rules.current())),
        (true, _) => VerdictOutcome::Stale(Notice::Unknown),
        (false, true) if all_binding => VerdictOutcome::Stale(Notice::Waived),
        (false, true) => VerdictOutcome::Stale(Notice::Pending),
        (false, false) if all_readings && !rules.is_unpublished => VerdictOutcome::Variant,
        (false, false) => VerdictOutcome::Allow,
    }
}

fn judged_by_former(version: &RobotsVersion, case: &VerdictInput<'_>) -> (bool, bool) {
    let identity = version.tokens.applied(case.recognised, case.user_agent);
    if !identity.client.is_judged() {
        return (false, false);
    }
    let judged = VersionAnswers::new(version, &identity, case.target);
    (judged.disallows(), judged.disallows_reading())
}

const fn reason_of(judgement: &Judgement<'_>) -> VerdictReason {
    match judgement.reason {
        JudgementReason::Rule => VerdictReason::Rule,
        JudgementReason::NoRule => VerdictReason::NoRule,
        JudgementReason::NoGroup => VerdictReason::NoGroup,
        JudgementReason::RobotsTxt => VerdictReason::RobotsTxt,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Basis, ClientKind};
    use crate::request::target::PathParameters;
    use crate::robots::{ParseLimits, Robots};
    use std::time::Duration;

    const PERIOD: NoticePeriod =
        NoticePeriod { notice: Duration::from_secs(86_400), settle: Duration::from_secs(60) };

    fn site(text: &str) -> SiteRules {
        let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
        SiteRules::new(Arc::new(RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots))))
    }

    fn identity(client: ClientKind, tokens: &[&str]) -> Arc<Identity> {
        let tokens = tokens.iter().map(|token| (*token).into()).collect();
        let star = client != ClientKind::SpecialCase;
        Arc::new(Identity { client, crawler: None, purpose: None, tokens, star, basis: Basis::Catalogue })
    }

    fn judged(
        rules: &SiteRules,
        identity: &Arc<Identity>,
        path: &str,
        exempt: bool,
    ) -> (VerdictOutcome, VerdictReason) {
        let target = RequestTarget::new(path.as_bytes(), PathParameters::Keep);
        let now = NoticeTime::default();
        let case = VerdictInput {
            target: &target,
            user_agent: None,
            recognised: identity,
            identity,
            exempt,
            reads: &[],
            is_all_known: true,
            now,
        };
        let verdict = decide(rules, PERIOD, &case);
        let unheard = decide(rules, PERIOD, &VerdictInput { is_all_known: false, ..case });
        match verdict.outcome {
            // Somebody may serve what allows it.
            VerdictOutcome::Violation(_) => {
                assert_eq!(unheard.outcome, VerdictOutcome::Stale(Notice::Unknown));
            }
            outcome => assert_eq!(unheard.outcome, outcome),
        }
        (verdict.outcome, verdict.reason)
    }

    const NOBODY: &str = "User-agent: *\nDisallow: /\n";

    #[test]
    fn robots_txt_is_open_even_to_those_who_may_read_nothing_else() {
        let crawler = identity(ClientKind::Crawler, &["GPTBot"]);
        let (outcome, reason) = judged(&site(NOBODY), &crawler, "//robots.txt?x=1", false);
        assert_eq!((outcome, reason), (VerdictOutcome::Allow, VerdictReason::RobotsTxt));
    }

    #[test]
    fn people_and_exempt_clients_are_not_judged() {
        let rules = site(NOBODY);
        for client in [ClientKind::Browser, ClientKind::App] {
            let answer = judged(&rules, &identity(client, &[]), "/x", false);
            assert_eq!(answer, (VerdictOutcome::Allow, VerdictReason::NotJudged));
        }
        let crawler = identity(ClientKind::Crawler, &["GPTBot"]);
        assert_eq!(judged(&rules, &crawler, "/x", true), (VerdictOutcome::Allow, VerdictReason::Exempt));
        let violation = VerdictOutcome::Violation(Notice::Lapsed);
        assert_eq!(judged(&rules, &crawler, "/x", false), (violation, VerdictReason::Rule));
    }

    #[test]
    fn a_special_case_obeys_its_own_group_only() {
        let ads = identity(ClientKind::SpecialCase, &["AdsBot-Google"]);
        assert_eq!(judged(&site(NOBODY), &ads, "/x", false), (VerdictOutcome::Allow, VerdictReason::NoGroup));
        let own = site("User-agent: AdsBot-Google\nDisallow: /x\n");
        assert_eq!(
            judged(&own, &ads, "/x", false),
            (VerdictOutcome::Violation(Notice::Lapsed), VerdictReason::Rule)
        );
        assert_eq!(judged(&own, &ads, "/y", false), (VerdictOutcome::Allow, VerdictReason::NoRule));
    }

    #[test]
    fn the_first_token_that_has_a_group_decides() {
        let image = identity(ClientKind::Crawler, &["Googlebot-Image", "Googlebot"]);
        let rules = site("User-agent: Googlebot\nDisallow: /g\n\nUser-agent: *\nDisallow: /\n");
        assert_eq!(judged(&rules, &image, "/g", false).0, VerdictOutcome::Violation(Notice::Lapsed));
        assert_eq!(judged(&rules, &image, "/x", false).0, VerdictOutcome::Allow);
    }

    #[test]
    fn a_variant_is_told_from_a_violation_by_the_path_as_sent() {
        let rules = site("User-agent: *\nDisallow: /private\n");
        let crawler = identity(ClientKind::Crawler, &["GPTBot"]);
        assert_eq!(
            judged(&rules, &crawler, "//private", false),
            (VerdictOutcome::Variant, VerdictReason::Variant)
        );
        assert_eq!(judged(&rules, &crawler, "/x/..%2fprivate", false).0, VerdictOutcome::Variant);
        assert_eq!(
            judged(&rules, &crawler, "/x/../private", false).0,
            VerdictOutcome::Violation(Notice::Lapsed)
        );
        assert_eq!(
            judged(&rules, &crawler, "/private%2Fx", false).0,
            VerdictOutcome::Violation(Notice::Lapsed)
        );
        assert_eq!(
            judged(&rules, &crawler, "//public", false),
            (VerdictOutcome::Allow, VerdictReason::NoRule)
        );
    }

    #[test]
    fn a_target_with_too_many_readings_is_a_variant_where_anything_is_disallowed() {
        let crawler = identity(ClientKind::Crawler, &["GPTBot"]);
        let endless = "//a".repeat(100);
        let one = site("User-agent: *\nDisallow: /private\n");
        assert_eq!(
            judged(&one, &crawler, &endless, false),
            (VerdictOutcome::Variant, VerdictReason::Variant)
        );
        assert_eq!(
            judged(&site(NOBODY), &crawler, &endless, false).0,
            VerdictOutcome::Violation(Notice::Lapsed)
        );
        for nothing in ["", "User-agent: *\nDisallow:\nAllow: /a\n", "User-agent: OtherBot\nDisallow: /\n"] {
            assert_eq!(
                judged(&site(nothing), &crawler, &endless, false).0,
                VerdictOutcome::Allow,
                "{nothing}"
            );
        }
    }
}
