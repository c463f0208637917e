//! `gatewayctl explain --address`: the same proof as the gateway's, with its steps.

use crate::name_server::{NameServer, NameServerManner};
use crate::scene::ROBOTS;
use crate::support::Folder;
use crate::support::agents::{CHROME, GOOGLEBOT, GPTBOT};
use crate::support::command::ctl;
use serde_json::Value;

struct ExplainScene {
    folder: Folder,
    server: NameServer,
}

impl ExplainScene {
    fn new() -> Self {
        let (folder, server) = (Folder::new(), NameServer::start());
        server.host_and_name("crawl-66-249-66-1.googlebot.com", "66.249.66.1");
        server.name("95.216.227.158", "crawl-95-216-227-158.googlebot.com");
        folder.write("robots.txt", ROBOTS);
        let config = format!(
            "state_dir = \"state\"\n[verify]\nresolvers = [\"{}\"]\ntimeout = \"300ms\"\n\
             [[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\ncontradicted = \"refuse\"\n",
            server.address()
        );
        folder.write("gateway.toml", config);
        Self { folder, server }
    }

    fn explain(&self, agent: &str, address: &str) -> Value {
        self.explain_with(&[], agent, address)
    }

    fn explain_with(&self, options: &[&str], agent: &str, address: &str) -> Value {
        let config = self.folder.join("gateway.toml");
        let config = config.to_str().expect("UTF-8");
        let question = ["--user-agent", agent, "--target", "/public", "--address", address];
        let verb = ["explain", "--config", config, "--format", "json"];
        ctl([&verb[..], options, &question].concat()).exits(0).json()
    }
}

#[track_caller]
fn has_step(answer: &Value, part: &str) {
    let steps = answer["steps"].as_array().expect("steps");
    assert!(steps.iter().any(|step| step.as_str().is_some_and(|step| step.contains(part))), "{answer:#}");
}

#[test]
fn every_step_is_told() {
    let scene = ExplainScene::new();
    let confirmed = scene.explain(GOOGLEBOT, "66.249.66.1");
    assert_eq!(confirmed["proof"], "confirmed");
    has_step(&confirmed, "66.249.66.1 is called crawl-66-249-66-1.googlebot.com, which leads back to it");
    has_step(&confirmed, "proof: confirmed");
    let spoof = scene.explain(GOOGLEBOT, "95.216.227.158");
    assert_eq!((&spoof["proof"], &spoof["action"]["enforce"]), (&"contradicted".into(), &"refused".into()));
    has_step(&spoof, "which does not lead back to it");
    let nameless = scene.explain(GOOGLEBOT, "95.216.227.159");
    has_step(&nameless, "95.216.227.159 has no name");
    scene.server.answers(NameServerManner::Silent);
    let outage = scene.explain(GOOGLEBOT, "66.249.66.1");
    assert_eq!((&outage["proof"], &outage["action"]["enforce"]), (&"unchecked".into(), &"forwarded".into()));
    has_step(&outage, "no name server answered");
}

#[test]
fn what_cannot_be_proved_is_told_too() {
    let scene = ExplainScene::new();
    let private = scene.explain(GOOGLEBOT, "10.0.0.1");
    assert_eq!(private["proof"], "unchecked");
    has_step(&private, "10.0.0.1 is no public address");
    let unknown = scene.explain("SomeUnknownBot/1.0", "66.249.66.1");
    assert_eq!(unknown["proof"], "unchecked");
    has_step(&unknown, "nothing is known by which 66.249.66.1 could prove this client");
    let person = scene.explain(CHROME, "66.249.66.1");
    assert_eq!(person["proof"], "unchecked");
    assert_eq!(scene.server.asked(), Vec::<String>::new());
}

#[test]
fn ranges_are_told_with_the_network_that_holds_the_address() {
    let scene = ExplainScene::new();
    let ranges = scene.folder.join("state/ranges");
    std::fs::create_dir_all(&ranges).expect("a folder");
    let name = "developers.google.com_static_crawling_ipranges_common-crawlers.json";
    std::fs::write(ranges.join(name), r#"{"prefixes":["66.249.0.0/16","66.249.64.0/19"]}"#).expect("ours");
    let confirmed = scene.explain(GOOGLEBOT, "66.249.70.1");
    assert_eq!(confirmed["proof"], "confirmed");
    has_step(&confirmed, "66.249.70.1 lies in 66.249.64.0/19 of developers.google.com");
    assert_eq!(scene.server.asked(), Vec::<String>::new());
    let spoof = scene.explain(GOOGLEBOT, "95.216.227.158");
    has_step(&spoof, "lies in none of the 2 ranges");
    assert_eq!(spoof["proof"], "contradicted");
}

#[test]
fn another_state_folder_has_its_own_ranges() {
    let scene = ExplainScene::new();
    let ranges = scene.folder.join("elsewhere/ranges");
    std::fs::create_dir_all(&ranges).expect("a folder");
    std::fs::write(ranges.join("openai.com_gptbot.json"), "20.171.206.0/24\n").expect("ours");
    let elsewhere = scene.folder.join("elsewhere");
    let options = ["--state-dir", elsewhere.to_str().expect("UTF-8")];
    let asked = |options: &[&str]| scene.explain_with(options, GPTBOT, "20.171.206.7")["proof"].clone();
    assert_eq!((asked(&[]), asked(&options)), ("unchecked".into(), "confirmed".into()));
}
