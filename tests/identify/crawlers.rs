//! Automated clients: how many are recognised, with and without their names,
//! and whether the right group is looked up for them.

use super::corpus::{CorpusRecord, identifier, percent, records};
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::{Catalogue, ClientKind, Identifier};
use std::sync::Arc;

fn automated(identifier: &Identifier, records: &[CorpusRecord]) -> usize {
    let hit = |record: &&CorpusRecord| {
        identifier.recognise_uncached(Some(record.user_agent().as_bytes())).client.is_automated()
    };
    records.iter().filter(hit).count()
}

#[test]
fn ninety_nine_in_a_hundred_are_automated() {
    let Some(records) = records("bots.jsonl") else { return };
    let found = automated(identifier(), &records);
    println!(
        "automated clients: {found} of {} recognised ({:.2} %)",
        records.len(),
        percent(found, records.len())
    );
    assert!(percent(found, records.len()) >= 99.0);
}

/// No maker calls a device by the token of a crawler, so that such a word in the place of a model is the crawler.
#[test]
fn the_token_of_a_crawler_is_no_model() {
    let (mut tried, mut people) = (0, Vec::new());
    for crawler in bundled().catalogue.crawlers() {
        let is_crawler = matches!(crawler.client, ClientKind::Crawler | ClientKind::SpecialCase);
        let Some(token) = crawler.tokens.first().filter(|_| is_crawler) else { continue };
        // Not where the sign needs a version or the start of the header, or where another entry goes first.
        let own = |header: &str| {
            let identity = identifier().recognise_uncached(Some(header.as_bytes()));
            identity.crawler == Some(Arc::clone(&crawler.name))
        };
        if !own(&format!("Mozilla/5.0 (X11; {token}) AppleWebKit/537.36")) {
            continue;
        }
        tried += 1;
        for model in [format!("{token} Build/UP1A"), token.clone().into(), format!("{token}; wv")] {
            let header = format!(
                "Mozilla/5.0 (Linux; Android 14; {model}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36"
            );
            people.extend((!own(&header)).then_some(header));
        }
    }
    println!("{tried} tokens in the place of a model: {} not recognised {people:#?}", people.len());
    assert!(tried > 300 && people.is_empty());
}

/// A whole browser's header with one more product: only the name in the catalogue tells it from a person's.
#[test]
fn products_of_monitors_behind_a_browser_are_known() {
    let chrome = "AppleWebKit/537.36 (KHTML, like Gecko)";
    for (rest, name) in [
        (
            "Chrome/130.0.0.0 Safari/537.36 CloudWatchSynthetics/arn:aws:synthetics:eu-1:1:canary:x",
            "CloudWatch Synthetics",
        ),
        ("Chrome/130.0.0.0 Safari/537.36 Elastic/Synthetics", "Elastic Synthetics"),
        ("SolarWindsTransactionBot/1.0 Safari/537.36 Chrome/134.0.0.0", "SolarWinds"),
        ("YLT Chrome/85.0.4183.121 Safari/537.36", "Yellow Lab Tools"),
        ("Version/6.0 Safari/8536.25 mixed-content-scan", "mixed-content-scan"),
    ] {
        let header = format!("Mozilla/5.0 (X11; Linux x86_64) {chrome} {rest}");
        let identity = identifier().recognise_uncached(Some(header.as_bytes()));
        assert_eq!(identity.crawler.as_deref(), Some(name), "{header}");
    }
}

/// Leaves out a third of the entries at a time, seeded: what recognition is
/// worth on names nobody wrote down yet.
#[test]
fn without_a_third_of_the_names() {
    let Some(records) = records("bots.jsonl") else { return };
    let mut state = 9309_u64;
    for round in 0..3 {
        let mut knowledge = bundled();
        let mut names = knowledge.catalogue.crawlers().to_vec();
        let all = names.len();
        names.retain(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            !(state >> 33).is_multiple_of(3)
        });
        let left = names.len();
        knowledge.catalogue = Catalogue::new(names, Vec::new());
        let found = automated(&Identifier::new(knowledge).expect("compiles"), &records);
        println!("round {round}: {left} of {all} names, {:.2} % recognised", percent(found, records.len()));
        assert!(left < all * 3 / 4 && percent(found, records.len()) >= 95.0);
    }
}

#[test]
fn without_any_name() {
    let Some(records) = records("bots.jsonl") else { return };
    let mut knowledge = bundled();
    knowledge.catalogue = Catalogue::default();
    let found = automated(&Identifier::new(knowledge).expect("compiles"), &records);
    println!("no names at all: {:.2} % recognised", percent(found, records.len()));
    assert!(percent(found, records.len()) >= 90.0);
}

/// Labels of the corpus that a look at the header refutes: (label, what the
/// header holds, why). They count as wrong, and no others may be wrong.
const DISPUTED: [(&str, &str, &str); 6] = [
    ("Exabot", "Alexabot/", "another crawler whose name ends in the same letters"),
    ("OnCrawl", "IonCrawl", "another crawler whose name ends in the same letters"),
    ("OnCrawl", "OptimizationCrawler/", "another crawler whose name holds the same letters"),
    ("OnCrawl", "commoncrawl.org/", "a host name that holds the same letters; the product is Nutch"),
    (
        "Mediapartners-Google",
        "(Following Mediapartners-Google)",
        "Daumoa, which has the other's group, not its star",
    ),
    ("facebookexternalhit", "Facebot Twitterbot", "the preview of a person's phone: never judged"),
];

#[test]
fn the_documented_group_is_looked_up_first() {
    let Some(records) = records("bots.jsonl") else { return };
    let (mut seen, mut right, mut agree, mut disputed) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for record in records.iter().filter(|record| record.text("token_basis") == "doc") {
        let identity = identifier().recognise(Some(record.user_agent().as_bytes()));
        let first = identity.tokens.first().map(|token| token.to_ascii_lowercase());
        let expected = record.texts("tokens").first().map(|token| token.to_ascii_lowercase());
        let token = first == expected;
        let star = record.flag("star_applies") == Some(identity.star);
        seen += 1;
        right += usize::from(token);
        agree += usize::from(star);
        if !(token && star) {
            let label = record.text("bot_name");
            let known =
                DISPUTED.iter().any(|(name, part, _)| *name == label && record.user_agent().contains(part));
            disputed += usize::from(known);
            if !known {
                wrong.push(format!("{first:?} {} for {label}: {}", identity.star, record.user_agent()));
            }
        }
    }
    println!(
        "documented tokens: {right} of {seen} first ({:.2} %), star {agree} ({:.2} %); {disputed} labels disputed, {} wrong",
        percent(right, seen),
        percent(agree, seen),
        wrong.len()
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(percent(right, seen) >= 99.0 && percent(agree, seen) >= 99.0);
}

#[test]
fn kinds_are_as_the_operators_say() {
    let identifier = identifier();
    for (header, client, name) in [
        ("Googlebot-Image/1.0", ClientKind::Crawler, "Googlebot-Image"),
        ("AdsBot-Google (+http://www.google.com/adsbot.html)", ClientKind::SpecialCase, "AdsBot-Google"),
        (
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot",
            ClientKind::Fetcher,
            "ChatGPT-User",
        ),
        (
            "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
            ClientKind::Crawler,
            "bingbot",
        ),
        (
            "Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)",
            ClientKind::Crawler,
            "Baiduspider-render",
        ),
        (
            "Mozilla/5.0 (compatible; Let's Encrypt validation server; +https://www.letsencrypt.org)",
            ClientKind::Monitor,
            "Let's Encrypt validation server",
        ),
        ("Stripe/1.0 (+https://stripe.com/docs/webhooks)", ClientKind::Monitor, "Stripe"),
        ("GitHub-Hookshot/044aadd", ClientKind::Monitor, "GitHub Hookshot"),
        ("GitLab/17.4.0-ee", ClientKind::Monitor, "GitLab"),
        ("PayPal IPN ( https://www.paypal.com/ipn )", ClientKind::Monitor, "PayPal IPN"),
        ("kube-probe/1.31", ClientKind::Monitor, "kube-probe"),
        ("curl/8.5.0", ClientKind::Tool, "curl"),
        (
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/126.0.0.0 Safari/537.36",
            ClientKind::Tool,
            "HeadlessChrome",
        ),
        (
            "Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)",
            ClientKind::Fetcher,
            "Feedly",
        ),
    ] {
        let identity = identifier.recognise(Some(header.as_bytes()));
        assert_eq!((identity.client, identity.crawler.as_deref()), (client, Some(name)), "{header}");
    }
}
