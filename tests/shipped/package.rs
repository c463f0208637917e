//! The Debian package names files, programs and directives that exist. What it does when it is installed, upgraded and
//! purged, `systemd/debian/try` shows in a Debian of its own.

use crate::{DAEMON, path, text};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

const UNIT: &str = "systemd/robots-gateway.service";

/// What `systemd/debian/prepare` makes, in a folder of its own.
fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let programs = Path::new(DAEMON).parent().unwrap();
    let mut command = Command::new(path("systemd/debian/prepare"));
    let output = command.arg(programs).arg(folder.path().join("package")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    folder
}

fn manifest() -> toml::Value {
    let manifest: toml::Value = toml::Value::Table(text("Cargo.toml").parse().unwrap());
    let package = ["package", "metadata", "deb"].into_iter().try_fold(&manifest, |table, key| table.get(key));
    package.unwrap().clone()
}

/// Whether a folder has a file of this name; a `*` stands for anything.
fn has(folder: &Path, pattern: &str) -> bool {
    let fits = |name: &str| match pattern.split_once('*') {
        None => name == pattern,
        Some((start, end)) => {
            // `*.s*` is a pattern with two; its second one ends it.
            let middle = end.trim_end_matches('*');
            name.starts_with(start) && if middle == end { name.ends_with(end) } else { name.contains(middle) }
        }
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(fits))
}

/// Lines that say something, in order.
fn directives(unit: &str) -> Vec<&str> {
    unit.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).collect()
}

#[test]
fn every_file_of_it_is_there_or_made() {
    let folder = prepared();
    let package = manifest();
    let assets = package["assets"].as_array().unwrap();
    assert!(assets.len() >= 15, "{assets:?}");
    let mut targets = BTreeSet::new();
    for asset in assets {
        let part = |index: usize| asset[index].as_str().unwrap();
        let (source, target) = (Path::new(part(0)), part(1));
        let (parent, name) = (source.parent().unwrap(), source.file_name().unwrap().to_str().unwrap());
        let place = match parent.strip_prefix("target/package") {
            Ok(rest) => folder.path().join("package").join(rest),
            Err(_) => path(parent.to_str().unwrap()),
        };
        assert!(has(&place, name), "{}: nothing to package", source.display());
        targets.insert(format!("/{target}{name}"));
    }
    for file in package["conf-files"].as_array().unwrap() {
        assert!(targets.contains(file.as_str().unwrap()), "{file} is no file of the package");
    }
    assert_eq!(package["maintainer-scripts"].as_str(), Some("systemd/debian"));
}

#[test]
fn its_program_has_its_debug_information_apart_and_two_names() {
    let folder = prepared();
    let bytes = |place: &str| std::fs::read(folder.path().join("package").join(place)).unwrap();
    let (stripped, debug) = (bytes("bin/robots-gateway"), bytes("debug/robots-gateway.debug"));
    let holds = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    // The name as it stands among those of sections; the program knows it too, for backtraces of its own.
    let section = "\0.debug_line\0";
    assert!(!holds(&stripped, section) && holds(&debug, section));
    assert!(holds(&stripped, "robots-gateway.debug"), "it does not name the file");
    assert!(stripped.len() * 2 < std::fs::read(DAEMON).unwrap().len(), "{}", stripped.len());
    // One file under both names, and each is what it is called.
    for name in ["robots-gateway", "gatewayctl"] {
        let version =
            Command::new(folder.path().join("package/bin").join(name)).arg("--version").output().unwrap();
        assert!(version.status.success() && version.stdout.starts_with(name.as_bytes()), "{version:?}");
    }
}

#[test]
fn its_unit_is_ours_but_for_paths() {
    let folder = prepared();
    let made = std::fs::read_to_string(folder.path().join("package/robots-gateway.service")).unwrap();
    let own = text(UNIT).replace("/usr/local/bin/", "/usr/bin/");
    assert_eq!(directives(&made), directives(&own));
    assert!(!made.contains("sysusers") && !made.contains("/usr/local"), "{made}");
    let socket = std::fs::read_to_string(folder.path().join("package/robots-gateway.socket")).unwrap();
    assert_eq!(directives(&socket), directives(&text("systemd/robots-gateway.socket")));
    assert!(!socket.contains("cp "), "{socket}");
}

#[test]
fn its_unit_is_shut_in_as_far_as_ours() {
    let folder = prepared();
    let unit = folder.path().join("package/robots-gateway.service");
    let mut command = Command::new("systemd-analyze");
    let output = match command.args(["security", "--offline=true", "--no-pager"]).arg(unit).output() {
        Ok(output) => output,
        Err(error) => return println!("skipped: systemd-analyze cannot be run: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let Some((_, rest)) = said.split_once("Overall exposure level for robots-gateway.service: ") else {
        return println!("skipped: this systemd-analyze cannot judge a unit that is not loaded");
    };
    let level: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!(level <= 1.5, "{said}");
}

#[test]
fn its_scripts_are_scripts_and_agree_with_the_unit() {
    for name in ["postinst", "prerm", "postrm", "prepare", "try"] {
        let script = path("systemd/debian").join(name);
        let mode = std::fs::metadata(&script).unwrap().permissions().mode();
        assert_eq!(mode & 0o111, 0o111, "{name} is no program");
        let shell = text(&format!("systemd/debian/{name}"));
        let shell = shell.lines().next().unwrap().trim_start_matches("#!").to_owned();
        let output = Command::new(shell).arg("-n").arg(&script).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
    }
    let (postinst, postrm) = (text("systemd/debian/postinst"), text("systemd/debian/postrm"));
    for folder in ["StateDirectory", "RuntimeDirectory"] {
        let name =
            text(UNIT).lines().find_map(|line| line.strip_prefix(&format!("{folder}=")).map(str::to_owned));
        let base = if folder == "StateDirectory" { "/var/lib" } else { "/run" };
        let purged = format!("{base}/{}", name.unwrap());
        assert!(postrm.contains(&purged), "purging leaves {purged}");
    }
    // Whatever it starts, it starts of a gateway that runs already.
    let starts = postinst.lines().filter(|line| line.trim_start().starts_with("deb-systemd-invoke"));
    assert!(starts.into_iter().all(|line| line.contains("try-restart")), "{postinst}");
}

/// `cargo test --test shipped fresh_debian -- --ignored --nocapture`, after `make package`
#[test]
#[ignore = "makes a Debian: root, mmdebstrap, systemd-container, cargo-deb and an archive; after `make package`"]
fn a_fresh_debian_takes_it_upgrades_it_and_is_rid_of_it() {
    let status = Command::new(path("systemd/debian/try")).status().unwrap();
    assert!(status.success());
}
