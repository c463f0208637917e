//! Something that holds now, and that an operator should know of.

use serde_json::Value;
use std::time::Duration;

/// What it is about; the word is the `kind` of an alert, and public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub(super) enum AlertKind {
    /// A crawler breaks rules that it has read.
    IgnoresRules,
    /// Somebody uses a crawler's name.
    Impersonation,
    /// A file or configuration was refused, and the former one is kept.
    Refused,
    /// A server of an origin answers no requests.
    OriginFailing,
    /// Something that should have been recorded was not.
    Losses,
    /// A certificate runs out, or has.
    Certificate,
    /// The catalogue of crawlers is old.
    Catalogue,
}

impl AlertKind {
    pub(super) fn as_str(self) -> &'static str {
        self.into()
    }

    /// How many looks in a row have to find it before it is sent. An origin must fail in two, since one request may fail by chance.
    pub(super) const fn looks(self) -> u32 {
        match self {
            Self::OriginFailing => 2,
            _ => 1,
        }
    }

    /// How long it has to be gone before it is told again.
    pub(super) const fn quiet(self) -> Duration {
        match self {
            Self::OriginFailing | Self::Refused => Duration::from_secs(600),
            Self::Losses => Duration::from_secs(3_600),
            Self::IgnoresRules | Self::Impersonation | Self::Certificate | Self::Catalogue => {
                Duration::from_secs(86_400)
            }
        }
    }
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) kind: AlertKind,
    pub(super) site: Option<String>,
    pub(super) crawler: Option<String>,
    /// What else tells it from others of its kind.
    pub(super) subject: String,
    /// One sentence.
    pub(super) text: String,
    pub(super) details: Value,
}

impl Condition {
    /// What is the same as long as it is the same condition.
    pub(super) fn key(&self) -> String {
        let part = |part: &Option<String>| part.clone().unwrap_or_default();
        [self.kind.as_str(), &part(&self.site), &part(&self.crawler), &self.subject].join("\t")
    }
}
