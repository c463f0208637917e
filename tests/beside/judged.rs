//! That nothing a client sends has a proxy let it through unjudged: no byte in what the gateway reads, no number or size of
//! other fields, no name, no second `User-Agent`.

use crate::scene::judges_again;
use crate::support::agents::{CHROME, GPTBOT};
use robots_gateway::http::claims::{NAMES, PREFIXES};
use robots_gateway::http::head::is_host;
use std::cell::RefCell;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// What a proxy answered.
#[derive(Debug, PartialEq, Eq)]
enum Passage {
    /// The site's page, which this is.
    Through(String),
    /// The gateway's refusal, or one of the proxy's own for want of it.
    Refused,
    /// The proxy takes no such request, whoever sends it.
    NotTaken,
    /// An error that tells of a gateway which could not judge.
    Fault(String),
}

/// A client at a proxy.
pub(crate) struct OddClient<'a> {
    port: u16,
    host: &'a str,
    /// What it should not have come to.
    wrong: RefCell<Vec<String>>,
}

type Lines = Vec<(String, Vec<u8>)>;

impl<'a> OddClient<'a> {
    pub(crate) fn at(port: u16, host: &'a str) -> Self {
        Self { port, host, wrong: RefCell::default() }
    }

    fn lines(&self, own: &[(&str, &str)]) -> Lines {
        let fixed = [("Host", self.host), ("Connection", "close")];
        fixed.iter().chain(own).map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec())).collect()
    }

    fn sends(&self, target: &[u8], lines: &[(String, Vec<u8>)]) -> Passage {
        let mut bytes = [b"GET ", target, b" HTTP/1.1\r\n"].concat();
        for (name, value) in lines {
            bytes.extend([name.as_bytes(), b": ", value, b"\r\n"].concat());
        }
        bytes.extend(b"\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
        // Who takes no such request may have closed the connection already, and what it said is lost then.
        let _ = stream.write_all(&bytes);
        let answer = answer_of(&mut stream);
        let text = String::from_utf8_lossy(&answer);
        match text.split(' ').nth(1).unwrap_or_default() {
            _ if text.contains("origin: ") => Passage::Through(text.into_owned()),
            "403" => Passage::Refused,
            "500" | "502" | "503" | "504" => Passage::Fault(text.into_owned()),
            _ => Passage::NotTaken,
        }
    }

    /// Looks whether a crawler which sends these lines is not let through: it is refused, or not understood at all.
    fn stays_out(&self, target: &[u8], lines: &[(String, Vec<u8>)], what: &str) -> Passage {
        let passage = self.sends(target, lines);
        if !matches!(passage, Passage::Refused | Passage::NotTaken) {
            self.wrong.borrow_mut().push(format!("{what}: {passage:?}"));
        }
        passage
    }

    /// All of it, of a crawler at a page that it may not fetch.
    pub(crate) fn stays_out_whatever_it_sends(&self) {
        judges_again(self.port, self.host);
        assert_eq!(self.sends(b"/private", &self.lines(&OWN)), Passage::Refused);
        self.whatever_bytes();
        self.whatever_fields();
        self.whatever_names();
        let wrong = self.wrong.take();
        assert!(
            wrong.is_empty(),
            "{} of them: {:#?}",
            wrong.len(),
            wrong.iter().take(20).collect::<Vec<_>>()
        );
    }

    fn whatever_bytes(&self) {
        let (mut refused, whole) = (0, self.lines(&OWN));
        for byte in 0..=u8::MAX {
            // A line feed ends the request line of HTTP/0.9, which names no client.
            if byte != b'\n' {
                let target = [b"/private", &[byte][..], b"x"].concat();
                self.stays_out(&target, &whole, &format!("target {byte:02x}"));
            }
            for place in (0..whole.len()).filter(|place| whole[*place].0 != "Connection") {
                // That makes it the name of another host; there are proxies that leave out a carriage return.
                if whole[place].0 == "Host" && (is_host(&[byte]) || matches!(byte, b':' | b'\r')) {
                    continue;
                }
                let mut lines = whole.clone();
                lines[place].1.extend([byte, b'x']);
                let passage = self.stays_out(b"/private", &lines, &format!("{} {byte:02x}", whole[place].0));
                refused += u32::from(passage == Passage::Refused);
            }
        }
        // Text is understood by all.
        assert!(refused > 5 * 100, "{refused}");
    }

    fn whatever_fields(&self) {
        let own = self.lines(&OWN);
        let around = |more: Lines, what: &str| {
            for all in [[&more[..], &own].concat(), [&own[..], &more].concat()] {
                self.stays_out(b"/private", &all, what);
            }
        };
        for count in (0..=300).step_by(20) {
            let more = (0..count).map(|number| (format!("X-Field-{number}"), b"a".to_vec())).collect();
            around(more, &format!("{count} fields"));
        }
        for kilobytes in (0..=64).step_by(4) {
            around(
                vec![("X-Field".into(), vec![b'a'; kilobytes * 1024])],
                &format!("{kilobytes} KiB in a field"),
            );
            let parts =
                (0..kilobytes).map(|number| (format!("X-Field-{number}"), vec![b'a'; 1024])).collect();
            around(parts, &format!("{kilobytes} KiB in fields"));
        }
    }

    fn whatever_names(&self) {
        let prefixed = PREFIXES.iter().map(|prefix| format!("{prefix}uri"));
        let claims = NAMES.iter().map(|name| (*name).to_owned()).chain(prefixed);
        for name in claims {
            self.with_field(&name);
            self.spelled_otherwise(&name);
        }
        for name in ["content-length", "transfer-encoding", "connection", "expect", "upgrade", "user-agent"] {
            self.spelled_otherwise(name);
        }
    }

    fn spelled_otherwise(&self, name: &str) {
        for spelled in [
            name.replace('-', "_"),
            name.replace('-', "."),
            name.to_uppercase().replace('-', "~"),
            format!("{name} "),
            format!("\u{1}{name}"),
        ] {
            if spelled != name {
                self.with_field(&spelled);
            }
        }
    }

    fn with_field(&self, name: &str) {
        for value in ["/open", "5", CHROME] {
            let mut lines = self.lines(&OWN);
            lines.insert(0, (name.to_owned(), value.into()));
            self.stays_out(b"/private", &lines, &format!("{name}: {value}"));
        }
    }

    /// The same with several `User-Agent` fields, and with one that `Connection` would have a proxy take away.
    pub(crate) fn stays_out_under_any_name(&self) {
        judges_again(self.port, self.host);
        for lines in self.with_odd_names() {
            let passage = self.sends(b"/private", &lines);
            assert!(matches!(passage, Passage::Refused | Passage::NotTaken), "{lines:?}: {passage:?}");
        }
    }

    /// The same at a proxy that passes on the first `User-Agent` only, and none that `Connection` names, and cannot be told
    /// otherwise: the site is not told who it is either. Its page says who it was told.
    pub(crate) fn is_judged_by_what_the_site_is_told(&self) {
        judges_again(self.port, self.host);
        for lines in self.with_odd_names() {
            if let Passage::Through(page) = self.sends(b"/private", &lines) {
                assert!(page.contains("agent: ") && !page.contains("GPTBot"), "{lines:?}: {page}");
            }
        }
    }

    fn with_odd_names(&self) -> Vec<Lines> {
        let mut odd = Vec::new();
        for agents in [[CHROME, GPTBOT], [GPTBOT, CHROME], [CHROME, "GPTBot"], ["", GPTBOT]] {
            odd.push(self.lines(&agents.map(|agent| ("User-Agent", agent))));
        }
        for options in [
            "User-Agent",
            "user-agent, accept",
            "close, User-Agent",
            "X-Forwarded-For, X-Forwarded-Uri, Host",
        ] {
            let mut lines = self.lines(&OWN);
            lines.push(("Connection".into(), options.into()));
            odd.push(lines);
        }
        odd
    }

    /// A person's browser passes, also with what is odd about it.
    pub(crate) fn lets_people_through(&self) {
        let more: Vec<String> = (0..60).map(|number| format!("X-Field-{number}")).collect();
        let more: Vec<_> = more.iter().map(|name| (&**name, "a")).collect();
        for own in [
            vec![("User-Agent", CHROME)],
            [&[("User-Agent", CHROME), ("Accept", "text/\u{e9}")], &more[..]].concat(),
        ] {
            let passage = self.sends(b"/private", &self.lines(&own));
            assert!(matches!(passage, Passage::Through(_)), "{own:?}: {passage:?}");
        }
        let both = [("User-Agent", CHROME); 2];
        let passage = self.sends(b"/private", &self.lines(&both));
        assert!(matches!(passage, Passage::Through(_) | Passage::NotTaken), "{passage:?}");
    }
}

/// What comes until the answer is whole, or the connection closed.
fn answer_of(stream: &mut TcpStream) -> Vec<u8> {
    let (mut answer, mut part) = (Vec::new(), [0; 16 << 10]);
    while let Ok(count @ 1..) = stream.read(&mut part) {
        answer.extend(&part[..count]);
        let text = String::from_utf8_lossy(&answer).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if length.is_some_and(|length| body.len() >= length) {
            break;
        }
    }
    answer
}

const OWN: [(&str, &str); 5] = [
    ("User-Agent", GPTBOT),
    ("Accept", "text/html"),
    ("Signature-Input", "a=()"),
    ("Signature", "a=:AA==:"),
    ("Signature-Agent", "\"https://a.example\""),
];
