//! Refusals that were written before: a crawler that is refused a thousand times breaks the same few rules, and is told
//! the same each time.

use crate::decide::Verdict;
use crate::enforce::prefers_json;
use crate::http::Response;
use hashbrown::{DefaultHashBuilder, HashMap};
use parking_lot::Mutex;
use std::hash::BuildHasher as _;
use std::sync::LazyLock;

/// How many are kept. With one more all are forgotten: names that clients make up have no end.
const KEPT: usize = 64;

/// The longest that is kept, in bytes. A rule may be as long as a file.
const LONGEST: usize = 1_024;

/// Replies of one site, as long as its robots.txt and its operator's choices stay as they are. A copy begins anew, since
/// it is made to change one of them.
#[derive(Debug, Default)]
pub struct Replies(Mutex<HashMap<ReplyKey, Response>>);

/// What a reply of one site follows from: who is refused and is named how, the version, the line, the scheme and the form.
/// Of these a hash is kept, by a key that only this process knows: among so few replies no two have the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReplyKey(u64);

impl ReplyKey {
    /// When `crawler` is refused that came by `scheme` and sent `accept`.
    pub fn new(verdict: &Verdict<'_>, crawler: Option<&str>, scheme: &str, accept: Option<&[u8]>) -> Self {
        static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);
        // The rule follows from the version and the line, the group from those and the token.
        let ruling = verdict.ruling.as_ref();
        let line = ruling.and_then(|ruling| ruling.rule.as_ref()).map(|rule| rule.line);
        let rule = (verdict.version, line, ruling.map(|ruling| ruling.token));
        Self(HASHER.hash_one((rule, crawler, scheme, verdict.allows(), prefers_json(accept))))
    }
}

impl Replies {
    /// The reply to an occasion: as it was written before, or as `write` writes it now.
    pub fn get_or_write(&self, occasion: ReplyKey, write: impl FnOnce() -> Response) -> Response {
        if let Some(reply) = self.0.lock().get(&occasion) {
            return reply.clone();
        }
        let reply = write();
        if reply.body.len() <= LONGEST {
            let mut known = self.0.lock();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(occasion, reply.clone());
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
    use crate::decide::{Notice, Ruling, VerdictOutcome, VerdictReason, VersionId};
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
        let ruling = Ruling { group: vec!["*"], token: "*", rule: Some(rule) };
        Verdict { outcome, reason: VerdictReason::Rule, ruling: Some(ruling), version: None }
    }

    #[test]
    fn another_version_and_another_token_are_other_occasions() {
        let replies = Replies::default();
        let mut verdicts = [(); 3].map(|()| verdict(VerdictOutcome::Violation(Notice::Lapsed), 3));
        verdicts[1].version = Some(VersionId::of(b"Disallow: /"));
        verdicts[2].ruling.as_mut().unwrap().token = "a";
        for (number, verdict) in verdicts.iter().enumerate() {
            let occasion = ReplyKey::new(verdict, Some("a"), "http", None);
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
                    for (scheme, accept) in [("http", None), ("https", None), ("http", json)] {
                        let occasion = ReplyKey::new(verdict, crawler, scheme, accept);
                        let text = format!("{number} {crawler:?} {scheme} {accept:?}");
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
            replies.get_or_write(ReplyKey::new(&verdict, Some(&name), "http", None), || reply(""));
            assert!(replies.0.lock().len() <= KEPT);
        }
        let before = replies.0.lock().len();
        let long = || reply(vec![b' '; LONGEST + 1]);
        replies.get_or_write(ReplyKey::new(&verdict, Some("long"), "http", None), long);
        assert_eq!(replies.0.lock().len(), before);
    }
}
