//! The snippets of the pages about proxies in front, run as they stand there but for ports, where the program is installed.

use crate::keeper::Keeper;
use crate::support::agents::GPTBOT;
use crate::support::origin::free_port;
use crate::support::wait::within;
use crate::support::{Daemon, Folder};
use crate::wire::{rest, statuses};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

struct OuterProxy {
    process: Child,
    _folder: Folder,
}

impl Drop for OuterProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The first code block in this language below the heading about a gateway behind the proxy.
fn block(page: &str, language: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(page);
    let text = std::fs::read_to_string(&path).expect("the page");
    let (_, section) = text.split_once("\n## Behind ").expect("a heading");
    let (_, rest) = section.split_once(&format!("```{language}\n")).expect("a block");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// A gateway that trusts whom the page says, in front of `origin`.
fn gateway(page: &str, origin: &Keeper) -> Daemon {
    let toml = block(page, "toml");
    let trusted = toml.lines().find(|line| line.starts_with("trusted_proxies")).expect("the key");
    Daemon::with("User-agent: *\nDisallow: /private\n")
        .at(&origin.url())
        .set(trusted)
        .site("hosts = [\"example.org\"]")
        .start()
}

fn started(command: &mut Command, folder: Folder, port: u16) -> OuterProxy {
    let process =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    let proxy = OuterProxy { process, _folder: folder };
    let ready = within(Duration::from_secs(10), || TcpStream::connect(("127.0.0.1", port)).ok());
    assert!(ready.is_some(), "the proxy of the page does not listen");
    proxy
}

/// Sends a request through the proxy, from an address that no page trusts, with a forged chain.
fn visit(port: u16) -> Vec<u8> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    let from: SocketAddr = "127.0.0.2:0".parse().expect("an address");
    socket.bind(&from.into()).expect("an address of this host");
    socket.connect(&SocketAddr::from(([127, 0, 0, 1], port)).into()).expect("connected");
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(crate::wire::PATIENCE)).expect("a limit");
    let request = format!(
        "GET /private/page HTTP/1.1\r\nHost: example.org\r\nUser-Agent: {GPTBOT}\r\n\
         X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    rest(&mut stream)
}

#[track_caller]
fn check(gateway: &Daemon, origin: &Keeper, port: u16) {
    let answer = visit(port);
    assert_eq!(statuses(&answer), [200], "{}", answer.escape_ascii());
    let event = gateway.journal().event_of("/private/page");
    assert_eq!(event["address"], "127.0.0.2", "{event}");
    assert_eq!(
        (event["host"].as_str(), event["scheme"].as_str()),
        (Some("example.org"), Some("http")),
        "{event}"
    );
    let kept = origin.take();
    let seen = kept.iter().find(|kept| kept.request_line().contains("/private/page")).expect("forwarded");
    assert_eq!(seen.field("X-Forwarded-Host"), ["example.org"]);
    assert_eq!(seen.field("X-Forwarded-Proto"), ["http"]);
    assert!(seen.field("X-Forwarded-For")[0].ends_with("127.0.0.2, 127.0.0.1"), "{seen:?}");
}

#[test]
fn the_page_about_nginx_works() {
    let (origin, folder, port) = (Keeper::start(), Folder::new(), free_port());
    let gateway = gateway("nginx.md", &origin);
    let root = folder.path().display().to_string();
    let server = block("nginx.md", "nginx")
        .replace("listen 80;", &format!("listen 127.0.0.1:{port};"))
        .replace("127.0.0.1:8080", &gateway.address().to_string());
    let config = format!(
        "daemon off; master_process off; pid {root}/pid; events {{}}\nhttp {{\n\
         client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;\n\
         uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; access_log off;\n{server}\n}}"
    );
    let config = folder.write("nginx.conf", config);
    let _nginx =
        started(Command::new("nginx").args(["-p", &root, "-e", "stderr", "-c"]).arg(config), folder, port);
    check(&gateway, &origin, port);
}

#[test]
fn the_page_about_haproxy_works() {
    if Command::new("haproxy").arg("-v").output().is_err() {
        println!("skipped: haproxy is not installed");
        return;
    }
    let (origin, folder, port) = (Keeper::start(), Folder::new(), free_port());
    let gateway = gateway("haproxy.md", &origin);
    let config = block("haproxy.md", "haproxy")
        .replace("bind :80", &format!("bind 127.0.0.1:{port}"))
        .replace("127.0.0.1:8080", &gateway.address().to_string());
    let config = folder.write("haproxy.cfg", config);
    let _haproxy = started(Command::new("haproxy").arg("-db").arg("-f").arg(config), folder, port);
    check(&gateway, &origin, port);
}
