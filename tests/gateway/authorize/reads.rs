//! Reads of robots.txt that come through the door for it, and what they show.

use super::*;

#[test]
fn a_read_through_the_door_makes_a_later_violation_one_after_reading() {
    let gateway = seen(beside(""));
    asked(&gateway, &Door::Forward.asks("GET", "/private/1").by(GPTBOT));
    assert_eq!(gateway.journal().event_of("/private/1")["notice"], "lapsed");
    assert_eq!(asked(&gateway, &robots_txt().by(GPTBOT)).status, 200);
    until("the read counts", || {
        asked(&gateway, &Door::Nginx.asks("GET", "/private/2").by(GPTBOT));
        gateway.journal().events().iter().any(|event| event["notice"] == "read").then_some(())
    });
}

#[test]
fn nobody_is_accused_or_refused_while_robots_txt_does_not_come_through() {
    let gateway = beside("").start();
    for door in Door::ALL {
        let target = format!("/private/{door:?}");
        assert_eq!(asked(&gateway, &door.asks("GET", &target).by(GPTBOT)).status, door.pass());
        let event = gateway.journal().event_of(&target);
        assert_eq!((&event["event"], &event["notice"]), (&"stale".into(), &"unpublished".into()), "{event}");
        assert_eq!(asked(&gateway, &door.asks("GET", &format!("/{target}")).by(GPTBOT)).status, door.pass());
    }
    gateway.log.line_with(&[
        "WARN",
        "example.org",
        "no request for /robots.txt of this host has come through",
    ]);
    assert_eq!(status(&gateway)["authorize"]["faults"]["unpublished"], 3);
    assert!(gateway.ctl(&["status"]).stdout.contains("nothing is refused there"));
    // Somebody on this machine asks, and not the proxy for a client.
    assert_eq!(asked(&gateway, &get("/robots.txt").for_host("example.org")).text(), ROBOTS);
    // A question about robots.txt says that the proxy serves it itself.
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/robots.txt").by(GPTBOT)).status, 204);
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(GPTBOT)).status, 204);
    assert_eq!(status(&gateway)["authorize"]["robots_txt"][0]["seconds_ago"], Value::Null);
    asked(&gateway, &robots_txt().by(CHROME));
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(GPTBOT)).status, 403);
    assert_eq!(status(&gateway)["authorize"]["robots_txt"][0]["seconds_ago"], 0);
}

#[test]
fn after_a_restart_it_is_known_that_robots_txt_came_through() {
    let mut gateway = seen(beside(""));
    asked(&gateway, &robots_txt().by(GPTBOT));
    gateway.restart();
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(GPTBOT)).status, 403);
}

#[test]
fn a_read_through_the_door_on_the_first_day_outlives_a_restart() {
    let builder = beside("").with_notice("24h").file("robots.txt", ROBOTS);
    let mut gateway = builder.start();
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    std::fs::write(&path, format!("settle = \"50ms\"\njournal_rate = \"off\"\n{text}")).expect("written");
    gateway.ctl(&["reload"]).exits(0);
    assert_eq!(asked(&gateway, &robots_txt().by(GPTBOT)).status, 200);
    let mut asked_for = 0;
    let mut notice = |gateway: &Daemon| {
        asked_for += 1;
        let target = format!("/private/{asked_for}");
        asked(gateway, &Door::Nginx.asks("GET", &target).by(GPTBOT));
        gateway.journal().event_of(&target)["notice"].clone()
    };
    until("the read counts", || (notice(&gateway) == "read").then_some(()));
    gateway.restart();
    assert_eq!(notice(&gateway), "read");
}

#[test]
fn what_was_read_in_front_shows_nothing_of_another_proxy() {
    let origin = Nginx::start();
    let config = "listen = [\"127.0.0.1:0\"]\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\n\
                  [authorize]\nlisten = \"127.0.0.1:0\"\n[[sites]]\norigin = \"[ORIGIN]\"\nrobots = \"robots.txt\"\n";
    let mut gateway = configured(config).file("robots.txt", ROBOTS).in_front_of(&origin).nowhere().start();
    assert_eq!(gateway.send(&get("/robots.txt").for_host("example.org").by(GPTBOT)).text(), ROBOTS);
    let path = gateway.folder().join("gateway.toml");
    let text = std::fs::read_to_string(&path).expect("a file").replace("[\"127.0.0.1:0\"]", "[]");
    std::fs::write(&path, text).expect("written");
    gateway.restart();
    assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(GPTBOT)).status, 204);
}

#[test]
fn robots_txt_of_one_host_shows_nothing_of_another() {
    let config = "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\nadmin = \"off\"\n\
                  [authorize]\nlisten = \"127.0.0.1:0\"\n[[sites]]\nhosts = [\"*.org\"]\nrobots = \"robots.txt\"\n";
    let gateway = configured(config).file("robots.txt", ROBOTS).nowhere().start();
    asked(&gateway, &robots_txt().for_host("other.org").by(CHROME));
    let question = Door::Forward.asks("GET", "/private").by(GPTBOT);
    assert_eq!(asked(&gateway, &question).status, 204);
    let seen = &status(&gateway)["authorize"]["robots_txt"][0];
    assert_eq!((&seen["hosts"], &seen["for_seconds"]), (&"*.org".into(), &0.into()), "{seen}");
    asked(&gateway, &robots_txt().by(CHROME));
    assert_eq!(asked(&gateway, &question).status, 403);
}

#[test]
fn what_was_published_elsewhere_may_be_held_for_as_long_as_notice_takes() {
    let gateway = beside("").with_notice("5s").start();
    until("nothing of the gateway's own past is within notice", || {
        let site = status(&gateway)["sites"][0].clone();
        (site["unknown"] == Value::Array(Vec::new())).then_some(())
    });
    assert_eq!(asked(&gateway, &robots_txt().by(CHROME)).text(), ROBOTS);
    let question = Door::Forward.asks("GET", "/private").by(GPTBOT);
    assert_eq!(asked(&gateway, &question).status, 403);
    assert_eq!(gateway.journal().event_of("/private")["notice"], "unknown");
    until("who has not read it is accused", || {
        asked(&gateway, &question);
        gateway.journal().events().iter().any(|event| event["notice"] == "lapsed").then_some(())
    });
}

#[test]
fn what_is_not_known_yet_is_not_served_and_says_nothing_of_the_proxy() {
    let origin = Scripted::new();
    for site in [format!("origin = \"{}\"", origin.url()), String::new()] {
        let config = format!(
            "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\n[authorize]\nlisten = \"127.0.0.1:0\"\n\
             [[sites]]\n{site}\nrobots = {{ from = \"origin\", url = \"{}/robots.txt\" }}\n",
            origin.url()
        );
        let gateway = configured(&config).nowhere().start();
        assert_eq!(asked(&gateway, &robots_txt().by(CHROME)).status, 503);
        assert_eq!(asked(&gateway, &Door::Forward.asks("GET", "/private").by(GPTBOT)).status, 204);
        assert_eq!(status(&gateway)["authorize"]["robots_txt"][0]["seconds_ago"], Value::Null);
    }
}

#[test]
fn hosts_that_a_crawler_makes_up_switch_nothing_off() {
    let gateway = seen(beside(""));
    let mut client = Client::to(doors(&gateway));
    let refused = Door::Forward.asks("GET", "/private").by(GPTBOT);
    assert_eq!(client.send(&refused).status, 403);
    for number in 0..4_200 {
        let question = get("/robots.txt").by(GPTBOT).for_host(&format!("h{number}.example"));
        let question = question.with("X-Forwarded-For", "203.0.113.9").with("X-Forwarded-Proto", "https");
        assert_eq!(client.send(&question).status, 200);
    }
    assert_eq!(client.send(&refused).status, 403);
}
