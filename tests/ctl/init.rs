//! `gatewayctl init`: files to start with, which `check` accepts and the gateway runs on.

use crate::golden::{assert_golden, ctl};
use crate::support::origin::ORIGINS_ROBOTS;
use crate::support::scripted::{Scripted, answer, file};
use crate::support::{Folder, Nginx};
use std::fs;

const NOBODY: &str = "http://127.0.0.1:9";

#[test]
fn what_it_writes_passes_check() {
    for more in [
        &["--origin", NOBODY][..],
        &["--origin", NOBODY, "--host", "example.org", "--host", "*.example.org", "--mode", "enforce"],
        &["--origin", NOBODY, "--host", "bücher.example"],
    ] {
        let folder = Folder::new();
        ctl(&folder, &[&["init"], more, &["site"]].concat()).exits(0);
        let check =
            ctl(&folder, &["check", "--offline", "--deny", "warnings", "--config", "site/gateway.toml"]);
        let config = fs::read_to_string(folder.join("site/gateway.toml")).expect("a configuration");
        assert_eq!(check.code, Some(0), "{check:?}\n{config}");
        for asked in more.iter().filter(|asked| !asked.starts_with("--") && asked.is_ascii()) {
            assert!(config.contains(&format!("\"{asked}\"")), "{asked} in {config}");
        }
    }
}

#[test]
fn it_says_what_it_did() {
    let folder = Folder::new();
    folder.write("rules.txt", "User-agent: *\nDisallow: /private\n");
    let ended = ctl(&folder, &["init", "--origin", NOBODY, "--robots", "rules.txt", "site"]).exits(0);
    assert_golden("init", &folder, &ended);
    let written = fs::read(folder.join("site/robots.txt")).expect("a robots.txt");
    assert_eq!(written, b"User-agent: *\nDisallow: /private\n");
    let ended = ctl(&folder, &["init", "--origin", NOBODY, "--format", "json", "other"]).exits(0);
    assert_eq!(ended.json()["source"], "sample");
    assert_golden("init-json", &folder, &ended);
}

/// The guide's own command, run on the file that init wrote.
#[test]
fn the_guides_way_to_enforce_works_on_what_it_writes() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/audit-to-enforce.md");
    let guide = fs::read_to_string(guide).expect("a page of the guide");
    let command = guide.lines().find(|line| line.starts_with("sed -i ")).expect("the command");
    for mode in ["audit", "off"] {
        let folder = Folder::new();
        ctl(&folder, &["init", "--origin", NOBODY, "--mode", mode, "site"]).exits(0);
        let path = folder.join("site/gateway.toml");
        let before = fs::read_to_string(&path).expect("a configuration");
        let here = command.replace("/etc/robots-gateway/gateway.toml", path.to_str().expect("UTF-8"));
        assert!(
            std::process::Command::new("sh").args(["-c", &here]).status().is_ok_and(|ended| ended.success())
        );
        let after = fs::read_to_string(&path).expect("a configuration");
        assert_eq!(after, before.replace(&format!("\nmode = \"{mode}\""), "\nmode = \"enforce\""), "{here}");
        assert_ne!(after, before);
        ctl(&folder, &["check", "--offline", "--config", "site/gateway.toml"]).exits(0);
    }
}

/// What is a comment says nothing, and each example says what it is meant to once its `#` is removed.
#[test]
fn examples_of_preferences_are_comments_that_become_records() {
    for robots in [&[][..], &["--robots", "rules.txt"]] {
        let folder = Folder::new();
        folder.write("rules.txt", "User-agent: GPTBot\nDisallow: /");
        ctl(&folder, &[&["init", "--origin", NOBODY, "--preferences"], robots, &["site"]].concat()).exits(0);
        let written = fs::read_to_string(folder.join("site/robots.txt")).expect("a robots.txt");
        let explain = |file: &str| {
            let ended = ctl(
                &folder,
                &[
                    "explain", "--token", "FooBot", "--target", "/open/x", "--robots", file, "--format",
                    "json",
                ],
            );
            ended.json()["preferences"].clone()
        };
        assert_eq!(explain("site/robots.txt"), serde_json::json!([]));
        let is_record = |line: &&str| {
            ["#User-agent: *", "#Content-", "#License:"].iter().any(|start| line.starts_with(start))
        };
        let records = written.lines().map(|line| if is_record(&line) { &line[1..] } else { line });
        folder.write("said.txt", records.collect::<Vec<_>>().join("\n") + "\n");
        let said = explain("said.txt");
        let values: Vec<_> =
            said.as_array().expect("a list").iter().map(|one| one["value"].clone()).collect();
        assert_eq!(
            values,
            [
                "train-ai=y, search=y",
                "search=yes, ai-input=yes, ai-train=no",
                "https://example.org/license.xml"
            ]
        );
        ctl(&folder, &["lint", "--deny", "warnings", "said.txt"]).exits(0);
        let control = "\n#User-agent: Google-Extended\n#Disallow: /\n";
        assert!(written.contains(control), "{written}");
        ctl(&folder, &["check", "--offline", "--deny", "warnings", "--config", "site/gateway.toml"]).exits(0);
    }
}

#[test]
fn it_overwrites_nothing() {
    for (name, more) in [("gateway.toml", &[][..]), ("robots.txt", &["--robots", "rules.txt"])] {
        let folder = Folder::new();
        folder.write(name, "mine");
        folder.write("rules.txt", "User-agent: *\nDisallow: /private\n");
        let ended = ctl(&folder, &[&["init", "--origin", NOBODY], more, &["."]].concat()).exits(2);
        assert_golden(&format!("init-there-{name}"), &folder, &ended);
        assert_eq!(fs::read(folder.join(name)).expect("still there"), b"mine");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
    }
}

/// A robots.txt that the operator has put in place already is the one that is taken.
#[test]
fn a_robots_txt_that_is_in_place_is_kept() {
    let folder = Folder::new();
    folder.write("robots.txt", "User-agent: *\nDisallow: /private\n");
    let ended = ctl(&folder, &["init", "--origin", NOBODY, "--format", "json", "."]).exits(0).json();
    assert_eq!(ended["source"], "kept", "{ended}");
    assert_eq!(fs::read(folder.join("robots.txt")).expect("kept"), b"User-agent: *\nDisallow: /private\n");
    ctl(&folder, &["check", "--offline", "--config", "gateway.toml"]).exits(0);
}

#[test]
fn what_cannot_be_meant_is_refused_before_anything_is_written() {
    let folder = Folder::new();
    folder.write("page.html", "<html></html>");
    for bad in [
        &["--origin", "nowhere"][..],
        &["--host", "a b"],
        &["--mode", "loud"],
        &["--robots", "absent.txt"],
        &["--robots", "page.html"],
    ] {
        ctl(&folder, &[&["init"], bad, &["site"]].concat()).exits(2);
        assert!(!folder.join("site").exists(), "{bad:?}");
    }
}

#[test]
fn the_origins_own_robots_txt_is_taken_or_compared_with() {
    let origin = Nginx::start();
    let folder = Folder::new();
    let ended =
        ctl(&folder, &["init", "--origin", &origin.url(), "--format", "json", "site"]).exits(0).json();
    assert_eq!(ended["source"], "origin", "{ended}");
    assert_eq!(fs::read(folder.join("site/robots.txt")).expect("a robots.txt"), ORIGINS_ROBOTS.as_bytes());
    folder.write("rules.txt", "User-agent: *\nDisallow: /other\n");
    let arguments = ["init", "--origin", &origin.url(), "--robots", "rules.txt", "--format", "json", "two"];
    let ended = ctl(&folder, &arguments).exits(0).json();
    assert!(
        ended["warnings"][0].as_str().is_some_and(|text| text.contains("serves another robots.txt")),
        "{ended}"
    );
}

#[test]
fn the_other_name_of_a_host_is_offered() {
    for (hosts, line) in [
        (&["--host", "example.org"][..], Some("#hosts = [\"example.org\", \"www.example.org\"]\n")),
        (&["--host", "www.example.org"], Some("#hosts = [\"www.example.org\", \"example.org\"]\n")),
        (&["--host", "example.org", "--host", "www.example.org"], None),
        (&["--host", "example.org", "--host", "*.example.org"], None),
    ] {
        let folder = Folder::new();
        let said = ctl(&folder, &[&["init", "--origin", NOBODY], hosts, &["site"]].concat()).exits(0).stdout;
        let config = fs::read_to_string(folder.join("site/gateway.toml")).expect("a configuration");
        match line {
            Some(line) => {
                assert!(
                    config.contains(line) && said.contains("is not a host of the site"),
                    "{said}{config}"
                );
            }
            None => {
                assert!(!config.contains("other name") && !said.contains("is not a host"), "{said}{config}");
            }
        }
    }
}

/// The files for each proxy that can be asked for.
const BESIDE: [(&str, &[&str]); 5] = [
    ("nginx", &["nginx-upstream.conf", "nginx.conf"]),
    ("caddy", &["Caddyfile"]),
    ("traefik", &["traefik.yaml"]),
    ("haproxy", &["haproxy.cfg", "robots-gateway.lua"]),
    ("envoy", &["envoy.yaml"]),
];

#[test]
fn beside_a_proxy_it_writes_both_sides() {
    for (proxy, files) in BESIDE {
        let folder = Folder::new();
        folder.write("rules.txt", "User-agent: *\nDisallow: /private\n");
        let asked = ["init", "--beside", proxy, "--robots", "rules.txt", "--host", "git.example.org"];
        let ended = ctl(&folder, &[&asked[..], &["--format", "json", "site"]].concat()).exits(0).json();
        assert_eq!(ended["beside"].as_array().map(Vec::len), Some(files.len()), "{ended}");
        for file in files {
            let text = fs::read_to_string(folder.join("site").join(file)).expect("a file for the proxy");
            for left in ["COPY_NAME", "LUA_FILE", "HOST", "example.org {"] {
                assert!(!text.replace("git.example.org", "").contains(left), "{left} in {file}");
            }
        }
        let config = fs::read_to_string(folder.join("site/gateway.toml")).expect("a configuration");
        for line in ["listen = []", "trusted_proxies = [\"127.0.0.1\", \"::1\"]", "[authorize]"] {
            assert!(config.lines().any(|other| other == line), "{line} in {config}");
        }
        assert!(!config.contains("\norigin") && config.contains("any other passes unjudged"), "{config}");
        let check = ["check", "--deny", "warnings", "--config", "site/gateway.toml"];
        let said = ctl(&folder, &check).exits(0).stdout;
        assert!(said.contains("has no origin"), "{said}");
        // A second time nothing is touched.
        ctl(&folder, &[&asked[..], &["site"]].concat()).exits(2);
    }
}

/// What the package brings says nothing yet, so it is replaced in place; who may read it stays.
#[test]
fn beside_the_configuration_of_the_package() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new();
    folder.write("gateway.toml", include_str!("../../conf/gateway.toml"));
    folder.write("robots.txt", "User-agent: *\nDisallow: /private\n");
    fs::set_permissions(folder.join("gateway.toml"), fs::Permissions::from_mode(0o640)).expect("a file");
    let asked = ["init", "--beside", "nginx", "--host", "example.org", "--www", "."];
    let ended = ctl(&folder, &asked).exits(0);
    assert_golden("init-beside-nginx", &folder, &ended);
    let about = fs::metadata(folder.join("gateway.toml")).expect("a configuration");
    assert_eq!(about.permissions().mode() & 0o777, 0o640);
    let config = fs::read_to_string(folder.join("gateway.toml")).expect("a configuration");
    assert!(config.contains("\nhosts = [\"example.org\", \"www.example.org\"]\n"), "{config}");
    ctl(&folder, &["check", "--offline", "--deny", "warnings", "--config", "gateway.toml"]).exits(0);
    // The same once more changes nothing.
    let again = ctl(&folder, &[&asked[..], &["--format", "json"]].concat()).exits(0).json();
    assert_eq!(again["configuration"], "kept", "{again}");
    assert_eq!(fs::read_to_string(folder.join("gateway.toml")).expect("a configuration"), config);
}

#[test]
fn beside_a_configuration_of_the_operators_own_it_says_what_to_add() {
    let folder = Folder::new();
    folder.write("gateway.toml", "mode = \"enforce\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\n");
    folder.write("rules.txt", "User-agent: *\nDisallow: /private\n");
    let asked = ["init", "--beside", "caddy", "--robots", "rules.txt", "--host", "example.org", "."];
    let ended = ctl(&folder, &asked).exits(0);
    assert_golden("init-beside-own", &folder, &ended);
    let config = fs::read_to_string(folder.join("gateway.toml")).expect("a configuration");
    assert!(config.starts_with("mode = \"enforce\"\n[[sites]]") && config.lines().count() == 3, "{config}");
    assert!(folder.join("Caddyfile").exists());
}

#[test]
fn beside_a_proxy_what_the_site_publishes_is_taken() {
    let (site, folder) = (Nginx::start(), Folder::new());
    let asked = [
        "init",
        "--beside",
        "nginx",
        "--host",
        "example.org",
        "--origin",
        &site.url(),
        "--format",
        "json",
        "site",
    ];
    let ended = ctl(&folder, &asked).exits(0).json();
    assert_eq!(ended["source"], "origin", "{ended}");
    assert_eq!(fs::read(folder.join("site/robots.txt")).expect("a robots.txt"), ORIGINS_ROBOTS.as_bytes());
}

/// A redirect or an error does not say that the site publishes nothing.
#[test]
fn a_robots_txt_that_is_not_given_out_is_missed_and_one_that_has_moved_is_found() {
    let (site, folder) = (Scripted::new(), Folder::new());
    let at = site.url();
    for (status, name) in [("503 Service Unavailable", "a"), ("301 Moved Permanently", "b")] {
        let moved = answer(status, "Location: /moved.txt\r\n", "");
        site.answers(move |_| Some(moved.clone()));
        let asked =
            ["init", "--beside", "nginx", "--host", "example.org", "--origin", &at, "--format", "json", name];
        let ended = ctl(&folder, &asked).exits(0).json();
        assert_eq!(ended["source"], "sample", "{ended}");
        let why = format!("did not give the site's robots.txt: the answer is {}", &status[..3]);
        assert!(ended["warnings"].to_string().contains(&why), "{ended}");
    }
    // By its own name it is asked as a crawler would.
    site.answers(|head| {
        let moved = answer("301 Moved Permanently", "Location: /robots.txt?moved\r\n", "");
        Some(if head.contains("?moved") { file(ORIGINS_ROBOTS) } else { moved })
    });
    let ended = ctl(&folder, &["init", "--origin", &at, "--format", "json", "c"]).exits(0).json();
    assert_eq!(ended["source"], "origin", "{ended}");
}

#[test]
fn beside_a_proxy_a_published_robots_txt_is_missed() {
    let folder = Folder::new();
    let ended = ctl(&folder, &["init", "--beside", "nginx", "--format", "json", "site"]).exits(0).json();
    assert!(ended["warnings"][0].as_str().is_some_and(|text| text.contains("was not looked for")), "{ended}");
    let asked = [
        "init",
        "--beside",
        "nginx",
        "--host",
        "example.org",
        "--origin",
        NOBODY,
        "--format",
        "json",
        "away",
    ];
    let ended = ctl(&folder, &asked).exits(0).json();
    let warnings = ended["warnings"].to_string();
    assert!(warnings.contains("did not give the site's robots.txt"), "{ended}");
    let origin = Nginx::start();
    let asked = ["init", "--beside", "nginx", "--origin", &origin.url(), "--format", "json", "other"];
    assert_eq!(ctl(&folder, &asked).exits(0).json()["source"], "origin");
    ctl(&folder, &["init", "--beside", "lighttpd", "third"]).exits(2);
}
