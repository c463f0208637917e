//! Who is not judged, as long as that holds: `exempt`, and `except` of crawlers and purposes.
//!
//! An exception that ends does so with the next policy, which is made then: no request looks at a clock for it.

use super::Policy;
use crate::config::{Config, Exception};
use crate::enforce::SetByName;
use crate::identify::{Identity, Proof};
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use std::collections::HashSet;
use std::net::IpAddr;
use std::time::SystemTime;

/// The exceptions that hold.
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
