//! Envoy, with its filter `ext_authz`. Run where Envoy is there; else the page of the guide holds what its documentation says.

use crate::carries::{carries_bodies_and_methods, carries_grpc, carries_websockets};
use crate::judged::OddClient;
use crate::proxy::{Proxy, optional_proxy};
use crate::scene::{Setup, keeps_its_promises};
use crate::site::{grpc, site};
use crate::support::Nginx;
use crate::support::origin::free_port;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Envoy with what `init` wrote, before this site.
fn envoy(program: &Path, setup: &Setup, site: SocketAddr, is_http2: bool) -> Proxy {
    let port = free_port();
    let own = setup.file("envoy.yaml").replace("port_value: 9310", &format!("port_value: {}", setup.asked));
    let mut own: Value = serde_yaml::from_str(&own).expect("the recipe is YAML");
    let taken = |own: &mut Value, part: &str| own[part].as_array_mut().map(std::mem::take).expect("a list");
    let (mut filters, mut routes, mut clusters) =
        (taken(&mut own, "http_filters"), taken(&mut own, "routes"), taken(&mut own, "clusters"));
    let of = |kind: &str| format!("type.googleapis.com/envoy.extensions.{kind}");
    filters.push(json!({
        "name": "envoy.filters.http.router",
        "typed_config": { "@type": of("filters.http.router.v3.Router") },
    }));
    routes.push(json!({ "match": { "prefix": "/" }, "route": { "cluster": "site" } }));
    let place = |address: SocketAddr| json!({ "socket_address": { "address": "127.0.0.1", "port_value": address.port() } });
    let http2 = json!({ "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
        "@type": of("upstreams.http.v3.HttpProtocolOptions"),
        "explicit_http_config": { "http2_protocol_options": {} },
    } });
    clusters.push(json!({
        "name": "site",
        "type": "STATIC",
        "typed_extension_protocol_options": if is_http2 { http2 } else { json!({}) },
        "load_assignment": {
            "cluster_name": "site",
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": place(site) } }] }],
        },
    }));
    let manager = json!({
        "@type": of("filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "site",
        "use_remote_address": true,
        "upgrade_configs": [{ "upgrade_type": "websocket" }],
        "http_filters": filters,
        "route_config": { "virtual_hosts": [{ "name": "site", "domains": ["*"], "routes": routes }] },
    });
    let whole = json!({ "static_resources": {
        "listeners": [{
            "address": place(SocketAddr::from(([127, 0, 0, 1], port))),
            "filter_chains": [{ "filters": [{
                "name": "envoy.filters.network.http_connection_manager",
                "typed_config": manager,
            }] }],
        }],
        "clusters": clusters,
    } });
    let config = setup.folder.write("envoy.json", whole.to_string());
    let mut command = Command::new(program);
    let options = ["--concurrency", "1", "--use-dynamic-base-id", "--log-level", "error", "-c"];
    Proxy::start(command.args(options).arg(config).stderr(Stdio::null()), port)
}

#[test]
fn as_init_writes_it() {
    let Some(program) = optional_proxy("envoy", "envoy/_bin/envoy") else { return };
    let (setup, origin) = (Setup::of("envoy"), Nginx::start());
    let gateway = setup.gateway(None);
    let envoy = envoy(&program, &setup, origin.address(), false);
    keeps_its_promises(envoy.port, "example.org", &gateway);
}

#[test]
fn no_client_gets_past_it_by_what_it_sends() {
    let Some(program) = optional_proxy("envoy", "envoy/_bin/envoy") else { return };
    let (setup, origin) = (Setup::of("envoy"), Nginx::start());
    let _gateway = setup.gateway(None);
    let envoy = envoy(&program, &setup, origin.address(), false);
    let client = OddClient::at(envoy.port, "example.org");
    client.stays_out_whatever_it_sends();
    client.lets_people_through();
}

#[test]
fn it_carries_what_it_carries_without_asking() {
    let Some(program) = optional_proxy("envoy", "envoy/_bin/envoy") else { return };
    let setup = Setup::of("envoy");
    let _gateway = setup.gateway(None);
    let pages = envoy(&program, &setup, site(), false);
    OddClient::at(pages.port, "example.org").is_judged_by_what_the_site_is_told();
    carries_bodies_and_methods(pages.port, "example.org", &["--http1.1"]);
    carries_bodies_and_methods(pages.port, "example.org", &["--http2-prior-knowledge"]);
    carries_websockets(pages.port, "example.org");
    carries_grpc(envoy(&program, &setup, grpc(), true).port, "example.org");
}
