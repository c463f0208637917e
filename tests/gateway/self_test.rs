//! `robots-gateway self-test` finds what a configuration does, and leaves alone what runs with it.

use crate::support::agents::GPTBOT;
use crate::support::command::{Ended, daemon, run};
use crate::support::{Folder, configured, get, until};
use std::path::Path;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn self_test(config: &Path) -> Ended {
    let mut command = daemon();
    command.arg("self-test").arg("--config").arg(config);
    run(command)
}

/// A configuration of its own folder, with these lines.
fn tested(lines: &str) -> (Folder, Ended) {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    let state = folder.join("state");
    let head = format!("state_dir = \"{}\"\nadmin = \"off\"\n", state.display());
    let config = folder.write("gateway.toml", head + lines);
    let ended = self_test(&config);
    assert!(!state.exists(), "a self-test made the state folder");
    (folder, ended)
}

#[test]
fn it_passes_for_sites_of_every_kind_whose_origins_are_down() {
    let (_folder, ended) = tested(
        "mode = \"audit\"\nexempt = [\"127.0.0.1\"]\n[clients]\ncrawler = \"off\"\n[crawlers.GPTBot]\nmode = \"off\"\n\
         [[sites]]\nhosts = [\"example.org\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\nredirect_https = true\n\
         [[sites]]\nhosts = [\"*.example.org\"]\norigin = \"https://origin.invalid\"\nrobots = { from = \"none\" }\n\
         [[sites]]\norigin = \"http://127.0.0.1:9\"\n",
    );
    let passed = "self-test passed: robots.txt served and a person let through at 3 sites, a crawler refused";
    assert_eq!(ended.exits(0).stdout, passed);
}

#[test]
fn it_leaves_the_gateway_that_runs_alone() {
    let config = "mode = \"enforce\"\nstate_dir = \"state\"\ncontrol = \"control.sock\"\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).start();
    let ended = self_test(&gateway.folder().join("gateway.toml")).exits(0);
    assert_eq!(ended.stderr, "");
    // Nothing that was asked there is in this one's report.
    gateway.client().send(&get("/news/").by(GPTBOT));
    let state = gateway.folder().join("state").display().to_string();
    let report = until("the request is in the report", || {
        let report = gateway.ctl(&["report", "--state-dir", &state, "--format", "json"]).json();
        (report["crawlers"].as_array().is_some_and(|crawlers| !crawlers.is_empty())).then_some(report)
    });
    assert_eq!(report["crawlers"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["crawlers"][0]["requests"], 1, "{report}");
    assert_eq!(gateway.ctl(&["status", "--format", "json"]).exits(0).json()["generation"], 1);
}

#[test]
fn it_fails_where_a_crawler_would_pass_and_where_a_file_is_missing() {
    let site = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n";
    let folder = Folder::new();
    let catalogue = folder
        .write("crawlers.toml", "[[crawler]]\nname = \"GPTBot\"\nclient = \"app\"\ntokens = [\"GPTBot\"]\n");
    let (_folder, ended) = tested(&format!("catalogue = \"{}\"\n{site}", catalogue.display()));
    assert!(ended.exits(1).stderr.contains("self-test failed: a crawler was not refused: status 200"));
    let (_folder, ended) = tested("[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"absent.txt\"\n");
    assert!(ended.exits(1).stderr.contains("absent.txt"));
}
