//! What becomes of a client that borrows a name: `contradicted = "refuse" | "audit" | "ignore"`.

use crate::name_server::NameServer;
use crate::scene::{asking, becomes};
use crate::support::agents::GOOGLEBOT;
use crate::support::{Daemon, Nginx, get};
use serde_json::Value;

const TRUE: &str = "66.249.66.1";
const FALSE: &str = "95.216.227.158";

struct ContradictedScene {
    gateway: Daemon,
    _origin: Nginx,
}

impl ContradictedScene {
    /// A gateway that knows of both addresses already.
    fn new(mode: &str, contradicted: &str) -> Self {
        let (origin, server) = (Nginx::start(), NameServer::start());
        server.host_and_name("crawl-66-249-66-1.googlebot.com", TRUE);
        let gateway = asking(&origin, server.address(), "1s")
            .in_mode(mode)
            .site(&format!("contradicted = \"{contradicted}\""))
            .table("[crawlers.Googlebot]\naction = { redirect = \"https://licence.example/\" }")
            .start();
        // While it is not refused, the origin tells.
        becomes(&gateway, GOOGLEBOT, TRUE, "confirmed");
        let mut client = gateway.client();
        crate::support::until("the false one is known", || {
            let response = client.send(&get("/public").by(GOOGLEBOT).with("X-Forwarded-For", FALSE));
            (response.status == 403 || response.text().contains("proof: contradicted")).then_some(())
        });
        Self { gateway, _origin: origin }
    }

    fn status(&self, address: &str, target: &str) -> u16 {
        self.gateway.send(&get(target).by(GOOGLEBOT).with("X-Forwarded-For", address)).status
    }

    /// The one event of a target. It is written behind the answer, so that of a later request on another
    /// connection may come first.
    fn event(&self, target: &str) -> Value {
        let written = self.gateway.journal().event_of(target);
        if self.events(target).is_empty() {
            return written;
        }
        let events = self.events(target);
        assert_eq!(events.len(), 1, "{events:#?}");
        events.into_iter().next().expect("one")
    }

    fn events(&self, target: &str) -> Vec<Value> {
        // A violation is always written, so what came before it is too.
        let last = "/private/last";
        self.gateway.send(&get(last).by("GPTBot/1.2"));
        let events = self.gateway.journal().events_before(last);
        events.into_iter().filter(|event| event["target"] == target).collect()
    }
}

#[test]
fn audited_it_is_recorded_and_judged_like_whom_it_claims_to_be() {
    let scene = ContradictedScene::new("enforce", "audit");
    assert_eq!(scene.status(FALSE, "/public/a"), 200);
    assert_eq!(scene.status(FALSE, "/private/a"), 403);
    assert_eq!(
        scene.status(TRUE, "/private/b"),
        302,
        "an action answers the crawler, and nobody who borrows its name"
    );
    let spoof = scene.event("/public/a");
    assert_eq!((&spoof["event"], &spoof["proof"]), (&"spoof".into(), &"contradicted".into()), "{spoof}");
    assert_eq!((&spoof["action"], &spoof["crawler"]), (&"forwarded".into(), &"Googlebot".into()), "{spoof}");
    let violation = scene.event("/private/a");
    assert_eq!(violation["event"], "violation", "{violation}");
    assert_eq!((&violation["proof"], &violation["action"]), (&"contradicted".into(), &"refused".into()));
    let by_the_true_one = scene.event("/private/b");
    assert_eq!(
        (&by_the_true_one["event"], &by_the_true_one["proof"]),
        (&"violation".into(), &"confirmed".into())
    );
}

#[test]
fn refused_it_gets_nothing_but_robots_txt_and_the_true_one_gets_everything() {
    let scene = ContradictedScene::new("enforce", "refuse");
    assert_eq!(scene.status(FALSE, "/public/a"), 403);
    let refusal = scene.gateway.send(&get("/public/b").by(GOOGLEBOT).with("X-Forwarded-For", FALSE)).text();
    assert!(refusal.starts_with("error: this address is not one of the crawler's\n"), "{refusal}");
    assert!(!refusal.contains("group:") && !refusal.contains("rule:"), "{refusal}");
    assert_eq!(scene.status(FALSE, "/robots.txt"), 200);
    assert_eq!(scene.status(FALSE, "/.well-known/acme-challenge/x"), 200);
    assert_eq!(scene.status(TRUE, "/public/c"), 200);
    let spoof = scene.event("/public/a");
    assert_eq!((&spoof["event"], &spoof["action"]), (&"spoof".into(), &"refused".into()), "{spoof}");
    assert_eq!(spoof["status"], 403);
    assert_eq!(scene.events("/public/c"), Vec::<Value>::new());
}

#[test]
fn in_audit_mode_nobody_is_refused() {
    let scene = ContradictedScene::new("audit", "refuse");
    assert_eq!(scene.status(FALSE, "/public/a"), 200);
    assert_eq!(scene.status(FALSE, "/private/a"), 200);
    assert_eq!(scene.event("/public/a")["event"], "spoof");
    assert_eq!(scene.event("/private/a")["action"], "forwarded");
}

#[test]
fn ignored_it_is_not_worth_a_line_of_its_own() {
    let scene = ContradictedScene::new("enforce", "ignore");
    assert_eq!(scene.status(FALSE, "/public/a"), 200);
    assert_eq!(scene.status(FALSE, "/private/a"), 403);
    assert_eq!(scene.events("/public/a"), Vec::<Value>::new());
    // Counts are split by proof whatever is done about it.
    assert_eq!(scene.event("/private/a")["proof"], "contradicted");
}

#[test]
fn what_a_client_writes_to_the_left_of_its_address_does_not_change_the_proof() {
    let scene = ContradictedScene::new("audit", "audit");
    let mut client = scene.gateway.client();
    for before in ["junk", "192.0.2.1", TRUE, "", "\"", "for=a", "10.0.0.1", "127.0.0.1"] {
        let way = format!("{before}, {FALSE}");
        assert_eq!(crate::scene::proof(&mut client, GOOGLEBOT, &way), "contradicted", "{way}");
    }
}
