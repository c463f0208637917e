//! Comparing what a command said with the text that is kept of it.

use crate::support::command::{program, run_with_input};
use crate::support::{Ended, Folder};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Runs `gatewayctl` in `folder`, so that its messages name the files as a person there would.
#[track_caller]
pub(crate) fn ctl(folder: &Folder, arguments: &[&str]) -> Ended {
    ctl_with_input(folder, arguments, None)
}

#[track_caller]
pub(crate) fn ctl_with_input(folder: &Folder, arguments: &[&str], input: Option<&str>) -> Ended {
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(arguments).current_dir(folder.path());
    run_with_input(command, input.map(str::as_bytes))
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ctl/golden").join(format!("{name}.txt"))
}

/// Fails the test unless the command said what is kept as `name`.
#[track_caller]
pub(crate) fn assert_golden(name: &str, folder: &Folder, ended: &Ended) {
    let code = ended.code.map_or_else(|| "signal".to_owned(), |code| code.to_string());
    let said =
        format!("exit {code}\n--- standard output\n{}\n--- standard error\n{}\n", ended.stdout, ended.stderr);
    let said = without_times(&said.replace(folder.path().to_str().expect("UTF-8"), "[FOLDER]"));
    let path = kept(name);
    if env::var_os("GOLDEN").is_some_and(|value| value == "write") {
        fs::write(&path, &said).expect("the golden text can be written");
    }
    let wanted = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; it said:\n{said}", path.display()));
    assert!(said == wanted, "{} says\n{wanted}\nbut it said\n{said}", path.display());
}

/// Replaces times of RFC 3339 in UTC, which differ from run to run.
fn without_times(text: &str) -> String {
    let shape = |word: &str| {
        word.len() >= 20
            && word.ends_with('Z')
            && word
                .bytes()
                .zip("0000-00-00T00:00:00".bytes())
                .all(|(octet, like)| if like == b'0' { octet.is_ascii_digit() } else { octet == like })
    };
    let mut shown = String::new();
    for word in text.split_inclusive([' ', '\n', '"', ',', ';', ')']) {
        let end = word.trim_end_matches([' ', '\n', '"', ',', ';', ')']);
        shown.push_str(if shape(end) { "[TIME]" } else { end });
        shown.push_str(&word[end.len()..]);
    }
    without_spans(&shown)
}

/// Replaces how far away a time is.
fn without_spans(text: &str) -> String {
    let mut parts = text.split("] (in ");
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once(')').unwrap_or_default();
        shown.extend(["] (in [SPAN])", rest]);
    }
    shown
}

/// The keys of a JSON object in the order in which they were written.
#[track_caller]
pub(crate) fn keys(text: &str) -> Vec<String> {
    let value: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"));
    let mut keys: Vec<_> = value.as_object().expect("an object").keys().cloned().collect();
    keys.sort_by_key(|key| text.find(&format!("\"{key}\":")));
    keys
}
