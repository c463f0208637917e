//! `X-Robots-Tag` and `Robots-Tag` on forwarded answers (draft-illyes-repext section 2.1.1).

use crate::support::agents::{CHROME, GOOGLEBOT, GPTBOT};
use crate::support::{Daemon, RawOrigin, get};

const TAGS: &str = "robots_tags = [{ rules = [\"noindex\", \"max-snippet:50\"], path = \"/drafts/*.pdf$\" }, \
                    { rules = [\"noarchive\"], purpose = \"ai\" }]";

fn tags(gateway: &Daemon, path: &str, agent: &str, name: &str) -> Vec<String> {
    let answer = gateway.send(&get(path).by(agent));
    assert_eq!(answer.status, 200);
    let fields = answer.headers.iter().filter(|(field, _)| field.eq_ignore_ascii_case(name));
    fields.map(|(_, value)| value.clone()).collect()
}

#[test]
fn answers_say_it_by_path_and_by_purpose_beside_what_the_origin_says() {
    let origin =
        RawOrigin::answering("HTTP/1.1 200 OK\r\nX-Robots-Tag: nofollow\r\nContent-Length: 0\r\n\r\n");
    let gateway = Daemon::with("User-agent: *\nAllow: /\n").at(&origin.url()).set(TAGS).start();
    for (path, agent, old, new) in [
        ("/page", CHROME, &[][..], &[][..]),
        ("/page", GOOGLEBOT, &[], &[]),
        ("/drafts/a.pdf", CHROME, &["noindex, max-snippet:50"], &["*;noindex;max-snippet=50"]),
        ("/drafts/a.pdf?b", CHROME, &[], &[]),
        ("/page", GPTBOT, &["GPTBot: noarchive"], &["GPTBot;noarchive"]),
        (
            "/drafts/a.pdf",
            GPTBOT,
            &["noindex, max-snippet:50", "GPTBot: noarchive"],
            &["*;noindex;max-snippet=50", "GPTBot;noarchive"],
        ),
    ] {
        let beside = [&["nofollow"], old].concat();
        assert_eq!(tags(&gateway, path, agent, "X-Robots-Tag"), beside, "{path} {agent}");
        assert_eq!(tags(&gateway, path, agent, "Robots-Tag"), new, "{path} {agent}");
    }
}

#[test]
fn a_site_has_its_own_and_a_rule_that_is_none_is_told() {
    let origin = RawOrigin::start();
    let start = |line: &str| Daemon::with("User-agent: *\nAllow: /\n").at(&origin.url()).set(TAGS).site(line);
    let gateway = start("robots_tags = []").start();
    assert_eq!(tags(&gateway, "/page", GPTBOT, "X-Robots-Tag"), Vec::<String>::new());
    for (tag, told) in [
        ("{ rules = [\"No Index\"] }", "invalid rule `No Index`"),
        ("{ rules = [\"noindex\"], path = \"drafts\" }", "invalid path `drafts`"),
        ("{ rules = [\"noindex\"], purpose = \"al\" }", "invalid purpose `al`"),
        ("{ path = \"/\" }", "missing field `rules`"),
    ] {
        let ended = start(&format!("robots_tags = [{tag}]")).fails_to_start();
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains(told), "{}", ended.stderr);
    }
}
