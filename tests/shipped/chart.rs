//! `conf/helm`: rendered by Helm's own library, what it installs fits together and is a configuration that loads.
//!
//! The library comes with Python's package of it, which `.ci/dependencies test` fetches; without it these tests say so and pass.
//! No cluster runs it here.

#![expect(
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a chart without the value has failed, and a skip is told"
)]

use crate::fleet::{at, loads, options_exist, word, words};
use crate::{DAEMON, path, text};
use serde::Deserialize as _;
use serde_yaml::Value;
use std::process::Command;

/// Renders the chart for each of its arguments, or says what is wrong with those.
const RENDER: &str = "
import json, sys
from helm_python import chart
there = chart.Chart.load('conf/helm')
def rendered(values):
    try:
        return {'files': there.render(values=json.loads(values), name='robots', namespace='web')}
    except Exception as error:
        return {'error': str(error)}
print(json.dumps({'lint': chart.lint('conf/helm', strict=True), 'each': [rendered(values) for values in sys.argv[1:]]}))
";

const FLEET: &str = r#""fleet": {"database": "postgresql://gateway@database.example:5432/robots", "secret": "robots-database"}"#;

/// What Helm makes of each of these values; none where it is not there.
fn rendered(values: &[&str]) -> Option<Vec<serde_json::Value>> {
    let mut python = Command::new("python3");
    python.args(["-c", RENDER]).args(values).current_dir(path("")).env("PYTHONPATH", path("target/helm"));
    let output = python.output().ok()?;
    let talk = String::from_utf8_lossy(&output.stderr);
    if talk.contains("No module named 'helm_python'") {
        println!("skipped: Helm's library is not there");
        return None;
    }
    assert!(output.status.success(), "{talk}");
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all["lint"]["errors"], serde_json::json!([]), "{all}");
    Some(all["each"].as_array().unwrap().clone())
}

/// The objects that are installed.
fn objects(rendered: &serde_json::Value) -> Vec<Value> {
    let files = rendered["files"].as_object().unwrap_or_else(|| panic!("{rendered}"));
    let manifests =
        files.iter().filter(|(name, _)| std::path::Path::new(name).extension() != Some("txt".as_ref()));
    let documents = manifests.flat_map(|(_, text)| {
        serde_yaml::Deserializer::from_str(text.as_str().unwrap())
            .map(|document| Value::deserialize(document).unwrap())
            .collect::<Vec<_>>()
    });
    documents.filter(|document| !document.is_null()).collect()
}

fn of_kind<'a>(all: &'a [Value], kind: &str) -> &'a Value {
    all.iter().find(|one| word(one, "kind") == kind).unwrap_or_else(|| panic!("no {kind}"))
}

/// The path at which a volume is mounted.
fn mount<'a>(container: &'a Value, name: &str) -> &'a str {
    let mounts = at(container, "volumeMounts").as_sequence().unwrap();
    word(mounts.iter().find(|mount| word(mount, "name") == name).unwrap(), "mountPath")
}

/// What holds for every placement.
fn fits_together(all: &[Value], workload: &str, port: u64) {
    let (secret, workload, service) =
        (of_kind(all, "Secret"), of_kind(all, workload), of_kind(all, "Service"));
    let gateway = word(secret, "stringData/gateway.toml");
    loads(gateway, word(secret, "stringData/robots.txt"));
    let pod = at(workload, "spec/template/spec");
    let container = at(pod, "containers/0");
    let arguments = words(at(container, "args"));
    options_exist(DAEMON, &arguments);
    assert!(arguments.contains(&format!("{}/gateway.toml", mount(container, "configuration"))));
    assert_eq!(word(pod, "volumes/0/secret/secretName"), word(secret, "metadata/name"));
    for probe in ["readinessProbe", "livenessProbe"] {
        assert_eq!(words(at(container, &format!("{probe}/exec/command"))), ["gatewayctl", "status"]);
    }
    let config: toml::Table = gateway.parse().unwrap();
    assert_eq!(config["state_dir"].as_str(), Some(mount(container, "state")));
    let image = text("conf/container/Containerfile");
    assert!(image.contains(&format!("VOLUME {}\n", mount(container, "state"))));
    let user = at(pod, "securityContext/runAsUser").as_u64().unwrap();
    assert!(image.contains(&format!("USER {user}:{user}\n")));
    // Who is meant.
    let labels = at(workload, "spec/template/metadata/labels");
    let selectors = [at(workload, "spec/selector/matchLabels"), at(service, "spec/selector")];
    for selector in selectors.iter().flat_map(|selector| selector.as_mapping().unwrap()) {
        assert_eq!(labels.get(selector.0), Some(selector.1));
    }
    assert_eq!(word(service, "spec/ports/0/targetPort"), word(container, "ports/0/name"));
    assert_eq!(at(container, "ports/0/containerPort").as_u64(), Some(port));
    let listens = if config["listen"].as_array().unwrap().is_empty() {
        config["authorize"]["listen"].as_str()
    } else {
        config["listen"][0].as_str()
    };
    assert_eq!(listens, Some(&*format!("0.0.0.0:{port}")));
    // Longer than a gateway takes to end: 30 s of grace, and 5 s for its last counts.
    assert!(at(pod, "terminationGracePeriodSeconds").as_u64().unwrap() > 35);
}

#[test]
fn in_front_and_beside_and_as_a_fleet_it_fits_together() {
    let fleet = format!(r#"{{"replicas": 3, "persistence": {{"enabled": false}}, {FLEET}}}"#);
    let beside = r#"{"placement": "beside", "hosts": ["example.org"], "block": ["ai-train"],
        "admin": {"enabled": true, "token": "0123456789abcdef"}, "podMonitor": {"enabled": true},
        "extraConfig": "[crawlers.GPTBot]\nmode = \"enforce\""}"#;
    let followed = r#"{"robots": "", "image": {"repository": "registry.example/own", "tag": "1"}}"#;
    let Some(all) = rendered(&["{}", beside, &fleet, followed]) else { return };
    let [front, beside, fleet, followed] = &all[..] else { panic!("{all:?}") };
    fits_together(&objects(front), "StatefulSet", 8080);
    fits_together(&objects(followed), "StatefulSet", 8080);
    let fleet = objects(fleet);
    fits_together(&fleet, "Deployment", 8080);
    of_kind(&fleet, "PodDisruptionBudget");
    let pod = at(of_kind(&fleet, "Deployment"), "spec/template/spec");
    let gateway = word(of_kind(&fleet, "Secret"), "stringData/gateway.toml");
    let file = format!("{}/fleet.password", mount(at(pod, "containers/0"), "fleet"));
    assert_eq!(crate::fleet::password_file(gateway), file);
    let beside = objects(beside);
    fits_together(&beside, "StatefulSet", 9310);
    let monitor = at(of_kind(&beside, "PodMonitor"), "spec/podMetricsEndpoints/0");
    let secret = of_kind(&beside, "Secret");
    let token = word(monitor, "authorization/credentials/key");
    let config: toml::Table = word(secret, "stringData/gateway.toml").parse().unwrap();
    assert_eq!(config["admin_token"].as_str(), Some(word(at(secret, "stringData"), token)));
    // The fields of nginx's questions; ingress-nginx sends the method by itself.
    let fields = at(of_kind(&beside, "ConfigMap"), "data").as_mapping().unwrap();
    let recipe = text("conf/beside/nginx.conf");
    for (field, variable) in fields {
        let (field, variable) = (field.as_str().unwrap(), variable.as_str().unwrap());
        assert!(recipe.contains(&format!("proxy_set_header {field} {variable};")), "{field} {variable}");
    }
    assert_eq!(fields.len(), 4);
}

#[test]
fn values_that_would_not_work_are_refused_with_a_reason() {
    let cases = [
        (r#"{"replicas": 2}"#, "needs `fleet.database`"),
        (r#"{"mode": "block"}"#, "/mode"),
        (r#"{"placement": "beside", "robots": ""}"#, "needs `robots`"),
        (r#"{"origin": ""}"#, "needs `origin`"),
        (r#"{"admin": {"enabled": true}}"#, "/admin/token"),
        (r#"{"podMonitor": {"enabled": true}}"#, "needs `admin.enabled`"),
        (r#"{"tustedProxies": []}"#, "tustedProxies"),
    ];
    let Some(all) = rendered(&cases.map(|(values, _)| values)) else { return };
    for ((values, reason), answer) in cases.iter().zip(&all) {
        assert!(answer["error"].as_str().unwrap_or_default().contains(reason), "{values}: {answer}");
    }
}

#[test]
fn every_value_is_in_the_schema_and_the_version_is_the_package_s() {
    let values: Value = serde_yaml::from_str(&text("conf/helm/values.yaml")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&text("conf/helm/values.schema.json")).unwrap();
    for key in values.as_mapping().unwrap().keys() {
        assert!(schema["properties"].get(key.as_str().unwrap()).is_some(), "{key:?}");
    }
    let chart: Value = serde_yaml::from_str(&text("conf/helm/Chart.yaml")).unwrap();
    assert_eq!(word(&chart, "version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(word(&chart, "appVersion"), env!("CARGO_PKG_VERSION"));
}
