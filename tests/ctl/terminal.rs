//! The same answers on a terminal: colours there and nowhere else, and never against the reader's wish.

use crate::golden::{assert_golden, ctl};
use crate::support::command::{program, run};
use crate::support::{Ended, Folder};

const ROBOTS: &[u8] = b"User-agent: *\nDissallow: /a\nDisallow: /caf\x1b[2J\xe9 b\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    folder
}

/// Runs `gatewayctl` on a terminal of its own; `None` where there is no `script` to make one.
pub(crate) fn on_terminal(folder: &Folder, arguments: &str, variables: &[(&str, &str)]) -> Option<Ended> {
    let mut command = program("script");
    let line = format!("{} {arguments}", env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(folder.path());
    command.env("TERM", "xterm").envs(variables.iter().copied());
    if std::process::Command::new("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` to make a terminal");
        return None;
    }
    let mut ended = run(command);
    ended.stdout = ended.stdout.replace('\r', "");
    Some(ended)
}

/// `text` without colours: what stands between an escape and an `m`.
pub(crate) fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    plain.extend(parts.map(|part| part.split_once('m').map_or(part, |(_, rest)| rest)));
    plain
}

#[test]
fn lint_has_colours_on_a_terminal() {
    let folder = folder();
    let Some(ended) = on_terminal(&folder, "lint robots.txt", &[]) else { return };
    assert!(ended.stdout.contains("\u{1b}[1m"), "{ended:?}");
    assert!(!ended.stdout.contains("\u{1b}[2J"), "what the file holds is harmless: {ended:?}");
    assert_golden("lint-terminal", &folder, &ended.exits(0));
}

#[test]
fn readers_who_want_no_colours_get_none() {
    let folder = folder();
    let plain = ctl(&folder, &["lint", "robots.txt"]).exits(0);
    assert!(!plain.stdout.contains('\u{1b}'), "{plain:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb"), ("CLICOLOR", "0")] {
        for runner in [None, Some(("CI", "true"))] {
            let variables: Vec<_> = [variable].into_iter().chain(runner).collect();
            let Some(ended) = on_terminal(&folder, "lint robots.txt", &variables) else { return };
            assert_eq!(ended.stdout, plain.stdout, "{variables:?}");
        }
    }
}

#[test]
fn readers_who_want_colours_get_them_unless_they_object() {
    let folder = folder();
    let piped = |variables: &[(&str, &str)]| {
        let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
        command.args(["lint", "robots.txt"]).current_dir(folder.path()).envs(variables.iter().copied());
        run(command).exits(0).stdout.contains('\u{1b}')
    };
    assert!(!piped(&[("CLICOLOR", "1")]), "there is no terminal");
    assert!(piped(&[("CLICOLOR_FORCE", "1")]) && piped(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
    assert!(!piped(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "an objection wins");
    let asked = [("TERM", "dumb"), ("CLICOLOR", "1")];
    let Some(ended) = on_terminal(&folder, "lint robots.txt", &asked) else { return };
    assert!(ended.stdout.contains('\u{1b}'), "a dumb terminal, where it is asked for: {ended:?}");
}

#[test]
fn json_is_the_same_everywhere() {
    let folder = folder();
    let plain = ctl(&folder, &["lint", "robots.txt", "--format", "json"]).exits(0);
    let Some(ended) = on_terminal(&folder, "lint robots.txt --format json", &[]) else { return };
    assert_eq!(ended.stdout, plain.stdout);
}
