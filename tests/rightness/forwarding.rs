//! What the origin is told of a request's way, and what is believed of what proxies tell (RFC 7239, RFC 9110
//! §7.6.3).

use crate::keeper::{Keeper, KeptMessage};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Builder, Daemon, get};
use crate::wire::exchange;

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const TRUSTED: &str = "trusted_proxies = [\"127.0.0.1\", \"10.0.0.0/8\"]";

fn gateway(origin: &Keeper) -> Builder {
    Daemon::with(ROBOTS).at(&origin.url())
}

#[track_caller]
fn kept(origin: &Keeper) -> KeptMessage {
    let mut kept = origin.take();
    assert_eq!(kept.len(), 1, "{kept:?}");
    kept.remove(0)
}

const CLAIMS: [(&str, &str); 37] = [
    ("X-Forwarded", "203.0.113.9"),
    ("X-Forwarded-User", "root"),
    ("Forwarded-For", "203.0.113.9"),
    ("X-Original-URI", "/private"),
    ("X-Original-Host", "evil.example"),
    ("X-Envoy-Original-Path", "/private"),
    ("X-Envoy-External-Address", "203.0.113.9"),
    ("X-Cluster-Client-IP", "203.0.113.9"),
    ("Client-IP", "203.0.113.9"),
    ("Fastly-Client-IP", "203.0.113.9"),
    ("CF-Connecting-IPv6", "2001:db8::1"),
    ("CF-Pseudo-IPv4", "203.0.113.9"),
    ("Front-End-Https", "on"),
    ("X-Matched-Path", "/private"),
    ("Proxy", "http://evil.example/"),
    ("Remote-User", "root"),
    ("WL-Proxy-Client-IP", "203.0.113.9"),
    ("WL-Proxy-SSL", "true"),
    ("X-Robots-Verdict", "allow"),
    ("X-Robots-Crawler", "Googlebot"),
    ("X-Robots-Proof", "confirmed"),
    ("X-Robots-Whatever", "1"),
    ("X-Forwarded-Prefix", "/private"),
    ("X-Forwarded-Client-Cert", "x"),
    ("X-Forwarded-For", "203.0.113.9"),
    ("X-Forwarded-Host", "evil.example"),
    ("X-Forwarded-Proto", "https"),
    ("X-Forwarded-Port", "443"),
    ("X-Forwarded-Server", "evil"),
    ("Forwarded", "for=203.0.113.9"),
    ("X-Real-IP", "203.0.113.9"),
    ("X-Client-IP", "203.0.113.9"),
    ("True-Client-IP", "203.0.113.9"),
    ("CF-Connecting-IP", "203.0.113.9"),
    ("X-Original-URL", "/private"),
    ("X-Rewrite-URL", "/private"),
    ("X-Request-Id", "chosen-by-the-client"),
];

#[test]
fn what_a_client_claims_is_replaced() {
    let origin = Keeper::start();
    let gateway = gateway(&origin).set("exempt = [\"192.0.2.1\"]").start();
    let mut request = get("/page").by(CHROME);
    for (name, value) in CLAIMS {
        request = request.with(name, value);
    }
    gateway.send(&request);
    let kept = kept(&origin);
    assert_eq!(kept.field("X-Forwarded-For"), ["127.0.0.1"]);
    assert_eq!(kept.field("X-Forwarded-Host"), ["localhost"]);
    assert_eq!(kept.field("X-Forwarded-Proto"), ["http"]);
    assert_eq!(kept.field("Via"), ["1.1 robots-gateway"]);
    let id = kept.field("X-Request-Id");
    assert!(id.len() == 1 && id[0] != "chosen-by-the-client", "{id:?}");
    let ours = ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Request-Id"];
    let left = CLAIMS.iter().map(|(name, _)| *name).filter(|name| !ours.contains(name));
    let left: Vec<&str> = left.filter(|name| !kept.field(name).is_empty()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A gateway interface writes `-` and `_` alike (RFC 3875 §4.1.18, PEP 3333), and some write every byte so that is no
/// letter or digit: such a claim would stand beside what the gateway says, or in its place.
#[test]
fn no_claim_gets_through_by_another_spelling() {
    let spelled = |name: &str| {
        let mixed = name.to_lowercase().replacen('-', "_", 1);
        [name.replace('-', "_"), mixed, name.replace('-', "."), name.to_lowercase().replace('-', "~")]
    };
    for trusted in [None, Some(TRUSTED)] {
        let origin = Keeper::start();
        let builder = gateway(&origin);
        let gateway = trusted.into_iter().fold(builder, Builder::set).start();
        let names: Vec<(String, &str)> = CLAIMS
            .iter()
            .filter(|(name, _)| name.contains('-'))
            .flat_map(|(name, value)| spelled(name).map(|name| (name, *value)))
            .collect();
        // A head has a hundred fields at most.
        for names in names.chunks(50) {
            let mut request = get("/page").by(CHROME).with("X_Real_IP_Too", "1");
            for (name, value) in names {
                request = request.with(name, value);
            }
            gateway.send(&request);
            let kept = kept(&origin);
            let left: Vec<&str> =
                names.iter().map(|(name, _)| &**name).filter(|name| !kept.field(name).is_empty()).collect();
            assert!(left.is_empty(), "{left:?}");
            assert_eq!(kept.field("X-Forwarded-For"), ["127.0.0.1"]);
            assert_eq!(kept.field("X_Real_IP_Too").len(), 1);
        }
    }
}

/// A proxy that writes the one field passes on what a client has put in the other.
#[test]
fn the_way_that_is_not_believed_does_not_reach_the_origin() {
    let origin = Keeper::start();
    let claims = |request: crate::support::Request| {
        request
            .with("Forwarded", "for=203.0.113.66;proto=https;host=evil.example, for=198.51.100.7")
            .with("X-Forwarded-For", "203.0.113.9, 198.51.100.8")
            .with("X-Forwarded-Proto", "https")
            .with("X-Forwarded-Host", "shop.example")
    };
    let by_default = gateway(&origin).set(TRUSTED).start();
    by_default.send(&claims(get("/page").by(CHROME)));
    let seen = kept(&origin);
    assert_eq!(seen.field("Forwarded"), [""; 0]);
    assert_eq!(seen.field("X-Forwarded-For"), ["203.0.113.9, 198.51.100.8, 127.0.0.1"]);
    assert_eq!(seen.field("X-Forwarded-Host"), ["shop.example"]);
    let by_forwarded = gateway(&origin).set(TRUSTED).set("forwarded_header = \"forwarded\"").start();
    by_forwarded.send(&claims(get("/page").by(CHROME)));
    let seen = kept(&origin);
    assert_eq!(seen.field("Forwarded").last().map(String::as_str), Some("for=127.0.0.1"));
    // What the believed field says, in the other form: who the client is, and the proxy.
    assert_eq!(seen.field("X-Forwarded-For"), ["198.51.100.7, 127.0.0.1"]);
    assert_eq!(seen.field("X-Forwarded-Proto"), ["http"]);
    assert_eq!(seen.field("X-Forwarded-Host"), ["localhost"]);
    by_forwarded
        .send(&get("/page").by(CHROME).with("Forwarded", "for=unknown").with("X-Forwarded-For", "192.0.2.1"));
    assert_eq!(kept(&origin).field("X-Forwarded-For"), ["unknown, 127.0.0.1"]);
}

#[test]
fn fields_that_the_operator_names_are_removed_unless_a_proxy_sends_them() {
    let origin = Keeper::start();
    let setting = "remove_fields = [\"X-My-User\", \"X-Acme-*\"]";
    let request =
        get("/page").by(CHROME).with("X.My_User", "root").with("x-acme-tenant", "1").with("X-Acm", "1");
    let alone = gateway(&origin).set(setting).start();
    alone.send(&request);
    let seen = kept(&origin);
    assert!(seen.field("X.My_User").is_empty() && seen.field("X-Acme-Tenant").is_empty(), "{seen:?}");
    assert_eq!(seen.field("X-Acm"), ["1"]);
    let behind = gateway(&origin).set(TRUSTED).set(setting).start();
    behind.send(&request);
    let seen = kept(&origin);
    assert!(seen.field("X.My_User").is_empty(), "{seen:?}");
    assert_eq!(seen.field("X-Acme-Tenant"), ["1"]);
    let builder = gateway(&origin).set("remove_fields = [\"X-My-User\", \"Content-*\"]");
    let ended = builder.fails_to_start().exits(2);
    assert!(
        ended.stderr.contains("gateway.toml:1:31: `Content-*` would remove `content-length`"),
        "{ended:?}"
    );
}

#[test]
fn what_a_trusted_proxy_says_is_continued() {
    let origin = Keeper::start();
    let gateway = gateway(&origin).set(TRUSTED).set("log_allowed = true").start();
    let request = get("/page")
        .by(GPTBOT)
        .with("X-Forwarded-For", "192.0.2.1, 198.51.100.7")
        .with("X-Forwarded-For", "10.1.1.1")
        .with("X-Forwarded-Host", "shop.example")
        .with("X-Forwarded-Proto", "https")
        .with("X-Request-Id", "abc-123")
        .with("Via", "2 cdn");
    gateway.send(&request);
    let kept = kept(&origin);
    assert_eq!(kept.field("X-Forwarded-For"), ["192.0.2.1, 198.51.100.7, 10.1.1.1, 127.0.0.1"]);
    assert_eq!(kept.field("X-Forwarded-Host"), ["shop.example"]);
    assert_eq!(kept.field("X-Forwarded-Proto"), ["https"]);
    assert_eq!(kept.field("X-Request-Id"), ["abc-123"]);
    assert_eq!(kept.field("Via"), ["2 cdn", "1.1 robots-gateway"]);
    let event = gateway.journal().event_of("/page");
    assert_eq!((event["address"].as_str(), event["scheme"].as_str()), (Some("198.51.100.7"), Some("https")));
    assert_eq!(event["request_id"], "abc-123");
}

#[test]
fn an_id_that_could_break_a_log_is_not_kept() {
    let origin = Keeper::start();
    let gateway = gateway(&origin).set(TRUSTED).start();
    for bad in ["a b", "caf\u{e9}", &"x".repeat(200)] {
        gateway.send(&get("/page").by(CHROME).with("X-Request-Id", bad));
        let id = kept(&origin).field("X-Request-Id");
        assert!(id.len() == 1 && id[0] != bad && !id[0].is_empty(), "{id:?}");
    }
}

#[test]
fn the_walk_goes_over_forwarded_where_the_proxies_write_that() {
    let origin = Keeper::start();
    let gateway = gateway(&origin)
        .set(TRUSTED)
        .set("forwarded_header = \"forwarded\"")
        .set("log_allowed = true")
        .start();
    for (number, (line, address)) in [
        (
            "for=192.0.2.1, for=\"198.51.100.7:99\";proto=https, for=10.1.1.1;proto=https",
            Some("198.51.100.7"),
        ),
        ("for=192.0.2.1, for=\"[2001:db8::1]:99\"", Some("2001:db8::1")),
        ("for=192.0.2.1, for=_hidden", None),
        ("for=192.0.2.1, for=unknown", None),
        ("for=\"192.0.2.1, for=198.51.100.9\"", None),
    ]
    .into_iter()
    .enumerate()
    {
        let page = format!("/page/{number}");
        gateway.send(&get(&page).by(GPTBOT).with("Forwarded", line).with("X-Forwarded-For", "203.0.113.66"));
        let event = gateway.journal().event_of(&page);
        assert_eq!(event["address"].as_str(), address, "{line}");
        assert_eq!(event["scheme"] == "https", number == 0, "{event}");
    }
    let kept = origin.take();
    assert_eq!(kept[0].field("Forwarded").last().map(String::as_str), Some("for=127.0.0.1"));
}

#[test]
fn via_can_be_left_out() {
    let origin = Keeper::start();
    let gateway = gateway(&origin).set("via = false").start();
    gateway.send(&get("/page").by(CHROME));
    assert!(kept(&origin).field("Via").is_empty());
}

/// HTTP/1.0 has requests without a host, HTTP/1.1 has none (RFC 9112 §3.2).
#[test]
fn the_origin_always_hears_a_host() {
    let origin = Keeper::start();
    let plain = gateway(&origin).start();
    exchange(plain.address(), b"GET /page HTTP/1.0\r\n\r\n");
    assert_eq!(kept(&origin).field("Host"), [origin.url().trim_start_matches("http://")]);
}

/// The host that a target names is the one that is judged, and asked for.
#[test]
fn an_absolute_target_of_http_1_0_names_its_host() {
    let origin = Keeper::start();
    let gateway = gateway(&origin).site("hosts = [\"b.example\"]").start();
    let answer = exchange(gateway.address(), b"GET http://b.example/page HTTP/1.0\r\n\r\n");
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", answer.escape_ascii());
    let seen = kept(&origin);
    assert_eq!(
        (seen.request_line(), seen.field("Host")),
        ("GET /page HTTP/1.1".into(), vec!["b.example".into()])
    );
}
