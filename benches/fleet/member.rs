//! A member as the gateway makes it, without its listeners.

use crate::scene::SimulatedScene;
use robots_gateway::config::{Arguments, Config};
use robots_gateway::fleet::Fleet;
use robots_gateway::policy::{CurrentPolicy, NoticeHistory, OriginFiles, Reloader, check, offer_first};
use robots_gateway::record::{ReadBook, Recorder};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// How many rules a robots.txt has.
const RULES: usize = 20;

/// How many members start at once.
const AT_ONCE: usize = 20;

pub(crate) fn robots(name: &str) -> String {
    (0..RULES).fold("User-agent: *\n".to_owned(), |mut text, rule| {
        writeln!(text, "Disallow: /{name}/{rule}/").expect("a String takes everything");
        text
    })
}

pub(crate) struct SimulatedMember {
    pub(crate) reloader: Arc<Reloader>,
    recorder: Arc<Recorder>,
    pub(crate) fleet: Fleet,
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
        let recorder = Arc::new(Recorder::start(&config.store()).expect("a recorder"));
        recorder.flush();
        let reads = Arc::new(ReadBook::default());
        let mut history = NoticeHistory::open(&config, &reads);
        let current = Arc::new(CurrentPolicy::new(history.begin(policy)));
        let origins = Arc::new(OriginFiles::open(&config));
        let told = Arc::clone(&recorder);
        let reloader = Arc::new(Reloader::new(current, arguments, reads, told, history, origins));
        reloader.keep_history().expect("a thread");
        let settings = config.fleet.as_ref().expect("[fleet]");
        let fleet = Fleet::start(&config, settings, &reloader, &recorder).expect("a thread");
        offer_first(&reloader);
        Self { reloader, recorder, fleet }
    }

    pub(crate) fn close(&self) {
        self.reloader.close_history();
        self.recorder.close();
        self.fleet.close();
    }
}

/// As many members as that, which start some at a time. How long that took.
pub(crate) fn join_all(scene: &SimulatedScene, count: u32) -> (Vec<SimulatedMember>, Duration) {
    let (begun, port) = (Instant::now(), scene.engine.port());
    let some = |first: u32| {
        move || {
            let of_these = (first..count).step_by(AT_ONCE);
            of_these.map(|number| SimulatedMember::join(scene, number, port)).collect::<Vec<_>>()
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
