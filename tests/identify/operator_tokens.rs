//! What a site's own robots.txt adds to recognition.

use super::corpus::{identifier, records};
use robots_gateway::config::catalogue::bundled;
use robots_gateway::identify::{Basis, ClientKind, Identifier, OperatorTokens};

fn refined(tokens: &[&str], header: &str) -> (ClientKind, Vec<String>) {
    let identifier = identifier();
    let own = OperatorTokens::new(tokens.iter().copied());
    let header = Some(header.as_bytes());
    let identity = own.refine(identifier.recognise(header), header, identifier);
    (identity.client, identity.tokens.iter().map(ToString::to_string).collect())
}

#[test]
fn tokens_choose_the_group_of_an_automated_client() {
    let (_, tokens) =
        refined(&["*", "Foo", "FooBot-News", "news"], "FooBot-News/1.0 (+http://example.org/news)");
    assert_eq!(tokens, ["FooBot-News"]);
    let (_, tokens) = refined(&["some", "SomeBot", "example"], "SomeBot some/1.0 like example (example.org)");
    assert_eq!(tokens[0], "SomeBot");
    assert!(tokens.contains(&"some".to_owned()));
}

#[test]
fn a_catalogued_crawler_answers_to_whole_words_only() {
    let (client, tokens) =
        refined(&["Google", "AdsBot", "Mozilla"], "AdsBot-Google (+http://www.google.com/adsbot.html)");
    assert_eq!((client, tokens), (ClientKind::SpecialCase, vec!["AdsBot-Google".to_owned()]));
}

#[test]
fn control_tokens_are_never_found_in_a_header() {
    let (_, tokens) = refined(
        &["Google-Extended"],
        "Mozilla/5.0 (compatible; Google-Extended/1.0; +http://www.google.com/bot.html)",
    );
    assert!(tokens.is_empty(), "{tokens:?}");
}

#[test]
fn a_browser_is_promoted_only_by_a_product() {
    let chrome =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36";
    assert_eq!(refined(&["Zorkler"], &format!("{chrome} Zorkler/2.0")).0, ClientKind::Crawler);
    assert_eq!(refined(&["Zorkler"], &format!("{chrome} Zorkler")).0, ClientKind::Browser);
    assert_eq!(refined(&["Chrome", "Linux", "Safari"], chrome).0, ClientKind::Browser);
    let phone = "Mozilla/5.0 (Linux; Android 9; Zorkler/9 Build/X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/1 Safari/537.36";
    assert_eq!(refined(&["Zorkler"], phone).0, ClientKind::Browser);
}

#[test]
fn the_basis_is_told() {
    let identifier = identifier();
    let own = OperatorTokens::new(["Zorkler"]);
    let header = Some(&b"Mozilla/5.0 (X11; Linux x86_64) Gecko/1 Zorkler/2.0"[..]);
    let (identity, step) = own.explain(&identifier.recognise(header), header, identifier);
    assert_eq!(identity.basis, Basis::OperatorTokenInBrowser);
    assert!(identity.is_audited_only());
    let step = step.expect("a step");
    assert!(step.as_str().contains("`Zorkler`") && step.as_str().contains("never refused"));
    let same = OperatorTokens::new([]).refine(identifier.recognise(header), header, identifier);
    assert_eq!(same.client, ClientKind::Browser);
}

#[test]
fn a_promoted_browser_is_audited_only_unless_it_presents_itself() {
    let identifier = identifier();
    let own = OperatorTokens::new(["Zorkler"]);
    let of = |header: &str| {
        let header = Some(header.as_bytes());
        own.refine(identifier.recognise(header), header, identifier)
    };
    let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
    let promoted = of(&format!("{chrome} Zorkler/2.0"));
    assert!(promoted.is_judged() && promoted.is_audited_only());
    for presented in ["Zorkler/2.0 (+http://example.org/)", "(compatible; Zorkler/2.0)"] {
        let identity = of(&format!("{chrome} {presented}"));
        assert!(identity.is_judged() && !identity.is_audited_only(), "{presented}");
    }
    assert!(!of("Zorkler/2.0 (X11; Linux)").is_audited_only());
}

#[test]
fn new_browsers_are_no_crawlers_whatever_robots_txt_names() {
    let chrome = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
    let television = "Mozilla/5.0 (Linux armv7l) Cobalt/24.lts.30 (unlike Gecko) Starboard/15";
    let names = ["Comet", "Perplexity", "Copilot", "Zotero", "Cobalt", "Starboard"];
    for header in [
        format!("{chrome} Comet/140"),
        format!("{chrome} Perplexity/1.0"),
        format!("{chrome} Copilot/1.0"),
        format!("{firefox} Zotero/7.0.11"),
        television.to_owned(),
    ] {
        assert_eq!(refined(&names, &header).0, ClientKind::Browser, "{header}");
    }
}

/// Tokens of robots.txt files in use that are also phones, browsers and apps.
const DANGEROUS: [&str; 37] = [
    "MQQBrowser",
    "MicroMessenger",
    "Odin",
    "Titan",
    "Cosmos",
    "Magnet",
    "LieBaoFast",
    "Zeus",
    "Minefield",
    "Buddy",
    "Bolt",
    "Webster",
    "Blackboard",
    "Octopus",
    "Ninja",
    "Kinza",
    "Disco",
    "Leap",
    "fast",
    "Spider",
    "Expanse",
    "Silk",
    "Java",
    "Baidu",
    "Samsung",
    "Speedy",
    "Butterfly",
    "Ruby",
    "bot",
    "Mozilla",
    "Chrome",
    "Safari",
    "Android",
    "Windows",
    "Linux",
    "Mobile",
    "Version",
];

#[test]
fn no_person_is_promoted_by_the_tokens_of_real_files() {
    let (Some(browsers), Some(apps)) = (records("browsers.jsonl"), records("apps.jsonl")) else { return };
    let identifier = identifier();
    let catalogue = identifier.catalogue().crawlers();
    let names = catalogue.iter().flat_map(|crawler| crawler.tokens.iter().map(|token| &**token));
    let own = OperatorTokens::new(names.chain(DANGEROUS));
    let mut promoted = Vec::new();
    for record in browsers.iter().chain(&apps) {
        let header = Some(record.user_agent().as_bytes());
        let before = identifier.recognise(header);
        let after = own.refine(before.clone(), header, identifier);
        if !before.is_judged() && after.is_judged() {
            promoted.push(format!("{:?}: {}", after.tokens, record.user_agent()));
        }
    }
    println!(
        "{} tokens against {} people: {} promoted",
        own.tokens().len(),
        browsers.len() + apps.len(),
        promoted.len()
    );
    assert!(promoted.is_empty(), "{promoted:#?}");
}

/// The words in product position of a header, as robots.txt could name them.
fn products(header: &str) -> impl Iterator<Item = Box<str>> {
    let words = header.split([' ', ';', '(', ')', ',']);
    words.filter_map(|word| Some(word.split_once('/')?.0.to_ascii_lowercase().into()))
}

/// What the list of people's words is worth on headers it was not made from: it
/// is made anew from one half of the browsers, and held against the other.
#[test]
fn few_people_are_promoted_by_words_that_no_list_knows_and_none_is_refused() {
    let Some(browsers) = records("browsers.jsonl") else { return };
    let (known, unknown): (Vec<_>, Vec<_>) =
        browsers.iter().enumerate().partition(|(nth, _)| (nth / 100) % 2 == 0);
    let mut knowledge = bundled();
    let crawlers = knowledge.catalogue.crawlers();
    let tokens: Vec<Box<str>> = crawlers.iter().flat_map(|crawler| crawler.tokens.to_vec()).collect();
    knowledge.words.human_words =
        known.iter().flat_map(|(_, record)| products(record.user_agent())).collect();
    let identifier = Identifier::new(knowledge).expect("compiles");
    let own = OperatorTokens::new(tokens.iter().map(|token| &**token).chain(DANGEROUS));
    let mut promoted = Vec::new();
    for (_, record) in &unknown {
        let header = Some(record.user_agent().as_bytes());
        let after = own.refine(identifier.recognise(header), header, &identifier);
        if after.client.is_automated() {
            assert!(after.is_audited_only(), "{:?}: {}", after.tokens, record.user_agent());
            promoted.push(format!("{:?}: {}", after.tokens, record.user_agent()));
        }
    }
    println!(
        "{} tokens against {} people whose words no list holds: {} promoted, none refused",
        own.tokens().len(),
        unknown.len(),
        promoted.len()
    );
    assert!(promoted.len() * 1_000 <= unknown.len(), "{promoted:#?}");
}

#[test]
fn a_crawler_without_a_token_still_answers_to_its_name() {
    let site = OperatorTokens::new(["Feedly", "Inoreader", "Googlebot"]);
    let tokens = |header: &str| {
        let header = Some(header.as_bytes());
        site.refine(identifier().recognise(header), header, identifier()).tokens.join(",")
    };
    assert_eq!(tokens("Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)"), "Feedly");
    assert_eq!(tokens("Mozilla/5.0 (compatible; inoreader.com-like FeedFetcher-Google)"), "Inoreader");
    assert_eq!(tokens("Googlebot/Nutch-1.7"), "Nutch,Googlebot");
}
