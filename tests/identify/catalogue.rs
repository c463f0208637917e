//! The form of the bundled data, entry by entry.

use super::corpus::records;
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::{
    Catalogue, ClientKind, Crawler, Identifier, Obeys, RecognitionData, TokenBasis, token_is_legal,
};
use robots_gateway::robots::{ParseLimits, Robots};
use std::collections::HashMap;
use strum::VariantArray as _;

fn catalogue() -> Catalogue {
    bundled().catalogue
}

#[test]
fn every_entry_is_well_formed() {
    let catalogue = catalogue();
    assert!(catalogue.crawlers().len() >= 400, "{}", catalogue.crawlers().len());
    for crawler in catalogue.crawlers() {
        let name = &crawler.name;
        assert!(!name.is_empty() && name.len() <= 64 && name.trim() == &**name, "{name}");
        assert!(crawler.tokens.iter().all(|token| token_is_legal(token)), "{name}");
        // Who signs may come with a browser's header only.
        assert!(!crawler.signs.is_empty() || crawler.verify.agent.is_some(), "{name} has no sign");
        assert!(!matches!(crawler.client, ClientKind::Browser | ClientKind::Unnamed), "{name}");
        let ignores_star =
            matches!(crawler.client, ClientKind::SpecialCase | ClientKind::Monitor | ClientKind::App);
        assert!(!(ignores_star && crawler.star), "{name}");
        assert!(
            crawler.client != ClientKind::Crawler || crawler.star,
            "{name}: a crawler without `*` is a special case"
        );
        assert!(crawler.checked.is_none() || crawler.docs.is_some(), "{name}: checked against what?");
        for link in crawler.docs.iter().chain(&crawler.verify.ranges) {
            assert!(link.starts_with("https://") || link.starts_with("http://"), "{name}: {link}");
        }
        assert!(
            crawler.verify.rdns.iter().all(|suffix| suffix.starts_with('.') && !suffix.ends_with('.')),
            "{name}"
        );
    }
}

#[test]
fn no_two_entries_share_a_sign() {
    let mut owners: HashMap<String, String> = HashMap::new();
    for crawler in catalogue().crawlers() {
        for sign in &crawler.signs {
            let other = owners.insert(sign.text().to_ascii_lowercase(), crawler.name.to_string());
            assert!(other.is_none_or(|other| *other == *crawler.name), "{sign}: {}", crawler.name);
        }
    }
}

#[test]
fn an_entry_is_found_by_its_own_signs() {
    let identifier = Identifier::new(bundled()).expect("compiles");
    for crawler in identifier.catalogue().crawlers() {
        for sign in &crawler.signs {
            let header = format!("Mozilla/5.0 (compatible; {} 1.0)", sign.text());
            let found = identifier.recognise(Some(header.as_bytes()));
            let name = found.crawler.as_deref().unwrap_or_default();
            assert_eq!(name, &*crawler.name, "{header}");
        }
    }
}

#[test]
fn caches_are_shared_with_entries_that_exist() {
    let catalogue = catalogue();
    for crawler in catalogue.crawlers() {
        for other in &crawler.shares_cache_with {
            assert!(catalogue.get(other).is_some(), "{} shares with {other}", crawler.name);
        }
    }
}

#[test]
fn control_tokens_are_no_entries() {
    let catalogue = catalogue();
    assert!(
        catalogue.control_token("google-extended").is_some()
            && catalogue.control_token("Applebot-Extended").is_some()
    );
    for control in catalogue.control_tokens() {
        assert!(
            catalogue.get(&control.token).is_none() && catalogue.by_token(&control.token).is_none(),
            "{}",
            control.token
        );
    }
}

fn entry<'c>(catalogue: &'c Catalogue, name: &str) -> &'c Crawler {
    catalogue.get(name).unwrap_or_else(|| panic!("{name} is missing"))
}

#[test]
fn the_major_crawlers_have_their_documented_tokens() {
    let catalogue = catalogue();
    for (name, tokens) in [
        ("Googlebot", &["Googlebot"][..]),
        ("Googlebot-Image", &["Googlebot-Image", "Googlebot"]),
        ("Googlebot-Video", &["Googlebot-Video", "Googlebot"]),
        ("Google-InspectionTool", &["Google-InspectionTool", "Googlebot"]),
        ("GoogleOther-Image", &["GoogleOther-Image", "GoogleOther"]),
        ("Storebot-Google", &["Storebot-Google"]),
        ("AdsBot-Google-Mobile", &["AdsBot-Google-Mobile"]),
        ("Mediapartners-Google", &["Mediapartners-Google"]),
        ("bingbot", &["bingbot", "msnbot"]),
        ("GPTBot", &["GPTBot"]),
        ("OAI-SearchBot", &["OAI-SearchBot"]),
        ("ChatGPT-User", &["ChatGPT-User"]),
        ("ClaudeBot", &["ClaudeBot"]),
        ("Claude-SearchBot", &["Claude-SearchBot"]),
        ("Claude-User", &["Claude-User"]),
        ("PerplexityBot", &["PerplexityBot"]),
        ("Applebot", &["Applebot", "Googlebot"]),
        ("Amazonbot", &["Amazonbot"]),
        ("Amzn-SearchBot", &["Amzn-SearchBot"]),
        ("meta-externalagent", &["meta-externalagent"]),
        ("facebookexternalhit", &["facebookexternalhit"]),
        ("CCBot", &["CCBot"]),
        ("DuckDuckBot", &["DuckDuckBot"]),
        ("DuckAssistBot", &["DuckAssistBot"]),
        ("YandexBot", &["YandexBot", "Yandex"]),
        ("YandexImages", &["YandexImages", "Yandex"]),
        ("Baiduspider", &["Baiduspider"]),
        ("Baiduspider-image", &["Baiduspider-image", "Baiduspider"]),
        ("PetalBot", &["PetalBot"]),
        ("AhrefsBot", &["AhrefsBot"]),
        ("AhrefsSiteAudit", &["AhrefsSiteAudit"]),
        ("SemrushBot", &["SemrushBot"]),
        ("SiteAuditBot", &["SiteAuditBot"]),
    ] {
        let crawler = entry(&catalogue, name);
        assert!(
            crawler.tokens.iter().map(|token| &**token).eq(tokens.iter().copied()),
            "{name}: {:?}",
            crawler.tokens
        );
        assert_eq!(crawler.basis, TokenBasis::Documented, "{name}");
    }
    assert_eq!(entry(&catalogue, "Bytespider").obeys, Obeys::Unknown);
    assert!(
        !entry(&catalogue, "Baiduspider").verify.forward && entry(&catalogue, "Googlebot").verify.forward
    );
    assert_eq!(&*entry(&catalogue, "Googlebot").verify.rdns, [Box::from(".googlebot.com")]);
}

/// Their documentation says how they sign, and nothing of a word in their header.
#[test]
fn some_agents_are_known_by_their_signatures_alone() {
    let identifier = Identifier::new(bundled()).expect("compiles");
    let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36";
    for (name, word) in [("Hyperbrowser", "Hyperbrowser"), ("Kernel", "kernel.sh"), ("Kernel", "Kernel")] {
        let entry = identifier.catalogue().get(name).expect("an entry");
        assert!(entry.signs.is_empty() && entry.verify.agent.is_some(), "{name}");
        let found = identifier.recognise(Some(format!("{chrome} {word}/1.0").as_bytes()));
        assert_eq!((found.client, &found.crawler), (ClientKind::Browser, &None), "{word}");
    }
}

/// With the signs of the catalogue alone, no header of a person is named.
#[test]
fn no_sign_of_an_entry_hits_a_person() {
    let Some(records) = records("browsers.jsonl") else { return };
    let identifier =
        Identifier::new(RecognitionData { catalogue: catalogue(), ..RecognitionData::default() })
            .expect("compiles");
    for record in &records {
        let identity = identifier.recognise_cold(Some(record.user_agent().as_bytes()));
        let named = identity.basis == robots_gateway::identify::Basis::Catalogue;
        assert!(!(named && identity.is_judged()), "{:?}: {}", identity.crawler, record.user_agent());
    }
}

/// What is deliberately not an AI agent's in the catalogue, with the reason.
fn left_out() -> HashMap<&'static str, &'static str> {
    let lines = include_str!("../../docs/ai-agents.md").lines();
    let told = lines.filter_map(|line| line.strip_prefix("- `"));
    told.map(|line| line.split_once("`: ").unwrap_or_else(|| panic!("`{line}` has no reason"))).collect()
}

/// Each AI agent of the list has an entry with a purpose that is AI's, its operator, a page about it, the day it was looked
/// at, and a token to shut it out by; or is left out with a reason.
#[test]
fn ai_agents_of_the_list_are_known_or_left_out_with_a_reason() {
    let Some(folder) = std::env::var_os("ROBOTS_GATEWAY_CORPUS") else {
        println!("skipped: ROBOTS_GATEWAY_CORPUS is not set");
        return;
    };
    let text = std::fs::read(std::path::Path::new(&folder).join("ua/ai_agents.json")).expect("the list");
    let list: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&text).expect("JSON");
    let (identifier, left_out) = (Identifier::new(bundled()).expect("compiles"), left_out());
    let (mut known, mut out, mut wrong) = (0, 0, Vec::new());
    for name in list.keys() {
        let control = identifier.catalogue().control_token(name);
        let header = format!("Mozilla/5.0 (compatible; {name}; +https://example.org/bot)");
        let found = identifier.recognise(Some(header.as_bytes()));
        let crawler = found.crawler.as_deref().and_then(|name| identifier.catalogue().get(name));
        let is_ai = |crawler: &Crawler| crawler.purpose.as_str().starts_with("ai-");
        let is_whole = |crawler: &Crawler| {
            crawler.operator.is_some() && crawler.docs.is_some() && crawler.checked.is_some()
        };
        if control.is_some_and(|control| control.purpose.as_str().starts_with("ai-")) {
            known += 1;
        } else if left_out.contains_key(&**name) {
            out += 1;
            if crawler.is_some_and(is_ai) {
                wrong.push(format!("{name} is left out, and known"));
            }
        } else if crawler.is_some_and(|crawler| is_ai(crawler) && is_whole(crawler)) {
            known += 1;
        } else {
            wrong.push(format!(
                "{name}: {:?}",
                crawler.map(|crawler| (&crawler.name, crawler.purpose, &crawler.docs))
            ));
        }
    }
    println!("{} AI agents: {known} known, {out} left out with a reason", list.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(left_out.keys().all(|name| list.contains_key(*name)), "left out of nothing");
    assert!(left_out.values().all(|reason| reason.len() > 10));
}

/// What crawlers answer to that have another purpose is never blocked with one.
#[test]
fn a_block_of_one_purpose_shuts_out_no_other() {
    let catalogue = catalogue();
    for purpose in robots_gateway::identify::Purpose::VARIANTS.iter().copied() {
        let tokens = catalogue.to_block(purpose, &[purpose], &[]);
        let group = |token: &&str| format!("User-agent: {token}\nDisallow: /\n");
        let file = tokens.iter().map(group).collect::<Vec<_>>().concat();
        let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
        for crawler in catalogue.crawlers().iter().filter(|crawler| crawler.purpose != purpose) {
            let judged = robots.judge(&crawler.tokens, crawler.star, b"/");
            assert!(judged.allow, "block {purpose} shuts out {}", crawler.name);
        }
        println!("{purpose}: {} tokens", tokens.len());
    }
    let train = catalogue.to_block(
        robots_gateway::identify::Purpose::AiTrain,
        &[robots_gateway::identify::Purpose::AiTrain],
        &[],
    );
    for token in [
        "GPTBot",
        "ClaudeBot",
        "CCBot",
        "Bytespider",
        "Diffbot",
        "omgili",
        "Google-Extended",
        "Applebot-Extended",
    ] {
        assert!(train.contains(&token), "{token}: {train:?}");
    }
    assert!(!train.contains(&"Googlebot") && !train.contains(&"Applebot"));
}
