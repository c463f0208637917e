//! The page on which a request and a robots.txt are tried: it says what the tool says, and strangers can add nothing to it.

use crate::html::ParsedPage;
use crate::scene::Watched;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::{Client, ClientResponse, Daemon, Folder, Nginx, command, request};

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\n";

fn form(fields: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

#[track_caller]
fn tried(watched: &Watched, fields: &[(&str, &str)]) -> ParsedPage {
    let asked = request("POST", "/test").with("Content-Type", "application/x-www-form-urlencoded");
    page(&Client::to(watched.admin).send(&asked.body(form(fields).into_bytes())))
}

#[track_caller]
fn page(response: &ClientResponse) -> ParsedPage {
    assert_eq!(response.status, 200, "{}", response.text());
    let policy = response.header("Content-Security-Policy").expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("form-action 'self'"), "{policy}");
    assert!(!policy.contains("script"), "{policy}");
    let page = ParsedPage::parse(&response.text()).unwrap_or_else(|fault| panic!("{fault}"));
    let meta = page.values("content").find(|content| content.contains("default-src")).expect("a policy");
    assert!(policy.starts_with(meta), "{meta}");
    assert_eq!(page.inaccessible(), Vec::<String>::new());
    page
}

/// What stands in the page behind a heading.
fn below<'p>(page: &'p ParsedPage, heading: &str) -> &'p str {
    page.text.split_once(heading).map_or("", |(_, rest)| rest)
}

#[test]
fn it_explains_a_request_and_lints_a_file_as_the_tool_does() {
    let origin = Nginx::start();
    let watched = Watched::start(Daemon::with(ROBOTS).in_front_of(&origin).in_mode("audit"));
    let report = watched.ask("/?since=1h");
    assert!(report.text().contains("href=\"/test\"") || report.status == 503, "{}", report.text());
    let empty = page(&watched.ask("/test"));
    assert!(!empty.text.contains("What becomes of the request"));

    let robots = watched.gateway.robots();
    let explained = |robots: &std::path::Path, target: &str| {
        let robots = robots.to_str().expect("UTF-8");
        let arguments = ["explain", "--robots", robots, "--user-agent", GPTBOT, "--target", target];
        command::ctl(arguments).stdout.trim().to_owned()
    };
    let (told, said) = (explained(&robots, "/private/a"), "What becomes of the request");
    let shown = tried(&watched, &[("user_agent", GPTBOT), ("target", "/private/a")]);
    assert!(told.contains("disallow") && below(&shown, said).contains(&told), "{told}\n{}", shown.text);
    let by_query = format!("/test?{}", form(&[("user_agent", GPTBOT), ("target", "/private/a")]));
    assert!(below(&page(&watched.ask(&by_query)), said).contains(&told));

    // A page of another site, in the operator's browser, has nothing explained, and no body of it is read.
    let strange = |asked: crate::support::Request| {
        Client::to(watched.admin).send(&asked.with("Sec-Fetch-Site", "cross-site")).status
    };
    assert_eq!(strange(crate::support::get(&by_query)), 403);
    let fields = form(&[("user_agent", GPTBOT), ("target", "/private/a")]);
    assert_eq!(strange(request("POST", "/test").body(fields.into_bytes())), 200, "an empty form");

    // Another file, as a form sends its line ends, with what is odd in it.
    let folder = Folder::new();
    let text = "User-agent: *\nDissallow: /open\n".repeat(400);
    let other = folder.write("robots.txt", &text);
    let told = explained(&other, "/open");
    let shown = tried(
        &watched,
        &[("user_agent", GPTBOT), ("target", "/open"), ("robots", &text.replace('\n', "\r\n"))],
    );
    assert!(below(&shown, said).contains(&told), "{told}\n{}", shown.text);
    let linted = command::ctl(["lint", other.to_str().expect("UTF-8")]).stdout;
    let first = linted.lines().next().expect("a finding");
    let found = below(&shown, "What is odd in this robots.txt");
    assert!(found.contains(first) && found.matches("misspelt-record").count() >= 300, "{first}");

    let line = format!(
        "203.0.113.7 - - [19/Dec/2025:13:40:30 +0000] \"GET /private/b HTTP/1.1\" 200 12 \"-\" \"{GPTBOT}\""
    );
    let shown = tried(&watched, &[("line", &line)]);
    assert!(below(&shown, said).contains("crawler  GPTBot") && below(&shown, said).contains("disallow"));
    let person = tried(&watched, &[("user_agent", CHROME), ("target", "/private/a")]);
    assert!(below(&person, said).contains("not-judged"));
    // Nothing of it was counted.
    assert_eq!(watched.gateway.journal().events(), Vec::<serde_json::Value>::new());
}

#[test]
fn what_cannot_be_tried_is_said_and_what_is_hostile_stays_text() {
    let origin = Nginx::start();
    let watched = Watched::start(Daemon::with(ROBOTS).in_front_of(&origin));
    for (fields, says) in [
        (&[("target", "private")][..], "invalid request target `private`"),
        (&[("target", "/"), ("address", "here")], "invalid address `here`"),
        (&[("line", "no line of a log")], "the line of a log cannot be read"),
    ] {
        let shown = tried(&watched, fields);
        assert!(shown.text.contains(says), "{says}: {}", shown.text);
    }
    let hostile = "\"><script>alert(1)</script></textarea>\u{202e}\u{1b}[31m";
    let shown = tried(&watched, &[("user_agent", hostile), ("target", "/"), ("robots", hostile)]);
    assert!(shown.of("script").next().is_none() && shown.text.contains("<script>"));
    let large = vec![b'a'; 3 << 20];
    let sent = Client::to(watched.admin).try_send(&request("POST", "/test").body(large));
    assert!(sent.map_or(true, |answer| answer.status == 413));
    assert_eq!(Client::to(watched.admin).send(&request("DELETE", "/test")).status, 405);
}
