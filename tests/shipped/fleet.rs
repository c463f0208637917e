//! `conf/fleet/`: what it names exists, fits together, and is a configuration that loads. No engine runs it here.

use crate::{DAEMON, TOOL, path, text};
use serde::Deserialize as _;
use serde_yaml::Value;
use std::process::Command;

fn documents(name: &str) -> Vec<Value> {
    let text = text(&format!("conf/fleet/{name}"));
    let all = serde_yaml::Deserializer::from_str(&text).map(|document| {
        let mut value = Value::deserialize(document).unwrap();
        value.apply_merge().unwrap();
        value
    });
    all.collect()
}

/// The word at a path of keys and places.
pub(crate) fn at<'a>(value: &'a Value, keys: &str) -> &'a Value {
    keys.split('/').fold(value, |value, key| {
        let found = key.parse::<usize>().ok().and_then(|place| value.get(place)).or_else(|| value.get(key));
        found.unwrap_or_else(|| panic!("{keys}: no {key} in {value:?}"))
    })
}

pub(crate) fn word<'a>(value: &'a Value, keys: &str) -> &'a str {
    at(value, keys).as_str().unwrap_or_else(|| panic!("{keys} is no text"))
}

pub(crate) fn words(value: &Value) -> Vec<String> {
    value.as_sequence().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}

pub(crate) fn options_exist(program: &str, arguments: &[String]) {
    let help = Command::new(program).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout).into_owned();
    for option in arguments.iter().filter(|word| word.starts_with("--")) {
        assert!(help.contains(&format!("{option} ")), "{program} has no {option}");
    }
}

/// Whether a configuration loads, with files of its own in the place of what a container mounts.
pub(crate) fn loads(config: &str, robots: &str) {
    let folder = tempfile::tempdir().unwrap();
    let password = folder.path().join("password");
    std::fs::write(&password, "secret").unwrap();
    std::fs::write(folder.path().join("robots.txt"), robots).unwrap();
    let written = config.lines().map(|line| {
        if line.starts_with("password_file") {
            format!("password_file = \"{}\"", password.display())
        } else {
            line.to_owned()
        }
    });
    let file = folder.path().join("gateway.toml");
    std::fs::write(&file, written.collect::<Vec<_>>().join("\n")).unwrap();
    let checked = Command::new(TOOL).args(["check", "--offline", "--config"]).arg(&file).output().unwrap();
    assert!(checked.status.success(), "{config}\n{}", String::from_utf8_lossy(&checked.stdout));
}

/// The file that a configuration has the password in.
pub(crate) fn password_file(config: &str) -> String {
    let config: toml::Table = config.parse().unwrap();
    let fleet = config.get("fleet").and_then(|fleet| fleet.get("password_file"));
    fleet.and_then(toml::Value::as_str).unwrap().to_owned()
}

#[test]
fn the_compose_file_fits_together_and_the_programs() {
    let all = documents("compose.yaml");
    let file = &all[0];
    for (name, config) in [("gateway-1", "gateway.toml"), ("gateway-2", "gateway.toml")] {
        let service = at(file, &format!("services/{name}"));
        let arguments = words(at(service, "command"));
        options_exist(DAEMON, &arguments);
        assert_eq!(word(service, "hostname"), name);
        let text = text(&format!("conf/fleet/{config}"));
        loads(&text, "User-agent: *\nDisallow: /x\n");
        let secret = password_file(&text);
        let secret = secret.strip_prefix("/run/secrets/").unwrap();
        assert!(words(at(service, "secrets")).contains(&secret.to_owned()));
        assert!(at(file, "secrets").get(secret).is_some());
    }
    let init = at(file, "services/init");
    assert_eq!(words(at(init, "entrypoint")), ["gatewayctl"]);
    assert_eq!(words(at(init, "command"))[..2], ["fleet", "init"]);
    loads(&text("conf/fleet/owner.toml"), "");
    // What is mounted is here, but for what its first lines have one write.
    let volumes = ["database", "gateway-1", "gateway-2", "init"];
    let volumes = volumes.iter().flat_map(|name| words(at(file, &format!("services/{name}/volumes"))));
    for volume in volumes {
        let (from, _) = volume.split_once(':').unwrap();
        match from.strip_prefix("./") {
            Some("robots.txt") => {}
            Some(name) => assert!(path(&format!("conf/fleet/{name}")).exists(), "{name}"),
            None => assert!(at(file, "volumes").get(from).is_some(), "{from}"),
        }
    }
    // The user that the gateways log in as is the one that is made.
    let users = text("conf/fleet/users.sh");
    let config: toml::Table = text("conf/fleet/gateway.toml").parse().unwrap();
    assert!(
        config["fleet"]["database"].as_str().unwrap().starts_with("postgresql://gateway@database/robots")
    );
    assert!(users.contains("CREATE ROLE gateway LOGIN") && users.contains("IN ROLE robots_gateway_member"));
    assert_eq!(word(file, "services/database/environment/POSTGRES_DB"), "robots");
}
