//! The guide in docs/: every command of its pages is run, every configuration in it loads, every page is listed.
//!
//! Each page has a machine of its own: programs, configuration and an access log are there, and a running gateway where
//! its commands ask one. A `text` block shows lines that the block before it must have printed.

use crate::sandbox::Sandbox;
use crate::{path, text};
use std::time::{Duration, Instant};

/// Pages that are tested here, and how many blocks of commands each has at least. Others have tests of their own.
const PAGES: [(&str, usize); 39] = [
    ("words", 0),
    ("install", 0),
    ("choose", 0),
    ("nginx", 0),
    ("apache", 0),
    ("caddy", 1),
    ("haproxy", 0),
    ("traefik", 0),
    ("envoy", 0),
    ("anubis", 0),
    ("behind-cdn", 0),
    ("kubernetes", 0),
    ("faq", 1),
    ("privacy", 0),
    ("cli", 0),
    ("metrics", 0),
    ("alerts", 1),
    ("quick-start", 2),
    ("replay", 4),
    ("audit-to-enforce", 5),
    ("search-ranking", 1),
    ("clients", 1),
    ("fields", 0),
    ("refusals", 2),
    ("pace", 1),
    ("origin-robots", 1),
    ("several-gateways", 1),
    ("notice", 2),
    ("journal", 0),
    ("configuration", 0),
    ("changing-files", 1),
    ("upgrade", 3),
    ("under-attack", 1),
    ("limits", 0),
    ("reading-the-report", 1),
    ("preferences", 3),
    ("tls", 1),
    ("verifying-crawlers", 0),
    ("ai-agents", 0),
];

/// What a page finds on its machine. The first page that a crawler asks for is disallowed by the sample robots.txt.
const SETUP: &str = "\
install -d /etc/robots-gateway /var/log/nginx
install -m 644 conf/gateway.toml rules/robots.txt /etc/robots-gateway/
install -m 644 systemd/robots-gateway.service /etc/systemd/system/
cat > /var/log/nginx/access.log <<'END'
192.0.2.1 - - [01/Nov/2026:10:00:00 +0000] \"GET /drafts/ HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)\"
192.0.2.2 - - [01/Nov/2026:10:00:01 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36\"
END
mkdir -p \"$(dirname /srv/gateway-b)\"
ln -s /var/lib/robots-gateway /srv/gateway-b
echo 192.0.2.0/24 > /etc/robots-gateway/twitterbot.txt
echo '<p>Pay first.</p>' > /etc/robots-gateway/pay.html
for second in $(seq 10 59); do echo \"192.0.2.3 - - [01/Nov/2026:10:00:$second +0000] \\\"GET /$second HTTP/1.1\\\" 200 5 \\\"-\\\" \\\"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)\\\"\"; done > /var/log/nginx/pace.log
gzip -c /var/log/nginx/access.log > /var/log/nginx/access.log.1.gz
";

/// Commands that need a gateway to ask.
const ASKING: [&str; 5] =
    ["gatewayctl backup", "gatewayctl mode", "gatewayctl status", "gatewayctl report", "gatewayctl reload"];

/// How long what was recorded may take to be in the store.
const PATIENCE: Duration = Duration::from_secs(20);

/// The blocks of a page: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

/// A gateway in the foreground would never end: it has to be running still when it is told to stop. A self-test ends.
fn bounded(commands: &str) -> String {
    let bound = |line: &str| {
        let place =
            "--admin off --state-dir /var/lib/robots-gateway --control \"$RUNTIME_DIRECTORY/fore.sock\"";
        if line.trim_start().starts_with("robots-gateway -") {
            format!("code=0; timeout 10 {} {place} || code=$?; [ $code = 124 ]\n", line.trim())
        } else {
            format!("{line}\n")
        }
    };
    commands.lines().map(bound).collect()
}

fn run(sandbox: &Sandbox, name: &str, commands: &str, code: i32) -> String {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let output = sandbox.run(&bounded(commands));
        let shown = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.code() == Some(code) {
            return shown;
        }
        let talk = String::from_utf8_lossy(&output.stderr);
        // Right after a start there is nothing in the store yet.
        let may_come = talk.contains("there is no store") || talk.contains("not set up yet");
        assert!(
            may_come && Instant::now() < deadline,
            "docs/{name}.md: {commands}exit {:?}, {code} expected\n{shown}{talk}",
            output.status.code()
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether a fragment of a configuration loads, with a site and a certificate where it has none.
fn check_toml(sandbox: &Sandbox, name: &str, fragment: &str) {
    // The tests of the proxies that ask run with these.
    if fragment.contains("[authorize]") {
        return;
    }
    let keys = "origin = \"http://127.0.0.1:3000\"\nrobots = \"robots.txt\"\n";
    if ["[[crawler]]", "[[control]]"].iter().any(|entry| fragment.starts_with(entry)) {
        let script = format!(
            "cat > /etc/robots-gateway/own.toml <<'END'\n{fragment}\nEND\n\
             printf 'catalogue = \"own.toml\"\\n[[sites]]\\n{}' > /etc/robots-gateway/page.toml\n\
             gatewayctl check --offline --config /etc/robots-gateway/page.toml",
            keys.replace('\n', "\\n")
        );
        run(sandbox, name, &script, 0);
        return;
    }
    certify(sandbox, name);
    let (has_site, has_origin) = (fragment.contains("[[sites]]"), fragment.contains("origin = "));
    let site = format!(
        "{}{}",
        if has_site { "" } else { "[[sites]]\n" },
        if has_site && has_origin { "" } else { keys }
    );
    let shown = "[[certificates]]\ncertificate = \"example.org.crt\"\nkey = \"example.org.key\"\n";
    let needs_certificate = fragment.contains("tls = true") && !fragment.contains("[[certificates]]");
    let site = format!("{site}{}", if needs_certificate { shown } else { "" });
    let script = format!(
        "cat > /etc/robots-gateway/page.toml <<'END'\n{fragment}\n{site}\nEND\n\
         gatewayctl check --offline --config /etc/robots-gateway/page.toml"
    );
    run(sandbox, name, &script, 0);
}

/// The certificates that the pages name, with their keys.
fn certify(sandbox: &Sandbox, name: &str) {
    let own = rcgen::generate_simple_self_signed(["example.org".to_owned()]).unwrap();
    let (certificate, key) = (own.cert.pem(), own.signing_key.serialize_pem());
    for (file, text) in
        [("example.org.crt", &certificate), ("example.org.key", &key), ("mirror-ca.pem", &certificate)]
    {
        run(sandbox, name, &format!("cat > /etc/robots-gateway/{file} <<'END'\n{text}END"), 0);
    }
}

fn walk(name: &str, least: usize) {
    let page = text(&format!("docs/{name}.md"));
    let sandbox = Sandbox::new();
    sandbox.install_programs();
    run(&sandbox, name, SETUP, 0);
    let blocks = blocks(&page);
    let commands = |(kind, _): &&(&str, &str)| kind.starts_with("sh");
    assert!(blocks.iter().filter(commands).count() >= least, "docs/{name}.md has {} blocks", blocks.len());
    if blocks.iter().filter(commands).any(|(_, body)| ASKING.iter().any(|verb| body.contains(verb))) {
        run(&sandbox, name, "sudo systemctl enable --now robots-gateway", 0);
    }
    let mut shown = String::new();
    for (kind, body) in blocks {
        // A file that is shown has a test of its own.
        if kind.contains(" file=") {
            continue;
        }
        match kind.split_once(" exit=").unwrap_or((kind, "0")) {
            ("sh", code) => shown = run(&sandbox, name, body, code.parse().unwrap()),
            ("text", _) => {
                for line in body.lines().map(|line| sandbox.rewrite(line)) {
                    assert!(
                        shown.lines().any(|other| other == line),
                        "docs/{name}.md: `{line}` not in\n{shown}"
                    );
                }
            }
            ("toml", _) => check_toml(&sandbox, name, body),
            ("json", _) => drop(serde_json::from_str::<serde_json::Value>(body).unwrap()),
            // Other programs' files, which the tests of those proxies read, commands that need another machine, and what
            // only systemd hands over.
            (
                "nginx" | "apache" | "caddyfile" | "haproxy" | "yaml" | "promql" | "console" | "ini"
                | "toml unit",
                _,
            ) => {}
            (kind, _) => panic!("docs/{name}.md: a block of an unknown kind: {kind}"),
        }
    }
}

#[test]
fn the_commands_of_every_page_run() {
    for (name, least) in PAGES {
        walk(name, least);
    }
}

/// A file of the project that a page shows stands in it as it is, so that the page can be read anywhere.
/// `GOLDEN=write` puts it there.
#[test]
fn files_that_pages_show_are_shown_as_they_are() {
    let mut seen = 0;
    for entry in std::fs::read_dir(path("docs")).unwrap().flatten() {
        let page = entry.path();
        if page.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        let written = std::fs::read_to_string(&page).unwrap();
        assert!(!written.contains("{{#"), "{}: only mdbook can read this", page.display());
        let mut shown = String::new();
        for (at, part) in written.split("```").enumerate() {
            let separator = if at > 0 { "```" } else { "" };
            let first = part.lines().next().unwrap_or_default();
            let file = first.split_once(" file=").map(|(_, file)| file).filter(|_| at % 2 == 1);
            seen += usize::from(file.is_some());
            match file {
                Some(file) => shown.extend([separator, first, "\n", &text(file)]),
                None => shown.extend([separator, part]),
            }
        }
        if std::env::var("GOLDEN").is_ok_and(|word| word == "write") {
            std::fs::write(&page, &shown).unwrap();
        }
        assert!(
            shown == written,
            "{}: a file of conf/ has changed; GOLDEN=write cargo test --test shipped files_that_pages_show",
            page.display()
        );
    }
    assert!(seen >= 10, "only {seen} files seen");
}

/// What links in a page lead to, other than to the web.
fn links(page: &str) -> Vec<&str> {
    let prose = page.split("```").step_by(2);
    let targets = prose.flat_map(|part| part.split("](").skip(1)).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://")).collect()
}

/// The places in a page that a link can name: its headings, as mdbook and others make them.
fn anchors(page: &str) -> Vec<String> {
    let prose = page.split("```").step_by(2).flat_map(str::lines);
    let headings = prose
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')));
    let anchor = |heading: &str| -> String {
        let kept =
            heading.trim().chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
        kept.map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_page_is_listed_once_and_every_link_leads_somewhere() {
    let summary = text("docs/SUMMARY.md");
    let listed = links(&summary);
    assert!(listed.len() >= PAGES.len(), "{listed:?}");
    let mut pages = vec!["SUMMARY.md".to_owned()];
    for entry in std::fs::read_dir(path("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if std::path::Path::new(&name).extension().is_some_and(|kind| kind == "md") && name != "SUMMARY.md" {
            let count = listed.iter().filter(|target| **target == name).count();
            assert_eq!(count, 1, "docs/{name} in docs/SUMMARY.md");
            pages.push(name);
        }
    }
    let mut seen = 0;
    for name in &pages {
        for target in links(&text(&format!("docs/{name}"))) {
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { name } else { file };
            // A rendered guide has its own pages, and nothing of the folders around them.
            assert!(!file.contains('/') && path("docs").join(file).exists(), "docs/{name} links to {target}");
            let anchors = anchors(&text(&format!("docs/{file}")));
            assert!(
                anchor.is_empty() || anchors.iter().any(|known| known == anchor),
                "docs/{name} links to {target}"
            );
            seen += 1;
        }
    }
    assert!(seen > listed.len(), "only {seen} links seen");
    assert_eq!(anchors("# A b\n## What it's, `c`?\n```sh\n# none\n```\n"), ["a-b", "what-its-c"]);
}

/// Files are moved and renamed, and whoever contributes looks for them.
#[test]
fn the_files_that_contributors_are_sent_to_are_there() {
    let page = text("CONTRIBUTING.md");
    let is_file = |name: &&str| {
        let folders =
            ["src/", "tests/", "crates/", "conf/", "rules/", "docs/", "benches/", ".github/", ".ci/"];
        folders.iter().any(|folder| name.starts_with(folder)) && !name.contains([' ', '*'])
    };
    let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_file).collect();
    assert!(named.len() > 40, "only {} files named", named.len());
    let is_there = |name: &str| path(name).exists() || path(&format!("{name}.rs")).exists();
    let gone: Vec<_> = named.into_iter().filter(|name| !is_there(name)).collect();
    assert!(gone.is_empty(), "CONTRIBUTING.md names {gone:?}");
}
