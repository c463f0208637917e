//! `.ci/dist`, which makes what a release consists of: the same bytes each time, with all that is promised in them.

use crate::{DAEMON, path, text};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

fn dist(out: &Path, repository: Option<&str>) -> Output {
    let mut command = Command::new(path(".ci/dist"));
    command.arg(Path::new(DAEMON).parent().unwrap()).arg(out).env_remove("SOURCE_DATE_EPOCH");
    command.envs(repository.map(|url| ("REPOSITORY", url))).output().unwrap()
}

/// The files of a folder, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

/// The names in an archive.
fn listed(archive: &Path) -> String {
    let output = Command::new("tar").arg("-tzf").arg(archive).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs cargo-deb and cargo-cyclonedx, and packs the programs twice"]
fn a_release_is_whole_and_the_same_bytes_twice() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    for out in [&first, &second] {
        let output = dist(out, None);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(talk.contains("`repository` in Cargo.toml is a placeholder"), "{talk}");
    }
    let made = files(&first);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(made.len(), 4, "{:?}", made.keys());
    for (name, bytes) in files(&second) {
        assert!(made[&name] == bytes, "{name} differs");
    }
    let name = |end: &str| made.keys().find(|name| name.ends_with(end)).unwrap_or_else(|| panic!("no {end}"));
    let archive = listed(&first.join(name(".tar.gz")));
    for file in [
        "bin/robots-gateway",
        "bin/gatewayctl",
        "systemd/robots-gateway.service",
        "systemd/robots-gateway.socket",
        "systemd/robots-gateway.sysusers",
        "completions/_gatewayctl",
        "man/gatewayctl.1",
        "examples/gateway.toml",
        "examples/robots.txt",
        "examples/helm/Chart.yaml",
        "docs/quick-start.md",
        "LICENSE",
        "NOTICE",
    ] {
        assert!(archive.lines().any(|line| line.ends_with(&format!("/{file}"))), "no {file} in\n{archive}");
    }
    let parts: serde_json::Value = serde_json::from_slice(&made[name(".cdx.json")]).unwrap();
    assert_eq!(parts["metadata"]["component"]["version"], version);
    let parts: Vec<&str> =
        parts["components"].as_array().unwrap().iter().filter_map(|part| part["name"].as_str()).collect();
    for part in ["pingora-core", "rusqlite", "rfc9309"] {
        assert!(parts.contains(&part), "{part} is not in the list of parts");
    }
    assert!(!parts.contains(&"criterion"), "what only tests need is in the list of parts");
    let sums =
        Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&first).output().unwrap();
    assert!(sums.status.success() && String::from_utf8_lossy(&sums.stdout).lines().count() == 3, "{sums:?}");
}

#[test]
fn a_release_from_another_place_than_cargo_toml_names_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = dist(folder.path(), Some("https://forge.example/somebody/robots-gateway"));
    let talk = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{talk}");
    assert!(talk.contains("Cargo.toml: `repository` is https://example.org/robots-gateway"), "{talk}");
    assert!(text(".github/workflows/release.yml").contains("REPOSITORY: ${{ github.server_url }}"));
}
