//! What a signature may cover: the parts of a request, and of the answer to it.

use crate::http::head::is_host;
use std::borrow::Cow;

/// A field's name and one of its lines.
pub type FieldLine<'a> = (&'a [u8], &'a [u8]);

/// A request, and the answer to it where that is what was signed.
#[derive(Clone, Copy, Debug)]
pub struct SignedMessage<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// `http` or `https`.
    pub scheme: &'a str,
    /// Host and port, as `Host` or `:authority` say it.
    pub authority: &'a str,
    /// Path and query as sent.
    pub target: &'a [u8],
    /// The request's field lines in order.
    pub fields: &'a [FieldLine<'a>],
    /// The answer, where that is what was signed.
    pub answer: Option<AnswerParts<'a>>,
}

/// What of an answer can be signed.
#[derive(Clone, Copy, Debug)]
pub struct AnswerParts<'a> {
    /// The status.
    pub status: u16,
    /// Its field lines in order.
    pub fields: &'a [FieldLine<'a>],
}

impl<'a> SignedMessage<'a> {
    /// The field lines of what was signed: those of the answer, where it is one.
    pub(super) fn own_fields(&self) -> &'a [FieldLine<'a>] {
        self.answer.map_or(self.fields, |answer| answer.fields)
    }

    /// All lines of a field, joined as RFC 9421 §2.1 says; `None` where there is none.
    pub(super) fn field(fields: &'a [FieldLine<'a>], name: &str) -> Option<Cow<'a, [u8]>> {
        let mut lines = lines(fields, name);
        let first = lines.next()?;
        let Some(second) = lines.next() else { return Some(Cow::Borrowed(first)) };
        let all: Vec<&[u8]> = [first, second].into_iter().chain(lines).collect();
        Some(Cow::Owned(all.join(&b", "[..])))
    }

    /// Host and port in normal form (RFC 9421 §2.2.3): in lower case, without the scheme's own port.
    pub(super) fn normal_authority(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let port = if self.scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
        match authority.strip_suffix(port) {
            Some(host) => host.to_owned(),
            None => authority,
        }
    }
}

/// The lines of a field, without the blanks around them.
pub(super) fn lines<'a>(fields: &'a [FieldLine<'a>], name: &str) -> impl Iterator<Item = &'a [u8]> {
    let same = move |(own, _): &&FieldLine<'a>| own.eq_ignore_ascii_case(name.as_bytes());
    fields.iter().filter(same).map(|(_, value)| value.trim_ascii())
}

/// The origin of an agent (RFC 6454 §6.2) at which its keys are published, in normal form: `https://agent.example`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentOrigin(Box<str>);

impl AgentOrigin {
    /// Where a directory of keys lies at its origin.
    pub const WELL_KNOWN: &'static str = "/.well-known/http-message-signatures-directory";

    /// Reads an https origin. Of a path only `/` may follow it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_at_checked("https://".len())?;
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        let authority = authority.strip_suffix(":443").unwrap_or(authority);
        let is_origin = scheme.eq_ignore_ascii_case("https://")
            && is_host(authority.as_bytes())
            && !authority.ends_with(':');
        is_origin.then(|| Self(format!("https://{}", authority.to_ascii_lowercase()).into()))
    }

    /// The origin as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Host and port.
    #[must_use]
    pub fn authority(&self) -> &str {
        self.0.strip_prefix("https://").unwrap_or(&self.0)
    }

    /// Where its directory of keys is published.
    #[must_use]
    pub fn directory(&self) -> String {
        [&self.0, Self::WELL_KNOWN].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_a_scheme_and_an_authority() {
        let parse = |text| AgentOrigin::parse(text).map(|origin| origin.as_str().to_owned());
        for (text, expected) in [
            ("https://chatgpt.com", "https://chatgpt.com"),
            ("HTTPS://ChatGPT.com/", "https://chatgpt.com"),
            ("https://a.example:443", "https://a.example"),
            ("https://a.example:8443", "https://a.example:8443"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
        ] {
            assert_eq!(parse(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "https://",
            "http://a.example",
            "https://a.example/x",
            "https://a.example?x",
            "https://a.example#x",
            "https://u@a.example",
            "https://a.example:",
            "https://a.example:99999",
            "https://a b",
            "a.example",
            "\u{e9}\u{e9}\u{e9}\u{e9}a.example",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_authority_is_in_normal_form() {
        let of = |scheme, authority| {
            let (method, target, fields) = ("GET", &b"/"[..], &[][..]);
            SignedMessage { method, scheme, authority, target, fields, answer: None }.normal_authority()
        };
        assert_eq!(of("https", "Example.COM:443"), "example.com");
        assert_eq!(of("http", "example.com:80"), "example.com");
        assert_eq!(of("https", "example.com:80"), "example.com:80");
    }
}
