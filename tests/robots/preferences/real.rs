//! Files of real sites that state a preference about use: what they say, and what is said about them.

use crate::parse;
use robots_gateway::robots::PreferenceKind;
use std::collections::BTreeMap;
use std::path::Path;

/// So many files are asked for.
const FEWEST: usize = 40;

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in [folder.join("robots/files"), folder.join("robots/preferences")] {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.extension().is_some_and(|extension| extension == "txt") {
                let name = entry.file_stem().unwrap().to_string_lossy().into_owned();
                found.push((name, std::fs::read(&entry).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn files_of_real_sites() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let mut table = Vec::new();
    let mut sums: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, bytes) in files(Path::new(&folder)) {
        let mut parsed = parse(&bytes);
        let catalogue = &robots_gateway::config::catalogue::bundled().catalogue;
        parsed.compare_purposes(catalogue.tokens_by_use());
        let group = parsed.robots.group::<&str>(&[], true);
        let mut kinds = [0; 3];
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        for (count, record) in kinds.iter_mut().zip(["content-usage", "content-signal", "license"]) {
            *count = text
                .lines()
                .filter(|line| {
                    line.trim_start()
                        .strip_prefix(record)
                        .is_some_and(|rest| rest.trim_start().starts_with(':'))
                })
                .count();
        }
        if kinds == [0; 3] {
            continue;
        }
        // Each record is one that some group or everyone is told.
        let mut told: Vec<u32> =
            parsed.robots.preferences(None).into_iter().flat_map(|said| said.lines).collect();
        for token in parsed.robots.tokens().chain(["*"]) {
            let group = parsed.robots.group(&[token], token == "*");
            told.extend(parsed.robots.preferences(group).into_iter().flat_map(|said| said.lines));
        }
        told.sort_unstable();
        told.dedup();
        let codes: Vec<&str> = parsed
            .findings
            .iter()
            .map(|finding| finding.kind.code())
            .filter(|code| OURS.iter().any(|ours| code.contains(ours)))
            .collect();
        codes.iter().for_each(|code| *sums.entry(code).or_default() += 1);
        let unread = codes.iter().filter(|code| **code == "preference-outside-group").count();
        assert!(told.len() + unread >= kinds.iter().sum(), "{name}: {kinds:?} {told:?} {codes:?}");
        let default = group.map_or_else(Vec::new, |group| group.preferences_for(b"/"));
        let says: Vec<String> = default
            .iter()
            .filter(|said| said.kind != PreferenceKind::License)
            .map(|said| said.value.to_string())
            .collect();
        table.push(format!(
            "{name:<34} {:>2} {:>2} {:>2}  {:<50} {}",
            kinds[0],
            kinds[1],
            kinds[2],
            says.join(" | "),
            codes.join(" ")
        ));
    }
    println!("{:<34} CU CS  L  {:<50} findings", "file", "what `*` is told of /");
    table.iter().for_each(|row| println!("{row}"));
    println!("{} files; {sums:?}", table.len());
    assert!(table.len() >= FEWEST, "{} of {FEWEST} files", table.len());
}

/// Parts of the codes of findings about preferences.
const OURS: [&str; 6] = ["preference", "purpose-", "category", "vocabulary", "license", "misspelt-record"];
