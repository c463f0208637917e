//! A gateway with an admin listener, and clients for both.

use crate::exposition::ParsedExposition;
use crate::support::tls::Authority;
use crate::support::{Builder, Client, ClientResponse, Daemon, Nginx, get};
use std::net::SocketAddr;
use std::path::PathBuf;

/// A gateway whose admin listener is open.
#[derive(Debug)]
pub(crate) struct Watched {
    pub(crate) gateway: Daemon,
    pub(crate) admin: SocketAddr,
}

impl Watched {
    /// Starts a gateway with an admin listener on a free port.
    #[track_caller]
    pub(crate) fn start(builder: Builder) -> Self {
        let gateway = builder.arg("--admin").arg("127.0.0.1:0").start();
        let line = gateway.log.line_with(&["admin listener is open"]);
        let at = line.find("127.0.0.1:").expect("an address is logged");
        let address = line[at..].split(['"', ' ']).next().expect("something stands there");
        Self { admin: address.parse().expect("a socket address"), gateway }
    }

    /// Asks the admin listener, as a program on the same machine does.
    #[track_caller]
    pub(crate) fn ask(&self, target: &str) -> ClientResponse {
        Client::to(self.admin).send(&get(target))
    }

    /// `/metrics`, taken apart.
    #[track_caller]
    pub(crate) fn metrics(&self) -> ParsedExposition {
        let response = self.ask("/metrics");
        assert_eq!(response.status, 200, "{}", response.text());
        ParsedExposition::parse(&response.text()).unwrap_or_else(|fault| panic!("{fault}"))
    }
}

/// A gateway that has a value for every metric.
pub(crate) fn with_everything(origin: &Nginx) -> Builder {
    let builder = Daemon::with("User-agent: *\nDisallow: /private\n").in_front_of(origin);
    Authority::new().save(builder.folder(), "site", &["a.example"]);
    let own = format!("[[sites]]\nhosts = [\"own.example\"]\norigin = \"{}\"", origin.url());
    builder
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .file("ranges.txt", "20.9.0.0/16\n")
        .table("[verify]\ndns = false\nranges = { GPTBot = [\"ranges.txt\"] }")
        .table("[[certificates]]\ncertificate = \"site.crt\"\nkey = \"site.key\"")
        .table(&own)
}

/// A program on the path, where it is installed.
pub(crate) fn installed(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|file| file.is_file()))
}
