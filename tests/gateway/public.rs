//! `[public]`: the page that everybody may see is written by itself, and has nothing in it that is nobody else's business.

use crate::support::agents::GPTBOT;
use crate::support::{Daemon, Nginx, get, until};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn the_page_its_feed_and_its_badge_are_written_without_addresses_and_targets() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: GPTBot\nDisallow: /somebody\n").served_for_long();
    let mut gateway = builder.table("[public]\nfolder = \"public\"").in_front_of(&origin).start();
    let file = |gateway: &Daemon, name: &str| {
        fs::read_to_string(gateway.folder().join("public").join(name)).unwrap_or_default()
    };
    let empty =
        until("a page of nothing", || Some(file(&gateway, "index.html")).filter(|page| !page.is_empty()));
    assert!(empty.contains("No crawler has come yet"), "{empty}");
    gateway.send(&get("/somebody/private").by(GPTBOT));
    // It is written at each start; what was counted is in the store by then.
    gateway.restart();
    let page = until("GPTBot on the page", || {
        Some(file(&gateway, "index.html")).filter(|page| page.contains("GPTBot"))
    });
    let (_, section) = page.split_once("<section id=\"").unwrap_or_else(|| panic!("{page}"));
    let week = &section[..section.find('"').expect("an id")];
    assert!(week.len() == 8 && week[4..].starts_with("-W"), "{week}");
    assert!(page.contains(&format!("href=\"{week}.html\"")), "{page}");
    let one = until("the page of the week", || {
        Some(file(&gateway, &format!("{week}.html"))).filter(|page| !page.is_empty())
    });
    let feed = until("a feed", || Some(file(&gateway, "feed.atom")).filter(|feed| feed.ends_with("</feed>")));
    let badge = until("a badge", || Some(file(&gateway, "badge.svg")).filter(|badge| badge.contains("of 1")));
    for text in [&page, &one, &feed, &badge] {
        for secret in ["somebody", "127.0.0.1", "Mozilla", "openai.com"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
    // A web server of another user shows it.
    let mode = fs::metadata(gateway.folder().join("public/index.html")).expect("a page").permissions().mode();
    assert_eq!(mode & 0o777, 0o644);
}
