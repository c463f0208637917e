//! Hard cases, one by one.

use super::corpus::{identifier, records};
use robots_gateway::identify::ClientKind;

fn expected_client(record: &super::corpus::CorpusRecord) -> ClientKind {
    match record.text("expected_class") {
        "human" => ClientKind::Browser,
        "user-triggered" | "feed" => ClientKind::Fetcher,
        "crawler" if record.flag("star_applies") == Some(false) => ClientKind::SpecialCase,
        word => word.parse().expect("a class of the corpus"),
    }
}

/// Where the answer differs on purpose: (id, what differs, why).
const ARGUED: [(u64, &str, &str); 8] = [
    (106, "star", "a feed reader is a fetcher; its operator does not say that it accepts `*`"),
    (
        108,
        "client",
        "the preview that a person's phone makes of a link: never judged, so never refused, in any mode",
    ),
    (108, "star", "the same"),
    (
        112,
        "tokens",
        "who runs Nutch under a borrowed name is Nutch, as the list of crawlers has it; a group `Googlebot` still counts, after that of Nutch",
    ),
    (136, "tokens", "zgrab can be named in robots.txt like any tool"),
    (137, "tokens", "an app is never judged, so it needs no token"),
    (
        151,
        "tokens",
        "its operator documents none, since it reads no robots.txt; one that names `Feedly` counts all the same",
    ),
    (154, "tokens", "the same"),
];

#[test]
fn every_hard_case_is_right_or_argued() {
    let Some(records) = records("tricky.jsonl") else { return };
    let mut wrong = Vec::new();
    let mut argued = 0;
    for record in &records {
        let identity = identifier().recognise(Some(record.user_agent().as_bytes()));
        let expected = expected_client(record);
        let tokens: Vec<String> =
            record.texts("expected_tokens").iter().map(|t| t.to_ascii_lowercase()).collect();
        let star = record.flag("star_applies");
        let mut differ = Vec::new();
        if identity.client != expected {
            differ.push(("client", format!("{} for {expected}", identity.client)));
        }
        if !identity.tokens.iter().map(|t| t.to_ascii_lowercase()).eq(tokens.iter().cloned()) {
            differ.push(("tokens", format!("{:?} for {tokens:?}", identity.tokens)));
        }
        if expected.is_judged() && star.is_some_and(|star| star != identity.star) {
            differ.push(("star", format!("{}", identity.star)));
        }
        for (what, how) in differ {
            let id = record.number("id");
            if ARGUED.iter().any(|(known, aspect, _)| *known == id && *aspect == what) {
                argued += 1;
            } else {
                wrong.push(format!("{id} {what}: {how}: {:.120}", record.user_agent()));
            }
        }
    }
    println!("hard cases: {}, {argued} differences argued, {} wrong", records.len(), wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_preview_of_a_phone_is_never_judged() {
    let header = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) \
                  Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0";
    let identity = identifier().recognise(Some(header.as_bytes()));
    assert!(!identity.is_judged());
    assert_eq!(identity.crawler.as_deref(), Some("iMessage preview"));
    for own in ["facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", "Twitterbot/1.0"]
    {
        assert_eq!(identifier().recognise(Some(own.as_bytes())).client, ClientKind::Crawler);
    }
}
