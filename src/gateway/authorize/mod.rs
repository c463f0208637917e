//! Answers for other proxies: one of them describes a request of its client, and is told whether that may pass.
//!
//! Each door has the form of question of some proxies, and reads a closed list of fields, so that nothing else that a
//! client sends can stand in. What was described is judged and recorded by the very functions that serve clients. A
//! question that is not as it should be is a fault of the proxy's configuration, and no reason to refuse a person: the
//! request passes. Who may not ask gets no answer at all, since proxies take a 403 for a refusal of their client.

mod question;

use super::facts;
use super::request::{Advised, DecidedFor};
use super::{ConnectionInfo, Decision, Gateway, Incoming, RequestContext};
use crate::decide::{Doubt, Notice, SiteRules, Verdict};
use crate::http::{RequestHead, Response};
use crate::record::{CompleteRead, DoorFault, ProxyDoor};
use crate::request::host;
pub use question::is_read as is_read_of_question;
use question::{AuthorizeQuestion, QuestionFault};
use std::borrow::Cow;
use std::fmt::Display;
use std::net::IpAddr;
use std::sync::Arc;

/// What a proxy is answered.
#[derive(Debug)]
pub struct Advice {
    /// The answer.
    pub answer: Response,
    /// The request that was described, where it was one that could be judged.
    pub head: Option<RequestHead>,
    /// A read of robots.txt, which counts once the answer has arrived.
    pub read: Option<Box<CompleteRead>>,
}

impl Advice {
    /// An answer about no request.
    const fn only(answer: Response) -> Self {
        Self { answer, head: None, read: None }
    }
}

impl Gateway {
    /// Answers the question of a proxy; `None` where it may not ask.
    pub fn advise(&self, asked: Incoming<'_>, context: &mut RequestContext<'_>) -> Option<Advice> {
        let policy = &context.policy;
        // The listener stays until a restart; without the table there is no secret that it could ask for.
        policy.config.authorize.as_ref()?;
        if asked.connection.trusted_peer(&policy.config).is_none() {
            self.tell_of_peer(asked.connection.peer);
            return None;
        }
        let question = AuthorizeQuestion::of(asked.head.target());
        if let AuthorizeQuestion::Health = question {
            return Some(Advice::only(Response::page(200, "ok")));
        }
        if let Some(secret) = &policy.secret {
            let mut given = asked.head.all("x-authorize-secret");
            let is_right = given.next().is_some_and(|given| secret.matches(given)) && given.next().is_none();
            if !is_right {
                self.tell_of_question(DoorFault::Secret, 0, &asked.connection.shown);
                return None;
            }
        }
        Some(match question {
            AuthorizeQuestion::RobotsTxt => self.give_robots_txt(asked, context),
            AuthorizeQuestion::About(door) => self.judge_for(asked, door, DecidedFor::Proxy, context),
            AuthorizeQuestion::Refusal => {
                self.judge_for(asked, ProxyDoor::Nginx, DecidedFor::RefusalPage, context)
            }
            // Proxies take a 404 for a refusal of their client.
            AuthorizeQuestion::None | AuthorizeQuestion::Health => {
                let target = asked.head.target().escape_ascii();
                self.tell_of_question(DoorFault::Path, 0, format_args!("{target}"));
                Advice::only(Response::page(503, "nothing is answered at this path"))
            }
        })
    }

    /// Answers a question that cannot be read, so that the proxy takes it for an error and not for a refusal of its client;
    /// `None` where it may not ask.
    pub fn advise_unread(&self, connection: &ConnectionInfo, why: &'static str) -> Option<Response> {
        let config = &self.current.get().config;
        if config.authorize.is_none() || connection.trusted_peer(config).is_none() {
            self.tell_of_peer(connection.peer);
            return None;
        }
        self.tell_of_question(DoorFault::Head, 0, why);
        Some(Response::page(503, why))
    }

    /// Says whether a request may pass.
    fn judge_for(
        &self,
        asked: Incoming<'_>,
        door: ProxyDoor,
        decided_for: DecidedFor,
        context: &mut RequestContext<'_>,
    ) -> Advice {
        if decided_for == DecidedFor::Proxy {
            self.totals.doors.asked.count(door);
        }
        let head = match question::described(door, asked.head, &|host| is_of_site(host, context)) {
            Ok(head) => head,
            Err(fault) => return Advice::only(self.unjudged_answer(door, decided_for, &fault)),
        };
        context.decided_for = decided_for;
        let decision = self.decide(Incoming { head: &head, connection: asked.connection }, context);
        let answer = match decision {
            Decision::Forward | Decision::RobotsTxt(..) if decided_for == DecidedFor::Proxy => {
                context.advice = Some(Advised::Passes);
                labelled(pass(door), context, None)
            }
            Decision::Answer(refusal) if door == ProxyDoor::Nginx && decided_for == DecidedFor::Proxy => {
                let status = refusal.status;
                context.advice = Some(Advised::Refused(status));
                labelled(Response::page(403, "refused by robots.txt"), context, Some(status))
            }
            Decision::Answer(refusal) => Arc::unwrap_or_clone(refusal),
            // Not by these rules, if it was: nginx shows here what else it forbids.
            Decision::Forward | Decision::RobotsTxt(..) => Response::page(403, "forbidden"),
        };
        // What is only said again is recorded already.
        Advice { answer, head: (decided_for == DecidedFor::Proxy).then_some(head), read: None }
    }

    /// The answer to a question that describes no request.
    fn unjudged_answer(&self, door: ProxyDoor, decided_for: DecidedFor, fault: &QuestionFault) -> Response {
        if decided_for == DecidedFor::Proxy {
            self.tell_of_fault(door, fault);
        }
        match fault.kind {
            DoorFault::Twice => Response::page(403, format_args!("the field {} came twice", fault.field)),
            _ if decided_for == DecidedFor::RefusalPage => Response::page(403, "forbidden"),
            _ => pass(door),
        }
    }

    /// Serves robots.txt to the client of a proxy. It is served in any case; but only of a client that is known a read
    /// is noted, and only then it is known that the proxy passes such requests on: anybody on this machine could ask here.
    fn give_robots_txt(&self, asked: Incoming<'_>, context: &mut RequestContext<'_>) -> Advice {
        self.totals.doors.asked.count(ProxyDoor::RobotsTxt);
        let (head, fault) = question::for_robots_txt(asked.head, &|host| is_of_site(host, context));
        let incoming = Incoming { head: &head, connection: asked.connection };
        let decision = self.decide(incoming, context);
        let is_unknown = context.site().is_some_and(|site| site.is_unknown);
        let (answer, read) = match decision {
            Decision::RobotsTxt(answer, read) => (answer, read),
            Decision::Answer(answer) if !is_unknown => (Arc::unwrap_or_clone(answer), None),
            // Nobody is judged by it, either.
            _ => {
                let answer = Response::page(503, "the site's robots.txt is not known yet");
                return Advice { answer: answer.with("retry-after", "60"), head: Some(head), read: None };
            }
        };
        match &fault {
            Some(fault) => self.tell_of_fault(ProxyDoor::RobotsTxt, fault),
            None => self.note_robots_txt(&head, context),
        }
        Advice { answer, head: Some(head), read: read.filter(|_| fault.is_none()) }
    }

    /// Notes that the proxy passes requests for robots.txt on.
    fn note_robots_txt(&self, head: &RequestHead, context: &RequestContext<'_>) {
        let policy = &context.policy;
        let slot = context.slot.and_then(|slot| policy.hosts.slots.get(slot));
        let slot = slot.filter(|_| matches!(head.method(), "GET" | "HEAD"));
        let (Some(slot), Some(host)) = (slot, facts::requested_host(head)) else { return };
        // As of the read that it may be: that one shows the file, and comes no earlier than it was seen to come.
        let now = policy.clock.at(context.began_uptime);
        self.reads.robots_seen.note(&host, *slot.pattern == *host, now);
        if &*slot.pattern == "*" {
            // Who names no host gets what the others get there.
            self.reads.robots_seen.note("", true, now);
        }
    }

    /// The rules as far as they can be held against clients while a fleet may know more than this gateway; and against
    /// those of a proxy that may serve another robots.txt: while requests
    /// for it do not come here, somebody else answers them, and what that was crawlers may hold for a while.
    pub(super) fn in_doubt(&self, host: &str, context: &RequestContext<'_>) -> Option<SiteRules> {
        let of_door = self.in_doubt_of_door(host, context);
        if self.standing.doubt().is_none() {
            return of_door;
        }
        let rules = of_door.or_else(|| Some(context.policy.found(context.slot)?.1.clone()))?;
        Some(rules.with_unknown(Doubt::Unheard, None))
    }

    fn in_doubt_of_door(&self, host: &str, context: &RequestContext<'_>) -> Option<SiteRules> {
        if context.decided_for == DecidedFor::Client {
            return None;
        }
        let (policy, now) = (&context.policy, context.policy.clock.now());
        let (_, rules) = policy.found(context.slot)?;
        let Some(span) = self.reads.robots_seen.of(host, now) else {
            return Some(SiteRules { is_unpublished: true, ..rules.clone() });
        };
        let is_held = policy.config.period().covers(span.since, now);
        is_held.then(|| rules.clone().with_unknown(Doubt::Elsewhere, Some(span.since)))
    }

    /// Counts a disallowed request that passes since the file is not published.
    pub(super) fn tell_of_unpublished(&self, verdict: &Verdict<'_>, host: &str) {
        if verdict.notice() == Some(Notice::Unpublished) {
            self.tell_of_question(DoorFault::Unpublished, 0, host);
        }
    }

    /// Counts somebody who may not ask.
    pub fn tell_of_peer(&self, peer: Option<IpAddr>) {
        let peer = peer.map(|peer| peer.to_string()).unwrap_or_default();
        self.tell_of_question(DoorFault::Peer, 0, &*peer);
    }

    /// Counts a fault of what a question describes.
    fn tell_of_fault(&self, door: ProxyDoor, fault: &QuestionFault) {
        self.tell_of_question(fault.kind, fault.place(door), format_args!("{} at {door}", fault.field));
    }

    /// Counts a fault of a question, and says what it is `about` and what is to be done; once for each `place` of a kind.
    fn tell_of_question(&self, fault: DoorFault, place: usize, about: impl Display) {
        if !self.totals.doors.fault(fault, place) {
            return;
        }
        let sentence = match fault {
            DoorFault::Peer => {
                "a peer that is not in `trusted_proxies` asks at the listener of [authorize], and gets no answer"
            }
            DoorFault::Secret => {
                "a proxy asks without the secret of `secret_file`, and gets no answer; it has to send it as \
                 X-Authorize-Secret"
            }
            DoorFault::Missing => {
                "a proxy asks without a field that describes the request, so what it asks about passes unjudged, and \
                 reads of robots.txt do not count; its configuration has to set the field"
            }
            DoorFault::Twice => {
                "a proxy asks with a field that comes twice, so the request is refused, and reads of robots.txt do not \
                 count: one of the two may be its client's; its configuration has to set the field, not add to it"
            }
            DoorFault::Path => {
                "a proxy asks at a path that is not answered, so what it asks about passes unjudged; its configuration \
                 has to ask at /forward, /nginx, /envoy/ or /robots.txt"
            }
            DoorFault::Head => {
                "a proxy asks in a way that cannot be read, and is answered 503: what it asks about passes unjudged"
            }
            DoorFault::Unpublished => {
                "no request for /robots.txt of this host has come through the proxy within 24 h, so no violations are \
                 counted and nothing is refused; have the proxy pass /robots.txt on to the listener of [authorize], and \
                 ask the proxy for that file once"
            }
        };
        tracing::warn!(%about, "{sentence}");
    }

    /// Tells of a host that is no site's, where a line is due for it.
    pub(super) fn tell_of_host(host: &str, is_news: bool) {
        if is_news {
            tracing::warn!(
                host,
                "proxies ask about a host that no site has, so its requests pass unjudged; add it to `hosts` of a site"
            );
        }
    }
}

/// Whether a site names this host, or a wildcard that it falls under.
fn is_of_site(host: &[u8], context: &RequestContext<'_>) -> bool {
    let hosts = &context.policy.hosts;
    let found = std::str::from_utf8(host).ok().and_then(|host| hosts.find(&host::normalise(host)));
    found.and_then(|slot| hosts.slots.get(slot)).is_some_and(|slot| &*slot.pattern != "*")
}

/// What lets a request pass.
fn pass(door: ProxyDoor) -> Response {
    let status = if door == ProxyDoor::Envoy { 200 } else { 204 };
    Response::new(status, bytes::Bytes::new()).with("Cache-Control", "no-store")
}

/// The same answer with the verdict in fields; `status` is that of the refusal.
fn labelled(answer: Response, context: &RequestContext<'_>, status: Option<u16>) -> Response {
    let Some(labels) = &context.labels else { return answer };
    let number = |number: Option<String>| number.filter(|_| status.is_some()).map(Cow::Owned);
    let fields = [
        ("x-robots-verdict", Some(Cow::Borrowed(labels.verdict))),
        ("x-robots-proof", Some(Cow::Borrowed(labels.proof))),
        ("x-robots-crawler", labels.crawler.as_deref().map(Cow::Borrowed)),
        ("x-robots-status", number(status.map(|status| status.to_string()))),
        ("x-robots-line", number(labels.line.map(|line| line.to_string()))),
        ("x-robots-retry-after", number(labels.retry_after.map(|seconds| seconds.to_string()))),
        ("x-robots-version", number(labels.version.map(|version| version.to_string()))),
    ];
    let told = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    told.fold(answer, |answer, (name, value)| answer.with(name, &*value))
}
