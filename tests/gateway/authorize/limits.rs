//! Who may ask at the doors for other proxies, how many, and what cannot be read there.

use super::*;

#[test]
fn only_trusted_proxies_are_answered_and_loopback_is_none() {
    let gateway = configured(
        "listen = []\ntrusted_proxies = [\"192.0.2.1\"]\n[authorize]\nlisten = \"127.0.0.1:0\"\n[[sites]]\nrobots = \"robots.txt\"\n",
    );
    let gateway = gateway.file("robots.txt", ROBOTS).nowhere().start();
    for question in [robots_txt(), Door::Forward.asks("GET", "/private").by(GPTBOT), get("/healthz")] {
        assert!(is_unanswered(&gateway, &question), "{question:?}");
    }
    assert_eq!(status(&gateway)["authorize"]["faults"]["peer"], 3);
    assert_eq!(told(&gateway, "not in `trusted_proxies`"), 1, "{}", gateway.log.text());
    assert_eq!(gateway.journal().lines(), [""; 0]);
}

#[test]
fn who_is_trusted_no_more_is_not_answered_on_an_open_connection() {
    let gateway = seen(beside(""));
    let mut client = Client::to(doors(&gateway));
    assert_eq!(client.send(&get("/healthz")).status, 200);
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("a file").replace("127.0.0.1\"]", "192.0.2.1\"]");
    std::fs::write(&path, text).expect("written");
    gateway.ctl(&["reload"]).exits(0);
    assert!(client.try_send(&get("/healthz")).is_err());
}

#[test]
fn the_secret_is_asked_for_and_may_change() {
    let builder = beside("secret_file = \"secret\"").file("secret", "first\n");
    let gateway = builder.start();
    let with = |secret: &str| robots_txt().by(CHROME).with("X-Authorize-Secret", secret);
    assert_eq!(asked(&gateway, &with("first")).status, 200);
    for wrong in ["", "firs", "firsts", "First", "second"] {
        assert!(is_unanswered(&gateway, &with(wrong)), "{wrong}");
    }
    assert!(
        is_unanswered(&gateway, &robots_txt())
            && is_unanswered(&gateway, &with("first").with("X-Authorize-Secret", "first"))
    );
    assert_eq!(asked(&gateway, &get("/healthz")).status, 200, "it says nothing that is secret");
    gateway.folder().write("secret", "second\n");
    gateway.ctl(&["reload"]).exits(0);
    assert!(is_unanswered(&gateway, &with("first")) && asked(&gateway, &with("second")).status == 200);
    gateway.folder().write("secret", "");
    gateway.ctl(&["reload"]).exits(1);
    assert_eq!(asked(&gateway, &with("second")).status, 200, "the last good secret stays");
    assert_eq!(told(&gateway, "without the secret"), 1);
}

#[test]
fn hundreds_of_connections_of_one_proxy_are_its_right_and_each_is_kept() {
    let gateway = seen(beside("[limits]\nconnections_per_address = 4\n"));
    let mut clients: Vec<Client> = (0..300).map(|_| Client::to(doors(&gateway))).collect();
    for round in 0..3 {
        for (number, client) in clients.iter_mut().enumerate() {
            let answer =
                client.send(&Door::Nginx.asks("GET", &format!("/private/{round}/{number}")).by(GPTBOT));
            assert_eq!((answer.status, answer.header("Connection")), (403, Some("keep-alive")));
        }
    }
}

#[test]
fn who_may_not_ask_takes_no_place_and_visitors_take_none_of_the_proxys() {
    let origin = Nginx::start();
    let config = "listen = [\"127.0.0.1:0\"]\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\n\
                  [authorize]\nlisten = \"127.0.0.1:0\"\n[limits]\nconnections = 2\nconnections_per_address = 2\n\
                  [[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).in_front_of(&origin).nowhere().start();
    let mut visitors: Vec<Client> = (0..2).map(|_| gateway.client()).collect();
    for visitor in &mut visitors {
        assert_eq!(visitor.send(&get("/")).status, 200);
    }
    assert_eq!(asked(&gateway, &get("/healthz")).status, 200);
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("a file").replace("127.0.0.1\"]", "192.0.2.1\"]");
    std::fs::write(&path, text).expect("written");
    gateway.ctl(&["reload"]).exits(0);
    let mut stranger = TcpStream::connect(doors(&gateway)).expect("connected");
    stranger.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    // Before it has said anything.
    assert_eq!(stranger.read(&mut [0]).expect("the end"), 0);
}

/// What is answered to these bytes.
fn answer_to(gateway: &Daemon, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(doors(gateway)).expect("connected");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit");
    // Who may not ask is hung up on, while the question is still being sent.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// Questions that cannot be read.
fn unreadable() -> Vec<Vec<u8>> {
    let large = format!("GET /forward HTTP/1.1\r\nX: {}", "a".repeat(2 * 1024 * 1024));
    ["GET /forward\r\n\r\n", "GET /forward HTTP/2.0\r\n\r\n", &large]
        .map(|text| text.as_bytes().to_vec())
        .into()
}

#[test]
fn what_cannot_be_read_is_no_refusal() {
    let gateway = seen(beside(""));
    let questions = unreadable();
    for bytes in &questions {
        let answer = answer_to(&gateway, bytes);
        assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    }
    assert_eq!(status(&gateway)["authorize"]["faults"]["head"], questions.len());
    assert_eq!(told(&gateway, "in a way that cannot be read"), 1);
}

#[test]
fn who_may_not_ask_hears_nothing_of_what_cannot_be_read() {
    let config = "listen = []\ntrusted_proxies = [\"192.0.2.1\"]\n[authorize]\nlisten = \"127.0.0.1:0\"\n\
                  [[sites]]\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).nowhere().start();
    for bytes in unreadable() {
        assert_eq!(answer_to(&gateway, &bytes), "");
    }
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for_and_one_that_is_there_costs_nothing() {
    let gateway = seen(beside(""));
    let question = Door::Nginx.asks("GET", "/private").by(GPTBOT);
    let mut client = Client::to(doors(&gateway));
    for _ in 0..2 {
        let answer = client.send(&question.clone().body(b"a=b".to_vec()));
        assert_eq!((answer.status, answer.header("Connection")), (403, Some("keep-alive")));
    }
    let begun = Instant::now();
    client.write(b"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n");
    let answer = client.read(false).expect("an answer");
    assert_eq!((answer.status, answer.header("Connection")), (200, Some("close")));
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
