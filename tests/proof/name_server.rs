//! A name server on loopback, over UDP and TCP (RFC 1035 §4), that answers as it is told to.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const A: u16 = 1;
const CNAME: u16 = 5;
const SOA: u16 = 6;
const PTR: u16 = 12;
const AAAA: u16 = 28;

/// A name that all name servers know, and its address.
const WELL_KNOWN: (&str, &str) = ("crawl-66-249-64-1.googlebot.com", "66.249.64.1");

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameServerManner {
    /// As a name server should.
    Honest,
    /// Not at all.
    Silent,
    /// Honestly, but so much later.
    Late(Duration),
    /// With this response code (RFC 1035 §4.1.1) and nothing else.
    Code(u8),
    /// Over UDP cut short and empty; over TCP not at all.
    Truncating,
    /// Over UDP cut short and empty; over TCP honestly.
    TruncatingUdp,
    /// To another question's number.
    WrongId,
    /// Of another name.
    WrongQuestion,
    /// Empty, without the SOA record that makes it a denial (RFC 2308 §2.2).
    Hollow,
    /// Bytes that are no message.
    Garbage,
}

/// A record; without an owner of its own it is about the question's name.
#[derive(Clone, Debug)]
struct DnsRecord {
    owner: Option<Vec<u8>>,
    kind: u16,
    data: Vec<u8>,
}

impl DnsRecord {
    const fn new(kind: u16, data: Vec<u8>) -> Self {
        Self { owner: None, kind, data }
    }
}

#[derive(Debug)]
struct NameServerState {
    records: HashMap<(String, u16), Vec<DnsRecord>>,
    manner: NameServerManner,
    /// How questions for addresses are answered, where that differs.
    forward: Option<NameServerManner>,
    asked: Vec<String>,
}

/// The name server; it lives as long as the test program.
#[derive(Clone, Debug)]
pub(crate) struct NameServer {
    address: SocketAddr,
    state: Arc<Mutex<NameServerState>>,
}

impl NameServer {
    pub(crate) fn start() -> Self {
        // The same port for both: try until one is free in either protocol.
        for _ in 0..50 {
            let udp = UdpSocket::bind("127.0.0.1:0").expect("a free port");
            let address = udp.local_addr().expect("a bound address");
            let Ok(tcp) = TcpListener::bind(address) else { continue };
            let state = NameServerState {
                records: HashMap::new(),
                manner: NameServerManner::Honest,
                forward: None,
                asked: vec![],
            };
            let server = Self { address, state: Arc::new(Mutex::new(state)) };
            server.host_and_name(WELL_KNOWN.0, WELL_KNOWN.1);
            let (one, other) = (server.clone(), server.clone());
            std::thread::spawn(move || one.serve_udp(&Arc::new(udp)));
            std::thread::spawn(move || other.serve_tcp(&tcp));
            return server;
        }
        panic!("no port is free for UDP and TCP");
    }

    /// An address at which nobody listens.
    pub(crate) fn stopped() -> SocketAddr {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        socket.local_addr().expect("a bound address")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    fn state(&self) -> MutexGuard<'_, NameServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn answers(&self, manner: NameServerManner) {
        self.state().manner = manner;
    }

    pub(crate) fn answers_for_addresses(&self, manner: NameServerManner) {
        self.state().forward = Some(manner);
    }

    /// Gives an address a name. Called again, it gives one more.
    pub(crate) fn name(&self, address: &str, host: &str) -> &Self {
        let labels: Vec<&[u8]> = host.split('.').map(str::as_bytes).collect();
        self.name_of_labels(address, &labels)
    }

    pub(crate) fn name_of_labels(&self, address: &str, labels: &[&[u8]]) -> &Self {
        let key = (reverse(address.parse().expect("an address")), PTR);
        self.state().records.entry(key).or_default().push(DnsRecord::new(PTR, encoded(labels)));
        self
    }

    /// Gives an address a name by way of a zone of its own (RFC 2317 §4).
    pub(crate) fn delegated_name(&self, address: &str, zone: &str, host: &str) -> &Self {
        let name = |text: &str| encoded(&text.split('.').map(str::as_bytes).collect::<Vec<_>>());
        let link = DnsRecord::new(CNAME, name(zone));
        let target = DnsRecord { owner: Some(name(zone)), ..DnsRecord::new(PTR, name(host)) };
        let key = (reverse(address.parse().expect("an address")), PTR);
        self.state().records.insert(key, vec![link, target]);
        self
    }

    /// Gives a name an address.
    pub(crate) fn host(&self, host: &str, address: &str) -> &Self {
        let (kind, data) = match address.parse().expect("an address") {
            IpAddr::V4(address) => (A, address.octets().to_vec()),
            IpAddr::V6(address) => (AAAA, address.octets().to_vec()),
        };
        self.state().records.entry((host.to_owned(), kind)).or_default().push(DnsRecord::new(kind, data));
        self
    }

    /// Both: a name that leads back.
    pub(crate) fn host_and_name(&self, host: &str, address: &str) -> &Self {
        self.host(host, address).name(address, host)
    }

    /// Every question so far, as `name type`.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    pub(crate) fn asked_about(&self, address: &str) -> usize {
        let question = format!("{} {PTR}", reverse(address.parse().expect("an address")));
        self.asked().iter().filter(|asked| **asked == question).count()
    }

    fn serve_udp(&self, socket: &Arc<UdpSocket>) {
        let mut bytes = [0; 1500];
        while let Ok((length, client)) = socket.recv_from(&mut bytes) {
            let (server, socket, question) = (self.clone(), Arc::clone(socket), bytes[..length].to_vec());
            std::thread::spawn(move || {
                if let Some(answer) = server.answer(&question, true) {
                    // The client may have lost its patience.
                    let _ = socket.send_to(&answer, client);
                }
            });
        }
    }

    fn serve_tcp(&self, listener: &TcpListener) {
        for mut stream in listener.incoming().flatten() {
            let server = self.clone();
            std::thread::spawn(move || {
                let mut length = [0; 2];
                while stream.read_exact(&mut length).is_ok() {
                    let mut question = vec![0; usize::from(u16::from_be_bytes(length))];
                    if stream.read_exact(&mut question).is_err() {
                        return;
                    }
                    let Some(answer) = server.answer(&question, false) else { return };
                    let length = u16::try_from(answer.len()).expect("a short answer").to_be_bytes();
                    if stream.write_all(&[&length[..], &answer].concat()).is_err() {
                        return;
                    }
                }
            });
        }
    }

    fn answer(&self, question: &[u8], is_udp: bool) -> Option<Vec<u8>> {
        let (name, kind, end) = parse(question)?;
        let (manner, records) = {
            let mut state = self.state();
            // What all name servers know is asked by itself, and is no question about a client.
            if name != WELL_KNOWN.0 && name != reverse(WELL_KNOWN.1.parse().expect("an address")) {
                state.asked.push(format!("{name} {kind}"));
            }
            let forward = state.forward.filter(|_| kind != PTR);
            let manner = forward.unwrap_or(state.manner);
            (manner, state.records.get(&(name.clone(), kind)).cloned())
        };
        let exists = records.is_some() || self.state().records.keys().any(|(known, _)| *known == name);
        let id = &question[..2];
        let section = &question[12..end];
        let honest = || message(id, if exists { 0 } else { 3 }, false, section, records.as_deref(), true);
        match manner {
            NameServerManner::Honest => Some(honest()),
            NameServerManner::Silent => None,
            NameServerManner::Late(delay) => {
                std::thread::sleep(delay);
                Some(honest())
            }
            NameServerManner::Code(code) => Some(message(id, code, false, section, None, false)),
            NameServerManner::TruncatingUdp if !is_udp => Some(honest()),
            NameServerManner::Truncating if !is_udp => None,
            NameServerManner::Truncating | NameServerManner::TruncatingUdp => {
                Some(message(id, 0, true, section, None, false))
            }
            NameServerManner::WrongId => {
                let other = [id[0] ^ 0xFF, id[1]];
                Some(message(&other, 3, false, section, None, true))
            }
            NameServerManner::WrongQuestion => {
                let other =
                    [encoded(&[b"elsewhere", b"example"]), section[section.len() - 4..].to_vec()].concat();
                Some(message(id, 3, false, &other, None, true))
            }
            NameServerManner::Hollow => Some(message(id, 0, false, section, None, false)),
            NameServerManner::Garbage => Some([id, &[0xFF; 40]].concat()),
        }
    }
}

/// The name in which the reverse zones keep an address (RFC 1035 §3.5, RFC 3596 §2.5).
fn reverse(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}.in-addr.arpa")
        }
        IpAddr::V6(address) => {
            let digits = format!("{:032x}", address.to_bits());
            digits.chars().rev().flat_map(|digit| [digit, '.']).collect::<String>() + "ip6.arpa"
        }
    }
}

fn encoded(labels: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for label in labels {
        bytes.push(u8::try_from(label.len()).expect("a short label"));
        bytes.extend_from_slice(label);
    }
    bytes.push(0);
    bytes
}

/// The name and type of the one question, and where it ends.
fn parse(message: &[u8]) -> Option<(String, u16, usize)> {
    let mut labels = Vec::new();
    let mut at = 12;
    loop {
        let length = usize::from(*message.get(at)?);
        at += 1;
        if length == 0 {
            break;
        }
        labels.push(String::from_utf8_lossy(message.get(at..at + length)?).to_lowercase());
        at += length;
    }
    let kind = u16::from_be_bytes([*message.get(at)?, *message.get(at + 1)?]);
    Some((labels.join("."), kind, at + 4))
}

fn message(
    id: &[u8],
    code: u8,
    is_cut: bool,
    question: &[u8],
    records: Option<&[DnsRecord]>,
    denies: bool,
) -> Vec<u8> {
    let records = records.unwrap_or_default();
    let count = u16::try_from(records.len()).expect("few records").to_be_bytes();
    let denies = denies && records.is_empty();
    let flags = [0x81 | if is_cut { 0x02 } else { 0 }, 0x80 | code];
    let mut bytes = [id, &flags, &[0, 1], &count, &[0, u8::from(denies)], &[0, 0], question].concat();
    let record = |record: &DnsRecord| {
        let length = u16::try_from(record.data.len()).expect("a short record").to_be_bytes();
        let owner = record.owner.as_deref().unwrap_or(&[0xC0, 0x0C]);
        [owner, &record.kind.to_be_bytes(), &[0, 1, 0, 0, 0, 60], &length, &record.data].concat()
    };
    for one in records {
        bytes.extend(record(one));
    }
    if denies {
        let names = [encoded(&[b"ns", b"example"]), encoded(&[b"root", b"example"])].concat();
        bytes.extend(record(&DnsRecord::new(SOA, [names, vec![0; 19], vec![60]].concat())));
    }
    bytes
}
