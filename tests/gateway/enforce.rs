//! Enforce mode in front of nginx: who is refused, what a refused client is told, and what the
//! refusal does to the connection (RFC 9309 §2.2, RFC 9110 §15.5).

use crate::support::agents::{
    ADSBOT, BINGBOT, BROWSERS, CHATGPT_USER, CHROME, CLAUDEBOT, CURL, GOOGLEBOT, GOOGLEBOT_IMAGE, GPTBOT,
    IMESSAGE_PREVIEW, OKHTTP, REQUESTS,
};
use crate::support::{ClientResponse, Daemon, Nginx, get, head, request, version_of};
use std::time::{Duration, Instant};

/// Line 2 disallows for GPTBot, line 3 carves out, line 6 for Googlebot, line 9 for everyone else.
const ROBOTS: &str = "\
User-agent: GPTBot
Disallow: /private # not for training
Allow: /private/press

User-agent: Googlebot
Disallow: /google-not

User-agent: *
Disallow: /
Allow: /open
";

/// A gateway that enforces [`ROBOTS`].
fn enforcing(origin: &Nginx) -> Daemon {
    Daemon::with(ROBOTS).in_mode("enforce").in_front_of(origin).start()
}

#[track_caller]
fn assert_refused(response: &ClientResponse, status: u16) {
    assert_eq!(response.status, status, "{response:?}");
    assert!(!response.text().contains("origin: "), "{}", response.text());
    assert_eq!(response.header("Content-Length"), Some(response.body.len().to_string().as_str()));
    assert_eq!(response.header("Transfer-Encoding"), None);
    assert_eq!(response.header("Cache-Control"), Some("private, no-store"));
    assert_eq!(response.header("CDN-Cache-Control"), Some("no-store"));
    assert_eq!(response.header("Vary"), Some("User-Agent"));
    assert_eq!(response.header("Link"), Some("</robots.txt>; rel=\"describedby\""));
}

#[test]
fn browsers_reach_every_path() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    for browser in BROWSERS {
        for path in ["/", "/private", "/private/page?id=1", "/google-not", "//private", "/x/../private"] {
            let plain = client.send(&get(path).by(browser));
            plain.came_from_origin();
            assert_eq!(
                plain.text().lines().next(),
                Some(format!("origin: GET {path}").as_str()),
                "{browser}"
            );
            let full = get(path)
                .by(browser)
                .with("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
                .with("Accept-Language", "en-GB,en;q=0.5")
                .with("Sec-Fetch-Mode", "navigate")
                .with("Upgrade-Insecure-Requests", "1");
            client.send(&full).came_from_origin();
        }
    }
}

#[test]
fn apps_and_the_preview_of_a_persons_phone_reach_every_path() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    for agent in [OKHTTP, IMESSAGE_PREVIEW] {
        gateway.send(&get("/private").by(agent)).came_from_origin();
    }
}

#[test]
fn gptbot_is_refused_with_group_line_and_rule_as_text() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let response = gateway.send(&get("/private/page?id=1").by(GPTBOT));
    assert_refused(&response, 403);
    assert_eq!(response.header("Content-Type"), Some("text/plain; charset=utf-8"));
    let text = response.text();
    for line in [
        "crawler: GPTBot",
        "group: GPTBot",
        "line: 2",
        "rule: Disallow: /private",
        &format!("robots_version: {}", version_of(ROBOTS)),
    ] {
        assert!(text.lines().any(|of_text| of_text == line), "`{line}` is missing:\n{text}");
    }
    assert!(text.lines().any(|line| line.starts_with("robots: ") && line.ends_with("/robots.txt")), "{text}");
    let own = [origin.address().port().to_string(), gateway.folder().path().display().to_string()];
    assert!(own.iter().all(|inner| !text.contains(inner.as_str())), "something internal leaks:\n{text}");
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn gptbot_is_refused_as_json_when_it_accepts_that() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .site("refusal.contact = \"mailto:web@example.org\"");
    let gateway = gateway.start();
    let response = gateway.send(&get("/private").by(GPTBOT).with("Accept", "application/json"));
    assert_refused(&response, 403);
    assert_eq!(response.header("Content-Type"), Some("application/json"));
    let body = response.json();
    let names: Vec<_> = response_keys(&response);
    assert_eq!(names, ["error", "crawler", "group", "line", "rule", "robots", "robots_version", "contact"]);
    assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()));
    assert_eq!(body["crawler"], "GPTBot");
    assert_eq!(body["group"], serde_json::json!(["GPTBot"]));
    assert_eq!(body["line"], 2);
    assert_eq!(body["rule"], "Disallow: /private");
    assert_eq!(body["robots_version"], version_of(ROBOTS));
    assert_eq!(body["contact"], "mailto:web@example.org");
}

/// The keys of a flat JSON object in the order in which they were sent.
fn response_keys(response: &ClientResponse) -> Vec<String> {
    let text = response.text();
    let mut keys: Vec<_> = response
        .json()
        .as_object()
        .expect("an object")
        .keys()
        .map(|key| (text.find(&format!("\"{key}\":")), key.clone()))
        .collect();
    keys.sort();
    keys.into_iter().map(|(_, key)| key).collect()
}

#[test]
fn the_accept_field_chooses_between_text_and_json() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let kind = |accept: Option<&str>| {
        let mut request = get("/private").by(GPTBOT);
        if let Some(accept) = accept {
            request = request.with("Accept", accept);
        }
        gateway.send(&request).header("Content-Type").map(str::to_owned)
    };
    let text = Some("text/plain; charset=utf-8".to_owned());
    let json = Some("application/json".to_owned());
    assert_eq!(kind(None), text);
    assert_eq!(kind(Some("*/*")), text);
    assert_eq!(kind(Some("text/html, */*;q=0.1")), text);
    assert_eq!(kind(Some("Application/JSON")), json);
    assert_eq!(kind(Some("text/html;q=0.5, application/json")), json);
    assert_eq!(kind(Some("application/json;q=0, */*")), text);
}

#[test]
fn gptbot_reaches_what_its_group_allows() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    for path in ["/", "/privat", "/private/press", "/private/press/2026", "/open", "/x?next=/private"] {
        client.send(&get(path).by(GPTBOT)).came_from_origin();
    }
}

#[test]
fn an_image_crawler_follows_its_own_group_then_googlebots_then_everyones() {
    let origin = Nginx::start();
    let own = "User-agent: Googlebot-Image\nDisallow: /image-not\n\n";
    let google = "User-agent: Googlebot\nDisallow: /google-not\n\n";
    let everyone = "User-agent: *\nDisallow: /nobody\n";
    for (robots, refused) in [
        ([own, google, everyone].concat(), "/image-not"),
        ([google, everyone].concat(), "/google-not"),
        (everyone.to_owned(), "/nobody"),
    ] {
        let gateway = Daemon::with(&robots).in_mode("enforce").in_front_of(&origin).start();
        for path in ["/image-not", "/google-not", "/nobody"] {
            let status = gateway.send(&get(path).by(GOOGLEBOT_IMAGE)).status;
            assert_eq!(status, if path == refused { 403 } else { 200 }, "{path} under\n{robots}");
        }
    }
}

#[test]
fn crawlers_without_a_group_are_bound_by_the_star_group() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    for crawler in [CLAUDEBOT, BINGBOT] {
        let response = gateway.send(&get("/anything").by(crawler));
        assert_refused(&response, 403);
        assert!(response.text().contains("\ngroup: *\nline: 9\nrule: Disallow: /\n"), "{}", response.text());
        gateway.send(&get("/open/page").by(crawler)).came_from_origin();
    }
    gateway.send(&get("/anything").by(GOOGLEBOT)).came_from_origin();
}

#[test]
fn special_cases_ignore_the_star_group_and_obey_their_own() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    gateway.send(&get("/anything").by(ADSBOT)).came_from_origin();
    let robots = "User-agent: AdsBot-Google\nDisallow: /ads-not\n\nUser-agent: *\nDisallow: /\n";
    let gateway = Daemon::with(robots).in_mode("enforce").in_front_of(&origin).start();
    assert_refused(&gateway.send(&get("/ads-not").by(ADSBOT)), 403);
    gateway.send(&get("/anything").by(ADSBOT)).came_from_origin();
}

#[test]
fn a_name_that_only_the_file_knows_chooses_its_group() {
    let origin = Nginx::start();
    let robots = "User-agent: AcmeSeoCrawler\nDisallow: /seo-not\n";
    let gateway = Daemon::with(robots).in_mode("enforce").in_front_of(&origin).start();
    let agent = "Mozilla/5.0 (compatible; AcmeSeoCrawler/3.1; +https://acme.example/bot)";
    let response = gateway.send(&get("/seo-not").by(agent));
    assert_refused(&response, 403);
    assert!(response.text().contains("group: AcmeSeoCrawler\n"), "{}", response.text());
    gateway.send(&get("/elsewhere").by(agent)).came_from_origin();
}

#[test]
fn tools_fetchers_and_unnamed_clients_are_only_logged() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    for (agent, path) in [(CURL, "/by-curl"), (REQUESTS, "/by-requests"), (CHATGPT_USER, "/by-fetcher")] {
        client.send(&get(path).by(agent)).came_from_origin();
    }
    client.send(&get("/by-nobody")).came_from_origin();
    assert_eq!(client.send(&get("/private").by(GPTBOT)).status, 403);
    let journal = gateway.journal();
    for (path, kind) in [("/by-curl", "tool"), ("/by-requests", "tool"), ("/by-nobody", "unnamed")] {
        let event = journal.event_of(path);
        assert_eq!(event["client"], kind, "{event}");
        assert_eq!(event["event"], "violation", "{event}");
        assert_eq!(event["mode"], "audit", "{event}");
        assert_eq!(event["action"], "forwarded", "{event}");
    }
}

#[test]
fn head_is_refused_without_a_body_and_the_connection_lives_on() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    let by_get = client.send(&get("/private").by(GPTBOT));
    let by_head = client.send(&head("/private").by(GPTBOT));
    assert_eq!(by_head.status, 403);
    assert_eq!(by_head.header("Content-Length"), by_get.header("Content-Length"));
    assert_eq!(by_head.header("Vary"), Some("User-Agent"));
    assert!(by_head.body.is_empty());
    // Had a body been sent, it would now stand where this response begins.
    client.send(&get("/").by(GPTBOT)).came_from_origin();
    assert_refused(&client.send(&get("/private").by(GPTBOT)), 403);
    client.send(&get("/private").by(CHROME)).came_from_origin();
}

#[test]
fn every_method_is_judged_by_its_target() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    for method in ["GET", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        let response = gateway.send(&request(method, "/private").by(GPTBOT));
        assert_eq!(response.status, 403, "{method}");
    }
    assert_eq!(origin.received(), Vec::<String>::new());
}

#[test]
fn the_refusal_of_a_post_arrives_although_it_has_a_body() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let post = |size: usize| request("POST", "/private").by(GPTBOT).body(vec![b'x'; size]);
    let mut client = gateway.client();
    for size in [0, 1, 5_000, 60_000] {
        assert_refused(&client.send(&post(size)), 403);
        // The body has been read to its end: the connection is in step, and no reset can overtake the refusal.
        client.send(&get("/open").by(GPTBOT)).came_from_origin();
    }
    assert_refused(&gateway.send(&post(2_000_000)), 403);
    assert!(origin.received().iter().all(|request| request == "GET /open"));
    let response = gateway.send(&request("POST", "/open").by(GPTBOT).body(vec![b'x'; 60_000]));
    response.came_from_origin();
}

#[test]
fn the_status_of_a_refusal_can_be_chosen() {
    let origin = Nginx::start();
    for status in [402, 403, 404, 410, 429, 451] {
        let gateway = Daemon::with(ROBOTS)
            .in_mode("enforce")
            .in_front_of(&origin)
            .site(&format!("refusal = {{ status = {status}, contact = \"mailto:web@example.org\" }}"))
            .start();
        let response = gateway.send(&get("/private").by(GPTBOT));
        assert_refused(&response, status);
        assert!(response.text().contains("contact: mailto:web@example.org\n"), "{}", response.text());
        let retry_after = response.header("Retry-After").map(str::parse::<u64>);
        match status {
            429 => assert!(matches!(retry_after, Some(Ok(1..))), "{response:?}"),
            _ => assert_eq!(retry_after, None),
        }
        assert_eq!(gateway.journal().event_of("/private")["status"], status);
    }
}

#[test]
fn nothing_refused_reaches_the_origin() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    for number in 0..50 {
        assert_eq!(client.send(&get(format!("/private/{number}")).by(GPTBOT)).status, 403);
        assert_eq!(client.send(&head(format!("/nothing/{number}")).by(CLAUDEBOT)).status, 403);
        client.send(&get(format!("/open/{number}")).by(CLAUDEBOT)).came_from_origin();
    }
    let expected: Vec<_> = (0..50).map(|number| format!("GET /open/{number}")).collect();
    assert_eq!(origin.received(), expected);
}

#[test]
fn how_long_to_wait_after_429_can_be_configured() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .in_mode("enforce")
        .in_front_of(&origin)
        .site("refusal = { status = 429, retry_after = \"1h\" }")
        .start();
    assert_eq!(gateway.send(&get("/private").by(GPTBOT)).header("Retry-After"), Some("3600"));
}

#[test]
fn a_refusal_does_not_wait_for_a_body_that_the_client_holds_back() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    // RFC 9110 §10.1.1: a client that expects 100 (Continue) may send nothing before it hears of it.
    let head = format!(
        "POST /private HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\nExpect: 100-continue\r\nContent-Length: 1000000\r\n\r\n"
    );
    let start = Instant::now();
    client.write(head.as_bytes());
    assert_refused(&client.read(false).expect("the refusal"), 403);
    assert!(
        start.elapsed() < Duration::from_millis(900),
        "{:?}; curl waits a second and then sends it all",
        start.elapsed()
    );
}

#[test]
fn a_chunked_body_is_refused_and_the_next_request_is_read_right() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    let mut client = gateway.client();
    let head = format!(
        "POST /private HTTP/1.1\r\nHost: localhost\r\nUser-Agent: {GPTBOT}\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    client.write(head.as_bytes());
    client.write(b"c\r\nGET / HTTP/1\r\n0\r\n\r\n");
    assert_refused(&client.read(false).expect("the refusal"), 403);
    // Either the connection goes on behind the body, or it ends.
    if let Ok(response) = client.try_send(&get("/open").by(GPTBOT)) {
        response.came_from_origin();
    }
    assert!(origin.received().iter().all(|request| request == "GET /open"));
}

#[test]
fn what_the_gateway_answers_itself_is_dated() {
    let origin = Nginx::start();
    let gateway = enforcing(&origin);
    // RFC 9110 §6.6.1.
    for path in ["/private", "/robots.txt"] {
        let response = gateway.send(&get(path).by(GPTBOT));
        let date = response.header("Date").map(httpdate::parse_http_date);
        assert!(matches!(date, Some(Ok(_))), "{response:?}");
    }
}
