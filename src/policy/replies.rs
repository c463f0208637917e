//! Refusals that were written before: a crawler that is refused a thousand times breaks the same few rules, and is told
//! the same each time.

use crate::decide::{Verdict, VersionId};
use crate::enforce::prefers_json;
use crate::http::Response;
use hashbrown::{Equivalent, HashMap};
use parking_lot::Mutex;
use std::hash::{Hash, Hasher};

/// How many are kept. With one more all are forgotten: names that clients make up have no end.
const KEPT: usize = 64;

/// The longest that is kept, in bytes. A rule may be as long as a file.
const LONGEST: usize = 1_024;

/// Replies of one site, as long as its robots.txt and its operator's choices stay as they are. A copy begins anew, since
/// it is made to change one of them.
#[derive(Debug, Default)]
pub struct Replies(Mutex<HashMap<ReplyKey<Box<str>>, Response>>);

/// What a reply of one site follows from: names that are borrowed, or kept to remember it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplyKey<T> {
    crawler: Option<T>,
    token: Option<T>,
    plain: AnonymousReply,
}

/// The same without the names. The rule follows from the version and the line, the group from those and the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AnonymousReply {
    version: Option<VersionId>,
    line: Option<u32>,
    is_borrowed: bool,
    is_json: bool,
    scheme: &'static str,
}

impl<'a> ReplyKey<&'a str> {
    /// When `crawler` is refused that came by `scheme` and sent `accept`.
    pub fn new(
        verdict: &'a Verdict<'_>,
        crawler: Option<&'a str>,
        scheme: &'static str,
        accept: Option<&[u8]>,
    ) -> Self {
        let ruling = verdict.ruling.as_ref();
        let line = ruling.and_then(|ruling| ruling.rule.as_ref()).map(|rule| rule.line);
        let (is_borrowed, is_json) = (verdict.allows(), prefers_json(accept));
        let plain = AnonymousReply { version: verdict.version, line, is_borrowed, is_json, scheme };
        Self { crawler, token: ruling.map(|ruling| ruling.token), plain }
    }
}

/// By the group and the rule: a crawler is refused by few, and what else tells replies apart is compared.
impl<T: AsRef<str>> Hash for ReplyKey<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.token.as_ref().map(T::as_ref), self.plain.line).hash(state);
    }
}

impl Equivalent<ReplyKey<Box<str>>> for ReplyKey<&str> {
    fn equivalent(&self, kept: &ReplyKey<Box<str>>) -> bool {
        self.plain == kept.plain
            && self.crawler == kept.crawler.as_deref()
            && self.token == kept.token.as_deref()
    }
}

impl ReplyKey<&str> {
    fn kept(&self) -> ReplyKey<Box<str>> {
        let Self { crawler, token, plain } = *self;
        ReplyKey { crawler: crawler.map(Into::into), token: token.map(Into::into), plain }
    }
}

impl Replies {
    /// The reply to an occasion: as it was written before, or as `write` writes it now.
    pub fn get_or_write(&self, occasion: ReplyKey<&str>, write: impl FnOnce() -> Response) -> Response {
        if let Some(reply) = self.0.lock().get(&occasion) {
            return reply.clone();
        }
        let reply = write();
        if reply.body.len() <= LONGEST {
            let mut known = self.0.lock();
            if known.len() >= KEPT {
                known.clear();
            }
            known.insert(occasion.kept(), reply.clone());
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
    use crate::decide::{Notice, Ruling, VerdictOutcome, VerdictReason};
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
