//! Several servers: shared by weight, asked if they are well, left out while they are not.

use crate::server::{OriginManner, TestOrigin};
use crate::support::agents::CHROME;
use crate::support::{Daemon, Folder, configured, get, until};
use std::collections::BTreeMap;

fn gateway(origin: &str) -> Daemon {
    configured(&format!("[[sites]]\nrobots = \"robots.txt\"\norigin = {origin}\n"))
        .file("robots.txt", "User-agent: *\nDisallow: /private\n")
        .start()
}

/// Which server answered how many of `count` requests.
fn answered(gateway: &Daemon, count: usize) -> BTreeMap<String, usize> {
    let mut client = gateway.client();
    let mut names = BTreeMap::new();
    for _ in 0..count {
        let response = client.send(&get("/page").by(CHROME));
        assert_eq!(response.status, 200, "{}", response.text());
        let name = response.text().split(':').next().unwrap_or_default().to_owned();
        *names.entry(name).or_insert(0) += 1;
    }
    names
}

#[test]
fn requests_are_shared_by_weight_over_kept_connections() {
    let (one, three) = (TestOrigin::start("one"), TestOrigin::start("three"));
    let gateway =
        gateway(&format!("{{ servers = [\"{}\", {{ url = \"{}\", weight = 3 }}] }}", one.url, three.url));
    let counts = answered(&gateway, 80);
    assert_eq!(counts, BTreeMap::from([("one".to_owned(), 20), ("three".to_owned(), 60)]));
    assert_eq!((one.connections(), three.connections()), (1, 1), "connections are kept");
}

#[test]
fn who_cannot_be_connected_to_costs_no_request() {
    let well = TestOrigin::start("well");
    let gateway = gateway(&format!("{{ servers = [\"http://127.0.0.1:9\", \"{}\"] }}", well.url));
    assert_eq!(answered(&gateway, 20), BTreeMap::from([("well".to_owned(), 20)]));
}

#[test]
fn a_sick_server_gets_no_requests_until_it_is_well_again() {
    let (sick, well) = (TestOrigin::start("sick"), TestOrigin::start("well"));
    let health =
        "health = { check = \"http\", path = \"/health\", interval = \"100ms\", timeout = \"500ms\" }";
    let origin = format!(
        "{{ servers = [\"{}\", \"{}\"], {health}, timeouts = {{ read = \"300ms\" }} }}",
        sick.url, well.url
    );
    let gateway = gateway(&origin);
    assert_eq!(answered(&gateway, 10).len(), 2);
    for manner in [OriginManner::Sick, OriginManner::Frozen, OriginManner::Resets] {
        sick.behaves(manner);
        gateway.log.line_with(&["is unhealthy", &sick.url]);
        until("the sick server is left out", || (answered_by_well(&gateway, 6)).then_some(()));
        sick.behaves(OriginManner::Well);
        until("it is asked again", || (answered(&gateway, 10).len() == 2).then_some(()));
    }
    assert!(sick.lines().iter().any(|line| line == "GET /health HTTP/1.1"), "{:?}", sick.lines());
}

fn answered_by_well(gateway: &Daemon, count: usize) -> bool {
    (0..count).all(|_| gateway.send(&get("/page").by(CHROME)).text().starts_with("well"))
}

#[test]
fn a_check_of_connections_alone() {
    let well = TestOrigin::start("well");
    let health = "health = { check = \"tcp\", interval = \"100ms\", failures = 1 }";
    let gateway = gateway(&format!("{{ servers = [\"http://127.0.0.1:9\", \"{}\"], {health} }}", well.url));
    gateway.log.line_with(&["is unhealthy", "http://127.0.0.1:9"]);
    assert_eq!(answered(&gateway, 20), BTreeMap::from([("well".to_owned(), 20)]));
}

/// A check may be wrong, and an error page helps nobody.
#[test]
fn when_none_is_well_all_get_requests() {
    let only = TestOrigin::start("only");
    let health = "health = { check = \"http\", interval = \"100ms\", failures = 1 }";
    only.behaves(OriginManner::Sick);
    let gateway = gateway(&format!("{{ servers = [\"{}\"], {health} }}", only.url));
    gateway.log.line_with(&["is unhealthy"]);
    only.behaves(OriginManner::Well);
    assert_eq!(answered(&gateway, 3).len(), 1);
}

#[test]
fn a_server_on_a_unix_socket() {
    let folder = Folder::new();
    let server = TestOrigin::start_at("socket", &folder.join("app.sock"));
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n").at(&server.url).start();
    assert_eq!(answered(&gateway, 5), BTreeMap::from([("socket".to_owned(), 5)]));
    assert_eq!(server.connections(), 1, "connections are kept");
}

#[test]
fn a_socket_that_is_not_there_is_a_502() {
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n").at("unix:/nowhere/app.sock").start();
    let response = gateway.send(&get("/page").by(CHROME));
    assert_eq!(response.status, 502, "{}", response.text());
    assert!(!response.text().contains("nowhere"), "{}", response.text());
    assert_eq!(gateway.send(&get("/robots.txt").by(CHROME)).status, 200);
}

#[test]
fn what_cannot_be_an_origin_is_told_with_its_place() {
    for (origin, said) in [
        ("{ servers = [] }", "an origin without `servers`"),
        ("{ servers = [\"nowhere\"] }", "invalid origin `nowhere`"),
        ("{ servers = [{ url = \"http://a\", weight = 1000 }] }", "write a number from 0 to 100"),
        ("{ servers = [{ url = \"http://a\", weight = 0 }] }", "all servers have weight 0"),
        ("{ servers = [{ url = \"http://a\", wait = 1 }] }", "unknown key `wait`; the keys here are"),
        ("{ servers = [\"http://a\"], sever = 1 }", "unknown key `sever`; did you mean `servers`"),
        ("{ servers = [{ url = \"http://a\", server_name = \"b\" }] }", "needs a name and an https:// URL"),
        ("{ servers = [\"http://a\"], health = { check = \"http\", path = \"x\" } }", "invalid path `x`"),
        ("{ servers = [\"http://a\"], health = { failures = 0 } }", "count from 1"),
        ("7", "a URL such as"),
        ("\"unix:app.sock\"", "write the whole path, of 107 bytes at most"),
        ("{ servers = [\"https://127.0.0.1:9\"], ca = \"nothing.pem\" }", "cannot read the certificates"),
        (
            "{ servers = [\"https://127.0.0.1:9\"], ca = \"robots.txt\" }",
            "there is no certificate in this file",
        ),
    ] {
        let builder = configured(&format!("[[sites]]\nrobots = \"robots.txt\"\norigin = {origin}\n"))
            .file("robots.txt", "User-agent: *\n");
        let ended = builder.fails_to_start().exits(2);
        assert!(ended.stderr.contains(said), "{origin}: {}", ended.stderr);
        let place = if said.contains("certificate") { ".pem" } else { "gateway.toml:3:" };
        let place = if origin.contains("robots.txt") { "robots.txt" } else { place };
        assert!(ended.stderr.contains(place), "{origin}: {}", ended.stderr);
    }
}
