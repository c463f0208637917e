//! A gateway as `init --beside` sets it up, a real proxy that asks it, a site behind that, and a client at 127.0.0.2.

use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::command::ctl;
use crate::support::origin::free_port;
use crate::support::{Daemon, Folder, configured, until};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

pub(crate) const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

/// The first block of a page of the guide behind `heading` that begins with a fence of `kind`.
pub(crate) fn block(page: &str, heading: &str, kind: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{page}.md"));
    let page = fs::read_to_string(path).expect("the page");
    let (_, rest) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no `{heading}`"));
    let (_, rest) = rest.split_once(&format!("```{kind}\n")).unwrap_or_else(|| panic!("no block of {kind}"));
    rest.split("```").next().unwrap_or_default().to_owned()
}

/// What `init --beside` wrote, and a free port for the listener that is asked.
pub(crate) struct Setup {
    pub(crate) folder: Folder,
    pub(crate) asked: u16,
}

impl Setup {
    pub(crate) fn of(proxy: &str) -> Self {
        let folder = Folder::new();
        folder.write("rules.txt", ROBOTS);
        let (rules, site) = (folder.join("rules.txt"), folder.join("site"));
        let [rules, site] = [&rules, &site].map(|path| path.to_str().expect("UTF-8"));
        let state = folder.join("state");
        let state = ["--state-dir", state.to_str().expect("UTF-8")];
        let asked =
            ["init", "--beside", proxy, "--robots", rules, "--block", "seo", "--host", "example.org", site];
        let ended = ctl([&asked[..], &state].concat()).exits(0);
        assert!(!ended.stdout.contains("warning: the site's own"), "{}", ended.stdout);
        Self { folder, asked: free_port() }
    }

    /// A file that it wrote, for this gateway's port.
    pub(crate) fn file(&self, name: &str) -> String {
        let text = fs::read_to_string(self.folder.join("site").join(name)).expect("written by init");
        self.at_its_port(&text)
    }

    pub(crate) fn at_its_port(&self, text: &str) -> String {
        text.replace("127.0.0.1:9310", &format!("127.0.0.1:{}", self.asked))
    }

    /// Starts the gateway with its configuration, or with another.
    pub(crate) fn gateway(&self, config: Option<&str>) -> Daemon {
        let config = config.map_or_else(|| self.file("gateway.toml"), str::to_owned);
        let config = config.replace("[[sites]]", "[[sites]]\nreads = \"complete\"");
        let builder = configured(&format!("{config}\n[limits]\nheader_size = \"4KiB\"\n"));
        let builder = builder.file("robots.txt", ROBOTS).nowhere().in_mode("enforce").with_notice("0s");
        // Proxies read copies in it, also while no gateway runs.
        let state = self.folder.join("state");
        let journal = builder.folder().join("state/journal.jsonl");
        let [state, journal] = [state, journal].map(|path| path.to_str().expect("UTF-8").to_owned());
        let builder = builder.arg("--state-dir").arg(&state).arg("--journal").arg(&journal);
        builder.arg("--authorize").arg(&format!("127.0.0.1:{}", self.asked)).start()
    }
}

/// An answer, as curl shows it.
#[derive(Debug)]
pub(crate) struct ProxyAnswer {
    pub(crate) status: u16,
    pub(crate) text: String,
}

/// Asks the proxy, as a client at 127.0.0.2.
pub(crate) fn ask(port: u16, host: &str, target: &str, more: &[&str]) -> ProxyAnswer {
    let url = format!("http://127.0.0.1:{port}{target}");
    let output = Command::new("curl")
        .args([
            "-sS",
            "-m",
            "20",
            "--interface",
            "127.0.0.2",
            "--path-as-is",
            "-i",
            "-H",
            &format!("Host: {host}"),
        ])
        .args(more)
        .arg(&url)
        .output()
        .expect("curl runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The go-ahead for a body is no answer.
    let mut text = &*text;
    while let Some((head, answer)) = text.split_once("\r\n\r\n") {
        if head.split(' ').nth(1) != Some("100") {
            break;
        }
        text = answer;
    }
    let text = text.to_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let talk = String::from_utf8_lossy(&output.stderr);
    ProxyAnswer { status: status.unwrap_or_else(|| panic!("{url} {more:?}: {talk}{text}")), text }
}

/// Odd targets, and what is done about them: what rules and journal see is what the client sent.
const ODD: [(&str, u16); 6] = [
    ("/private?a=%2f&b=/../", 403),
    ("//private/x", 403),
    ("/%70rivate/y", 403),
    ("/a/../private/z", 403),
    ("/open/%2e%2e/private", 403),
    ("/open;v=1?q=%C3%A4", 200),
];

/// What is promised beside every proxy.
pub(crate) fn keeps_its_promises(port: u16, host: &str, gateway: &Daemon) {
    keeps_promises(port, host, gateway, true);
}

/// The same where targets are as sent (`is_exact`), or as the proxy has cleaned them for the site, too.
pub(crate) fn keeps_promises(port: u16, host: &str, gateway: &Daemon, is_exact: bool) {
    let json = ["-A", GPTBOT, "-H", "Accept: application/json"];
    let get = |target: &str, more: &[&str]| ask(port, host, target, more);
    // Before the proxy has passed on a request for robots.txt nobody is accused or refused.
    assert_eq!(get("/private/early", &json).status, 200);
    assert_eq!(gateway.journal().event_of("/private/early")["notice"], "unpublished");
    assert!(is_copy(&get("/robots.txt", &["-A", CHROME])));
    let refused = get("/private/page", &json);
    let whole = refused.text.contains("\"line\":2") && refused.text.contains("\"crawler\":\"GPTBot\"");
    assert!(refused.status == 403 && whole, "{refused:?}");
    assert!(refused.text.to_lowercase().contains("link: </robots.txt>"), "{refused:?}");
    let person = get("/private/page", &["-A", CHROME]);
    assert!(person.status == 200 && person.text.contains("origin: GET /private/page"), "{person:?}");
    for (target, status) in ODD {
        let answer = get(target, &json);
        assert_eq!(answer.status, status, "{target}: {answer:?}");
        if status == 403 && is_exact {
            assert_eq!(gateway.journal().event_of(target)["address"], "127.0.0.2");
        }
    }
    let forged = [
        "-A",
        GPTBOT,
        "-H",
        "X-Forwarded-For: 198.51.100.1",
        "-H",
        "X-Original-For: 198.51.100.1",
        "-H",
        "X-Forwarded-Uri: /open",
        "-H",
        "X-Original-URI: /open",
        "-H",
        "X-Forwarded-Host: other.example",
        "-H",
        "Forwarded: for=198.51.100.1",
        "-H",
        "X-Authorize-Secret: x",
        "-H",
        "X-Forwarded-Method: OPTIONS",
    ];
    assert_eq!(get("/private/forged", &forged).status, 403);
    let event = gateway.journal().event_of("/private/forged");
    assert_eq!(
        (&event["address"], &event["method"], &event["host"]),
        (&"127.0.0.2".into(), &"GET".into(), &host.into())
    );
    // However large a field is, it is read.
    let page = get("/private/odd", &["-A", &format!("{CHROME} {}", "a".repeat(5_000))]);
    assert!(page.status == 200 && page.text.contains("origin: GET /private/odd"), "{page:?}");
    let status: Value = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["authorize"]["faults"]["head"], 0);
    let padded = get("/private/odd", &["-A", &format!("{} {GPTBOT}", "a".repeat(5_000))]);
    assert_eq!(padded.status, 403, "{padded:?}");
    let posted = get("/open/form", &["-A", CURL, "-d", "a=b"]);
    assert!(posted.text.contains("origin: POST /open/form"), "{posted:?}");
    // A read counts, and what comes after it is a violation after reading.
    until("the read counts", || {
        // A proxy that has not found the gateway healthy yet answers with its copy.
        assert_eq!(get("/robots.txt", &["-A", GPTBOT]).status, 200);
        get("/private/after", &json);
        gateway.journal().events().iter().any(|event| event["notice"] == "read").then_some(())
    });
}

/// How often each request is counted: once, whatever the proxy does for it.
pub(crate) fn counts_each_once(port: u16, host: &str, gateway: &Daemon, targets: &[&str]) {
    let requests = |gateway: &Daemon| -> u64 {
        let status: Value = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        status["totals"]["requests"].as_u64().expect("a count")
    };
    let before = requests(gateway);
    for target in targets {
        ask(port, host, target, &["-A", GPTBOT]);
    }
    assert_eq!(requests(gateway) - before, u64::try_from(targets.len()).expect("few"));
}

/// Ends the visits, also where the test fails.
struct VisitStop<'a>(&'a AtomicBool);

impl Drop for VisitStop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// People who ask for one page after the other.
#[derive(Default)]
struct People {
    served: AtomicU32,
    failed: Mutex<Vec<ProxyAnswer>>,
    /// Milliseconds.
    slowest: AtomicU64,
    leave: AtomicBool,
}

impl People {
    fn visit(&self, port: u16, host: &str) {
        while !self.leave.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let answer = ask(port, host, "/private/page", &["-A", CHROME]);
            let took = u64::try_from(begun.elapsed().as_millis()).expect("short");
            self.slowest.fetch_max(took, Ordering::Relaxed);
            if answer.status == 200 {
                self.served.fetch_add(1, Ordering::Relaxed);
            } else {
                self.failed.lock().expect("nobody has panicked").push(answer);
            }
        }
    }

    /// Waits until so many more of them are served.
    fn are_served(&self, count: u32) {
        let before = self.served.load(Ordering::Relaxed);
        until("people are served", || (self.served.load(Ordering::Relaxed) >= before + count).then_some(()));
    }

    /// Four of them, until `meanwhile` is over. None of them is sent away.
    fn during(port: u16, host: &str, what: &str, meanwhile: impl FnOnce(&Self)) {
        let people = Self::default();
        scope(|scope| {
            let _stopped = VisitStop(&people.leave);
            for _ in 0..4 {
                scope.spawn(|| people.visit(port, host));
            }
            people.are_served(8);
            meanwhile(&people);
        });
        let Self { served, failed, slowest, .. } = people;
        let failed = failed.into_inner().expect("nobody has panicked");
        println!(
            "gateway {what} under load: {} pages for people, {} failed, the slowest took {} ms",
            served.into_inner(),
            failed.len(),
            slowest.into_inner()
        );
        assert!(failed.is_empty(), "{failed:?}");
    }
}

/// Whether that is the file that the gateway serves.
pub(crate) fn is_copy(robots: &ProxyAnswer) -> bool {
    robots.status == 200 && robots.text.contains(ROBOTS)
}

/// The same where groups are generated.
pub(crate) fn is_whole_copy(robots: &ProxyAnswer) -> bool {
    is_copy(robots) && robots.text.contains("User-agent: AhrefsBot\n")
}

/// While the gateway is down everybody passes, and crawlers get the same robots.txt; then it judges again.
pub(crate) fn survives_without_the_gateway(
    port: u16,
    host: &str,
    setup: &Setup,
    gateway: Daemon,
    config: Option<&str>,
) {
    // What `init` wrote has generated groups.
    let is_right = if config.is_none() { is_whole_copy } else { is_copy };
    People::during(port, host, "killed and started again", |people| {
        // Killed, as by the kernel.
        gateway.signal("KILL");
        people.are_served(20);
        drop(gateway);
        until("a crawler passes", || {
            (ask(port, host, "/private/x", &["-A", GPTBOT]).status == 200).then_some(())
        });
        // A proxy that probes may need a moment to find out.
        until("crawlers get the same robots.txt", || {
            is_right(&ask(port, host, "/robots.txt", &["-A", GPTBOT])).then_some(())
        });
        let gateway = setup.gateway(config);
        judges_again(port, host);
        drop(gateway);
    });
}

/// Waits until the proxy has passed on a request for robots.txt, and a crawler is refused.
pub(crate) fn judges_again(port: u16, host: &str) {
    until("it judges again", || {
        ask(port, host, "/robots.txt", &["-A", CHROME]);
        (ask(port, host, "/private/x", &["-A", GPTBOT]).status == 403).then_some(())
    });
}

/// Nobody waits for longer: what the recipes have proxies wait for, and time for a machine that is busy.
const PATIENCE: Duration = Duration::from_millis(2_500);

/// While the gateway takes connections and answers nothing, everybody passes after a short wait, with the bodies of their
/// requests, and crawlers get a robots.txt; then it judges again.
pub(crate) fn survives_a_hung_gateway(
    port: u16,
    host: &str,
    gateway: &Daemon,
    is_right: impl Fn(&ProxyAnswer) -> bool,
) {
    People::during(port, host, "stopped and continued", |people| {
        gateway.signal("STOP");
        let in_time = |target: &str, more: &[&str]| {
            let begun = Instant::now();
            let answer = ask(port, host, target, more);
            let took = begun.elapsed();
            assert!(took < PATIENCE, "{target} took {took:?}");
            answer
        };
        let robots = in_time("/robots.txt", &["-A", GPTBOT]);
        assert!(is_right(&robots), "{robots:?}");
        let form = in_time("/private/form", &["-A", CHROME, "-d", "a=b"]);
        assert!(form.text.contains("origin: POST /private/form"), "{form:?}");
        assert_eq!(in_time("/private/x", &["-A", GPTBOT]).status, 200);
        // Longer than any probe takes to find out.
        people.are_served(40);
        let robots = in_time("/robots.txt", &["-A", GPTBOT]);
        assert!(is_right(&robots), "{robots:?}");
        let slowest = Duration::from_millis(people.slowest.load(Ordering::Relaxed));
        gateway.signal("CONT");
        judges_again(port, host);
        assert!(slowest < PATIENCE, "{slowest:?}");
    });
}
