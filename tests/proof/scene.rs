//! A gateway behind a proxy it trusts, and an origin that tells what proof it was told of.

use crate::name_server::NameServer;
use crate::support::{Builder, Client, Daemon, Nginx, get, until};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Everybody may read `/`, nobody `/private`.
pub(crate) const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// A gateway that asks the name server at `resolver`, and waits so long for it.
pub(crate) fn asking(origin: &Nginx, resolver: SocketAddr, timeout: &str) -> Builder {
    verified(origin, &format!("resolvers = [\"{resolver}\"]\ntimeout = \"{timeout}\""))
}

/// A gateway with these lines in its `[verify]` table.
pub(crate) fn verified(origin: &Nginx, verify: &str) -> Builder {
    Daemon::with(ROBOTS)
        .in_front_of(origin)
        .set("trusted_proxies = [\"127.0.0.1/32\"]")
        .set("verdict_headers = true")
        .table(&format!("[verify]\n{verify}"))
}

/// A gateway that asks `server`, started.
pub(crate) fn started(origin: &Nginx, server: &NameServer) -> Daemon {
    asking(origin, server.address(), "1s").start()
}

/// What supports the name of a client that comes from `address`, as far as the gateway knows now.
#[track_caller]
pub(crate) fn proof(client: &mut Client, agent: &str, address: &str) -> String {
    let response = client.send(&get("/public").by(agent).with("X-Forwarded-For", address));
    let text = response.came_from_origin().text();
    let line = text.lines().find_map(|line| line.strip_prefix("proof: ")).map(str::to_owned);
    line.unwrap_or_else(|| panic!("the origin was not told of a proof: {text}"))
}

/// Waits until the proof is `expected`; whatever it was before must have been `unchecked`.
#[track_caller]
pub(crate) fn becomes(gateway: &Daemon, agent: &str, address: &str, expected: &str) {
    let mut client = gateway.client();
    until(&format!("{agent} from {address} is {expected}"), || {
        let proof = proof(&mut client, agent, address);
        assert!(proof == expected || proof == "unchecked", "{agent} from {address} is {proof}");
        (proof == expected).then_some(())
    });
}

/// Asks for `time`, and fails the test unless the proof is `unchecked` all along.
#[track_caller]
pub(crate) fn stays_unchecked(gateway: &Daemon, agent: &str, address: &str, time: Duration) {
    let mut client = gateway.client();
    let end = std::time::Instant::now() + time;
    while std::time::Instant::now() < end {
        assert_eq!(proof(&mut client, agent, address), "unchecked", "{agent} from {address}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The folder of fetched lists of a gateway in the making, made.
pub(crate) fn ranges_of(builder: &Builder) -> PathBuf {
    let folder = builder.folder().join("state").join("ranges");
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
