//! Which site a request belongs to: exact host, longest wildcard, default, none (421).

use crate::support::agents::{CHROME, GPTBOT};
use crate::support::origin::free_port;
use crate::support::{Client, Daemon, Nginx, configured, get, until};
use std::fmt::Write as _;

fn rules(name: &str) -> String {
    format!("User-agent: *\nDisallow: /{name}\n")
}

/// Five sites with their own rules; `rest` is appended to the configuration.
fn sites(origin: &Nginx, rest: &str) -> Daemon {
    let mut config = "mode = \"enforce\"\n".to_owned();
    let hosts = [
        ("exact", "\"shop.example.org\", \"Example.COM.\""),
        ("below", "\"*.example.org\""),
        ("deeper", "\"*.dev.example.org\""),
        ("unicode", "\"b\u{fc}cher.example\""),
        ("address", "\"[::1]\", \"192.0.2.1\""),
    ];
    for (name, hosts) in hosts {
        write!(config, "[[sites]]\nhosts = [{hosts}]\norigin = \"[ORIGIN]\"\nrobots = \"{name}.txt\"\n")
            .expect("a String takes everything");
    }
    let mut gateway = configured(&(config + rest)).in_front_of(origin).file("default.txt", rules("default"));
    for (name, _) in hosts {
        gateway = gateway.file(&format!("{name}.txt"), rules(name));
    }
    gateway.start()
}

const CASES: [(&str, &str); 20] = [
    ("shop.example.org", "exact"),
    ("SHOP.Example.ORG", "exact"),
    ("shop.example.org:8443", "exact"),
    ("shop.example.org.", "exact"),
    ("shop.example.org.:80", "exact"),
    ("example.com", "exact"),
    ("www.example.org", "below"),
    ("a.b.example.org", "below"),
    ("dev.example.org", "below"),
    ("x.shop.example.org", "below"),
    ("www.dev.example.org", "deeper"),
    ("a.b.dev.example.org:80", "deeper"),
    ("xn--bcher-kva.example", "unicode"),
    ("XN--BCHER-KVA.example.", "unicode"),
    ("192.0.2.1", "address"),
    ("192.0.2.1:8080", "address"),
    ("[::1]", "address"),
    ("[::1]:8080", "address"),
    ("example.org", ""),
    ("notexample.org", ""),
];

#[test]
fn a_host_finds_its_site_and_its_rules() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    let mut client = gateway.client();
    for (host, site) in CASES {
        let robots = client.send(&get("/robots.txt").for_host(host).by(GPTBOT));
        if site.is_empty() {
            assert_eq!(robots.status, 421, "{host}");
            continue;
        }
        assert_eq!((robots.status, robots.text()), (200, rules(site)), "{host}");
        let refused = client.send(&get(format!("/{site}")).for_host(host).by(GPTBOT));
        assert_eq!(refused.status, 403, "{host}");
        client.send(&get("/default").for_host(host).by(GPTBOT)).came_from_origin();
    }
}

#[test]
fn without_a_default_site_an_unknown_host_is_misdirected() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    for host in ["other.example", "example.org", "localhost", "127.0.0.1"] {
        let response = gateway.send(&get("/").for_host(host).by(CHROME));
        assert_eq!(response.status, 421, "{host}");
        assert_eq!(response.header("Content-Length"), Some(response.body.len().to_string().as_str()));
    }
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn the_default_site_takes_every_other_host() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"default.txt\"\n");
    let mut client = gateway.client();
    for (host, site) in CASES {
        let site = if site.is_empty() { "default" } else { site };
        let refused = client.send(&get(format!("/{site}")).for_host(host).by(GPTBOT));
        assert_eq!(refused.status, 403, "{host}");
    }
    for host in ["other.example", "127.0.0.1"] {
        assert_eq!(client.send(&get("/default").for_host(host).by(GPTBOT)).status, 403, "`{host}`");
    }
}

#[test]
fn the_journal_and_the_refusal_name_the_site_as_configured() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    let host = "Shop.EXAMPLE.org.:8080";
    let refused = gateway.send(&get("/exact").for_host(host).by(GPTBOT).with("Accept", "application/json"));
    let robots = refused.json()["robots"].as_str().expect("an address").to_owned();
    assert!(robots.ends_with("://shop.example.org/robots.txt"), "{robots}");
    let event = gateway.journal().event_of("/exact");
    assert_eq!(
        (event["site"].as_str(), event["host"].as_str()),
        (Some("shop.example.org"), Some("shop.example.org"))
    );
}

#[test]
fn the_origin_is_given_the_host_that_the_client_asked_for() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    let response = gateway.send(&get("/page").for_host("www.example.org:8080").by(CHROME));
    assert!(
        response.came_from_origin().text().contains("\nhost: www.example.org:8080\n"),
        "{}",
        response.text()
    );
}

#[test]
fn sites_have_origins_of_their_own() {
    let (first, second) = (Nginx::start(), Nginx::start());
    let table = |host: &str, origin: &str| {
        format!("[[sites]]\nhosts = [\"{host}\"]\norigin = \"{origin}\"\nrobots = {{ from = \"none\" }}\n")
    };
    let gateway =
        configured(&[table("one.example", &first.url()), table("two.example", &second.url())].concat())
            .start();
    gateway.send(&get("/1").for_host("one.example").by(CHROME)).came_from_origin();
    gateway.send(&get("/2").for_host("two.example").by(CHROME)).came_from_origin();
    assert_eq!((first.received(), second.received()), (vec!["GET /1".to_owned()], vec!["GET /2".to_owned()]));
}

#[test]
fn an_absolute_target_names_the_host() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    // RFC 9112 §3.2.2: the Host field is ignored beside an absolute-form target.
    let request = get("http://shop.example.org/exact").for_host("www.example.org").by(GPTBOT);
    let response = gateway.send(&request);
    assert!(matches!(response.status, 400 | 403), "{response:?}");
    let request = get("http://shop.example.org/exact").for_host("shop.example.org").by(GPTBOT);
    assert_eq!(gateway.send(&request).status, 403);
}

#[test]
fn a_request_without_a_host_does_no_harm() {
    let origin = Nginx::start();
    let gateway = sites(&origin, "");
    // RFC 9112 §3.2: 400 for HTTP/1.1 without Host.
    let response = gateway.send(&get("/").without_host().by(CHROME));
    assert!(matches!(response.status, 400 | 421), "{response:?}");
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn the_gateway_can_listen_on_several_addresses() {
    let origin = Nginx::start();
    let second = free_port();
    let gateway = Daemon::with(rules("x")).in_front_of(&origin).arg("--listen").arg("127.0.0.1:0");
    let gateway = gateway.arg("--listen").arg(&format!("127.0.0.1:{second}")).start();
    gateway.send(&get("/").by(CHROME)).came_from_origin();
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], second));
    let mut client = until("the second address listens", || Client::try_to(address).ok());
    client.send(&get("/").by(CHROME)).came_from_origin();
}
