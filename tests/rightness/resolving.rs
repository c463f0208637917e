//! Judged path against forwarded path: whatever a real nginx resolves to a disallowed page is refused, and
//! recorded.
//!
//! nginx serves files here, so it is nginx that says what a target means, not the gateway's idea of it.

use crate::support::agents::GPTBOT;
use crate::support::origin::free_port;
use crate::support::wait::within;
use crate::support::{Client, Daemon, Folder, get};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROBOTS: &str = "User-agent: *\nDisallow: /private/\n";
const SECRET: &str = "the page that nobody may fetch";

/// nginx over a folder of files.
struct Files {
    process: Child,
    address: SocketAddr,
    _folder: Folder,
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Files {
    fn start() -> Self {
        let folder = Folder::new();
        let root = folder.path().display().to_string();
        for name in ["private", "open", "open/x"] {
            std::fs::create_dir(folder.join(name)).expect("a folder");
        }
        folder.write("private/page", SECRET);
        folder.write("open/page", "a page for everyone");
        let port = free_port();
        let config = format!(
            "daemon off; master_process off; pid {root}/pid; events {{}}\nhttp {{\n\
             client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;\n\
             uwsgi_temp_path {root}/u; scgi_temp_path {root}/s; access_log off;\n\
             server {{ listen 127.0.0.1:{port}; root {root}; }} }}"
        );
        let config = folder.write("nginx.conf", config);
        let process = Command::new("nginx")
            .args(["-p", &root, "-e", "stderr", "-c"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx (Debian: apt-get install nginx)");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let files = Self { process, address, _folder: folder };
        let ready = within(Duration::from_secs(10), || files.serves_secret("/private/page").then_some(()));
        assert!(ready.is_some(), "nginx does not serve its files");
        files
    }

    /// Whether nginx itself resolves the target to the secret page.
    fn serves_secret(&self, target: &str) -> bool {
        let response = Client::try_to(self.address).and_then(|mut client| client.try_send(&get(target)));
        response.is_ok_and(|response| response.text().contains(SECRET))
    }
}

/// Every spelling of one page that the promise names, in every place of the path, and their combinations.
fn spellings() -> Vec<String> {
    let slashes =
        ["/", "//", "///", "%2F", "%2f", "/%2f", "\\", "%5C", "%5c", "%252F", "/./", "/%2e/", "/%2E/"];
    let names = ["private", "%70rivate", "%2570rivate", "%70%72%69%76%61%74%65", "private;x", "private%3Bx"];
    let ups = ["", "/open/..", "/open/%2e%2e", "/open/x/../..", "/open/..;x", "/open//.."];
    let ends = ["/page", "//page", "%2Fpage", "/%70age", "%2fx/../page"];
    let mut all = Vec::new();
    for up in ups {
        for slash in slashes {
            for name in names {
                for end in ends {
                    all.push(format!("{up}{slash}{name}{end}"));
                }
            }
        }
    }
    all.retain(|target| target.starts_with('/'));
    all
}

#[test]
fn what_a_real_origin_resolves_to_a_disallowed_page_is_never_served() {
    let files = Files::start();
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .at(&format!("http://{}", files.address))
        .set("journal_rate = \"off\"")
        .start();
    let (mut client, mut reached) = (gateway.client(), Vec::new());
    let spellings = spellings();
    for target in &spellings {
        let response =
            client.try_send(&get(target).by(GPTBOT)).unwrap_or_else(|error| panic!("{target}: {error}"));
        assert!(!response.text().contains(SECRET), "{target} was served");
        if files.serves_secret(target) {
            assert_eq!(response.status, 403, "{target}");
            reached.push(target);
        }
    }
    println!("{} spellings, {} of them reach the page", spellings.len(), reached.len());
    assert!(reached.len() > 100, "{reached:?}");
    let journal = gateway.journal();
    for target in reached.iter().step_by(7) {
        let event = journal.event_of(target);
        assert!(matches!(event["event"].as_str(), Some("violation" | "variant")), "{event}");
    }
}

/// The kinds of spelling that the documentation names, one each.
#[test]
fn every_kind_is_refused_and_recorded() {
    let files = Files::start();
    let gateway = Daemon::with(ROBOTS).in_mode("enforce").at(&format!("http://{}", files.address)).start();
    for (target, kind) in [
        ("//private/page", "variant"),
        ("/%2Fprivate/page", "variant"),
        ("/private%2fpage", "variant"),
        ("/%5Cprivate/page", "variant"),
        ("/x/..%5cprivate/page", "variant"),
        ("/open/../private/page", "violation"),
        ("/open/%2e%2E/private/page", "violation"),
        ("/%2570rivate/page", "variant"),
        ("/%252Fprivate/page", "variant"),
        ("/open/%252e%252e/private/page", "variant"),
        ("/%70rivate/page", "violation"),
        ("http://localhost/private/page", "violation"),
        ("http://localhost//private/page", "variant"),
    ] {
        assert_eq!(gateway.send(&get(target).by(GPTBOT)).status, 403, "{target}");
        let event = gateway.journal().event_of(target.trim_start_matches("http://localhost"));
        assert_eq!(
            (event["event"].as_str(), event["action"].as_str()),
            (Some(kind), Some("refused")),
            "{event}"
        );
    }
}
