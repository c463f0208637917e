//! Few open files and many clients: what must always work has files of its own.

use crate::support::agents::GPTBOT;
use crate::support::tls::{Authority, LISTENER};
use crate::support::{Client, Daemon, Nginx, get, until};
use socket2::{Domain, Socket, Type};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// What `ulimit -n` is set to.
const OPEN_FILES: usize = 256;

/// Connects from another address of this host than everybody else.
fn neighbour(address: SocketAddr) -> std::io::Result<Client> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into())?;
    socket.connect(&address.into())?;
    Client::over(socket.into())
}

/// Clients that begin a head and never end it.
fn dripping(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    let open = |_| {
        let mut stream = TcpStream::connect(address).ok()?;
        // One that has no place is closed, and may be so already.
        let _ = stream.write_all(b"GET /drip HTTP/1.1\r\nHost: a.example\r\nX-Drip: ");
        Some(stream)
    };
    (0..count).filter_map(open).collect()
}

fn open_files(gateway: &Daemon) -> usize {
    let folder = format!("/proc/{}/fd", gateway.process_id());
    std::fs::read_dir(folder).expect("the gateway runs").count()
}

#[test]
fn under_a_low_limit_no_flood_of_connections_ends_what_must_always_work() {
    let origin = Nginx::start();
    let shell = format!("ulimit -n {OPEN_FILES}; exec \"$@\"");
    let builder = Daemon::with(ROBOTS)
        .in_front_of(&origin)
        .in_mode("enforce")
        .by(&["sh", "-c", &shell, "sh"])
        .set("threads = 2")
        .arg("--admin")
        .arg("127.0.0.1:0")
        .table("[timeouts]\nclient_header = \"60s\"\n[limits]\nconnections = 16000")
        .table(LISTENER);
    Authority::new().save(builder.folder(), "site", &["a.example"]);
    let gateway = builder.start();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", gateway.process_id())).expect("/proc");
    let limit = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
    if !limit.contains(&format!(" {OPEN_FILES} ")) {
        println!("skipped: this user may raise the limit of open files");
        return;
    }
    let warning = gateway.log.find(|line| {
        let (_, rest) = line.split_once("accepting ")?;
        rest.split_once(" of 16,000 connections: raise LimitNOFILE to ").map(|_| ())
    });
    warning.expect("a warning that says how many it takes, and what to set");
    let admin = gateway.log.find(admin_address).expect("the admin listener is open");
    let floods = [dripping(gateway.address(), 600), dripping(admin, 600)];
    let (mut most, start) = (0, Instant::now());
    while start.elapsed() < Duration::from_secs(3) {
        neighbour(gateway.address()).expect("a connection").send(&get("/page")).came_from_origin();
        let page = neighbour(admin).expect("a connection").send(&get("/healthz"));
        assert_eq!(page.status, 200, "the operator's pages");
        most = most.max(open_files(&gateway));
    }
    let refused = neighbour(gateway.address()).expect("a connection").send(&get("/private/x").by(GPTBOT));
    assert_eq!(refused.status, 403);
    until("the refusal is in the journal", || {
        gateway.journal().lines().iter().any(|line| line.contains("/private/x")).then_some(())
    });
    gateway.ctl(&["status"]).exits(0);
    let state = gateway.folder().join("state");
    gateway.ctl(&["report", "--state-dir", state.to_str().expect("UTF-8")]).exits(0);
    println!(
        "{} and {} connections were tried, {most} files were open at most",
        floods[0].len(),
        floods[1].len()
    );
    assert!(most < OPEN_FILES, "{most}");
    assert!(!gateway.log.text().contains("cannot accept"), "{}", gateway.log.text());
    drop(floods);
    gateway.send(&get("/page")).came_from_origin();
}

fn admin_address(line: &str) -> Option<SocketAddr> {
    let rest = &line[line.find("127.0.0.1:").filter(|_| line.contains("admin listener is open"))?..];
    rest[..rest.find('"')?].parse().ok()
}
