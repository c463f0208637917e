//! Clients that ask and do not take their answers: none holds a connection for longer than `client_write`.

use crate::limits::{counted, is_counted};
use crate::reload_styles::disallowing;
use crate::support::agents::{CLAUDEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, get, until};
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection whose client has next to no room for answers.
fn narrow(address: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(2_048).expect("a small buffer");
    socket.connect(&address.into()).expect("connected");
    socket.set_write_timeout(Some(Duration::from_secs(20))).expect("a limit");
    TcpStream::from(socket)
}

fn request(method: &str, path: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\n\r\n")
}

#[track_caller]
fn is_let_go(gateway: &Daemon) {
    let start = Instant::now();
    until("the connection ends", || (counted(gateway, "open") == 0).then_some(()));
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
}

#[test]
fn robots_txt_that_nobody_takes_is_no_read_and_ends_the_connection() {
    let origin = Nginx::start();
    let gateway = Daemon::with("User-agent: *\nAllow: /\n")
        .in_mode("enforce")
        .with_notice("1h")
        .in_front_of(&origin)
        .set("settle = \"20ms\"")
        .table("[timeouts]\nclient_write = \"1s\"")
        .start();
    let large =
        format!("{}{}", disallowing("/new"), "# padding, more than a narrow client takes\n".repeat(4_000));
    rename_over(&gateway.robots(), &large);
    until("the new file is served", || {
        (gateway.send(&get("/robots.txt").by("curl/8")).text() == large).then_some(())
    });
    let mut client = narrow(gateway.address());
    client.write_all(request("GET", "/robots.txt").repeat(100).as_bytes()).expect("sent");
    is_counted(&gateway, "open", 1);
    is_let_go(&gateway);
    // Another crawler reads it whole; when that read counts, the other one would count too.
    assert_eq!(gateway.send(&get("/robots.txt").by(CLAUDEBOT)).text(), large);
    let status = |path, agent| gateway.send(&get(path).by(agent)).status;
    until("the whole read counts", || (status("/new/1", CLAUDEBOT) == 403).then_some(()));
    assert_eq!(status("/new/2", GPTBOT), 200);
    drop(client);
}

/// Pingora sets a limit to writing a body, and none to writing a head, which is all there is here.
#[test]
fn refusals_that_nobody_takes_end_the_connection() {
    let origin = Nginx::start();
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n")
        .in_mode("enforce")
        .in_front_of(&origin)
        .table("[timeouts]\nclient_write = \"1s\"\n[limits]\nrequests_per_connection = 1000000")
        .start();
    let mut client = narrow(gateway.address());
    let mut writer = client.try_clone().expect("another handle");
    let sender =
        std::thread::spawn(move || writer.write_all(request("HEAD", "/private/1").repeat(60_000).as_bytes()));
    // It ends in the middle of them.
    assert!(sender.join().expect("no panic").is_err());
    is_let_go(&gateway);
    client.flush().expect("nothing to do");
}
