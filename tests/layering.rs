//! The layers of the source tree, held by a test: a module names only modules on lower layers.
//!
//! A request flows one way, from facts to identity to verdict to action to record, and the middle stages are
//! functions without clock, socket or log. That is what makes them usable by the daemon and the tool alike, so it is
//! checked here and not left to memory. This reads the text of `src/`; it is a guard, not a proof. `src/lib.rs` and
//! `CONTRIBUTING.md` show the same tables, and are compared with these.
//!
//! Unit tests at the foot of a file are held to the same layers. What they may do, and the code above them may not, is
//! read files and use outside crates, since a test of a pure stage may need a corpus.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its subject has failed")]

#[path = "layering/detours.rs"]
mod detours;
#[path = "layering/names.rs"]
mod names;
#[path = "layering/paths.rs"]
mod paths;
#[path = "layering/planted.rs"]
mod planted;
#[path = "layering/tokens.rs"]
mod tokens;
#[path = "layering/told.rs"]
mod told;

use paths::{NamedPath, PathPlace};
use std::path::Path;

/// From the bottom up. Modules of one layer never name each other.
const LAYERS: [&[&str]; 15] = [
    &["robots"],
    &["http", "request"],
    &["identify"],
    &["decide"],
    &["enforce"],
    &["record"],
    &["config"],
    &["policy", "report"],
    &["fleet"],
    &["gateway", "control"],
    &["proxy", "process"],
    &["alerts"],
    &["ctl"],
    &["server", "admin"],
    &["main", "bin"],
];

/// The layer of the two programs, which may name every module.
const PROGRAMS: usize = LAYERS.len() - 1;

/// Outside crates with homes: the crate, and how the path of a file that may name it begins.
const HOMES: [(&str, &str); 28] = [
    ("pingora", "src/proxy/"),
    ("pingora", "src/server/"),
    ("h2", "src/server/http2/"),
    ("ring", "src/identify/signature/"),
    ("ring", "src/fleet/signature.rs"),
    ("ring", "src/alerts/"),
    ("sfv", "src/identify/signature/"),
    ("sfv", "crates/robots/src/dictionary.rs"),
    ("woothee", "src/identify/second_opinion.rs"),
    ("notify", "src/policy/watch"),
    ("hickory_resolver", "src/policy/proof/dns.rs"),
    ("rusqlite", "src/record/store"),
    ("askama", "src/report/"),
    ("askama", "src/ctl/"),
    ("libsqlite3_sys", "src/record/store"),
    ("rustls", "src/policy/"),
    ("tokio_postgres", "src/fleet/"),
    ("tokio_postgres_rustls", "src/fleet/"),
    ("rustls_native_certs", "src/fleet/"),
    ("rustls", "src/fleet/"),
    ("rustix", "src/config/fleet.rs"),
    ("x509_parser", "src/policy/certificates.rs"),
    ("listenfd", "src/process/"),
    ("sd_notify", "src/process/"),
    ("rustix", "src/gateway/date.rs"),
    ("rustix", "src/process/"),
    ("rustix", "src/server/"),
    ("rustix", "src/record/"),
];

/// What layer 0 may name from outside.
const BOTTOM: [&str; 14] = [
    "std",
    "core",
    "alloc",
    "memchr",
    "aho_corasick",
    "bytes",
    "http",
    "ipnet",
    "itoa",
    "prefix_trie",
    "sfv",
    "strsim",
    "strum",
    "thiserror",
];

/// Layers below this one are read and written by no format: configuration knows the domain, never the reverse.
const FIRST_WITH_FORMATS: usize = 4;
const FORMATS: [&str; 2] = ["serde", "toml"];

/// Layers below this one are pure.
const FIRST_WITH_EFFECTS: usize = 5;
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

/// Lines of a file that one person can hold in mind: of code without the tests at its foot, and of tests.
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
        found.extend(SourceFile::new(path, text).violations(crates));
    }
    found
}

struct SourceFile<'a> {
    path: &'a str,
    text: &'a str,
    /// Its module, from the root of the crate.
    module: Vec<String>,
    /// The line on which its unit tests begin, past its end if it has none.
    tests: usize,
}

impl<'a> SourceFile<'a> {
    fn new(path: &'a str, text: &'a str) -> Self {
        let name = path.replacen("crates/robots/src/", "robots/", 1);
        let name = name.trim_start_matches("src/").trim_end_matches(".rs");
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
        let lines = self.text.lines().count();
        if is_test_file(self.path) && lines > LONGEST_FILE {
            found.push(format!("{}: {lines} lines of tests, {LONGEST_FILE} at most", self.path));
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
                PathPlace::Inside(path) => self.inside(layer, path),
                PathPlace::Outside(path) => self.outside(layer, path, &named, crates),
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

    fn outside(&self, layer: usize, path: &[String], named: &NamedPath, crates: &[String]) -> Option<String> {
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

/// The engine of robots.txt, a crate of its own. To the gateway it is a module, and it is read as one.
const ENGINE: &str = "crates/robots/";

/// The sources below a folder of the project, and below the same folder of the engine.
fn files_below(folder: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut files, mut engine) = (Vec::new(), Vec::new());
    read(&root.join(folder), &mut files);
    read(&root.join(ENGINE).join(folder), &mut engine);
    assert!(!engine.is_empty(), "{ENGINE}{folder}");
    files.extend(engine.into_iter().map(|(path, text)| (path, text.replace("crate::", "crate::robots::"))));
    files
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
    let files = files_below("src");
    let crates = crates_of_the_manifest();
    assert!(crates.iter().any(|name| name == "pingora"), "{crates:?}");
    let found = violations(&files, &crates);
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn files_of_tests_are_short() {
    let is_long = |text: &str| text.lines().count() > LONGEST_FILE;
    let long = files_below("tests").into_iter().filter(|(_, text)| is_long(text)).map(|(path, _)| path);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<String>::new(), "{LONGEST_FILE} lines at most");
}

fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}
