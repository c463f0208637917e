//! The tables that people read say what the test holds: the layers in `src/lib.rs`, and the homes in `CONTRIBUTING.md`.

use super::{HOMES, LAYERS, PROGRAMS};
use std::path::Path;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

#[test]
fn the_library_shows_the_layers() {
    let text = text("src/lib.rs");
    let (_, table) = text.split_once("//! ## Layers").unwrap();
    let lines = table.lines().skip_while(|line| *line != "//! ```text").skip(1);
    let lines: Vec<&str> = lines.take_while(|line| *line != "//! ```").collect();
    // A number, names with two blanks between them, and after more blanks what they are.
    let told = lines.iter().rev().map(|line| {
        let (number, rest) = line.strip_prefix("//! ").unwrap().split_once(' ').unwrap();
        let names = rest.trim_start().split("   ").next().unwrap();
        (number.parse().unwrap(), names.split_whitespace().collect())
    });
    let told: Vec<(usize, Vec<&str>)> = told.collect();
    let layers = LAYERS.iter().enumerate().take(PROGRAMS).map(|(number, names)| (number, names.to_vec()));
    let programs = (PROGRAMS, vec!["main.rs", "bin/gatewayctl.rs"]);
    assert_eq!(told, layers.chain([programs]).collect::<Vec<_>>());
}

#[test]
fn the_guide_for_contributors_shows_the_homes_of_crates() {
    let text = text("CONTRIBUTING.md");
    let (_, table) = text.split_once("| crate | where |\n|---|---|\n").unwrap();
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let mut told: Vec<(&str, &str)> = rows
        .flat_map(|row| {
            let mut words = row.split('`').skip(1).step_by(2);
            let name = words.next().unwrap();
            words.map(move |home| (name, home))
        })
        .collect();
    let mut homes = HOMES.to_vec();
    told.sort_unstable();
    homes.sort_unstable();
    assert_eq!(told, homes);
}
