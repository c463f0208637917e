//! What a signature may cover of a request, and where the keys of an agent are published.

use crate::http::head::is_host;
use std::borrow::Cow;

/// A field's name and one of its lines.
pub type FieldLine<'a> = (&'a [u8], &'a [u8]);

/// A request that may be signed.
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
}

impl<'a> SignedMessage<'a> {
    /// All lines of a field, joined as RFC 9421 §2.1 says; `None` where there is none.
    pub(super) fn field(&self, name: &str) -> Option<Cow<'a, [u8]>> {
        let is_same = |(own, _): &&FieldLine<'a>| own.eq_ignore_ascii_case(name.as_bytes());
        let mut lines = self.fields.iter().filter(is_same).map(|(_, value)| value.trim_ascii());
        let first = lines.next()?;
        let Some(second) = lines.next() else { return Some(Cow::Borrowed(first)) };
        let all: Vec<&[u8]> = [first, second].into_iter().chain(lines).collect();
        Some(Cow::Owned(all.join(&b", "[..])))
    }

    /// Host and port in normal form (RFC 9421 §2.2.3): in lower case, without the scheme's own port.
    pub(super) fn normal_authority(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let port = if self.scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
        authority.strip_suffix(port).unwrap_or(&authority).to_owned()
    }
}

/// Who signs, known by where its keys are published: the URL of a key set (RFC 7517 §5) in normal form. An agent that gives
/// an origin alone means the well-known path there, as both forms of the draft have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureAgent(Box<str>);

impl SignatureAgent {
    /// Where an agent publishes its keys that names an origin alone.
    const WELL_KNOWN: &'static str = "/.well-known/http-message-signatures-directory";

    /// Reads an absolute https URL, or an https origin. The query is left out: it does not say who signs.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_at_checked("https://".len())?;
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = authority.strip_suffix(":443").unwrap_or(authority);
        let is_segment = |segment: &str| segment != "." && segment != "..";
        let is_path = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"#<>".contains(&byte))
            && path.split('/').all(is_segment);
        let is_url = scheme.eq_ignore_ascii_case("https://")
            && is_host(authority.as_bytes())
            && !authority.ends_with(':')
            && is_path;
        let path = if matches!(path, "" | "/") { Self::WELL_KNOWN } else { path };
        is_url.then(|| Self(format!("https://{}{path}", authority.to_ascii_lowercase()).into()))
    }

    /// As the catalogue writes it: the origin alone, where the keys lie at the well-known path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.strip_suffix(Self::WELL_KNOWN).unwrap_or(&self.0)
    }

    /// Where its keys are published.
    #[must_use]
    pub fn key_set(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_the_url_of_its_keys() {
        let parse = |text| SignatureAgent::parse(text).map(|agent| agent.as_str().to_owned());
        for (text, expected) in [
            ("https://chatgpt.com", "https://chatgpt.com"),
            ("HTTPS://ChatGPT.com/", "https://chatgpt.com"),
            ("https://a.example:443", "https://a.example"),
            ("https://a.example:8443", "https://a.example:8443"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]"),
            ("https://A.example/Keys.json", "https://a.example/Keys.json"),
            ("https://a.example/x?y=z", "https://a.example/x"),
            ("https://a.example?x", "https://a.example"),
            ("https://a.example/.well-known/http-message-signatures-directory", "https://a.example"),
        ] {
            assert_eq!(parse(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "https://",
            "http://a.example",
            "https://a.example/x/../y",
            "https://a.example/x y",
            "https://a.example/x#y",
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
        let chatgpt = SignatureAgent::parse("https://chatgpt.com").unwrap();
        let keys = "https://chatgpt.com/.well-known/http-message-signatures-directory";
        assert_eq!(chatgpt.key_set(), keys);
    }

    #[test]
    fn the_authority_is_in_normal_form() {
        let of = |scheme, authority| {
            let (method, target, fields) = ("GET", &b"/"[..], &[][..]);
            SignedMessage { method, scheme, authority, target, fields }.normal_authority()
        };
        assert_eq!(of("https", "Example.COM:443"), "example.com");
        assert_eq!(of("http", "example.com:80"), "example.com");
        assert_eq!(of("https", "example.com:80"), "example.com:80");
    }
}
