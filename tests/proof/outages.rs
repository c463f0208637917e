//! A name server that does not answer, or not the question: nobody is accused, and nobody waits.

use crate::name_server::{NameServer, NameServerManner};
use crate::scene::{asking, becomes, proof, stays_unchecked, verified};
use crate::support::agents::GOOGLEBOT;
use crate::support::{Daemon, Nginx, until};
use std::time::{Duration, Instant};

/// Of a true Googlebot and of a false one nothing is said, before the question is given up and after.
#[track_caller]
fn says_nothing(gateway: &Daemon, server: &NameServer) {
    for address in ["66.249.66.1", "95.216.227.158", "95.216.227.159"] {
        stays_unchecked(gateway, GOOGLEBOT, address, Duration::from_millis(900));
        assert!(server.asked_about(address) > 0, "{address} was not asked about");
    }
}

/// A gateway with little patience, and a name server that knows one true crawler and one spoofed name.
fn scene(manner: NameServerManner) -> (Nginx, NameServer, Daemon) {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.host_and_name("crawl-66-249-66-1.googlebot.com", "66.249.66.1");
    server.name("95.216.227.158", "crawl-95-216-227-158.googlebot.com");
    server.answers(manner);
    let gateway = asking(&origin, server.address(), "300ms").start();
    (origin, server, gateway)
}

#[test]
fn stopped() {
    let origin = Nginx::start();
    let gateway = asking(&origin, NameServer::stopped(), "300ms").start();
    stays_unchecked(&gateway, GOOGLEBOT, "66.249.66.1", Duration::from_millis(900));
    stays_unchecked(&gateway, GOOGLEBOT, "95.216.227.158", Duration::from_millis(900));
}

#[test]
fn silent() {
    let (_origin, server, gateway) = scene(NameServerManner::Silent);
    says_nothing(&gateway, &server);
}

#[test]
fn slow() {
    let (_origin, server, gateway) = scene(NameServerManner::Late(Duration::from_millis(700)));
    says_nothing(&gateway, &server);
}

#[test]
fn failing_and_refusing() {
    for code in [1, 2, 4, 5, 9] {
        let (_origin, server, gateway) = scene(NameServerManner::Code(code));
        says_nothing(&gateway, &server);
    }
}

#[test]
fn truncating() {
    let (_origin, server, gateway) = scene(NameServerManner::Truncating);
    says_nothing(&gateway, &server);
}

#[test]
fn a_long_answer_is_asked_for_again_over_tcp() {
    let (_origin, _server, gateway) = scene(NameServerManner::TruncatingUdp);
    becomes(&gateway, GOOGLEBOT, "66.249.66.1", "confirmed");
    becomes(&gateway, GOOGLEBOT, "95.216.227.158", "contradicted");
}

#[test]
fn lying() {
    for manner in [
        NameServerManner::WrongId,
        NameServerManner::WrongQuestion,
        NameServerManner::Hollow,
        NameServerManner::Garbage,
    ] {
        let (_origin, server, gateway) = scene(manner);
        says_nothing(&gateway, &server);
        // Whoever can send answers cannot fill the log.
        assert!(gateway.log.text().lines().count() < 12, "{}", gateway.log.text());
    }
}

#[test]
fn failing_when_it_is_asked_whether_a_name_leads_back() {
    for manner in [
        NameServerManner::Silent,
        NameServerManner::Code(2),
        NameServerManner::Truncating,
        NameServerManner::WrongId,
    ] {
        let (_origin, server, gateway) = scene(NameServerManner::Honest);
        server.answers_for_addresses(manner);
        for address in ["66.249.66.1", "95.216.227.158"] {
            stays_unchecked(&gateway, GOOGLEBOT, address, Duration::from_millis(900));
        }
        // This one needs no such question.
        becomes(&gateway, GOOGLEBOT, "95.216.227.159", "contradicted");
    }
}

#[test]
fn what_is_known_outlives_an_outage_that_is_told_of_once() {
    let (_origin, server, gateway) = scene(NameServerManner::Honest);
    becomes(&gateway, GOOGLEBOT, "66.249.66.1", "confirmed");
    becomes(&gateway, GOOGLEBOT, "95.216.227.158", "contradicted");
    server.answers(NameServerManner::Silent);
    for last in 1..=20 {
        assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, &format!("95.{last}.228.1")), "unchecked");
    }
    let (mut client, mut last) = (gateway.client(), 0);
    let mut ask = |third: u32| {
        last += 1;
        let address = format!("95.216.{}.{}", third + last / 250, 1 + last % 250);
        proof(&mut client, GOOGLEBOT, &address)
    };
    until("the outage is told of", || {
        assert_eq!(ask(0), "unchecked");
        gateway.log.text().contains("name servers do not answer").then_some(())
    });
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "66.249.66.1"), "confirmed");
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "95.216.227.158"), "contradicted");
    server.answers(NameServerManner::Honest);
    // What is asked while the doubt lasts is not asked again for a minute, so each question is about another address.
    until("they are believed again", || {
        ask(100);
        gateway.log.text().contains("name servers answer correctly again").then_some(())
    });
    becomes(&gateway, GOOGLEBOT, "95.216.229.1", "contradicted");
    assert_eq!(gateway.log.text().matches("name servers do not answer").count(), 1);
}

/// Time of each of `count` requests, each from another address, in ascending order.
fn times(gateway: &Daemon, count: u32) -> Vec<Duration> {
    let mut client = gateway.client();
    let mut times: Vec<Duration> = (0..count)
        .map(|number| {
            // A connection serves only so many requests.
            if number % 500 == 499 {
                client = gateway.client();
            }
            let address = format!("95.{}.{}.1", 100 + number / 256, number % 256);
            let start = Instant::now();
            assert_eq!(proof(&mut client, GOOGLEBOT, &address), "unchecked");
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

#[test]
fn no_request_waits_for_a_name_server() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.answers(NameServerManner::Silent);
    let hanging = asking(&origin, server.address(), "10s").start();
    let without = verified(&origin, "dns = false").start();
    // More than the queue holds, so that a full one is seen too.
    let count = 1_500;
    let (with, without) = (times(&hanging, count), times(&without, count));
    until("the name server was asked", || (server.asked().len() >= 16).then_some(()));
    let at = |times: &[Duration], share: usize| times[(times.len() - 1) * share / 100];
    println!(
        "{count} requests while the name server hangs: median {:?}, 99 % {:?}, longest {:?}; without it: {:?}, {:?}, {:?}",
        at(&with, 50),
        at(&with, 99),
        at(&with, 100),
        at(&without, 50),
        at(&without, 99),
        at(&without, 100),
    );
    assert!(at(&with, 100) < Duration::from_secs(2), "the longest took {:?}", at(&with, 100));
    assert!(at(&with, 50) < at(&without, 50) * 3 + Duration::from_millis(2), "{:?}", at(&with, 50));
}

/// A resolver without a way to the internet may say of every name that it does not exist.
#[test]
fn who_denies_everything_convicts_nobody_and_that_is_told() {
    let (_origin, server, gateway) = scene(NameServerManner::Code(3));
    says_nothing(&gateway, &server);
    let status = gateway.ctl(&["status"]).exits(0).stdout;
    assert!(status.contains("do not know that 66.249.64.1 is Googlebot's"), "{status}");
    let json = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert!(json["resolver_error"].as_str().is_some_and(|error| error.contains("do not know")), "{json}");
    gateway.log.line_with(&["do not know that 66.249.64.1 is Googlebot's"]);
    server.answers(NameServerManner::Honest);
    // What is asked while the doubt lasts is not asked again for a minute, so each question is about another address.
    let (mut client, mut last) = (gateway.client(), 0);
    until("the name servers are believed again", || {
        last += 1;
        proof(&mut client, GOOGLEBOT, &format!("95.216.{}.{}", 228 + last / 250, 1 + last % 250));
        let json = gateway.ctl(&["status", "--format", "json"]).exits(0).json();
        json["resolver_error"].is_null().then_some(())
    });
    becomes(&gateway, GOOGLEBOT, "95.216.227.160", "contradicted");
}
