//! A proxy as a process of a test.

use crate::support::until;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A proxy that need not be there: in the system, or in `target/proxies`. Without it its tests are left out, and say so.
pub(crate) fn optional_proxy(name: &str, place: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let here = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../proxies").join(place);
    let mut places = std::env::split_paths(&folders).map(|folder| folder.join(name)).chain([here]);
    let found = places.find(|place| place.is_file());
    if found.is_none() {
        println!(
            "left out: there is no {name}; pip install --target target/proxies {name}-server or {name}-bin"
        );
    }
    found
}

/// A proxy in the foreground, ended on drop.
pub(crate) struct Proxy {
    process: Child,
    pub(crate) port: u16,
}

impl Proxy {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(command: &mut Command, port: u16) -> Self {
        let shown = format!("{command:?}");
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).process_group(0).spawn();
        let process =
            process.unwrap_or_else(|error| panic!("{shown}: {error}; .ci/dependencies test installs it"));
        let mut proxy = Self { process, port };
        until(&format!("{shown} listens"), || {
            assert!(proxy.process.try_wait().expect("a child").is_none(), "{shown} has ended");
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()
        });
        proxy
    }
}

impl Proxy {
    /// The same of a server at a socket of the file system.
    pub(crate) fn start_at(command: &mut Command, socket: &Path) -> Self {
        let process = command.process_group(0).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let proxy = Self { process, port: 0 };
        until("the socket is there", || socket.exists().then_some(()));
        proxy
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // PHP-FPM's workers outlive it.
        let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", self.process.id())]).status();
        let _ = self.process.wait();
    }
}
