//! `gatewayctl lint FILE`: the findings of one robots.txt.

use crate::golden::{assert_golden, ctl, ctl_with_input};
use crate::support::{Ended, Folder};

#[track_caller]
fn lint(name: &str, robots: impl AsRef<[u8]>, more: &[&str], code: i32) -> Ended {
    let folder = Folder::new();
    folder.write("robots.txt", robots);
    let ended = ctl(&folder, &[&["lint", "robots.txt"], more].concat()).exits(code);
    assert_golden(name, &folder, &ended);
    ended
}

const CLEAN: &str = "User-agent: *\nDisallow: /private\n\nSitemap: https://example.org/sitemap.xml\n";
const WARNINGS: &str = "\
Disallow: /before-any-group
User-agent: GPTBot
Dissallow: /misspelt
Disallow: no-slash
Disallow: /a b
Disallow /without-colon

User-agent: Googlebot-Image/1.0
Disallow: https://example.org/absolute
";

#[test]
fn a_clean_file() {
    lint("lint-clean", CLEAN, &[], 0);
    lint("lint-clean-denied", CLEAN, &["--deny", "warnings"], 0);
}

#[test]
fn warnings_have_their_lines_and_fail_when_denied() {
    let ended = lint("lint-warnings", WARNINGS, &[], 0);
    for line in [1, 3, 4, 5, 6, 9] {
        assert!(
            format!("{}{}", ended.stdout, ended.stderr).contains(&format!("robots.txt:{line}:")),
            "line {line}: {ended:?}"
        );
    }
    lint("lint-warnings-denied", WARNINGS, &["--deny", "warnings"], 1);
    lint("lint-warnings-json", WARNINGS, &["--format", "json"], 0).json();
}

const MISTAKES: &str = "\
# The staging site
User-agent: GPTBot, ClaudeBot
User-agent: CCBto
Disallow: /*.pdf$
Noindex: /old

User-agent: *
Disallow: /

Host: example.org
Sitemap: /sitemap.xml
";

#[test]
fn mistakes_that_many_make_fail_when_denied() {
    let told = lint("lint-mistakes", MISTAKES, &[], 0).stdout;
    assert!(told.contains("did you mean `CCBot`?"), "the catalogue is asked: {told}");
    let one = "User-agent: GPTBot, ClaudeBot\nDisallow: /\n";
    lint("lint-list-denied", one, &["--deny", "warnings"], 1);
}

#[test]
fn what_is_no_robots_txt_is_an_error() {
    lint("lint-html", "<!DOCTYPE html>\n<html><body>Not found</body></html>\n", &[], 1);
    lint("lint-empty", "", &[], 1);
    lint("lint-nul", b"User-agent: *\nDisallow: /a\0b\n", &[], 1);
}

#[test]
fn code_scanners_and_githubs_runners_get_it_in_their_own_forms() {
    let log = lint("lint-sarif", WARNINGS, &["--format", "sarif", "--deny", "warnings"], 1).json();
    let results = log["runs"][0]["results"].as_array().expect("results").clone();
    let first = &results[0];
    assert_eq!((&log["version"], &first["level"]), (&"2.1.0".into(), &"warning".into()));
    let place = &first["locations"][0]["physicalLocation"];
    assert_eq!(
        (&place["artifactLocation"]["uri"], &place["region"]["startLine"]),
        (&"robots.txt".into(), &1.into())
    );
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules").clone();
    assert!(results.iter().all(|result| rules.iter().any(|rule| rule["id"] == result["ruleId"])));

    let told = lint("lint-github", WARNINGS, &["--format", "github"], 0).stdout;
    assert_eq!(told.lines().count(), results.len());
    assert!(told.starts_with("::warning file=robots.txt,line=1,col=1,title=rule-outside-group::"), "{told}");
    let odd =
        lint("lint-github-escaped", "User-agent: *\nDisallow: x%y,z:\n", &["--format", "github"], 0).stdout;
    assert!(odd.contains("x%25y,z:"), "{odd}");
    for format in ["sarif", "github"] {
        let ended = ctl(&Folder::new(), &["crawlers", "--format", format]).exits(2);
        assert!(ended.stderr.contains("only a lint can be sarif or github"), "{}", ended.stderr);
    }
}

#[test]
fn a_file_of_comments_is_fine() {
    lint("lint-comments", "# nothing is disallowed\n", &[], 0);
}

#[test]
fn a_missing_file_cannot_be_answered() {
    let folder = Folder::new();
    let ended = ctl(&folder, &["lint", "absent.txt"]).exits(2);
    assert_golden("lint-missing", &folder, &ended);
}

#[test]
fn several_files_and_standard_input() {
    let folder = Folder::new();
    folder.write("one.txt", CLEAN);
    folder.write("two.txt", "User-agent: *\nDisallow: b\n");
    let ended = ctl(&folder, &["lint", "one.txt", "two.txt", "--deny", "warnings"]).exits(1);
    assert_golden("lint-several", &folder, &ended);
    let ended = ctl_with_input(&folder, &["lint", "-"], Some("Disalow: /a\n")).exits(0);
    assert_golden("lint-stdin", &folder, &ended);
    let ended = ctl(&folder, &["lint", "absent.txt", "two.txt"]).exits(2);
    assert!(ended.stdout.contains("two.txt:2:11") && ended.stderr.contains("absent.txt"), "{ended:?}");
}

#[test]
fn a_hostile_line_is_shown_harmlessly_with_its_mark() {
    let line = [&b"Disallow: \x1b]0;owned\x07 \xe2\x80\xae\xff"[..], &b"x".repeat(300)].concat();
    let robots = [b"User-agent: *\n", &line[..], b"\n"].concat();
    let ended = lint("lint-hostile", robots, &[], 0);
    assert!(ended.stdout.bytes().all(|byte| byte == b'\n' || byte >= b' '), "{}", ended.stdout);
}
