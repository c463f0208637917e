//! Crawlers of others before the running gateway: each slows down when it is answered 429, and has everything in the end.
//!
//! Whoever has none of them installed is told what to install.

use crate::support::{Daemon, Folder, RawOrigin};
use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

/// Requests a second that it may make, and how many pages there are beside the first.
const RATE: usize = 3;
const PAGES: usize = 15;

/// A site each of whose pages links to all the others.
fn site() -> RawOrigin {
    let links =
        (0..PAGES).fold(String::new(), |links, page| links + &format!("<a href=\"/{page}\">{page}</a>"));
    let (length, kind) = (links.len(), "text/html");
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n{links}");
    RawOrigin::answering(answer.leak())
}

/// Runs a crawler against a gateway that holds it to [`RATE`].
fn walk(name: &str, crawl: impl FnOnce(&str) -> Command) {
    let origin = site();
    let gateway = Daemon::with("User-agent: *\nDisallow: /private\n")
        .served_for_long()
        .in_mode("enforce")
        .at(&origin.url())
        .table(&format!("[crawlers.{name}]\nmode = \"enforce\"\nrate = \"{RATE}/s\""))
        .site("crawl_delay = \"enforce\"")
        .start();
    let begun = Instant::now();
    let ended = crawl(&format!("http://{}/", gateway.address())).output().expect("it runs");
    let took = begun.elapsed();
    let heads = origin.heads();
    let fetched: BTreeSet<&[u8]> =
        heads.iter().filter_map(|head| head.split(|byte| *byte == b' ').nth(1)).collect();
    assert_eq!(fetched.len(), PAGES + 1, "{ended:?}");
    let told = gateway.journal().events().iter().filter(|event| event["status"] == 429).count();
    println!("{name} was answered 429 {told} times, and had {PAGES} pages in {took:?}");
    // Without a pace it takes less than a second. One that does not wait is told dozens of times.
    assert!((1..=2 * PAGES / RATE).contains(&told), "{told}: {ended:?}");
    assert!(took >= Duration::from_secs(3), "{took:?}");
}

#[test]
fn wget_slows_down() {
    if Command::new("wget").arg("--version").output().is_err() {
        eprintln!("skipped: wget is not installed (Debian: apt-get install wget)");
        return;
    }
    let folder = Folder::new();
    walk("Wget", |start| {
        let mut wget = Command::new("wget");
        wget.args(["--recursive", "--no-proxy", "--no-config", "--retry-on-http-error=429", "--waitretry=2"]);
        wget.arg("--directory-prefix").arg(folder.path()).arg(start);
        wget
    });
}

#[test]
fn scrapy_slows_down() {
    if !Command::new("scrapy").arg("version").output().is_ok_and(|ended| ended.status.success()) {
        eprintln!("skipped: Scrapy is not installed (pip install scrapy)");
        return;
    }
    let spider = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/gateway/walk/spider.py");
    let folder = Folder::new();
    walk("Scrapy", |start| {
        let mut scrapy = Command::new("scrapy");
        scrapy.args(["runspider", spider]).env("START", start).current_dir(folder.path());
        scrapy.env("PYTHONDONTWRITEBYTECODE", "1");
        scrapy
    });
}
