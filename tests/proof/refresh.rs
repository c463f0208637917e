//! `gatewayctl crawlers refresh`, and the gateway's own timer: fetched whole, and only when good.

use crate::publisher::ListPublisher;
use crate::scene::{becomes, proof, verified};
use crate::support::agents::GPTBOT;
use crate::support::command::{Ended, ctl};
use crate::support::{Folder, Nginx, until};
use serde_json::Value;
use std::path::Path;

const GPTBOT_LIST: &str = "openai.com_gptbot.json";
const INSIDE: &str = "20.171.206.7";
const OUTSIDE: &str = "95.216.227.158";
const JSON: &str =
    r#"{"creationTime": "2020-01-01T00:00:00", "prefixes": [{"ipv4Prefix": "20.171.206.0/24"}]}"#;

/// Without a configuration: the state folder is all it needs.
fn refresh(publisher: &ListPublisher, state: &Path) -> Ended {
    let state = state.to_str().expect("UTF-8");
    let from = publisher.url();
    ctl(["crawlers", "refresh", "--from", &from, "--state-dir", state, "--format", "json"])
}

fn list<'a>(answer: &'a Value, url: &str) -> &'a Value {
    let lists = answer["lists"].as_array().expect("a list of lists");
    lists.iter().find(|list| list["url"] == url).unwrap_or_else(|| panic!("no {url} in {answer}"))
}

/// Publishes something for every URL of the catalogue.
fn publish_everything(publisher: &ListPublisher, state: &Path) {
    let answer = refresh(publisher, state).exits(1).json();
    for list in answer["lists"].as_array().expect("a list of lists") {
        assert_eq!((&list["result"], &list["ranges"]), (&"failed".into(), &Value::Null), "{list}");
        assert!(list["error"].as_str().is_some_and(|error| error.contains("404")), "{list}");
        let path = Path::new(list["path"].as_str().expect("a path"));
        let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
        publisher.publishes(name, "192.0.2.0/24\n2001:db8::/32\n");
    }
}

#[test]
fn lists_are_fetched_kept_and_asked_for_again_by_validator() {
    let (publisher, folder) = (ListPublisher::start(), Folder::new());
    publish_everything(&publisher, folder.path());
    publisher.publishes(GPTBOT_LIST, JSON);
    let answer = refresh(&publisher, folder.path()).exits(0).json();
    let gptbot = list(&answer, "https://openai.com/gptbot.json");
    assert_eq!((&gptbot["result"], &gptbot["ranges"]), (&"replaced".into(), &1.into()), "{gptbot}");
    assert!(gptbot["age_seconds"].as_u64().is_some_and(|age| age < 60), "{gptbot}");
    assert_eq!(gptbot["crawlers"], serde_json::json!(["GPTBot"]));
    let path = folder.join("ranges").join(GPTBOT_LIST);
    assert_eq!(std::fs::read_to_string(&path).expect("the list"), JSON);
    let again = refresh(&publisher, folder.path()).exits(0).json();
    assert_eq!(list(&again, "https://openai.com/gptbot.json")["result"], "unchanged");
    let validators = publisher.validators(GPTBOT_LIST);
    assert!(validators.len() == 3 && validators[1].is_none() && validators[2].is_some(), "{validators:?}");
    // Changed by hand, it is not what the validator stands for.
    std::fs::write(&path, "192.0.2.1\n").expect("the list is ours");
    refresh(&publisher, folder.path()).exits(0);
    assert_eq!(publisher.validators(GPTBOT_LIST).last(), Some(&None));
    assert_eq!(std::fs::read_to_string(&path).expect("the list"), JSON);
}

#[test]
fn what_is_no_list_replaces_none() {
    let (publisher, folder) = (ListPublisher::start(), Folder::new());
    publish_everything(&publisher, folder.path());
    publisher.publishes(GPTBOT_LIST, JSON);
    refresh(&publisher, folder.path()).exits(0);
    let path = folder.join("ranges").join(GPTBOT_LIST);
    let endless = "192.0.2.0/24\n".repeat(2_000_000);
    for (bad, expected) in [
        ("<!doctype html>\n<title>Sign in</title>", "a web page"),
        ("", "no address range"),
        ("{\"prefixes\": [", "line 1"),
        ("0.0.0.0/0\n", "a large part of the internet"),
        (endless.as_str(), ""),
    ] {
        publisher.publishes(GPTBOT_LIST, bad);
        let answer = refresh(&publisher, folder.path()).exits(1).json();
        let gptbot = list(&answer, "https://openai.com/gptbot.json");
        assert_eq!((&gptbot["result"], &gptbot["ranges"]), (&"failed".into(), &1.into()), "{gptbot}");
        assert!(gptbot["error"].as_str().is_some_and(|error| error.contains(expected)), "{gptbot}");
        assert_eq!(std::fs::read_to_string(&path).expect("the list"), JSON);
    }
    publisher.withdraws(GPTBOT_LIST);
    let state = folder.path().to_str().expect("UTF-8");
    let text = ctl(["crawlers", "refresh", "--from", &publisher.url(), "--state-dir", state]).exits(1).stdout;
    let line = text.lines().find(|line| line.contains("gptbot.json")).expect("a line");
    assert!(line.starts_with("failed") && line.contains("1 range,") && line.contains("404"), "{line}");
}

#[test]
fn a_running_gateway_notices_fetched_lists() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    let gateway = verified(&origin, "dns = false").start();
    assert_eq!(proof(&mut gateway.client(), GPTBOT, INSIDE), "unchecked");
    publisher.publishes(GPTBOT_LIST, JSON);
    let answer = refresh(&publisher, &gateway.folder().join("state")).exits(1).json();
    assert_eq!(list(&answer, "https://openai.com/gptbot.json")["result"], "replaced");
    becomes(&gateway, GPTBOT, INSIDE, "confirmed");
    // Published years ago, but fetched just now.
    becomes(&gateway, GPTBOT, OUTSIDE, "contradicted");
}

#[test]
fn the_gateway_fetches_by_itself_where_it_is_told_to() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    publisher.publishes(GPTBOT_LIST, JSON);
    let silent = verified(&origin, &format!("dns = false\nmirror = \"{}\"", publisher.url())).start();
    let verify = format!("dns = false\nrefresh = \"24h\"\nmirror = \"{}\"", publisher.url());
    let gateway = verified(&origin, &verify).start();
    until("the list was fetched", || (!publisher.validators(GPTBOT_LIST).is_empty()).then_some(()));
    becomes(&gateway, GPTBOT, INSIDE, "confirmed");
    gateway.log.line_with(&["what is published was fetched"]);
    assert_eq!(publisher.validators(GPTBOT_LIST).len(), 1);
    assert_eq!(proof(&mut silent.client(), GPTBOT, INSIDE), "unchecked");
}

#[test]
fn lists_are_fetched_over_tls_only_from_whom_the_certificate_vouches_for() {
    let (publisher, certificate) = ListPublisher::start_with_tls();
    let (_, other) = ListPublisher::start_with_tls();
    publisher.publishes(GPTBOT_LIST, JSON);
    let folder = Folder::new();
    let refreshed = |vouching: Option<&str>| {
        let ca = vouching.map(|text| {
            std::fs::write(folder.join("ca.pem"), text).expect("a file");
            "ca = \"ca.pem\"\n"
        });
        let config = folder.join("gateway.toml");
        let text = format!(
            "state_dir = {:?}\n[verify]\nmirror = \"{}\"\n{}[[sites]]\norigin = \"http://127.0.0.1:9\"\n",
            folder.join("state"),
            publisher.tls_url(),
            ca.unwrap_or_default(),
        );
        std::fs::write(&config, text).expect("a file");
        let config = config.to_str().expect("UTF-8");
        ctl(["crawlers", "refresh", "--config", config, "--format", "json"])
    };
    for vouching in [None, Some(other.as_str())] {
        let answer = refreshed(vouching).exits(1).json();
        let gptbot = list(&answer, "https://openai.com/gptbot.json");
        assert_eq!(gptbot["result"], "failed", "{gptbot}");
        assert!(gptbot["error"].as_str().is_some_and(|e| e.contains("certificate")), "{gptbot}");
    }
    let answer = refreshed(Some(&certificate)).exits(1).json();
    assert_eq!(list(&answer, "https://openai.com/gptbot.json")["result"], "replaced", "{answer}");
    let refused = refreshed(Some("no PEM")).exits(2);
    assert!(refused.stderr.contains("ca.pem: there is no certificate in this file"), "{}", refused.stderr);
}

#[test]
fn a_list_that_lost_most_of_its_ranges_is_kept_aside() {
    let (publisher, folder) = (ListPublisher::start(), Folder::new());
    let lines: Vec<String> = (0..20).map(|third| format!("20.171.{third}.0/24\n")).collect();
    let whole = lines.concat();
    publisher.publishes(GPTBOT_LIST, &whole);
    refresh(&publisher, folder.path()).exits(1);
    let few = lines[..3].concat();
    publisher.publishes(GPTBOT_LIST, &few);
    let answer = refresh(&publisher, folder.path()).exits(1).json();
    let gptbot = list(&answer, "https://openai.com/gptbot.json");
    assert_eq!((&gptbot["result"], &gptbot["ranges"]), (&"failed".into(), &20.into()), "{gptbot}");
    assert!(gptbot["error"].as_str().is_some_and(|e| e.contains("3 of 20 ranges")), "{gptbot}");
    let ranges = folder.join("ranges");
    let aside = ranges.join(format!("{GPTBOT_LIST}.shrunken"));
    assert_eq!(std::fs::read_to_string(&aside).expect("the list aside"), few);
    std::fs::rename(&aside, ranges.join(GPTBOT_LIST)).expect("moved into place");
    let answer = refresh(&publisher, folder.path()).exits(1).json();
    let gptbot = list(&answer, "https://openai.com/gptbot.json");
    assert_eq!((&gptbot["result"], &gptbot["ranges"]), (&"unchanged".into(), &3.into()), "{gptbot}");
}

#[test]
fn plain_http_will_do_only_near_by() {
    let folder = Folder::new();
    let state = folder.path().to_str().expect("UTF-8");
    let from = "http://mirror.example/x";
    let refused = ctl(["crawlers", "refresh", "--from", from, "--state-dir", state]).exits(2);
    assert!(refused.stderr.contains("plain HTTP"), "{}", refused.stderr);
}

#[test]
fn a_list_that_grows_old_is_told_of_once() {
    let origin = Nginx::start();
    let builder = verified(&origin, "dns = false");
    let path = crate::scene::ranges_of(&builder).join(GPTBOT_LIST);
    std::fs::write(&path, "20.171.206.0/24\n").expect("a list");
    let file = std::fs::File::options().append(true).open(&path).expect("the list");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(6 * 86_400 + 3_600);
    file.set_modified(old).expect("a time");
    let gateway = builder.start();
    gateway.log.line_with(&["address ranges are old", "gptbot.json"]);
    // Not yet seven days old, it still accuses.
    assert_eq!(proof(&mut gateway.client(), GPTBOT, OUTSIDE), "contradicted");
}
