//! A client whose signatures nobody of this project wrote: by npm packages, which `.ci/dependencies test`
//! installs into `target/signing-client`. Without it, or without Node, the test says what is missing.

use crate::signatures::knowing;
use crate::signing::{AGENT, AgentKey};
use crate::support::Nginx;
use std::path::Path;
use std::process::Command;

#[test]
fn a_client_of_others_is_verified() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/signing-client");
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if !has_node || !folder.join("node_modules/http-message-sig").is_dir() {
        eprintln!(
            "skipped: Node and the npm packages of tests/proof/client are missing; `.ci/dependencies test` installs them"
        );
        return;
    }
    let script = folder.join("send.mjs");
    std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/proof/client/send.mjs"), &script)
        .expect("a copy beside its package");
    let (origin, key) = (Nginx::start(), AgentKey::new(11));
    let gateway = knowing(&origin, &key, "").start();
    for (form, proof) in [("path", "confirmed"), ("dictionary", "confirmed"), ("authority", "unchecked")] {
        let url = format!("http://{}/private/{form}?x=y", gateway.address());
        let sent = Command::new("node").arg(&script).args([&url, AGENT, &key.jwk(), form]).output();
        let sent = sent.expect("Node runs");
        assert!(sent.stdout.starts_with(b"200\n"), "{sent:?}");
        let event = gateway.journal().event_of(&format!("/private/{form}?x=y"));
        assert_eq!(
            (&event["crawler"], &event["event"]),
            (&"Example Agent".into(), &"violation".into()),
            "{event:#}"
        );
        assert_eq!((&event["proof"], &event["proof_by"]), (&proof.into(), &"signature".into()), "{event:#}");
    }
}
