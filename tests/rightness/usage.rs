//! `Content-Usage` on forwarded answers (draft-ietf-aipref-attach section 2): what robots.txt says of the path, said again
//! where the content is.

use crate::keeper::Keeper;
use crate::support::agents::{CHROME, GPTBOT};
use crate::support::http2::{END_HEADERS, END_STREAM, HEADERS, Http2, field, fields, frame};
use crate::support::tls::{Authority, LISTENER, tls_address};
use crate::support::{Daemon, get};

const USAGE: &str = "User-agent: *\nContent-Usage: train-ai=n\nContent-Usage: /open train-ai=y\nAllow: /\n\
                     Content-Usage: /twice search=y, new=(1 2)\nContent-Usage: /twice search=n\n\
                     Content-Usage: /odd Train-AI=y\nDisallow: /never\nContent-Usage: /never search=n\n\n\
                     User-agent: GPTBot\nContent-Usage: search=y\nDisallow: /private\n";

/// An origin that says it itself of one page.
fn origin() -> Keeper {
    Keeper::answering(|head| {
        let own = if head.starts_with(b"GET /own") { "Content-Usage: own=y\r\n" } else { "" };
        format!("HTTP/1.1 200 OK\r\n{own}Content-Length: 0\r\n\r\n").into_bytes()
    })
}

fn usage(gateway: &Daemon, page: &str, agent: &str) -> Option<String> {
    gateway.send(&get(page).by(agent)).header("Content-Usage").map(str::to_owned)
}

#[test]
fn a_preference_is_said_again_where_the_content_is() {
    let origin = origin();
    let said = Daemon::with(USAGE).at(&origin.url()).set("content_usage = true").start();
    for (page, agent, value) in [
        ("/page", CHROME, Some("train-ai=n")),
        ("/open/a", CHROME, Some("train-ai=y")),
        ("/twice", CHROME, Some("search=n, new=(1 2)")),
        // What is no dictionary is not sent, and what may not be fetched has no preference.
        ("/odd", CHROME, None),
        ("/never", CHROME, None),
        ("/page", GPTBOT, Some("search=y")),
        ("/private", GPTBOT, None),
        // The origin knows its page better.
        ("/own", CHROME, Some("own=y")),
    ] {
        assert_eq!(usage(&said, page, agent).as_deref(), value, "{page} {agent}");
    }
    let silent = Daemon::with(USAGE).at(&origin.url()).start();
    assert_eq!(usage(&silent, "/page", CHROME), None);
}

#[test]
fn a_site_may_say_otherwise_than_all() {
    let origin = origin();
    let of_site = Daemon::with(USAGE).at(&origin.url()).site("content_usage = true").start();
    assert_eq!(usage(&of_site, "/page", CHROME).as_deref(), Some("train-ai=n"));
    let not_here = Daemon::with(USAGE)
        .at(&origin.url())
        .set("content_usage = true")
        .site("content_usage = false")
        .start();
    assert_eq!(usage(&not_here, "/page", CHROME), None);
}

/// The Huffman code of the letters here (RFC 7541 appendix B): how many bits, and which.
fn huffman(text: &str) -> Vec<u8> {
    let code = |letter: char| match letter {
        'a' => (5, 0x3),
        'c' => (5, 0x4),
        'e' => (5, 0x5),
        'i' => (5, 0x6),
        'o' => (5, 0x7),
        's' => (5, 0x8),
        't' => (5, 0x9),
        '-' => (6, 0x16),
        '=' => (6, 0x20),
        'g' => (6, 0x26),
        'n' => (6, 0x2a),
        'r' => (6, 0x2c),
        'u' => (6, 0x2d),
        'y' => (7, 0x7a),
        _ => panic!("no code for {letter}"),
    };
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for (length, code) in text.chars().map(code) {
        (held, bits) = ((held << length) | code, bits + length);
        while bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from((held >> bits) & 0xff).expect("a byte"));
        }
    }
    if bits > 0 {
        let filled = (held << (8 - bits)) | (0xff >> bits);
        bytes.push(u8::try_from(filled & 0xff).expect("a byte"));
    }
    bytes
}

#[test]
fn over_http_2_it_is_the_same() {
    let (authority, origin) = (Authority::new(), origin());
    let head_of = |line: &str, page: &str| {
        let builder = Daemon::with(USAGE).at(&origin.url()).table(LISTENER).set(line);
        authority.save(builder.folder(), "site", &["a.example"]);
        let gateway = builder.start();
        let mut client = Http2::to(&authority, tls_address(&gateway));
        let asked = [fields("GET", page), field("user-agent", CHROME)].concat();
        client.write(&frame(HEADERS, END_HEADERS | END_STREAM, 1, &asked)).expect("sent");
        client.find(|frame| frame.kind == HEADERS && frame.stream == 1).expect("an answer").payload
    };
    let has = |head: &[u8], text: &str| {
        let coded = huffman(text);
        head.windows(coded.len()).any(|part| part == coded)
    };
    let on = "content_usage = true";
    let head = head_of(on, "/page");
    assert!(has(&head, "content-usage") && has(&head, "train-ai=n"), "{head:x?}");
    let open = head_of(on, "/open/a");
    assert!(has(&open, "content-usage") && has(&open, "train-ai=y"), "{open:x?}");
    for silent in [head_of(on, "/never"), head_of("content_usage = false", "/page")] {
        assert!(!has(&silent, "content-usage"), "{silent:x?}");
    }
}
