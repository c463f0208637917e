//! `Forwarded` (RFC 7239): who a request came from, as the proxies in front tell it.
//!
//! Only what the walk over addresses needs: the `for` of each element, and the `proto` of the last. What is
//! quoted wrongly is an element of an unknown client, which ends the walk.

/// Which field the proxies in front write. Never both: a proxy that writes one passes on what a client has
/// put in the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedField {
    /// `X-Forwarded-For`, as nearly all do.
    #[default]
    XForwardedFor,
    /// `Forwarded`.
    Forwarded,
}

impl ForwardedField {
    /// The field's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
}

/// The nodes that the elements of one line of `Forwarded` name, in order; `unknown` for an element without
/// one (RFC 7239 §6.2).
pub fn nodes(line: &[u8]) -> Vec<Vec<u8>> {
    split(line, b',').into_iter().map(|element| parameter(element, "for").unwrap_or_else(unknown)).collect()
}

/// The scheme that the last element of a line names.
pub fn scheme(line: &[u8]) -> Option<Vec<u8>> {
    split(line, b',').pop().and_then(|element| parameter(element, "proto"))
}

fn unknown() -> Vec<u8> {
    b"unknown".to_vec()
}

/// The value of a parameter of an element, its quotes taken away (RFC 7239 §4).
fn parameter(element: &[u8], name: &str) -> Option<Vec<u8>> {
    let pairs = split(element, b';');
    let mut values = pairs.iter().filter_map(|pair| {
        let equals = memchr::memchr(b'=', pair)?;
        let (left, right) = pair.split_at_checked(equals)?;
        left.trim_ascii().eq_ignore_ascii_case(name.as_bytes()).then(|| right.get(1..).unwrap_or_default())
    });
    let value = values.next()?.trim_ascii();
    // A parameter may occur once; twice is nobody's word (RFC 7239 §4).
    if values.next().is_some() {
        return None;
    }
    match value {
        [b'"', inner @ .., b'"'] => Some(inner.iter().copied().filter(|byte| *byte != b'\\').collect()),
        _ => Some(value.to_vec()),
    }
}

/// Splits at `mark` outside of quoted strings (RFC 9110 §5.6.4).
fn split(line: &[u8], mark: u8) -> Vec<&[u8]> {
    let (mut parts, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
    for (at, byte) in line.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            byte if *byte == mark && !quoted => {
                parts.push(line.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(line.get(start..).unwrap_or_default());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        nodes(line.as_bytes()).iter().map(|node| String::from_utf8_lossy(node).into_owned()).collect()
    }

    #[test]
    fn every_element_names_a_node() {
        assert_eq!(shown("for=192.0.2.43, for=198.51.100.17"), ["192.0.2.43", "198.51.100.17"]);
        assert_eq!(shown("For=\"[2001:db8:cafe::17]:4711\""), ["[2001:db8:cafe::17]:4711"]);
        assert_eq!(shown("for=192.0.2.60;proto=http;by=203.0.113.43"), ["192.0.2.60"]);
        assert_eq!(shown("by=a, for=_hidden, for=unknown"), ["unknown", "_hidden", "unknown"]);
        assert_eq!(shown(""), ["unknown"]);
    }

    #[test]
    fn quotes_hide_no_element() {
        assert_eq!(shown("for=\"a, for=b\", for=c"), ["a, for=b", "c"]);
        assert_eq!(shown("for=\"a\\\", for=b\", for=c"), ["a\", for=b", "c"]);
        assert_eq!(shown("for=a;for=b"), ["unknown"]);
    }

    #[test]
    fn the_last_element_knows_the_scheme() {
        assert_eq!(scheme(b"for=a;proto=http, for=b;proto=https"), Some(b"https".to_vec()));
        assert_eq!(scheme(b"for=a;proto=https, for=b"), None);
    }
}
