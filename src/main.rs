//! The daemon: options → log → policy → sockets → serve. Kinds of failure → exit code.

use clap::Parser as _;
use robots_gateway::admin::{Admin, LivePage, RequestSource, publish};
use robots_gateway::config::{Arguments, Config, DaemonVerb, FleetConfig};
use robots_gateway::fleet::{Fleet, published, read_system_authorities};
use robots_gateway::gateway::Gateway;
use robots_gateway::policy::{
    self, CurrentPolicy, FleetGeneration, NoticeHistory, OriginFiles, Policy, Prover, PublishedKind, Reloader,
};
use robots_gateway::process::{ControlSocket, Inherited};
use robots_gateway::record::{AccessLog, Journal, LogOptions, ReadBook, Recorder, make_folder, start_log};
use robots_gateway::server::{DemoOrigin, Pages, SelfTest, ServeError, Server, Workers, record_made_hour};
use robots_gateway::{alerts, ctl};
use std::error::Error;
use std::ffi::OsStr;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How long a start waits for the store.
const STORE_PATIENCE: Duration = Duration::from_secs(2);

/// Why the gateway does not run.
struct StartFailure {
    /// 2 for what the operator wrote, 1 for what the system refused.
    code: u8,
    error: Box<dyn Error>,
}

type StartResult = Result<(), StartFailure>;

impl<E: Error + 'static> From<E> for StartFailure {
    fn from(error: E) -> Self {
        Self { code: 1, error: error.into() }
    }
}

fn main() -> ExitCode {
    // `gatewayctl` is this program under its name: in a package a link to it, else a few lines that start it.
    let name = std::env::args_os().next().map(PathBuf::from);
    if name.as_deref().and_then(Path::file_name) == Some(OsStr::new("gatewayctl")) {
        return ctl::main();
    }
    let arguments = Arguments::parse();
    let is_self_test = arguments.verb == Some(DaemonVerb::SelfTest);
    let Err(StartFailure { code, error }) = run(arguments) else { return ExitCode::SUCCESS };
    let causes = std::iter::successors(Some(&*error), |error| (**error).source());
    let message = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    // Without standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "robots-gateway: error: {message}");
    // A configuration that does not load is what a self-test is to find.
    ExitCode::from(if is_self_test { 1 } else { code })
}

fn run(mut arguments: Arguments) -> StartResult {
    let mut test = arguments.verb.map(|DaemonVerb::SelfTest| SelfTest::prepare()).transpose()?;
    let demo = arguments.demo.then(|| DemoOrigin::prepare(&mut arguments)).transpose()?.map(Arc::new);
    let demo = demo.or_else(|| test.as_ref().map(|test| Arc::clone(&test.origin)));
    let ran = serve(arguments, demo.as_ref(), test.as_mut());
    // What was recorded is written there, so its folder goes last.
    demo.inspect(|demo| demo.remove());
    ran?;
    Ok(test.map_or(Ok(()), |mut test| test.end())?)
}

fn serve(arguments: Arguments, demo: Option<&Arc<DemoOrigin>>, test: Option<&mut SelfTest>) -> StartResult {
    let (started, started_at) = (Instant::now(), SystemTime::now());
    let (is_demo, is_test) = (arguments.demo, test.is_some());
    let loaded = load(&arguments, test.as_deref());
    // What the system has no room for now may be had later: a service manager tries that again.
    let failure =
        |error: Box<dyn Error>| StartFailure { code: if error.is::<ServeError>() { 1 } else { 2 }, error };
    let (workers, policy) = loaded.map_err(failure)?;
    let config = Arc::clone(&policy.config);
    let mut inherited = Inherited::take(&config.control, arguments.upgrade)?;
    let addresses: Vec<SocketAddr> = config.all_listeners().map(|listener| *listener.address).collect();
    let listeners = inherited.listen(&addresses)?.into_iter().zip(config.all_listeners()).collect::<Vec<_>>();
    prepare(&policy);
    test.map_or(Ok(()), |test| test.begin(&policy, &listeners))?;
    let journal = Arc::new(Journal::open(&config.journal())?);
    let access_log = config.access_log().map(|options| Journal::open(&options)).transpose()?;
    let reads = Arc::new(ReadBook::default());
    let (current, recorder, reloader, fleet) = begin(policy, arguments, Arc::clone(&reads), is_test)?;
    let prover = Arc::new(Prover::start(config.verify.name_servers())?);
    if let Some(demo) = demo.filter(|_| is_demo) {
        demo.introduce(&config, &listeners);
        record_made_hour(&reloader.current(), &recorder);
    }
    let mut gateway = Gateway::new(current, journal, recorder, reads, prover);
    gateway.standing = Arc::clone(&reloader.standing);
    let format = config.access_log_format;
    gateway.access_log = access_log.map(|lines| Arc::new(AccessLog { lines, format }));
    let alerts = Arc::default();
    let admin = Arc::new(Admin {
        reloader: Arc::clone(&reloader),
        gateway: gateway.clone(),
        fleet: fleet.clone(),
        alerts: Arc::clone(&alerts),
        started,
        started_at,
        page: LivePage::new(config.store_path(), config.fleet.clone()),
        token: config.admin_token.clone(),
    });
    let (asked, lines) = (Arc::clone(&admin), Arc::clone(&gateway.journal));
    alerts::watch(Arc::clone(&reloader), lines, move || asked.status(), alerts)?;
    publish(Arc::clone(&admin))?;
    let whole = Server {
        gateway: gateway.clone(),
        listeners,
        inherited,
        admin: config.admin.map(|address| (address, pages(&admin, RequestSource::Listener))),
        control: (config.control.clone(), pages(&admin, RequestSource::Control)),
        demo: demo.map(Arc::clone),
        reloader: Arc::clone(&reloader),
    };
    let served = whole.run(workers);
    reloader.close_history();
    gateway.journal.close();
    gateway.access_log.inspect(|log| log.lines.close());
    gateway.recorder.close();
    // What the store was given last is sent, too.
    fleet.inspect(|fleet| fleet.close());
    Ok(served?)
}

/// The log, the signals, and everything that the configuration names.
fn load(arguments: &Arguments, test: Option<&SelfTest>) -> Result<(Workers, Policy), Box<dyn Error>> {
    let mut config = Config::load(arguments)?;
    if let Some(test) = test {
        config = test.moved(config);
    }
    // Whoever looks at a demonstration wants to see its events alone.
    let level = config.log.level.clone().or_else(|| arguments.demo.then(|| "warn".to_owned()));
    start_log(&LogOptions { level, ..config.log });
    ControlSocket::check_place(&config.control)?;
    read_system_authorities()?;
    // From here on signals are ours: a SIGHUP that comes early must not end the process.
    let workers = Workers::start(config.threads)?;
    begin_as_published(&config);
    Ok((workers, policy::check(config, SystemTime::now())?))
}

/// A gateway without a past that comes to a fleet begins with what that published: so it never announces an older file.
fn begin_as_published(config: &Config) {
    let is_new = |_: &&FleetConfig| !config.store_path().exists();
    let Some(fleet) = config.fleet.as_ref().filter(is_new) else { return };
    let begun = published(fleet, true).map_err(|error| error.to_string()).and_then(|published| {
        let Some((number, document)) = published else { return Ok(()) };
        let kept = FleetGeneration::keep(number, &document, &config.state_dir);
        kept.map_err(|error| format!("generation {number} is not taken: {error}"))
    });
    if let Err(error) = begun {
        tracing::warn!(
            "{error}; this gateway begins with its own robots.txt, and takes what the fleet published later"
        );
    }
}

/// What is in force, and what changes it later.
type Begun = (Arc<CurrentPolicy>, Arc<Recorder>, Arc<Reloader>, Option<Arc<Fleet>>);

/// The first policy, with what was served and read before it. From now on the past of hosts is looked after, and changed files
/// and old lists are looked for. Where there is a fleet, it is joined, and knows what is served here before anybody can read it.
fn begin(policy: Policy, arguments: Arguments, reads: Arc<ReadBook>, is_test: bool) -> io::Result<Begun> {
    let config = Arc::clone(&policy.config);
    // The store knows of reads and rows, too: what it remembers of rows is read before a broken one is set aside.
    let mut history = NoticeHistory::open(&config, &reads);
    let recorder = Arc::new(Recorder::start(&config.store())?);
    // A fleet asks for it. One that does not come soon is done without.
    recorder.flush_within(STORE_PATIENCE);
    let current = Arc::new(CurrentPolicy::new(history.begin(policy)));
    let origins = Arc::new(OriginFiles::open(&config));
    let reloader =
        Reloader::new(Arc::clone(&current), arguments, reads, Arc::clone(&recorder), history, origins);
    let reloader = Arc::new(reloader);
    reloader.keep_history()?;
    let join = |fleet| Fleet::start(&config, fleet, &reloader, &recorder);
    let fleet = config.fleet.as_ref().map(join).transpose()?.map(Arc::new);
    if fleet.is_some() {
        policy::offer_first(&reloader);
    }
    policy::refresh_regularly(&reloader)?;
    reloader.write_copies();
    // In a self-test a reload would bring the configuration of the gateway that runs.
    if !is_test {
        policy::watch(&reloader);
    }
    Ok((current, recorder, reloader, fleet))
}

fn pages(admin: &Arc<Admin>, door: RequestSource) -> Pages {
    let (admin, asked) = (Arc::clone(admin), Arc::clone(admin));
    Pages {
        answer: Arc::new(move |request| admin.answer(door, request)),
        takes_form: Arc::new(move |request| asked.takes_form(request)),
    }
}

/// Tells what had to be left out, and makes the folders of our own. Where those cannot be made, the site is served all the same: the journal says what it loses, and nobody can put lists of
/// addresses there either.
fn prepare(policy: &Policy) {
    let config = &policy.config;
    if config.authorize.is_some() && config.trusted_proxies.is_empty() {
        tracing::warn!(
            "[authorize] answers only peers in `trusted_proxies`, which is empty, so no proxy is answered. Name your proxy, also one on this machine: trusted_proxies = [\"127.0.0.1\", \"::1\"]"
        );
    }
    if let Some(stale) = policy.stale_catalogue(SystemTime::now()) {
        tracing::warn!("{stale}");
    }
    for fault in &policy.evidence.faults {
        tracing::error!("address ranges are left out: {fault}");
    }
    let folder = PublishedKind::Ranges.folder(config);
    if let Err(error) = make_folder(&folder) {
        tracing::warn!(folder = %folder.display(), "cannot make the state folder: {error}");
    }
}
