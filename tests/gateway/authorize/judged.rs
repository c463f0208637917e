//! No byte and no field of a client lets a request through unjudged.

use super::*;
use robots_gateway::http::claims::{DETOUR_PREFIXES, DETOURS, NAMES, PREFIXES};
use robots_gateway::http::head::is_host;

/// The lines of a question about `/private`, with those of its client.
fn lines(door: Door, own: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    let described = door.fields("GET", "/private").into_iter().map(|(name, value)| (name.to_owned(), value));
    let host = (door == Door::Envoy).then_some(("Host", "example.org"));
    let own = host.iter().chain(own).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    described.chain(own).map(|(name, value)| (name, value.into_bytes())).collect()
}

fn question(door: Door, lines: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = match door {
        Door::Forward => b"GET /forward HTTP/1.1\r\n".to_vec(),
        Door::Nginx => b"GET /nginx HTTP/1.1\r\n".to_vec(),
        Door::Envoy => b"GET /envoy/private HTTP/1.1\r\n".to_vec(),
    };
    for (name, value) in lines {
        bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
    }
    bytes.extend(b"\r\n");
    bytes
}

/// A proxy that keeps its connection for as long as it may.
struct Asking(SocketAddr, Client);

impl Asking {
    fn at(gateway: &Daemon) -> Self {
        Self(doors(gateway), Client::to(doors(gateway)))
    }

    /// What it is answered to these bytes.
    fn status_of(&mut self, bytes: &[u8]) -> u16 {
        self.1.write(bytes);
        let answer = self.1.read(false).expect("an answer");
        if answer.header("Connection") == Some("close") {
            self.1 = Client::to(self.0);
        }
        answer.status
    }
}

const OWN: [(&str, &str); 5] = [
    ("User-Agent", GPTBOT),
    ("Accept", "text/html"),
    ("Signature-Input", "a=()"),
    ("Signature", "a=:AA==:"),
    ("Signature-Agent", "\"https://a.example\""),
];

#[test]
fn every_byte_in_every_field_that_is_read() {
    let config = "listen = []\nmode = \"enforce\"\ntrusted_proxies = [\"127.0.0.1\"]\n[authorize]\nlisten = \"127.0.0.1:0\"\n\
                  [[sites]]\nhosts = [\"example.org\"]\nrobots = \"robots.txt\"\n";
    let gateway = seen(configured(config).file("robots.txt", ROBOTS).nowhere());
    let mut client = Asking::at(&gateway);
    for door in Door::ALL {
        let whole = lines(door, &OWN);
        for place in 0..whole.len() {
            for byte in 0..=u8::MAX {
                // That makes it the name of another host.
                if whole[place].0.ends_with("Host") && is_host(&[byte]) {
                    continue;
                }
                let mut lines = whole.clone();
                lines[place].1.push(byte);
                let status = client.status_of(&question(door, &lines));
                assert_eq!(status, 403, "{door:?} {} {byte:02x}", lines[place].0);
            }
        }
    }
}

#[test]
fn fields_that_are_not_read_whatever_their_number_and_size() {
    let gateway = seen(beside("[limits]\nheader_size = \"4KiB\"\nheader_fields = 32\n"));
    let mut client = Asking::at(&gateway);
    for door in Door::ALL {
        let judged = |client: &mut Asking, more: Vec<(String, Vec<u8>)>, what: &str| {
            // Before those that are read, and behind them.
            let own = lines(door, &OWN);
            for all in [[&more[..], &own].concat(), [&own[..], &more].concat()] {
                assert_eq!(client.status_of(&question(door, &all)), 403, "{door:?} {what}");
            }
        };
        for count in (0..=300).step_by(20) {
            let more = (0..count).map(|number| (format!("X-Field-{number}"), b"a".to_vec())).collect();
            judged(&mut client, more, &format!("{count} fields"));
        }
        for kilobytes in (0..=64).step_by(8) {
            judged(&mut client, vec![("Cookie".into(), vec![b'a'; kilobytes * 1024])], "size");
            let padded = format!("{}{GPTBOT}", "a".repeat(kilobytes * 1024));
            let mut lines = lines(door, &OWN[1..]);
            lines.push(("User-Agent".into(), padded.into_bytes()));
            assert_eq!(client.status_of(&question(door, &lines)), 403, "{door:?} {kilobytes}");
        }
        for byte in 0..=u8::MAX {
            judged(&mut client, vec![("X-Field".into(), vec![byte])], "a byte of another field");
        }
        let odd = ["Content-Length: +5", "Transfer-Encoding: gzip", "Content-Length: 5\r\nContent-Length: 6"];
        for framing in odd.map(str::as_bytes) {
            let mut bytes = question(door, &lines(door, &OWN));
            bytes.truncate(bytes.len() - 2);
            bytes.extend([framing, b"\r\n\r\n"].concat());
            assert_eq!(client.status_of(&bytes), 403, "{framing:?}");
        }
    }
}

#[test]
fn names_that_claim_something_in_any_spelling() {
    let gateway = seen(beside(""));
    let mut client = Asking::at(&gateway);
    let beginnings = PREFIXES.into_iter().chain(DETOUR_PREFIXES.map(|(prefix, _)| prefix));
    let prefixed = beginnings.map(|prefix| format!("{prefix}uri"));
    let names = NAMES.into_iter().chain(DETOURS.map(|(name, _)| name));
    let framing =
        ["content-length", "transfer-encoding", "connection", "expect", "upgrade"].map(str::to_owned);
    for name in names.map(str::to_owned).chain(prefixed).chain(framing) {
        for spelled in [
            name.replace('-', "_"),
            name.replace('-', "."),
            name.to_uppercase().replace('-', "~"),
            format!("{name} "),
            format!("\u{1}{name}"),
        ] {
            if spelled == name {
                continue;
            }
            for door in Door::ALL {
                let mut lines = lines(door, &OWN);
                lines.insert(0, (spelled.clone(), b"/open".to_vec()));
                assert_eq!(client.status_of(&question(door, &lines)), 403, "{door:?} {spelled:?}");
            }
        }
    }
}

#[test]
fn user_agents_of_several_lines_are_read_together() {
    let gateway = seen(beside(""));
    for door in Door::ALL {
        for user_agents in [[CHROME, GPTBOT], [GPTBOT, CHROME]] {
            let question = door.asks("GET", "/private").by(user_agents[0]).with("User-Agent", user_agents[1]);
            assert_eq!(asked(&gateway, &question).status, 403, "{door:?}");
        }
    }
}

#[test]
fn a_path_where_nothing_is_asked_is_no_refusal_and_told_once() {
    let gateway = seen(beside(""));
    for path in ["/", "/private", "/auth/private", "/forwards", "/envoy"] {
        assert_eq!(asked(&gateway, &get(path).by(GPTBOT)).status, 503, "{path}");
    }
    gateway.log.line_with(&["at a path that is not answered"]);
    assert_eq!(told(&gateway, "at a path that is not answered"), 1);
    assert_eq!(status(&gateway)["authorize"]["faults"]["unknown-path"], 5);
}
