//! Listeners, workers and signals: the process around the gateway.

use super::accept::{Connections, Direct, Listener, accept};
use super::demo::DemoOrigin;
use super::life::{Handover, Heritage, Predecessor, ServiceManager, Signals, Stop, path_beside};
use super::listen::{Admission, Front, tls_settings};
use super::mount::Pages;
use super::renewal::renew;
use super::sockets::{BindError, ControlSocket, bind};
use super::workers::{Crew, Workers};
use super::{Gateway, Logs, origin, wire};
use crate::config::{Config, ListenerConfig};
use crate::policy::Reloader;
use crate::record::ConnectionTotals;
use pingora::apps::{HttpServerOptions, ServerApp};
use pingora::protocols::http::v2::server::default_h2_options;
use pingora::proxy::{HttpProxy, http_proxy};
use pingora::server::configuration::ServerConf;
use pingora::time::fast_timeout::set_fast_timeout_to_tokio_threshold;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How many idle connections to origins are kept, by all workers together, and how many each worker may keep at least.
const UPSTREAM_POOL: usize = 512;
const OWN_POOL: usize = 32;

/// How often a control socket or admin address that another gateway holds is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Why a bound gateway cannot run.
#[derive(Debug)]
pub struct ServeError(pub(super) io::Error);

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("cannot start the workers")
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Everything that is served.
#[derive(Debug)]
pub struct Server {
    /// The proxy.
    pub gateway: Gateway,
    /// Its sockets, and what is spoken there.
    pub listeners: Vec<(TcpListener, ListenerConfig)>,
    /// What is to be told of sockets that were there before.
    pub heritage: Heritage,
    /// Where what becomes of connections is counted.
    pub connections: Arc<ConnectionTotals>,
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
        // second. The workers' timers do neither; they take every limit of a second and more. What is left are shorter
        // ones and the idle time of HTTP/2.
        set_fast_timeout_to_tokio_threshold(Some(Duration::ZERO));
        workers.run(|crew, signals| self.serve(crew, signals)).map_err(ServeError)
    }

    async fn serve(self, crew: Crew, mut signals: Signals) -> io::Result<()> {
        let (stop, stopped) = watch::channel(false);
        let connections = Arc::new(Connections::default());
        let (current, logs) = (Arc::clone(&self.gateway.current), self.gateway.logs());
        let authorities = Arc::clone(&self.gateway.authorities);
        tokio::spawn(origin::keep(Arc::clone(&current), Arc::clone(&authorities), stopped.clone()));
        // What hosts were given before decides whom the first request may refuse.
        let mut inquiry = origin::Inquiry::new(Arc::clone(&self.reloader), authorities);
        inquiry.once().await;
        tokio::spawn(inquiry.go_on(stopped.clone()));
        let proxies = proxies(&self.gateway, crew.len());
        let admission = Arc::new(Admission::new(self.connections));
        let (path, pages) = self.control;
        if let Some((address, pages)) = self.admin {
            tokio::spawn(admin(bind(address), address, pages, stopped.clone()));
        }
        let handover = Handover::of(self.listeners.iter().map(|(listener, _)| listener))?;
        let handed = tokio::spawn(hand_over(handover, path_beside(&path), stopped.clone()));
        let predecessor = self.heritage.predecessor.as_ref().and_then(Predecessor::process);
        let manager = Arc::new(ServiceManager::from_environment(predecessor));
        keep(&manager, &self.listeners, &self.heritage)?;
        let (watched, watching) = (Arc::clone(&manager), crew.clone());
        tokio::spawn(async move { watched.stay_alive(|| watching.answer()).await });
        tokio::spawn(renew(Arc::clone(&current), crew.clone()));
        let socket = ControlSocket::bind(&path);
        // Before anything is recorded. A socket that nobody can have would leave the logs to grow for ever.
        let is_held = socket.as_ref().is_err_and(|error| error.source.kind() == io::ErrorKind::AddrInUse);
        logs.set_rotating(!is_held);
        let control = tokio::spawn(control(socket, path, pages, logs, stopped.clone()));
        for (listener, config) in self.listeners {
            let (tls, proxy_protocol) = (config.tls, config.proxy_protocol);
            tracing::info!(address = %listener.local_addr()?, tls, proxy_protocol, "listening");
            let tls = tls.then(|| tls_settings(Arc::clone(&current)));
            let front = |proxy| Front::new(proxy, &current, &admission, config, tls.clone());
            let fronts = proxies.iter().map(|proxy| Arc::new(front(proxy))).collect();
            crew.accept(listener, fronts, stopped.clone(), Arc::clone(&connections))?;
        }
        // The origin lives, and its folder with it, until the gateway stops.
        let demo = self.demo;
        if let Some(demo) = &demo {
            show(demo, stopped.clone())?;
        }
        if let Some(predecessor) = self.heritage.predecessor {
            predecessor.tell_ready();
        }
        manager.ready();
        let stop_for = signals.stop(&self.reloader, &manager, succeeded(handed)).await;
        manager.leaving(stop_for);
        // Nobody receives only when every listener has ended already.
        let _ = stop.send(true);
        crew.stop();
        let grace = current.get().config.grace;
        drain(&proxies, stop_for, &connections, grace, &mut signals).await;
        // The control socket's file goes with its task.
        let _ = control.await;
        Ok(())
    }
}

/// The gateway as one worker has it.
type Proxy = wire::Checked<HttpProxy<Gateway>>;

/// One proxy for each worker: its connections to origins are its own, and so never wait for another thread.
fn proxies(gateway: &Gateway, workers: usize) -> Vec<Arc<Proxy>> {
    let conf = Arc::new(ServerConf {
        threads: 1,
        max_retries: origin::ATTEMPTS,
        upstream_keepalive_pool_size: (UPSTREAM_POOL / workers.max(1)).max(OWN_POOL),
        ..ServerConf::default()
    });
    let proxy = |_| {
        let mut proxy = http_proxy(&conf, gateway.clone());
        bound(&mut proxy, &gateway.current.get().config);
        Arc::new(wire::Checked::new(Arc::new(proxy), gateway.clone()))
    };
    (0..workers).map(proxy).collect()
}

/// Serves the built-in origin.
fn show(demo: &DemoOrigin, stopped: watch::Receiver<bool>) -> io::Result<()> {
    let listener = Listener::Tcp(tokio::net::TcpListener::from_std(demo.listener.try_clone()?)?);
    tokio::spawn(show_pages(listener, DemoOrigin::pages(), stopped));
    Ok(())
}

/// Has the service manager keep the listening sockets, in case this process is started anew.
fn keep(
    manager: &ServiceManager,
    listeners: &[(TcpListener, ListenerConfig)],
    heritage: &Heritage,
) -> io::Result<()> {
    for (listener, _) in listeners {
        let address = listener.local_addr()?;
        if !heritage.held.contains(&address) {
            manager.keep(address, listener);
        }
    }
    heritage.stale.iter().for_each(|address| manager.forget(*address));
    Ok(())
}

/// Lets what is open come to its end.
async fn drain(
    proxies: &[Arc<Proxy>],
    stop: Stop,
    connections: &Connections,
    grace: Duration,
    signals: &mut Signals,
) {
    let _ = tokio::time::timeout(stop.settling(), connections.none()).await;
    for proxy in proxies {
        proxy.cleanup().await;
    }
    if stop == Stop::Interrupt {
        return;
    }
    tokio::select! {
        finished = tokio::time::timeout(grace, connections.none()) => if finished.is_err() {
            tracing::warn!(?grace, "requests were still in flight when their grace was over");
        },
        () = signals.again() => tracing::warn!("stopping at once: a second signal"),
    }
}

/// Ends when a successor serves, and never where none comes; its process, where that is known.
async fn succeeded(handed: tokio::task::JoinHandle<Option<Heir>>) -> Option<u32> {
    match handed.await {
        Ok(Some(Heir(process))) => process,
        _ => std::future::pending().await,
    }
}

/// The process that has taken over, where it is known.
struct Heir(Option<u32>);

/// Hands over the sockets to a successor that asks; `None` when the gateway stops first. Their copies go
/// either way: while one is open, clients would connect and wait for nobody.
async fn hand_over(handover: Handover, path: PathBuf, mut stopped: watch::Receiver<bool>) -> Option<Heir> {
    let handed = async {
        // Another gateway may hold it, whose successor we are; the control socket tells of any other reason.
        let socket = loop {
            match ControlSocket::bind(&path) {
                Ok(socket) => break socket,
                Err(_) => tokio::time::sleep(ASK_AGAIN).await,
            }
        };
        match socket.listener().and_then(tokio::net::UnixListener::from_std) {
            Ok(listener) => handover.wait(listener).await,
            Err(error) => {
                tracing::warn!("sockets cannot be handed over: {error}");
                std::future::pending().await
            }
        }
    };
    tokio::select! {
        process = handed => Some(Heir(process)),
        _ = stopped.wait_for(|stop| *stop) => None,
    }
}

/// Sets what pingora bounds itself, for every connection alike.
fn bound(proxy: &mut HttpProxy<Gateway>, config: &Config) {
    // Pingora's own options are the ones with bounds; those of the h2 library are not (RFC 9113 §10.5.1).
    let mut h2 = default_h2_options();
    h2.max_concurrent_streams(config.limits.h2_streams);
    h2.max_header_list_size(u32::try_from(config.limits.header_size).unwrap_or(u32::MAX));
    // Whoever leaves a page cancels all of its streams at once, perhaps before they were looked at; how often
    // that may happen is counted by the guard. The library would end the connection at 20.
    h2.max_pending_accept_reset_streams(config.limits.h2_streams as usize);
    // A client can have its own streams cancelled by breaking the protocol on them (CVE-2025-8671), or by opening
    // more than it may. A good one does so by chance at most, so these are for its whole life.
    h2.max_local_error_reset_streams(Some(config.limits.h2_resets as usize));
    proxy.h2_options = Some(h2);
    let mut options = HttpServerOptions::default();
    options.h2_idle_timeout = Some(config.timeouts.keepalive);
    proxy.server_options = Some(options);
}

/// Serves the control socket. While another gateway holds it, as during an upgrade, it is asked for again,
/// and journal and access log are that gateway's to rotate.
async fn control(
    first: Result<ControlSocket, BindError>,
    path: PathBuf,
    pages: Pages,
    logs: Logs,
    mut stopped: watch::Receiver<bool>,
) {
    let again = || ControlSocket::bind(&path);
    let Some(socket) = sooner_or_later(first, again, &mut stopped).await else { return };
    logs.set_rotating(true);
    let listener = socket.listener().and_then(tokio::net::UnixListener::from_std);
    match listener {
        Ok(listener) => {
            tracing::info!(socket = %path.display(), "control socket is open");
            show_pages(Listener::Unix(listener), pages, stopped).await;
            // Whoever takes the socket next rotates from now on.
            logs.set_rotating(false);
        }
        Err(error) => tracing::error!("cannot serve the control socket: {error}"),
    }
}

async fn admin(
    first: Result<TcpListener, BindError>,
    address: SocketAddr,
    pages: Pages,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(listener) = sooner_or_later(first, || bind(address), &mut stopped).await else { return };
    match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => {
            let address = listener.local_addr().unwrap_or(address);
            tracing::info!(%address, "admin listener is open");
            show_pages(Listener::Tcp(listener), pages, stopped).await;
        }
        Err(error) => tracing::error!("cannot serve the admin listener: {error}"),
    }
}

/// Serves pages to whoever may be trusted not to abuse them, on this thread, away from the site's visitors.
async fn show_pages(listener: Listener, pages: Pages, stopped: watch::Receiver<bool>) {
    let (pages, crew) = (vec![Arc::new(Direct(Arc::new(pages.app())))], Crew::here());
    accept(listener, crew.clone(), pages, stopped, Arc::default()).await;
    crew.stop();
}

/// Binds now or, with one warning, as soon as it can be had; `None` when the gateway stops first. What
/// only serves the operator does not keep the site from being served.
async fn sooner_or_later<T>(
    first: Result<T, BindError>,
    again: impl Fn() -> Result<T, BindError>,
    stopped: &mut watch::Receiver<bool>,
) -> Option<T> {
    let mut warned = false;
    let mut bound = first;
    loop {
        match bound {
            Ok(bound) => return Some(bound),
            Err(error) if !warned => {
                warned = true;
                tracing::warn!("{error}: {}; it is asked for again", error.source);
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(ASK_AGAIN) => {}
            _ = stopped.wait_for(|stop| *stop) => return None,
        }
        bound = again();
    }
}
