//! The layers of the source tree, held by a test: a module names only modules on lower layers.
//!
//! A request flows one way, from facts to identity to verdict to action to record, and the middle stages are
//! functions without clock, socket or log. That is what makes them usable by the daemon and the tool alike, so it is
//! checked here and not left to memory. This reads the text of `src/`; it is a guard, not a proof.
//!
//! Unit tests at the foot of a file are held to the same layers. What they may do, and the code above them may not, is
//! read files and use outside crates, since a test of a pure stage may need a corpus.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its subject has failed")]

#[path = "layering/paths.rs"]
mod paths;
#[path = "layering/tokens.rs"]
mod tokens;

use paths::{Named, Place};
use std::collections::BTreeMap;
use std::path::Path;

/// From the bottom up. Modules of one layer never name each other.
const LAYERS: [&[&str]; 11] = [
    &["robots", "http", "request"],
    &["identify"],
    &["decide"],
    &["enforce"],
    &["record"],
    &["config"],
    &["policy", "report", "fleet"],
    &["gateway"],
    &["proxy", "process"],
    &["server", "admin", "ctl"],
    &["main", "bin"],
];

/// The layer of the two programs, which may name every module.
const PROGRAMS: usize = LAYERS.len() - 1;

/// Outside crates with homes: the crate, and how the path of a file that may name it begins.
const HOMES: [(&str, &str); 23] = [
    ("pingora", "src/proxy/"),
    ("pingora", "src/server/"),
    ("h2", "src/server/http2/"),
    ("httparse", "src/http/head/"),
    ("ring", "src/identify/signature/"),
    ("ring", "src/fleet/signature.rs"),
    ("sfv", "src/identify/signature/"),
    ("woothee", "src/identify/user_agent.rs"),
    ("notify", "src/policy/watch"),
    ("hickory_resolver", "src/policy/proof/dns.rs"),
    ("rusqlite", "src/record/store"),
    ("askama", "src/report/html"),
    ("libsqlite3_sys", "src/record/store"),
    ("rustls", "src/policy/"),
    ("tokio_postgres", "src/fleet/"),
    ("tokio_rustls", "src/fleet/"),
    ("rustls_native_certs", "src/fleet/"),
    ("rustls", "src/fleet/"),
    ("rustix", "src/config/fleet.rs"),
    ("x509_parser", "src/policy/expiry.rs"),
    ("listenfd", "src/process/"),
    ("rustix", "src/process/"),
    ("rustix", "src/record/"),
];

/// What layer 0 may name from outside.
const BOTTOM: [&str; 13] = [
    "std",
    "core",
    "alloc",
    "memchr",
    "aho_corasick",
    "bytes",
    "http",
    "httparse",
    "ipnet",
    "itoa",
    "prefix_trie",
    "strum",
    "thiserror",
];

/// Layers below this one are read and written by no format: configuration knows the domain, never the reverse.
const FIRST_WITH_FORMATS: usize = 3;
const FORMATS: [&str; 2] = ["serde", "toml"];

/// Layers below this one are pure.
const FIRST_WITH_EFFECTS: usize = 4;
const EFFECTS: [&str; 18] = [
    "tokio",
    "tracing",
    "log",
    "std::env",
    "std::fs",
    "std::io",
    "std::os",
    "std::process",
    "std::thread",
    "std::net::TcpListener",
    "std::net::TcpStream",
    "std::net::ToSocketAddrs",
    "std::net::UdpSocket",
    "std::time::Instant",
    "std::time::SystemTime::now",
    "SystemTime::now",
    "Instant::now",
    "jiff::Timestamp::now",
];

/// Lines of a file, its tests not counted, that one person can hold in mind.
const LONGEST_FILE: usize = 400;

/// A scan that sees fewer files has looked in the wrong place.
const FEWEST_FILES: usize = 10;

/// A source file: its path from the project's folder, with `/`, and its text.
type Source = (String, String);

/// Everything that breaks the table, each as `path:line: what`. `crates` are the outside crates the project uses.
fn violations(files: &[Source], crates: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    if files.len() < FEWEST_FILES {
        found.push(format!("src: only {} files seen, {FEWEST_FILES} expected at least", files.len()));
    }
    for (path, text) in files {
        found.extend(File::new(path, text).violations(crates));
    }
    found
}

struct File<'a> {
    path: &'a str,
    text: &'a str,
    /// Its module, from the root of the crate.
    module: Vec<String>,
    /// The line on which its unit tests begin, past its end if it has none.
    tests: usize,
}

impl<'a> File<'a> {
    fn new(path: &'a str, text: &'a str) -> Self {
        let name = path.trim_start_matches("src/").trim_end_matches(".rs");
        let module = name.split('/').filter(|part| *part != "mod").map(str::to_owned).collect();
        let is_test = name.split('/').any(|part| part == "tests");
        // The module at the foot; `mod x;` after the mark names a file of its own, which is read as one.
        let lines: Vec<&str> = text.lines().collect();
        let opens = |pair: &[&str]| matches!(pair, [mark, next] if mark.starts_with("#[cfg(test)]") && next.starts_with("mod ") && next.contains('{'));
        let mark = lines.windows(2).position(opens);
        let tests = if is_test { 0 } else { mark.unwrap_or(lines.len()) };
        Self { path, text, module, tests: tests + 1 }
    }

    fn top(&self) -> &str {
        self.module.first().map_or("", String::as_str)
    }

    fn violations(&self, crates: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        if self.tests > LONGEST_FILE + 1 {
            found.push(format!(
                "{}: {} lines without tests, {LONGEST_FILE} at most",
                self.path,
                self.tests - 1
            ));
        }
        // The root of the library declares the modules; it has no logic, and no layer.
        let layer = if self.top() == "lib" { Some(PROGRAMS) } else { layer_of(self.top()) };
        let Some(layer) = layer else {
            found.push(format!("{}: `{}` has no layer in the table", self.path, self.top()));
            return found;
        };
        let module = if layer == PROGRAMS { &[][..] } else { &self.module };
        for named in paths::paths(module, self.text) {
            let fault = match &named.place {
                Place::Inside(path) => self.inside(layer, path),
                Place::Outside(path) => self.outside(layer, path, &named, crates),
            };
            found.extend(fault.map(|fault| format!("{}:{}: {fault}", self.path, named.line)));
        }
        found
    }

    fn inside(&self, layer: usize, path: &[String]) -> Option<String> {
        let top = self.top();
        if layer == PROGRAMS || path.first().is_some_and(|first| first == top) {
            return None;
        }
        let Some(first) = path.first() else {
            return Some("a new name for the root hides what is named".to_owned());
        };
        match layer_of(first) {
            None => Some(format!("`{first}` has no layer in the table")),
            Some(other) if other < layer => None,
            Some(_) => Some(format!("{top} must not name {first}")),
        }
    }

    fn outside(&self, layer: usize, path: &[String], named: &Named, crates: &[String]) -> Option<String> {
        let first = path.first()?;
        let homes: Vec<_> = HOMES.iter().filter(|(name, _)| of_family(first, name)).collect();
        if let [(name, home), ..] = homes[..]
            && !homes.iter().any(|(_, home)| self.path.starts_with(home))
        {
            return Some(format!("{name} belongs in {home}"));
        }
        if named.line >= self.tests {
            return None;
        }
        let top = self.top();
        let written = path.join("::");
        let effect =
            EFFECTS.iter().find(|effect| written == **effect || written.starts_with(&format!("{effect}::")));
        if let Some(effect) = effect.filter(|_| layer < FIRST_WITH_EFFECTS) {
            return Some(format!("{top} is pure and must not name {effect}"));
        }
        let format = FORMATS.iter().any(|name| of_family(first, name));
        let stranger = layer == 0 && crates.contains(first) && !BOTTOM.contains(&first.as_str());
        (stranger || (format && layer < FIRST_WITH_FORMATS))
            .then(|| format!("{top} must not name the crate {first}"))
    }
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

/// `pingora_core` is of the family of `pingora`.
fn of_family(name: &str, family: &str) -> bool {
    name.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

fn read(folder: &Path, found: &mut Vec<Source>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            read(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// The names under which code would name the crates of `Cargo.toml`.
fn crates_of_the_manifest() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let tables = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = tables.iter().filter_map(|name| manifest.get(*name).and_then(toml::Value::as_table));
    tables.flat_map(toml::Table::keys).map(|name| name.replace('-', "_")).collect()
}

#[test]
fn every_module_names_only_lower_ones() {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let crates = crates_of_the_manifest();
    assert!(crates.iter().any(|name| name == "pingora"), "{crates:?}");
    let found = violations(&files, &crates);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// What only one place may do: where it may stand, and what it looks like. Unit tests may do anything.
const ONLY: [(&str, &str); 2] =
    [("src/http/response.rs", "HTTP/1.1 \""), ("src/http/response.rs", "HTTP/1.1 {")];

/// What neither requests nor connections are handed on by.
const NEVER_IN_THE_PATH: [&str; 3] = ["downcast", "dyn Any", "as_any("];

/// The lines of a file above its unit tests, without comments.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// A request's way is one: parsed once, judged once, answered in one place.
fn detours(files: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    let mut judged = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        let is_path =
            ["src/server/", "src/proxy/", "src/gateway/"].iter().any(|folder| path.starts_with(folder));
        for (line, text) in code(text) {
            let at = || format!("{path}:{}", line + 1);
            for (home, what) in ONLY.iter().filter(|(home, _)| path != home) {
                if is_path && text.contains(what) {
                    found.push(format!("{}: only {home} writes the head of an answer", at()));
                }
            }
            for what in NEVER_IN_THE_PATH.iter().filter(|what| is_path && text.contains(**what)) {
                found.push(format!("{}: nothing is handed on by `{what}`", at()));
            }
            if is_path && (text.contains(" judge(") || text.contains("(judge(")) && !text.contains("fn ") {
                judged.push(at());
            }
        }
        found.extend(drops(path, text));
    }
    if judged.len() != 1 {
        found.push(format!("`judge` has one caller in the daemon, not {judged:?}"));
    }
    found
}

/// What no destructor does: recording, and input and output.
const NEVER_IN_A_DESTRUCTOR: [&str; 16] = [
    ".record(",
    "journal",
    "recorder",
    "fs::",
    "io::",
    "net::",
    "process::",
    "remove_",
    "File",
    "Stream",
    "write",
    "flush",
    "sync",
    "tracing",
    "print",
    ".close(",
];

/// Destructors that record something, or do input or output.
fn drops(path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_inside = false;
    for (line, text) in code(text) {
        is_inside = (is_inside && text != "}") || text.contains(" Drop for ");
        // Of a generic type it is the name of a parameter.
        let is_body = is_inside && !text.contains(" Drop for ");
        if is_body && NEVER_IN_A_DESTRUCTOR.iter().any(|what| text.contains(what)) {
            found.push(format!("{path}:{}: a destructor neither records nor does I/O", line + 1));
        }
    }
    found
}

/// The type that a line declares. An associated type has a trait's name for it, and stands deeper.
fn declared_type(line: &str) -> Option<&str> {
    let words = line.trim_start();
    let words =
        words.strip_prefix("pub").map_or(words, |rest| rest.split_once(' ').map_or("", |(_, rest)| rest));
    let (keyword, rest) = words.split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "trait" | "union" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
    is_type.then_some(&rest[..end])
}

/// Names that stand for more than one type.
fn shared_type_names(files: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files.iter().filter(|(path, _)| !is_test_file(path)) {
        for (line, text) in code(text) {
            if let Some(name) = declared_type(text) {
                places.entry(name).or_default().push(format!("{path}:{}", line + 1));
            }
        }
    }
    let shared = places.into_iter().filter(|(_, places)| places.len() > 1);
    shared.map(|(name, places)| format!("`{name}` is {}", places.join(" and "))).collect()
}

#[test]
fn a_type_name_stands_for_one_thing() {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let found = shared_type_names(&files);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_name_of_two_types_is_caught() {
    let with = |text: &str| {
        let files = [("src/a.rs", "pub struct Answer;\n"), ("src/b.rs", text)];
        shared_type_names(&files.map(|(path, text)| (path.to_owned(), text.to_owned())))
    };
    for text in ["enum Answer {\n", "pub(super) struct Answer<'a>(&'a str);\n", "type Answer = u8;\n"] {
        assert_eq!(with(text), ["`Answer` is src/a.rs:1 and src/b.rs:1"], "{text}");
    }
    for text in [
        "struct Answers;\n",
        "    type Answer = u8;\n",
        "#[cfg(test)]\nstruct Answer;\n",
        "// struct Answer\n",
    ] {
        assert_eq!(with(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_request_has_one_way_through_the_code() {
    let mut files = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let found = detours(&files);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn a_planted_detour_is_caught() {
    let judge = ("src/gateway/decision.rs".to_owned(), "    judge(policy);\n".to_owned());
    let with = |path: &str, text: &str| detours(&[judge.clone(), (path.to_owned(), text.to_owned())]);
    assert_eq!(with("src/server/a.rs", "fn a() {}\n"), Vec::<String>::new());
    for (path, text) in [
        ("src/server/a.rs", "let a = b\"HTTP/1.1 \";\n"),
        ("src/server/a.rs", "let a = stream.downcast();\n"),
        ("src/proxy/a.rs", "    let a = judge(policy);\n"),
        (
            "src/gateway/a.rs",
            "impl Drop for A {\n    fn drop(&mut self) {\n        self.log.record(&x);\n    }\n}\n",
        ),
        (
            "src/process/a.rs",
            "impl<T> Drop for A<T> {\n    fn drop(&mut self) {\n        let _ = std::fs::remove_file(&self.0);\n    }\n}\n",
        ),
    ] {
        assert_eq!(with(path, text).len(), 1, "{text}");
    }
}

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
        ("src/identify/user_agent.rs", "use woothee::parser::Parser;\n"),
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
        ("src/proxy/mod.rs", "use crate::server::Pages;\n", "1: proxy must not name server"),
        ("src/gateway/mod.rs", "use crate::proxy::Client;\n", "1: gateway must not name proxy"),
        ("src/policy/mod.rs", "use crate::gateway::Gateway;\n", "1: policy must not name gateway"),
        ("src/server/mod.rs", "use crate::admin::answer;\n", "1: server must not name admin"),
        ("src/process/mod.rs", "use crate::proxy::Client;\n", "1: process must not name proxy"),
        ("src/admin/mod.rs", "use crate::ctl::render;\n", "1: admin must not name ctl"),
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
        ("src/identify/mod.rs", "use woothee;\n", "1: woothee belongs in src/identify/user_agent.rs"),
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
    let few: Vec<Source> = orderly().into_iter().take(FEWEST_FILES - 1).collect();
    assert_eq!(violations(&few, &crates()), ["src: only 9 files seen, 10 expected at least"]);
}
