//! Published address ranges: every shape, both families, age, and files that change or break.

use crate::name_server::{NameServer, NameServerManner};
use crate::scene::{becomes, proof, ranges_of, stays_unchecked, verified};
use crate::support::agents::{GOOGLEBOT, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, until};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

const GPTBOT_LIST: &str = "openai.com_gptbot.json";
const GOOGLE_LIST: &str = "developers.google.com_static_crawling_ipranges_common-crawlers.json";
const DAY: Duration = Duration::from_secs(86_400);
const INSIDE: &str = "20.171.206.7";
const OUTSIDE: &str = "95.216.227.158";

const JSON: &str =
    r#"{"prefixes": [{"ipv4Prefix": "20.171.206.0/24"}, {"ipv6Prefix": "2a01:111:f400::/48"}]}"#;

fn set_age(path: &Path, age: Duration) {
    let file = File::options().append(true).open(path).expect("the list");
    file.set_modified(SystemTime::now() - age).expect("the list is ours");
}

/// A gateway that asks no name server, with one list.
fn with_list(origin: &Nginx, name: &str, text: &str, age: Duration) -> (Daemon, PathBuf) {
    let builder = verified(origin, "dns = false");
    let path = ranges_of(&builder).join(name);
    std::fs::write(&path, text).expect("the folder is ours");
    set_age(&path, age);
    (builder.start(), path)
}

#[test]
fn ranges_confirm_and_contradict_at_once() {
    let origin = Nginx::start();
    let (gateway, _) = with_list(&origin, GPTBOT_LIST, JSON, Duration::ZERO);
    let mut client = gateway.client();
    for (address, expected) in [
        (INSIDE, "confirmed"),
        ("20.171.206.255", "confirmed"),
        ("20.171.207.0", "contradicted"),
        ("2a01:111:f400::9", "confirmed"),
        ("2a01:111:f401::9", "contradicted"),
        ("10.0.0.1", "unchecked"),
        ("2001:db8::1", "unchecked"),
    ] {
        assert_eq!(proof(&mut client, GPTBOT, address), expected, "{address}");
    }
    // Nobody has fetched the lists of anybody else.
    assert_eq!(proof(&mut client, "PerplexityBot/1.0", OUTSIDE), "unchecked");
}

#[test]
fn every_shape_is_read() {
    let origin = Nginx::start();
    for text in [
        JSON,
        r#"{"prefixes":[{"ip_prefix":"20.171.206.0/24","service":"X"}],"ipv6_prefixes":[]}"#,
        r#"{"ips":[{"ip_address":"20.171.206.7"}]}"#,
        r#"{"synthetics":{"prefixes_ipv4":["20.171.206.7/32"]}}"#,
        r#"["20.171.206.0/24"]"#,
        "# a comment\n20.171.206.7\n",
        "20.171.206.0/24,US,US-AZ,Phoenix,\n2a01:111:f400::/48,US,,,\n",
    ] {
        let (gateway, _) = with_list(&origin, GPTBOT_LIST, text, Duration::ZERO);
        let mut client = gateway.client();
        assert_eq!(proof(&mut client, GPTBOT, INSIDE), "confirmed", "{text}");
        assert_eq!(proof(&mut client, GPTBOT, OUTSIDE), "contradicted", "{text}");
    }
}

#[test]
fn a_list_of_eight_days_accuses_nobody() {
    let origin = Nginx::start();
    let (gateway, path) = with_list(&origin, GPTBOT_LIST, JSON, DAY * 8);
    let mut client = gateway.client();
    assert_eq!(proof(&mut client, GPTBOT, OUTSIDE), "unchecked");
    assert_eq!(proof(&mut client, GPTBOT, INSIDE), "confirmed");
    // Fetched again, and found unchanged.
    set_age(&path, Duration::ZERO);
    becomes(&gateway, GPTBOT, OUTSIDE, "contradicted");
    let old = JSON.replacen('{', r#"{"creationTime": "2020-01-01T00:00:00.000000","#, 1);
    rename_over(&path, &old);
    until("a list that says itself that it is old accuses nobody", || {
        (proof(&mut client, GPTBOT, OUTSIDE) == "unchecked").then_some(())
    });
}

#[test]
fn a_bad_file_keeps_the_last_good_list() {
    let origin = Nginx::start();
    let (gateway, path) = with_list(&origin, GPTBOT_LIST, JSON, Duration::ZERO);
    assert_eq!(proof(&mut gateway.client(), GPTBOT, INSIDE), "confirmed");
    rename_over(&path, "{\"prefixes\": [\n  {\"ipv4Prefix\": \"20.171.206.0/99\"}]}");
    gateway.log.line_with(&["gptbot.json:2:", "invalid address range `20.171.206.0/99`"]);
    assert_eq!(proof(&mut gateway.client(), GPTBOT, INSIDE), "confirmed");
    let reload = gateway.ctl(&["reload", "--format", "json"]).exits(1).json();
    assert_eq!(reload["errors"][0]["line"], 2, "{reload}");
    for text in
        ["", "# none\n", "<!doctype html>", "{\"formatVersion\":\"2.0\",\"prefixes\":[\"95.216.0.0/16\"]}"]
    {
        rename_over(&path, text);
        gateway.ctl(&["reload"]).exits(1);
        assert_eq!(proof(&mut gateway.client(), GPTBOT, INSIDE), "confirmed", "{text}");
        assert_eq!(proof(&mut gateway.client(), GPTBOT, OUTSIDE), "contradicted", "{text}");
    }
    rename_over(&path, JSON.replace("20.171.206", "95.216.227"));
    until("a good list counts again", || {
        (proof(&mut gateway.client(), GPTBOT, OUTSIDE) == "confirmed").then_some(())
    });
    gateway.ctl(&["reload"]).exits(0);
}

#[test]
fn a_bad_file_at_the_start_accuses_nobody_and_stops_nobody() {
    let origin = Nginx::start();
    let (gateway, _) = with_list(&origin, GPTBOT_LIST, "oops\n", Duration::ZERO);
    gateway.log.line_with(&["gptbot.json:1:1: invalid address range `oops`"]);
    stays_unchecked(&gateway, GPTBOT, OUTSIDE, Duration::from_millis(100));
    let config = gateway.folder().join("gateway.toml");
    let state = gateway.folder().join("state");
    let (config, state) = (config.to_str().expect("UTF-8"), state.to_str().expect("UTF-8"));
    let checked =
        crate::support::command::ctl(["check", "--offline", "--config", config, "--state-dir", state]);
    assert!(checked.code == Some(0), "{checked:#?}");
}

#[test]
fn lists_are_watched() {
    let origin = Nginx::start();
    let gateway = verified(&origin, "dns = false").start();
    let mut client = gateway.client();
    assert_eq!(proof(&mut client, GPTBOT, INSIDE), "unchecked");
    let path = gateway.folder().join("state/ranges").join(GPTBOT_LIST);
    let mut times = Vec::new();
    for round in 0..5 {
        let (text, expected) = if round % 2 == 0 {
            (JSON.to_owned(), "confirmed")
        } else {
            (JSON.replace("20.171.206", "20.171.207"), "contradicted")
        };
        rename_over(&path, text);
        let start = Instant::now();
        until("the new list counts", || (proof(&mut client, GPTBOT, INSIDE) == expected).then_some(()));
        times.push(start.elapsed());
    }
    println!("a new list counts after {times:?}");
    std::fs::remove_file(&path).expect("the list is ours");
    until("without the list nothing is known", || {
        (proof(&mut client, GPTBOT, INSIDE) == "unchecked").then_some(())
    });
}

#[test]
fn an_operator_may_bring_lists_of_their_own() {
    let origin = Nginx::start();
    let gateway = verified(&origin, "dns = false\nranges = { twitterbot = [\"own.txt\"] }")
        .file("own.txt", "199.16.156.0/22\n")
        .start();
    let mut client = gateway.client();
    assert_eq!(proof(&mut client, "Twitterbot/1.0", "199.16.157.1"), "confirmed");
    assert_eq!(proof(&mut client, "Twitterbot/1.0", OUTSIDE), "contradicted");
    rename_over(&gateway.folder().join("own.txt"), "95.216.0.0/16\n");
    until("the new list counts", || {
        (proof(&mut client, "Twitterbot/1.0", OUTSIDE) == "confirmed").then_some(())
    });
    let missing = verified(&origin, "ranges = { Twitterbot = [\"absent.txt\"] }").fails_to_start().exits(2);
    assert!(missing.stderr.contains("absent.txt: there is no such list"), "{}", missing.stderr);
    let unknown = verified(&origin, "ranges = { NoSuchBot = [\"own.txt\"] }").file("own.txt", "192.0.2.1\n");
    let unknown = unknown.fails_to_start().exits(2);
    assert!(unknown.stderr.contains("knows no crawler `NoSuchBot`"), "{}", unknown.stderr);
}

#[test]
fn ranges_and_names_both_have_a_say() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.host_and_name("crawl-1.googlebot.com", "66.249.90.1");
    let builder = verified(&origin, &format!("resolvers = [\"{}\"]\ntimeout = \"300ms\"", server.address()));
    let path = ranges_of(&builder).join(GOOGLE_LIST);
    std::fs::write(&path, "66.249.64.0/20\n").expect("the folder is ours");
    let gateway = builder.start();
    // In the list: nobody needs to be asked.
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "66.249.66.1"), "confirmed");
    assert_eq!(server.asked_about("66.249.66.1"), 0);
    becomes(&gateway, GOOGLEBOT, "66.249.90.1", "confirmed");
    becomes(&gateway, GOOGLEBOT, OUTSIDE, "contradicted");
    server.answers(NameServerManner::Silent);
    stays_unchecked(&gateway, GOOGLEBOT, "95.216.227.159", Duration::from_millis(900));
    set_age(&path, DAY * 8);
    until("an old list withdraws the accusation", || {
        (proof(&mut gateway.client(), GOOGLEBOT, OUTSIDE) == "unchecked").then_some(())
    });
}
