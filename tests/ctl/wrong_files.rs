//! Forty configurations with a mistake, and what is said of each.

use crate::golden::{assert_golden, ctl};
use crate::support::{Ended, Folder};
use std::fmt::Write as _;
use std::time::Duration;

/// A site, which stands behind what is wrong above it.
const SITE: &str = "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"robots.txt\"\n";

/// What is wrong above the site.
const ABOVE: [&str; 26] = [
    "listen = [\"localhost:80\"]",
    "listen = \"127.0.0.1:80\"",
    "listen = [\"127.0.0.1\"]",
    "mod = \"audit\"",
    "mode = \"block\"",
    "mode = \"Enforce\"",
    "mode = audit",
    "notice = \"1 day\"",
    "notice = 24",
    "journal_max_size = \"100MB\"",
    "journal_rate = \"100\"",
    "robots_max_size = \"1KiB\"",
    "retention = \"-1d\"",
    "admin = \"0.0.0.0:9309\"",
    "admin_token = \"\"",
    "threads = 0",
    "trusted_proxies = [\"10.0.0.0/33\", \"proxy.example\"]",
    "exempt = [\"10.0.0\"]",
    "addresses = \"partial\"",
    "catalogue = { url = \"https://example.org/crawlers.toml\" }",
    "catalogue = { url = \"http://example.org/crawlers.toml\", public_key = \"secret\" }",
    "[log]\nlevel = \"loud\"",
    "[timeouts]\nclient_header = \"soon\"",
    "[purposes.ai-trian]\nmode = \"enforce\"",
    "[crawlers.GPTBot]\nrate = \"60/min\"",
    "[clients]\nbrowser = \"enforce\"",
];

/// What is wrong in the site, or in place of it.
const WHOLE: [&str; 14] = [
    "",
    "[[sites]]\nrobots = \"robots.txt\"\n",
    "[[sites]]\norigin = \"127.0.0.1:3000\"\n",
    "[[sites]]\norigin = \"ftp://127.0.0.1\"\n",
    "[[sites]]\norigin = \"http://user:word@127.0.0.1:9\"\n",
    "[[sites]]\nhosts = [\"https://example.org/\"]\norigin = \"http://127.0.0.1:9\"\n",
    "[[sites]]\nhosts = [\"*.*.example\", \"example.org:80\"]\norigin = \"http://127.0.0.1:9\"\n",
    "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = \"absent.txt\"\n",
    "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = { file = \"robots.txt\", from = \"origin\" }\n",
    "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrobots = { from = \"origin\", block = [\"ai-trian\"], every = \"2 h\" }\n",
    "[[sites]]\norigin = \"http://127.0.0.1:9\"\nrefusal = { status = 200, contact = 7 }\n",
    "[[sites]]\norigin = \"http://127.0.0.1:9\"\n[[sites]]\norigin = \"http://127.0.0.1:8\"\n",
    "[[sites]]\nhosts = [\"a.example\"]\norigin = \"http://127.0.0.1:9\"\n[[sites]]\nhosts = [\"A.EXAMPLE.\"]\norigin = \"http://127.0.0.1:8\"\n",
    "[sites]\norigin = \"http://127.0.0.1:9\"\n",
];

#[test]
fn each_is_told_with_its_place_and_what_to_write() {
    let folder = Folder::new();
    folder.write("robots.txt", "User-agent: *\nDisallow: /private\n");
    let files = ABOVE.map(|wrong| format!("{wrong}\n{SITE}")).into_iter().chain(WHOLE.map(str::to_owned));
    let mut all = String::new();
    for (number, text) in files.enumerate() {
        folder.write("gateway.toml", &text);
        let ended = ctl(&folder, &["check", "--offline", "--config", "gateway.toml"]).exits(1);
        assert!(ended.stdout.contains(": error: "), "{text}\n{ended:?}");
        // Writing to a `String` cannot fail.
        let _ = write!(all, "== {}\n{text}-- \n{}{}\n", number + 1, ended.stdout, ended.stderr);
    }
    let ended = Ended { code: Some(1), stdout: all, stderr: String::new(), took: Duration::ZERO };
    assert_golden("check-wrong-files", &folder, &ended);
}
