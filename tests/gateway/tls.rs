//! TLS towards clients: which certificate is shown, how it is renewed, and what TLS changes for a request.

use crate::limits::{counted, is_counted};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::tls::{Authority, HTTP_1, HTTP_2, LISTENER, Offer, exchange, tls_address};
use crate::support::{Builder, Daemon, Nginx, RawOrigin, configured, get, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const PAGE: &str = "GET /page HTTP/1.1\r\nHost: a.example\r\nUser-Agent: Mozilla/5.0\r\n\r\n";

const VERSIONS: [&[&rustls::SupportedProtocolVersion]; 2] =
    [&[&rustls::version::TLS12], &[&rustls::version::TLS13]];

fn site(authority: &Authority, origin: &str) -> Builder {
    let builder = Daemon::with(ROBOTS).at(origin).table(LISTENER);
    authority.save(builder.folder(), "site", &["a.example"]);
    builder
}

#[test]
fn clients_of_both_versions_are_served_and_told_their_protocol() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let address = tls_address(&gateway);
    for versions in VERSIONS {
        let offer = Offer { versions, ..HTTP_1 };
        let mut stream = authority.connect(address, "a.example", offer).expect("a handshake");
        assert_eq!(stream.conn.alpn_protocol(), Some(b"http/1.1".as_slice()));
        for _ in 0..2 {
            assert!(exchange(&mut stream, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
        }
    }
    let stream = authority.connect(address, "a.example", HTTP_2).expect("a handshake");
    assert_eq!(stream.conn.alpn_protocol(), Some(b"h2".as_slice()));
    let without = Offer { protocols: &[], ..HTTP_1 };
    let mut stream = authority.connect(address, "a.example", without).expect("a handshake");
    assert!(exchange(&mut stream, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
}

/// As systemd hands over what `LoadCredential=` names.
#[test]
fn a_key_can_be_handed_over_by_the_service_manager() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let text = format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n[[certificates]]\ncertificate = \"site.crt\"\n\
         key = \"credential:tls.key\"\n[[sites]]\norigin = \"{}\"\n",
        origin.url()
    );
    let scene = || {
        let builder = configured(&text);
        authority.save(builder.folder(), "site", &["a.example"]);
        builder
    };
    let ended = scene().fails_to_start().exits(2);
    assert!(
        ended.stderr.contains("credential:tls.key: cannot read the key: no service manager hands it over")
            && ended.stderr.contains("LoadCredential=tls.key:FILE"),
        "{}",
        ended.stderr
    );
    let builder = scene();
    let handed = builder.folder().join("handed");
    std::fs::create_dir(&handed).expect("created");
    std::fs::rename(builder.folder().join("site.key"), handed.join("tls.key")).expect("moved");
    let gateway = builder.variable("CREDENTIALS_DIRECTORY", handed.to_str().expect("UTF-8")).start();
    let mut stream = authority.connect(tls_address(&gateway), "a.example", HTTP_1).expect("a handshake");
    assert!(exchange(&mut stream, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
}

#[test]
fn tls_1_1_is_not_spoken() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut stream = TcpStream::connect(tls_address(&gateway)).expect("connected");
    // A ClientHello of version 1.1 with one cipher suite (RFC 4346 §7.4.1.2), and the extensions without which
    // it would be refused for another reason: signature_algorithms, supported_groups (RFC 8446 §4.2).
    let extensions = [0, 13, 0, 4, 0, 2, 4, 3, 0, 10, 0, 4, 0, 2, 0, 23, 0, 11, 0, 2, 1, 0];
    let hello = [[3, 2].as_slice(), &[7; 32], &[0, 0, 2, 0xc0, 0x2f, 1, 0], &[0, 22], &extensions].concat();
    let length = u8::try_from(hello.len()).expect("short");
    let record = [[22, 3, 1, 0, length + 4, 1, 0, 0, length].as_slice(), &hello].concat();
    stream.write_all(&record).expect("sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    // An alert (21), fatal (2), protocol_version (70) (RFC 5246 §7.2).
    assert!(answer.first() == Some(&21) && answer.ends_with(&[2, 70]), "{answer:?}");
    is_counted(&gateway, "tls-failed", 1);
}

#[test]
fn the_host_that_is_asked_for_decides_which_certificate_is_shown() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let builder = configured(&format!(
        "[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true\n{}[[sites]]\norigin = \"{}\"\n",
        ["one", "two", "three"].map(pair_of).concat(),
        origin.url()
    ));
    authority.save(builder.folder(), "one", &["one.example"]);
    authority.save(builder.folder(), "two", &["*.two.example"]);
    authority.save(builder.folder(), "three", &["three.example", "drei.example"]);
    let gateway = builder.start();
    let address = tls_address(&gateway);
    // The client verifies the name, so that a handshake says which one it was shown.
    for host in ["one.example", "www.two.example", "three.example", "drei.example"] {
        assert!(authority.connect(address, host, HTTP_1).is_ok(), "{host}");
    }
    for host in ["two.example", "four.example"] {
        assert!(authority.connect(address, host, HTTP_1).is_err(), "{host}");
    }
}

fn pair_of(name: &str) -> String {
    format!("[[certificates]]\ncertificate = \"{name}.crt\"\nkey = \"{name}.key\"\n")
}

#[test]
fn a_renewed_certificate_is_shown_at_once_and_nobody_notices() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let address = tls_address(&gateway);
    let mut old = authority.connect(address, "a.example", HTTP_1).expect("a handshake");
    exchange(&mut old, PAGE).expect("an answer");

    authority.save(gateway.folder().path(), "site", &["a.example", "b.example"]);
    until("the new certificate is shown", || authority.connect(address, "b.example", HTTP_1).ok());
    assert!(exchange(&mut old, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
}

#[test]
fn a_bad_pair_keeps_the_old_one_and_is_told_with_its_path() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let address = tls_address(&gateway);
    let certificate = gateway.folder().join("site.crt");
    let good = std::fs::read(&certificate).expect("the certificate");
    let (foreign, _) = authority.pair(&["a.example"]);
    for bad in ["", "nothing of the kind", foreign.as_str()] {
        rename_over(&certificate, bad);
        let ended = gateway.ctl(&["reload", "--format", "json"]).exits(1);
        let report = ended.json();
        assert_eq!(report["result"], "refused", "{report}");
        let path = report["errors"][0]["path"].as_str().expect("a path");
        assert!(path.ends_with("site.crt") || path.ends_with("site.key"), "{report}");
        assert!(authority.connect(address, "a.example", HTTP_1).is_ok());
    }
    gateway.log.line_with(&["site.crt", "no certificate"]);
    // The rest of the policy does not wait for it.
    rename_over(&gateway.robots(), "User-agent: *\nDisallow: /other\n");
    until("the new robots.txt is in force", || {
        gateway.send(&get("/robots.txt")).text().contains("/other").then_some(())
    });
    rename_over(&certificate, good);
    gateway.ctl(&["reload"]).exits(0);
}

#[test]
fn what_cannot_be_shown_is_told_before_the_start() {
    let authority = Authority::new();
    let builder = site(&authority, "http://127.0.0.1:9");
    let (_, key) = authority.pair(&["a.example"]);
    std::fs::write(builder.folder().join("site.key"), key).expect("written");
    let ended = builder.fails_to_start().exits(2);
    assert!(ended.stderr.contains("site.key: the key does not belong to"), "{ended:?}");
    std::fs::remove_file(builder.folder().join("site.crt")).expect("removed");
    let ended = builder.fails_to_start().exits(2);
    assert!(ended.stderr.contains("site.crt: cannot read the certificate"), "{ended:?}");
    let without = Daemon::with(ROBOTS).table("[[listeners]]\naddress = \"127.0.0.1:0\"\ntls = true");
    let ended = without.fails_to_start().exits(2);
    assert!(ended.stderr.contains("gateway.toml:2:1: a listener with `tls = true`"), "{ended:?}");
}

#[test]
fn the_scheme_is_known_to_the_origin_and_the_journal() {
    let (authority, origin) = (Authority::new(), RawOrigin::start());
    let gateway = site(&authority, &origin.url()).start();
    let mut stream = authority.connect(tls_address(&gateway), "a.example", HTTP_1).expect("a handshake");
    let request = format!("GET /private HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {GPTBOT}\r\n\r\n");
    exchange(&mut stream, &request).expect("an answer");
    let heads = String::from_utf8_lossy(&origin.heads().concat()).to_ascii_lowercase();
    assert!(heads.contains("x-forwarded-proto: https\r\n"), "{heads}");
    assert_eq!(gateway.journal().event_of("/private")["scheme"], "https");
}

#[test]
fn plain_requests_are_sent_to_https_where_the_site_wants_that() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).site("redirect_https = true").start();
    let sent = gateway.send(&get("/page?q=1&r=%20").by(CHROME).for_host("a.example:8080"));
    assert_eq!((sent.status, sent.header("Location")), (308, Some("https://a.example/page?q=1&r=%20")));
    let bytes = gateway.send(&get(b"/caf\xc3\xa9".as_slice()).by(CHROME).for_host("a.example"));
    if bytes.status == 308 {
        assert_eq!(bytes.header("Location"), Some("https://a.example/caf%C3%A9"));
    }
    for target in ["/robots.txt", "//robots.txt", "/%72obots.txt"] {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 200, "{target}");
    }
    gateway.send(&get("/.well-known/acme-challenge/token").by(CHROME)).came_from_origin();
    for target in
        ["/.well-known/acme-challenge/../../account", "/.well-known/acme-challenge/..%2f..%2faccount"]
    {
        assert_eq!(gateway.send(&get(target).by(CHROME)).status, 308, "{target}");
    }
    let mut stream = authority.connect(tls_address(&gateway), "a.example", HTTP_1).expect("a handshake");
    assert!(exchange(&mut stream, PAGE).expect("an answer").starts_with("HTTP/1.1 200"));
}

#[test]
fn garbage_and_silence_instead_of_a_handshake_have_an_end_and_are_counted() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url())
        .table("[timeouts]\ntls_handshake = \"1s\"\nclient_header = \"1s\"")
        .start();
    let address = tls_address(&gateway);
    let mut garbage = TcpStream::connect(address).expect("connected");
    garbage.write_all(&[b'x'; 4_096]).expect("sent");
    let _ = garbage.read_to_end(&mut Vec::new());
    let start = Instant::now();
    // The beginning of a handshake record, and nothing more.
    let mut half = TcpStream::connect(address).expect("connected");
    half.write_all(&[22, 3, 1, 2, 0, 1]).expect("sent");
    half.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    let _ = half.read_to_end(&mut Vec::new());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    is_counted(&gateway, "tls-failed", 2);
    // A handshake, and then nothing.
    let mut idle = authority.connect(address, "a.example", HTTP_1).expect("a handshake");
    let start = Instant::now();
    let _ = idle.read_to_end(&mut Vec::new());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    is_counted(&gateway, "silent", 1);
}

#[test]
fn no_request_fails_while_certificates_change() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let gateway = site(&authority, &origin.url()).start();
    let address = tls_address(&gateway);
    let (stop, served) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let mut stream = authority.connect(address, "a.example", HTTP_1).expect("a handshake");
                    for _ in 0..5 {
                        let answer = exchange(&mut stream, PAGE).expect("an answer");
                        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                        served.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for _ in 0..20 {
            authority.save(gateway.folder().path(), "site", &["a.example"]);
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let served = served.into_inner();
    println!("{served} requests were answered while 20 certificates came, none failed");
    assert!(served > 50);
    assert_eq!(counted(&gateway, "tls-failed"), 0);
}
