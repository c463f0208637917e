//! An hour of made traffic, judged by the rules of the demonstration, so that its report has something to show.

use super::{BROWSER, CRAWLER};
use crate::decide::{NoticeTime, Read};
use crate::identify::Proof;
use crate::policy::{JudgedClient, Policy};
use crate::record::{AddressDetail, CompleteRead, Event, EventKind, Occurrence, ReaderId, Recorder};
use crate::request::target::RequestTarget;
use crate::request::{RequestFacts, Scheme};
use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

/// How long each answer is.
const PAGE_BYTES: u64 = 18_200;

const GOOGLEBOT: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
const BYTESPIDER: &str = "Mozilla/5.0 (compatible; Bytespider; spider-feedback@bytedance.com)";

/// Who comes: the header, every how many seconds, whether it reads robots.txt first, and what it asks for in turn.
const CAST: [(&str, u64, bool, &[&str]); 6] = [
    (CRAWLER, 24, true, &["/news/", "/drafts/", "/", "/private/"]),
    ("CCBot/2.0 (https://commoncrawl.org/faq/)", 40, true, &["/news/", "/"]),
    (GOOGLEBOT, 30, true, &["/news/", "/", "/drafts/preview.html"]),
    (BYTESPIDER, 17, false, &["/drafts/", "/private/", "/news/"]),
    ("curl/8.5.0", 300, false, &["/drafts/", "/"]),
    (BROWSER, 11, false, &["/", "/drafts/", "/news/"]),
];

/// Records it, as the hour that ends now.
pub fn record_made_hour(policy: &Policy, recorder: &Recorder) {
    let Some(site) = policy.sites().first() else { return };
    let (name, current, begin) = (&site.config.name, site.rules.current(), SystemTime::now() - HOUR);
    for (number, (header, every, reads, targets)) in (1..).zip(CAST) {
        // Addresses for documentation (RFC 5737).
        let address = IpAddr::V4(Ipv4Addr::new(192, 0, 2, number));
        let first = ["/robots.txt"].iter().filter(|_| reads);
        let mut read = None;
        for (turn, target) in (0..HOUR.as_secs() / every).zip(first.chain(targets.iter().cycle())) {
            let time = begin + Duration::from_secs(turn * every);
            let facts = RequestFacts {
                scheme: Scheme::Http,
                method: "GET",
                host: Cow::Borrowed("localhost"),
                target: Cow::Borrowed(target.as_bytes()),
                user_agent: Some(Cow::Borrowed(header.as_bytes())),
                address: Some(address),
            };
            let target = RequestTarget::new(&facts.target, site.config.path_parameters);
            let (proof, known) = (|_: &_| Proof::Unchecked.into(), |_: &_, _| read.into_iter().collect());
            let at = NoticeTime::default();
            let judged = JudgedClient {
                policy,
                site,
                rules: &site.rules,
                facts: &facts,
                target: &target,
                signature: None,
                recognised: site.recognise(policy, facts.user_agent.as_deref()),
                now: at,
            };
            let judged = judged.judge(proof, known);
            if !judged.identity.client.is_judged() {
                continue;
            }
            if let Some(version) = current.id.filter(|_| target.is_robots_txt()) {
                let taken = Read { rules: current.rules, as_of: NoticeTime(Duration::MAX), at };
                recorder.read(&CompleteRead {
                    site: name.as_str().into(),
                    identity: Arc::clone(&judged.identity),
                    reader: ReaderId::new("localhost", &judged.identity, judged.proof, Some(address))
                        .into_owned(),
                    version,
                    chosen: current.chosen_for(&judged.identity).into(),
                    in_force: time,
                    time,
                    read: taken,
                    addresses: AddressDetail::Full,
                });
                read = Some(taken);
                continue;
            }
            let occurrence =
                Occurrence { request_id: "made", bytes: PAGE_BYTES, ..judged.occurrence(&facts, site, time) };
            if let Some(wanted) = recorder.count(&occurrence, EventKind::of(&judged.verdict, judged.proof)) {
                recorder.keep(wanted, Event::new(&occurrence).line(None));
            }
        }
    }
}
