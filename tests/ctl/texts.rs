//! Help, completions and manual: generated from one source, complete for every verb.

use crate::golden::{assert_golden, ctl};
use crate::support::Folder;
use std::fs;

/// Every verb, as the help lists them.
fn verbs() -> Vec<String> {
    let help = ctl(&Folder::new(), &["--help"]).exits(0).stdout;
    let (_, rest) = help.split_once("Commands:\n").expect("a list of verbs");
    let (list, _) = rest.split_once("\n\n").expect("an end of the list");
    let verbs = list.lines().filter_map(|line| line.split_whitespace().next());
    verbs.filter(|verb| *verb != "help").map(str::to_owned).collect()
}

#[test]
fn every_verb_has_help_with_examples() {
    let verbs = verbs();
    assert!(verbs.len() >= 10, "{verbs:?}");
    for verb in &verbs {
        let help = ctl(&Folder::new(), &[verb, "--help"]).exits(0);
        let example = format!("\n  gatewayctl {verb}");
        assert!(
            help.stdout.contains("Examples:\n") && help.stdout.contains(&example),
            "{verb}: {}",
            help.stdout
        );
        // What is broken by a narrow terminal cannot be pasted.
        let (_, examples) = help.stdout.split_once("Examples:\n").expect("examples");
        for line in examples.lines().take_while(|line| !line.is_empty()) {
            assert!(line.contains("gatewayctl ") && line.len() <= 80, "{verb}: `{line}`");
        }
    }
}

#[test]
fn a_verbs_own_options_stand_first_and_formats_only_where_they_exist() {
    for verb in verbs() {
        let help = ctl(&Folder::new(), &[&verb, "--help"]).exits(0).stdout;
        let (own, common) = help.split_once("Common options:\n").unwrap_or_else(|| panic!("{verb}: {help}"));
        assert!(own.contains("-h, --help") && common.contains("--config"), "{verb}: {help}");
        let has_more = ["report", "replay"].contains(&&*verb);
        assert_eq!(help.contains("csv"), has_more, "{verb}: {help}");
    }
    let ended = ctl(&Folder::new(), &["crawlers", "--format", "csv"]).exits(2);
    assert!(ended.stderr.contains("only a report can be csv or html"), "{}", ended.stderr);
}

#[test]
fn a_misspelt_verb_or_option_is_answered_with_the_right_one() {
    let folder = Folder::new();
    let ended = ctl(&folder, &["explian"]).exits(2);
    assert!(ended.stderr.contains("'explain'"), "{}", ended.stderr);
    assert_golden("misspelt-verb", &folder, &ended);
    let ended = ctl(&folder, &["lint", "--denny", "warnings", "robots.txt"]).exits(2);
    assert!(ended.stderr.contains("'--deny'"), "{}", ended.stderr);
}

#[test]
fn completions_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = ctl(&Folder::new(), &["completions", shell]).exits(0).stdout;
        for verb in verbs() {
            assert!(script.contains(&verb), "{verb} in the script for {shell}");
        }
    }
    ctl(&Folder::new(), &["completions", "csh"]).exits(2);
}

#[test]
fn the_manual_has_a_page_for_each_verb() {
    let folder = Folder::new();
    let page = ctl(&folder, &["man"]).exits(0).stdout;
    assert!(page.contains(".TH gatewayctl 1"), "{page}");
    fs::create_dir(folder.join("man1")).expect("a folder");
    let said = ctl(&folder, &["man", "--out", "man1"]).exits(0).stdout;
    let verbs = verbs();
    assert!(said.lines().count() > verbs.len(), "{said}");
    for verb in verbs {
        let page = fs::read_to_string(folder.join(&format!("man1/gatewayctl-{verb}.1"))).expect("a page");
        assert!(page.contains(&format!(".TH gatewayctl-{verb} 1")), "{page}");
    }
    let page = fs::read_to_string(folder.join("man1/robots-gateway.8")).expect("a page of the daemon");
    assert!(page.contains(".TH robots-gateway 8") && page.contains("upgrade"), "{page}");
    let page = fs::read_to_string(folder.join("man1/gateway.toml.5")).expect("a page of the configuration");
    assert!(
        page.starts_with(".TH gateway.toml 5") && page.contains("#listen = [\"127.0.0.1:8080\"]"),
        "{page}"
    );
    let ended = ctl(&folder, &["man", "--out", "absent"]).exits(2);
    assert!(ended.stderr.contains("absent/gatewayctl.1"), "{}", ended.stderr);
}
