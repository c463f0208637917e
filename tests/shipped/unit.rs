//! `systemd/robots-gateway.service` names programs, verbs, options and exit codes that exist.

use crate::sandbox::Sandbox;
use crate::{DAEMON, TOOL, text};
use robots_gateway::config::Config;
use std::process::{Command, Output};
use std::time::Duration;

const UNIT: &str = "systemd/robots-gateway.service";

/// The values of a directive, in order.
fn values(directive: &str) -> Vec<String> {
    let unit = text(UNIT);
    let values = unit.lines().filter_map(|line| line.strip_prefix(directive)?.strip_prefix('='));
    values.map(str::to_owned).collect()
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

#[test]
fn its_commands_are_ones_that_the_programs_know() {
    let commands = ["ExecStartPre", "ExecStart", "ExecReload"].map(values);
    assert!(commands.iter().all(|lines| lines.len() == 1), "{commands:?}");
    for line in commands.iter().flatten() {
        let mut words = line.split(' ');
        let program = match words.next().and_then(|program| program.strip_prefix("/usr/local/bin/")) {
            Some("robots-gateway") => DAEMON,
            Some("gatewayctl") => TOOL,
            other => panic!("{other:?}"),
        };
        let words: Vec<&str> = words.collect();
        let verb = words.iter().take_while(|word| !word.starts_with('-')).copied();
        let help = run(program, &verb.chain(["--help"]).collect::<Vec<_>>());
        assert!(help.status.success(), "{line}: {help:?}");
        let help = String::from_utf8(help.stdout).unwrap();
        for option in words.iter().filter(|word| word.starts_with('-')) {
            assert!(
                help.split_whitespace().any(|word| word == *option),
                "{line}: no option {option} in\n{help}"
            );
        }
    }
}

#[test]
fn it_does_not_restart_after_a_bad_configuration() {
    let output = run(DAEMON, &["--config", "/nonexistent/gateway.toml"]);
    let code = output.status.code().map(|code| code.to_string());
    assert_eq!(values("RestartPreventExitStatus"), Vec::from_iter(code), "{output:?}");
}

#[test]
fn it_waits_longer_than_requests_may_take_to_finish() {
    let seconds: u64 = values("TimeoutStopSec").concat().parse().unwrap();
    assert!(Duration::from_secs(seconds) > *Config::default().grace);
}

#[test]
fn every_directive_has_a_comment_above_its_block() {
    let unit = text(UNIT);
    let sandbox = unit.split_once("# Sandbox.").map(|(_, rest)| rest).unwrap();
    let block = sandbox.split_once("\n\n").map(|(block, _)| block).unwrap();
    let lines: Vec<&str> = block.lines().skip(1).collect();
    assert!(lines.len() >= 30, "{lines:?}");
    assert!(lines.first().is_some_and(|line| line.starts_with("# ")));
    assert!(lines.iter().all(|line| line.starts_with("# ") || line.contains('=')), "{lines:?}");
}

#[test]
fn systemd_finds_no_fault_with_it() {
    let sandbox = Sandbox::new();
    sandbox.install_programs();
    let unit = sandbox.project().join(UNIT);
    match Command::new("systemd-analyze").arg("verify").arg(&unit).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(error) => println!("skipped: systemd-analyze cannot be run: {error}"),
    }
}

#[test]
fn it_is_shut_in_as_far_as_it_promises() {
    let output =
        Command::new("systemd-analyze").args(["security", "--offline=true", "--no-pager", UNIT]).output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return println!("skipped: systemd-analyze cannot be run: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !said.contains("Overall exposure level") {
        return println!("skipped: this systemd-analyze cannot judge a unit that is not loaded");
    }
    let level =
        said.lines().find_map(|line| line.split_once("Overall exposure level for robots-gateway.service: "));
    let level: f64 = level.and_then(|(_, rest)| rest.split(' ').next()).unwrap().parse().unwrap();
    println!("exposure: {level}");
    assert!(level <= 1.5, "{said}");
}

#[test]
fn systemd_finds_no_fault_with_its_sockets() {
    let sandbox = Sandbox::new();
    sandbox.install_programs();
    let units = [UNIT, "systemd/robots-gateway.socket"].map(|unit| sandbox.project().join(unit));
    match Command::new("systemd-analyze").arg("verify").args(units).output() {
        Ok(output) => assert!(output.status.success() && output.stderr.is_empty(), "{output:?}"),
        Err(error) => println!("skipped: systemd-analyze cannot be run: {error}"),
    }
}
