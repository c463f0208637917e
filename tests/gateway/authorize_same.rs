//! What is asked through a door is judged as if it had come to the gateway itself.

use crate::authorize::{Door, doors, robots_txt};
use crate::support::agents::{
    ADSBOT, BROWSERS, CHATGPT_USER, CLAUDEBOT, CURL, GOOGLEBOT, GOOGLEBOT_IMAGE, GPTBOT, OKHTTP, REQUESTS,
};
use crate::support::{Client, Daemon, Nginx, configured, get, request};
use serde_json::Value;

/// How many requests go both ways.
const REQUESTS_SENT: usize = 10_000;

const ROBOTS: &str = "User-agent: GPTBot\nUser-agent: ClaudeBot\nDisallow: /private\nAllow: /private/open\n\n\
    User-agent: Googlebot\nDisallow: /*.pdf$\nDisallow: /search?\n\n\
    User-agent: AdsBot-Google\nDisallow: /ads\n\n\
    User-agent: ChatGPT-User\nDisallow: /user\n\n\
    User-agent: *\nDisallow: /closed/\nDisallow: /%7Ejoe\n";

/// What is not to be compared: it says when it was, who was told what, and under which name.
const OWN: [&str; 3] = ["time", "status", "request_id"];

const STARTS: [&str; 20] = [
    "/",
    "//",
    "/a/../",
    "/./",
    "/private",
    "/%70rivate",
    "/private/open",
    "/private%2Fopen",
    "/closed/",
    "/closed",
    "/search?",
    "/search?q=",
    "/~joe",
    "/%7ejoe",
    "/user",
    "/ads",
    "/robots.txt",
    "/x/..%2fprivate",
    "/.well-known/acme-challenge/",
    "/caf\u{e9}/",
];
const ENDS: [&str; 10] =
    ["", "x.pdf", "x.pdf?y", "a;b=c", "?a=/../private", "%00", "%2e%2e/private", "//", "*$", "\\"];
const METHODS: [&str; 4] = ["GET", "HEAD", "POST", "PROPFIND"];

fn user_agents() -> Vec<&'static [u8]> {
    let named = [GPTBOT, CLAUDEBOT, GOOGLEBOT, GOOGLEBOT_IMAGE, ADSBOT, CHATGPT_USER, CURL, REQUESTS, OKHTTP];
    let odd: [&[u8]; 3] = [b"GPTBot\xff\xfe", b"-", b"Mozilla/5.0 SomeBot/1.0 (+http://bot.example)"];
    named.iter().chain(&BROWSERS).map(|name| name.as_bytes()).chain(odd).collect()
}

/// A gateway that stands before an origin and is asked by a proxy, too.
fn both(origin: &Nginx) -> Daemon {
    let config = "mode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\nlog_allowed = true\njournal_rate = \"off\"\n\
                  [authorize]\nlisten = \"127.0.0.1:0\"\n\
                  [[sites]]\nhosts = [\"example.org\"]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    configured(config).file("robots.txt", ROBOTS).in_front_of(origin).start()
}

/// The events of one way, in their order, without what differs in any case.
fn told(events: &[Value], mark: &str) -> Vec<Value> {
    let own =
        events.iter().filter(|event| event["user_agent"].as_str().is_some_and(|name| name.ends_with(mark)));
    own.cloned()
        .map(|mut event| {
            let fields = event.as_object_mut().expect("an object");
            for name in OWN {
                fields.remove(name);
            }
            let name = fields["user_agent"].as_str().unwrap_or_default().trim_end_matches(mark).to_owned();
            fields.insert("user_agent".to_owned(), name.into());
            event
        })
        .collect()
}

#[test]
fn ten_thousand_requests_are_judged_alike_on_both_ways() {
    let origin = Nginx::start();
    let gateway = both(&origin);
    let (mut front, mut door) = (gateway.client(), Client::to(doors(&gateway)));
    assert_eq!(door.send(&robots_txt()).status, 200);
    let (names, mut refused) = (user_agents(), 0);
    for number in 0..REQUESTS_SENT {
        let target = format!("{}{}", STARTS[number % 20], ENDS[number / 20 % 10]);
        let method = METHODS[number / 200 % 4];
        let name = names[number * 7 % names.len()];
        let by = |mark: &[u8]| [name, mark].concat();
        let sent = request(method, &target).for_host("example.org").by(by(b" =F"));
        let sent = sent.with("X-Forwarded-For", "203.0.113.9").with("X-Forwarded-Proto", "https");
        let answered = front.send(&sent).status;
        let asks = Door::ALL[number % 3];
        let advised = door.send(&asks.asks(method, &target).by(by(b" =D"))).status;
        let was_refused = advised == 403;
        assert_eq!(
            answered == 403,
            was_refused,
            "{asks:?}: {method} {target} by {:?}",
            String::from_utf8_lossy(name)
        );
        refused += usize::from(was_refused);
    }
    front.send(&get("/last").for_host("example.org").by(CURL));
    gateway.journal().event_of("/last");
    let events = gateway.journal().events();
    let (of_front, of_door) = (told(&events, " =F"), told(&events, " =D"));
    println!("{REQUESTS_SENT} requests both ways: {} events each, {refused} refused", of_front.len());
    assert_eq!(of_front.len(), of_door.len());
    for (front, door) in of_front.iter().zip(&of_door) {
        assert_eq!(front, door);
    }
    assert!(refused > 500 && of_front.len() > 4_000, "{refused} of {}", of_front.len());
}
