//! An origin whose name comes to mean another address: the gateway follows, and keeps to the last good one meanwhile.
//!
//! The gateway runs with a table of names of its own in the place of `/etc/hosts`, in a mount namespace; where that
//! cannot be had the tests are skipped. Everything else is the machine's own resolver.

use crate::server::TestOrigin;
use crate::support::agents::CHROME;
use crate::support::{Daemon, get, until};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const NAME: &str = "moving-origin.test";
const HOSTS: &str = "mount --bind \"$1\" /etc/hosts && shift && exec \"$@\"";
const OWN_MOUNTS: [&str; 5] = ["unshare", "--mount", "--propagation", "private", "sh"];

/// Two servers on one port of two addresses, and a gateway in front of what the name means.
struct MovingScene {
    gateway: Daemon,
    hosts: PathBuf,
}

impl MovingScene {
    /// `None` where nobody may have mounts of his own.
    fn start() -> Option<Self> {
        let may = Command::new(OWN_MOUNTS[0])
            .args(&OWN_MOUNTS[1..])
            .args(["-c", "mount --bind /etc/hosts /etc/hosts"])
            .output();
        if !may.is_ok_and(|output| output.status.success()) {
            eprintln!("skipped: no mount namespace is to be had");
            return None;
        }
        let (first, second) = two_listeners();
        let port = first.local_addr().expect("an address").port();
        TestOrigin::on("first", first);
        TestOrigin::on("second", second);
        let origin = format!("http://{NAME}:{port}");
        let builder = Daemon::with("User-agent: *\nDisallow:\n").at(&origin).set("mode = \"audit\"");
        let hosts = builder.folder().join("hosts");
        means(&hosts, Some("127.0.0.1"));
        let path = hosts.to_str().expect("UTF-8").to_owned();
        let wrapper = [OWN_MOUNTS.as_slice(), &["-c", HOSTS, "sh", &path]].concat();
        let gateway = builder.by(&wrapper).start();
        Some(Self { gateway, hosts })
    }

    /// Who answers.
    #[track_caller]
    fn answers(&self) -> String {
        let response = self.gateway.send(&get("/who").by(CHROME));
        assert_eq!(response.status, 200, "{}", response.text());
        response.text().split(':').next().unwrap_or_default().to_owned()
    }
}

/// The same free port of two addresses.
fn two_listeners() -> (TcpListener, TcpListener) {
    for _ in 0..50 {
        let first = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = first.local_addr().expect("an address").port();
        if let Ok(second) = TcpListener::bind(("127.0.0.2", port)) {
            return (first, second);
        }
    }
    panic!("no port is free on two addresses");
}

/// Writes what the name means, in place, since the file is mounted.
fn means(hosts: &Path, address: Option<&str>) {
    let line = address.map_or_else(String::new, |address| format!("{address} {NAME}\n"));
    std::fs::write(hosts, format!("127.0.0.1 localhost\n{line}")).expect("written");
}

#[test]
fn a_reload_asks_again_and_a_name_that_is_gone_keeps_its_last_address() {
    let Some(scene) = MovingScene::start() else { return };
    assert_eq!(scene.answers(), "first");
    means(&scene.hosts, Some("127.0.0.2"));
    assert_eq!(scene.answers(), "first", "nobody has asked yet");
    scene.gateway.ctl(&["reload"]).exits(0);
    until("requests go where the name leads now", || (scene.answers() == "second").then_some(()));
    means(&scene.hosts, None);
    scene.gateway.ctl(&["reload"]).exits(0);
    for _ in 0..5 {
        assert_eq!(scene.answers(), "second");
    }
}

/// `cargo test --test origins moves_by_itself -- --ignored`
#[test]
#[ignore = "waits for the half minute after which names are asked again"]
fn it_moves_by_itself_within_half_a_minute() {
    let Some(scene) = MovingScene::start() else { return };
    assert_eq!(scene.answers(), "first");
    means(&scene.hosts, Some("127.0.0.2"));
    let start = Instant::now();
    while scene.answers() == "first" {
        assert!(start.elapsed() < Duration::from_secs(40), "it still goes to the former address");
        std::thread::sleep(Duration::from_millis(250));
    }
    scene.gateway.log.line_with(&["has other addresses", NAME]);
}
