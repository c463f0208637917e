//! Listeners, workers and signals: the process around the gateway.

use super::accept::{Listener, accept};
use super::admission::{Admission, ConnectionRoom};
use super::connection::WorkerContext;
use super::demo::DemoOrigin;
use super::handler::ConnectionHandler;
use super::pages::Pages;
use super::services::{handlers, pages, services, set_rotating};
use super::workers::{Stage, WorkerPool, Workers};
use crate::config::{Config, ConnectionLimits, ListenerConfig};
use crate::gateway::Gateway;
use crate::policy::Reloader;
use crate::process::{
    ControlSocket, Inherited, Signals, SocketError, Stop, bind, give_away, keep, open_files, path_beside,
    raise_open_files, stay_alive, tell_leaving, tell_ready, tell_taken,
};
use crate::proxy::{Fetcher, watch_origins};
use crate::report::grouped;
use pingora::time::fast_timeout::set_fast_timeout_to_tokio_threshold;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::task::TaskTracker;

/// How often a control socket or admin address that another gateway holds is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Why a bound gateway cannot run.
#[derive(Debug, thiserror::Error)]
#[error("cannot start the workers")]
pub struct ServeError(#[from] io::Error);

/// Everything that is served.
pub struct Server {
    /// The proxy.
    pub gateway: Gateway,
    /// Its sockets, and what is spoken there.
    pub listeners: Vec<(TcpListener, ListenerConfig)>,
    /// What is to be told of sockets that were there before.
    pub inherited: Inherited,
    /// Where the admin listener is wanted, and its pages.
    pub admin: Option<(SocketAddr, Pages)>,
    /// Where the control socket is wanted, and its pages.
    pub control: (PathBuf, Pages),
    /// The built-in origin, if it is wanted.
    pub demo: Option<Arc<DemoOrigin>>,
    /// Asked to reload on SIGHUP.
    pub reloader: Arc<Reloader>,
}

impl Server {
    /// Runs until SIGTERM or SIGINT, then lets what is in flight finish.
    ///
    /// # Errors
    /// When a socket cannot be served.
    pub fn run(self, workers: Workers) -> Result<(), ServeError> {
        // Pingora's own timers ask for the time with each read and write, and once used wake a thread a hundred times a
        // second. The workers' timers do neither; they take every limit of a second and more.
        set_fast_timeout_to_tokio_threshold(Some(Duration::ZERO));
        Ok(workers.run(|worker_pool, signals| self.serve(worker_pool, signals))?)
    }

    async fn serve(self, worker_pool: WorkerPool, mut signals: Signals) -> io::Result<()> {
        let (stop, stopped) = watch::channel(false);
        let (current, gateway) = (Arc::clone(&self.gateway.current), self.gateway.clone());
        let connections = TaskTracker::new();
        let mut beside = self.look_after_origins().await;
        let room = room(&current.get().config, worker_pool.len());
        let services = services(&self.gateway, room, worker_pool.len());
        beside.spawn(sweep(services.clone()));
        // Other proxies that ask have places of their own.
        let [visiting, asking] =
            [(); 2].map(|()| Arc::new(Admission::new(Arc::clone(&self.gateway.connections))));
        let pages = |shown| pages(shown, &current, room);
        let (path, control_pages) = self.control;
        if let Some((address, admin_pages)) = self.admin {
            tokio::spawn(admin(bind(address), address, pages(admin_pages), stopped.clone()));
        }
        let copies = self.listeners.iter().map(|(one, _)| one.try_clone()).collect::<io::Result<_>>()?;
        let handed = tokio::spawn(hand_over(copies, path_beside(&path), stopped.clone()));
        for (listener, _) in &self.listeners {
            let address = listener.local_addr()?;
            if !self.inherited.held.contains(&address) {
                keep(address, listener);
            }
        }
        let watching = worker_pool.clone();
        tokio::spawn(async move { stay_alive(|| watching.each(|| ())).await });
        let socket = ControlSocket::bind(&path);
        // Before anything is recorded. A socket that nobody can have would leave the logs to grow for ever.
        let is_held = socket.as_ref().is_err_and(|error| error.source.kind() == io::ErrorKind::AddrInUse);
        set_rotating(&gateway, !is_held);
        let control = tokio::spawn(control(socket, path, pages(control_pages), gateway, stopped.clone()));
        let listen = || {
            for (listener, config) in self.listeners {
                let ListenerConfig { tls, proxy_protocol, is_for_proxies: authorize, .. } = config;
                tracing::info!(address = %listener.local_addr()?, tls, proxy_protocol, authorize, "listening");
                let admission = if config.is_for_proxies { &asking } else { &visiting };
                let handlers = handlers(&services, &current, admission, room, config);
                worker_pool.accept(listener, handlers, stopped.clone(), &connections)?;
            }
            let show = |demo: &Arc<_>| show(demo, pages(DemoOrigin::pages()), stopped.clone());
            self.demo.as_ref().map_or(Ok(()), show)
        };
        if let Err(error) = listen() {
            // The files of its sockets go first.
            let _ = stop.send(true);
            let _ = tokio::join!(control, handed);
            return Err(error);
        }
        if let Some(predecessor) = self.inherited.predecessor {
            tell_taken(predecessor);
        }
        tell_ready();
        let stop_for = signals.stop(&self.reloader, succeeded(handed)).await;
        tell_leaving(stop_for);
        beside.abort_all();
        // Nobody receives only when every listener has ended already.
        let _ = stop.send(true);
        worker_pool.stop(Stage::LastRequest);
        let grace = *current.get().config.grace;
        drain(&services, &worker_pool, stop_for, &connections, grace, &mut signals).await;
        // Its file goes then.
        let _ = control.await;
        Ok(())
    }

    /// Begins what runs beside requests until it is ended.
    async fn look_after_origins(&self) -> JoinSet<()> {
        let mut beside = JoinSet::new();
        beside.spawn(watch_origins(Arc::clone(&self.gateway.current)));
        let fetcher = Fetcher::new(Arc::clone(&self.reloader));
        fetcher.begin().await;
        beside.spawn(fetcher.go_on());
        beside
    }
}

/// The room for connections. Where that is less than the operator asked for, he is told once; the limit that is set from the
/// start is nobody's wish.
fn room(config: &Config, workers: usize) -> ConnectionRoom {
    let (limits, is_asked) = (&config.limits, config.authorize.is_some());
    let open = open_files();
    let needed = ConnectionRoom::needed(limits, open, workers, is_asked);
    let open_files = raise_open_files(needed as u64);
    let room = ConnectionRoom::new(open_files, open, workers, is_asked);
    let wanted = limits.connections;
    if room.missing(limits) > 0 && wanted != ConnectionLimits::default().connections {
        let [taken, wanted, files] =
            [room.bound(*limits).connections, wanted, needed].map(|number| grouped(number as u64));
        tracing::warn!("accepting {taken} of {wanted} connections: raise LimitNOFILE to {files}");
    }
    room
}

/// How often idle connections to origins are looked at.
const SWEEP: Duration = Duration::from_secs(5);

/// More than the allocator keeps for small things.
const LARGE: usize = 4 << 20;

/// Closes connections to origins that are not needed any more, and gives memory back.
async fn sweep(sites: Vec<Arc<WorkerContext>>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        for site in &sites {
            site.exchanger.connections.sweep();
        }
        // The allocator gives back what was freed some time before once large memory is freed again. Without this a quiet
        // gateway kept 65 MB of what 500 stalled streams had held.
        drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGE)));
    }
}

/// Serves the built-in origin.
fn show(demo: &DemoOrigin, handler: ConnectionHandler, stopped: watch::Receiver<bool>) -> io::Result<()> {
    let listener = Listener::new(demo.listener.try_clone()?)?;
    tokio::spawn(show_pages(listener, handler, stopped));
    Ok(())
}

/// Lets what is open come to its end.
async fn drain(
    services: &[Arc<WorkerContext>],
    worker_pool: &WorkerPool,
    stop: Stop,
    connections: &TaskTracker,
    grace: Duration,
    signals: &mut Signals,
) {
    connections.close();
    let _ = tokio::time::timeout(stop.idle_time_left(), connections.wait()).await;
    worker_pool.stop(Stage::CloseIdle);
    if stop != Stop::Interrupt {
        wait(connections, grace, signals).await;
    }
    // What is cut off is recorded still.
    for site in services {
        site.gateway.finish_all();
    }
}

/// Waits until all requests are answered, or their grace is over.
async fn wait(connections: &TaskTracker, grace: Duration, signals: &mut Signals) {
    tokio::select! {
        finished = tokio::time::timeout(grace, connections.wait()) => if finished.is_err() {
            tracing::warn!(?grace, "requests were still in flight when their grace was over");
        },
        () = signals.next_signal() => tracing::warn!("stopping at once: a second signal"),
    }
}

/// Ends when a successor serves, and never where none comes; its process, where that is known.
async fn succeeded(handed: tokio::task::JoinHandle<Option<NextProcess>>) -> Option<u32> {
    match handed.await {
        Ok(Some(NextProcess(process))) => process,
        _ => std::future::pending().await,
    }
}

/// The process that has taken over, where it is known.
struct NextProcess(Option<u32>);

/// Hands over copies of the sockets to a successor that asks; `None` when the gateway stops first. They go
/// either way: while one is open, clients would connect and wait for nobody.
async fn hand_over(
    copies: Vec<TcpListener>,
    path: PathBuf,
    mut stopped: watch::Receiver<bool>,
) -> Option<NextProcess> {
    // Another gateway may hold it, whose successor we are; the control socket tells of any other reason.
    let socket = loop {
        match ControlSocket::bind(&path) {
            Ok(socket) => break socket,
            Err(_) if pause(ASK_AGAIN, &mut stopped).await => {}
            Err(_) => return None,
        }
    };
    let handed = async {
        match socket.listener.try_clone().and_then(tokio::net::UnixListener::from_std) {
            Ok(listener) => give_away(copies, listener).await,
            Err(error) => {
                tracing::warn!("sockets cannot be handed over: {error}");
                std::future::pending().await
            }
        }
    };
    let heir = tokio::select! {
        process = handed => Some(NextProcess(process)),
        _ = stopped.wait_for(|stop| *stop) => None,
    };
    socket.close();
    heir
}

/// Waits; `false` when the gateway stops first.
async fn pause(time: Duration, stopped: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(time) => true,
        _ = stopped.wait_for(|stop| *stop) => false,
    }
}

/// Serves the control socket. While another gateway holds it, as during an upgrade, it is asked for again,
/// and journal and access log are that gateway's to rotate.
async fn control(
    first: Result<ControlSocket, SocketError>,
    path: PathBuf,
    handler: ConnectionHandler,
    gateway: Gateway,
    mut stopped: watch::Receiver<bool>,
) {
    let again = || ControlSocket::bind(&path);
    let Some(socket) = bind_with_retry(first, again, &mut stopped).await else { return };
    set_rotating(&gateway, true);
    match socket.listener.try_clone().and_then(Listener::new) {
        Ok(listener) => {
            tracing::info!(socket = %path.display(), "control socket is open");
            show_pages(listener, handler, stopped).await;
            // Whoever takes the socket next rotates from now on.
            set_rotating(&gateway, false);
        }
        Err(error) => tracing::error!("cannot serve the control socket: {error}"),
    }
    socket.close();
}

async fn admin(
    first: Result<TcpListener, SocketError>,
    address: SocketAddr,
    handler: ConnectionHandler,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(listener) = bind_with_retry(first, || bind(address), &mut stopped).await else { return };
    let address = listener.local_addr().unwrap_or(address);
    match Listener::new(listener) {
        Ok(listener) => {
            tracing::info!(%address, "admin listener is open");
            show_pages(listener, handler, stopped).await;
        }
        Err(error) => tracing::error!("cannot serve the admin listener: {error}"),
    }
}

/// Serves pages to whoever may be trusted not to abuse them, on this thread, away from the site's visitors. A stop closes
/// their idle connections at once.
async fn show_pages(listener: Listener, handler: ConnectionHandler, stopped: watch::Receiver<bool>) {
    let worker_pool = WorkerPool::here();
    accept(listener, worker_pool.clone(), vec![Arc::new(handler)], stopped, TaskTracker::new()).await;
    worker_pool.stop(Stage::CloseIdle);
}

/// Binds now or as soon as it can be had; `None` when the gateway stops first. What only serves the operator does not keep
/// the site from being served.
async fn bind_with_retry<T>(
    first: Result<T, SocketError>,
    again: impl Fn() -> Result<T, SocketError>,
    stopped: &mut watch::Receiver<bool>,
) -> Option<T> {
    let (mut bound, mut is_said) = (first, false);
    loop {
        let error = match bound {
            Ok(bound) => return Some(bound),
            Err(error) => error,
        };
        let is_first = !std::mem::replace(&mut is_said, true);
        match error.source.kind() {
            _ if !is_first => {}
            // As in an upgrade, in which the gateway that is succeeded lets go soon.
            io::ErrorKind::AddrInUse => {
                tracing::info!("{error}: {}; trying again every second", error.source);
            }
            _ => tracing::warn!("{error}: {}; trying again every second", error.source),
        }
        if !pause(ASK_AGAIN, stopped).await {
            return None;
        }
        bound = again();
    }
}
