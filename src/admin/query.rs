//! The query of a URL (RFC 3986 §3.4) as names and values, and back.

use std::fmt::Write as _;

/// `a=b&c=d`, percent-decoded. What is not UTF-8 then has its replacement character.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (decoded(name), decoded(value))
    })
}

fn decoded(text: &str) -> String {
    let mut octets = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.first_chunk::<2>().filter(|_| *first == b'%');
        let value = pair.and_then(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?));
        octets.push(value.unwrap_or(if *first == b'+' { b' ' } else { *first }));
        rest = if value.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&octets).into_owned()
}

fn digit(octet: u8) -> Option<u8> {
    char::from(octet).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

/// `text` as a value: everything but the unreserved characters (RFC 3986 §2.3) is percent-encoded.
pub(super) fn encoded(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for octet in text.bytes() {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(&octet) {
            value.push(char::from(octet));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(value, "%{octet:02X}");
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_again() {
        for text in ["7d", "*.example.org", "a b&c=d%/+", "caf\u{e9}", ""] {
            let query = format!("site={}", encoded(text));
            assert_eq!(pairs(&query).collect::<Vec<_>>(), [("site".to_owned(), text.to_owned())], "{query}");
        }
    }

    #[test]
    fn broken_queries_are_read_as_far_as_they_go() {
        let read = |query: &str| pairs(query).collect::<Vec<_>>();
        assert_eq!(
            read("&&a&b=%&c=%4&d=%zz&e=%ff"),
            [
                ("a".to_owned(), String::new()),
                ("b".to_owned(), "%".to_owned()),
                ("c".to_owned(), "%4".to_owned()),
                ("d".to_owned(), "%zz".to_owned()),
                ("e".to_owned(), "\u{fffd}".to_owned()),
            ]
        );
    }
}
