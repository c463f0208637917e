//! The live page: what was just counted, asked for in many ways, and a store that is not as it should be.

use crate::html::ParsedPage;
use crate::scene::Watched;
use crate::store;
use crate::support::agents::GPTBOT;
use crate::support::{Builder, Client, ClientResponse, Daemon, Nginx, get, head, until};
use std::fs;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn plain(origin: &Nginx) -> Builder {
    Daemon::with(ROBOTS).in_front_of(origin).with_notice("0s")
}

#[track_caller]
fn page(response: &ClientResponse) -> ParsedPage {
    assert_eq!(response.header("Content-Type"), Some("text/html; charset=utf-8"));
    let policy = response.header("Content-Security-Policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(response.header("X-Content-Type-Options"), Some("nosniff"));
    assert_eq!(response.header("Cache-Control"), Some("no-store"));
    let page = ParsedPage::parse(&response.text()).unwrap_or_else(|fault| panic!("{fault}"));
    let meta = page.values("content").find(|content| content.contains("default-src")).expect("a policy");
    assert!(policy.starts_with(meta), "the header says what the page says");
    assert_eq!(page.inaccessible(), Vec::<String>::new());
    page
}

#[test]
fn what_happens_is_shown_a_moment_later() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin).in_mode("enforce"));
    let mut client = watched.gateway.client();
    for _ in 0..12 {
        assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
    }
    until("the violations are shown", || {
        let response = watched.ask("/");
        (response.status == 200).then(|| page(&response)).filter(|page| page.text.contains("GPTBot 12 times"))
    });
}

#[test]
fn another_time_and_another_site_can_be_asked_for() {
    let origin = Nginx::start();
    let config = "[[sites]]\nhosts = [\"a.example\"]\norigin = \"[ORIGIN]\"\n\
                  [[sites]]\nhosts = [\"*.b.example\"]\norigin = \"[ORIGIN]\"\n";
    let builder = crate::support::configured(config).in_front_of(&origin);
    let watched = Watched::start(builder);
    watched.gateway.send(&get("/").by(GPTBOT).for_host("a.example")).came_from_origin();
    let store = watched.gateway.folder().join("state").join("store.sqlite");
    until("there is a store", || store.exists().then_some(()));
    let first =
        until("the page is there", || Some(watched.ask("/")).filter(|response| response.status == 200));
    let first = page(&first);
    let links: Vec<String> =
        first.values("href").filter(|href| href.starts_with("/?")).map(str::to_owned).collect();
    assert!(
        links.contains(&"/?since=7d".to_owned())
            && links.contains(&"/?since=24h&site=*.b.example".to_owned()),
        "{links:?}"
    );
    for link in &links {
        let response = watched.ask(link);
        assert_eq!(response.status, 200, "{link}");
        let page = page(&response);
        let current = page.of("a").filter(|link| link.iter().any(|(name, _)| name == "aria-current")).count();
        assert_eq!(current, 3, "{link} marks itself, its time and its site");
    }
    assert_eq!(watched.ask("/?since=36h").status, 200);
    assert_eq!(watched.ask("/?nothing=known&since=2h&").status, 200);
}

#[test]
fn a_wrong_question_gets_a_readable_answer() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin));
    for (target, status, says) in [
        ("/?since=", 400, "7d"),
        ("/?since=0s", 400, "7d"),
        ("/?since=%3Cscript%3E", 400, "<script>"),
        ("/?since=99999999999999999999d", 400, "7d"),
        ("/?since=400000d", 400, "7d"),
        ("/?site=%22%3E%3Cimg%20src=x%3E", 404, "\"><img src=x>"),
        ("/?site=%E2%80%AEevil", 404, "\\u{202e}evil"),
    ] {
        let response = watched.ask(target);
        assert_eq!(response.status, status, "{target}");
        assert!(page(&response).text.contains(says), "{target}: {}", response.text());
    }
    let response = Client::to(watched.admin).send(&head("/"));
    assert!(response.body.is_empty() && [200, 503].contains(&response.status));
    assert_eq!(Client::to(watched.admin).send(&crate::support::request("DELETE", "/")).status, 405);
}

#[test]
fn a_store_that_cannot_be_made_is_told_of_and_stops_nothing() {
    let origin = Nginx::start();
    let builder = plain(&origin);
    let place = builder.folder().join("state").join("store.sqlite");
    fs::create_dir_all(&place).expect("a folder where the store should be");
    let mut watched = Watched::start(builder);
    for _ in 0..3 {
        let response = watched.ask("/");
        assert_eq!(response.status, 503);
        assert!(response.header("Retry-After").is_some());
        let page = page(&response);
        assert!(page.text.contains("The store cannot be read"), "{}", page.text);
    }
    watched.gateway.send(&get("/open").by(GPTBOT)).came_from_origin();
    assert!(watched.metrics().value("robots_gateway_store_failing", &[]) > 0.5);
    watched.gateway.is_running();
}

#[test]
fn a_store_that_another_holds_is_told_of() {
    let origin = Nginx::start();
    let builder = plain(&origin);
    let folder = builder.folder().join("state");
    fs::create_dir_all(&folder).expect("a folder");
    store::ordinary(&folder);
    let connection = rusqlite::Connection::open(folder.join("store.sqlite")).expect("opened");
    // As a careless backup does: with this mode readers are locked out, too.
    connection
        .execute_batch("PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE;")
        .expect("locked");
    let watched = Watched::start(builder);
    let response = watched.ask("/");
    assert_eq!(response.status, 503);
    assert!(page(&response).text.contains("The store is busy"), "{}", response.text());
    watched.gateway.send(&get("/open").by(GPTBOT)).came_from_origin();
    connection.execute_batch("COMMIT").expect("let go");
    drop(connection);
    until("the page is back", || {
        let response = watched.ask("/");
        (response.status == 200 && page(&response).text.contains("Bytespider")).then_some(())
    });
}

#[test]
fn a_crowd_of_readers_neither_stops_the_site_nor_is_left_without_an_answer() {
    let origin = Nginx::start();
    let builder = plain(&origin);
    let folder = builder.folder().join("state");
    fs::create_dir_all(&folder).expect("a folder");
    store::crowded(&folder);
    let watched = Watched::start(builder);
    until("the page is there", || (watched.ask("/").status == 200).then_some(()));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..40)
            .map(|number| {
                let admin = watched.admin;
                scope.spawn(move || Client::to(admin).send(&get(format!("/?since={}m", 60 + number))).status)
            })
            .collect();
        let mut client = watched.gateway.client();
        for _ in 0..50 {
            client.send(&get("/open").by(GPTBOT)).came_from_origin();
        }
        assert_eq!(watched.ask("/healthz").status, 200);
        readers.into_iter().map(|reader| reader.join().expect("an answer")).collect()
    });
    assert!(statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    assert_eq!(watched.ask("/").status, 200);
}
