//! A member as the gateway makes it, without its listeners.

use crate::scene::SimulatedScene;
use robots_gateway::config::{Arguments, Config};
use robots_gateway::decide::NoticeTime;
use robots_gateway::fleet::Fleet;
use robots_gateway::identify::{Identity, Proof};
use robots_gateway::policy::{
    CurrentPolicy, NoticeHistory, OriginFiles, Reloader, check, judge, offer_first,
};
use robots_gateway::record::{EventKind, FleetLedger, Occurrence, ReadBook, ReaderId, Recorder};
use robots_gateway::request::target::RequestTarget;
use robots_gateway::request::{RequestFacts, Scheme, host, target};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How many rules a robots.txt has, and how many crawlers come: each breaks each rule, so that a minute has 800 rows.
const RULES: usize = 20;
const CRAWLERS: usize = 40;

/// How many members start at once.
const AT_ONCE: usize = 20;

/// How many requests give a batch the rows of the notes: 800 of crawlers and rules, and some 200 of paths.
pub(crate) const OF_A_BATCH: usize = RULES * CRAWLERS;

pub(crate) fn robots(name: &str) -> String {
    (0..RULES).fold("User-agent: *\n".to_owned(), |mut text, rule| {
        writeln!(text, "Disallow: /{name}/{rule}/").expect("a String takes everything");
        text
    })
}

pub(crate) struct SimulatedMember {
    pub(crate) reloader: Arc<Reloader>,
    pub(crate) recorder: Arc<Recorder>,
    reads: Arc<ReadBook>,
    pub(crate) fleet: Fleet,
    /// How many requests were counted.
    pub(crate) counted: u64,
}

impl SimulatedMember {
    pub(crate) fn join(scene: &SimulatedScene, number: u32, port: u16) -> Self {
        let name = format!("m{number}");
        let state = scene.state(&name);
        let text = format!(
            "state_dir = \"{0}\"\ncontrol = \"{0}/control.sock\"\nadmin = \"off\"\nnotice = \"1h\"\n\
             [fleet]\ndatabase = \"postgresql://gateway@127.0.0.1:{port}/postgres\"\nname = \"{name}\"\n\
             settle = \"0s\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n",
            state.display(),
        );
        let config = Some(scene.file(&format!("{name}.toml"), text));
        let arguments = Arguments { config, ..Arguments::default() };
        std::fs::create_dir_all(&state).expect("a state folder");
        let config = Config::load(&arguments).expect("a configuration");
        let policy = check(config, SystemTime::now()).expect("a policy");
        let config = Arc::clone(&policy.config);
        let recorder = Arc::new(Recorder::start(&config.store).expect("a recorder"));
        recorder.flush();
        let reads = Arc::new(ReadBook::default());
        let history = Arc::new(NoticeHistory::open(&config));
        let current = Arc::new(CurrentPolicy::new(history.begin(policy)));
        let origins = Arc::new(OriginFiles::open(&config));
        let (kept, told) = (Arc::clone(&reads), Arc::clone(&recorder));
        let reloader = Arc::new(Reloader::new(current, arguments, kept, told, history, origins));
        reloader.keep_history().expect("a thread");
        let ledger: Arc<dyn FleetLedger> = Arc::clone(&reloader) as _;
        let settings = config.fleet.as_ref().expect("[fleet]");
        let fleet =
            Fleet::start(&config, settings, ledger, &reads, &Arc::default(), &recorder).expect("a thread");
        offer_first(&reloader, &reads.fleet);
        Self { reloader, recorder, reads, fleet, counted: 0 }
    }

    /// Judges and counts some requests of crawlers, as they come to a gateway.
    pub(crate) fn is_asked(&mut self, requests: usize) {
        self.is_asked_at(requests, SystemTime::now());
    }

    /// The same at another time.
    pub(crate) fn is_asked_at(&mut self, requests: usize, time: SystemTime) {
        for _ in 0..requests {
            let place = usize::try_from(self.counted).expect("fewer");
            let agent = format!("Sizebot{}/1.0 (+https://bot.example/)", place % CRAWLERS);
            let sent = format!("/old/{}/{}", place / CRAWLERS % RULES, place % 5);
            self.ask(agent.as_bytes(), sent.as_bytes(), time);
            self.counted += 1;
        }
    }

    fn ask(&self, agent: &[u8], sent: &[u8], time: SystemTime) {
        let policy = self.reloader.current();
        let site = policy.site("example.org").expect("the default site");
        let facts = RequestFacts {
            scheme: Scheme::Http,
            method: "GET",
            host: host::normalise("example.org"),
            target: target::origin_form(sent).unwrap_or(Cow::Borrowed(b"/")),
            user_agent: Some(Cow::Borrowed(agent)),
            address: "198.51.100.7".parse().ok(),
        };
        let reads =
            |who: &Identity, proof| self.reads.of(&ReaderId::new(&facts.host, who, proof, facts.address));
        let target = RequestTarget::new(&facts.target, site.config.path_parameters);
        let now = NoticeTime(Duration::from_secs(600));
        let judged =
            judge(&policy, site, &site.rules, &facts, &target, None, |_| Proof::Unchecked.into(), reads, now);
        let occurrence = Occurrence {
            facts: &facts,
            identity: &judged.identity,
            proof: judged.proof,
            proof_by: judged.proof_by,
            verdict: &judged.verdict,
            mode: judged.mode,
            action: judged.action,
            site: &site.config.name,
            now: time,
            request_id: "0-0",
            addresses: policy.config.addresses,
            gateway: None,
        };
        let kind = EventKind::of(&judged.verdict, judged.proof);
        drop(self.recorder.count(&occurrence, kind));
    }

    pub(crate) fn close(&self) {
        self.reloader.close_history();
        self.recorder.close();
        self.fleet.close();
    }
}

/// As many members as that, which start some at a time; `port` is the way of each to the database. How long that took.
pub(crate) fn join_all(
    scene: &SimulatedScene,
    count: u32,
    port: impl Fn(u32) -> u16 + Sync,
) -> (Vec<SimulatedMember>, Duration) {
    let begun = Instant::now();
    let some = |first: u32| {
        let port = &port;
        move || {
            let of_these = (first..count).step_by(AT_ONCE);
            of_these.map(|number| SimulatedMember::join(scene, number, port(number))).collect::<Vec<_>>()
        }
    };
    let members: Vec<SimulatedMember> = std::thread::scope(|scope| {
        let starts: Vec<_> =
            (0..AT_ONCE).map(|first| scope.spawn(some(u32::try_from(first).expect("few")))).collect();
        starts.into_iter().flat_map(|start| start.join().expect("they start")).collect()
    });
    while !members.iter().all(|member| member.fleet.status().standing == "member") {
        assert!(begun.elapsed() < Duration::from_secs(300), "not all have joined");
        std::thread::sleep(Duration::from_millis(50));
    }
    (members, begun.elapsed())
}
