//! Traefik, with its `forwardAuth`. Run where Traefik is there; else the page of the guide holds what its documentation says.

use crate::carries::{carries_bodies_and_methods, carries_grpc, carries_websockets};
use crate::judged::OddClient;
use crate::proxy::{Proxy, optional_proxy};
use crate::scene::{Setup, ask, keeps_promises};
use crate::site::{grpc, site};
use crate::support::origin::free_port;
use crate::support::{Nginx, until};
use std::path::Path;
use std::process::{Command, Stdio};

/// Traefik with what `init` wrote, before the site of this URL.
fn traefik(program: &Path, setup: &Setup, site: &str) -> Proxy {
    let port = free_port();
    let own = setup.file("traefik.yaml").replace("http://127.0.0.1:3000", site);
    let config = setup.folder.write("traefik.yaml", own);
    let mut command = Command::new(program);
    command.args([
        "--global.checknewversion=false",
        "--global.sendanonymoususage=false",
        "--log.level=ERROR",
    ]);
    command.arg(format!("--entrypoints.web.address=127.0.0.1:{port}"));
    command.arg(format!("--providers.file.filename={}", config.display()));
    let traefik = Proxy::start(command.stderr(Stdio::null()), port);
    // It listens before it has read what it does.
    until("it knows the site", || (ask(port, "example.org", "/", &[]).status == 200).then_some(()));
    traefik
}

#[test]
fn as_init_writes_it() {
    let Some(program) = optional_proxy("traefik", "bin/traefik") else { return };
    let (setup, origin) = (Setup::of("traefik"), Nginx::start());
    let gateway = setup.gateway(None);
    let traefik = traefik(&program, &setup, &origin.url());
    keeps_promises(traefik.port, "example.org", &gateway, false);
}

#[test]
fn no_client_gets_past_it_by_what_it_sends() {
    let Some(program) = optional_proxy("traefik", "bin/traefik") else { return };
    let (setup, origin) = (Setup::of("traefik"), Nginx::start());
    let _gateway = setup.gateway(None);
    let traefik = traefik(&program, &setup, &origin.url());
    let client = OddClient::at(traefik.port, "example.org");
    client.stays_out_whatever_it_sends();
    client.lets_people_through();
}

#[test]
fn it_carries_what_it_carries_without_asking() {
    let Some(program) = optional_proxy("traefik", "bin/traefik") else { return };
    let setup = Setup::of("traefik");
    let _gateway = setup.gateway(None);
    let pages = traefik(&program, &setup, &format!("http://{}", site()));
    OddClient::at(pages.port, "example.org").is_judged_by_what_the_site_is_told();
    carries_bodies_and_methods(pages.port, "example.org", &["--http1.1"]);
    carries_bodies_and_methods(pages.port, "example.org", &["--http2-prior-knowledge"]);
    carries_websockets(pages.port, "example.org");
    let calls = traefik(&program, &setup, &format!("h2c://{}", grpc()));
    carries_grpc(calls.port, "example.org");
}
