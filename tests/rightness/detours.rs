//! No field of a client has an origin serve another page than the one that was judged.
//!
//! `real_servers` (`make readings`) asks gunicorn and Daphne, which believe such fields as they come.

use crate::h2::{H2Probe, ProbeOutcome, site, with};
use crate::keeper::Keeper;
use crate::support::agents::GPTBOT;
use crate::support::http2::{END_HEADERS, END_STREAM, HEADERS, field, frame};
use crate::support::origin::free_port;
use crate::support::tls::{Authority, tls_address};
use crate::support::{Builder, Daemon, get, until};
use robots_gateway::http::claims::{DETOUR_PREFIXES, DETOURS};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// What nobody is believed in, and what strangers are not.
fn names() -> Vec<String> {
    let detours = DETOURS.map(|(name, _)| name.to_owned()).into_iter();
    let longer = DETOUR_PREFIXES.map(|(prefix, _)| format!("{prefix}mapping"));
    let of_proxies = ["x-forwarded-prefix", "x-forwarded-path", "x-original-uri"].map(str::to_owned);
    detours.chain(longer).chain(of_proxies).collect()
}

/// `name` as clients of HTTP/1 could write it.
fn spellings(name: &str) -> [String; 5] {
    let capital = name.split('-').map(|word| word[..1].to_uppercase() + &word[1..]);
    let capital: Vec<String> = capital.collect();
    [
        name.to_owned(),
        capital.join("-"),
        name.replace('-', "_").to_uppercase(),
        name.replace('-', "."),
        name.replacen('-', "~", 1),
    ]
}

/// The names of `sent` that the origin was sent.
fn left<'a>(origin: &Keeper, sent: &'a [String]) -> Vec<&'a str> {
    let kept = origin.take();
    assert_eq!(kept.len(), 1, "{kept:?}");
    sent.iter().map(String::as_str).filter(|name| !kept[0].field(name).is_empty()).collect()
}

#[test]
fn none_reaches_the_origin_over_http1() {
    for (setting, is_trusted) in [("", false), ("trusted_proxies = [\"127.0.0.1\"]", true)] {
        let origin = Keeper::start();
        let gateway = Daemon::with(ROBOTS).at(&origin.url()).set(setting).start();
        let names = names()
            .into_iter()
            .filter(|name| !is_trusted || !name.contains("-forwarded-") && name != "x-original-uri");
        let sent: Vec<String> = names.flat_map(|name| spellings(&name)).collect();
        // A head has a hundred fields at most.
        for sent in sent.chunks(50) {
            let request = sent
                .iter()
                .fold(get("/open/private/x").by(GPTBOT), |request, name| request.with(name, "/open"));
            gateway.send(&request);
            assert_eq!(left(&origin, sent), [""; 0], "trusted: {is_trusted}");
        }
    }
}

#[test]
fn none_reaches_the_origin_over_http2() {
    let (authority, origin) = (Authority::new(), Keeper::start());
    let gateway = site(&authority, &origin.url()).start();
    let sent: Vec<String> =
        names().iter().flat_map(|name| spellings(name)).map(|name| name.to_lowercase()).collect();
    for sent in sent.chunks(50) {
        let fields: Vec<(&str, &str)> = sent.iter().map(|name| (name.as_str(), "/open")).collect();
        let mut probe = H2Probe::to(&authority, tls_address(&gateway));
        probe.send(&with(&fields));
        assert_eq!(probe.came(1, true), ProbeOutcome::Answer(200));
        assert_eq!(left(&origin, sent), [""; 0]);
    }
}

#[test]
fn one_that_the_operator_keeps_reaches_the_origin() {
    let origin = Keeper::start();
    let keeping = |setting: &str| Daemon::with(ROBOTS).at(&origin.url()).set(setting);
    let gateway = keeping("keep_fields = [\"X-HTTP-Method-Override\", \"Script-Name\", \"X-VHM-*\"]").start();
    let sent = ["X-HTTP-Method-Override", "SCRIPT_NAME", "X-Vhm-Root", "Path-Info", "X-Script-Name"]
        .map(str::to_owned);
    let asks = || sent.iter().fold(get("/page").by(GPTBOT), |request, name| request.with(name, "PUT"));
    gateway.send(&asks());
    assert_eq!(left(&origin, &sent), ["X-HTTP-Method-Override", "SCRIPT_NAME", "X-Vhm-Root"]);
    // What is to be removed is removed, kept or not.
    let both =
        keeping("keep_fields = [\"Script-Name\", \"Path-Info\"]\nremove_fields = [\"Script-*\"]").start();
    both.send(&asks());
    assert_eq!(left(&origin, &sent), ["Path-Info"]);
    let ended = keeping("keep_fields = [\"Path-Info\", \"X-Forwarded-*\"]").fails_to_start().exits(2);
    assert!(
        ended.stderr.contains("gateway.toml:1:29: `X-Forwarded-*` would keep `x-forwarded-for` of clients"),
        "{ended:?}"
    );
}

/// A server of `PyPI` with the application of `detours.py`, ended on drop.
struct PythonServer(Child, u16);

impl PythonServer {
    fn start(arguments: impl Fn(u16) -> Vec<String>, program: &str, application: &str) -> Self {
        let port = free_port();
        let mut command = Command::new(program);
        command
            .args(arguments(port))
            .arg(format!("detours:{application}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        command.stderr(Stdio::null()).current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rightness"));
        command.env("PYTHONPATH", ".").env("PYTHONDONTWRITEBYTECODE", "1");
        let child = command.spawn();
        let child =
            child.unwrap_or_else(|error| panic!("cannot run {program} (pip install {program}): {error}"));
        until(program, || TcpStream::connect(("127.0.0.1", port)).ok());
        Self(child, port)
    }
}

impl Drop for PythonServer {
    fn drop(&mut self) {
        // gunicorn's workers end with it only if it is asked to.
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "make readings: it needs gunicorn and Daphne"]
fn real_servers() {
    let gunicorn = |port| vec!["-b".to_owned(), format!("127.0.0.1:{port}")];
    let daphne = |port: u16| vec!["-b".to_owned(), "127.0.0.1".to_owned(), "-p".to_owned(), port.to_string()];
    let gunicorn = PythonServer::start(gunicorn, "gunicorn", "wsgi");
    let daphne = PythonServer::start(daphne, "daphne", "asgi");
    let authority = Authority::new();
    for (server, name) in [(&gunicorn, "SCRIPT_NAME"), (&daphne, "Daphne-Root-Path")] {
        let origin = format!("http://127.0.0.1:{}", server.1);
        let asks = get("/open/private/x").by(GPTBOT).with(name, "/open");
        let kept = enforcing(&authority, &origin).set(&format!("keep_fields = [\"{name}\"]")).start();
        assert_eq!(kept.send(&asks).text(), "/private/x", "{name} does nothing here: the rest shows nothing");
        let gateway = enforcing(&authority, &origin).start();
        assert_eq!(gateway.send(&asks).text(), "/open/private/x", "{name} over HTTP/1.1");
        assert_eq!(gateway.send(&get("/private/x").by(GPTBOT)).status, 403);
        let head = [
            (":method", "GET"),
            (":scheme", "https"),
            (":authority", "a.example"),
            (":path", "/open/private/x"),
        ];
        let lower = name.to_lowercase();
        let fields = [&head[..], &[("user-agent", GPTBOT), (lower.as_str(), "/open")]].concat();
        let list: Vec<u8> = fields.iter().flat_map(|(name, value)| field(name, value)).collect();
        let mut probe = H2Probe::to(&authority, tls_address(&gateway));
        probe.send(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &list));
        assert_eq!(probe.came(1, true), ProbeOutcome::Answer(200), "{name} over HTTP/2");
        probe.finish(1);
        assert_eq!(probe.text(), "/open/private/x", "{name} over HTTP/2");
    }
}

fn enforcing(authority: &Authority, origin: &str) -> Builder {
    site(authority, origin).in_mode("enforce")
}
