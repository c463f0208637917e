//! `action` of `[crawlers.NAME]` and `[purposes.NAME]`: what a violation is answered with in place of a refusal.

use crate::authorize::{Door, doors, robots_txt};
use crate::support::agents::{BINGBOT, CHROME, CLAUDEBOT, GOOGLEBOT, GPTBOT};
use crate::support::{Client, Daemon, Nginx, get, until};

const ROBOTS: &str = "User-agent: *\nDisallow: /private\n";

const TERMS: &str = "https://example.org/terms";

fn actions(tarpit: &Nginx) -> String {
    format!(
        "[crawlers.GPTBot]\naction = {{ redirect = \"{TERMS}\" }}\n\
         [crawlers.ClaudeBot]\naction = {{ answer = {{ status = 402, body = \"pay.html\" }} }}\n\
         [crawlers.bingbot]\naction = {{ upstream = \"{}\" }}\n\
         [purposes.search]\naction = \"refuse\"\n",
        tarpit.url()
    )
}

#[test]
fn a_violation_is_answered_as_the_operator_wants_and_nothing_else_is() {
    let (origin, tarpit) = (Nginx::start(), Nginx::start());
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .file("pay.html", "<p>Pay first.</p>\n")
        .set("content_usage = true")
        .table(&actions(&tarpit))
        .start();
    let redirected = gateway.send(&get("/private/a").by(GPTBOT));
    assert_eq!((redirected.status, redirected.header("Location")), (302, Some(TERMS)));
    assert!(redirected.headers.contains(&("link".to_owned(), format!("<{TERMS}>; rel=\"license\""))));
    assert_eq!(redirected.header("Cache-Control"), Some("private, no-store"));
    let answered = gateway.send(&get("/private/a").by(CLAUDEBOT));
    assert_eq!((answered.status, answered.text()), (402, "<p>Pay first.</p>\n".into()));
    assert_eq!(answered.header("Content-Type"), Some("text/html; charset=utf-8"));
    gateway.send(&get("/private/a").by(BINGBOT)).came_from_origin();
    assert_eq!(gateway.send(&get("/private/a").by(GOOGLEBOT)).status, 403);
    assert_eq!((origin.received().len(), tarpit.received()), (0, vec!["GET /private/a".to_owned()]));
    // What is allowed, what only may be disallowed, and what a person asks for is no violation.
    for agent in [GPTBOT, CLAUDEBOT, BINGBOT] {
        gateway.send(&get("/open").by(agent)).came_from_origin();
        assert_eq!(gateway.send(&get("//private/a").by(agent)).status, 403);
    }
    gateway.send(&get("/private/a").by(CHROME)).came_from_origin();
    assert_eq!((origin.received().len(), tarpit.received().len()), (4, 1));

    let words = [(GPTBOT, "redirected", 302), (CLAUDEBOT, "answered", 402), (BINGBOT, "diverted", 200)];
    for (agent, action, status) in words {
        let event = gateway.journal().event_where(agent, |event| event["user_agent"] == agent);
        assert_eq!((&event["action"], &event["status"]), (&action.into(), &status.into()));
    }
    let state = gateway.folder().join("state");
    let state = state.to_str().expect("UTF-8");
    let counted = until("the report has all of them", || {
        let report = gateway.ctl(&["report", "--format", "json", "--state-dir", state]);
        let report = report.json();
        let of = |name: &str| {
            let all = report["crawlers"].as_array().expect("crawlers");
            all.iter().find(|one| one["crawler"] == name).cloned().unwrap_or_default()
        };
        let by = |name: &str, action: &str| {
            let rules = of(name)["rules"].as_array().cloned().unwrap_or_default();
            rules.iter().any(|rule| rule["action"] == action && rule["count"] == 1)
        };
        // With the variant.
        let refused = of("GPTBot")["refused"] == 2;
        (refused && by("GPTBot", "redirected") && by("ClaudeBot", "answered") && by("bingbot", "diverted"))
            .then_some(true)
    });
    assert!(counted);
    gateway.folder().write("pay.html", "<p>Pay more.</p>\n");
    let text = until("the new body is in force", || {
        let text = gateway.send(&get("/private/b").by(CLAUDEBOT)).text();
        text.contains("more").then_some(text)
    });
    assert_eq!(text, "<p>Pay more.</p>\n");
}

#[test]
fn audit_forwards_whatever_is_set() {
    let (origin, tarpit) = (Nginx::start(), Nginx::start());
    let gateway =
        Daemon::with(ROBOTS).in_front_of(&origin).file("pay.html", "").table(&actions(&tarpit)).start();
    for agent in [GPTBOT, CLAUDEBOT, BINGBOT] {
        gateway.send(&get("/private/a").by(agent)).came_from_origin();
    }
    assert_eq!((origin.received().len(), tarpit.received().len()), (3, 0));
}

#[test]
fn a_proxy_that_asks_is_told_the_answer_and_a_refusal_where_there_is_another_server() {
    let (origin, tarpit) = (Nginx::start(), Nginx::start());
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .file("pay.html", "pay")
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .table(&format!("[authorize]\nlisten = \"127.0.0.1:0\"\n{}", actions(&tarpit)))
        .start();
    let door = doors(&gateway);
    assert_eq!(Client::to(door).send(&robots_txt().by(CHROME)).status, 200);
    for (agent, status) in [(GPTBOT, 302), (CLAUDEBOT, 402), (BINGBOT, 403)] {
        let question = Door::Forward.asks("GET", "/private/a").by(agent);
        assert_eq!(Client::to(door).send(&question).status, status, "{agent}");
    }
    let event = gateway.journal().event_where("bingbot", |event| event["crawler"] == "bingbot");
    assert_eq!((&event["action"], &event["status"]), (&"refused".into(), &403.into()));
    assert_eq!(tarpit.received(), Vec::<String>::new());
}

#[test]
fn what_cannot_be_answered_with_is_refused_when_it_is_read() {
    for (action, message) in [
        ("{ redirect = \"/terms\" }", "expected the URL of a page"),
        ("{ answer = { status = 200, body = \"pay.html\" } }", "invalid status `200`"),
        ("{ answer = { status = 402, body = \"none.html\" } }", "cannot read the answer"),
        ("{ upstream = \"http://127.0.0.1:1/x\" }", "an origin has no path"),
        ("\"tarpit\"", "invalid word `tarpit`"),
    ] {
        let gateway =
            Daemon::with(ROBOTS).file("pay.html", "").table(&format!("[crawlers.GPTBot]\naction = {action}"));
        let ended = gateway.fails_to_start();
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(message), "{}", ended.stderr);
    }
}
