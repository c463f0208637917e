//! Caddy, as with its `forward_auth`.

use crate::carries::{carries_bodies_and_methods, carries_grpc, carries_websockets};
use crate::judged::OddClient;
use crate::proxy::Proxy;
use crate::scene::{
    Setup, block, counts_each_once, is_copy, is_whole_copy, judges_again, keeps_its_promises,
    survives_a_hung_gateway, survives_without_the_gateway,
};
use crate::site::{grpc, site};
use crate::support::origin::free_port;
use crate::support::{Nginx, until};
use std::process::{Command, Stdio};

/// Caddy with these site blocks.
fn caddy(setup: &Setup, port: u16, sites: &str) -> Proxy {
    let sites = sites.replace("\nexample.org {", &format!("\nhttp://example.org:{port} {{"));
    let text =
        format!("{{\n\tadmin off\n\tauto_https off\n\tservers {{\n\t\tprotocols h1 h2c\n\t}}\n}}\n{sites}");
    let config = setup.folder.write("Caddyfile", text);
    let mut command = Command::new("caddy");
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(config).stderr(Stdio::null());
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, setup.folder.path());
    }
    Proxy::start(&mut command, port)
}

#[test]
fn as_init_writes_it() {
    let (setup, origin) = (Setup::of("caddy"), Nginx::start());
    let gateway = setup.gateway(None);
    let site = setup.file("Caddyfile").replace("127.0.0.1:3000", &origin.address().to_string());
    let caddy = caddy(&setup, free_port(), &site);
    keeps_its_promises(caddy.port, "example.org", &gateway);
    counts_each_once(caddy.port, "example.org", &gateway, &["/private/1", "/open/1", "/private/2"]);
    survives_a_hung_gateway(caddy.port, "example.org", &gateway, is_whole_copy);
    survives_without_the_gateway(caddy.port, "example.org", &setup, gateway, None);
}

#[test]
fn no_client_gets_past_it_by_what_it_sends() {
    let (setup, origin) = (Setup::of("caddy"), Nginx::start());
    let _gateway = setup.gateway(None);
    let site = setup.file("Caddyfile").replace("127.0.0.1:3000", &origin.address().to_string());
    let caddy = caddy(&setup, free_port(), &site);
    let client = OddClient::at(caddy.port, "example.org");
    client.stays_out_whatever_it_sends();
    client.stays_out_under_any_name();
    client.lets_people_through();
}

#[test]
fn it_carries_what_it_carries_without_asking() {
    let setup = Setup::of("caddy");
    let _gateway = setup.gateway(None);
    let before = |place: String| {
        let caddy = caddy(&setup, free_port(), &setup.file("Caddyfile").replace("127.0.0.1:3000", &place));
        judges_again(caddy.port, "example.org");
        caddy
    };
    let pages = before(site().to_string());
    carries_bodies_and_methods(pages.port, "example.org", &["--http1.1"]);
    carries_bodies_and_methods(pages.port, "example.org", &["--http2-prior-knowledge"]);
    carries_websockets(pages.port, "example.org");
    carries_grpc(before(format!("h2c://{}", grpc())).port, "example.org");
}

#[test]
fn before_forgejo() {
    let (setup, origin) = (Setup::of("caddy"), Nginx::start());
    let config = setup.at_its_port(&block("caddy", "Forgejo behind Caddy", "toml"));
    let gateway = setup.gateway(Some(&config));
    let site = format!("\n{}", setup.at_its_port(&block("caddy", "Forgejo behind Caddy", "caddyfile")));
    let site = site.replace("127.0.0.1:3000", &origin.address().to_string());
    let site = site.replace("/var/lib/robots-gateway", setup.folder.join("state").to_str().expect("UTF-8"));
    let site = site.replace("\ngit.example.org {", "\nexample.org {");
    let caddy = caddy(&setup, free_port(), &site);
    until("it answers", || {
        (crate::scene::ask(caddy.port, "example.org", "/", &[]).status == 200).then_some(())
    });
    keeps_its_promises(caddy.port, "example.org", &gateway);
    survives_a_hung_gateway(caddy.port, "example.org", &gateway, is_copy);
}
