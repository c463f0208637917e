//! Public corpora: the conformance cases, and a real access log replayed as real requests.
//!
//! They are found through `ROBOTS_GATEWAY_CORPUS`; without it these tests say that they were skipped.

use crate::support::command::ctl;
use crate::support::{Client, ClientResponse, Daemon, Folder, Nginx, request, version_of};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

/// The corpora's folder, if the tester has one.
fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("ROBOTS_GATEWAY_CORPUS").map(PathBuf::from);
    if folder.is_none() {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
    }
    folder
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// Runs `gatewayctl explain --batch` over a file; one answer for each line.
fn explain(batch: &Path, more: &[&str]) -> Vec<Value> {
    let batch = batch.to_str().expect("UTF-8");
    json_lines(&ctl([&["explain", "--batch", batch], more].concat()).exits(0).stdout)
}

#[test]
fn the_conformance_cases_are_judged_as_expected() {
    let Some(corpus) = corpus() else { return };
    let file = corpus.join("robots/cases.jsonl");
    let cases = json_lines(&fs::read_to_string(&file).expect("the cases"));
    let answers = explain(&file, &[]);
    assert_eq!(answers.len(), cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .zip(&answers)
        .inspect(|(case, answer)| assert_eq!(case["id"], answer["id"], "answered in order"))
        .filter(|(case, answer)| case["expected"] != answer["verdict"])
        .map(|(case, answer)| {
            format!("{}: expected {}, got {}", case["id"], case["expected"], answer["verdict"])
        })
        .collect();
    let right = cases.len() - wrong.len();
    println!("{right} of {} conformance cases as expected; not so:\n{}", cases.len(), wrong.join("\n"));
    assert!(cases.len() > 1_000, "the corpus is too small");
    assert!(right * 100 >= cases.len() * 98, "{right} of {}", cases.len());
}

/// One line of the access log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Logged {
    method: String,
    target: String,
    user_agent: Option<String>,
}

impl Logged {
    /// Reads the combined format, whose quoted fields escape quotes and backslashes.
    fn parse(line: &str) -> Option<Self> {
        let quoted = quoted_fields(line);
        let [request, _, user_agent] = quoted.as_slice() else { return None };
        let mut words = request.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let user_agent = Some(user_agent.clone()).filter(|text| text != "-");
        Some(Self { method, target, user_agent })
    }
}

fn quoted_fields(line: &str) -> Vec<String> {
    let mut fields = Vec::new();
    let mut current: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (character, &mut current) {
            ('\\', Some(field)) => field.extend(characters.next()),
            ('"', None) => current = Some(String::new()),
            ('"', Some(_)) => fields.extend(current.take()),
            (_, Some(field)) => field.push(character),
            (_, None) => {}
        }
    }
    // A line of the log is cut off within its last field, which counts all the same.
    fields.extend(current);
    fields
}

fn access_log(corpus: &Path) -> Vec<Logged> {
    let path = corpus.join("logs/elastic-2015.combined.log.gz");
    let unpacked = Command::new("gzip").arg("-dc").arg(path).output().expect("gzip unpacks the log");
    assert!(unpacked.status.success(), "{unpacked:?}");
    let text = String::from_utf8_lossy(&unpacked.stdout);
    let logged: Vec<_> = text.lines().filter_map(Logged::parse).collect();
    assert!(logged.len() > 9_900 && logged.len() == text.lines().count(), "{} lines were read", logged.len());
    logged
}

/// A few dozen rules that touch much of what the log asks for.
/// Without a `Crawl-delay`: the requests come all at once, at a pace that they did not have.
const ROBOTS: &str = "\
User-agent: Googlebot
Disallow: /presentations/
Allow: /presentations/logstash-1/
Disallow: /*.gif$
Disallow: /?flav=rss20
Allow: /presentations/*.html

User-agent: Googlebot-Image
Disallow: /images/
Disallow: /files/

User-agent: bingbot
User-agent: msnbot
Disallow: /blog/tags/
Allow: /blog/tags/p
Disallow: /*/xdotool

User-agent: YandexBot
Disallow: /blog/
Disallow: /projects/
Allow: /projects/fex

User-agent: Baiduspider
User-agent: Sogou web spider
Disallow: /

User-agent: Slurp
Disallow: /articles/*?
Disallow: /%7Epsionic
Disallow: /blog/geekery/

User-agent: AhrefsBot
User-agent: MJ12bot
User-agent: Ezooms
Disallow:

User-agent: UniversalFeedParser
Disallow: /blog/tags/firefox

User-agent: archive.org_bot
Disallow: /files/logstash/
Disallow: /style2.css$

User-agent: *
Disallow: /blog/tags/
Disallow: /?flav=
Disallow: /images/web/
Disallow: /presentations/logstash-puppetconf-2012/
Allow: /presentations/logstash-puppetconf-2012/index
Disallow: /projects/xdotool/
Disallow: /files/xdotool/*/doc
Disallow: /*.png$
Allow: /*kibana*.png$
Disallow: /reset.css
Allow: /favicon.ico$
Disallow: /favicon
Disallow: /articles/
Allow: /articles/ssh
Disallow: /scripts/
Disallow: /misc/sample.log
Disallow: /*?*
Allow: /$
";

/// Whether a header is, to anyone who reads it, that of a person's browser of the year 2015. Much
/// narrower than what the gateway takes for one, and made without its code.
fn is_plainly_a_browser(user_agent: &str) -> bool {
    let platforms = ["Windows NT ", "Macintosh; ", "X11; ", "iPad; ", "iPhone; "]
        .map(|name| format!("Mozilla/5.0 ({name}"));
    let engines =
        [" Gecko/20100101 Firefox/", " (KHTML, like Gecko) Chrome/", " (KHTML, like Gecko) Version/"];
    let lower = user_agent.to_ascii_lowercase();
    let words = ["bot", "crawl", "spider", "http", "compatible", "headless", "@", "search", "preview"];
    let last = user_agent.rsplit(' ').next().and_then(|word| word.split_once('/'));
    let is_version = |version: &str| version.bytes().all(|octet| octet.is_ascii_digit() || octet == b'.');
    platforms.iter().any(|platform| user_agent.starts_with(platform))
        && engines.iter().any(|engine| user_agent.contains(engine))
        && !words.iter().any(|word| lower.contains(word))
        && matches!(last, Some(("Safari" | "Firefox", version)) if is_version(version))
}

/// What `explain` says and what the journal should therefore hold; `None` where nothing is judged.
fn expected_event(answer: &Value) -> Option<Value> {
    let reason = answer["reason"].as_str().expect("a reason");
    if matches!(reason, "not-judged" | "robots-txt") {
        assert_eq!(answer["verdict"], "allow", "{answer}");
        return None;
    }
    let event = match (answer["verdict"].as_str(), reason) {
        (_, "variant") => "variant",
        (Some("disallow"), _) => "violation",
        (Some("allow"), _) => "allowed",
        _ => panic!("no verdict: {answer}"),
    };
    let mut expected = json!({ "event": event });
    for field in ["client", "crawler", "token", "group", "line", "rule", "reason"] {
        expected[field] = answer[field].clone();
    }
    Some(expected)
}

fn journalled(event: &Value) -> Value {
    let fields = ["event", "client", "crawler", "token", "group", "line", "rule", "reason"];
    fields
        .iter()
        .map(|field| ((*field).to_owned(), event[*field].clone()))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// Sends every request of `share` over one connection that is kept alive.
fn replay(address: SocketAddr, share: &[&Logged]) {
    let mut client = Client::to(address);
    for logged in share {
        let mut request = request(&logged.method, &logged.target);
        if let Some(user_agent) = &logged.user_agent {
            request = request.by(user_agent);
        }
        let response: ClientResponse = client.send(&request);
        assert!(response.status < 500, "{logged:?}: {response:?}");
    }
}

#[test]
fn a_real_log_replayed_is_judged_as_explain_says() {
    let Some(corpus) = corpus() else { return };
    let logged = access_log(&corpus);
    let mut counts: BTreeMap<&Logged, usize> = BTreeMap::new();
    for request in &logged {
        *counts.entry(request).or_default() += 1;
    }
    let folder = Folder::new();
    let robots = folder.write("robots.txt", ROBOTS);
    let mut batch = String::new();
    for (id, request) in counts.keys().enumerate() {
        let mut line = json!({ "id": id, "target": request.target });
        line["user_agent"] = request.user_agent.clone().map_or_else(|| Value::from(""), Value::from);
        writeln!(batch, "{line}").expect("a String takes everything");
    }
    let batch = folder.write("batch.jsonl", batch);
    let answers = explain(&batch, &["--robots", robots.to_str().expect("UTF-8")]);
    assert_eq!(answers.len(), counts.len());

    let origin = Nginx::start();
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).set("log_allowed = true\njournal_rate = \"off\"").start();
    thread::scope(|scope| {
        for lane in 0..4 {
            let share: Vec<_> = logged.iter().skip(lane).step_by(4).collect();
            let address = gateway.address();
            scope.spawn(move || replay(address, &share));
        }
    });
    gateway.send(&request("GET", "/scripts/the-last").by("curl/8.5.0"));
    let journal = gateway.journal();
    journal.event_of("/scripts/the-last");
    // Lines of other connections may still be on their way: wait for the number, then look at each.
    let expected: usize = counts
        .values()
        .zip(&answers)
        .filter_map(|(count, answer)| expected_event(answer).map(|_| *count))
        .sum();
    crate::support::until("all judged requests are in the journal", || {
        (journal.lines().len() > expected).then_some(())
    });
    let mut events: HashMap<Logged, Vec<Value>> = HashMap::new();
    for event in journal.events() {
        let text = |field: &str| event[field].as_str().map(str::to_owned);
        let (method, target) = (text("method").expect("a method"), text("target").expect("a target"));
        events.entry(Logged { method, target, user_agent: text("user_agent") }).or_default().push(event);
    }
    compare(&counts, &answers, &events);
    let log = corpus.join("logs/elastic-2015.combined.log.gz");
    compare_with_replay(&log, &robots, events.values().flatten());
    let version = version_of(ROBOTS);
    assert!(events.values().flatten().all(|event| event["robots_version"] == version));
}

/// What an event says of one line of the log, whenever it was told and in whatever mode.
fn line_and_judgement(event: &Value) -> String {
    json!([event["method"], event["target"], event["user_agent"], journalled(event)]).to_string()
}

/// Holds what `gatewayctl replay` makes of the log, line by line, against what the running gateway recorded of the
/// same requests.
fn compare_with_replay<'a>(log: &Path, robots: &Path, recorded: impl Iterator<Item = &'a Value>) {
    let text = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let ended = ctl(["replay", &text(log), "--robots", &text(robots), "--events"]).exits(0);
    let mut balance: BTreeMap<String, i64> = BTreeMap::new();
    let replayed = json_lines(&ended.stdout);
    for event in &replayed {
        *balance.entry(line_and_judgement(event)).or_default() += 1;
    }
    for event in
        recorded.filter(|event| event["event"] != "allowed" && event["target"] != "/scripts/the-last")
    {
        *balance.entry(line_and_judgement(event)).or_default() -= 1;
    }
    balance.retain(|_, count| *count != 0);
    println!(
        "{} events of a replay, line by line as the gateway's; {} kinds differ",
        replayed.len(),
        balance.len()
    );
    assert!(replayed.len() > 300, "the log shows too little");
    assert!(balance.is_empty(), "{} differ, among them {:?}", balance.len(), balance.iter().next());
}

/// Holds each request's answer of `explain` against what the running gateway recorded of it.
fn compare(counts: &BTreeMap<&Logged, usize>, answers: &[Value], events: &HashMap<Logged, Vec<Value>>) {
    let none = Vec::new();
    let (mut judged, mut violations, mut browsers, mut differences) = (0, 0, 0, Vec::new());
    for ((request, count), answer) in counts.iter().zip(answers) {
        let recorded = events.get(*request).unwrap_or(&none);
        let plainly_a_browser = request.user_agent.as_deref().is_some_and(is_plainly_a_browser);
        if plainly_a_browser {
            browsers += count;
            assert_eq!(
                answer["reason"],
                if request.target.starts_with("/robots.txt") { "robots-txt" } else { "not-judged" },
                "{request:?}"
            );
            assert!(recorded.is_empty(), "a person's browser was judged: {recorded:?}");
        }
        match expected_event(answer) {
            None if recorded.is_empty() => {}
            Some(expected)
                if recorded.len() == *count && recorded.iter().all(|event| journalled(event) == expected) =>
            {
                judged += count;
                violations += if expected["event"] == "violation" { *count } else { 0 };
            }
            expected => differences
                .push(format!("{request:?}: explained {expected:?}, {count} sent, recorded {recorded:?}")),
        }
    }
    println!(
        "{} requests replayed: {judged} judged as `explain` says, {violations} of them violations; {} kinds differ; \
         {browsers} from plain browsers, none judged",
        counts.values().sum::<usize>(),
        differences.len()
    );
    assert!(
        differences.is_empty(),
        "{} differ, among them:\n{}",
        differences.len(),
        differences[..differences.len().min(5)].join("\n")
    );
    assert!(judged > 1_000 && violations > 300 && browsers > 4_000, "the log shows too little");
}
