//! Blows in plain HTTP/1.1: heads without end, requests in a row, and requests that two readers could read in two ways.

use super::attacker::Siege;
use super::flood::{read_out, source};
use crate::scenario::BROWSER;
use std::io::{self, Write as _};
use std::time::SystemTime;

const MEBIBYTE: usize = 1024 * 1024;

/// Requests that are sent in a row.
const ROW: usize = 200;

/// Requests with a fault each (RFC 9112 §2.2, §5, §6 and §7).
const MALFORMED: [&str; 10] = [
    "POST / HTTP/1.1\r\nHost: e\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /x HTTP/1.1\r\n",
    "POST / HTTP/1.1\r\nHost: e\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "POST / HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    "POST / HTTP/1.1\r\nHost: e\r\nContent-Length: +5\r\n\r\nhello",
    "GET / HTTP/1.1\nHost: e\n\n",
    "GET / HTTP/1.1\r\nHost: e\r\nHost: f\r\n\r\n",
    "GET / HTTP/1.1\r\nHost : e\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: e\r\nX: a\r\n b\r\n\r\n",
    "GET / HTTP/1.1\r\nHost: e\r\nX: \0\r\n\r\n",
];

/// A head of 1 MiB, which the gateway refuses on the way.
pub(super) fn large_head(siege: &Siege, number: u32) -> io::Result<bool> {
    let mut stream = siege.connect(siege.plain, source(number))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: e2e.example\r\n")?;
    let line = format!("X-Filling: {}\r\n", "x".repeat(4_000));
    for _ in 0..MEBIBYTE / line.len() {
        stream.write_all(line.as_bytes())?;
    }
    read_out(&mut stream)
}

/// Many requests in one piece: half of them forwarded, half of them answered by the gateway itself.
pub(super) fn row(siege: &Siege, number: u32) -> io::Result<bool> {
    let mut stream = siege.connect(siege.plain, source(number))?;
    let mut requests = String::new();
    for at in 1..=ROW {
        let target = if at % 2 == 0 { "/page" } else { "/robots.txt" };
        let fate = if at == ROW { "close" } else { "keep-alive" };
        requests.push_str("GET ");
        requests.push_str(target);
        requests.push_str(" HTTP/1.1\r\nHost: e2e.example\r\nConnection: ");
        requests.push_str(fate);
        requests.push_str("\r\n\r\n");
    }
    stream.write_all(requests.as_bytes())?;
    read_out(&mut stream)
}

/// The thumbprint of a key (RFC 8037 §A.3) that the gateway is given as that of an agent that signs.
pub(super) const KNOWN_KEY: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

/// As many requests in one piece as of [`row`], each signed wrongly, and no two alike.
pub(super) fn signed_row(siege: &Siege, number: u32, key: &str) -> io::Result<bool> {
    let mut stream = siege.connect(siege.plain, source(number))?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (mut requests, signature, end) = (String::new(), "A".repeat(86), now + 300);
    for at in 1..=ROW {
        let fate = if at == ROW { "close" } else { "keep-alive" };
        let request = format!(
            "GET /page HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: {BROWSER}\r\nConnection: {fate}\r\n\
             Signature-Agent: \"https://chatgpt.com\"\r\nSignature-Input: sig1=(\"@authority\" \"@method\" \"@path\" \
             \"signature-agent\");created={now};expires={end};keyid=\"{key}\";nonce=\"{number}-{at}\";tag=\"web-bot-auth\"\r\n\
             Signature: sig1=:{signature}==:\r\n\r\n"
        );
        requests.push_str(&request);
    }
    stream.write_all(requests.as_bytes())?;
    read_out(&mut stream)
}

/// A request that has to be refused with 400.
pub(super) fn malformed(siege: &Siege, number: u32) -> io::Result<bool> {
    let mut stream = siege.connect(siege.plain, source(number))?;
    let request = MALFORMED.get(number as usize % MALFORMED.len()).copied().unwrap_or_default();
    stream.write_all(request.as_bytes())?;
    read_out(&mut stream)
}

/// The beginning of a head that will be long in coming: 4 KiB are there.
pub(super) fn slow_head() -> Vec<u8> {
    format!(
        "GET /page HTTP/1.1\r\nHost: e2e.example\r\nUser-Agent: {BROWSER}\r\nX-Filling: {}",
        "x".repeat(4_000)
    )
    .into_bytes()
}

/// A head whose body will be long in coming.
pub(super) fn slow_body() -> Vec<u8> {
    b"POST /upload HTTP/1.1\r\nHost: e2e.example\r\nContent-Length: 1000000\r\n\r\n".to_vec()
}

/// One whole request on a connection that is kept.
pub(super) fn page() -> Vec<u8> {
    b"GET /page HTTP/1.1\r\nHost: e2e.example\r\n\r\n".to_vec()
}
