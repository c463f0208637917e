//! Kinds of headers that 0.2.0 took for something else, each with samples.

use super::corpus::identifier;
use robots_gateway::identify::ClientKind::{self, Crawler, Fetcher, Monitor, SpecialCase, Tool};

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
const PHONE: &str = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/124.0.0.0 Mobile Safari/537.36";

fn client(header: &str) -> ClientKind {
    identifier().recognise(Some(header.as_bytes())).client
}

fn are_people(headers: &[&str]) {
    for header in headers {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert!(!identity.is_judged(), "{} {:?}: {header}", identity.client, identity.crawler);
    }
}

/// Extensions, people who look for faults, and companies leave a link or an address behind a whole browser's header.
#[test]
fn a_link_behind_the_header_of_a_browser_is_no_crawlers() {
    for left in [
        "name@intigriti.example",
        "bugbounty https://hackerone.example/someone",
        "Contoso-Kiosk (https://contoso.example/kiosk)",
        "(security: researcher@example.org)",
        "(+https://example.org/extension)",
    ] {
        assert_eq!(client(&format!("{CHROME} {left}")), Tool, "{left}");
    }
    for left in
        ["UltraBlock/222.1 (https://ultrablock.example)", "(Upcoming App, http://www.upcoming.example)"]
    {
        are_people(&[&format!("{PHONE} {left}")]);
    }
    assert_eq!(client(&format!("{PHONE} +https://example.org/audit")), Tool);
    are_people(&[
        "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0; https://apps.state.example/INTRANET/)",
        "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0; http://intranet.example/) like Gecko",
        "Nokia6230i/2.0 (03.25) Profile/MIDP-2.0 Configuration/CLDC-1.1 x-wap-profile http://nds1.example/uaprof/N6230i.xml",
        "ZTE-Sydney-Orange/P671A50V1.0.0B05 x-wap-profile http://wap.zte.example/mobile/uaprof.xml",
        "Uzbl (http://www.uzbl.example) (Linux i686) (Webkit 1.3)",
    ]);
    // Where there is no browser, a link is a crawler's as before.
    for header in ["Zork/1.0 (https://example.org/about)", "Mozilla/5.0 (Zork; http://example.org)"] {
        assert_eq!(client(header), Crawler, "{header}");
    }
}

#[test]
fn what_browsers_put_after_compatible_names_nobody() {
    are_people(&[
        "Mozilla/5.0 (compatible;FW 2.0; MSIE 9.0; Windows NT 6.1)",
        "Mozilla/4.0 (compatible; GoogleToolbar 5.0.2124.2070; Windows 6.0; MSIE 8.0.6001.18241)",
        "Mozilla/4.0 (compatible; snom760-SIP 8.7.3.25 1.1.3-IFX-26.11.12)",
        "Mozilla/5.0 (compatible; U; InfiNet 0.1; Haiku) AppleWebKit/420+ (KHTML, like Gecko)",
        "Mozilla/5.0 (Linux; U; Android 4.0 Compatible; zh-cn; A862W Build/IMM76D) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30",
        "Mozilla/5.0 (iPad; CPU OS 8_1_2 like Mac OS X compatible; Version/8.0 Mobile/12B440 Safari/600.1.4) AppleWebKit/600.1.4",
        "Mozilla/5.0 (compatible; en-us; Windows NT 6.1) Gecko/20100101 Firefox/40.0",
        "Mozilla/4.0 (compatible; de; MSIE 7.0; Windows NT 5.1)",
        "Mozilla/5.0 (compatible; IE 11.0; Win32; Trident/7.0)",
        "Mozilla/5.0 (compatible; Zork 1.0; Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0 Safari/537.36",
    ]);
    for header in [
        "Mozilla/5.0 (compatible; Zork/1.0; Windows NT 6.1; +http://example.org/)",
        "Mozilla/5.0 (compatible; Zork Sitemaps; http://example.org) Gecko Zork/1.0",
        "Mozilla/5.0 (compatible; Zork/1.0)",
    ] {
        assert_eq!(client(header), Crawler, "{header}");
    }
}

/// Programs on people's computers have the browser of Windows inside and add to its header, or write their names where
/// crawlers put theirs, or give the address of their maker.
#[test]
fn programs_on_peoples_computers_are_no_crawlers() {
    are_people(&[
        "Mozilla/5.0 (Windows NT 6.2; Win64; x64; Trident/7.0; rv:11.0) like Gecko; Wildfire UWGM NoTrail; ProE-Datecode:3402015420)",
        "Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0; like Gecko; 2345Explorer 3.4.0.12519)",
        "Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko; Microsoft Outlook 16.0.9126)",
        "Mozilla/4.0 (compatible; Mozilla FireFox 54.0; Microsoft Windows, Mozilla fireFox; 54.0)",
        "Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10 (KHTML, like Gecko) Version/10.0 Mobile Safari/537.10 http://example.org/",
        "Avant Browser/1.2 (http://www.avantbrowser.example)",
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; StumbleUpon.com 1.758; SV1; .NET CLR 1.1.4322)",
    ]);
    for header in [
        "Mozilla/4.0 (compatible; MS FrontPage 6.0)",
        "Mozilla/3.0 (compatible; HP Web PrintSmart 04b0 1.0.1.34)",
        "Mozilla/3.01 (compatible; Netbox/3.5 R92; Linux 2.2)",
        "http://proxy.example/ (Unix)",
        "www.example.org",
    ] {
        assert_eq!(client(header), Tool, "{header}");
    }
    for header in [
        "Mozilla/4.0 (compatible; Zork; http://example.org/zork)",
        "http://example.org/crawler",
        "zork@example.org",
        "Mozilla/5.0 (compatible; Mozilla; +http://example.org/zork)",
    ] {
        assert_eq!(client(header), Crawler, "{header}");
    }
}

#[test]
fn a_word_of_a_server_outweighs_the_word_podcast() {
    for header in [
        "CaptivateBot/PodcastImporter 1.0",
        "Podcatcher Bot 1.0",
        "Mozilla/5.0 (compatible; PodcastTranscriber/1.0)",
        "Podplay-Podcast-Sync/1.0",
        "PodcastIndexManager/1.0",
        "magic-podcast-downloader/1.0",
        "PodcastWorker/1.0",
        "Overcast/1.0 Podcast Sync",
    ] {
        assert!(matches!(client(header), Crawler | Tool), "{header}");
    }
    are_people(&[
        "PodcastRepublic/18.0",
        "Simple Podcast Player/1.8",
        "MyPodcasts/3 (iPhone; iOS 17.1)",
        "Podcast%20Archiver/3 CFNetwork/1406.0.4 Darwin/22.4.0",
        "PodQast/2.23 +https://gitlab.example/podqast",
        "audiobookshelf (+https://audiobookshelf.example)",
    ]);
}

#[test]
fn a_tool_is_one_on_every_system() {
    for header in [
        "python-requests/2.19.1 CPython/3.6.5 Darwin/17.2.0",
        "Wget/1.21.3 (darwin23.0.0)",
        "curl/7.88.1 (x86_64-apple-darwin22.0)",
        "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.19041.2673",
        "Mozilla/5.0 (darwin) AppleWebKit/537.36 (KHTML, like Gecko) jsdom/16.4.0",
        "Lightpanda/1.0",
    ] {
        assert_eq!(client(header), Tool, "{header}");
    }
}

#[test]
fn a_name_inside_a_comment_counts_beside_its_operators_link() {
    let google = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P; AdsBot-Google; +http://www.google.com/bot.html) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120 Mobile Safari/537.36";
    assert_eq!(client(google), SpecialCase);
    for header in [
        "Mozilla/5.0 (Linux; Android 8.0; YRSpider; +http://www.yunrang.com/yrspider.html) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36",
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT; MS Search 6.0 Robot)",
        "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; Claritybot)",
        "Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.1; dbot)",
    ] {
        assert_eq!(client(header), Crawler, "{header}");
    }
    assert_eq!(client(&format!("RankBotEU/1.0 {CHROME}")), Tool);
    are_people(&[
        "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; Spider Toolbar 2.0; rv:11.0) like Gecko",
    ]);
}

#[test]
fn fetches_for_a_person_and_agents_of_late_have_their_class() {
    for (header, kind) in [
        (&*format!("{CHROME} Google (+https://developers.google.com/+/web/snippet/)"), Fetcher),
        (
            "Mozilla/5.0 (en-us) AppleWebKit/525.13 (KHTML, like Gecko; Google Web Preview) Version/3.1 Safari/525.13",
            Fetcher,
        ),
        (
            "Mozilla/5.0 (Windows; U; Windows NT 6.0; rv:1.9.0.7) Gecko/2009021910 Firefox/3.0.7 (via docs.google.com/viewer)",
            Fetcher,
        ),
        ("TinEye/1.1 (http://tineye.com/crawler.html)", Fetcher),
        ("SuperhumanProxy/1.0", Fetcher),
        (
            "ModelContextProtocol/1.0 (User-Specified; +https://github.com/modelcontextprotocol/servers)",
            Fetcher,
        ),
        ("Mozilla/5.0 (compatible; YandexUserproxy; robot; +http://yandex.com/bots)", Fetcher),
        ("YOURLS v1.7.2 +http://yourls.org/ (running on http://example.org)", Fetcher),
        (&*format!("{CHROME} Google-Adwords-DisplayAds-WebRender"), SpecialCase),
        ("GoogleAdwordsExpress", SpecialCase),
        ("Mozilla/5.0 (compatible; Google-Shopping-Quality)", SpecialCase),
        (
            "Mozilla/5.0 (compatible; Yahoo Ad monitoring; https://help.yahoo.com/kb/yahoo-ad-monitoring-SLN24857.html)",
            Crawler,
        ),
        (
            "Mozilla/5.0 (compatible; SERankingBacklinksBot/1.0; +https://seranking.com/backlinks-crawler)",
            Crawler,
        ),
        ("CloudflareBrowserRenderingCrawler/1.0", Crawler),
        ("AmazonProductDiscoverybot/1.0", Crawler),
        ("Mozilla/5.0 (compatible; IbouBot/1.0; +https://ibou.io/iboubot.html)", Crawler),
        ("StaanBot/1.0", Crawler),
        (&*format!("{CHROME} YottaaMonitor"), Monitor),
    ] {
        let identity = identifier().recognise(Some(header.as_bytes()));
        assert_eq!(identity.client, kind, "{header}");
        assert!(identity.purpose.is_some(), "no entry of the catalogue: {header}");
    }
}
