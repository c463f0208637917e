//! An hour of made traffic, judged by the rules of the demonstration, so that its report has something to show.

use super::BROWSER;
use crate::decide::{NoticeTime, Read};
use crate::identify::Proof;
use crate::policy::{JudgedClient, JudgedRequest, Policy, Site};
use crate::record::{AddressDetail, CompleteRead, Event, EventKind, Occurrence, ReaderId, Recorder};
use crate::request::target::RequestTarget;
use crate::request::{RequestFacts, Scheme};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

/// How long each answer is.
const PAGE_BYTES: u64 = 18_200;

/// Who comes: the header, every how many seconds, whether it reads robots.txt first, and what it asks for in turn.
const CAST: [(&str, u64, bool, &[&str]); 6] = [
    (
        "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
        24,
        true,
        &["/news/", "/drafts/", "/", "/private/"],
    ),
    ("CCBot/2.0 (https://commoncrawl.org/faq/)", 40, true, &["/news/", "/"]),
    (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        30,
        true,
        &["/news/", "/", "/drafts/preview.html"],
    ),
    (
        "Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)",
        17,
        false,
        &["/drafts/", "/private/", "/news/"],
    ),
    ("curl/8.5.0", 300, false, &["/drafts/", "/"]),
    (BROWSER, 11, false, &["/", "/drafts/", "/news/"]),
];

/// Records the hour before `now`.
pub(super) fn record(policy: &Policy, recorder: &Recorder, now: SystemTime) {
    let Some(site) = policy.sites().first() else { return };
    for (number, (header, every, reads, targets)) in (1..).zip(CAST) {
        // Addresses for documentation (RFC 5737).
        let client =
            MadeClient { policy, site, recorder, header, address: Ipv4Addr::new(192, 0, 2, number).into() };
        let mut read = None;
        for (turn, target) in (0..HOUR.as_secs() / every).zip(targets.iter().cycle()) {
            let at = now - HOUR + Duration::from_secs(turn * every);
            if reads && read.is_none() {
                read = client.read(at);
            }
            client.ask(target, read, at);
        }
    }
}

/// One of them.
struct MadeClient<'a> {
    policy: &'a Policy,
    site: &'a Site,
    recorder: &'a Recorder,
    header: &'static str,
    address: IpAddr,
}

impl MadeClient<'_> {
    fn judged(&self, facts: &RequestFacts<'_>, read: Option<Read>) -> JudgedRequest<'_> {
        let target = RequestTarget::new(&facts.target, self.site.config.path_parameters);
        let recognised = self.site.recognise(self.policy, facts.user_agent.as_deref());
        let (policy, site, now) = (self.policy, self.site, NoticeTime::default());
        JudgedClient { policy, site, rules: &site.rules, facts, target: &target, recognised, now }
            .judge(|_| Proof::Unchecked.into(), |_, _| read.into_iter().collect())
    }

    fn facts(&self, target: &'static str) -> RequestFacts<'static> {
        RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed("localhost"),
            target: Cow::Borrowed(target.as_bytes()),
            user_agent: Some(Cow::Borrowed(self.header.as_bytes())),
            address: Some(self.address),
        }
    }

    /// It reads the version in force.
    fn read(&self, at: SystemTime) -> Option<Read> {
        let current = self.site.rules.current();
        let read = Read { rules: current.rules, as_of: NoticeTime(Duration::MAX), at: NoticeTime::default() };
        let judged = self.judged(&self.facts("/robots.txt"), None);
        let reader = ReaderId::new("localhost", &judged.identity, judged.proof, Some(self.address));
        self.recorder.read(&CompleteRead {
            site: &self.site.config.name,
            identity: &judged.identity,
            reader: &reader,
            version: current.id?,
            chosen: current.chosen_for(&judged.identity),
            in_force: at,
            time: at,
            read,
            addresses: AddressDetail::Full,
        });
        Some(read)
    }

    fn ask(&self, target: &'static str, read: Option<Read>, now: SystemTime) {
        let facts = self.facts(target);
        let judged = self.judged(&facts, read);
        if !judged.identity.client.is_judged() {
            return;
        }
        let occurrence = Occurrence { request_id: "made", ..judged.occurrence(&facts, self.site, now) };
        let kind = EventKind::of(&judged.verdict, judged.proof);
        if let Some(wanted) = self.recorder.count(&occurrence, kind) {
            self.recorder.keep(wanted, Event::new(&occurrence).line(None));
        }
        self.recorder.sent(&self.site.config.name, &judged.identity, judged.proof, now, PAGE_BYTES);
    }
}
