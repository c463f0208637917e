//! What a site's own robots.txt adds to recognition.

use super::corpus::{identifier, records};
use robots_gateway::identify::{ClientKind, OperatorTokens};

fn refined(tokens: &[&str], header: &str) -> (ClientKind, Vec<String>) {
    let identifier = identifier();
    let own = OperatorTokens::new(tokens.iter().copied());
    let header = Some(header.as_bytes());
    let identity = own.applied(&identifier.recognise(header), header);
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

/// With each of these in robots.txt, 0.2.0 called the header a crawler: the browsers were audited, the apps refused.
#[test]
fn a_person_is_nobody_else_whatever_the_file_names() {
    let chrome =
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36";
    for (token, header, client) in [
        ("Zorkler", &*format!("{chrome} Zorkler/2.0"), ClientKind::Browser),
        ("Zorkler", &*format!("{chrome} Zorkler"), ClientKind::Browser),
        ("Harvest", "Harvest/2.4 (Macintosh; Intel Mac OS X 14.4)", ClientKind::App),
        ("Bolt", "Bolt/10 (Windows NT 10.0; Win64; x64)", ClientKind::App),
        ("Silk", &*format!("{chrome} Silk/1.0"), ClientKind::Browser),
    ] {
        assert_eq!(refined(&[token], header).0, client, "{header}");
    }
}

#[test]
fn a_tool_that_the_file_names_is_a_crawler_in_the_mode_of_the_site() {
    for (token, header) in [
        ("curl", "curl/8.5.0"),
        ("python-requests", "python-requests/2.32.3"),
        (
            "HeadlessChrome",
            "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36",
        ),
        ("Zorkler", "Zorkler/2.0 (X11; Linux)"),
    ] {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert_eq!(identity.client, ClientKind::Tool, "{header}");
        let own = OperatorTokens::new([token]);
        let (named, step) = own.explain(&identity, Some(header.as_bytes()));
        assert_eq!((named.client, named.basis), (ClientKind::Crawler, identity.basis), "{header}");
        assert!(!named.is_audited_only() && named.purpose == identity.purpose, "{header}");
        assert!(step.expect("a step").contains("stands where a product stands"), "{header}");
    }
    let mentioned = "python-requests/2.32.3 (uses curl)";
    assert_eq!(refined(&["curl"], mentioned).0, ClientKind::Tool);
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
        let after = own.applied(&before, header);
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

#[test]
fn a_crawler_without_a_token_still_answers_to_its_name() {
    let site = OperatorTokens::new(["Feedly", "Inoreader", "Googlebot"]);
    let tokens = |header: &str| {
        let header = Some(header.as_bytes());
        site.applied(&identifier().recognise(header), header).tokens.join(",")
    };
    assert_eq!(tokens("Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)"), "Feedly");
    assert_eq!(tokens("Mozilla/5.0 (compatible; inoreader.com-like FeedFetcher-Google)"), "Inoreader");
    assert_eq!(tokens("Googlebot/Nutch-1.7"), "Nutch,Googlebot");
}
