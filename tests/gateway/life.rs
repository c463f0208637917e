//! The life of the process: what a service manager is told, sockets that outlive it, and successors.

use crate::support::agents::CHROME;
use crate::support::{Builder, Client, Daemon, Nginx, get, until};
use rustix::cmsg_space;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// A service manager's end of the notification socket.
struct Manager(UnixDatagram);

impl Manager {
    fn of(builder: Builder) -> (Self, Builder) {
        let path = builder.folder().join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
        let path = path.to_str().expect("UTF-8").to_owned();
        (Self(socket), builder.variable("NOTIFY_SOCKET", &path))
    }

    /// Waits for a message that begins like this; the rest of it.
    #[track_caller]
    fn hears(&self, beginning: &str) -> String {
        loop {
            let message = self.next().unwrap_or_else(|error| panic!("no {beginning}: {error}"));
            if let Some(rest) = message.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
    }

    fn next(&self) -> std::io::Result<String> {
        let mut bytes = [0; 256];
        let count = self.0.recv(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes[..count]).trim_end().to_owned())
    }

    /// Waits for the socket that it is to keep, and what that is called.
    #[track_caller]
    fn keeps(&self) -> (String, TcpListener) {
        loop {
            let (mut bytes, mut space) = ([0; 256], [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))]);
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let slices = &mut [IoSliceMut::new(&mut bytes)];
            let received =
                recvmsg(&self.0, slices, &mut control, RecvFlags::CMSG_CLOEXEC).expect("a message");
            let descriptor = control.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
                _ => None,
            });
            let text = String::from_utf8_lossy(&bytes[..received.bytes]);
            let name = text.trim_end().strip_prefix("FDSTORE=1\nFDNAME=");
            if let (Some(name), Some(descriptor)) = (name, descriptor) {
                return (name.to_owned(), descriptor.into());
            }
        }
    }
}

#[test]
fn a_service_manager_is_told_of_start_reload_and_stop() {
    let origin = Nginx::start();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let mut gateway = builder.start();
    manager.hears("READY=1");
    gateway.send(&get("/page").by(CHROME)).came_from_origin();
    gateway.signal("HUP");
    manager.hears("RELOADING=1\nMONOTONIC_USEC=");
    manager.hears("READY=1");
    gateway.signal("TERM");
    manager.hears("STOPPING=1");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
}

/// The manager only listens to the process that it follows; that one names the next.
#[test]
fn a_service_manager_is_told_which_process_goes_on() {
    let origin = Nginx::start();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let mut gateway = builder.start();
    manager.hears("READY=1");
    let path = gateway.folder().join("control.sock.handover");
    until("it can be succeeded", || path.exists().then_some(()));
    // It has no manager of its own to talk to, so all that is heard is the former one.
    let mut successor = gateway.successor().expect("a successor");
    assert_eq!(manager.hears("MAINPID="), successor.process_id().to_string());
    assert_eq!(gateway.ends_within(Duration::from_secs(20)), Some(0), "{}", gateway.log.text());
    manager.0.set_nonblocking(true).expect("a setting");
    while let Ok(message) = manager.next() {
        assert!(!message.contains("STOPPING"), "the service goes on: {message}");
    }
    successor.is_running();
}

#[test]
fn a_watchdog_is_fed_as_often_as_it_wants() {
    let origin = Nginx::start();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let _gateway = builder.variable("WATCHDOG_USEC", "400000").start();
    manager.hears("WATCHDOG=1");
    let start = Instant::now();
    for _ in 0..4 {
        manager.hears("WATCHDOG=1");
    }
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}

#[test]
fn nobody_is_refused_while_a_service_manager_holds_the_socket() {
    let origin = Nginx::start();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("an address");
    let load = SteadyLoad::on(address);
    // The socket is there before the gateway is.
    std::thread::sleep(Duration::from_millis(100));
    for _ in 0..3 {
        let listen = address.to_string();
        let builder = Daemon::with(ROBOTS).in_front_of(&origin).arg("--listen").arg(&listen);
        let mut gateway = builder.start_with(&socket);
        load.goes_on(20);
        gateway.signal("TERM");
        assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0), "{}", gateway.log.text());
    }
    let builder = Daemon::with(ROBOTS).in_front_of(&origin).arg("--listen").arg(&address.to_string());
    let _last = builder.start_with(&socket);
    load.goes_on(20);
    load.ends_without_a_failure();
}

/// As with `FileDescriptorStoreMax=` of systemd: what is kept comes back under its name.
#[test]
fn nobody_is_refused_while_a_service_manager_keeps_the_socket() {
    let origin = Nginx::start();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let mut gateway = builder.start();
    let address = gateway.address();
    let (name, socket) = manager.keeps();
    assert_eq!(socket.local_addr().expect("an address"), address);
    assert_eq!(name, format!("kept_127.0.0.1_{}", address.port()));
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
    // Nobody listens, and yet somebody may come.
    let mut waiting = Client::to(address);
    let listen = address.to_string();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let builder = builder.arg("--listen").arg(&listen).variable("LISTEN_FDNAMES", &name);
    let _gateway = builder.start_with(&socket);
    waiting.send(&get("/page").by(CHROME)).came_from_origin();
    assert_eq!(manager.keeps().0, name, "it is kept for the next one, too");
}

#[test]
fn a_kept_socket_that_nobody_wants_any_more_is_given_up() {
    let origin = Nginx::start();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let former = TcpListener::bind("127.0.0.2:0").expect("a free port");
    let name = format!("kept_127.0.0.2_{}", former.local_addr().expect("an address").port());
    let gateway = builder.variable("LISTEN_FDNAMES", &name).start_with(&former);
    assert_eq!(manager.hears("FDSTOREREMOVE=1\nFDNAME="), name);
    assert!(!gateway.log.text().contains("was handed over"), "{}", gateway.log.text());
}

/// A socket of a unit of its own needs no keeping.
#[test]
fn a_socket_that_the_service_manager_holds_itself_is_not_kept_twice() {
    let origin = Nginx::start();
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listen = socket.local_addr().expect("an address").to_string();
    let (manager, builder) = Manager::of(Daemon::with(ROBOTS).in_front_of(&origin));
    let builder = builder.arg("--listen").arg(&listen).variable("LISTEN_FDNAMES", "robots-gateway.socket");
    let _gateway = builder.start_with(&socket);
    loop {
        let message = manager.next().expect("a message");
        assert!(!message.starts_with("FDSTORE"), "{message}");
        if message.starts_with("READY=1") {
            return;
        }
    }
}

#[test]
fn a_successor_takes_over_and_nobody_is_refused() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).start();
    let address = gateway.address();
    let path = gateway.folder().join("control.sock.handover");
    until("it can be succeeded", || path.exists().then_some(()));
    let load = SteadyLoad::on(address);
    load.goes_on(50);
    let mut kept = Vec::new();
    for _ in 0..3 {
        let successor = gateway.successor().expect("a successor");
        assert_eq!(successor.address(), address);
        assert_eq!(gateway.ends_within(Duration::from_secs(20)), Some(0), "{}", gateway.log.text());
        load.goes_on(50);
        // It has to hold the control socket before it can be succeeded itself.
        successor.log.line_with(&["control socket is open"]);
        until("it can be succeeded", || path.exists().then_some(()));
        // The folder of the first one holds the configuration of all; it is kept to the end.
        let former = std::mem::replace(&mut gateway, successor);
        kept.push(former);
    }
    load.goes_on(50);
    load.ends_without_a_failure();
    gateway.signal("TERM");
    assert_eq!(gateway.ends_within(Duration::from_secs(10)), Some(0));
    assert!(TcpStream::connect(address).is_err(), "nobody holds the socket any more");
}

#[test]
fn a_successor_that_cannot_start_changes_nothing() {
    let origin = Nginx::start();
    let mut gateway = Daemon::with(ROBOTS).in_front_of(&origin).set("mode = \"audit\"").start();
    let path = gateway.folder().join("control.sock.handover");
    until("it can be succeeded", || path.exists().then_some(()));
    std::fs::write(gateway.folder().join("gateway.toml"), "nonsense").expect("written");
    assert!(gateway.successor().is_err());
    gateway.is_running();
    gateway.send(&get("/page").by(CHROME)).came_from_origin();
}

#[test]
fn where_nothing_runs_there_is_nothing_to_take_over() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS).in_front_of(&origin).arg("--upgrade").start();
    gateway.log.line_with(&["no gateway is running"]);
    gateway.send(&get("/page").by(CHROME)).came_from_origin();
}

/// Clients that come and clients that stay, each with one request after the other.
struct SteadyLoad {
    shared: std::sync::Arc<Shared>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    served: AtomicU64,
    failures: Mutex<Vec<String>>,
}

impl SteadyLoad {
    fn on(address: SocketAddr) -> Self {
        let shared = std::sync::Arc::<Shared>::default();
        let thread = |stays: bool| {
            let shared = std::sync::Arc::clone(&shared);
            std::thread::spawn(move || client(address, stays, &shared))
        };
        let threads = [false, false, true, true].map(thread).into();
        Self { shared, threads }
    }

    /// Waits until so many more requests have been answered.
    #[track_caller]
    fn goes_on(&self, more: u64) {
        let wanted = self.shared.served.load(Ordering::Relaxed) + more;
        until("requests are answered", || {
            (self.shared.served.load(Ordering::Relaxed) >= wanted).then_some(())
        });
    }

    #[track_caller]
    fn ends_without_a_failure(self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("no panic");
        }
        let failures = self.shared.failures.lock().expect("no panic");
        let served = self.shared.served.load(Ordering::Relaxed);
        println!("{served} requests were answered, {} failed", failures.len());
        assert!(failures.is_empty(), "{failures:?}");
    }
}

fn client(address: SocketAddr, stays: bool, shared: &Shared) {
    let mut kept = None;
    while !shared.stop.load(Ordering::Relaxed) {
        let mut client = match kept.take().map_or_else(|| Client::try_to(address), Ok) {
            Ok(client) => client,
            Err(error) => {
                shared.failures.lock().expect("no panic").push(format!("no connection: {error}"));
                continue;
            }
        };
        match client.try_send(&get("/page").by(CHROME)) {
            Ok(response) if response.status == 200 => {
                shared.served.fetch_add(1, Ordering::Relaxed);
                let is_last = response.header("Connection") == Some("close");
                kept = (stays && !is_last).then_some(client);
            }
            Ok(response) => {
                shared.failures.lock().expect("no panic").push(format!("status {}", response.status));
            }
            Err(error) => shared.failures.lock().expect("no panic").push(error.to_string()),
        }
    }
}

/// Whoever looks for warnings in the log after a start or an upgrade finds those that matter.
#[test]
fn starts_and_upgrades_in_good_order_write_no_warning() {
    let origin = Nginx::start();
    let builder = Daemon::with(ROBOTS).in_mode("enforce").table("[limits]\nconnections = 256");
    let mut gateway = builder.in_front_of(&origin).start();
    is_quiet(&gateway, "at the first start");
    gateway.restart();
    is_quiet(&gateway, "at the second");
    let path = gateway.folder().join("control.sock.handover");
    until("it can be succeeded", || path.exists().then_some(()));
    let successor = gateway.successor().expect("a successor");
    assert_eq!(gateway.ends_within(Duration::from_secs(20)), Some(0), "{}", gateway.log.text());
    successor.log.line_with(&["control socket is open"]);
    is_quiet(&successor, "after an upgrade");
    let bad = bad_lines(&gateway);
    assert_eq!(bad, Vec::<String>::new(), "of the former one");
}

#[track_caller]
fn is_quiet(gateway: &Daemon, when: &str) {
    assert_eq!(gateway.send(&get("/").by(CHROME)).status, 200, "{when}");
    let said = gateway.log.text();
    assert!(said.contains("listening"), "{when}: {said}");
    assert_eq!(bad_lines(gateway), Vec::<String>::new(), "{when}");
}

/// Warnings and errors of its log. Where the tests run there may be no name server that knows the internet.
fn bad_lines(gateway: &Daemon) -> Vec<String> {
    let said = gateway.log.text();
    let is_bad = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    said.lines().filter(is_bad).filter(|line| !line.contains("name servers")).map(str::to_owned).collect()
}
