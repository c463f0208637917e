//! The form of the bundled data, entry by entry.

use super::corpus::records;
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::{
    Catalogue, Client, Crawler, Identifier, Knowledge, Obeys, TokenBasis, token_is_legal,
};
use std::collections::HashMap;

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
        assert!(!crawler.signs.is_empty(), "{name} has no sign");
        assert!(!matches!(crawler.client, Client::Browser | Client::Unnamed), "{name}");
        let ignores_star = matches!(crawler.client, Client::SpecialCase | Client::Monitor | Client::App);
        assert!(!(ignores_star && crawler.star), "{name}");
        assert!(
            crawler.client != Client::Crawler || crawler.star,
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

/// With the signs of the catalogue alone, no header of a person is named.
#[test]
fn no_sign_of_an_entry_hits_a_person() {
    let Some(records) = records("browsers.jsonl") else { return };
    let identifier =
        Identifier::new(Knowledge { catalogue: catalogue(), ..Knowledge::default() }).expect("compiles");
    for record in &records {
        let identity = identifier.recognise_cold(Some(record.user_agent().as_bytes()));
        let named = identity.basis == robots_gateway::identify::Basis::Catalogue;
        assert!(!(named && identity.is_judged()), "{:?}: {}", identity.crawler, record.user_agent());
    }
}
