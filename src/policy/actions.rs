//! What violations of named crawlers are answered with in place of a refusal: `action` of `[crawlers.NAME]` and
//! `[purposes.NAME]`.

use super::{Policy, Upstreams};
use crate::config::{ActionConfig, ConfigError, Origin, Timeouts, reading};
use crate::enforce::{Action, RefusalPolicy};
use crate::http::Response;
use std::path::Path;

/// The longest body that is answered with.
const LONGEST_BODY: u64 = 1024 * 1024;

/// What is done in place of a refusal.
#[derive(Clone, Debug)]
pub struct SetAction {
    /// What becomes of a request. A crawler may be refused, whatever is set for its purpose.
    pub action: Action,
    /// The answer, ready to be sent, where it is the operator's own.
    pub answer: Option<Response>,
    /// The servers that answer, where they are not the site's.
    pub servers: Option<Upstreams>,
}

impl PartialEq for SetAction {
    /// Servers are compared with the configuration.
    fn eq(&self, other: &Self) -> bool {
        (self.action, &self.answer) == (other.action, &other.answer)
    }
}

impl SetAction {
    /// Reads what the configuration names. Servers that the policy before knows stay what they are.
    ///
    /// # Errors
    /// When a body cannot be read.
    pub(super) fn load(
        config: &ActionConfig,
        timeouts: &Timeouts,
        previous: Option<&Policy>,
    ) -> Result<Self, ConfigError> {
        let refusal = |status| RefusalPolicy { status, ..RefusalPolicy::default() };
        let answered = |action, answer| Self { action, answer: Some(answer), servers: None };
        Ok(match config {
            ActionConfig::Refuse => Self { action: Action::Refuse, answer: None, servers: None },
            ActionConfig::Redirect(url) => {
                let body = format!("302 this page is to be had under the terms at {}\n", url.0);
                let answer = refusal(302).answer("text/plain; charset=utf-8", body.into());
                // RFC 4946: the terms under which the page is to be had.
                let license = format!("<{}>; rel=\"license\"", url.0);
                answered(Action::Redirect, answer.with("location", &*url.0).with("link", license))
            }
            ActionConfig::Answer { status, body } => {
                let bytes = reading::contents(body, LONGEST_BODY, "answer")?;
                answered(Action::Answer, refusal(*status).answer(content_type(body), bytes.into()))
            }
            ActionConfig::Upstream(url) => {
                let origin = Origin::single(url.clone());
                let former = previous.into_iter().flat_map(|policy| policy.actions.values());
                let former =
                    former.filter_map(|set| set.servers.as_ref()).find(|servers| servers.are(&origin));
                let servers = Some(Upstreams::new(&origin, timeouts, former)?);
                Self { action: Action::Divert, answer: None, servers }
            }
        })
    }
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        _ => "text/plain; charset=utf-8",
    }
}
