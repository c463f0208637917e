//! `[alerts]`: a real receiver gets one signed object for each thing that needs a look, over HTTP and over TLS.

use crate::support::agents::GPTBOT;
use crate::support::tls::Authority;
use crate::support::{Builder, Daemon, Nginx, get, until};
use ring::hmac;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\n";
const SECRET: &str = "0123456789abcdef";

/// What came: the target, the signature, and the body.
type Taken = Arc<Mutex<Vec<(String, Option<String>, Vec<u8>)>>>;

/// Takes alerts on a free port, and answers with these statuses, the last of them for ever.
pub(crate) struct AlertReceiver {
    pub(crate) address: SocketAddr,
    taken: Taken,
}

impl AlertReceiver {
    pub(crate) fn answering(
        statuses: &'static [&'static str],
        tls: Option<Arc<rustls::ServerConfig>>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let taken = Taken::default();
        let kept = Arc::clone(&taken);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let _ = match &tls {
                    None => take(socket, statuses, &kept),
                    Some(config) => {
                        let connection = rustls::ServerConnection::new(Arc::clone(config)).expect("a server");
                        take(rustls::StreamOwned::new(connection, socket), statuses, &kept)
                    }
                };
            }
        });
        Self { address, taken }
    }

    fn taken(&self) -> Vec<(String, Option<String>, Vec<u8>)> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What came of this kind.
    fn alerts(&self, kind: &str) -> Vec<Value> {
        let bodies = self.taken().into_iter().map(|(.., body)| body);
        let alerts = bodies.map(|body| serde_json::from_slice::<Value>(&body).expect("JSON"));
        alerts.filter(|alert| alert["kind"] == kind).collect()
    }

    /// Waits for the first of this kind.
    pub(crate) fn first(&self, kind: &str) -> Value {
        until(kind, || self.alerts(kind).into_iter().next())
    }
}

/// One request, read to its end and answered.
fn take(stream: impl Read + Write, statuses: &[&str], taken: &Taken) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut target, mut signature, mut length) = (String::new(), None, 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            None => line.clone_into(&mut target),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().expect("a length");
            }
            Some((name, value)) if name.eq_ignore_ascii_case("x-robots-gateway-signature") => {
                signature = Some(value.to_owned());
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let count = {
        let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.push((target, signature, body));
        taken.len()
    };
    let status = statuses.get(count - 1).or_else(|| statuses.last()).expect("a status");
    let answer = format!(
        "HTTP/1.1 {status}\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    reader.get_mut().write_all(answer.as_bytes())?;
    reader.get_mut().flush()
}

/// A gateway that tells this receiver.
fn telling(origin: &Nginx, url: &str, more: &str) -> Builder {
    Daemon::with(ROBOTS)
        .in_front_of(origin)
        .in_mode("enforce")
        .set("settle = \"0s\"")
        .table(&format!("[alerts]\nwebhook_file = \"webhook\"\nevery = \"1s\"\n{more}"))
        .file("webhook", format!("{url}\n{SECRET}\n"))
}

/// A crawler reads the rules and breaks them.
fn ignore_rules(gateway: &Daemon) {
    assert_eq!(gateway.send(&get("/robots.txt").by(GPTBOT)).status, 200);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
}

#[test]
fn a_crawler_that_begins_to_ignore_the_rules_is_told_of_once_and_signed() {
    let (origin, receiver) = (Nginx::start(), AlertReceiver::answering(&["204 No Content"], None));
    let mut gateway = telling(&origin, &format!("http://{}/hook?key=k3y", receiver.address), "").start();
    ignore_rules(&gateway);
    let alert = receiver.first("ignores-rules");
    assert_eq!((&alert["crawler"], &alert["site"]), (&"GPTBot".into(), &"default".into()), "{alert}");
    assert_eq!(alert["details"]["paths"][0]["target"], "/private", "{alert}");
    let (target, signature, body) = receiver.taken().remove(0);
    assert_eq!(target, "POST /hook?key=k3y HTTP/1.1");
    let signature = signature.expect("a signature");
    let digits = signature.strip_prefix("sha256=").expect("its name").as_bytes();
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a digit");
    let tag: Vec<u8> = digits
        .chunks(2)
        .map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).expect("a byte"))
        .collect();
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    hmac::verify(&key, &body, &tag).expect("the signature of the body");
    // More of the same, and another start, tell nothing again; a fault of a file comes after all that.
    ignore_rules(&gateway);
    gateway.restart();
    ignore_rules(&gateway);
    std::fs::write(gateway.robots(), b"\0").expect("written");
    assert!(receiver.first("refused")["text"].as_str().is_some_and(|text| text.contains("robots.txt")));
    assert_eq!(receiver.alerts("ignores-rules").len(), 1);
    let said = gateway.log.text();
    assert!(!said.contains("k3y") && !said.contains(SECRET), "{said}");
}

#[test]
fn a_receiver_that_fails_or_redirects_is_tried_again_and_delays_nobody() {
    let (origin, receiver) =
        (Nginx::start(), AlertReceiver::answering(&["307 Temporary Redirect", "200 OK"], None));
    let gateway = telling(&origin, &format!("http://{}/", receiver.address), "").start();
    ignore_rules(&gateway);
    until("a second attempt", || (receiver.taken().len() == 2).then_some(()));
    let taken = receiver.taken();
    assert!(
        taken.iter().all(|(target, ..)| target == "POST / HTTP/1.1"),
        "a redirect was followed: {taken:?}"
    );
    assert_eq!(taken[0].2, taken[1].2, "the same alert");
    assert!(gateway.log.text().contains("redirects (status 307), which is not followed"));
    // One that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = silent.local_addr().expect("a bound address");
    gateway.folder().write("webhook", format!("http://{address}/\n"));
    std::fs::write(gateway.robots(), b"\0").expect("written");
    let (_held, _) = silent.accept().expect("an alert on its way");
    let begun = Instant::now();
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).status, 403);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn a_receiver_over_tls_is_believed_by_the_certificates_that_are_named() {
    let authority = Authority::new();
    let (chain, key) = authority.pair(&["localhost"]);
    let certificate = CertificateDer::from_pem_slice(chain.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .expect("a server");
    let (origin, receiver) = (Nginx::start(), AlertReceiver::answering(&["200 OK"], Some(Arc::new(server))));
    let url = format!("https://localhost:{}/", receiver.address.port());
    let stranger = telling(&origin, &url, "").start();
    ignore_rules(&stranger);
    until("the certificate is refused", || {
        stranger.log.text().contains("its certificate is refused").then_some(())
    });
    assert!(receiver.taken().is_empty());
    let gateway = telling(&origin, &url, "ca = \"ca.pem\"\n").file("ca.pem", authority.pem()).start();
    ignore_rules(&gateway);
    assert_eq!(receiver.first("ignores-rules")["crawler"], "GPTBot");
}

#[test]
fn an_origin_that_fails_and_a_borrowed_name_are_told_of() {
    let receiver = AlertReceiver::answering(&["200 OK"], None);
    let gateway = Daemon::with(ROBOTS)
        .at("http://127.0.0.1:9")
        .set("trusted_proxies = [\"127.0.0.1\"]\ncatalogue = \"crawlers.toml\"")
        .table("[alerts]\nwebhook_file = \"webhook\"\nevery = \"1s\"\n[verify]\ndns = false\nranges = { ExampleBot = [\"ranges.txt\"] }\n")
        .file("crawlers.toml", "[[crawler]]\nname = \"ExampleBot\"\ntokens = [\"ExampleBot\"]\n")
        .file("ranges.txt", "192.0.2.0/24\n")
        .file("webhook", format!("http://{}/", receiver.address))
        .start();
    for _ in 0..2 {
        let request = get("/").by("ExampleBot/1.0").with("X-Forwarded-For", "8.8.8.8");
        assert_eq!(gateway.send(&request).status, 502);
    }
    let failing = receiver.first("origin-failing");
    assert_eq!(failing["details"]["server"], "http://127.0.0.1:9", "{failing}");
    let borrowed = receiver.first("impersonation");
    assert!(
        borrowed["text"].as_str().is_some_and(|text| text.starts_with("Someone is impersonating ExampleBot"))
    );
    assert!(!borrowed.to_string().contains("8.8.8"), "an address: {borrowed}");
}

#[test]
fn a_test_alert_is_sent_at_once_and_a_receiver_that_does_not_take_it_is_told_of() {
    let receiver = AlertReceiver::answering(&["204 No Content", "500 Internal Server Error"], None);
    let gateway = Daemon::with(ROBOTS)
        .at("http://127.0.0.1:9")
        .table("[alerts]\nwebhook_file = \"webhook\"\nevery = \"1h\"\n")
        .file("webhook", format!("http://{}/\n{SECRET}\n", receiver.address))
        .start();
    let file = gateway.folder().join("gateway.toml");
    let test = |format: &str| {
        gateway.ctl(&["alerts", "test", "--format", format, "--config", file.to_str().expect("UTF-8")])
    };
    let taken = test("text").exits(0);
    assert!(taken.stdout.contains("the receiver took a test alert"), "{}", taken.stdout);
    assert_eq!(receiver.alerts("test").len(), 1);
    assert!(receiver.taken()[0].1.is_some(), "it is signed");
    let refused = test("json").exits(1).json();
    assert_eq!(
        (&refused["sent"], &refused["error"]),
        (&false.into(), &"the receiver answered with status 500".into())
    );
}

#[test]
fn a_report_that_cannot_be_made_is_told_of() {
    let receiver = AlertReceiver::answering(&["200 OK"], None);
    let gateway = Daemon::with(ROBOTS)
        .at("http://127.0.0.1:9")
        .table("[alerts]\nwebhook_file = \"webhook\"\nevery = \"1s\"\n")
        .file("webhook", format!("http://{}/", receiver.address))
        .start();
    let status = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let store = status["store"]["path"].as_str().expect("a path");
    // What a later program writes is whole, and cannot be read by this one.
    let later = rusqlite::Connection::open(store).expect("the store");
    until("it is marked", || later.execute_batch("PRAGMA user_version = 99").ok());
    let failing = receiver.first("report-failing");
    assert!(
        failing["details"]["error"].as_str().is_some_and(|error| error.contains("later robots-gateway")),
        "{failing}"
    );
}

#[test]
fn a_webhook_that_is_none_is_a_fault_of_the_configuration_that_does_not_show_it() {
    let gateway = Daemon::with(ROBOTS)
        .at("http://127.0.0.1:9")
        .table("[alerts]\nwebhook_file = \"webhook\"\n")
        .file("webhook", "hooks.example.org/s3cr3t\n");
    let ended = gateway.fails_to_start().exits(2);
    assert!(ended.stderr.contains("invalid webhook: expected a URL"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("s3cr3t"), "{}", ended.stderr);
}
