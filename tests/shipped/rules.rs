//! `rules/` loads, and says what its comments and README say it does.

use crate::{TOOL, path, text};
use robots_gateway::config::catalogue;
use robots_gateway::robots::{ParseLimits, Robots};
use std::path::Path;
use std::process::Command;

const SAMPLE: &str = "rules/robots.txt";
const CATALOGUE: &str = "rules/crawlers.toml";

#[test]
fn the_sample_robots_txt_is_without_findings() {
    let parsed = Robots::parse(text(SAMPLE).as_bytes(), &ParseLimits::default());
    assert!(parsed.findings.is_empty(), "{:?}", parsed.findings);
    let output = Command::new(TOOL).args(["lint", "--deny", "warnings"]).arg(path(SAMPLE)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn the_sample_robots_txt_does_what_its_comments_say() {
    let robots = Robots::parse(text(SAMPLE).as_bytes(), &ParseLimits::default()).robots;
    for (token, target, is_allowed) in [
        ("GPTBot", "/news/1", true),
        ("GPTBot", "/", false),
        ("GPTBot", "/drafts/", false),
        ("Googlebot", "/drafts/", false),
        ("Googlebot", "/drafts/preview.html", true),
        ("Googlebot", "/private/1", true),
        ("bingbot", "/drafts/preview.html", false),
        ("bingbot", "/private/1", false),
        ("bingbot", "/private/contact.html", true),
        ("bingbot", "/news/1", true),
        ("bingbot", "/search?q=x", false),
        ("bingbot", "/list?sort=price", false),
        ("bingbot", "/list?page=2", true),
    ] {
        let judgement = robots.judge(&[token], true, target.as_bytes());
        assert_eq!(judgement.allow, is_allowed, "{token} {target}");
    }
}

#[test]
fn the_catalogue_loads_as_an_operators_own_would() {
    let (known, place) = (catalogue::bundled(), Path::new(CATALOGUE));
    let knowledge = catalogue::extend(known, &text(CATALOGUE), place, Some(Path::new("")))
        .unwrap_or_else(|errors| panic!("{errors:?}"));
    let written: toml::Table = text(CATALOGUE).parse().unwrap();
    let written = written.get("crawler").and_then(toml::Value::as_array).unwrap();
    assert_eq!(knowledge.catalogue.crawlers().len(), written.len(), "two crawlers of one name");
    for name in [
        "GPTBot",
        "ClaudeBot",
        "Googlebot",
        "Googlebot-Image",
        "bingbot",
        "CCBot",
        "Applebot",
        "PerplexityBot",
    ] {
        let crawler = knowledge.catalogue.get(name).unwrap_or_else(|| panic!("{name} is not in {CATALOGUE}"));
        assert!(!crawler.tokens.is_empty(), "{name} has no token");
        assert!(
            crawler.docs.as_deref().is_some_and(|docs| docs.starts_with("https://")),
            "{name} has no docs"
        );
    }
    let image = knowledge.catalogue.get("Googlebot-Image").unwrap();
    assert_eq!(image.tokens.iter().map(AsRef::as_ref).collect::<Vec<_>>(), ["Googlebot-Image", "Googlebot"]);
}

#[test]
fn every_file_of_rules_is_read_by_the_program() {
    let mut source = String::new();
    read(&path("src"), &mut source);
    let files: Vec<_> =
        std::fs::read_dir(path("rules")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(files.len() >= 2, "{files:?}");
    // Beside the data stands the script that derives some of it.
    let is_script =
        |file: &&std::ffi::OsString| Path::new(file).extension().is_some_and(|ending| ending == "py");
    for file in files.iter().filter(|file| !is_script(file)) {
        let included = format!("/rules/{}\")", file.to_str().unwrap());
        assert!(source.contains(&included), "nothing includes {included}");
    }
}

/// Adds the text of every file below `folder` to `found`.
fn read(folder: &Path, found: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            read(&entry, found);
        } else {
            found.push_str(&std::fs::read_to_string(entry).unwrap());
        }
    }
}
