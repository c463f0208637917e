//! The proxy without its judgement, for measurements: what is left is what forwarding costs.
//!
//! It routes, forwards and answers through the same code as the gateway. Nothing is recognised, judged or recorded;
//! one word in the `User-Agent` is refused with an answer that was made beforehand. No daemon runs it.

use super::Gateway;
use super::answer::Answer;
use super::asked::Asked;
use super::context::RequestContext;
use super::facts::{self, Head};
use super::judging::Step;
use crate::enforce::Reply;
use pingora::proxy::Session;
use std::sync::Arc;

/// Who is refused, and with what.
#[derive(Clone, Debug)]
pub(super) struct Bare {
    word: Arc<str>,
    refusal: Answer,
}

impl Gateway {
    /// The same gateway, judging nobody: clients whose `User-Agent` holds `word` are answered with `refusal`, and
    /// all others are forwarded.
    #[must_use]
    pub fn bare(mut self, word: &str, refusal: Reply) -> Self {
        self.bare = Some(Bare { word: word.into(), refusal: refusal.into() });
        self
    }

    /// What becomes of a request where nobody is judged.
    pub(super) fn pass(&self, bare: &Bare, session: &Session, context: &mut RequestContext) -> Step {
        let policy = Arc::clone(&context.policy);
        let facts = match facts::read(Asked::of(session), &policy.config) {
            Head::Request(facts) | Head::Server(facts) => facts,
            Head::Malformed(fault) => {
                return Step::answer(Answer::page(fault.status(), fault.sentence()));
            }
        };
        let holds = |header: &[u8]| memchr::memmem::find(header, bare.word.as_bytes()).is_some();
        if facts.user_agent.as_deref().is_some_and(holds) {
            return Step::answer(bare.refusal.clone());
        }
        self.routed(&facts, context, Step::Forward)
    }
}
