//! `gatewayctl check`: every error and finding with its place; exit 1 only when the gateway would not load.

use crate::golden::{assert_golden, ctl};
use crate::support::{Ended, Folder};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";
const SITE: &str = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n";

/// Checks a configuration beside `robots`, without asking any origin.
#[track_caller]
fn check(name: &str, config: &str, robots: impl AsRef<[u8]>, more: &[&str], code: i32) -> Ended {
    let folder = Folder::new();
    folder.write("gateway.toml", config);
    folder.write("robots.txt", robots);
    let ended =
        ctl(&folder, &[&["check", "--offline", "--config", "gateway.toml"], more].concat()).exits(code);
    assert_golden(name, &folder, &ended);
    ended
}

#[test]
fn good() {
    check("check-good", SITE, ROBOTS, &[], 0);
    check("check-good-json", SITE, ROBOTS, &["--format", "json"], 0).json();
}

/// What is said of each of them is said once.
#[test]
fn four_correct_sites_take_six_lines() {
    let site = |name: &str| {
        format!("[[sites]]\nhosts = [\"{name}\"]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n")
    };
    let sites: String = ["a.example", "b.example", "c.example", "www.d.example"].map(site).concat();
    let told = check("check-four-sites", &format!("mode = \"enforce\"\n{sites}"), ROBOTS, &[], 0).stdout;
    assert!(told.lines().count() <= 6 && told.contains("with 4 sites"), "{told}");
    assert_eq!(told.matches("(and 3 more like it)").count(), 2, "{told}");
}

#[test]
fn an_unknown_key() {
    let ended = check("check-unknown-key", &format!("listen_on = []\n{SITE}"), ROBOTS, &[], 1);
    assert!(
        format!("{}{}", ended.stdout, ended.stderr)
            .contains("gateway.toml:1:1: error: unknown key `listen_on`; did you mean `listen`?"),
        "{ended:?}"
    );
    let json =
        check("check-unknown-key-json", &format!("listen_on = []\n{SITE}"), ROBOTS, &["--format", "json"], 1)
            .json();
    let error = &json[0];
    assert_eq!(
        (&error["path"], &error["line"], &error["column"]),
        (&"gateway.toml".into(), &1.into(), &1.into()),
        "{json}"
    );
    assert_eq!(error["severity"], "error", "{json}");
}

#[test]
fn a_wrong_type() {
    check("check-wrong-type", &format!("threads = \"two\"\n{SITE}"), ROBOTS, &[], 1);
}

#[test]
fn faults_of_all_tables_at_once() {
    let config = "[limits]\nheader_fields = 5\nheader_size = \"1KiB\"\nh2_streams = 0\n[log]\nlevel = \"loud\"\n\
                  [[sites]]\nhosts = [\"a b\"]\norigin = \"nowhere\"\n";
    check("check-all-tables", config, ROBOTS, &[], 1);
}

#[test]
fn a_value_that_may_be_a_secret_is_not_shown() {
    for config in ["admin_token = \"s3cret", "admin_tokn = \"s3cret\"", "admin_token = [\"s3cret\"]"] {
        let folder = Folder::new();
        folder.write("gateway.toml", format!("{config}\n{SITE}"));
        let ended = ctl(&folder, &["check", "--offline", "--config", "gateway.toml"]).exits(1);
        assert!(!format!("{}{}", ended.stdout, ended.stderr).contains("s3cret"), "{ended:#?}");
    }
}

/// Each with a password, and with a mistake or in a place that knows no passwords.
const MISTAKEN: [&str; 9] = [
    "http://me:s3cret@127.0.0.1:9",
    "http:/me:s3cret@127.0.0.1:9",
    "http//me:s3cret@127.0.0.1:9",
    "htp://me:s3cret@127.0.0.1:9/x?y",
    "http://me:pa/s3cret@127.0.0.1:9",
    "http://me:pa@s3cret@127.0.0.1:9",
    "http://me:pa s3cret@127.0.0.1:9",
    "http://me:s3cret\\u0040127.0.0.1:9",
    "me:s3cret@127.0.0.1:9",
];

/// Configurations with that in every place that could take it for a URL, and in some that could not.
fn with_everywhere(url: &str) -> [String; 6] {
    [
        format!(
            "[verify]\nmirror = \"{url}\"\n[fleet]\ndatabase = \"{url}\"\n[[sites]]\nhosts = [\"{url}\"]\norigin = \"{url}\"\n\
             [[sites]]\nhosts = [\"a.example\"]\norigin = {{ servers = [\"http://127.0.0.1:9\", \"{url}\"] }}\n\
             robots = {{ from = \"origin\", url = \"{url}\" }}\nrefusal = {{ contact = \"{url}\" }}\n"
        ),
        format!("catalogue = \"more.toml\"\n{SITE}"),
        format!("[[sites]]\norigin = [\n\"{url}\",\n5 ]\n"),
        format!("threads = \"{url}\"\n{SITE}"),
        format!("listen = [\"{url}\"]\n{SITE}"),
        format!("[alerts]\nwebhook_file = \"missing\"\nevery = \"{url}\"\n{SITE}"),
    ]
}

#[test]
fn a_password_in_a_mistaken_url_is_not_repeated() {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    let told = |arguments: &[&str], code: i32| {
        let ended = ctl(&folder, arguments).exits(code);
        let told = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!told.contains("s3cret"), "{arguments:?}\n{told}");
        told
    };
    for (number, url) in MISTAKEN.into_iter().enumerate() {
        folder.write(
            "more.toml",
            format!(
                "[[crawler]]\nname = \"x\"\ntokens = [\"x\"]\npurpose = \"search\"\ndocs = \"{url}\"\nverify = {{ ranges = [\"{url}\"] }}\n"
            ),
        );
        // What is said of a value of another type depends little on the value.
        let places = if number == 0 { 6 } else { 2 };
        for config in &with_everywhere(url)[..places] {
            folder.write("gateway.toml", config);
            let told = told(&["check", "--offline", "--config", "gateway.toml"], 1);
            assert!(told.contains(": error: "), "{config}\n{told}");
        }
        let url = url.replace("\\u0040", "@");
        for arguments in [["init", "--origin", &url].as_slice(), &["crawlers", "refresh", "--from", &url]] {
            assert!(told(arguments, 2).contains("error: "), "{arguments:?}");
        }
    }
}

#[test]
fn an_origin_that_is_the_gateway_itself() {
    let config = |listen: &str, origin: &str| {
        format!("listen = [\"{listen}\"]\n[[sites]]\norigin = \"{origin}\"\nrobots = \"robots.txt\"\n")
    };
    check("check-own-origin", &config("0.0.0.0:8099", "http://localhost:8099"), ROBOTS, &[], 1);
    for (listen, origin, code) in [
        ("127.0.0.1:8099", "http://127.0.0.1:8099", 1),
        ("127.0.0.1:8099", "http://127.0.0.1:8098", 0),
        ("127.0.0.1:8099", "http://127.0.0.2:8099", 0),
        ("0.0.0.0:8099", "http://192.0.2.1:8099", 0),
    ] {
        let folder = Folder::new();
        folder.write("gateway.toml", config(listen, origin));
        folder.write("robots.txt", ROBOTS);
        ctl(&folder, &["check", "--offline", "--config", "gateway.toml"]).exits(code);
    }
}

#[test]
fn two_sites_with_one_host() {
    let site = "[[sites]]\nhosts = [\"example.org\"]\norigin = \"http://127.0.0.1:9\"\n";
    check("check-two-sites", &format!("{site}{site}"), ROBOTS, &[], 1);
}

#[test]
fn a_missing_robots_txt() {
    check("check-missing-robots", &SITE.replace("robots.txt", "absent.txt"), ROBOTS, &[], 1);
}

#[test]
fn a_robots_txt_that_is_none() {
    check("check-empty-robots", SITE, "", &[], 1);
    check("check-html-robots", SITE, "<html><body>Not found</body></html>\n", &[], 1);
}

#[test]
fn a_bad_catalogue() {
    let folder = Folder::new();
    folder.write("gateway.toml", format!("catalogue = \"mine.toml\"\n{SITE}"));
    folder.write("robots.txt", ROBOTS);
    folder.write("mine.toml", "[[crawler]]\nname = \"Mine\"\nclient = \"human\"\n");
    let ended = ctl(&folder, &["check", "--offline", "--config", "gateway.toml"]).exits(1);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("mine.toml:3:"), "{ended:?}");
    assert_golden("check-bad-catalogue", &folder, &ended);
}

#[test]
fn several_errors_at_once() {
    check("check-several", "[[sites]]\nhosts = [\"a b\"]\norigin = \"nowhere\"\n", ROBOTS, &[], 1);
}

#[test]
fn no_configuration() {
    let folder = Folder::new();
    let ended = ctl(&folder, &["check", "--offline", "--config", "absent.toml"]);
    assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
    assert_golden("check-no-configuration", &folder, &ended);
}

#[test]
fn findings_of_the_robots_txt_are_told_with_their_line() {
    let robots = "User-agent: *\nDissallow: /a\nDisallow: b\nDisallow: /a b\n";
    let ended = check("check-findings", SITE, robots, &[], 0);
    let said = format!("{}{}", ended.stdout, ended.stderr);
    for place in ["robots.txt:2:", "robots.txt:3:", "robots.txt:4:"] {
        assert!(said.contains(place), "{place} in {said}");
    }
    check("check-findings-denied", SITE, robots, &["--deny", "warnings"], 1);
}

#[test]
fn choices_that_cost_something_are_warned_of() {
    for (name, site, settings) in [
        ("check-refusal-404", "refusal = { status = 404 }\n", ""),
        ("check-refusal-410", "refusal = { status = 410 }\n", ""),
        ("check-refusal-429", "refusal = { status = 429 }\n", ""),
        ("check-max-age", "", "notice = \"1h\"\nrobots_max_age = \"2h\"\n"),
    ] {
        let config = format!("{settings}{SITE}{site}");
        let ended = check(name, &config, ROBOTS, &[], 0);
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains("warning"), "{ended:?}");
        check(&format!("{name}-denied"), &config, ROBOTS, &["--deny", "warnings"], 1);
    }
    check(
        "check-refusal-403-denied",
        &format!("{SITE}refusal = {{ status = 403 }}\n"),
        ROBOTS,
        &["--deny", "warnings"],
        0,
    );
}

#[test]
fn files_of_the_fleet_that_cannot_be_read_are_warned_of() {
    let fleet = format!("{SITE}[fleet]\ndatabase = \"postgresql://a@db.example/robots\"\n");
    for (key, wrong) in [("password_file", "missing"), ("ca_file", "missing"), ("ca_file", "robots.txt")] {
        let ended =
            check(&format!("check-{key}-{wrong}"), &format!("{fleet}{key} = \"{wrong}\"\n"), ROBOTS, &[], 0);
        let warning = format!("{wrong}: cannot read `{key}`: ");
        assert!(format!("{}{}", ended.stdout, ended.stderr).contains(&warning), "{ended:?}");
    }
}

#[test]
fn what_google_makes_of_a_refusal_is_said_where_somebody_is_refused() {
    let said = |settings: &str, site: &str| {
        let folder = Folder::new();
        folder.write("gateway.toml", format!("{settings}{SITE}{site}"));
        folder.write("robots.txt", ROBOTS);
        // Worth knowing, and nothing to mend: a note, which `--deny warnings` lets pass.
        ctl(&folder, &["check", "--offline", "--config", "gateway.toml", "--deny", "warnings"])
            .exits(0)
            .stdout
    };
    let drops = |status: u16| {
        format!("note: site `default`: refusing with {status} has Google drop the page from its index")
    };
    assert!(!said("", "").contains("Google"), "nobody is refused");
    for settings in ["mode = \"enforce\"\n", "[crawlers.GPTBot]\nmode = \"enforce\"\n"] {
        assert!(said(settings, "").contains(&drops(403)), "{settings}");
    }
    for status in [402, 451] {
        assert!(
            said("", &format!("refusal = {{ status = {status} }}\n")).contains(&drops(status)),
            "{status}"
        );
    }
}

#[test]
fn the_name_with_www_or_without_it_is_offered_where_it_is_nobodys() {
    let site = |hosts: &str| format!("{SITE}hosts = {hosts}\n");
    for (hosts, other) in [
        ("[\"example.org\"]", Some("www.example.org")),
        ("[\"www.example.org\"]", Some("example.org")),
        ("[\"example.org\", \"www.example.org\"]", None),
        ("[\"example.org\", \"*.example.org\"]", None),
        ("[\"shop.example.org\"]", None),
    ] {
        let folder = Folder::new();
        folder.write("gateway.toml", site(hosts));
        folder.write("robots.txt", ROBOTS);
        let arguments = ["check", "--offline", "--deny", "warnings", "--config", "gateway.toml"];
        let said = ctl(&folder, &arguments).exits(0).stdout;
        let offer = other.map(|other| format!("but `{other}` does not: requests for it are answered 421"));
        match offer {
            Some(offer) => assert!(said.contains(&offer) && said.contains("note"), "{hosts}: {said}"),
            None => assert!(!said.contains("421"), "{hosts}: {said}"),
        }
    }
    let default = format!("{}[[sites]]\norigin = \"http://127.0.0.1:9\"\n", site("[\"example.org\"]"));
    let ended = check("check-sibling-default", &default, ROBOTS, &[], 0);
    assert!(!ended.stdout.contains("421"), "the default site takes it: {ended:?}");
    let beside = "listen = []\ntrusted_proxies = [\"127.0.0.1\"]\n[authorize]\n[[sites]]\nhosts = [\"example.org\"]\nrobots = \"robots.txt\"\n";
    let said = check("check-sibling-beside", beside, ROBOTS, &[], 0).stdout;
    assert!(said.contains("requests for it pass unjudged"), "{said}");
}

/// An origin that compresses, but not for proxies, as nginx does unless it is told otherwise.
fn compressing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
            let head: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let has = |field: &str| head.iter().any(|line| line.to_ascii_lowercase().starts_with(field));
            let is_client = has("accept-encoding: gzip") && !has("via:");
            let coding = if is_client { "Content-Encoding: gzip\r\n" } else { "" };
            let status = if has("get /robots.txt") { "404 Not Found" } else { "200 OK" };
            let _ = write!(
                stream,
                "HTTP/1.1 {status}\r\n{coding}Connection: close\r\nContent-Length: 4\r\n\r\npage"
            );
        }
    });
    address
}

#[test]
fn an_origin_that_stops_compressing_for_proxies() {
    let folder = Folder::new();
    folder.write("robots.txt", ROBOTS);
    let site = format!("[[sites]]\norigin = \"http://{}\"\nrobots = \"robots.txt\"\n", compressing());
    let told = |config: String| {
        folder.write("gateway.toml", config);
        let ended = ctl(&folder, &["check", "--config", "gateway.toml"]).exits(0);
        format!("{}{}", ended.stdout, ended.stderr)
    };
    let warned = told(site.clone());
    assert!(warned.contains("not for requests with the field `Via`"), "{warned}");
    assert!(warned.contains("gzip_proxied any;"), "{warned}");
    let quiet = told(format!("via = false\n{site}"));
    assert!(!quiet.contains("compresses"), "{quiet}");
}
