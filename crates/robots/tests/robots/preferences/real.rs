//! Files of real sites that state a preference about use: what they say, and what is said about them.

use crate::parse;
use rfc9309::Robots;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A folder of more files, where there is one: so few of the corpus state a preference.
const MORE: &str = "ROBOTS_GATEWAY_PREFERENCES";

/// So many files of it are asked for.
const FEWEST: usize = 40;

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "txt") {
            let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
            found.push((name, std::fs::read(&entry).unwrap()));
        }
    }
    found
}

/// How many records of each kind a file has, by a look at its lines alone.
fn count(bytes: &[u8]) -> [usize; 3] {
    let text = String::from_utf8_lossy(bytes).to_ascii_lowercase();
    ["content-usage", "content-signal", "license"].map(|record| {
        let is_record = |line: &&str| {
            line.trim_start().strip_prefix(record).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        text.lines().filter(is_record).count()
    })
}

/// The lines of all records that some group, or everyone, is told.
fn told_lines(robots: &Robots) -> BTreeSet<u32> {
    let tokens = robots.tokens().chain(["*"]);
    let groups = tokens.map(|token| robots.group(&[token], token == "*")).chain([None]);
    groups.flat_map(|group| robots.preferences(group)).flat_map(|said| said.lines).collect()
}

#[test]
fn files_of_real_sites() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let (mut files_seen, mut sums) = (0, BTreeMap::<&str, usize>::new());
    println!("{:<34} CU CS  L  {:<50} findings", "file", "what `*` is told of /");
    let more = std::env::var_os(MORE).map_or_else(Vec::new, |folder| files(Path::new(&folder)));
    let fewest = if more.is_empty() { 1 } else { FEWEST };
    let mut all = files(&Path::new(&folder).join("robots/files"));
    all.extend(more);
    all.sort();
    for (name, bytes) in all {
        let kinds = count(&bytes);
        if kinds == [0; 3] {
            continue;
        }
        files_seen += 1;
        let parsed = parse(&bytes);
        let codes = parsed.findings.iter().map(|finding| finding.kind.code());
        let codes: Vec<&str> = codes.filter(|code| OURS.iter().any(|ours| code.contains(ours))).collect();
        for code in &codes {
            *sums.entry(code).or_default() += 1;
        }
        // Each record is told to somebody, or it is said that it is not.
        let unheard = codes.iter().filter(|code| **code == "rule-outside-group").count();
        let told = told_lines(&parsed.robots);
        assert!(told.len() + unheard >= kinds.iter().sum(), "{name}: {kinds:?} {told:?} {codes:?}");
        let everyone = parsed.robots.group::<&str>(&[], true);
        let said = everyone.map_or_else(Vec::new, |group| group.preferences_for(b"/"));
        let said: Vec<String> = said.iter().map(|said| said.value.to_string()).collect();
        let [usages, signals, licenses] = kinds;
        let (said, codes) = (said.join(" | "), codes.join(" "));
        println!("{name:<34} {usages:>2} {signals:>2} {licenses:>2}  {said:<50} {codes}");
    }
    println!("{files_seen} files; {sums:?}");
    assert!(files_seen >= fewest, "{files_seen} of {fewest} files");
}

/// Parts of the codes of findings about preferences.
const OURS: [&str; 5] = ["preference", "category", "license", "misspelt-record", "rule-outside-group"];
