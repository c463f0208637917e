//! The gateway as an operator starts it, and pingora's minimal example.

use super::{Addresses, Where};
use crate::certificate::Certificate;
use crate::process::{Processor, Running, command};
use crate::scenario::REFUSED_CRAWLER;
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// The sample robots.txt: it refuses GPTBot nearly everything.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rules/robots.txt");

/// The name that the keys of an agent of the catalogue are kept by, and a key (RFC 8037 §A.2).
const DIRECTORY: &str = "chatgpt.com_.well-known_http-message-signatures-directory";
const KEYS: &str =
    r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

/// How a gateway is started.
#[derive(Debug)]
pub(crate) struct GatewayPeer {
    pub(crate) mode: &'static str,
    pub(crate) robots: PathBuf,
    pub(crate) notice: &'static str,
    /// Whether every refusal has its line in the journal.
    pub(crate) has_every_line: bool,
    pub(crate) threads: usize,
    pub(crate) place: Processor,
}

impl Default for GatewayPeer {
    fn default() -> Self {
        Self {
            mode: "enforce",
            robots: SAMPLE.into(),
            notice: "0s",
            has_every_line: false,
            threads: 1,
            place: Processor::Server,
        }
    }
}

impl GatewayPeer {
    pub(crate) fn start(&self, place: Where<'_>) -> Result<Running, Box<dyn Error>> {
        let Where { origin, addresses, folder } = place;
        let mut gateway = command(env!("CARGO_BIN_EXE_robots-gateway"), self.place);
        gateway.arg("--config").arg(self.configuration(addresses, origin, folder)?);
        Running::start(gateway, addresses.plain, &folder.join("log"))
    }

    /// Writes the configuration to `folder`.
    pub(crate) fn configuration(
        &self,
        addresses: Addresses,
        origin: SocketAddr,
        folder: &Path,
    ) -> Result<PathBuf, Box<dyn Error>> {
        let (Addresses { plain, tls }, certificate) = (addresses, Certificate::of(folder));
        let Self { mode, notice, threads, .. } = self;
        let rate = if self.has_every_line { "off" } else { "100/s" };
        let show = |path: &Path| path.display().to_string();
        let (state, control) = (show(&folder.join("state")), show(&control(folder)));
        let (robots, chain, key) = (show(&self.robots), show(&certificate.chain), show(&certificate.key));
        let text = format!(
            r#"listen = ["{plain}"]
mode = "{mode}"
notice = "{notice}"
threads = {threads}
admin = "off"
state_dir = "{state}"
control = "{control}"
# 100/s is the default.
journal_rate = "{rate}"
[limits]
# As for the others: h2load counts a connection that is closed for its age as a failure.
requests_per_connection = 1000000000
connections_per_address = 16384
[[listeners]]
address = "{tls}"
tls = true
[[certificates]]
certificate = "{chain}"
key = "{key}"
[[sites]]
origin = "http://{origin}"
robots = "{robots}"
"#
        );
        // A key that is known, for attacks by signatures that it did not make.
        let keys = folder.join("state/keys");
        std::fs::create_dir_all(&keys)?;
        std::fs::write(keys.join(DIRECTORY), KEYS)?;
        let path = folder.join("gateway.toml");
        std::fs::write(&path, text)?;
        Ok(path)
    }
}

/// The control socket of a gateway in `folder`.
pub(crate) fn control(folder: &Path) -> PathBuf {
    folder.join("control.sock")
}

/// Starts pingora's minimal example, which cargo leaves beside this program's folder.
pub(super) fn minimal(place: Where<'_>) -> Result<Running, Box<dyn Error>> {
    let program = std::env::current_exe()?;
    let built = program.parent().and_then(Path::parent).ok_or("no folder of built programs")?;
    let minimal = built.join("examples/minimal");
    if !minimal.exists() {
        let path = minimal.display();
        return Err(format!("{path} is missing: cargo build --release --locked --example minimal").into());
    }
    let certificate = Certificate::of(place.folder);
    let mut proxy = command(minimal, Processor::Server);
    proxy.arg(REFUSED_CRAWLER).args(addresses(place)).args([certificate.chain, certificate.key]);
    Running::start(proxy, place.addresses.plain, &place.folder.join("log"))
}

fn addresses(place: Where<'_>) -> [String; 3] {
    [place.addresses.plain, place.addresses.tls, place.origin].map(|address| address.to_string())
}
