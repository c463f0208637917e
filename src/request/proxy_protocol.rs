//! The header of the PROXY protocol, versions 1 and 2 (`proxy-protocol.txt` of `HAProxy`): octets → who
//! connected to the proxy.
//!
//! A pure parser over what has arrived so far; reading a socket, and knowing whether the proxy may be
//! believed, is `proxy`'s affair. TLVs behind the addresses are skipped.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The longest header that is read: version 1 has 107 octets at most (§2.1), and of version 2 this leaves
/// far more room for TLVs than proxies use.
pub const LONGEST: usize = 4_096;

/// The longest line of version 1, its end included (§2.1).
const LONGEST_LINE: usize = 107;

/// The first octets of version 2 (§2.2).
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Version, command, family and length follow the signature.
const FIXED: usize = 16;

/// What the octets amount to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// A header so far, and not yet a whole one.
    Incomplete,
    /// A whole header.
    Complete(Header),
    /// No header, whatever follows.
    Malformed,
}

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its length in octets; what follows is the client's.
    pub length: usize,
    /// Who connected to the proxy. `None` where the proxy speaks for itself (`LOCAL`, a health check) or
    /// does not know (`UNKNOWN`, a Unix socket): then whoever opened the connection is the client.
    pub client: Option<SocketAddr>,
}

/// Reads the header at the beginning of `octets`.
pub fn parse(octets: &[u8]) -> Progress {
    let version_2 = octets.len().min(SIGNATURE.len());
    if octets.get(..version_2) == SIGNATURE.get(..version_2) {
        return if version_2 < SIGNATURE.len() { Progress::Incomplete } else { binary(octets) };
    }
    text(octets)
}

/// Version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n`.
fn text(octets: &[u8]) -> Progress {
    const WORD: &[u8] = b"PROXY ";
    let common = octets.len().min(WORD.len());
    if octets.get(..common) != WORD.get(..common) {
        return Progress::Malformed;
    }
    let window = octets.get(..octets.len().min(LONGEST_LINE)).unwrap_or_default();
    let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
        let is_over = octets.len() >= LONGEST_LINE;
        return if is_over { Progress::Malformed } else { Progress::Incomplete };
    };
    let line = window.get(WORD.len()..end).and_then(|line| std::str::from_utf8(line).ok());
    let length = end + 2;
    match line.ok_or(Malformed).and_then(line_client) {
        Ok(client) => Progress::Complete(Header { length, client }),
        Err(Malformed) => Progress::Malformed,
    }
}

/// The client that the rest of a line names, if it names one.
fn line_client(line: &str) -> Result<Option<SocketAddr>, Malformed> {
    let mut words = line.split(' ');
    let mut word = || words.next().ok_or(Malformed);
    let family = word()?;
    if family == "UNKNOWN" {
        // Whatever else the line says must be ignored (§2.1).
        return Ok(None);
    }
    let (source, destination) = (word()?, word()?);
    let (source_port, destination_port) = (port(word()?), port(word()?));
    let addresses = match family {
        "TCP4" => pair::<Ipv4Addr>(source, destination),
        "TCP6" => pair::<Ipv6Addr>(source, destination),
        _ => None,
    };
    match (addresses, source_port, destination_port, word()) {
        (Some(source), Some(port), Some(_), Err(Malformed)) => Ok(Some(SocketAddr::new(source, port))),
        _ => Err(Malformed),
    }
}

struct Malformed;

/// The source, where both are addresses of one family.
fn pair<A: FromStr + Into<IpAddr>>(source: &str, destination: &str) -> Option<IpAddr> {
    destination.parse::<A>().ok()?;
    source.parse::<A>().ok().map(Into::into)
}

/// A decimal number without sign and leading zeros (§2.1).
fn port(text: &str) -> Option<u16> {
    let is_plain =
        text.bytes().all(|octet| octet.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Version 2.
fn binary(octets: &[u8]) -> Progress {
    let Some(fixed) = octets.get(..FIXED) else { return Progress::Incomplete };
    let &[.., version_and_command, family, high, low] = fixed else { return Progress::Malformed };
    let length = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if version_and_command >> 4 != 2 || length > LONGEST {
        return Progress::Malformed;
    }
    let command = version_and_command & 0x0f;
    let Some(block) = octets.get(FIXED..length) else { return Progress::Incomplete };
    let client = match (command, family) {
        (1, 0x11) => address_block::<4>(block),
        (1, 0x21) => address_block::<16>(block),
        // LOCAL is the proxy's own connection, whatever else it says (§2.2); AF_UNSPEC and AF_UNIX carry no
        // address that could be a client's.
        (0, _) | (1, 0x00 | 0x31 | 0x32) => return Progress::Complete(Header { length, client: None }),
        // Datagrams do not arrive over a stream, and other values are not assigned.
        _ => None,
    };
    match client {
        Some(_) => Progress::Complete(Header { length, client }),
        None => Progress::Malformed,
    }
}

/// Source and destination address of `N` octets each, then source and destination port.
fn address_block<const N: usize>(block: &[u8]) -> Option<SocketAddr>
where
    IpAddr: From<[u8; N]>,
{
    block.get(..2 * N + 4)?;
    let address = <[u8; N]>::try_from(block.get(..N)?).ok()?;
    let port = <[u8; 2]>::try_from(block.get(2 * N..2 * N + 2)?).ok()?;
    Some(SocketAddr::new(IpAddr::from(address), u16::from_be_bytes(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(octets: &[u8]) -> Option<SocketAddr> {
        match parse(octets) {
            Progress::Complete(header) => header.client,
            other => panic!("{other:?}"),
        }
    }

    fn version_2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
        let length = u16::try_from(block.len()).unwrap().to_be_bytes();
        [SIGNATURE.as_slice(), &[command, family], &length, block].concat()
    }

    #[test]
    fn version_1_names_the_client() {
        let line = b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\nGET / HTTP/1.1\r\n";
        assert_eq!(client(line), Some("192.0.2.1:56324".parse().unwrap()));
        assert!(matches!(parse(line), Progress::Complete(Header { length: 45, .. })));
        let line = b"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n";
        assert_eq!(client(line), Some("[2001:db8::1]:1".parse().unwrap()));
        assert_eq!(client(b"PROXY UNKNOWN\r\n"), None);
        assert_eq!(client(b"PROXY UNKNOWN whatever it says\r\n"), None);
    }

    #[test]
    fn version_2_names_the_client() {
        let block = [192, 0, 2, 1, 198, 51, 100, 2, 0xdc, 0x04, 0x01, 0xbb, 0x04, 0, 1, 0];
        assert_eq!(client(&version_2(0x21, 0x11, &block)), Some("192.0.2.1:56324".parse().unwrap()));
        let mut block = [0; 36];
        block[15] = 1;
        block[33] = 80;
        assert_eq!(client(&version_2(0x21, 0x21, &block)), Some("[::1]:80".parse().unwrap()));
        assert_eq!(client(&version_2(0x20, 0x11, &[0; 12])), None, "LOCAL");
        assert_eq!(client(&version_2(0x21, 0x00, &[])), None, "AF_UNSPEC");
        assert_eq!(client(&version_2(0x21, 0x31, &[0; 216])), None, "AF_UNIX");
    }

    #[test]
    fn what_is_no_header_is_told_as_soon_as_it_can_be() {
        let long = [b"PROXY TCP4 ".as_slice(), &[b'1'; 200]].concat();
        let cases: [&[u8]; 15] = [
            b"GET / HTTP/1.1\r\n",
            b"PROXX",
            b"proxy TCP4",
            &long,
            b"PROXY TCP4 192.0.2.1 192.0.2.2 56324\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443 5\r\n",
            b"PROXY TCP4 2001:db8::1 2001:db8::2 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 065 443\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 65536 443\r\n",
            b"PROXY TCP4  192.0.2.1 192.0.2.2 1 443\r\n",
            b"PROXY UDP4 192.0.2.1 192.0.2.2 1 443\r\n",
            b"PROXY TCP4 192.0.2.1 192.0.2.2 +1 443\r\n",
            b"\r\n\r\n\0\r\nQUIT!",
            b"\r\n\r\n\0\r\nQUIT\n\x11\x11\0\x0c............",
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\xff\xff",
        ];
        for octets in cases {
            assert_eq!(parse(octets), Progress::Malformed, "{}", octets.escape_ascii());
        }
        assert_eq!(parse(&version_2(0x21, 0x11, &[0; 11])), Progress::Malformed, "a short block");
        assert_eq!(parse(&version_2(0x21, 0x12, &[0; 12])), Progress::Malformed, "a datagram");
        assert_eq!(parse(&version_2(0x22, 0x11, &[0; 12])), Progress::Malformed, "an unknown command");
    }

    #[test]
    fn every_beginning_of_a_header_is_incomplete_and_no_more() {
        let headers: [&[u8]; 2] = [
            b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n",
            &version_2(0x21, 0x11, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        ];
        for header in headers {
            for end in 0..header.len() {
                assert_eq!(parse(&header[..end]), Progress::Incomplete, "{end}");
            }
            assert!(matches!(parse(header), Progress::Complete(whole) if whole.length == header.len()));
        }
    }

    #[test]
    fn mutated_headers_never_confuse_it() {
        let seeds: [&[u8]; 3] = [
            b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\nGET / HTTP/1.1\r\n",
            b"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n",
            &version_2(0x21, 0x11, &[7; 20]),
        ];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = move |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % u64::try_from(below).unwrap()).unwrap()
        };
        for round in 0..100_000 {
            let mut octets = seeds[round % seeds.len()].to_vec();
            for _ in 0..=next(4) {
                let (place, octet) = (next(octets.len()), next(256));
                octets[place] = u8::try_from(octet).unwrap();
            }
            octets.truncate(1 + next(octets.len()));
            match parse(&octets) {
                Progress::Complete(header) => {
                    assert_eq!(parse(&octets[..header.length]), Progress::Complete(header));
                    assert_eq!(parse(&octets[..header.length - 1]), Progress::Incomplete);
                }
                Progress::Incomplete => assert_eq!(parse(&octets[..octets.len() / 2]), Progress::Incomplete),
                Progress::Malformed => {}
            }
        }
    }
}
