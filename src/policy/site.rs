//! One site, ready to serve and to judge, and the replies that it has given.

use super::Policy;
use super::modes::Modes;
use super::robots_file::RobotsFile;
use super::upstream::Upstreams;
use crate::config::SiteConfig;
use crate::decide::{RobotsVersion, SiteRules, Verdict, VersionId};
use crate::enforce::prefers_json;
use crate::http::Response;
use crate::identify::Recognised;
use crate::request::Scheme;
use crate::robots::{Finding, LineSource, ParseLimits, Robots, Severity, generated_from};
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::Mutex;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

/// A site with its compiled rules.
#[derive(Clone, Debug)]
pub struct Site {
    /// What the operator chose for it.
    pub config: SiteConfig,
    /// Its modes.
    pub modes: Modes,
    /// The version in force. What visitors of each host could hold beside it the policy's hosts know.
    pub rules: SiteRules,
    /// The file it serves as `/robots.txt`; `None` answers 404.
    pub robots: Option<Arc<RobotsFile>>,
    /// When the version in force came into force.
    pub since: SystemTime,
    /// The servers of its origin.
    pub origin: Upstreams,
    /// What is odd in its robots.txt.
    pub findings: Arc<[Finding]>,
    /// What was told to those who were refused.
    pub replies: Replies,
    /// Whether nothing is known of what its origin has yet: then nobody is judged, and `/robots.txt` is the origin's.
    pub is_unknown: bool,
    /// Why its robots.txt on disk is not the one in force.
    pub error: Option<String>,
}

impl Site {
    /// The same site serving a file under the catalogue and the bounds of a policy, or none: then nothing is disallowed.
    pub(super) fn serving(&self, file: Option<Arc<RobotsFile>>, policy: &Policy) -> Self {
        let (catalogue, max_bytes) = (policy.identifier.catalogue(), *policy.config.robots_max_size);
        let limits = ParseLimits { max_bytes };
        let (version, findings) = match &file {
            None => (RobotsVersion::allowing_everything(), Vec::new()),
            Some(file) => {
                let mut parsed = Robots::parse_composed(&file.bytes, generated_from(&file.sections), &limits);
                parsed.compare_names(catalogue.names(), catalogue.control_names());
                (Arc::new(RobotsVersion::new(Some(file.id), Arc::new(parsed.robots))), parsed.findings)
            }
        };
        let rules = SiteRules::new(version);
        Self { rules, robots: file, findings: findings.into(), ..self.clone() }
    }

    /// The version in force, where the site has a file.
    pub fn version(&self) -> Option<VersionId> {
        self.rules.current().id
    }

    /// Who sends this header. Equal headers give equal answers, as long as policy and site are the same.
    pub fn recognise(&self, policy: &Policy, user_agent: Option<&[u8]>) -> Recognised {
        let at_first = policy.identifier.recognise(user_agent);
        let identity = self.rules.current().tokens.applied(&at_first, user_agent);
        Recognised { at_first, identity }
    }

    /// The same site judging by `bytes` as if they had been in force for ever: what the tools ask "what
    /// if" with.
    pub fn judging_by(&self, bytes: &[u8], limits: &ParseLimits) -> Self {
        let robots = Robots::parse(bytes, limits).robots;
        let version = RobotsVersion::new(Some(VersionId::of(bytes)), Arc::new(robots));
        Self { rules: SiteRules::new(Arc::new(version)), is_unknown: false, ..self.clone() }
    }

    /// Findings that an operator should act on.
    pub fn warnings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity >= Severity::Warning)
    }

    /// The part of its robots.txt that a finding stands in, and its line there: none in what nobody wrote.
    pub fn place_of(&self, finding: &Finding) -> (&Path, Option<u32>) {
        let robots = &self.config.robots;
        let own = robots.file.as_deref().unwrap_or_else(|| Path::new("robots.txt of the origin"));
        match self.robots.as_ref().map(|file| file.place(finding.line)) {
            None => (own, Some(finding.line)),
            Some((LineSource::Own, line)) => (own, Some(line)),
            Some((LineSource::Additions, line)) => (robots.additions.as_deref().unwrap_or(own), Some(line)),
            Some((LineSource::Joint | LineSource::Block(_), _)) => (own, None),
        }
    }

    /// The URL at which the rules can be read. It is made of the configured host, never of what a client
    /// sent; where no single host is configured it is relative.
    pub fn robots_url(&self, scheme: &str) -> String {
        self.config
            .exact_host()
            .map_or_else(|| "/robots.txt".to_owned(), |host| [scheme, "://", host, "/robots.txt"].concat())
    }
}

/// How many are kept. With one more all are forgotten: names that clients make up have no end.
const KEPT: usize = 64;

/// The longest that is kept, in bytes. A rule may be as long as a file.
const LONGEST: usize = 1_024;

/// Refusals that were written before: a crawler that is refused a thousand times breaks the same few rules, and is told
/// the same each time. Those of one site, as long as its robots.txt and its operator's choices stay as they are. A copy begins anew, since
/// it is made to change one of them.
#[derive(Debug, Default)]
pub struct Replies(Mutex<HashMap<ReplyKey, Arc<Response>>>);

/// What a reply of one site follows from: who is refused and is named how, the version, the line, the scheme and the form.
/// Of these a hash is kept, by a key that only this process knows: among so few replies no two have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyKey(u64);

impl ReplyKey {
    /// When `crawler` is refused that came by `scheme` and sent `accept`.
    pub fn new(verdict: &Verdict<'_>, crawler: Option<&str>, scheme: Scheme, accept: Option<&[u8]>) -> Self {
        static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
        // The rule follows from the version and the line, and the names of the group from its place there.
        let ruling = verdict.ruling.as_ref();
        let line = ruling.and_then(|ruling| ruling.rule.as_ref()).map(|rule| rule.line);
        let rule = (verdict.version, line, ruling.map(|ruling| ruling.group));
        Self(HASHER.hash_one((rule, crawler, scheme, verdict.allows(), prefers_json(accept))))
    }
}

impl Replies {
    /// The reply to an occasion: as it was written before, or as `write` writes it now.
    pub fn get_or_write(&self, occasion: ReplyKey, write: impl FnOnce() -> Response) -> Arc<Response> {
        if let Some(reply) = self.0.lock().get(&occasion) {
            return Arc::clone(reply);
        }
        let reply = Arc::new(write());
        if reply.body.len() <= LONGEST {
            let mut known = self.0.lock();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(occasion, Arc::clone(&reply));
        }
        reply
    }
}

impl Clone for Replies {
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::{Notice, Ruling, RulingGroup, VerdictOutcome, VerdictReason};
    use crate::robots::{Rule, RuleKind};
    use std::cell::Cell;

    fn verdict(outcome: VerdictOutcome, line: u32) -> Verdict<'static> {
        let rule = Rule {
            kind: RuleKind::Disallow,
            line,
            text: b"Disallow: /",
            marked: b"Disallow: /",
            pattern: b"/",
            bytes: 1,
        };
        let ruling = Ruling { group: RulingGroup::Name("*"), rule: Some(rule) };
        Verdict { outcome, reason: VerdictReason::Rule, ruling: Some(ruling), version: None }
    }

    #[test]
    fn another_version_and_another_group_are_other_occasions() {
        let replies = Replies::default();
        let mut verdicts = [(); 3].map(|()| verdict(VerdictOutcome::Violation(Notice::Lapsed), 3));
        verdicts[1].version = Some(VersionId::of(b"Disallow: /"));
        verdicts[2].ruling.as_mut().unwrap().group = RulingGroup::Name("a");
        for (number, verdict) in verdicts.iter().enumerate() {
            let occasion = ReplyKey::new(verdict, Some("a"), Scheme::Http, None);
            let told = replies.get_or_write(occasion, || reply(number.to_string()));
            assert_eq!(told.body, number.to_string());
        }
    }

    fn reply(body: impl Into<bytes::Bytes>) -> Response {
        Response::new(403, body)
    }

    #[test]
    fn each_occasion_is_written_once_and_has_its_own_reply() {
        let replies = Replies::default();
        let writes = Cell::new(0);
        let (breach, json) = (VerdictOutcome::Violation(Notice::Lapsed), Some(&b"application/json"[..]));
        let verdicts = [verdict(breach, 3), verdict(breach, 4), verdict(VerdictOutcome::Allow, 3)];
        for round in 0..2 {
            for (number, verdict) in verdicts.iter().enumerate() {
                for crawler in [None, Some(""), Some("a"), Some("b")] {
                    for (scheme, accept) in
                        [(Scheme::Http, None), (Scheme::Https, None), (Scheme::Http, json)]
                    {
                        let occasion = ReplyKey::new(verdict, crawler, scheme, accept);
                        let text = format!("{number} {crawler:?} {scheme:?} {accept:?}");
                        let told = replies.get_or_write(occasion, || {
                            writes.set(writes.get() + 1);
                            reply(text.clone())
                        });
                        assert_eq!(told.body, text, "round {round}");
                    }
                }
            }
        }
        assert_eq!(writes.get(), 3 * 4 * 3);
        assert!(replies.clone().0.lock().is_empty(), "a copy begins anew");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let replies = Replies::default();
        let verdict = verdict(VerdictOutcome::Stale(Notice::Pending), 1);
        for number in 0..2 * KEPT {
            let name = number.to_string();
            replies.get_or_write(ReplyKey::new(&verdict, Some(&name), Scheme::Http, None), || reply(""));
            assert!(replies.0.lock().len() <= KEPT);
        }
        let before = replies.0.lock().len();
        let long = || reply(vec![b' '; LONGEST + 1]);
        replies.get_or_write(ReplyKey::new(&verdict, Some("long"), Scheme::Http, None), long);
        assert_eq!(replies.0.lock().len(), before);
    }
}
