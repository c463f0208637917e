//! `gatewayctl crawlers`: the catalogue, and how a header is recognised.

use crate::support::Folder;
use crate::support::agents::{CHROME, GOOGLEBOT_IMAGE};
use crate::support::command::ctl;
use serde_json::json;

#[test]
fn the_catalogue_is_shown_to_programs() {
    let answer = ctl(["crawlers", "--format", "json"]).exits(0).json();
    let crawlers = answer["crawlers"].as_array().expect("crawlers");
    assert!(crawlers.len() >= 300, "{}", crawlers.len());
    let named = |name: &str| crawlers.iter().find(|crawler| crawler["name"] == name).expect("it is known");
    let googlebot = named("Googlebot");
    assert_eq!(googlebot["verify"]["rdns"], json!([".googlebot.com"]));
    assert_eq!((&googlebot["verify"]["forward"], &googlebot["star"]), (&true.into(), &true.into()));
    assert_eq!(named("Baiduspider")["verify"]["forward"], false);
    assert_eq!(named("GPTBot")["verify"]["ranges"], json!(["https://openai.com/gptbot.json"]));
    let control = answer["control_tokens"].as_array().expect("control tokens");
    assert!(control.iter().any(|control| control["token"] == "Google-Extended"));
}

#[test]
fn the_catalogue_is_shown_to_people() {
    let text = ctl(["crawlers"]).exits(0).stdout;
    let line = text.lines().find(|line| line.starts_with("Googlebot-Image ")).expect("it is known");
    assert!(line.ends_with("Googlebot-Image, Googlebot, *") && line.contains("ranges,dns"), "{line}");
    assert!(text.contains("Google-Extended"), "control tokens");
}

#[test]
fn a_header_is_explained_step_by_step() {
    let answer = ctl(["crawlers", GOOGLEBOT_IMAGE, "--format", "json"]).exits(0).json();
    assert_eq!((&answer["client"], &answer["crawler"]), (&"crawler".into(), &"Googlebot-Image".into()));
    assert_eq!(answer["tokens"], json!(["Googlebot-Image", "Googlebot"]));
    assert_eq!(answer["basis"], "catalogue");
    assert!(answer["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    assert_eq!((&answer["operator"], &answer["obeys"]), (&"Google".into(), &"yes".into()));
    assert_eq!(answer["proof"], json!(["ranges", "dns"]));
    assert_eq!(answer["decided_by"], "`Googlebot-Image` is a sign of Googlebot-Image");
    let text = ctl(["crawlers", GOOGLEBOT_IMAGE]).exits(0).stdout;
    for line in ["operated by: Google", "in order: Googlebot-Image, Googlebot, *", "proved by: ranges,dns"] {
        assert!(text.contains(line), "{text}");
    }
    let person = ctl(["crawlers", CHROME]).exits(0).stdout;
    assert!(person.contains("never judged by robots.txt"), "{person}");
    let odd = ctl(["crawlers", "Bot\u{1b}[31m/1.0"]).exits(0).stdout;
    assert!(!odd.contains('\u{1b}'), "{odd:?}");
}

#[test]
fn an_own_catalogue_counts() {
    let folder = Folder::new();
    folder.write("own.toml", "[[crawler]]\nname = \"OurProbe\"\nclient = \"monitor\"\n");
    let text =
        "catalogue = \"own.toml\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"absent.txt\"\n";
    let config = folder.write("gateway.toml", text);
    let config = config.to_str().expect("UTF-8");
    // What else is wrong with the configuration's files does not matter here.
    let answer = ctl(["crawlers", "OurProbe/1.0", "--config", config, "--format", "json"]).exits(0).json();
    assert_eq!((&answer["client"], &answer["crawler"]), (&"monitor".into(), &"OurProbe".into()));
    folder.write("own.toml", "[[crawler]]\nname = 7\n");
    let bad = ctl(["crawlers", "--config", config]).exits(2);
    assert!(bad.stderr.contains("own.toml:2:"), "{}", bad.stderr);
}
