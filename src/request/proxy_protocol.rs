//! The header of the PROXY protocol, versions 1 and 2 (`proxy-protocol.txt` of `HAProxy`): bytes → who
//! connected to the proxy.
//!
//! A pure parser over what has arrived so far. `server::handler` reads the socket, and knows whether the proxy may be
//! believed. TLVs behind the addresses are skipped.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// The longest header that is read: version 1 has 107 bytes at most (§2.1), and of version 2 this leaves
/// far more room for TLVs than proxies use.
pub const LONGEST: usize = 4_096;

/// The longest line of version 1, its end included (§2.1).
const LONGEST_LINE: usize = 107;

/// The first bytes of version 2 (§2.2).
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";

/// Version, command, family and length follow the signature.
const FIXED: usize = 16;

/// A whole header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its length in bytes; what follows is the client's.
    pub length: usize,
    /// Who connected to the proxy. `None` where the proxy speaks for itself (`LOCAL`, a health check) or
    /// does not know (`UNKNOWN`, a Unix socket): then whoever opened the connection is the client.
    pub client: Option<SocketAddr>,
}

/// The bytes are no header, whatever follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedProxyHeader;

/// Reads the header at the beginning of `bytes`; `None` while they are no whole one.
///
/// # Errors
/// When they are none, and no beginning of one.
pub fn parse(bytes: &[u8]) -> Result<Option<Header>, MalformedProxyHeader> {
    if bytes.starts_with(SIGNATURE) {
        return binary(bytes);
    }
    if SIGNATURE.starts_with(bytes) { Ok(None) } else { text(bytes) }
}

/// Version 1: `PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n`.
fn text(bytes: &[u8]) -> Result<Option<Header>, MalformedProxyHeader> {
    const WORD: &[u8] = b"PROXY ";
    if WORD.starts_with(bytes) {
        return Ok(None);
    }
    let window = bytes.get(..bytes.len().min(LONGEST_LINE)).unwrap_or_default();
    let rest = window.strip_prefix(WORD).ok_or(MalformedProxyHeader)?;
    let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
        return if window.len() < LONGEST_LINE { Ok(None) } else { Err(MalformedProxyHeader) };
    };
    let line = rest.get(..end).and_then(|line| std::str::from_utf8(line).ok()).ok_or(MalformedProxyHeader)?;
    // Whatever else such a line says must be ignored (§2.1).
    let is_unknown = line.split(' ').next() == Some("UNKNOWN");
    let client = if is_unknown { None } else { Some(client(line).ok_or(MalformedProxyHeader)?) };
    Ok(Some(Header { length: WORD.len() + end + 2, client }))
}

/// The client that the rest of a line names.
fn client(line: &str) -> Option<SocketAddr> {
    let words: Vec<&str> = line.split(' ').collect();
    let &[family, source, destination, source_port, destination_port] = words.as_slice() else { return None };
    let source = match family {
        "TCP4" => pair::<Ipv4Addr>(source, destination)?,
        "TCP6" => pair::<Ipv6Addr>(source, destination)?,
        _ => return None,
    };
    port(destination_port)?;
    Some(SocketAddr::new(source, port(source_port)?))
}

/// The source, where both are addresses of one family.
fn pair<A: FromStr + Into<IpAddr>>(source: &str, destination: &str) -> Option<IpAddr> {
    destination.parse::<A>().ok()?;
    source.parse::<A>().ok().map(Into::into)
}

/// A decimal number without sign and leading zeros (§2.1).
fn port(text: &str) -> Option<u16> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    is_plain.then(|| text.parse().ok()).flatten()
}

/// Version 2.
fn binary(bytes: &[u8]) -> Result<Option<Header>, MalformedProxyHeader> {
    let Some([.., version_and_command, family, high, low]) = bytes.first_chunk::<FIXED>() else {
        return Ok(None);
    };
    let length = FIXED + usize::from(u16::from_be_bytes([*high, *low]));
    if version_and_command >> 4 != 2 || length > LONGEST {
        return Err(MalformedProxyHeader);
    }
    let Some(block) = bytes.get(FIXED..length) else { return Ok(None) };
    let client = match (version_and_command & 0x0f, family) {
        (1, 0x11) => Some(address_block::<4>(block).ok_or(MalformedProxyHeader)?),
        (1, 0x21) => Some(address_block::<16>(block).ok_or(MalformedProxyHeader)?),
        // LOCAL is the proxy's own connection, whatever else it says (§2.2); AF_UNSPEC and AF_UNIX carry no
        // address that could be a client's.
        (0, _) | (1, 0x00 | 0x31 | 0x32) => None,
        // Datagrams do not arrive over a stream, and other values are not assigned.
        _ => return Err(MalformedProxyHeader),
    };
    Ok(Some(Header { length, client }))
}

/// Source and destination address of `N` bytes each, then source and destination port.
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

    fn client(bytes: &[u8]) -> Option<SocketAddr> {
        match parse(bytes) {
            Ok(Some(header)) => header.client,
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
        assert!(matches!(parse(line), Ok(Some(Header { length: 45, .. }))));
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
        for bytes in cases {
            assert_eq!(parse(bytes), Err(MalformedProxyHeader), "{}", bytes.escape_ascii());
        }
        assert_eq!(parse(&version_2(0x21, 0x11, &[0; 11])), Err(MalformedProxyHeader), "a short block");
        assert_eq!(parse(&version_2(0x21, 0x12, &[0; 12])), Err(MalformedProxyHeader), "a datagram");
        assert_eq!(parse(&version_2(0x22, 0x11, &[0; 12])), Err(MalformedProxyHeader), "an unknown command");
    }

    #[test]
    fn every_beginning_of_a_header_is_incomplete_and_no_more() {
        let headers: [&[u8]; 2] = [
            b"PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\n",
            &version_2(0x21, 0x11, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
        ];
        for header in headers {
            for end in 0..header.len() {
                assert_eq!(parse(&header[..end]), Ok(None), "{end}");
            }
            assert!(matches!(parse(header), Ok(Some(whole)) if whole.length == header.len()));
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
            let mut bytes = seeds[round % seeds.len()].to_vec();
            for _ in 0..=next(4) {
                let (place, byte) = (next(bytes.len()), next(256));
                bytes[place] = u8::try_from(byte).unwrap();
            }
            bytes.truncate(1 + next(bytes.len()));
            match parse(&bytes) {
                Ok(Some(header)) => {
                    assert_eq!(parse(&bytes[..header.length]), Ok(Some(header)));
                    assert_eq!(parse(&bytes[..header.length - 1]), Ok(None));
                }
                Ok(None) => {
                    assert_eq!(parse(&bytes[..bytes.len() / 2]), Ok(None));
                }
                Err(MalformedProxyHeader) => {}
            }
        }
    }
}
