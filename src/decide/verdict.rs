//! What the rules say of one request. The same in every mode: whether it is refused is decided later.

use super::notice::Notice;
use super::version::VersionId;
use crate::robots::{Judgement, Rule, RuleGroup};

/// Why a verdict is what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum VerdictReason {
    /// A rule matched.
    Rule,
    /// The group has no rule for the path (RFC 9309 §2.2.2).
    NoRule,
    /// No group is meant for the client (RFC 9309 §2.2.1).
    NoGroup,
    /// `/robots.txt` itself, always allowed (RFC 9309 §2.2.2).
    RobotsTxt,
    /// A browser, an app, or a request without a path.
    NotJudged,
    /// The client's address is exempt.
    Exempt,
    /// Only what an origin may read the target as is disallowed.
    Variant,
    /// It comes faster than its group's `Crawl-delay` asks for.
    CrawlDelay,
    /// It comes faster than the rate that the operator set.
    Rate,
}

impl VerdictReason {
    /// The name used in the journal and by `gatewayctl explain`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What the rules come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VerdictOutcome {
    /// Nothing speaks against the request.
    Allow,
    /// A version the client could hold disallows it, and another one does not, or nobody knows all of them, or the file
    /// is not published: no accusation. The notice says which.
    Stale(Notice),
    /// Allowed as sent, but an origin may read the target as one that is disallowed, or in more ways than
    /// are followed.
    Variant,
    /// Every version the client could hold disallows it.
    Violation(Notice),
}

/// The group that a verdict rests on. The hash tells those of one version apart.
#[derive(Clone, Copy, Debug, Hash)]
pub enum RulingGroup<'r> {
    /// Of the file.
    Rules(RuleGroup<'r>),
    /// A name alone, where no file is involved: that of a family of browsers.
    Name(&'r str),
}

impl<'r> RulingGroup<'r> {
    /// The user-agent values of the group, as written.
    pub fn tokens(&self) -> Vec<&'r str> {
        match self {
            Self::Rules(group) => group.tokens(),
            Self::Name(name) => vec![name],
        }
    }

    /// The product token, or `*`, that chose the group.
    pub fn token(&self) -> &'r str {
        match self {
            Self::Rules(group) => group.matched(),
            Self::Name(name) => name,
        }
    }
}

/// The group and rule a verdict rests on, always of the version in force.
#[derive(Clone, Copy, Debug)]
pub struct Ruling<'r> {
    /// The group.
    pub group: RulingGroup<'r>,
    /// The most specific rule that matched. A variant has none where not all of its readings were followed.
    pub rule: Option<Rule<'r>>,
}

impl<'r> Ruling<'r> {
    /// What a judgement says; `None` where no group applies.
    pub fn of(judgement: &Judgement<'r>) -> Option<Self> {
        Some(Self { group: RulingGroup::Rules(judgement.group?), rule: judgement.rule })
    }
}

/// The verdict on one request.
#[derive(Clone, Debug)]
pub struct Verdict<'r> {
    /// What the rules come to.
    pub outcome: VerdictOutcome,
    /// Why.
    pub reason: VerdictReason,
    /// By which group and rule, where one applied.
    pub ruling: Option<Ruling<'r>>,
    /// The version in force, where the site has a file.
    pub version: Option<VersionId>,
}

impl Verdict<'_> {
    /// Whether the request is let pass in every mode. A stale one is where its notice excuses it.
    pub const fn allows(&self) -> bool {
        match self.outcome {
            VerdictOutcome::Allow => true,
            VerdictOutcome::Stale(notice) => notice.excuses(),
            VerdictOutcome::Variant | VerdictOutcome::Violation(_) => false,
        }
    }

    /// Whether the client was judged at all.
    pub const fn is_judged(&self) -> bool {
        !matches!(self.reason, VerdictReason::NotJudged | VerdictReason::Exempt | VerdictReason::RobotsTxt)
    }

    /// What notice the client had, where it matters.
    pub const fn notice(&self) -> Option<Notice> {
        match self.outcome {
            VerdictOutcome::Violation(notice) | VerdictOutcome::Stale(notice) => Some(notice),
            VerdictOutcome::Allow | VerdictOutcome::Variant => None,
        }
    }
}
