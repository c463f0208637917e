//! `HAProxy`, with a script in Lua.

use crate::scene::{
    Proxy, ProxyAnswer, ROBOTS, Setup, ask, block, counts_each_once, is_copy, keeps_its_promises,
    survives_a_hung_gateway, survives_without_the_gateway,
};
use crate::support::Nginx;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::origin::free_port;
use std::cell::Cell;
use std::process::{Command, Stdio};

fn haproxy(setup: &Setup, config: &str) -> Proxy {
    let port = free_port();
    setup.folder.write("site/robots-gateway.lua", setup.file("robots-gateway.lua"));
    let here = setup.folder.join("site");
    let config = config.replace("bind :80", &format!("bind 127.0.0.1:{port}"));
    let config = config.replace("/etc/robots-gateway", here.to_str().expect("UTF-8"));
    let limits = "defaults\n    timeout client 30s\n    timeout connect 5s\n    timeout server 30s\n";
    let config = setup.folder.write("haproxy.cfg", format!("{limits}{config}"));
    let mut command = Command::new("haproxy");
    command.args(["-db", "-f"]).arg(config).stderr(Stdio::null());
    Proxy::start(&mut command, port)
}

#[test]
fn as_init_writes_it() {
    let (setup, origin) = (Setup::of("haproxy"), Nginx::start());
    let gateway = setup.gateway(None);
    let config = setup.file("haproxy.cfg").replace("127.0.0.1:3000", &origin.address().to_string());
    let haproxy = haproxy(&setup, &config);
    keeps_its_promises(haproxy.port, "example.org", &gateway);
    counts_each_once(haproxy.port, "example.org", &gateway, &["/private/1", "/open/1", "/private/2"]);
    // Fields arrive whole, what stands before a comma too.
    let header = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.2";
    ask(haproxy.port, "example.org", "/private/3", &["-A", header]);
    assert_eq!(gateway.journal().event_of("/private/3")["user_agent"], header);
    survives_a_hung_gateway(haproxy.port, "example.org", &gateway, is_copy);
    survives_without_the_gateway(haproxy.port, "example.org", &setup, gateway, None);
}

#[test]
fn before_five_sites() {
    let (setup, origin) = (Setup::of("haproxy"), Nginx::start());
    let config = setup.at_its_port(&block("Five sites behind HAProxy", "toml"));
    for name in ["a", "b", "c", "d"] {
        assert!(config.contains(&format!("{name}.txt")), "{config}");
    }
    let text = config.replace("a.txt", "robots.txt").replace("b.txt", "robots.txt");
    let text = text.replace("c.txt", "robots.txt").replace("d.txt", "robots.txt");
    let gateway = setup.gateway(Some(&text));
    let mut proxy = setup.at_its_port(&block("Five sites behind HAProxy", "haproxy"));
    for number in 1..=5 {
        proxy = proxy.replace(&format!("127.0.0.1:300{number}"), &origin.address().to_string());
    }
    let haproxy = haproxy(&setup, &proxy);
    for host in ["a.example", "b.example", "c.example", "d.example"] {
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", GPTBOT]).status, 200, "{host}");
        assert!(ask(haproxy.port, host, "/robots.txt", &["-A", CHROME]).text.ends_with(ROBOTS), "{host}");
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", GPTBOT]).status, 403, "{host}");
    }
    // The fifth is no site of the gateway's, and keeps its own file.
    assert_eq!(ask(haproxy.port, "e.example", "/private", &["-A", GPTBOT]).status, 200);
    assert!(
        ask(haproxy.port, "e.example", "/robots.txt", &["-A", GPTBOT])
            .text
            .contains("only-the-origin-says-so")
    );
    assert_eq!(gateway.journal().events().iter().filter(|event| event["host"] == "e.example").count(), 0);
    // Until the probe has found out, there is no file to give in its place.
    let is_first = Cell::new(true);
    let is_right = |robots: &ProxyAnswer| {
        is_first.replace(false) && robots.status == 504 || robots.text.contains("only-the-origin-says-so")
    };
    survives_a_hung_gateway(haproxy.port, "a.example", &gateway, is_right);
}
