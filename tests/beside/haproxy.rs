//! `HAProxy`, with a script in Lua.

use crate::carries::{carries_bodies_and_methods, carries_grpc, carries_websockets};
use crate::judged::OddClient;
use crate::proxy::Proxy;
use crate::scene::{
    ProxyAnswer, ROBOTS, Setup, ask, block, counts_each_once, is_copy, is_whole_copy, judges_again,
    keeps_its_promises, survives_a_hung_gateway, survives_without_the_gateway,
};
use crate::site::{grpc, site};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::origin::free_port;
use crate::support::tls::Authority;
use crate::support::{Nginx, until};
use std::process::{Command, Stdio};

fn haproxy(setup: &Setup, config: &str) -> Proxy {
    let port = free_port();
    setup.folder.write("site/robots-gateway.lua", setup.file("robots-gateway.lua"));
    let here = setup.folder.join("site");
    let config = config.replace("bind :80", &format!("bind 127.0.0.1:{port}"));
    let config = config.replace("/etc/robots-gateway", here.to_str().expect("UTF-8"));
    let config = setup.folder.write("haproxy.cfg", config);
    let check = Command::new("haproxy").args(["-c", "-f"]).arg(&config).output().expect("haproxy runs");
    let said = String::from_utf8_lossy(&check.stderr);
    assert!(check.status.success() && !said.contains("WARNING"), "{said}");
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
    survives_a_hung_gateway(haproxy.port, "example.org", &gateway, is_whole_copy);
    survives_without_the_gateway(haproxy.port, "example.org", &setup, gateway, None);
}

#[test]
fn no_client_gets_past_it_by_what_it_sends() {
    let (setup, origin) = (Setup::of("haproxy"), Nginx::start());
    let _gateway = setup.gateway(None);
    let config = setup.file("haproxy.cfg").replace("127.0.0.1:3000", &origin.address().to_string());
    let haproxy = haproxy(&setup, &config);
    let client = OddClient::at(haproxy.port, "example.org");
    client.stays_out_whatever_it_sends();
    client.stays_out_under_any_name();
    client.lets_people_through();
}

#[test]
fn it_carries_what_it_carries_without_asking() {
    let setup = Setup::of("haproxy");
    let _gateway = setup.gateway(None);
    let before = |place: String| {
        let haproxy = haproxy(&setup, &setup.file("haproxy.cfg").replace("127.0.0.1:3000", &place));
        judges_again(haproxy.port, "example.org");
        haproxy
    };
    let pages = before(site().to_string());
    carries_bodies_and_methods(pages.port, "example.org", &["--http1.1"]);
    carries_bodies_and_methods(pages.port, "example.org", &["--http2-prior-knowledge"]);
    carries_websockets(pages.port, "example.org");
    carries_grpc(before(format!("{} proto h2", grpc())).port, "example.org");
}

#[test]
fn robots_txt_is_passed_on_as_it_is_asked_for() {
    let (setup, origin, tls) = (Setup::of("haproxy"), Nginx::start(), free_port());
    let large = format!("{ROBOTS}{}", "# padding\n".repeat(20_000));
    let gateway = setup.gateway(None);
    let config = setup.file("haproxy.cfg").replace("127.0.0.1:3000", &origin.address().to_string());
    let (certificate, key) = Authority::new().pair(&["example.org"]);
    let pem = format!("{certificate}{key}");
    let bind = format!(
        "bind :80\n    bind 127.0.0.1:{tls} ssl crt {}",
        setup.folder.write("tls.pem", pem).display()
    );
    let haproxy = haproxy(&setup, &config.replace("bind :80", &bind));
    judges_again(haproxy.port, "example.org");
    let get = |more: &[&str]| ask(haproxy.port, "example.org", "/robots.txt", more);
    let whole = get(&["-A", GPTBOT]);
    let etag =
        whole.text.lines().find_map(|line| line.to_lowercase().strip_prefix("etag: ").map(str::to_owned));
    let known = format!("If-None-Match: {}", etag.expect("an ETag"));
    assert_eq!(get(&["-A", GPTBOT, "-H", &known]).status, 304);
    let head = get(&["-A", GPTBOT, "-I"]);
    assert!(head.status == 200 && head.text.ends_with("\r\n\r\n"), "{head:?}");
    assert_eq!(get(&["-A", GPTBOT, "-d", "a=b"]).status, 405);
    // Larger than HAProxy's buffers, from the gateway and while that is down.
    std::fs::write(gateway.robots(), &large).expect("written");
    gateway.ctl(&["reload"]).exits(0);
    let is_large = |robots: &ProxyAnswer| robots.text.contains(&large);
    assert!(is_large(&get(&["-A", GPTBOT])));
    let copy = setup.folder.join("state/robots/example.org.txt");
    until("the copy is written", || std::fs::read_to_string(&copy).ok().filter(|text| text.contains(&large)));
    // Who came over TLS is recorded so.
    let url = format!("https://127.0.0.1:{tls}/private/tls");
    let asked = Command::new("curl").args(["-sk", "-A", GPTBOT, "-H", "Host: example.org", &url]).output();
    assert!(asked.expect("curl runs").status.success());
    assert_eq!(gateway.journal().event_of("/private/tls")["scheme"], "https");
    gateway.signal("KILL");
    drop(gateway);
    assert!(is_large(&get(&["-A", GPTBOT])));
    std::fs::remove_file(&copy).expect("removed");
    assert!(is_whole_copy(&get(&["-A", GPTBOT])), "as it was when HAProxy was started");
}

#[test]
fn before_five_sites() {
    let (setup, origin) = (Setup::of("haproxy"), Nginx::start());
    let config = setup.at_its_port(&block("haproxy", "Five sites behind HAProxy", "toml"));
    for name in ["a", "b", "c", "d"] {
        assert!(config.contains(&format!("{name}.txt")), "{config}");
    }
    let text = config.replace("a.txt", "robots.txt").replace("b.txt", "robots.txt");
    let text = text.replace("c.txt", "robots.txt").replace("d.txt", "robots.txt");
    let gateway = setup.gateway(Some(&text));
    let mut proxy = setup.at_its_port(&block("haproxy", "Five sites behind HAProxy", "haproxy"));
    for number in 1..=5 {
        proxy = proxy.replace(&format!("127.0.0.1:300{number}"), &origin.address().to_string());
    }
    let haproxy = haproxy(&setup, &proxy);
    for host in ["a.example", "b.example", "c.example", "d.example"] {
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", GPTBOT]).status, 200, "{host}");
        assert!(ask(haproxy.port, host, "/robots.txt", &["-A", CHROME]).text.contains(ROBOTS), "{host}");
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", GPTBOT]).status, 403, "{host}");
    }
    // As they are written with a port, too.
    for host in ["a.example:80", "A.Example", "a.example:8443"] {
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", CHROME]).status, 200, "{host}");
        assert_eq!(ask(haproxy.port, host, "/private", &["-A", GPTBOT]).status, 403, "{host}");
        assert!(is_copy(&ask(haproxy.port, host, "/robots.txt", &["-A", CHROME])), "{host}");
    }
    // The fifth is no site of the gateway's, and keeps its own file.
    assert_eq!(ask(haproxy.port, "e.example", "/private", &["-A", GPTBOT]).status, 200);
    assert!(
        ask(haproxy.port, "e.example", "/robots.txt", &["-A", GPTBOT])
            .text
            .contains("only-the-origin-says-so")
    );
    assert_eq!(gateway.journal().events().iter().filter(|event| event["host"] == "e.example").count(), 0);
    survives_a_hung_gateway(haproxy.port, "a.example", &gateway, is_copy);
}
