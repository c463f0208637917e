//! README, changelog, licence and Makefile agree with the package and with each other.

use crate::{path, text};

#[test]
fn the_changelog_begins_with_the_version_of_the_package() {
    let changelog = text("CHANGELOG.md");
    let versions = changelog.lines().filter_map(|line| line.strip_prefix("## [")?.split(']').next());
    let first = versions.into_iter().find(|version| *version != "Unreleased");
    assert_eq!(first, Some(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_licence_is_the_one_of_the_package() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    let licence =
        manifest.get("package").and_then(|package| package.get("license")).and_then(toml::Value::as_str);
    assert_eq!(licence, Some("Apache-2.0"));
    let text = text("LICENSE");
    for part in [
        "Apache License",
        "Version 2.0, January 2004",
        "9. Accepting Warranty",
        "END OF TERMS AND CONDITIONS",
    ] {
        assert!(text.contains(part), "LICENSE lacks `{part}`");
    }
}

#[test]
fn every_make_command_that_is_named_exists() {
    let makefile = text("Makefile");
    let mut named = 0;
    for file in ["README.md", "CONTRIBUTING.md", ".ci/run"] {
        let text = text(file);
        let starts = text
            .match_indices("make ")
            .filter(|(at, _)| *at == 0 || matches!(text.as_bytes()[at - 1], b'\n' | b'`'));
        for (at, mark) in starts {
            let target: String =
                text[at + mark.len()..].chars().take_while(char::is_ascii_alphanumeric).collect();
            // What it needs may stand between the name and what is said of it.
            let rule = |line: &str| line.strip_prefix(&target).is_some_and(|rest| rest.starts_with(": "));
            assert!(makefile.lines().any(rule), "{file} names `make {target}`");
            named += 1;
        }
    }
    assert!(named >= 6, "only {named} commands seen");
}

#[test]
fn the_first_screen_says_what_it_is_and_what_it_cannot_do() {
    let readme = text("README.md");
    let screen: Vec<&str> = readme.lines().take(48).collect();
    let at = |words: &str| {
        screen.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("`{words}`"))
    };
    let order = [
        at("is a reverse proxy"),
        at("make demo"),
        at("make test"),
        at("pretend to be Chrome"),
        at("cannot do"),
        at("not access control"),
    ];
    assert!(order.is_sorted(), "{order:?}");
}

#[test]
fn every_link_of_the_readme_leads_somewhere() {
    let readme = text("README.md");
    let links = readme.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let local: Vec<&str> = links.filter(|link| !link.starts_with("https://")).collect();
    assert!(local.len() >= 15, "{local:?}");
    for link in local {
        assert!(path(link).exists(), "README.md links to `{link}`");
    }
}

#[test]
fn every_place_that_is_named_for_contributors_exists() {
    let contributing = text("CONTRIBUTING.md");
    let (_, table) = contributing.split_once("| in this folder | |").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let places: Vec<&str> = table.split('`').skip(1).step_by(2).collect();
    assert!(places.len() >= 6, "{places:?}");
    for place in places {
        assert!(path(place).exists(), "CONTRIBUTING.md names `{place}`");
    }
}
