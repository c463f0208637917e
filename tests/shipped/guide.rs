//! The guide in docs/: every command of its pages is run, every configuration in it loads, every page is listed.
//!
//! Each page has a machine of its own: programs, configuration and an access log are there, and a running gateway where
//! its commands ask one. A `text` block shows lines that the block before it must have printed.

use crate::sandbox::Sandbox;
use crate::{path, text};
use std::time::{Duration, Instant};

/// Pages that are tested here, and how many blocks of commands each has at least. Others have tests of their own.
const PAGES: [(&str, usize); 13] = [
    ("quick-start", 2),
    ("replay", 4),
    ("audit-to-enforce", 5),
    ("search-ranking", 1),
    ("clients", 1),
    ("refusals", 2),
    ("origin-robots", 2),
    ("several-gateways", 1),
    ("journal", 0),
    ("configuration", 0),
    ("upgrade", 2),
    ("under-attack", 1),
    ("limits", 0),
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
gzip -c /var/log/nginx/access.log > /var/log/nginx/access.log.1.gz
";

/// Commands that need a gateway to ask.
const ASKING: [&str; 4] = ["gatewayctl mode", "gatewayctl status", "gatewayctl report", "gatewayctl reload"];

/// How long what was recorded may take to be in the store.
const PATIENCE: Duration = Duration::from_secs(20);

/// The blocks of a page: what stands behind the fence, and the text.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect()
}

/// A gateway in the foreground would never end: it has to be running still when it is told to stop.
fn bounded(commands: &str) -> String {
    let bound = |line: &str| {
        let place =
            "--admin off --state-dir /var/lib/robots-gateway --control \"$RUNTIME_DIRECTORY/fore.sock\"";
        if line.trim_start().starts_with("robots-gateway ") {
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

/// Whether a fragment of a configuration loads, with a site where it has none.
fn check_toml(sandbox: &Sandbox, name: &str, fragment: &str) {
    if let Some(rest) = fragment.trim().strip_prefix("{{#include ") {
        let file = rest.trim_end_matches("}}");
        assert!(path("docs").join(file).exists(), "docs/{name}.md includes {file}");
        return;
    }
    let site = "[[sites]]\norigin = \"http://127.0.0.1:3000\"\nrobots = \"robots.txt\"\n";
    let site = if fragment.contains("[[sites]]") { "" } else { site };
    let script = format!(
        "cat > /etc/robots-gateway/page.toml <<'END'\n{fragment}\n{site}\nEND\n\
         gatewayctl check --offline --config /etc/robots-gateway/page.toml"
    );
    run(sandbox, name, &script, 0);
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

/// The targets of links in a page that are files of this project.
fn links(page: &str) -> Vec<&str> {
    let targets = page.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#')).collect()
}

#[test]
fn every_page_is_listed_and_every_link_leads_somewhere() {
    let summary = text("docs/SUMMARY.md");
    let listed = links(&summary);
    assert!(listed.len() >= PAGES.len(), "{listed:?}");
    for entry in std::fs::read_dir(path("docs")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if std::path::Path::new(&name).extension().is_none_or(|kind| kind != "md") || name == "SUMMARY.md" {
            continue;
        }
        assert!(listed.contains(&name.as_str()), "docs/{name} is missing in docs/SUMMARY.md");
        for target in links(&text(&format!("docs/{name}"))) {
            let file = target.split('#').next().unwrap_or_default();
            assert!(path("docs").join(file).exists(), "docs/{name} links to {target}");
        }
    }
    for target in listed {
        assert!(path("docs").join(target).exists(), "docs/SUMMARY.md links to {target}");
    }
}
