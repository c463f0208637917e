//! The scripts of benches/, on a small log and with the programs of this build: they work, and say what they promise.
//!
//! Not their figures: those come from a build for release, on a quiet machine.

use crate::{TOOL, path};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A log of some hundred lines, half of them of a crawler that breaks a rule of the sample robots.txt.
fn log(folder: &Path) -> std::path::PathBuf {
    let crawler = "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)";
    let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0";
    let line = |at: usize| {
        let agent = if at.is_multiple_of(2) { crawler } else { browser };
        let (minute, second) = (at / 60, at % 60);
        format!(
            "192.0.2.{} - - [01/Nov/2026:00:{minute:02}:{second:02} +0000] \"GET /drafts/ HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n",
            at % 250 + 1
        )
    };
    let file = folder.join("access.log");
    fs::write(&file, (0..400).map(line).collect::<String>()).unwrap();
    file
}

/// The first of these that is not there.
fn missing<'a>(programs: &[&'a str]) -> Option<&'a str> {
    programs.iter().copied().find(|program| Command::new(program).arg("--version").output().is_err())
}

fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}{}", text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_race_with_goaccess_tells_its_figures_and_fails_below_its_limits() {
    if let Some(program) = missing(&["python3", "goaccess"]) {
        println!("skipped: there is no {program}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(path("benches/replay/run"));
    command.args(["3000", "--rounds", "1", "--longest", "9000000"]);
    let output = command.env("SAMPLE", log(folder.path())).env("GATEWAYCTL", TOOL).output().unwrap();
    let said = said(&output);
    for part in
        ["log        3000 lines", "replay  ", "GoAccess", "lines/s", "MiB", "times as fast as GoAccess"]
    {
        assert!(said.contains(part), "`{part}` in {said}");
    }
    for part in ["plain", "cut lines", "noise", "long line"] {
        let line = said.lines().find(|line| line.starts_with(part));
        assert!(line.is_some_and(|line| line.contains(" lines not read ")), "{part} in {said}");
    }
    // So few lines are over before a rate can be told: that alone is wrong with them.
    let failures: Vec<&str> = said.lines().filter(|line| line.starts_with("FAILED: ")).collect();
    assert!(failures.iter().any(|failure| failure.contains("lines a second")), "{said}");
    assert!(
        failures
            .iter()
            .all(|failure| failure.contains("lines a second") || failure.contains("times as fast")),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn a_newcomers_way_is_as_short_as_it_is_said_to_be() {
    if let Some(program) = missing(&["git", "make", "curl", "python3"]) {
        println!("skipped: there is no {program}");
        return;
    }
    if !path(".git").exists() {
        println!("skipped: this is no clone");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(TOOL).parent().unwrap();
    let mut command = Command::new(path("benches/newcomer/run"));
    command.arg(log(folder.path())).arg(path("rules/robots.txt")).arg(programs);
    let output = command.output().unwrap();
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("enforce mode would have refused 200 of 400 requests"), "{said}");
    assert!(output.stdout.ends_with(b"it serves the site, in audit mode\n"), "{said}");
    let (one, three) = said.split_once("three commands").unwrap();
    let (_, one) = one.split_once("one command").unwrap();
    let steps = |part: &str| part.lines().filter(|line| line.contains(" s  ")).count();
    assert_eq!((steps(one), steps(three)), (1, 3), "{said}");
    let seconds = said.lines().filter_map(|line| line.split_once(" s  ")?.0.trim().parse::<f64>().ok());
    assert!(seconds.sum::<f64>() < 60.0, "{said}");
}

#[test]
fn the_measurement_beside_others_proves_what_it_measures() {
    if let Some(program) = missing(&["python3", "nginx", "wrk", "h2load", "curl", "openssl"]) {
        println!("skipped: there is no {program}");
        return;
    }
    let run = |options: &[&str]| {
        let mut command = Command::new(path("benches/e2e/run"));
        command
            .arg(Path::new(TOOL).parent().unwrap())
            .args(["--rounds", "1", "--seconds", "1"])
            .args(options);
        command.output().unwrap()
    };
    let output = run(&["--peer", "enforce", "--scenario", "refusal,"]);
    let figures = said(&output);
    for part in [
        "\nrefusal, fresh connections\n",
        "\nrefusal, HTTP/2 over TLS\n",
        "us/req",
        "  enforce ",
        "pass         refusals: the load saw ",
    ] {
        assert!(figures.contains(part), "`{part}` in {figures}");
    }
    assert_eq!(
        output.status.code(),
        Some(0),
        "no gate has both of its peers, and every refusal was counted: {figures}"
    );
    let output = run(&["--attack", "--scenario", "malformed"]);
    let line = said(&output);
    assert!(line.lines().any(|line| line.starts_with("malformed ") && line.contains('%')), "{line}");
    let output = run(&["--scenario", "no such thing"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
}
