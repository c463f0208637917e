//! The gateway as an operator starts it, and this program itself as the bare proxy and as pingora's minimal example.

use super::Kind;
use crate::process::{Place, Running, command, free_address};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The sample robots.txt: it refuses GPTBot nearly everything.
pub(crate) const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/robots.txt");

/// How a gateway is started.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) mode: &'static str,
    pub(crate) robots: PathBuf,
    pub(crate) notice: &'static str,
    pub(crate) threads: usize,
    pub(crate) place: Place,
}

impl Default for Gateway {
    fn default() -> Self {
        Self { mode: "enforce", robots: SAMPLE.into(), notice: "24h", threads: 1, place: Place::Server }
    }
}

impl Gateway {
    pub(crate) fn start(&self, origin: SocketAddr, folder: &Path) -> Result<Running, Box<dyn Error>> {
        let address = free_address()?;
        let mut gateway = command(env!("CARGO_BIN_EXE_robots-gateway"), self.place);
        gateway.args(["--origin", &format!("http://{origin}"), "--listen", &address.to_string()]);
        gateway.args(["--mode", self.mode, "--notice", self.notice, "--threads", &self.threads.to_string()]);
        gateway.args(["--admin", "off", "--robots"]).arg(&self.robots);
        gateway.arg("--state-dir").arg(folder.join("state")).arg("--control").arg(control(folder));
        Running::start(gateway, address, &folder.join("log"))
    }
}

/// The control socket of a gateway in `folder`.
pub(crate) fn control(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}

/// Starts this program as one of the proxies it brings.
pub(super) fn start(kind: Kind, origin: SocketAddr, folder: &Path) -> Result<Running, Box<dyn Error>> {
    let address = free_address()?;
    let mut proxy = command(std::env::current_exe()?, Place::Server);
    proxy.args(["--serve", kind.word(), &address.to_string(), &origin.to_string()]).arg(folder);
    Running::start(proxy, address, &folder.join("log"))
}
