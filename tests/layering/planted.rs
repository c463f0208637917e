//! What the table catches, planted in a tree that keeps it.

use super::*;

/// A tree that keeps the rules, with every module of the table that exists in a folder of its own.
fn orderly() -> Vec<Source> {
    let modules = LAYERS.iter().take(PROGRAMS).flat_map(|modules| modules.iter());
    let mut files: Vec<Source> =
        modules.map(|module| (format!("src/{module}/mod.rs"), String::new())).collect();
    files.push(("src/main.rs".to_owned(), "use robots_gateway::{admin, ctl, proxy};\n".to_owned()));
    files.push(("src/bin/gatewayctl.rs".to_owned(), "fn main() { robots_gateway::ctl::run() }\n".to_owned()));
    files.push((
        "src/proxy/serve.rs".to_owned(),
        "use crate::policy;\nuse pingora::server::Server;\n".to_owned(),
    ));
    files.push(("src/decide/verdict.rs".to_owned(), "use crate::{identify, robots, request};\n".to_owned()));
    files.push(("src/robots/line.rs".to_owned(), "use super::rule;\nuse memchr::memchr;\n".to_owned()));
    files
}

fn crates() -> Vec<String> {
    let names = [
        "pingora",
        "woothee",
        "notify",
        "rusqlite",
        "serde",
        "serde_json",
        "toml",
        "memchr",
        "http",
        "tokio",
    ];
    names.map(str::to_owned).to_vec()
}

/// What is found when `text` stands in the file `path` of an orderly tree.
fn planted(path: &str, text: &str) -> Vec<String> {
    let mut files = orderly();
    files.retain(|(other, _)| other != path);
    files.push((path.to_owned(), text.to_owned()));
    violations(&files, &crates())
}

#[test]
fn an_orderly_tree_breaks_nothing() {
    assert_eq!(violations(&orderly(), &crates()), Vec::<String>::new());
    for (path, text) in [
        ("src/identify/second_opinion.rs", "use woothee::parser::Parser;\n"),
        ("src/policy/watch.rs", "use notify::Watcher;\n"),
        ("src/record/store/rows.rs", "use rusqlite::Connection;\n"),
        ("src/proxy/mod.rs", "use pingora_proxy::ProxyHttp;\nfn notify(waker: W) { waker.notify() }\n"),
        (
            "src/robots/mod.rs",
            "// crate::policy\nconst X: &str = \"toml::x\";\n#[cfg(test)]\nmod tests { use toml::x; }\n",
        ),
        ("src/lib.rs", "pub mod robots;\npub mod proxy;\n"),
    ] {
        assert_eq!(planted(path, text), Vec::<String>::new(), "{path}");
    }
}

#[test]
fn a_planted_violation_of_each_row_is_caught() {
    for (path, text, message) in [
        ("src/robots/line.rs", "\nuse crate::request::host;\n", "2: robots must not name request"),
        ("src/request/host.rs", "use crate::identify::Client;\n", "1: request must not name identify"),
        (
            "src/identify/mod.rs",
            "use crate::{\n    robots,\n    decide::Verdict,\n};\n",
            "3: identify must not name decide",
        ),
        ("src/decide/mod.rs", "fn f(p: &crate::policy::Policy) {}\n", "1: decide must not name policy"),
        ("src/enforce/mod.rs", "use super::record::Event;\n", "1: enforce must not name record"),
        ("src/record/mod.rs", "use crate::config::Config;\n", "1: record must not name config"),
        ("src/config/site.rs", "use super::super::policy::Policy;\n", "1: config must not name policy"),
        ("src/policy/load.rs", "use crate::report as numbers;\n", "1: policy must not name report"),
        ("src/report/mod.rs", "use crate::policy::Policy;\n", "1: report must not name policy"),
        ("src/policy/load.rs", "use crate::fleet::Fleet;\n", "1: policy must not name fleet"),
        ("src/proxy/mod.rs", "use crate::server::Pages;\n", "1: proxy must not name server"),
        ("src/gateway/mod.rs", "use crate::proxy::Client;\n", "1: gateway must not name proxy"),
        ("src/policy/mod.rs", "use crate::gateway::Gateway;\n", "1: policy must not name gateway"),
        ("src/server/mod.rs", "use crate::admin::answer;\n", "1: server must not name admin"),
        ("src/process/mod.rs", "use crate::proxy::Client;\n", "1: process must not name proxy"),
        ("src/ctl/mod.rs", "use crate::admin::answer;\n", "1: ctl must not name admin"),
        ("src/ctl/mod.rs", "use robots_gateway::server::serve;\n", "1: ctl must not name server"),
        ("src/ctl/mod.rs", "fn f() { crate::main::run() }\n", "1: ctl must not name main"),
        ("src/main.rs", "use pingora::server::Server;\n", "1: pingora belongs in src/proxy/"),
        ("src/bin/gatewayctl.rs", "use notify::Watcher;\n", "1: notify belongs in src/policy/watch"),
    ] {
        assert_eq!(planted(path, text), [format!("{path}:{message}")]);
    }
}

#[test]
fn a_planted_violation_of_each_home_is_caught() {
    for (path, text, message) in [
        ("src/policy/load.rs", "use pingora_core::Error;\n", "1: pingora belongs in src/proxy/"),
        ("src/identify/mod.rs", "use woothee;\n", "1: woothee belongs in src/identify/second_opinion.rs"),
        (
            "src/policy/load.rs",
            "fn f() { notify::recommended_watcher() }\n",
            "1: notify belongs in src/policy/watch",
        ),
        ("src/record/writer.rs", "extern crate rusqlite;\n", "1: rusqlite belongs in src/record/store"),
        (
            "src/config/mod.rs",
            "#[cfg(test)]\nmod tests { use notify::Event; }\n",
            "2: notify belongs in src/policy/watch",
        ),
        ("src/robots/rule.rs", "use serde_json::Value;\n", "1: robots must not name the crate serde_json"),
        ("src/request/host.rs", "use ::serde::Serialize;\n", "1: request must not name the crate serde"),
        (
            "src/identify/mod.rs",
            "#[derive(serde::Deserialize)]\nstruct X;\n",
            "1: identify must not name the crate serde",
        ),
        ("src/decide/mod.rs", "fn f() { toml::from_str(x) }\n", "1: decide must not name the crate toml"),
        (
            "src/decide/mod.rs",
            "fn f() { serde_json::to_string(x) }\n",
            "1: decide must not name the crate serde_json",
        ),
        (
            "src/decide/mod.rs",
            "fn f() { SystemTime::now() }\n",
            "1: decide is pure and must not name SystemTime::now",
        ),
        ("src/enforce/mod.rs", "use std::{fmt, fs::File};\n", "1: enforce is pure and must not name std::fs"),
        (
            "src/identify/mod.rs",
            "use std::net::{IpAddr, TcpStream};\n",
            "1: identify is pure and must not name std::net::TcpStream",
        ),
        ("src/enforce/mod.rs", "use tokio::sync::watch;\n", "1: enforce is pure and must not name tokio"),
    ] {
        assert_eq!(planted(path, text), [format!("{path}:{message}")]);
    }
}

#[test]
fn ways_around_the_table_are_caught() {
    for (path, text, message) in [
        ("src/decide/mod.rs", "use crate as top;\n", ":1: a new name for the root hides what is named"),
        (
            "src/decide/mod.rs",
            "use super::{self as top};\n",
            ":1: a new name for the root hides what is named",
        ),
        ("src/decide/mod.rs", "use crate::*;\n", ":1: `*` has no layer in the table"),
        ("src/decide/mod.rs", "use crate::Policy;\n", ":1: `Policy` has no layer in the table"),
        (
            "src/decide/mod.rs",
            "#[cfg(test)]\nmod tests { use super::super::ctl; }\n",
            ":2: decide must not name ctl",
        ),
        ("src/plumbing/mod.rs", "", ": `plumbing` has no layer in the table"),
    ] {
        assert_eq!(planted(path, text), [format!("{path}{message}")]);
    }
}

#[test]
fn a_file_too_long_and_a_tree_too_small_are_caught() {
    let long = "fn f() {}\n".repeat(LONGEST_FILE + 1);
    assert_eq!(
        planted("src/config/site.rs", &long),
        ["src/config/site.rs: 401 lines without tests, 400 at most"]
    );
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{long}}}\n", "fn f() {}\n".repeat(LONGEST_FILE));
    assert_eq!(planted("src/config/site.rs", &tested), Vec::<String>::new());
    // A mark that opens no module at the foot opens no exemption either.
    let hidden = format!("#[cfg(test)]\nmod faulty;\n{long}");
    assert_eq!(planted("src/config/site.rs", &hidden).len(), 1);
    assert_eq!(
        planted("src/config/site/tests.rs", &long),
        ["src/config/site/tests.rs: 401 lines of tests, 400 at most"]
    );
    let few: Vec<Source> = orderly().into_iter().take(FEWEST_FILES - 1).collect();
    assert_eq!(violations(&few, &crates()), ["src: only 9 files seen, 10 expected at least"]);
}
