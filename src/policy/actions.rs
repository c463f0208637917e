//! What violations of named crawlers are answered with in place of a refusal: `action` of `[crawlers.NAME]` and
//! `[purposes.NAME]`.

use super::Upstreams;
use crate::config::{ActionConfig, Config, ConfigError, Origin, Timeouts, reading};
use crate::enforce::{Action, RefusalPolicy, SetByName};
use crate::http::Response;
use std::path::Path;
use std::sync::Arc;

/// The longest body that is answered with.
const LONGEST_BODY: u64 = 1024 * 1024;

/// What is answered in place of a refusal, ready to be sent.
#[derive(Clone, Debug)]
pub enum SetAction {
    /// Nothing else: a crawler is refused, whatever is set for its purpose.
    Refuse,
    /// This.
    Answer(Action, Response),
    /// What this server answers.
    Upstream(Upstreams),
}

impl PartialEq for SetAction {
    /// Servers are compared with the configuration.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Answer(one, answer), Self::Answer(two, other)) => (one, answer) == (two, other),
            _ => self.action() == other.action(),
        }
    }
}

impl SetAction {
    /// What it does with a request.
    pub const fn action(&self) -> Action {
        match self {
            Self::Refuse => Action::Refuse,
            Self::Answer(action, _) => *action,
            Self::Upstream(_) => Action::Divert,
        }
    }

    /// The servers that answer.
    pub const fn servers(&self) -> Option<&Upstreams> {
        match self {
            Self::Upstream(servers) => Some(servers),
            _ => None,
        }
    }

    fn of(
        config: &ActionConfig,
        timeouts: &Timeouts,
        former: Option<&SetByName<Arc<Self>>>,
    ) -> Result<Self, ConfigError> {
        let refusal = |status| RefusalPolicy { status, ..RefusalPolicy::default() };
        Ok(match config {
            ActionConfig::Refuse => Self::Refuse,
            ActionConfig::Redirect(url) => {
                let body = format!("302 this page is to be had under the terms at {}\n", url.0);
                let answer = refusal(302).answer("text/plain; charset=utf-8", body.into());
                // RFC 4946: the terms under which the page is to be had.
                let license = format!("<{}>; rel=\"license\"", url.0);
                Self::Answer(Action::Redirect, answer.with("location", &*url.0).with("link", license))
            }
            ActionConfig::Answer { status, body } => {
                let bytes = reading::contents(body, LONGEST_BODY, "answer")?;
                Self::Answer(Action::Answer, refusal(*status).answer(content_type(body), bytes.into()))
            }
            ActionConfig::Upstream(url) => {
                let origin = Origin::single(url.clone());
                let mut former =
                    former.into_iter().flat_map(SetByName::values).filter_map(|set| set.servers());
                let former = former.find(|servers| servers.are(&origin));
                Self::Upstream(Upstreams::new(&origin, timeouts, former)?)
            }
        })
    }
}

/// Reads what the configuration names.
///
/// # Errors
/// When a body cannot be read.
pub(super) fn load(
    config: &Config,
    former: Option<&SetByName<Arc<SetAction>>>,
) -> Result<SetByName<Arc<SetAction>>, ConfigError> {
    config
        .named(|set| set.action.as_ref())
        .try_map(|set| SetAction::of(set, &config.timeouts, former).map(Arc::new))
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
