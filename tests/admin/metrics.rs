//! `/metrics`: valid to Prometheus, exact to the sender's own ledger, and bounded whatever clients send.

use crate::exposition::ParsedExposition;
use crate::scene::{Watched, installed};
use crate::support::agents::{CHROME, CURL, GPTBOT};
use crate::support::folder::rename_over;
use crate::support::{Builder, Client, Daemon, Nginx, get, head, request, until, version_of};
use std::io::Write;
use std::process::{Command, Stdio};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

fn plain(origin: &Nginx) -> Builder {
    Daemon::with(ROBOTS).in_front_of(origin).with_notice("0s")
}

/// The value of a counter as the whole number it is.
#[track_caller]
fn count(metrics: &ParsedExposition, name: &str, labels: &[(&str, &str)]) -> u64 {
    let value = metrics.sum(name, labels);
    assert!(value.fract() == 0.0 && value >= 0.0, "{name} is {value}");
    format!("{value}").parse().expect("a whole number")
}

#[test]
fn what_was_sent_is_what_is_counted() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin).in_mode("enforce"));
    let mut client = watched.gateway.client();
    for _ in 0..7 {
        assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
    }
    for _ in 0..5 {
        client.send(&get("/open").by(GPTBOT)).came_from_origin();
    }
    for _ in 0..3 {
        client.send(&get("/private").by(CHROME)).came_from_origin();
    }
    for _ in 0..2 {
        // A tool is audited, whatever the site's mode.
        client.send(&get("/private").by(CURL)).came_from_origin();
    }
    client.send(&get("//private").by(GPTBOT));
    let robots = client.send(&get("/robots.txt").by(GPTBOT));
    let tag = robots.header("ETag").expect("a validator").to_owned();
    client.send(&get("/robots.txt").by(GPTBOT).with("If-None-Match", &tag));
    client.send(&head("/robots.txt").by(CHROME));
    client.send(&request("POST", "/robots.txt").by(CURL));

    let metrics = watched.metrics();
    let expected = [
        ("crawler", "violation", 7),
        ("crawler", "allowed", 5),
        ("crawler", "variant", 1),
        ("crawler", "robots-txt", 2),
        ("browser", "not-judged", 3),
        ("browser", "robots-txt", 1),
        ("tool", "violation", 2),
        ("tool", "robots-txt", 1),
    ];
    let mut sum = 0;
    for (client, verdict, wanted) in expected {
        let labels = [("site", "default"), ("client", client), ("verdict", verdict)];
        assert_eq!(count(&metrics, "robots_gateway_requests_total", &labels), wanted, "{client} {verdict}");
        sum += wanted;
    }
    assert_eq!(count(&metrics, "robots_gateway_requests_total", &[]), sum, "nothing else was counted");
    assert_eq!(count(&metrics, "robots_gateway_refusals_total", &[("client", "crawler")]), 8);
    assert_eq!(count(&metrics, "robots_gateway_refusals_total", &[]), 8);
    assert_eq!(count(&metrics, "robots_gateway_proofs_total", &[("proof", "unchecked")]), 15);
    for (status, wanted) in [("200", 2), ("304", 1), ("404", 0), ("405", 1)] {
        assert_eq!(
            count(&metrics, "robots_gateway_robots_txt_total", &[("status", status)]),
            wanted,
            "{status}"
        );
    }
    assert_eq!(count(&metrics, "robots_gateway_judging_seconds_count", &[]), sum);
    assert!(metrics.value("robots_gateway_judging_seconds_sum", &[]) > 0.0);
    assert_eq!(count(&metrics, "robots_gateway_faults_total", &[]), 0);
}

#[test]
fn a_promtool_finds_nothing_to_say() {
    let Some(promtool) = installed(&["promtool"]) else {
        eprintln!("skipped: promtool is not installed");
        return;
    };
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin));
    watched.gateway.send(&get("/private").by(GPTBOT));
    let mut checker = Command::new(promtool)
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool starts");
    let text = watched.ask("/metrics").body;
    checker.stdin.take().expect("piped").write_all(&text).expect("promtool reads");
    let ended = checker.wait_with_output().expect("promtool ends");
    let said = [ended.stdout, ended.stderr].concat();
    assert!(ended.status.success() && said.is_empty(), "{}", String::from_utf8_lossy(&said));
}

#[test]
fn nothing_a_client_makes_up_becomes_a_label() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin));
    let before: usize = watched.metrics().families.values().map(|family| family.samples.len()).sum();
    let mut client = watched.gateway.client();
    for number in 0..60 {
        let agent = format!("madeup{number}bot/1.0 (+http://made.up.example/bot)");
        client.send(
            &get(format!("/private/made-up-{number}"))
                .by(agent)
                .for_host(&format!("h{number}.made.up.example")),
        );
    }
    let text = watched.ask("/metrics").text();
    for made_up in ["madeup", "made-up", "made.up"] {
        assert!(!text.contains(made_up), "{text}");
    }
    let after: usize = watched.metrics().families.values().map(|family| family.samples.len()).sum();
    assert_eq!(before, after, "as many series as before");
}

#[test]
fn requests_for_nobody_and_requests_that_are_none_are_counted() {
    let origin = Nginx::start();
    let config = "[[sites]]\nhosts = [\"a.example\"]\norigin = \"[ORIGIN]\"\n";
    let watched = Watched::start(crate::support::configured(config).in_front_of(&origin));
    assert_eq!(watched.gateway.send(&get("/").for_host("b.example")).status, 421);
    assert_eq!(watched.gateway.send(&get("/").for_host("a/b")).status, 400);
    let metrics = watched.metrics();
    assert_eq!(count(&metrics, "robots_gateway_turned_away_total", &[("reason", "no-site")]), 1);
    assert_eq!(count(&metrics, "robots_gateway_turned_away_total", &[("reason", "malformed")]), 1);
    assert_eq!(count(&metrics, "robots_gateway_requests_total", &[]), 0);
}

#[test]
fn what_origins_are_asked_and_how_they_fail_is_counted() {
    let origin = Nginx::start();
    let robots = "robots = { from = \"none\" }";
    let config = format!(
        "[[sites]]\nhosts = [\"a.example\"]\norigin = \"[ORIGIN]\"\n{robots}\n\
         [[sites]]\nhosts = [\"gone.example\"]\norigin = \"http://127.0.0.1:9\"\n{robots}\n"
    );
    let watched = Watched::start(crate::support::configured(&config).in_front_of(&origin));
    for _ in 0..3 {
        watched.gateway.send(&get("/page").for_host("a.example")).came_from_origin();
    }
    for _ in 0..2 {
        assert_eq!(watched.gateway.send(&get("/page").for_host("gone.example")).status, 502);
    }
    let metrics = watched.metrics();
    let faults = |labels: &[(&str, &str)]| count(&metrics, "robots_gateway_origin_faults_total", labels);
    // Nothing was sent to who takes no connection: each of its requests is tried twice.
    assert_eq!((faults(&[("reason", "refused")]), faults(&[])), (4, 4));
    assert_eq!(count(&metrics, "robots_gateway_origin_attempts_total", &[]), 3 + 4);
    assert_eq!(count(&metrics, "robots_gateway_origin_first_byte_seconds_count", &[]), 3);
    assert!(metrics.value("robots_gateway_origin_first_byte_seconds_sum", &[]) > 0.0);
}

#[test]
fn reloads_and_versions_are_shown() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin));
    let info = |metrics: &ParsedExposition| {
        let samples: Vec<_> = metrics.samples("robots_gateway_site_info").cloned().collect();
        assert_eq!(samples.len(), 1, "{samples:?}");
        (samples[0].labels["mode"].clone(), samples[0].labels["robots_version"].clone())
    };
    let first = watched.metrics();
    assert_eq!(info(&first), ("audit".to_owned(), version_of(ROBOTS)));
    let changed = "User-agent: *\nDisallow: /other\n";
    rename_over(&watched.gateway.robots(), changed);
    let second = until("the change is shown", || {
        let metrics = watched.metrics();
        (info(&metrics).1 == version_of(changed)).then_some(metrics)
    });
    let generation = |metrics: &ParsedExposition| metrics.value("robots_gateway_policy_generation", &[]);
    assert!(generation(&second) > generation(&first));
    assert!(
        second.value("robots_gateway_policy_age_seconds", &[])
            < first.value("robots_gateway_uptime_seconds", &[]) + 60.0
    );
    until("the reload is counted", || {
        (count(&watched.metrics(), "robots_gateway_reloads_total", &[("result", "changed")]) >= 1)
            .then_some(())
    });
    rename_over(&watched.gateway.robots(), "");
    until("a refused file is shown", || {
        let metrics = watched.metrics();
        let refused = count(&metrics, "robots_gateway_reloads_total", &[("result", "refused")]);
        let flag = metrics.value("robots_gateway_robots_refused", &[("site", "default")]);
        (refused >= 1 && flag > 0.5 && info(&metrics).1 == version_of(changed)).then_some(())
    });
}

#[test]
fn losses_of_the_journal_are_shown() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin).arg("--journal").arg("/dev/full"));
    let mut client = watched.gateway.client();
    for _ in 0..20 {
        client.send(&get("/private").by(GPTBOT)).came_from_origin();
    }
    until("the loss is shown", || {
        let dropped =
            count(&watched.metrics(), "robots_gateway_details_dropped_total", &[("from", "journal")]);
        (dropped == 20).then_some(())
    });
}

#[test]
fn a_scrape_is_answered_while_others_are() {
    let origin = Nginx::start();
    let watched = Watched::start(plain(&origin));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let response = Client::to(watched.admin).send(&get("/metrics"));
                    assert_eq!(response.status, 200);
                    ParsedExposition::parse(&response.text()).expect("a whole text");
                }
            });
            scope.spawn(|| {
                let mut client = watched.gateway.client();
                for _ in 0..100 {
                    client.send(&get("/private").by(GPTBOT)).came_from_origin();
                }
            });
        }
    });
    assert_eq!(count(&watched.metrics(), "robots_gateway_requests_total", &[("verdict", "violation")]), 800);
}
