//! One field line (RFC 9112 §5): `field-name ":" OWS field-value OWS`, with nothing around the name.

use super::{HttpFault, are_all, is_same, token_length};

/// A field line taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http) struct Field<'a> {
    /// As sent; names compare without case (RFC 9110 §5.1).
    pub(in crate::http) name: &'a [u8],
    /// Without the whitespace around it.
    pub(in crate::http) value: &'a [u8],
}

impl<'a> Field<'a> {
    /// Reads a line without its CR LF.
    pub(in crate::http) fn read(line: &'a [u8]) -> Result<Self, HttpFault> {
        if let [b' ' | b'\t', ..] = line {
            return Err(HttpFault::Folding);
        }
        let (name, value) = line.split_at_checked(token_length(line)).unwrap_or_default();
        let ([_, ..], [b':', value @ ..]) = (name, value) else { return Err(HttpFault::FieldName) };
        // The name and the colon hold no byte that a value may not hold, so the whole line is checked at once.
        if !are_all(line, may_stand_in_a_value) {
            return Err(HttpFault::FieldValue);
        }
        // `trim_ascii` removes other whitespace as well, but a checked value holds only spaces and tabs.
        Ok(Self { name, value: value.trim_ascii() })
    }

    pub(in crate::http) fn is(&self, name: &str) -> bool {
        is_same(self.name, name)
    }
}

/// VCHAR, obs-text and blanks (RFC 9110 §5.5): no control character has a meaning there.
const fn may_stand_in_a_value(byte: u8) -> bool {
    byte >= b' ' && byte != 0x7f || byte == b'\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_name_and_value() {
        let field = Field::read(b"Accept:\t a, b ").unwrap();
        assert_eq!((field.name, field.value), (&b"Accept"[..], &b"a, b"[..]));
        assert!(field.is("accept") && !field.is("accept-language"));
        assert_eq!(Field::read(b"X:").unwrap().value, b"");
        assert_eq!(Field::read(b"X: a:b \xe9").unwrap().value, b"a:b \xe9");
    }

    #[test]
    fn refuses_what_others_might_read_differently() {
        let fault = |line: &[u8]| Field::read(line).unwrap_err();
        assert_eq!(fault(b" folded"), HttpFault::Folding);
        for line in [&b"Host : a"[..], b"Ho st: a", b": a", b"no colon", b"H\0st: a", b"(c): a"] {
            assert_eq!(fault(line), HttpFault::FieldName, "{line:?}");
        }
        for line in [&b"X: a\0b"[..], b"X: a\rb", b"X: \x0b", b"X: \x7f"] {
            assert_eq!(fault(line), HttpFault::FieldValue, "{line:?}");
        }
    }
}
