//! Refusals that are made before a request begins: nobody can tell them from others by the answer, the journal, the
//! counts or the access log.

use crate::support::agents::{CHATGPT_USER, CHROME, CLAUDEBOT, GPTBOT};
use crate::support::tls::{Authority, HTTP_1, LISTENER, exchange, tls_address};
use crate::support::{Builder, ClientResponse, Daemon, Nginx, Request, get, head, request, until};
use serde_json::{Value, json};
use std::io::Write as _;
use std::net::TcpStream;

const ROBOTS: &str = "\
User-agent: GPTBot
Disallow: /private # not for training

User-agent: *
Disallow: /
Allow: /open
";

/// What nobody sends with a request that has no body: such a request takes the long way, and means the same.
const LONG_WAY: (&str, &str) = ("Content-Length", "0");

fn gateway(origin: &Nginx, more: impl Fn(Builder) -> Builder) -> Daemon {
    more(Daemon::with(ROBOTS).in_mode("enforce").in_front_of(origin)).start()
}

/// What a client sees of an answer, but for the time.
fn seen(response: &ClientResponse) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let is_date = |(name, _): &&(String, String)| !name.eq_ignore_ascii_case("date");
    (response.status, response.headers.iter().filter(is_date).cloned().collect(), response.body.clone())
}

/// The last two lines, without what differs between any two requests.
fn last_two(mut lines: Vec<Value>) -> (Value, Value) {
    for line in &mut lines {
        for own in ["time", "request_id", "duration_ms"] {
            let removed = line.as_object_mut().and_then(|line| line.remove(own));
            assert!(removed.is_some() || own == "duration_ms", "{line}");
        }
    }
    let last = lines.pop().expect("two lines");
    (lines.pop().expect("two lines"), last)
}

fn asked(target: &str) -> Vec<Request> {
    let image = "Mozilla/5.0 (compatible; GPTBot-Image/1.2)";
    vec![
        get(target).by(GPTBOT),
        head(target).by(GPTBOT),
        get(target).by(CLAUDEBOT).with("Accept", "application/json"),
        get(target).by(GPTBOT).with("Connection", "Keep-Alive"),
        get(target).by(GPTBOT).with("connection", "close"),
        get(target).by(GPTBOT).with("X-Forwarded-For", "203.0.113.9").with("X-Request-Id", "given"),
        get(target).by("GPTBot/1.0").by("and more of it").with("Referer", "http://example.com/"),
        get(target).by(image).with("Accept-Encoding", "gzip").with("Cookie", "a=b").with("X-Odd", b"\xe4"),
        get(target).by(GPTBOT).for_host("LOCALHOST:80"),
        get(format!("http://localhost{target}")).by(GPTBOT),
        get([target, "/%7euser/../x?q=1;2"].concat()).by(GPTBOT),
        get([target, "/%c3%a4/a|b?q=[1]"].concat()).by(GPTBOT),
    ]
}

#[test]
fn both_ways_lead_to_the_same() {
    let origin = Nginx::start();
    for (name, proxy) in [("stranger", "192.0.2.1"), ("trusted", "127.0.0.1")] {
        let gateway = gateway(&origin, |builder| {
            let log = builder.folder().join("access.log");
            builder.set(&format!("access_log = {log:?}")).arg("--trusted-proxy").arg(proxy)
        });
        let log = gateway.folder().join("access.log");
        let target = format!("/private/{name}");
        for (index, asked) in asked(&target).into_iter().enumerate() {
            let early = gateway.send(&asked);
            let late = gateway.send(&asked.clone().with(LONG_WAY.0, LONG_WAY.1));
            assert_eq!(early.status, 403, "{asked:?}: {early:?}");
            assert_eq!(seen(&early), seen(&late), "{asked:?}");
            let many = 2 * (index + 1);
            let events = until("two events", || {
                let events = gateway.journal().events();
                (events.len() == many).then_some(events)
            });
            let (early, late) = last_two(events);
            assert_eq!(early, late, "{asked:?}");
            assert_eq!(early["status"], 403, "{early}");
            let lines = until("two lines", || {
                let text = std::fs::read_to_string(&log).unwrap_or_default();
                let lines: Option<Vec<Value>> =
                    text.lines().map(|line| serde_json::from_str(line).ok()).collect();
                lines.filter(|lines| lines.len() == many)
            });
            let (early, late) = last_two(lines);
            assert_eq!(early, late, "{asked:?}");
        }
    }
}

#[test]
fn both_ways_lead_to_the_same_over_tls_behind_a_balancer() {
    let (authority, origin) = (Authority::new(), Nginx::start());
    let builder = Daemon::with(ROBOTS).in_mode("enforce").in_front_of(&origin);
    authority.save(builder.folder(), "site", &["a.example"]);
    let listener = LISTENER.replacen("tls = true", "tls = true\nproxy_protocol = true", 1);
    let gateway = builder.set("trusted_proxies = [\"127.0.0.1\"]").table(&listener).start();
    let answer = |more: &str| {
        let mut socket = TcpStream::connect(tls_address(&gateway)).expect("connected");
        socket.write_all(b"PROXY TCP4 203.0.113.9 192.0.2.2 56324 443\r\n").expect("sent");
        let mut stream = authority.over(socket, "a.example", HTTP_1).expect("a handshake");
        let head = format!("GET /private HTTP/1.1\r\nHost: a.example\r\nUser-Agent: {GPTBOT}\r\n{more}\r\n");
        let answer = exchange(&mut stream, &head).expect("an answer");
        answer.lines().filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n")
    };
    let early = answer("");
    assert!(early.starts_with("HTTP/1.1 403 ") && early.contains("robots: "), "{early}");
    assert_eq!(early, answer(&format!("{}: {}\r\n", LONG_WAY.0, LONG_WAY.1)));
    let events = until("two events", || Some(gateway.journal().events()).filter(|events| events.len() == 2));
    let (early, late) = last_two(events);
    assert_eq!(early, late);
    assert_eq!((&early["scheme"], &early["address"]), (&json!("https"), &json!("203.0.113.9")));
}

/// Parts of requests, the odd ones among them.
const TARGETS: [&[u8]; 9] = [
    b"/private",
    b"/private/%7Ex?a=1",
    b"/p%72ivate",
    b"/open/../private",
    b"/open",
    b"/robots.txt",
    b"*",
    b"//private",
    b"/\xff\xe4",
];
const FIELDS: [(&str, &[u8]); 12] = [
    ("Accept", b"application/json"),
    ("accept", b"text/html, */*;q=0.1"),
    ("X-Forwarded-For", b"203.0.113.9, 198.51.100.7"),
    ("X-Forwarded-Proto", b"https"),
    ("Connection", b"keep-alive"),
    ("Connection", b"close"),
    ("Connection", b"x-odd"),
    ("Via", b"1.1 proxy"),
    ("X-Odd", b"\xe4 \t\xff"),
    ("User-Agent", b"and/2.0 more"),
    ("Cookie", b""),
    ("Host", b"other.example"),
];

#[test]
fn no_request_shows_which_way_it_took() {
    let origin = Nginx::start();
    let gateway = gateway(&origin, |builder| builder.arg("--trusted-proxy").arg("127.0.0.1"));
    // The same requests in each run (a linear congruential generator, by Knuth's numbers).
    let mut state: u64 = 9309;
    let mut any = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let mut refused = 0;
    for _ in 0..400 {
        let mut asked = request(["GET", "HEAD", "GET"][any(3)], TARGETS[any(TARGETS.len())]);
        asked = asked.by([GPTBOT, CLAUDEBOT, GPTBOT, CHROME][any(4)]);
        for _ in 0..any(4) {
            let (name, value) = FIELDS[any(FIELDS.len())];
            asked = asked.with(name, value);
        }
        let early = gateway.send(&asked);
        let late = gateway.send(&asked.clone().with(LONG_WAY.0, LONG_WAY.1));
        refused += usize::from(early.status == 403);
        assert_eq!(early.status, late.status, "{asked:?}");
        // What the origin says tells of the fields that it was sent.
        if early.status == 403 {
            assert_eq!(seen(&early), seen(&late), "{asked:?}");
        }
    }
    assert!(refused > 100, "{refused} of 400 were refused");
}

#[test]
fn requests_in_a_row_are_answered_in_turn_whoever_answers() {
    let origin = Nginx::start();
    let gateway = gateway(&origin, |builder| builder);
    let mut client = gateway.client();
    let refused = format!("GET /private HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\n\r\n");
    let allowed = format!("GET /open HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {CLAUDEBOT}\r\n\r\n");
    let rules = format!("GET /robots.txt HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\n\r\n");
    client.write([&*refused, &*refused, &*allowed, &*refused, &*rules, &*refused].concat().as_bytes());
    let statuses: Vec<u16> = (0..6).map(|_| client.read(false).expect("an answer").status).collect();
    assert_eq!(statuses, [403, 403, 200, 403, 200, 403]);
    // A head that comes byte by byte.
    for byte in refused.as_bytes() {
        client.write(&[*byte]);
    }
    assert_eq!(client.read(false).expect("an answer").status, 403);
}

#[test]
fn only_who_is_refused_is_refused() {
    let origin = Nginx::start();
    let gateway = gateway(&origin, |builder| builder);
    let mut client = gateway.client();
    for _ in 0..3 {
        assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
        client.send(&get("/private").by(CHROME)).came_from_origin();
        assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
        client.send(&get("/public").by(GPTBOT)).came_from_origin();
        client.send(&get("/open").by(CLAUDEBOT)).came_from_origin();
        assert_eq!(client.send(&get("/robots.txt").by(GPTBOT)).text(), ROBOTS);
        assert_eq!(client.send(&get("/private").by(GPTBOT).for_host("")).status, 400);
        client = gateway.client();
        client.send(&get("/private").by(CHATGPT_USER)).came_from_origin();
        assert_eq!(client.send(&request("POST", "/private").by(GPTBOT).body(b"a body".to_vec())).status, 403);
    }
}

#[test]
fn a_connection_that_is_to_end_ends_with_its_refusal() {
    let origin = Nginx::start();
    let gateway = gateway(&origin, |builder| builder.table("[limits]\nrequests_per_connection = 3"));
    let mut client = gateway.client();
    let answers: Vec<ClientResponse> = (0..3).map(|_| client.send(&get("/private").by(GPTBOT))).collect();
    let told: Vec<Option<&str>> = answers.iter().map(|answer| answer.header("Connection")).collect();
    assert_eq!(told, [Some("keep-alive"), Some("keep-alive"), Some("close")]);
    assert!(client.is_closed());
    let mut client = gateway.client();
    let answer = client.send(&get("/private").by(GPTBOT).with("Connection", "close"));
    assert_eq!((answer.status, answer.header("Connection")), (403, Some("close")));
    assert!(client.is_closed());
}

#[test]
fn a_refusal_that_nobody_waits_for_is_recorded_without_a_status_or_with_it() {
    let origin = Nginx::start();
    let gateway = gateway(&origin, |builder| builder);
    let many = 50;
    for _ in 0..many {
        let mut stream = TcpStream::connect(gateway.address()).expect("the gateway listens");
        let head = format!("GET /private HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
    }
    let events = until("all events", || {
        let events = gateway.journal().events();
        (events.len() == many).then_some(events)
    });
    for event in events {
        assert!([json!(403), Value::Null].contains(&event["status"]), "{event}");
    }
    let state = gateway.folder().join("state");
    let state = state.to_str().expect("UTF-8");
    let refused = until("all counts", || {
        let report = gateway.ctl(&["report", "--state-dir", state, "--format", "json"]).exits(0).json();
        report["crawlers"][0]["refused"].as_u64().filter(|refused| *refused == 50)
    });
    assert_eq!(refused, 50);
}
