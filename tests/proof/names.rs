//! Forward-confirmed reverse DNS: who is confirmed, who is contradicted, and how often anybody is asked.

use crate::name_server::{NameServer, NameServerManner};
use crate::scene::{asking, becomes, proof, started, verified};
use crate::support::agents::{BROWSERS, CURL, GOOGLEBOT, GPTBOT};
use crate::support::{Nginx, get, until};
use std::time::Duration;

const BAIDU: &str = "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)";

#[test]
fn the_true_googlebot_is_confirmed() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.host_and_name("crawl-66-249-66-1.googlebot.com", "66.249.66.1");
    server.host_and_name("crawl-6.googlebot.com", "2001:4860:4801:10::1");
    let gateway = started(&origin, &server);
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "66.249.66.1"), "unchecked", "nobody waits for it");
    becomes(&gateway, GOOGLEBOT, "66.249.66.1", "confirmed");
    becomes(&gateway, GOOGLEBOT, "2001:4860:4801:10::1", "confirmed");
}

#[test]
fn a_name_that_is_kept_in_a_zone_of_its_own_counts() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    let host = "crawl-66-249-66-77.googlebot.com";
    server.delegated_name("66.249.66.77", "77.64-27.66.249.66.in-addr.arpa", host).host(host, "66.249.66.77");
    server.delegated_name("95.216.227.77", "77.64-27.227.216.95.in-addr.arpa", host);
    let gateway = started(&origin, &server);
    becomes(&gateway, GOOGLEBOT, "66.249.66.77", "confirmed");
    becomes(&gateway, GOOGLEBOT, "95.216.227.77", "contradicted");
}

#[test]
fn a_borrowed_name_is_contradicted() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    // The name says Googlebot; Google's own zone knows nothing of the address.
    server.name("95.216.227.158", "crawl-95-216-227-158.googlebot.com");
    server.name("95.216.227.159", "crawl-66-249-66-1.googlebot.com");
    server.host("crawl-66-249-66-1.googlebot.com", "66.249.66.1");
    server.host_and_name("static.158.example.net", "95.216.227.160");
    server.host_and_name("fakegooglebot.com", "95.216.227.161");
    server.host_and_name("crawl-1.googlebot.com.example.net", "95.216.227.162");
    server.host_and_name("googlebot.com", "95.216.227.163");
    server.name_of_labels("95.216.227.164", &[b"crawl-1.googlebot.com", b"example", b"net"]);
    server.name_of_labels("95.216.227.165", &[b"crawl-1.googlebot", b"com"]);
    let gateway = started(&origin, &server);
    for last in 158..=165 {
        becomes(&gateway, GOOGLEBOT, &format!("95.216.227.{last}"), "contradicted");
    }
    // One without any name at all.
    becomes(&gateway, GOOGLEBOT, "95.216.227.200", "contradicted");
}

#[test]
fn the_same_address_can_confirm_one_crawler_and_contradict_another() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.host_and_name("msnbot-40-77-167-1.search.msn.com", "40.77.167.1");
    let gateway = started(&origin, &server);
    becomes(&gateway, crate::support::agents::BINGBOT, "40.77.167.1", "confirmed");
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "40.77.167.1"), "contradicted");
    assert_eq!(server.asked_about("40.77.167.1"), 1);
}

#[test]
fn where_names_do_not_lead_back_the_name_alone_confirms() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.name("116.179.32.1", "baiduspider-116-179-32-1.crawl.baidu.com");
    let gateway = started(&origin, &server);
    becomes(&gateway, BAIDU, "116.179.32.1", "confirmed");
    becomes(&gateway, BAIDU, "116.179.33.1", "contradicted");
}

#[test]
fn three_names_are_followed_and_no_more() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    for host in ["one.example", "two.example", "three.example", "four.example", "crawl-1.googlebot.com"] {
        server.name("66.249.66.2", host);
    }
    server.host("crawl-1.googlebot.com", "66.249.66.2");
    for number in 1..=9 {
        server.name("66.249.66.3", &format!("crawl-{number}.googlebot.com"));
    }
    let gateway = started(&origin, &server);
    becomes(&gateway, GOOGLEBOT, "66.249.66.2", "confirmed");
    // A dozen borrowed names are no better than one.
    becomes(&gateway, GOOGLEBOT, "66.249.66.3", "contradicted");
    let followed = server.asked().iter().filter(|asked| asked.ends_with(".googlebot.com 1")).count();
    assert_eq!(followed, 1 + 3);
    assert!(!server.asked().iter().any(|asked| asked.contains(".example 1")), "{:?}", server.asked());
}

#[test]
fn an_address_is_asked_about_once_however_many_come_from_it() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    server.answers(NameServerManner::Late(Duration::from_millis(150)));
    server.host_and_name("crawl-1.googlebot.com", "66.249.66.4");
    let gateway = started(&origin, &server);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let mut client = gateway.client();
                for _ in 0..10 {
                    proof(&mut client, GOOGLEBOT, "66.249.66.4");
                }
            });
        }
    });
    becomes(&gateway, GOOGLEBOT, "66.249.66.4", "confirmed");
    assert_eq!(server.asked_about("66.249.66.4"), 1);
    // A new generation of the policy does not forget what is known.
    std::fs::write(gateway.robots(), "User-agent: *\nDisallow: /elsewhere\n").expect("the file is ours");
    until("the new robots.txt is in force", || {
        gateway.send(&get("/robots.txt")).text().contains("/elsewhere").then_some(())
    });
    assert_eq!(proof(&mut gateway.client(), GOOGLEBOT, "66.249.66.4"), "confirmed");
    assert_eq!(server.asked_about("66.249.66.4"), 1);
}

#[test]
fn answers_are_remembered_as_long_as_the_operator_says() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    let lines = format!("resolvers = [\"{}\"]\ncache = \"1d\"\ncache_negative = \"300ms\"", server.address());
    let gateway = verified(&origin, &lines).start();
    becomes(&gateway, GOOGLEBOT, "66.249.66.5", "contradicted");
    // The name was entered late: it is believed as soon as the old answer has had its time.
    server.host_and_name("crawl-1.googlebot.com", "66.249.66.5");
    let mut client = gateway.client();
    until("the new name counts", || {
        (proof(&mut client, GOOGLEBOT, "66.249.66.5") == "confirmed").then_some(())
    });
}

#[test]
fn nobody_asks_about_those_who_need_no_proof() {
    let (origin, server) = (Nginx::start(), NameServer::start());
    let gateway = asking(&origin, server.address(), "1s").set("exempt = [\"66.249.70.0/24\"]").start();
    let mut client = gateway.client();
    for browser in BROWSERS {
        client.send(&get("/public").by(browser).with("X-Forwarded-For", "66.249.66.6")).came_from_origin();
    }
    for (agent, address) in [
        // No catalogue says how they could be proved.
        (CURL, "66.249.66.6"),
        ("SomeUnknownBot/1.0", "66.249.66.6"),
        // Proved by ranges alone.
        (GPTBOT, "66.249.66.6"),
        // No public addresses, or trusted, or exempt.
        (GOOGLEBOT, "10.1.2.3"),
        (GOOGLEBOT, "192.0.2.1"),
        (GOOGLEBOT, "127.0.0.1"),
        (GOOGLEBOT, "fd00::1"),
        (GOOGLEBOT, "66.249.70.1"),
    ] {
        assert_eq!(proof(&mut client, agent, address), "unchecked", "{agent} from {address}");
    }
    becomes(&gateway, GOOGLEBOT, "66.249.66.7", "contradicted");
    assert_eq!(server.asked().len(), 1, "{:?}", server.asked());
}

#[test]
fn who_is_asked_can_be_changed_while_running() {
    let (origin, liar, server) = (Nginx::start(), NameServer::start(), NameServer::start());
    server.host_and_name("crawl-1.googlebot.com", "66.249.66.8");
    let gateway = started(&origin, &liar);
    becomes(&gateway, GOOGLEBOT, "66.249.66.8", "contradicted");
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("the configuration");
    let text = text.replace(&liar.address().to_string(), &server.address().to_string());
    std::fs::write(&path, &text).expect("the file is ours");
    let mut client = gateway.client();
    until("the other name server counts", || {
        (proof(&mut client, GOOGLEBOT, "66.249.66.8") == "confirmed").then_some(())
    });
    let off = text.replace("[verify]", "[verify]\ndns = false");
    std::fs::write(&path, off).expect("the file is ours");
    until("no name server counts", || {
        (proof(&mut client, GOOGLEBOT, "66.249.66.8") == "unchecked").then_some(())
    });
    let asked = server.asked().len();
    assert_eq!(proof(&mut client, GOOGLEBOT, "66.249.66.10"), "unchecked");
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.asked().len(), asked);
}
