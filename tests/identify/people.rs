//! People: no browser is judged, nor an app that holds words of crawlers. How many
//! apps are judged is in `apps`.

use super::corpus::{identifier, percent, records};
use robots_gateway::identify::ClientKind;

/// Headers of browsers inside apps, of apps, televisions, cars and text browsers.
const PEOPLE: [&str; 34] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Mattermost/5.10.0 Chrome/130.0 Electron/33.0 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Rocket.Chat/4.1.0 Chrome/130.0 Electron/33.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22B83 Instagram 360.0.0.30.84 (iPhone14,5; iOS 18_1; en_GB; en; scale=3.00; 1170x2532; 670000000)",
    "Mozilla/5.0 (Linux; Android 14; SM-S918B Build/UP1A.231005.007; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/131.0.6778.39 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/490.0.0.48.82;]",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 musical_ly_35.0.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/en Region/GB BytedanceWebview/d8a21c6",
    "Mozilla/5.0 (Linux; Android 13; V2250 Build/TP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/107.0.5304.141 Mobile Safari/537.36 XWEB/5075 MMWEBSDK/20230303 MMWEBID/57 MicroMessenger/8.0.33.2320(0x28002151) WeChat/arm64 Weixin NetType/WIFI Language/zh_CN ABI/arm64",
    "Mozilla/5.0 (Linux; Android 12; SM-G991N Build/SP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/110.0.5481.65 Mobile Safari/537.36;KAKAOTALK 2410150",
    "Mozilla/5.0 (Linux; arm_64; Android 13; SM-A536E) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.6367.107 YaApp_Android/24.52.1 YaSearchBrowser/24.52.1 BroPP/1.0 SA/3 Mobile Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Slack_SSB/4.41.97 Chrome/130.0.6723.92 Electron/33.1.0 Safari/537.36 AppleSilicon Sonic",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) discord/1.0.9170 Chrome/128.0.6613.186 Electron/32.2.2 Safari/537.36",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Claude/0.7.8 Chrome/130.0.6723.118 Electron/33.2.0 Safari/537.36",
    "ChatGPT/1.2025.012 (Mac OS X 15.2; arm64; build 1736911111)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.30.4201",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Twitter for iPhone/10.50",
    "Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/AP1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/125.0 Mobile Safari/537.36 [Pinterest/Android]",
    "Mozilla/5.0 (Linux; Android 13; 22101316G) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/112.0 Mobile Safari/537.36 BingSapphire/24.4.410321307",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/98.0.4758.102 Safari/537.36 Agency/98.8.8175.80",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/93.0.4577.82 Safari/537.36 Trailer/93.3.8652.5",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.5735.199 Safari/537.36 Tesla/2024.38.7-0cbc14cac5e7",
    "Mozilla/5.0 (Linux; Android 13) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/130 Mobile Safari/537.36 QRScanner/3.1",
    "Mozilla/5.0 (Linux; Android 13; SM-A047F; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/130 Mobile Safari/537.36 Flipboard/4.3.20/5351,4.3.20.5351",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/21B74 Telegram-iOS/10.3",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 OPR/115.0.0.0 (Edition Campaign 34)",
    "Mozilla/5.0 (compatible, MSIE 11, Windows NT 6.3; Trident/7.0; rv:11.0) like Gecko",
    "Lynx/2.9.0dev.10 libwww-FM/2.14 SSL-MM/1.4.1 GNUTLS/3.7.1",
    "Links (2.21; Linux 5.10.0-8-amd64 x86_64; GNU C 10.2.1; text)",
    "NetSurf/3.10 (Linux)",
    "Overcast/3.0 (+http://overcast.fm/; iOS podcast app)",
    "WhatsApp/2.24.20.89 Android/14 Device/Samsung-SM-S918B",
    "okhttp/4.12.0",
    "VLC/3.0.20 LibVLC/3.0.20",
    "Outlook-iOS/723.4027091.prod.iphone (3.15.0)",
    "Mozilla/5.0 (PlayStation; PlayStation 5/6.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15",
    "Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.5359.211 Safari/537.36 WebAppManager",
];

/// People's apps and browsers that hold a word, a name or a host of crawlers, and
/// neither a link nor an address to support it.
const LOOKALIKES: [&str; 49] = [
    "iRobot/7.9.1 CFNetwork/1494.0.7 Darwin/23.4.0",
    "SpiderSolitaire/4.1 CFNetwork/1494.0.7 Darwin/23.4.0",
    "Harvest/3.1 (iPhone; iOS 17.5; Scale/3.00)",
    "Scrapbook/2 CFNetwork/1494 Darwin/23.4",
    "AI Chatbot/2.1 CFNetwork/1494 Darwin/23.4.0",
    "com.roborobot.app/3 (Linux; U; Android 14; Pixel 8 Build/UP1A) Dalvik/2.1.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Harvest/3.1",
    "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/124.0 Mobile Safari/537.36 com.irobot.home",
    "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/124.0 Mobile Safari/537.36 EcovacsRobot/2.4",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Harvest/2.0 Chrome/124.0.0.0 Electron/30.0.1 Safari/537.36",
    "Netcraft Extension/1.0 CFNetwork/1494 Darwin/23.4.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Netcraft Toolbar",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Palo Alto Networks GlobalProtect",
    "Mozilla/5.0 (Linux; Android 14; Yeti/2 Build/UP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Yeti/2.1",
    "Pinterest/0.2 CFNetwork/1494.0.7 Darwin/23.4.0",
    "Mozilla/5.0 (X11; U; Linux i686; en-US) AppleWebKit/533.3 (KHTML, like Gecko) Qt/4.6.3 WebDriver Safari/533.3",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Feedly/100",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Inoreader/7",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Mastodon/2024",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Datadog/3.1",
    "Mozilla/5.0 (Linux; Android 14; SM-S911B; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/124.0 Mobile Safari/537.36 Feedly/100",
    "WordPress/24.1 (iPhone; iOS 17.5; Scale/3.00)",
    "Mozilla/5.0 (compatible; FreeBSD amd64) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (compatible; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "Mozilla/5.0 (compatible; Falkon/3.2; Linux)",
    "Mozilla/5.0 (compatible; Vivaldi/6)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Safari/605.1.15 Technology Preview",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0 Preview",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Grammarly-Checker/1.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 SafeBrowsingAgent",
    "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0; Research Toolbar)",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; SearchScraper Toolbar; .NET CLR 2.0.50727)",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; GTB6; www.example.de)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 contoso.com",
    "Mozilla/5.0 (PlayStation 4; Linux) Cobalt/24.lts.30.1034958-gold (unlike Gecko) Starboard/15",
    "com.scrapbook.app/1 (Android 14)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1 Feedly/100",
    "Mozilla/5.0 (Linux; Android 14; SM-S911B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0 Mobile Safari/537.36 Inoreader/7",
    "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; Spider Toolbar 2.0; rv:11.0) like Gecko",
    "User-Agent: Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
    "Harvest/2.4 (Macintosh; Intel Mac OS X 14.4)",
    "SpiderOak/7.5 (Windows NT 10.0; Win64; x64)",
    "Archiver 4/4.0.2 (Macintosh; OS X 13.4)",
    "NewsFetch/3 (Windows NT 10.0)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Scrapbook/3.2",
    "Tweetbot for Mac",
    "Emacs-w3m/1.4.632 w3m/0.5.3",
    "iPhone (compatible; Newspaper 2.0) NRC, com.example.app 10.0 / iOS 16.6",
];

/// The same words where they do convict.
const CRAWLERS: [&str; 16] = [
    "iRobot/7.9.1 (+http://example.org/bot) CFNetwork/1494.0.7 Darwin/23.4.0",
    "Harvest/3.1 (iPhone; harvest@example.org)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 (compatible; Harvest/3.1)",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 ZorkPreview/1.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 zorkbot",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 +www.example.org",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 example.org/policy",
    "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; SearchScraper http://example.org/)",
    "Mozilla/5.0 (compatible; Feedly/1.0; iPhone)",
    "Mozilla/5.0 (Linux; Android 11; moto g) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0 Mobile Safari/537.36 DareBoost",
    "Mozilla/5.0 (compatible; FreeBSDzork/1.0)",
    "Mozilla/5.0 (compatible; Yeti/1.1; +http://naver.me/spd)",
    "Harvest/2.4 (Macintosh; Intel Mac OS X 14.4; +http://example.org/bot)",
    "Harvest/2.4 (compatible; Harvest; Windows NT 10.0)",
    "Zorkcrawl/1.0 (X11; Linux x86_64)",
    "iPhone (compatible; Zork/2.0; +http://example.org/bot)",
];

#[test]
fn words_of_crawlers_do_not_convict_people() {
    for header in LOOKALIKES {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(!identity.is_judged(), "{} {:?}: {header}", identity.client, identity.crawler);
    }
    for header in CRAWLERS {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(identity.client.is_automated(), "{}: {header}", identity.client);
    }
}

/// What a CDN or a proxy sends in place of the header of every visitor says nothing about one of them.
#[test]
fn what_stands_for_all_visitors_is_never_judged() {
    for header in ["Amazon CloudFront", "amazon cloudfront ", "Nutscrape/1.0 (CP/M; 8-bit)"] {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(!identity.is_judged(), "{} {:?}: {header}", identity.client, identity.crawler);
    }
}

/// Handsets of the 2000s open with network, maker and model, whoever made them; builds of browsers before a release
/// send their code name.
#[test]
fn old_handsets_and_code_names_are_people() {
    for maker in
        ["KYOCERA/WX310K/2;1.2.9/0.1/C100", "jrc/WX310J/2;1/1/C128", "SHARP/WS007SH;1.0", "Zork/Z1;1.0"]
    {
        for opening in ["Mozilla/3.0(WILLCOM;", "Mozilla/3.0(DDIPOCKET;", "Mozilla/3.0(", "Mozilla/2.0("] {
            let header = format!("{opening}{maker})");
            let identity = identifier().recognise(Some(header.as_bytes()));
            assert!(!identity.is_judged(), "{}: {header}", identity.client);
        }
    }
    for name in
        ["Minefield", "Shiretoko/3.5b4", "BonEcho/2.0", "Deer Park/1.0", "Iceweasel/38.8.0", "Flock/2.6"]
    {
        let identity = identifier().recognise(Some(name.as_bytes()));
        assert!(!identity.is_judged(), "{}: {name}", identity.client);
    }
    // A crawler's own word still counts.
    for header in
        ["Mozilla/3.0(Zorkbot/1.0; +http://example.org/bot)", "Mozilla/3.0 (Slurp/si; slurp@inktomi.com)"]
    {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(identity.client.is_automated(), "{}: {header}", identity.client);
    }
}

#[test]
fn browsers_inside_apps_are_people() {
    for header in PEOPLE {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(!identity.is_judged(), "{}: {header}", identity.client);
    }
}

#[test]
fn no_browser_is_judged() {
    let Some(records) = records("browsers.jsonl") else { return };
    let identifier = identifier();
    let (mut judged, mut unnamed) = (Vec::new(), 0);
    for record in &records {
        let identity = identifier.recognise(Some(record.user_agent().as_bytes()));
        match identity.client {
            ClientKind::Browser | ClientKind::App => {}
            ClientKind::Unnamed => unnamed += 1,
            client => judged.push(format!("{client}: {}", record.user_agent())),
        }
    }
    println!("browsers: {} headers, {} judged, {unnamed} unnamed", records.len(), judged.len());
    assert!(judged.is_empty(), "{judged:#?}");
    assert!(percent(unnamed, records.len()) <= 0.5);
}

/// A third of these headers, put into lower case, cut off, or quoted: what
/// proxies and odd clients make of them is still a person's.
#[test]
fn no_mangled_browser_is_judged() {
    let Some(records) = records("browsers.jsonl") else { return };
    let identifier = identifier();
    let mut judged = Vec::new();
    let mut seen = 0;
    for record in records.iter().step_by(3) {
        let header = record.user_agent();
        let cut = header.char_indices().nth(100).map_or(header, |(at, _)| &header[..at]);
        for mangled in
            [header.to_lowercase(), cut.to_owned(), format!("\"{header}\""), format!(" {header},gzip(gfe)")]
        {
            seen += 1;
            let identity = identifier.recognise_uncached(Some(mangled.as_bytes()));
            if identity.client.is_automated() {
                judged.push(format!("{}: {mangled}", identity.client));
            }
        }
    }
    println!("mangled browsers: {seen} headers, {} judged", judged.len());
    assert!(judged.is_empty(), "{:#?}", &judged[..judged.len().min(40)]);
}
