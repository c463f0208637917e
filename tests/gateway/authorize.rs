//! The listener for other proxies: what it answers, whom, and what it records.

mod copies;
mod judged;
mod limits;
mod reads;

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::scripted::Scripted;
use crate::support::tls::address_with;
use crate::support::{
    Builder, Client, ClientResponse, Daemon, Nginx, Request, configured, get, request, until,
};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// Beside another proxy only: no address of its own, no origin.
fn beside(tables: &str) -> Builder {
    let config = format!(
        "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\nlog_allowed = true\nadmin = \"off\"\n\
         [authorize]\nlisten = \"127.0.0.1:0\"\n{tables}\n[[sites]]\nrobots = \"robots.txt\"\n"
    );
    configured(&config).file("robots.txt", ROBOTS).nowhere()
}

pub(crate) fn doors(gateway: &Daemon) -> SocketAddr {
    address_with(gateway, "\"authorize\":true")
}

/// How a proxy asks about a request, of a client at 203.0.113.9.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Door {
    Forward,
    Nginx,
    Envoy,
}

impl Door {
    pub(crate) const ALL: [Self; 3] = [Self::Forward, Self::Nginx, Self::Envoy];

    const fn pass(self) -> u16 {
        if matches!(self, Self::Envoy) { 200 } else { 204 }
    }

    fn names(self) -> [&'static str; 5] {
        let words = ["Method", "Uri", "Host", "Proto", "For"];
        match self {
            Self::Nginx => [
                "X-Original-Method",
                "X-Original-URI",
                "X-Original-Host",
                "X-Original-Proto",
                "X-Original-For",
            ],
            Self::Forward | Self::Envoy => words.map(|word| match word {
                "Method" => "X-Forwarded-Method",
                "Uri" => "X-Forwarded-Uri",
                "Host" => "X-Forwarded-Host",
                "Proto" => "X-Forwarded-Proto",
                _ => "X-Forwarded-For",
            }),
        }
    }

    /// The fields that describe the request, with their values.
    pub(crate) fn fields(self, method: &str, target: &str) -> Vec<(&'static str, String)> {
        let values = [method, target, "example.org", "https", "203.0.113.9"];
        let fields = self.names().into_iter().zip(values.map(str::to_owned));
        fields.skip(if self == Self::Envoy { 3 } else { 0 }).collect()
    }

    pub(crate) fn asks(self, method: &str, target: &str) -> Request {
        let fields = self.fields(method, target);
        self.asks_with(method, target, &fields)
    }

    fn asks_with(self, method: &str, target: &str, fields: &[(&str, String)]) -> Request {
        let question = match self {
            Self::Forward => get("/forward"),
            Self::Nginx => get("/nginx"),
            Self::Envoy => request(method, format!("/envoy{target}")).for_host("example.org"),
        };
        fields.iter().fold(question, |question, (name, value)| question.with(name, value))
    }
}

/// robots.txt as a proxy passes the request of a client at 203.0.113.9 on.
pub(crate) fn robots_txt() -> Request {
    get("/robots.txt")
        .for_host("example.org")
        .with("X-Forwarded-For", "203.0.113.9")
        .with("X-Forwarded-Proto", "https")
}

fn asked(gateway: &Daemon, question: &Request) -> ClientResponse {
    Client::to(doors(gateway)).send(question)
}

/// A gateway that has seen robots.txt come through the proxy.
fn seen(builder: Builder) -> Daemon {
    let gateway = builder.start();
    assert_eq!(asked(&gateway, &robots_txt().by(CHROME)).text(), ROBOTS);
    gateway
}

/// Whether the gateway says nothing at all.
fn is_unanswered(gateway: &Daemon, question: &Request) -> bool {
    Client::to(doors(gateway)).try_send(question).is_err()
}

fn told(gateway: &Daemon, what: &str) -> usize {
    gateway.log.text().matches(what).count()
}

fn status(gateway: &Daemon) -> Value {
    gateway.ctl(&["status", "--format", "json"]).exits(0).json()
}

#[test]
fn a_crawler_is_refused_whole_and_a_person_passes() {
    let gateway = seen(beside(""));
    let mut client = Client::to(doors(&gateway));
    for door in Door::ALL {
        let passes = client.send(&door.asks("GET", "/private").by(CHROME));
        assert_eq!((passes.status, passes.body.len()), (door.pass(), 0), "{door:?}");
        assert_eq!(client.send(&door.asks("POST", "/open").by(GPTBOT)).status, door.pass(), "{door:?}");
        let refused =
            client.send(&door.asks("GET", "/private").by(GPTBOT).with("Accept", "application/json"));
        assert_eq!(refused.status, 403, "{door:?}");
        if door != Door::Nginx {
            let told = refused.json();
            assert_eq!((&told["crawler"], &told["line"]), (&"GPTBot".into(), &2.into()), "{told}");
            assert_eq!(refused.header("Link"), Some("</robots.txt>; rel=\"describedby\""));
        }
    }
    let refused = client.send(&Door::Nginx.asks("GET", "/private").by(GPTBOT));
    for (name, value) in [("Verdict", "disallow"), ("Crawler", "GPTBot"), ("Status", "403"), ("Line", "2")] {
        assert_eq!(refused.header(&format!("X-Robots-{name}")), Some(value), "{name}");
    }
}

#[test]
fn what_is_let_pass_has_no_status_and_the_address_is_the_clients() {
    let gateway = seen(beside(""));
    let mut client = Client::to(doors(&gateway));
    for door in Door::ALL {
        client.send(&door.asks("HEAD", &format!("/open/{door:?}?a=%2F")).by(GPTBOT));
        client.send(&door.asks("GET", &format!("/private/{door:?}")).by(GPTBOT));
        let passed = gateway.journal().event_of(&format!("/open/{door:?}?a=%2F"));
        assert_eq!((&passed["status"], &passed["event"]), (&Value::Null, &"allowed".into()), "{passed}");
        assert_eq!((&passed["method"], &passed["scheme"]), (&"HEAD".into(), &"https".into()), "{passed}");
        let refused = gateway.journal().event_of(&format!("/private/{door:?}"));
        assert_eq!((&refused["status"], &refused["action"]), (&403.into(), &"refused".into()), "{refused}");
        assert_eq!((&refused["address"], &refused["host"]), (&"203.0.113.9".into(), &"example.org".into()));
    }
}

#[test]
fn a_missing_field_passes_and_one_that_comes_twice_is_refused() {
    let gateway = seen(beside(""));
    let mut client = Client::to(doors(&gateway));
    for door in Door::ALL {
        let fields = door.fields("GET", "/private");
        for (place, (name, value)) in fields.iter().enumerate() {
            let mut others = fields.clone();
            others.remove(place);
            for _ in 0..2 {
                let answer = client.send(&door.asks_with("GET", "/private", &others).by(GPTBOT));
                assert_eq!(answer.status, door.pass(), "{door:?} without {name}");
            }
            let mut twice = fields.clone();
            twice.push((name, value.clone()));
            let answer = client.send(&door.asks_with("GET", "/open", &twice).by(CHROME));
            assert_eq!(answer.status, 403, "{door:?} with {name} twice");
        }
    }
    // The log comes by a pipe, later than the answers.
    until("every field is told of", || (told(&gateway, "asks without a field") >= 12).then_some(()));
    assert_eq!(told(&gateway, "asks without a field"), 12, "once for each field of each door");
    let faults = &status(&gateway)["authorize"]["faults"];
    assert_eq!((&faults["missing-field"], &faults["double-field"]), (&24.into(), &12.into()), "{faults}");
}

#[test]
fn fields_of_other_doors_and_of_clients_stand_for_nothing() {
    let gateway = seen(beside(""));
    let other = [("X-Original-URI", "/open"), ("X_Forwarded_Uri", "/open"), ("X-Real-IP", "198.51.100.1")];
    let question =
        other.iter().fold(Door::Forward.asks("GET", "/private/x").by(GPTBOT), |question, (name, value)| {
            question.with(name, value)
        });
    let question = question
        .with("Forwarded", "for=198.51.100.1")
        .with("X-Request-Id", "mine")
        .with("X-Robots-Crawler", "a");
    assert_eq!(asked(&gateway, &question).status, 403);
    let event = gateway.journal().event_of("/private/x");
    assert_eq!(event["address"], "203.0.113.9");
    assert_ne!(event["request_id"], "mine");
}

#[test]
fn a_host_that_is_no_sites_passes_and_so_does_what_has_no_target() {
    let config = "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\nadmin = \"off\"\n\
                  [authorize]\nlisten = \"127.0.0.1:0\"\n[[sites]]\nhosts = [\"other.example\"]\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).nowhere().start();
    let mut client = Client::to(doors(&gateway));
    for door in Door::ALL {
        assert_eq!(client.send(&door.asks("GET", "/private").by(GPTBOT)).status, door.pass());
    }
    let answer = client.send(&Door::Forward.asks("GET", "").by(GPTBOT));
    assert_eq!(answer.status, 204);
}

#[test]
fn what_only_one_reading_takes_for_robots_txt_is_judged() {
    let gateway = seen(beside(""));
    for target in ["/robots.txt%3F/../private/x", "/robots.txt%23/../private/x", "/private/..%2frobots.txt"] {
        for door in Door::ALL {
            let answer = asked(&gateway, &door.asks("GET", target).by(GPTBOT));
            assert_eq!(answer.status, 403, "{door:?} {target}");
        }
    }
    for door in Door::ALL {
        let answer = asked(&gateway, &door.asks("GET", "/a/%2e%2e/robots%2Etxt").by(GPTBOT));
        assert_eq!(answer.status, door.pass(), "{door:?}");
    }
}

#[test]
fn targets_and_hosts_that_other_proxies_take_are_judged() {
    let gateway = seen(beside(""));
    for target in ["ftp://example.org/private", "http://example.org/private", "/private#x"] {
        let answer = asked(&gateway, &Door::Forward.asks("GET", target).by(GPTBOT));
        assert_eq!(answer.status, 403, "{target}");
    }
    for host in ["", "a, b"] {
        let fields: Vec<_> = Door::Forward
            .fields("GET", "/private")
            .into_iter()
            .map(|(name, value)| (name, if name == "X-Forwarded-Host" { host.to_owned() } else { value }))
            .collect();
        let question = Door::Forward.asks_with("GET", "/private", &fields).by(GPTBOT);
        assert_eq!(asked(&gateway, &question).status, 403, "`{host}`");
    }
}

#[test]
fn the_page_of_a_refusal_is_whole_and_counted_once() {
    let gateway = seen(beside(
        "[[sites]]\nhosts = [\"example.org\"]\nrobots = \"robots.txt\"\nrefusal = { status = 410 }\n",
    ));
    asked(&gateway, &robots_txt().by(CHROME));
    let mut client = Client::to(doors(&gateway));
    let question = Door::Nginx.asks("GET", "/private").by(GPTBOT);
    assert_eq!(client.send(&question).status, 403);
    let again = Door::Nginx.fields("GET", "/private").iter().fold(
        get("/nginx/refusal").by(GPTBOT).with("Accept", "application/json"),
        |question, (name, value)| question.with(name, value),
    );
    let page = client.send(&again);
    assert_eq!((page.status, &page.json()["line"]), (410, &2.into()));
    // What the client gets is that page.
    assert_eq!(gateway.journal().event_of("/private")["status"], 410);
    let status = status(&gateway);
    assert_eq!((&status["totals"]["violations"], &status["totals"]["refused"]), (&1.into(), &1.into()));
    assert_eq!(status["authorize"]["asked"]["/nginx"], 1);
}

#[test]
fn a_site_without_an_origin_is_nobodys_in_front() {
    let origin = Nginx::start();
    let config = "mode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\n[authorize]\nlisten = \"127.0.0.1:0\"\n\
                  [[sites]]\nhosts = [\"example.org\"]\nrobots = \"robots.txt\"\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).in_front_of(&origin).start();
    gateway.send(&get("/").by(CHROME)).came_from_origin();
    assert_eq!(gateway.send(&get("/").for_host("example.org").by(CHROME)).status, 421);
    assert_eq!(gateway.send(&request("OPTIONS", "*").for_host("example.org").by(CHROME)).status, 421);
    assert_eq!(gateway.send(&get("/robots.txt").for_host("example.org")).text(), ROBOTS);
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(CURL)).status, 204);
}

#[test]
fn the_access_log_has_the_status_that_the_client_gets_or_none() {
    let config = "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\naccess_log = \"access.log\"\n\
                  access_log_format = \"json\"\n[authorize]\nlisten = \"127.0.0.1:0\"\n[[sites]]\nrobots = \"robots.txt\"\n";
    let gateway = seen(configured(config).file("robots.txt", ROBOTS).nowhere());
    let mut client = Client::to(doors(&gateway));
    for target in ["/open", "/private"] {
        client.send(&Door::Nginx.asks("GET", target).by(GPTBOT));
    }
    let lines = until("three lines", || {
        let text = std::fs::read_to_string(gateway.folder().join("state/access.log")).ok()?;
        (text.lines().count() == 3).then_some(text)
    });
    let shown: Vec<(String, Value)> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .map(|line| (line["target"].to_string(), line["status"].clone()))
        .collect();
    let expected = [("/robots.txt", 200.into()), ("/open", Value::Null), ("/private", 403.into())];
    assert_eq!(shown, expected.map(|(target, status)| (format!("{target:?}"), status)));
}

#[test]
fn status_says_in_words_what_proxies_ask() {
    let gateway = beside("").start();
    let shown = || gateway.ctl(&["status"]).exits(0).stdout;
    let text = shown();
    assert!(
        text.contains("asked by other proxies: nothing yet") && text.contains("nothing is refused there"),
        "{text}"
    );
    asked(&gateway, &robots_txt().by(CHROME));
    asked(&gateway, &get("/forward").by(CHROME));
    let text = shown();
    assert!(text.contains("asked by other proxies: 1 /forward, 1 /robots.txt\n"), "{text}");
    assert!(
        text.contains("faults of questions: 1 missing-field\n") && text.contains("came through one"),
        "{text}"
    );
}

#[test]
fn options_alone_suffice() {
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").nowhere();
    let gateway = gateway.arg("--authorize").arg("127.0.0.1:0").arg("--trusted-proxy").arg("127.0.0.1");
    let gateway = seen(gateway);
    assert_eq!(asked(&gateway, &Door::Envoy.asks("GET", "/private").by(GPTBOT)).status, 403);
    assert_eq!(gateway.address(), doors(&gateway), "nothing else is listened on");
}

#[test]
fn what_another_may_have_published_excuses_from_an_accusation_only() {
    let gateway = seen(beside("").with_notice("1h"));
    let question = Door::Forward.asks("GET", "/private/1").by(GPTBOT);
    assert_eq!(asked(&gateway, &question).status, 403);
    let event = gateway.journal().event_of("/private/1");
    assert_eq!((&event["event"], &event["notice"]), (&"stale".into(), &"unknown".into()), "{event}");
}

#[test]
fn check_says_whether_robots_txt_arrives() {
    let gateway = beside("").start();
    let path = gateway.folder().join("gateway.toml");
    let check = || {
        let ended =
            gateway.ctl(&["check", "--format", "json", "--config", path.to_str().expect("UTF-8")]).exits(0);
        ended.stdout
    };
    let before = check();
    assert!(before.contains("robots-elsewhere") && before.contains("no-origin"), "{before}");
    asked(&gateway, &robots_txt().by(CHROME));
    let after = check();
    assert!(after.contains("robots-arrives") && !after.contains("robots-elsewhere"), "{after}");
}
