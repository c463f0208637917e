//! Caddy, as with its `forward_auth`.

use crate::scene::{
    Proxy, ProxyAnswer, Setup, block, counts_each_once, is_copy, keeps_its_promises, survives_a_hung_gateway,
    survives_without_the_gateway,
};
use crate::support::origin::free_port;
use crate::support::{Nginx, until};
use std::process::{Command, Stdio};

/// Caddy with these site blocks.
fn caddy(setup: &Setup, port: u16, sites: &str) -> Proxy {
    let sites = sites.replace("\nexample.org {", &format!("\nhttp://example.org:{port} {{"));
    let text = format!("{{\n\tadmin off\n\tauto_https off\n}}\n{sites}");
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
    survives_a_hung_gateway(caddy.port, "example.org", &gateway, is_copy);
    survives_without_the_gateway(caddy.port, "example.org", &setup, gateway, None);
}

#[test]
fn before_forgejo() {
    let (setup, origin) = (Setup::of("caddy"), Nginx::start());
    let config = setup.at_its_port(&block("Forgejo behind Caddy", "toml"));
    let gateway = setup.gateway(Some(&config));
    let site = format!("\n{}", setup.at_its_port(&block("Forgejo behind Caddy", "caddyfile")));
    let site = site.replace("127.0.0.1:3000", &origin.address().to_string());
    let site = site.replace("/etc/robots-gateway", setup.folder.join("site").to_str().expect("UTF-8"));
    let site = site.replace("\ngit.example.org {", "\nexample.org {");
    let caddy = caddy(&setup, free_port(), &site);
    until("it answers", || {
        (crate::scene::ask(caddy.port, "example.org", "/", &[]).status == 200).then_some(())
    });
    keeps_its_promises(caddy.port, "example.org", &gateway);
    let is_forgejos_own = |robots: &ProxyAnswer| robots.text.contains("only-the-origin-says-so");
    survives_a_hung_gateway(caddy.port, "example.org", &gateway, is_forgejos_own);
}
