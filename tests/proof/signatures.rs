//! Signed agents: known behind a browser's header, judged by their own group, and nothing follows from a signature that is
//! not right.

use crate::publisher::ListPublisher;
use crate::signing::{AGENT, AgentKey, CATALOGUE, DIRECTORY, signed};
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::command::{Ended, ctl};
use crate::support::tls::address_with;
use crate::support::{Builder, Client, Daemon, Nginx, configured, get, until};
use serde_json::Value;

const ROBOTS: &str = "User-agent: ExampleAgent\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n";
pub(crate) const HOST: &str = "site.example";

/// A gateway that knows the agent, and its key.
pub(crate) fn knowing(origin: &Nginx, key: &AgentKey, verify: &str) -> Builder {
    knowing_at(origin, key, verify, &format!("hosts = [\"{HOST}\", \"127.0.0.1\"]"))
}

/// The same with these lines of the site.
pub(crate) fn knowing_at(origin: &Nginx, key: &AgentKey, verify: &str, site: &str) -> Builder {
    let builder = Daemon::with(ROBOTS)
        .in_front_of(origin)
        .served_for_long()
        .site(site)
        .set("catalogue = \"own.toml\"")
        .set("log_allowed = true")
        .table(&format!("[verify]\ndns = false\n{verify}"))
        .file("own.toml", CATALOGUE);
    let keys = builder.folder().join("state").join("keys");
    std::fs::create_dir_all(&keys).expect("a folder");
    std::fs::write(keys.join(DIRECTORY), key.directory()).expect("a file");
    builder
}

#[track_caller]
pub(crate) fn is(event: &Value, fields: &[(&str, Value)]) {
    for (name, value) in fields {
        assert_eq!(&event[name], value, "{name}: {event:#}");
    }
}

#[test]
fn a_signed_agent_is_known_behind_a_browser_and_its_user_is_not() {
    let (origin, key) = (Nginx::start(), AgentKey::new(1));
    let gateway = knowing(&origin, &key, "").start();
    let mut client = gateway.client();
    client.send(&key.get(HOST, "/private/1?x=y").by(CHROME)).came_from_origin();
    let event = gateway.journal().event_of("/private/1?x=y");
    is(
        &event,
        &[
            ("event", "violation".into()),
            ("client", "fetcher".into()),
            ("crawler", "Example Agent".into()),
            ("purpose", "ai-user".into()),
            ("token", "ExampleAgent".into()),
            ("proof", "confirmed".into()),
            ("proof_by", "signature".into()),
            ("line", 2.into()),
            ("mode", "audit".into()),
        ],
    );
    // Its own group, never `*`.
    client.send(&key.get(HOST, "/open").by(CHROME)).came_from_origin();
    is(&gateway.journal().event_of("/open"), &[("event", "allowed".into()), ("proof", "confirmed".into())]);
    // The same header without a signature, over the same connection, is a person, before and after.
    for target in ["/private/2", "/private/3"] {
        client.send(&get(target).for_host(HOST).by(CHROME)).came_from_origin();
    }
    client.send(&key.get(HOST, "/last").by(CHROME));
    let before = gateway.journal().events_before("/last");
    assert!(before.iter().all(|event| event["client"] == "fetcher"), "{before:#?}");
    assert_eq!(before.len(), 2, "{before:#?}");
}

#[test]
fn a_signed_agent_is_refused_where_the_operator_says_so() {
    let (origin, key) = (Nginx::start(), AgentKey::new(2));
    let gateway = knowing(&origin, &key, "")
        .in_mode("enforce")
        .table("[crawlers.\"Example Agent\"]\nmode = \"enforce\"")
        .site("accept_signature = true")
        .start();
    let refused = gateway.send(&key.get(HOST, "/private/1").by(CHROME).with("Accept", "application/json"));
    assert_eq!((refused.status, refused.header("accept-signature")), (403, None));
    assert_eq!(refused.json()["crawler"], "Example Agent");
    // Who is refused and did not sign is asked to.
    let asked = gateway.send(&get("/x").for_host(HOST).by(GPTBOT));
    let wanted = asked.header("accept-signature").unwrap_or_default();
    assert!(asked.status == 403 && wanted.contains("tag=\"web-bot-auth\""), "{asked:?}");
    gateway.send(&get("/private/1").for_host(HOST).by(CHROME)).came_from_origin();
}

#[test]
fn the_signature_wins_where_it_names_another_than_the_header() {
    let (origin, key) = (Nginx::start(), AgentKey::new(3));
    let gateway = knowing(&origin, &key, "").start();
    gateway.send(&key.get(HOST, "/private/1").by(GPTBOT));
    let event = gateway.journal().event_of("/private/1");
    is(
        &event,
        &[("crawler", "Example Agent".into()), ("client", "fetcher".into()), ("proof", "confirmed".into())],
    );
    // A command-line client is an agent, too; without any header it is as well.
    gateway.send(&key.get(HOST, "/private/2"));
    is(&gateway.journal().event_of("/private/2"), &[("crawler", "Example Agent".into())]);
}

#[test]
fn a_signature_that_covers_no_path_names_and_proves_nothing() {
    let (origin, key) = (Nginx::start(), AgentKey::new(4));
    let gateway = knowing(&origin, &key, "").start();
    let fields = key.fields(&[("\"@authority\"", HOST)]);
    gateway.send(&signed(get("/private/1").for_host(HOST), fields).by(CHROME)).came_from_origin();
    let event = gateway.journal().event_of("/private/1");
    let expected = [
        ("event", "violation".into()),
        ("crawler", "Example Agent".into()),
        ("proof", "unchecked".into()),
        ("proof_by", "signature".into()),
    ];
    is(&event, &expected);
}

/// Rules match the query. A signature without it was perhaps made for another target: that of `/search?page=2` must not
/// accuse as one of `/search`.
#[test]
fn a_signature_that_covers_no_query_proves_nothing() {
    let (origin, key) = (Nginx::start(), AgentKey::new(13));
    let gateway = knowing(&origin, &key, "").start();
    let fields = key.fields(&[("\"@authority\"", HOST), ("\"@path\"", "/private/1")]);
    for target in ["/private/1?x", "/private/1"] {
        gateway.send(&signed(get(target).for_host(HOST), fields.clone()).by(CHROME)).came_from_origin();
        let expected = [("proof", "unchecked".into()), ("proof_by", "signature".into())];
        is(&gateway.journal().event_of(target), &expected);
    }
    gateway.send(&key.get(HOST, "/private/2").by(CHROME)).came_from_origin();
    is(&gateway.journal().event_of("/private/2"), &[("proof", "confirmed".into())]);
}

/// A site without `hosts` answers to every name, so that a host of somebody else binds nothing.
#[test]
fn a_signature_for_a_host_that_nobody_named_proves_nothing() {
    let (origin, key) = (Nginx::start(), AgentKey::new(14));
    let gateway = knowing_at(&origin, &key, "", "").start();
    gateway.send(&key.get("evil.example", "/private/1").by(CHROME)).came_from_origin();
    let expected = [
        ("crawler", "Example Agent".into()),
        ("proof", "unchecked".into()),
        ("proof_by", "signature".into()),
    ];
    is(&gateway.journal().event_of("/private/1"), &expected);
    let below = knowing_at(&origin, &key, "", "hosts = [\"*.example\"]").start();
    below.send(&key.get(HOST, "/private/1").by(CHROME)).came_from_origin();
    is(&below.journal().event_of("/private/1"), &[("proof", "confirmed".into())]);
}

#[test]
fn nothing_follows_from_a_signature_that_is_not_right() {
    let (origin, key, other) = (Nginx::start(), AgentKey::new(5), AgentKey::new(6));
    let gateway = knowing(&origin, &key, "").in_mode("enforce").start();
    let mut client = gateway.client();
    let request = |target: &str| get(target).for_host(HOST).by(CHROME);
    let path = |path: &'static str| [("\"@authority\"", HOST), ("\"@path\"", path)];
    // Of another path, by a key that is not known, of another host, and no signature at all.
    client.send(&signed(request("/private/1"), key.fields(&path("/open")))).came_from_origin();
    client.send(&other.get(HOST, "/private/2").by(CHROME)).came_from_origin();
    client
        .send(&signed(
            request("/private/3"),
            key.fields(&[("\"@authority\"", "other.example"), ("\"@path\"", "/private/3")]),
        ))
        .came_from_origin();
    client
        .send(&request("/private/4").with("Signature-Input", "(((").with("Signature", "\u{1f639}"))
        .came_from_origin();
    // A crawler is what its header says.
    let wrong = signed(get("/private/5").for_host(HOST).by(GPTBOT), key.fields(&path("/open")));
    assert_eq!(client.send(&wrong).status, 403);
    let event = gateway.journal().event_of("/private/5");
    is(&event, &[("crawler", "GPTBot".into()), ("proof", "unchecked".into()), ("proof_by", Value::Null)]);
    assert!(gateway.journal().events_before("/private/5").is_empty(), "people are not judged");
}

/// Another proxy that asks gets the same answer, and its page of a refusal as well.
#[test]
fn doors_read_signatures_too() {
    let key = AgentKey::new(16);
    let config = format!(
        "listen = []\ntrusted_proxies = [\"127.0.0.1\"]\nadmin = \"off\"\ncatalogue = \"own.toml\"\nmode = \"enforce\"\n\
         [authorize]\nlisten = \"127.0.0.1:0\"\n[verify]\ndns = false\n\
         [crawlers.\"Example Agent\"]\nmode = \"enforce\"\n\
         [[sites]]\nhosts = [\"{HOST}\"]\nrobots = \"robots.txt\"\nreads = \"complete\"\naccept_signature = true\n"
    );
    let builder = configured(&config).file("robots.txt", ROBOTS).file("own.toml", CATALOGUE).nowhere();
    let keys = builder.folder().join("state").join("keys");
    std::fs::create_dir_all(&keys).expect("a folder");
    std::fs::write(keys.join(DIRECTORY), key.directory()).expect("a file");
    let gateway = builder.start();
    let doors = address_with(&gateway, "\"authorize\":true");
    let robots = get("/robots.txt").for_host(HOST).by(CHROME);
    let robots = robots.with("X-Forwarded-For", "203.0.113.9").with("X-Forwarded-Proto", "http");
    assert_eq!(Client::to(doors).send(&robots).text(), ROBOTS);
    let described = |door: &str| {
        let described = [
            ("Method", "GET"),
            ("URI", "/private/1"),
            ("Host", HOST),
            ("Proto", "http"),
            ("For", "203.0.113.9"),
        ];
        let question = described.into_iter().fold(get(door).by(CHROME), |question, (name, value)| {
            question.with(&format!("X-Original-{name}"), value)
        });
        let components = [("\"@authority\"", HOST), ("\"@path\"", "/private/1")];
        Client::to(doors).send(&signed(question, key.fields(&components)))
    };
    assert_eq!(described("/nginx").status, 403);
    let page = described("/nginx/refusal");
    assert_eq!((page.status, page.header("accept-signature")), (403, None), "{page:?}");
}

/// What `gatewayctl` says by the configuration and the state of `gateway`.
#[track_caller]
pub(crate) fn ask(gateway: &Daemon, arguments: &[&str]) -> Ended {
    let [config, state] = ["gateway.toml", "state"].map(|name| gateway.folder().join(name));
    let (config, state) = (config.to_str().expect("UTF-8"), state.to_str().expect("UTF-8"));
    ctl([arguments, &["--config", config, "--state-dir", state, "--format", "json"]].concat())
}

/// Fetches from `publisher` by the configuration of `gateway`.
fn refresh(publisher: &ListPublisher, gateway: &Daemon) -> Value {
    ask(gateway, &["crawlers", "refresh", "--from", &publisher.url()]).json()
}

fn of_agent(answer: &Value) -> Value {
    let directories = answer["directories"].as_array().expect("directories");
    let url = format!("{AGENT}/.well-known/http-message-signatures-directory");
    directories.iter().find(|directory| directory["url"] == *url).expect("ours").clone()
}

#[test]
fn keys_rotate_and_an_outage_takes_none_away() {
    let (origin, publisher) = (Nginx::start(), ListPublisher::start());
    let (old, new) = (AgentKey::new(8), AgentKey::new(9));
    let gateway = knowing(&origin, &old, "").start();
    let proof_of = |key: &AgentKey, target: &str| {
        gateway.send(&key.get(HOST, target).by(GPTBOT));
        gateway.journal().event_of(target)["proof"].clone()
    };
    assert_eq!(
        (proof_of(&old, "/private/1"), proof_of(&new, "/private/2")),
        ("confirmed".into(), "unchecked".into())
    );
    let absent = of_agent(&refresh(&publisher, &gateway));
    assert_eq!((&absent["result"], &absent["keys"]), (&"absent".into(), &1.into()), "{absent}");
    assert_eq!(proof_of(&old, "/private/3"), "confirmed");
    for broken in
        ["<html>", "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}", &"x".repeat(70_000)]
    {
        publisher.publishes(DIRECTORY, broken);
        assert_eq!(of_agent(&refresh(&publisher, &gateway))["result"], "failed", "{broken:.60}");
    }
    publisher.publishes(DIRECTORY, new.directory());
    let fetched = of_agent(&refresh(&publisher, &gateway));
    assert_eq!((&fetched["result"], &fetched["error"]), (&"replaced".into(), &Value::Null), "{fetched}");
    let mut number = 10;
    until("the new key is in force", || {
        number += 1;
        (proof_of(&new, &format!("/private/{number}")) == "confirmed").then_some(())
    });
    assert_eq!(proof_of(&old, "/private/99"), "unchecked", "its directory no longer has it");
    let shown = ask(&gateway, &["crawlers"]).json();
    let crawlers = shown["crawlers"].as_array().expect("crawlers");
    let own = crawlers.iter().find(|crawler| crawler["name"] == "Example Agent").expect("ours");
    assert_eq!(own["signature_agent"], AGENT);
    assert_eq!(own["keys"]["keys"][0]["keyid"], new.thumbprint());
    assert!(own["keys"]["age_seconds"].is_u64() && own["keys"]["error"].is_null(), "{own:#}");
}

#[test]
fn a_signature_is_explained_step_by_step() {
    let (origin, key) = (Nginx::start(), AgentKey::new(10));
    let gateway = knowing(&origin, &key, "").start();
    let components = [("\"@authority\"", HOST), ("\"@path\"", "/private/1"), ("\"@query\"", "?")];
    let fields = key.fields(&components);
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let file = gateway.folder().join("request.txt");
    let text =
        format!("GET /private/1 HTTP/1.1\nHost: {HOST}\nUser-Agent: {CHROME}\n{}\n\n", lines.join("\n"));
    std::fs::write(&file, text).expect("a file");
    let request = file.to_str().expect("UTF-8");
    let answer = ask(&gateway, &["explain", "--request", request]).exits(1).json();
    assert_eq!((&answer["client"], &answer["proof"]), (&"fetcher".into(), &"confirmed".into()), "{answer:#}");
    let steps = answer["steps"].to_string();
    for part in
        ["has the tag", "signature base: ", "signed this request", "by its signature it is `Example Agent`"]
    {
        assert!(steps.contains(part), "{part}: {answer:#}");
    }
    // The same as options, for another path: what was signed does not match.
    let mut arguments = vec!["explain", "--user-agent", CHROME, "--target", "/private/2"];
    arguments.extend(["--site", HOST]);
    arguments.extend(lines.iter().flat_map(|line| ["--header", line.as_str()]));
    let answer = ask(&gateway, &arguments).exits(0).json();
    assert_eq!(
        (&answer["client"], &answer["reason"]),
        (&"browser".into(), &"not-judged".into()),
        "{answer:#}"
    );
    assert!(answer["steps"].to_string().contains("(mismatch)"), "{answer:#}");
    let error = ask(&gateway, &["explain", "--target", "/", "--header", "nonsense"]).exits(2);
    assert!(error.stderr.contains("invalid header field"), "{error:?}");
}

/// What `explain` says of a request with these components, and these lines of `[verify]`.
fn explained(components: &[(&str, &str)], verify: &str, seed: u8) -> Value {
    let (origin, key) = (Nginx::start(), AgentKey::new(seed));
    let gateway = knowing(&origin, &key, verify).start();
    let fields = key.fields(components).map(|(name, value)| format!("{name}: {value}"));
    let mut arguments = vec!["explain", "--user-agent", CHROME, "--target", "/private/1"];
    arguments.extend(fields.iter().flat_map(|line| ["--header", line.as_str()]));
    serde_json::from_str(&ask(&gateway, &arguments).stdout).expect("JSON")
}

#[test]
fn explain_tells_which_scheme_was_signed_and_knows_the_host_of_the_only_site() {
    let target = |scheme: &str| format!("{scheme}://{HOST}/private/1");
    for (scheme, told) in
        [("https", "the scheme https was signed"), ("http", "as a request over http it is verified")]
    {
        let answer = explained(&[("\"@target-uri\"", &target(scheme))], "", 17);
        assert_eq!(
            (&answer["client"], &answer["proof"]),
            (&"fetcher".into(), &"confirmed".into()),
            "{answer:#}"
        );
        assert!(answer["steps"].to_string().contains(told), "{answer:#}");
    }
}
