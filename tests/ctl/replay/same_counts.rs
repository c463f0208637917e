//! The same requests through nginx and the gateway, and of nginx's log through a replay: the same counts.

use crate::support::agents::{
    ADSBOT, BINGBOT, CHATGPT_USER, CHROME, CLAUDEBOT, CURL, GOOGLEBOT, GPTBOT, OKHTTP, REQUESTS,
};
use crate::support::origin::free_port;
use crate::support::{Client, Daemon, Folder, Nginx, Request, get, head, request, until};
use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /private\nAllow: /private/open\n\nUser-agent: *\nDisallow: /cgi-bin/\n\
                      Disallow: /*?sort=\nUser-agent: AdsBot-Google\nDisallow: /ads\n";

/// nginx as most sites have it: in front, with the combined log. It takes the client's address from the header that this test
/// sends, as behind a balancer.
struct Front {
    process: Child,
    address: SocketAddr,
    folder: Folder,
}

impl Front {
    fn before(gateway: SocketAddr) -> Self {
        let (folder, port) = (Folder::new(), free_port());
        let here = folder.path().display().to_string();
        let own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {here}/{name};\n"));
        let config = format!(
            "daemon off;\nmaster_process off;\npid {here}/pid;\nerror_log {here}/error.log;\nevents {{ }}\nhttp {{\n{}\
             access_log {here}/access.log combined;\nset_real_ip_from 127.0.0.1;\nreal_ip_header X-Forwarded-For;\n\
             server {{\nlisten 127.0.0.1:{port};\nlocation / {{\nproxy_pass http://{gateway};\nproxy_set_header Host $http_host;\n\
             proxy_set_header X-Forwarded-For $remote_addr;\n}}\n}}\n}}\n",
            own.concat()
        );
        let path = folder.write("nginx.conf", config);
        let mut command = Command::new("nginx");
        command.args(["-p", &here, "-e", "stderr", "-c"]).arg(path);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let process = process.expect("nginx is needed for this test (Debian: apt-get install nginx)");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        until("nginx listens", || Client::try_to(address).ok());
        Self { process, address, folder }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.join("access.log")).unwrap_or_default()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Clients of several kinds, from several networks.
fn clients() -> Vec<(&'static [u8], &'static str)> {
    vec![
        (GPTBOT.as_bytes(), "203.0.113.7"),
        (CLAUDEBOT.as_bytes(), "203.0.113.9"),
        (GPTBOT.as_bytes(), "198.51.100.1"),
        (GOOGLEBOT.as_bytes(), "2001:db8::7"),
        (BINGBOT.as_bytes(), "198.51.100.3"),
        (ADSBOT.as_bytes(), "198.51.100.4"),
        (CHATGPT_USER.as_bytes(), "198.51.100.5"),
        (CURL.as_bytes(), "192.0.2.1"),
        (REQUESTS.as_bytes(), "192.0.2.2"),
        (OKHTTP.as_bytes(), "192.0.2.3"),
        (CHROME.as_bytes(), "192.0.2.4"),
        (b"", "192.0.2.5"),
        (b"strange-bot/1.0 \"quoted\" \\ and caf\xe9", "192.0.2.6"),
    ]
}

const READ: &str = "/robots.txt";

const TARGETS: [&str; 13] = [
    "/",
    "/private/a?b=c",
    "/private/open/x",
    "/cgi-bin/x",
    "//cgi-bin/x",
    "/cgi%2Dbin/y",
    "/a/../cgi-bin/z",
    "/list?sort=up",
    "/ads/1",
    "/%22quoted%22",
    "/private",
    "/cgi-bin",
    "/robots.txt?again",
];

/// What each client asks for, in several methods.
fn requests(targets: &[&str]) -> Vec<Request> {
    let mut all = Vec::new();
    for (number, (agent, address)) in clients().into_iter().enumerate() {
        for target in targets {
            let asked = match number % 5 {
                3 if *target != READ => head(target),
                4 if *target != READ => request("POST", target),
                _ => get(target),
            };
            let asked = asked.for_host("example.org").with("X-Forwarded-For", address);
            all.push(if agent.is_empty() { asked } else { asked.by(agent) });
        }
    }
    all
}

/// What a report says of everybody that does not depend on whether it is enforced, and on the second.
fn counts(report: &Value) -> Vec<Value> {
    let rule =
        |rule: &Value| json!([rule["group"], rule["line"], rule["rule"], rule["notice"], rule["count"]]);
    let list = |of: &Value, name: &str, shown: &dyn Fn(&Value) -> Value| -> Vec<String> {
        let mut all: Vec<String> =
            of[name].as_array().expect("a list").iter().map(|one| shown(one).to_string()).collect();
        all.sort();
        all
    };
    let of = |entry: &Value| {
        let names =
            ["client", "crawler", "purpose", "proof", "conduct", "requests", "reads", "last_read_version"];
        let counts = ["violations", "stale", "variants", "spoofed", "too_fast", "bytes"];
        let fields: Vec<&Value> = names.iter().chain(&counts).map(|name| &entry[*name]).collect();
        json!([fields, list(entry, "rules", &rule), list(entry, "paths", &Value::clone)])
    };
    let mut all: Vec<Value> = report["crawlers"].as_array().expect("crawlers").iter().map(of).collect();
    all.sort_by_key(Value::to_string);
    all
}

/// The sum of a field over everybody.
fn sum(report: &Value, field: &str) -> u64 {
    let crawlers = report["crawlers"].as_array().into_iter().flatten();
    crawlers.map(|entry| entry[field].as_u64().unwrap_or_default()).sum()
}

#[test]
fn a_replay_of_nginx_s_log_counts_what_the_gateway_counted() {
    let origin = Nginx::start();
    let gateway = Daemon::with(ROBOTS)
        .set("trusted_proxies = [\"127.0.0.1\"]")
        .set("notice = \"0s\"")
        .in_front_of(&origin)
        .start();
    let front = Front::before(gateway.address());
    let mut client = Client::to(front.address);
    let mut count = 0;
    let mut send = |requests: Vec<Request>| {
        let answers: Vec<_> = requests.iter().map(|request| client.send(request)).collect();
        count += answers.len();
        answers
    };
    let state = gateway.folder().join("state");
    let ask = ["report", "--state-dir", state.to_str().expect("UTF-8"), "--format", "json", "--top", "1000"];
    // The store is written each second.
    let has_counted = |field: &str, wanted: u64| {
        until("the store has all", || {
            let report = gateway.ctl(&ask).exits(0).json();
            (sum(&report, field) >= wanted).then_some(report)
        })
    };
    send(requests(&TARGETS));
    let answers = send(requests(&[READ]));
    let etag = answers[0].header("ETag").expect("an ETag").to_owned();
    let again = get(READ).for_host("example.org").by(CLAUDEBOT).with("X-Forwarded-For", "203.0.113.9");
    let answers = send(vec![again.with("If-None-Match", etag), head(READ).for_host("example.org").by(CURL)]);
    assert_eq!(answers[0].status, 304);
    // A read is noted when its last byte has been sent, which whoever asks at once may be faster than.
    has_counted("reads", clients().len() as u64 - 2 + 1);
    send(requests(&TARGETS[1..5]));
    until("nginx has written its log", || (front.log().lines().count() == count).then_some(()));
    let log = front.folder.join("access.log");
    let config = gateway.folder().join("gateway.toml");
    let [log, config] = [&log, &config].map(|path| path.to_str().expect("UTF-8"));
    let replayed =
        gateway.ctl(&["replay", log, "--config", config, "--published", "--format", "json", "--top", "1000"]);
    let replayed = replayed.exits(0).json();
    let replay = &replayed["replay"];
    assert_eq!((&replay["lines"], &replay["unread"]["count"]), (&json!(count), &json!(0)), "{replay}");
    let wanted = counts(&replayed);
    assert!(wanted.len() > 9, "{replayed}");
    let reported = has_counted("requests", sum(&replayed, "requests"));
    let found = counts(&reported);
    for (found, wanted) in found.iter().zip(&wanted) {
        assert_eq!(found, wanted, "gateway, and replay");
    }
    assert_eq!(found.len(), wanted.len(), "{reported}\n{replayed}");
}
