//! `Forwarded` (RFC 7239): who a request came from, as the proxies in front tell it.
//!
//! Only what the walk over addresses needs: the `for` of each element, and the `proto` of the last. A comma ends an element
//! also where it is quoted: no address has one, and a quote that a client has left open hides nothing that a proxy appends.

/// Which field the proxies in front write. Never both: a proxy that writes one passes on what a client has
/// put in the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum ForwardedField {
    /// `X-Forwarded-For`, as nearly all do.
    #[default]
    XForwardedFor,
    /// `Forwarded`.
    Forwarded,
}

impl ForwardedField {
    /// The field's name.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The nodes that the elements of one line of `Forwarded` name, in order; `unknown` for an element without
/// one (RFC 7239 §6.2).
pub fn nodes(line: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(|element| parameter(element, "for").unwrap_or(b"unknown"))
}

/// The scheme that the last element of a line names.
pub fn scheme(line: &[u8]) -> Option<&[u8]> {
    line.rsplit(|byte| *byte == b',').next().and_then(|element| parameter(element, "proto"))
}

/// The value of a parameter of an element, its quotes taken away. A parameter may occur once; twice is nobody's word
/// (RFC 7239 §4).
fn parameter<'a>(element: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut values = element.split(|byte| *byte == b';').filter_map(|pair| {
        let (left, right) = pair.split_at_checked(memchr::memchr(b'=', pair)?)?;
        left.trim_ascii().eq_ignore_ascii_case(name.as_bytes()).then(|| right.get(1..).unwrap_or_default())
    });
    let value = values.next().filter(|_| values.next().is_none())?.trim_ascii();
    Some(value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> Vec<String> {
        nodes(line.as_bytes()).map(|node| String::from_utf8_lossy(node).into_owned()).collect()
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
        assert_eq!(shown("for=\"a, for=b\", for=c"), ["\"a", "b\"", "c"]);
        assert_eq!(shown("for=\"a;by=\", for=c"), ["\"a", "c"]);
        assert_eq!(shown("for=a;for=b"), ["unknown"]);
    }

    #[test]
    fn the_last_element_knows_the_scheme() {
        assert_eq!(scheme(b"for=a;proto=http, for=b;proto=https"), Some(&b"https"[..]));
        assert_eq!(scheme(b"for=a;proto=https, for=b"), None);
    }
}
