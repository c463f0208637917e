//! Stores as a season of crawlers leaves them, filled through the real writer.

use robots_gateway::decide::{
    Notice, NoticeTime, Read, RobotsVersion, Ruling, RulingGroup, Verdict, VerdictOutcome, VerdictReason,
    VersionId,
};
use robots_gateway::enforce::{Action, Mode};
use robots_gateway::identify::{Basis, ClientKind, Identity, Proof, Purpose};
use robots_gateway::record::{
    AddressDetail, CompleteRead, Event, EventKind, Occurrence, ReaderId, Recorder, STORE_FILE, StoreOptions,
};
use robots_gateway::request::{RequestFacts, Scheme};
use robots_gateway::robots::{Rule, RuleKind};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(crate) const ROBOTS: &[u8] = b"User-agent: *\nDisallow: /drafts/\nDisallow: /search?\nCrawl-delay: 10\n\nUser-agent: GPTBot\nDisallow: /\n";

/// How long each answer is.
pub(crate) const PAGE_BYTES: u64 = 12_345;

/// A store in the making.
pub(crate) struct Season {
    recorder: Recorder,
    now: SystemTime,
    site: &'static str,
}

/// Who comes.
#[derive(Clone, Copy)]
pub(crate) struct CountedVisitor<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) client: ClientKind,
    pub(crate) purpose: Option<Purpose>,
    pub(crate) proof: Proof,
}

impl<'a> CountedVisitor<'a> {
    pub(crate) fn crawler(name: &'a str, purpose: Purpose, proof: Proof) -> Self {
        Self { name: Some(name), client: ClientKind::Crawler, purpose: Some(purpose), proof }
    }

    fn identity(self) -> Identity {
        Identity {
            client: self.client,
            crawler: self.name.map(Into::into),
            purpose: self.purpose,
            tokens: Arc::new([]),
            star: true,
            basis: Basis::Catalogue,
        }
    }
}

/// What comes of a request, and by which rule.
pub(crate) const ALLOWED: (VerdictOutcome, Action, &[u8]) = (VerdictOutcome::Allow, Action::Forward, b"");
pub(crate) const IGNORED: (VerdictOutcome, Action, &[u8]) =
    (VerdictOutcome::Violation(Notice::Read), Action::Refuse, b"Disallow: /drafts/");
pub(crate) const LAPSED: (VerdictOutcome, Action, &[u8]) =
    (VerdictOutcome::Violation(Notice::Lapsed), Action::Forward, b"Disallow: /search?");
pub(crate) const STALE: (VerdictOutcome, Action, &[u8]) =
    (VerdictOutcome::Stale(Notice::Pending), Action::Forward, b"Disallow: /drafts/");

impl Season {
    /// Begins a store in `folder`.
    pub(crate) fn begin(folder: &Path) -> Self {
        let path = folder.join(STORE_FILE);
        let options = StoreOptions {
            path,
            retention: Duration::from_secs(90 * 86_400),
            max_bytes: 1 << 30,
            is_shared: false,
        };
        let recorder = Recorder::start(&options).expect("a writer");
        let now = SystemTime::now();
        recorder.in_force("example.org", Some(ROBOTS), now - Duration::from_secs(80 * 86_400));
        Self { recorder, now, site: "example.org" }
    }

    /// What follows is another site's.
    pub(crate) fn at(&mut self, site: &'static str) {
        self.site = site;
    }

    /// `count` requests for `target`, so many minutes ago.
    pub(crate) fn comes(
        &self,
        who: CountedVisitor<'_>,
        target: &[u8],
        ended: (VerdictOutcome, Action, &[u8]),
        minutes: u64,
        count: u64,
    ) {
        let (outcome, action, text) = ended;
        let identity = who.identity();
        let rule = Rule { kind: RuleKind::Disallow, line: 2, text, marked: text, pattern: b"/", bytes: 1 };
        let ruling = (!text.is_empty()).then_some(Ruling { group: RulingGroup::Name("*"), rule: Some(rule) });
        let version = Some(VersionId::of(ROBOTS));
        let verdict = Verdict { outcome, reason: VerdictReason::Rule, ruling, version };
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: Cow::Borrowed(self.site),
            target: Cow::Borrowed(target),
            user_agent: Some(Cow::Borrowed(b"")),
            address: "198.51.100.7".parse().ok(),
        };
        let kind = EventKind::of(&verdict, who.proof);
        for number in 0..count {
            let now = self.now - Duration::from_secs(minutes * 60 + number % 60);
            let occurrence = Occurrence {
                facts: &facts,
                identity: &identity,
                proof: who.proof,
                proof_by: None,
                verdict: &verdict,
                mode: Mode::Enforce,
                action,
                site: self.site,
                now,
                request_id: "1",
                addresses: AddressDetail::Full,
                gateway: None,
                bytes: PAGE_BYTES,
            };
            if let Some(wanted) = self.recorder.count(&occurrence, kind) {
                self.recorder.keep(wanted, Event::new(&occurrence).line(None));
            }
        }
    }

    /// A read of the robots.txt in force, so many minutes ago.
    pub(crate) fn reads(&self, who: CountedVisitor<'_>, minutes: u64) {
        let identity = who.identity();
        let reader = ReaderId::new(self.site, &identity, who.proof, "198.51.100.7".parse().ok());
        self.recorder.read(&CompleteRead {
            chosen: "*".into(),
            site: self.site.into(),
            identity: Arc::new(identity.clone()),
            reader: reader.clone().into_owned(),
            version: VersionId::of(ROBOTS),
            in_force: self.now - Duration::from_secs(80 * 86_400),
            time: self.now - Duration::from_secs(minutes * 60),
            read: Read {
                rules: RobotsVersion::allowing_everything().rules,
                as_of: NoticeTime::default(),
                at: NoticeTime::default(),
            },
            addresses: AddressDetail::Full,
        });
    }

    /// Writes what is waiting.
    pub(crate) fn write(&self) {
        self.recorder.flush();
    }

    pub(crate) fn end(self) {
        self.recorder.close();
    }
}

/// A day of a site that crawlers like.
pub(crate) fn ordinary(folder: &Path) {
    let season = Season::begin(folder);
    let gptbot = CountedVisitor::crawler("GPTBot", Purpose::AiTrain, Proof::Confirmed);
    let bytespider = CountedVisitor::crawler("Bytespider", Purpose::AiTrain, Proof::Unchecked);
    let googlebot = CountedVisitor::crawler("Googlebot", Purpose::Search, Proof::Confirmed);
    let borrowed = CountedVisitor::crawler("Googlebot", Purpose::Search, Proof::Contradicted);
    let bingbot = CountedVisitor::crawler("bingbot", Purpose::Search, Proof::Confirmed);
    let ahrefs = CountedVisitor::crawler("AhrefsBot", Purpose::Seo, Proof::Confirmed);
    let semrush = CountedVisitor::crawler("SemrushBot", Purpose::Seo, Proof::Unchecked);
    let perplexity = CountedVisitor::crawler("PerplexityBot", Purpose::AiSearch, Proof::Unchecked);
    let tool = CountedVisitor {
        name: Some("curl"),
        client: ClientKind::Tool,
        purpose: Some(Purpose::Tool),
        proof: Proof::Unchecked,
    };
    let fetcher = CountedVisitor {
        name: Some("ChatGPT-User"),
        client: ClientKind::Fetcher,
        purpose: Some(Purpose::AiUser),
        proof: Proof::Confirmed,
    };
    let unnamed =
        CountedVisitor { name: None, client: ClientKind::Unnamed, purpose: None, proof: Proof::Unchecked };
    for who in [gptbot, googlebot, bingbot, ahrefs] {
        season.reads(who, 1_300);
        season.reads(who, 200);
    }
    for hour in 0..24 {
        let minutes = hour * 60 + 5;
        season.comes(googlebot, b"/article/1", ALLOWED, minutes, 60 + hour * 3);
        season.comes(bingbot, b"/article/2?page=3", ALLOWED, minutes, 25);
        season.comes(ahrefs, b"/article/3", ALLOWED, minutes, 12);
        season.comes(gptbot, format!("/drafts/{}", hour % 3).as_bytes(), IGNORED, minutes, (hour * 7) % 53);
        season.comes(bytespider, b"/search?q=pasta", LAPSED, minutes + 20, (hour * 5) % 31);
        season.comes(bytespider, b"/drafts/1", LAPSED, minutes + 20, (hour * 3) % 11);
        season.comes(semrush, b"/drafts/2", STALE, minutes, 2);
        season.comes(perplexity, b"/search?q=soup", LAPSED, minutes + 40, hour % 4);
        season.comes(tool, b"/drafts/0", LAPSED, minutes, 2);
        season.comes(fetcher, b"/article/1", ALLOWED, minutes, 6);
        season.write();
    }
    season.comes(borrowed, b"/article/1", ALLOWED, 400, 84);
    season.comes(borrowed, b"/drafts/1", IGNORED, 400, 21);
    season.comes(unnamed, b"/", ALLOWED, 100, 9);
    season.end();
}

/// Three hundred crawlers at two sites.
pub(crate) fn crowded(folder: &Path) {
    let mut season = Season::begin(folder);
    let purposes = [Purpose::Search, Purpose::Seo, Purpose::AiTrain, Purpose::Scraper, Purpose::Research];
    let proofs = [Proof::Unchecked, Proof::Confirmed];
    for number in 0..300_u64 {
        if number % 10 == 0 {
            season.at(["example.org", "shop.example"][usize::from(number % 20 == 0)]);
        }
        let name = format!("Crowd{number:03}Bot");
        let index = usize::try_from(number).expect("a small number");
        let who = CountedVisitor::crawler(&name, purposes[index % 5], proofs[index % 2]);
        season.comes(
            who,
            format!("/article/{}", number % 40).as_bytes(),
            ALLOWED,
            number % 1_400,
            1 + number % 7,
        );
        if number % 3 == 0 {
            season.reads(who, 1_410);
            season.comes(
                who,
                format!("/drafts/{}", number % 25).as_bytes(),
                IGNORED,
                (number * 13) % 1_400,
                1 + (number * number) % 97,
            );
        }
        if number % 7 == 0 {
            season.comes(who, b"/search?q=a", LAPSED, (number * 29) % 1_400, 1 + number % 5);
        }
        if number % 20 == 19 {
            season.write();
        }
    }
    season.end();
}

/// What a client sends to do harm to whoever reads the report.
pub(crate) const HOSTILE: [&str; 14] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "</title></svg></style><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "&lt;script&gt;&amp;#x3c;",
    "{{7*7}}{% raw %}${7*7}<%= 7*7 %>",
    "javascript:alert(1)",
    "\u{202e}txt.stobor\u{2066}\u{200f}\u{200b}\u{feff}",
    "\u{1b}[31mred\u{1b}]0;title\u{7}\u{9b}31m",
    "\u{5d0}\u{5d1}\u{5d2} \u{627}\u{644}\u{639}\u{631}\u{628}\u{64a}\u{629} 123",
    "=cmd|' /C calc'!A0",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e007f}\u{0301}\u{0301}\u{0301}\u{0301}\u{0301}",
    "a\0b\r\nc\td",
];

/// All of it as names, targets and rules.
pub(crate) fn hostile(folder: &Path) {
    let season = Season::begin(folder);
    for (number, text) in HOSTILE.iter().enumerate() {
        let number = u64::try_from(number).expect("a small number");
        let who = CountedVisitor::crawler(text, Purpose::Scraper, Proof::Unchecked);
        season.reads(who, 1_000);
        let target = format!("/{text}");
        let rule = format!("Disallow: /{text}");
        let ended = (VerdictOutcome::Violation(Notice::Read), Action::Refuse, rule.as_bytes());
        season.comes(who, target.as_bytes(), ended, 30 + number * 60, 5 + number);
        let tool = CountedVisitor {
            name: Some(text),
            client: ClientKind::Tool,
            purpose: None,
            proof: Proof::Unchecked,
        };
        season.comes(tool, target.as_bytes(), ended, 30, 1);
    }
    let long = CountedVisitor::crawler("Longbot", Purpose::Scraper, Proof::Unchecked);
    season.comes(long, format!("/{}", "<b>very-long/".repeat(150)).as_bytes(), IGNORED, 60, 3);
    season.comes(long, format!("/{}", "unbroken".repeat(200)).as_bytes(), IGNORED, 60, 2);
    season.comes(long, b"/caf\xe9/\xff\xfe<i>", IGNORED, 60, 2);
    season.end();
}

/// A store in which nothing was ever recorded.
pub(crate) fn empty(folder: &Path) {
    Season::begin(folder).end();
}
