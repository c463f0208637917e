//! `/healthz` and `/readyz` as a kubelet asks them, and who may read the rest.

use crate::scene::Watched;
use crate::support::{Client, Daemon, Nginx, get, head, request, until};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// A listener that asks for a token.
fn with_token(origin: &Nginx) -> Watched {
    Watched::start(Daemon::with(ROBOTS).in_front_of(origin).set("admin_token = \"secret\""))
}

#[test]
fn a_probe_needs_no_token_and_no_name() {
    let origin = Nginx::start();
    let watched = with_token(&origin);
    for path in ["/healthz", "/readyz"] {
        // A kubelet names the pod's address, or whatever `host` of the probe says.
        for host in ["10.1.2.3:9309", "gateway.internal"] {
            let response = Client::to(watched.admin).send(&get(path).for_host(host).by("kube-probe/1.33"));
            assert_eq!(response.status, 200, "{path} {host}: {}", response.text());
        }
        let response = Client::to(watched.admin).send(&head(path));
        assert_eq!((response.status, response.body.len()), (200, 0));
        assert_eq!(Client::to(watched.admin).send(&request("POST", path)).status, 405);
    }
}

#[test]
fn everything_else_does() {
    let origin = Nginx::start();
    let watched = with_token(&origin);
    for path in ["/", "/?since=1h", "/metrics", "/status", "/nothing", "//healthz", "/healthz/../metrics"] {
        let refused = watched.ask(path);
        assert_eq!(refused.status, 401, "{path}");
        let schemes = refused.header("WWW-Authenticate").expect("a challenge");
        assert!(schemes.contains("Bearer") && schemes.contains("Basic realm="), "{schemes}");
        let wrong = Client::to(watched.admin).send(&get(path).with("Authorization", "Bearer secre"));
        assert_eq!(wrong.status, 401, "{path}");
    }
    let told = get("/metrics").for_host("gateway.internal").with("Authorization", "Bearer secret");
    assert_eq!(Client::to(watched.admin).send(&told).status, 200);
}

#[test]
fn a_page_of_elsewhere_cannot_ask_under_its_own_name() {
    let origin = Nginx::start();
    let watched = Watched::start(Daemon::with(ROBOTS).in_front_of(&origin));
    for path in ["/", "/metrics", "/status"] {
        let asked = get(path).for_host(&format!("rebound.example:{}", watched.admin.port()));
        assert_eq!(Client::to(watched.admin).send(&asked).status, 421, "{path}");
    }
    assert_eq!(watched.ask("/reload").status, 404, "only the control socket reloads");
}

#[test]
fn a_gateway_that_stops_is_not_ready_any_more() {
    let origin = Nginx::start();
    let mut watched = Watched::start(Daemon::with(ROBOTS).in_front_of(&origin));
    assert_eq!(watched.ask("/readyz").status, 200);
    watched.gateway.signal("TERM");
    let ready = |watched: &Watched| {
        Client::try_to(watched.admin).is_ok_and(|mut client| {
            client.try_send(&get("/readyz")).is_ok_and(|response| response.status == 200)
        })
    };
    until("it is not ready", || (!ready(&watched)).then_some(()));
    assert_eq!(watched.gateway.ends_within(std::time::Duration::from_secs(10)), Some(0));
}
