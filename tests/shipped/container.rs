//! `conf/container/Containerfile` copies, runs and asks what exists. Whether an engine builds it is not tried here: that
//! takes a registry.

use crate::{DAEMON, TOOL, path, text};
use std::path::Path;
use std::process::{Command, Output};

const FILE: &str = "conf/container/Containerfile";

/// The values of an instruction, in order.
fn values(instruction: &str) -> Vec<String> {
    let file = text(FILE);
    let lines = file.lines().filter_map(|line| line.strip_prefix(instruction)?.strip_prefix(' '));
    lines.map(str::to_owned).collect()
}

/// The words of an instruction in its JSON form.
fn words(instruction: &str) -> Vec<String> {
    let values = values(instruction);
    assert_eq!(values.len(), 1, "{instruction}: {values:?}");
    serde_json::from_str(&values.concat()).unwrap()
}

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().unwrap()
}

/// What the first stage copies of the project.
fn sources() -> Vec<String> {
    let copies = values("COPY").into_iter().filter(|copy| !copy.starts_with("--from="));
    let sources = copies.flat_map(|copy| {
        let mut names: Vec<String> = copy.split(' ').map(str::to_owned).collect();
        names.pop();
        names
    });
    sources.collect()
}

/// Copies a folder with everything in it.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn what_it_copies_is_a_package_that_cargo_can_read() {
    let folder = tempfile::tempdir().unwrap();
    let sources = sources();
    assert!(sources.len() >= 5, "{sources:?}");
    for source in &sources {
        match source.strip_suffix('/') {
            Some(name) => copy(&path(name), &folder.path().join(name)),
            None => drop(std::fs::copy(path(source), folder.path().join(source)).unwrap()),
        }
    }
    let mut command = Command::new(env!("CARGO"));
    let output = command
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(&folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // Texts that are built into the programs.
    for file in ["src/config/catalogue.rs", "src/ctl/man.rs", "src/server/demo.rs"] {
        for part in text(file).split("include_str!(\"").skip(1) {
            let name = part.split('"').next().unwrap().trim_start_matches("../");
            assert!(folder.path().join(name).exists(), "{file} needs {name}");
        }
    }
}

#[test]
fn its_programs_and_options_exist_and_its_user_is_not_root() {
    for copied in [
        "--from=build /source/target/release/robots-gateway /usr/local/bin/",
        "--from=system /tool/ /usr/local/bin/",
    ] {
        assert!(values("COPY").contains(&copied.to_owned()), "{copied}");
    }
    assert!(values("RUN").contains(&"mkdir /tool && ln -s robots-gateway /tool/gatewayctl".to_owned()));
    assert_eq!(words("ENTRYPOINT"), ["robots-gateway"]);
    let help = String::from_utf8(run(DAEMON, &["--help"]).stdout).unwrap();
    for option in words("CMD").iter().filter(|word| word.starts_with("--")) {
        assert!(help.split_whitespace().any(|word| word == option), "no option {option}");
    }
    let user: u32 = values("USER").concat().split(':').next().unwrap().parse().unwrap();
    assert!(user > 0);
    // There is no shell that could run a line.
    let health = values("HEALTHCHECK").concat();
    let asked: Vec<String> = serde_json::from_str(health.split("CMD ").nth(1).unwrap()).unwrap();
    assert_eq!(asked[0], "gatewayctl");
    assert!(run(TOOL, &[&asked[1], "--help"]).status.success(), "{health}");
}

/// The folder of the volume holds everything that is written, so that the rest may be read-only.
#[test]
fn its_volume_holds_all_that_is_written() {
    let volume = values("VOLUME").concat();
    assert!(values("ENV").concat().contains(&format!("STATE_DIRECTORY={volume}")));
    let user = values("USER").concat();
    let (user, group) = user.split_once(':').unwrap();
    let name = volume.strip_prefix("/var/lib/").unwrap();
    let made = format!("install -d -m 0700 -o {user} -g {group} /state/{name}");
    assert!(values("RUN").contains(&made), "nobody may write to {volume}");
    let copied = format!("--from=system --chown={user}:{group} /state/ /var/lib/");
    assert!(values("COPY").contains(&copied), "{volume} is not copied");
}

#[test]
fn its_page_uses_its_names() {
    let page = text("docs/container.md");
    for word in [FILE, &values("VOLUME").concat(), &words("CMD").join(" "), "--read-only", "65532"] {
        assert!(page.contains(word), "docs/container.md does not name {word}");
    }
    assert!(page.contains(&format!("--publish 80:{}", values("EXPOSE").concat())));
}
