//! Visits in disguise: a browser's header from addresses that a crawler's operator publishes. They are told, and nothing else
//! follows.

use crate::alerts::AlertReceiver;
use crate::support::agents::{CHROME, CURL};
use crate::support::{Daemon, Nginx, get, until};
use serde_json::Value;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0";

/// The first has its addresses to itself, but for some; those of the second are a cloud's.
const CATALOGUE: &str = "[[crawler]]\nname = \"ExampleBot\"\ntokens = [\"ExampleBot\"]\npurpose = \"ai-train\"\n\
                         [[crawler]]\nname = \"SharedBot\"\ntokens = [\"SharedBot\"]\nverify = { shared = true }\n\
                         [[crawler]]\nname = \"ExampleFetcher\"\nclient = \"fetcher\"\n";

/// A gateway that enforces, and knows the addresses of all three.
fn gateway(origin: &Nginx, receiver: &AlertReceiver) -> Daemon {
    Daemon::with("User-agent: *\nDisallow: /private\n")
        .served_for_long()
        .in_mode("enforce")
        .in_front_of(origin)
        .set("trusted_proxies = [\"127.0.0.1\"]\ncatalogue = \"crawlers.toml\"")
        .arg("--admin")
        .arg("127.0.0.1:0")
        .table(
            "[alerts]\nwebhook_file = \"webhook\"\nevery = \"1s\"\n[verify]\ndns = false\n\
             ranges = { ExampleBot = [\"own.txt\"], SharedBot = [\"shared.txt\"], ExampleFetcher = [\"fetcher.txt\"] }",
        )
        .file("webhook", format!("http://{}/\n", receiver.address))
        .file("crawlers.toml", CATALOGUE)
        .file("own.txt", "20.9.0.0/16\n2a01:111::/32\n")
        .file("shared.txt", "20.9.128.0/17\n40.7.0.0/16\n")
        .file("fetcher.txt", "20.9.64.0/24\n")
        .start()
}

#[test]
fn visits_from_a_crawlers_own_addresses_are_told_and_nothing_else() {
    let (origin, receiver) = (Nginx::start(), AlertReceiver::answering(&["200 OK"], None));
    let gateway = gateway(&origin, &receiver);
    let mut client = gateway.client();
    let mut comes = |agent: &str, address: &str| {
        let answer = client.send(&get("/private/a").by(agent).with("X-Forwarded-For", address));
        answer.status
    };
    for _ in 0..120 {
        assert_eq!(comes(CHROME, "20.9.1.7"), 200);
    }
    assert_eq!(comes(FIREFOX, "2a01:111::5"), 200);
    // Elsewhere, in a cloud, behind a fetcher, as a tool; and once as itself.
    for (agent, address) in [
        (CHROME, "50.1.1.1"),
        (CHROME, "20.9.200.1"),
        (CHROME, "40.7.1.1"),
        (CHROME, "20.9.64.9"),
        (CURL, "20.9.1.7"),
    ] {
        assert_eq!(comes(agent, address), 200, "{address}");
    }
    assert_eq!(comes("ExampleBot/1.0", "20.9.1.8"), 403);

    let state = gateway.folder().join("state").to_str().expect("UTF-8").to_owned();
    let report = |format: &str| gateway.ctl(&["report", "--state-dir", &state, "--format", format]);
    let entry = until("all of it is in the report", || {
        let report: Value = report("json").exits(0).json();
        let all = report["crawlers"].as_array().cloned().unwrap_or_default();
        let of = |proof: &str| {
            all.iter().find(|one| one["crawler"] == "ExampleBot" && one["proof"] == proof).cloned()
        };
        of("confirmed").filter(|one| one["hidden"]["Chrome"] == 120 && one["violations"] == 1)
    });
    assert_eq!(entry["hidden"], serde_json::json!({ "Chrome": 120, "Firefox": 1 }));
    assert_eq!((&entry["requests"], &entry["refused"]), (&1.into(), &1.into()));
    let words = "also 121 requests from its own addresses as Chrome and Firefox";
    for format in ["text", "html"] {
        let told = report(format).stdout;
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(words), "{format}: {told}");
    }
    let names = report("json").stdout;
    assert!(!names.contains("SharedBot") && !names.contains("\"client\":\"browser\""), "{names}");
    // Judged by nothing: no event, and no alert but the one that tells of it.
    let told = receiver.first("hidden");
    let counted = told["details"]["hidden"]["Chrome"].as_u64();
    assert!(told["crawler"] == "ExampleBot" && counted >= Some(100), "{told}");
    assert!(gateway.journal().events().iter().all(|event| event["client"] != "browser"));
    is_counted_apart(&gateway, &state);
}

/// The metrics, and what would flip under another file, have them apart from what is judged.
fn is_counted_apart(gateway: &Daemon, state: &str) {
    let line = gateway.log.line_with(&["admin listener is open"]);
    let at = line.find("127.0.0.1:").expect("an address");
    let admin = line[at..].split(['"', ' ']).next().expect("an address").parse().expect("an address");
    let metrics = crate::support::Client::to(admin).send(&get("/metrics")).text();
    assert!(metrics.contains("robots_gateway_hidden_visits_total{crawler=\"ExampleBot\"} 121"), "{metrics}");
    assert!(
        metrics
            .contains("robots_gateway_crawler_requests_total{crawler=\"ExampleBot\",verdict=\"violation\"")
    );
    assert!(
        !metrics.contains("crawler_requests_total{crawler=\"ExampleBot\",verdict=\"allowed\""),
        "{metrics}"
    );
    // What would flip under another file are requests that were judged.
    gateway.folder().write("new.txt", "User-agent: *\nAllow: /\n");
    let new = gateway.folder().join("new.txt");
    let config = gateway.folder().join("gateway.toml");
    let [new, config] = [&new, &config].map(|path| path.to_str().expect("UTF-8"));
    let asked = ["diff", new, "--since", "1h", "--config", config, "--state-dir", state, "--format", "json"];
    let flips = gateway.ctl(&asked).json();
    assert_eq!(flips["requests"]["judged"], 2, "{flips}");
}
