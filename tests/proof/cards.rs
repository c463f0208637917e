//! Cards of agents (draft-meunier-webbotauth-registry) that the operator's catalogue names: fetched like lists, shown with
//! their source, and overruled by what is written.

use crate::publisher::ListPublisher;
use crate::scene::becomes;
use crate::support::command::{Ended, ctl};
use crate::support::{Daemon, Nginx, get, until};
use serde_json::{Value, json};

const AGENT: &str = "ExampleBot/1.0";
const CARD: &str = r#"{"client_id": "https://a.example/bot.json", "web_bot_auth": {
    "rfc9309-product-token": "ExampleToken", "trigger": "crawler", "purpose": "ai-train",
    "rate-expectation": "avg=1rps;max=2rps", "ips_uri": "https://a.example/ips.json"}}"#;
const CATALOGUE: &str = "[[crawler]]\nname = \"ExampleBot\"\ncard = \"https://a.example/bot.json\"\n";

/// What `gatewayctl` answers about the configuration and the state folder of a gateway.
fn asked(gateway: &Daemon, arguments: &[&str]) -> Ended {
    let [config, state] =
        ["gateway.toml", "state"].map(|name| gateway.folder().join(name).display().to_string());
    ctl([arguments, &["--config", &config, "--state-dir", &state]].concat())
}

#[test]
fn a_card_fills_in_what_the_entry_leaves_open() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    let gateway = Daemon::with("User-agent: ExampleToken\nDisallow: /private\n")
        .in_front_of(&origin)
        .in_mode("enforce")
        .file("crawlers.toml", CATALOGUE)
        .set("catalogue = \"crawlers.toml\"\ntrusted_proxies = [\"127.0.0.1\"]\nverdict_headers = true")
        .table(&format!("[verify]\ndns = false\nmirror = \"{}\"", publisher.url()))
        .start();
    let run = |arguments: &[&str]| asked(&gateway, &[arguments, &["--format", "json"]].concat());
    let entry = || {
        let shown: Value = run(&["crawlers"]).exits(0).json();
        let all = shown["crawlers"].as_array().cloned().expect("crawlers");
        all.into_iter().find(|one| one["name"] == "ExampleBot").expect("the entry")
    };
    let asks = || gateway.send(&get("/private").by(AGENT)).status;
    assert_eq!((asks(), &entry()["card"]["fetched"]), (200, &json!(false)));

    publisher.publishes("a.example_bot.json", CARD);
    publisher.publishes("a.example_ips.json", "20.9.0.0/16\n");
    let fetched = run(&["crawlers", "refresh"]).json();
    assert_eq!(fetched["cards"][0]["result"], "replaced", "{fetched}");
    let is_there = |list: &Value| list["url"] == "https://a.example/ips.json" && list["ranges"] == 1;
    assert!(fetched["lists"].as_array().is_some_and(|lists| lists.iter().any(is_there)), "{fetched}");
    let shown = entry();
    assert_eq!((&shown["tokens"], &shown["purpose"]), (&json!(["ExampleToken"]), &json!("ai-train")));
    assert_eq!(shown["card"]["url"], "https://a.example/bot.json");
    assert_eq!(shown["card"]["fields"], json!(["tokens", "client", "purpose", "ranges"]));
    assert_eq!(shown["card"]["rate_expectation"], "avg=1rps;max=2rps");
    let told = asked(&gateway, &["crawlers", AGENT]).exits(0).stdout;
    let says = "its card: https://a.example/bot.json: says tokens, client, purpose, ranges; expects to come at avg=1rps;max=2rps";
    assert!(told.contains(says), "{told}");
    // The running gateway notices by itself.
    until("the card is in force", || (asks() == 403).then_some(()));
    becomes(&gateway, AGENT, "20.9.1.2", "confirmed");

    // What cannot be read leaves what was there, and what is written goes first.
    publisher.publishes("a.example_bot.json", "<html>");
    let failed = run(&["crawlers", "refresh"]).json();
    assert!(failed["cards"][0]["error"].as_str().is_some_and(|error| error.contains("no card")), "{failed}");
    assert_eq!(entry()["tokens"], json!(["ExampleToken"]));
    let own = format!("{CATALOGUE}tokens = [\"ExampleBot\"]\npurpose = \"search\"\n");
    gateway.folder().write("crawlers.toml", own);
    let shown = entry();
    assert_eq!((&shown["tokens"], &shown["purpose"]), (&json!(["ExampleBot"]), &json!("search")));
    assert_eq!(shown["card"]["fields"], json!(["client", "ranges"]));
    until("the operator's word is in force", || (asks() == 200).then_some(()));
}

#[test]
fn the_gateway_fetches_cards_where_it_is_told_to_and_only_over_https() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    publisher.publishes("a.example_bot.json", CARD);
    let builder = |catalogue: &str, refresh: &str| {
        Daemon::with("User-agent: ExampleToken\nDisallow: /private\n")
            .in_front_of(&origin)
            .in_mode("enforce")
            .file("crawlers.toml", catalogue)
            .set("catalogue = \"crawlers.toml\"")
            .table(&format!("[verify]\ndns = false\n{refresh}\nmirror = \"{}\"", publisher.url()))
    };
    let gateway = builder(CATALOGUE, "refresh = \"24h\"").start();
    until("the card is in force", || (gateway.send(&get("/private").by(AGENT)).status == 403).then_some(()));
    assert_eq!(publisher.validators("a.example_bot.json").len(), 1);
    let ended = builder(&CATALOGUE.replace("https", "http"), "").fails_to_start();
    assert!(ended.stderr.contains("a card is fetched over https"), "{}", ended.stderr);
}

#[test]
fn a_card_takes_nothing_from_others_and_sends_the_gateway_nowhere_else() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    let catalogue = "[[crawler]]\nname = \"ExampleBot\"\ncard = \"https://a.example/bot.json\"\n\
                     [[crawler]]\nname = \"iMessage preview\"\ncard = \"https://a.example/bot.json\"\n";
    let gateway = Daemon::with("User-agent: *\nAllow: /\n")
        .in_front_of(&origin)
        .file("crawlers.toml", catalogue)
        .set("catalogue = \"crawlers.toml\"")
        .table(&format!("[verify]\ndns = false\nmirror = \"{}\"", publisher.url()))
        .start();
    let run = |arguments: &[&str]| asked(&gateway, &[arguments, &["--format", "json"]].concat());
    let entry = |name: &str| {
        let shown: Value = run(&["crawlers"]).exits(0).json();
        let all = shown["crawlers"].as_array().cloned().expect("crawlers");
        all.into_iter().find(|one| one["name"] == name).expect("the entry")
    };
    let before = entry("iMessage preview");
    assert_eq!(before["client"], "app");
    let lists: Vec<String> = (0..6).map(|number| format!("https://x{number}.a.example/ips.json")).collect();
    let card = json!({"rfc9309-product-token": "gptbot", "trigger": "crawler", "ips_uri": lists});
    publisher.publishes("a.example_bot.json", card.to_string());
    run(&["crawlers", "refresh"]);
    let (bot, app) = (entry("ExampleBot"), entry("iMessage preview"));
    assert_eq!(
        (&bot["tokens"], &bot["card"]["fields"]),
        (&json!(["ExampleBot"]), &json!(["client", "ranges"]))
    );
    assert_eq!((&app["client"], &app["tokens"]), (&before["client"], &before["tokens"]), "{app}");
    assert_eq!(bot["verify"]["ranges"].as_array().map(Vec::len), Some(4), "{bot}");

    let card = json!({"ips_uri": ["https://10.0.0.5/ips.json", "https://evil-a.example/ips.json"]});
    publisher.publishes("a.example_bot.json", card.to_string());
    run(&["crawlers", "refresh"]);
    assert_eq!(entry("ExampleBot")["card"]["fields"], json!([]));
    let large = format!("{{\"rfc9309-product-token\": \"Large\", \"new\": \"{}\"}}", "x".repeat(70_000));
    publisher.publishes("a.example_bot.json", &large);
    let failed = run(&["crawlers", "refresh"]).json();
    assert!(
        failed["cards"][0]["error"].as_str().is_some_and(|error| error.contains("65536 bytes")),
        "{failed}"
    );
}
