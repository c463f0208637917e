//! What is set for clients beside modes: what violations of named crawlers are answered with in place of a refusal (`action`
//! of `[crawlers.NAME]` and `[purposes.NAME]`), and who is not judged (`exempt`, and `except` of crawlers and purposes).

use super::{Policy, Upstreams};
use crate::config::{ActionConfig, Config, ConfigError, Exception, Origin, Timeouts, reading};
use crate::enforce::{Action, RefusalPolicy, SetByName};
use crate::http::Response;
use crate::identify::{Identity, Proof};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use std::collections::HashSet;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The longest body that is answered with.
const LONGEST_BODY: u64 = 1024 * 1024;

/// What is done in place of a refusal.
#[derive(Clone, Debug)]
pub struct SetAction {
    /// What becomes of a request. A crawler may be refused, whatever is set for its purpose.
    pub action: Action,
    /// The answer, ready to be sent, where it is the operator's own.
    pub answer: Option<Arc<Response>>,
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
        let answered = |action, answer: Response| Self { action, answer: Some(answer.into()), servers: None };
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

/// The exceptions that hold. One that ends does so with the next policy, which is made then: no request looks at a clock for
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exceptions {
    everybody: Prefixes,
    /// From where crawlers are not judged; `None` for everywhere.
    named: SetByName<HashSet<Option<Network>>>,
}

impl Exceptions {
    pub(super) fn new(config: &Config, now: SystemTime) -> Self {
        let held = |all: &[Exception]| -> HashSet<Option<Network>> {
            all.iter().filter(|one| one.holds(now)).map(|one| one.address).collect()
        };
        Self {
            everybody: held(&config.exempt).into_iter().flatten().collect(),
            named: config.named(|set| Some(held(&set.except)).filter(|held| !held.is_empty())),
        }
    }

    /// Whether nobody at this address is judged.
    pub fn contain(&self, address: Option<IpAddr>) -> bool {
        address.is_some_and(|address| self.everybody.contains(address))
    }

    /// Whether `identity` is not judged there. Who only borrows its name is.
    pub fn name(&self, identity: &Identity, proof: Proof, address: Option<IpAddr>) -> bool {
        let is_there = |network: Network| address.is_some_and(|address| network.contains(address));
        let held = self.named.of(identity).filter(|_| proof != Proof::Contradicted);
        held.is_some_and(|held| held.iter().any(|network| network.is_none_or(is_there)))
    }
}

impl Policy {
    /// Whether an exception has ended since this policy was made.
    pub(super) fn is_outlived(&self, now: SystemTime) -> bool {
        self.exceptions != Exceptions::new(&self.config, now)
    }

    /// What is to be known of exceptions that have ended or end soon.
    pub fn ending_exceptions(&self, now: SystemTime) -> impl Iterator<Item = String> + '_ {
        self.config.exceptions().filter_map(move |(key, one)| one.trouble(&key, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;
    use crate::policy::check;
    use std::time::Duration;

    #[test]
    fn an_end_that_changes_nothing_makes_no_policy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gateway.toml");
        let policy = |except: &str, now| {
            let text = format!(
                "[crawlers.CCBot]\nexcept = [{except}]\n[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = {{ from = \"none\" }}\n"
            );
            std::fs::write(&file, text).unwrap();
            let arguments = Arguments { config: Some(file.clone()), ..Arguments::default() };
            check(Config::load(&arguments).unwrap(), now).unwrap()
        };
        let ending = "{ reason = \"old\", until = 2026-01-31 }";
        let before = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let after = before + Duration::from_secs(40 * 86_400);
        assert!(policy(ending, before).is_outlived(after));
        assert!(!policy(&format!("{{ reason = \"new\" }}, {ending}"), before).is_outlived(after));
    }
}
