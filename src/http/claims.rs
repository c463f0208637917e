//! Fields by which a client would tell an origin what only a proxy in front may say: who it is, how it came, and that it
//! asks for another page than the one that was judged. This is the one list of them.
//!
//! Names are compared as a gateway interface takes them: CGI and its successors write `-` as `_` (RFC 3875 §4.1.18), and
//! some of them every byte that is no letter or digit. So `X.Forwarded.For` is `X-Forwarded-For`.

use std::str::FromStr;

/// Names of such fields, in lower case.
pub const NAMES: [&str; 18] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "cf-pseudo-ipv4",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "forwarded-for",
    "front-end-https",
    // A script has it as HTTP_PROXY, by which many programs choose their proxy ("httpoxy").
    "proxy",
    "remote-user",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded",
    "x-matched-path",
    "x-real-ip",
    "x-request-id",
    "x-rewrite-url",
];

/// How the names of such fields begin, in lower case.
pub const PREFIXES: [&str; 4] = ["wl-proxy-", "x-envoy-", "x-forwarded-", "x-original-"];

/// How the names of the gateway's own fields begin, in lower case: nobody else may send one, not even a trusted proxy.
pub const OWN_PREFIX: &str = "x-robots-";

/// Fields that say where a message ends (RFC 9112 §6).
const FRAMING: [&str; 2] = ["content-length", "transfer-encoding"];

/// Fields without which no request can be sent.
const NEEDED: [&str; 3] = ["host", "content-length", "transfer-encoding"];

/// Whether a field of this name, in any case, is a claim unless a trusted proxy makes it.
#[must_use]
pub fn is_claim(name: &[u8]) -> bool {
    // Few names of ordinary requests begin like one in the lists.
    matches!(name.first().map(u8::to_ascii_lowercase), Some(b'c' | b'f' | b'p' | b'r' | b't' | b'w' | b'x'))
        && (NAMES.iter().any(|own| is_spelled(name, own)) || PREFIXES.iter().any(|own| begins(name, own)))
}

/// Whether a field of this name, in any case, could be taken for one of the gateway's own.
#[must_use]
pub fn is_own(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'x' | b'X')) && begins(name, OWN_PREFIX)
}

/// Whether the name is spelled as a proxy spells it. It may have passed on what a client spelled otherwise.
#[must_use]
pub fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Whether the name, in any case, could be taken for `Content-Length` or `Transfer-Encoding`, and is neither: the gateway
/// and an origin would see the message end in two places.
#[must_use]
pub fn is_disguised_framing(name: &[u8]) -> bool {
    let is_disguised = |own: &&str| is_spelled(name, own) && !name.eq_ignore_ascii_case(own.as_bytes());
    matches!(name.len(), 14 | 17) && FRAMING.iter().any(is_disguised)
}

/// Whether `name` could be taken for `own`. Nearly always the lengths differ, or the first bytes that are looked at.
fn is_spelled(name: &[u8], own: &str) -> bool {
    name.len() == own.len() && begins(name, own)
}

/// Whether `name` could be taken for one that begins with `own`.
fn begins(name: &[u8], own: &str) -> bool {
    let same = |(byte, own): (&u8, u8)| folded(byte.to_ascii_lowercase()) == own;
    name.len() >= own.len() && name.iter().zip(own.bytes()).all(same)
}

const fn folded(byte: u8) -> u8 {
    if byte.is_ascii_alphanumeric() { byte } else { b'-' }
}

/// Names and beginnings of names of further fields that an operator has removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPatterns(Vec<FieldPattern>);

impl FieldPatterns {
    /// Whether a field of this name, in any case, is one of them.
    #[must_use]
    pub fn contain(&self, name: &[u8]) -> bool {
        self.0.iter().any(|pattern| pattern.is_for(name))
    }
}

impl FromIterator<FieldPattern> for FieldPatterns {
    fn from_iter<I: IntoIterator<Item = FieldPattern>>(patterns: I) -> Self {
        Self(patterns.into_iter().collect())
    }
}

/// The name of a field, or with a `*` behind it all names that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldPattern {
    /// In lower case, with `-` for every byte that is no letter or digit.
    name: Box<str>,
    is_prefix: bool,
}

impl FieldPattern {
    fn is_for(&self, name: &[u8]) -> bool {
        if self.is_prefix { begins(name, &self.name) } else { is_spelled(name, &self.name) }
    }
}

/// Why a text is no [`FieldPattern`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldPatternError {
    /// It is no name of a field.
    #[error("invalid field name `{0}`: expected one such as `X-User`, or `X-Acme-*` for all that begin so")]
    Name(String),
    /// Requests need this field, which it is for.
    #[error("`{0}` would remove `{1}`, without which no request can be sent")]
    Needed(String, &'static str),
}

impl FromStr for FieldPattern {
    type Err = FieldPatternError;

    fn from_str(text: &str) -> Result<Self, FieldPatternError> {
        let (name, is_prefix) = text.strip_suffix('*').map_or((text, false), |name| (name, true));
        let may_stand = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(may_stand) {
            return Err(FieldPatternError::Name(text.to_owned()));
        }
        let folded =
            name.bytes().map(|byte| char::from(folded(byte.to_ascii_lowercase()))).collect::<String>();
        let pattern = Self { name: folded.into(), is_prefix };
        match NEEDED.into_iter().find(|field| pattern.is_for(field.as_bytes())) {
            Some(field) => Err(FieldPatternError::Needed(text.to_owned(), field)),
            None => Ok(pattern),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_lists_is_a_claim_in_every_spelling() {
        let longer = PREFIXES.map(|prefix| format!("{prefix}anything"));
        for name in NAMES.into_iter().chain(longer.iter().map(String::as_str)) {
            for between in ['-', '_', '.', '~', '!', '`', '|', '^', '*', '\'', '%'] {
                assert!(
                    is_claim(name.replace('-', &between.to_string()).as_bytes()),
                    "{name} with {between}"
                );
            }
            assert!(
                is_plain(name.as_bytes())
                    && (!name.contains('-') || !is_plain(name.replace('-', "_").as_bytes())),
                "{name}"
            );
        }
        assert!(is_own(b"x-robots-verdict") && is_own(b"X.robots.anything") && !is_own(b"x-robot-verdict"));
    }

    #[test]
    fn ordinary_names_are_none() {
        for name in [
            "host",
            "user-agent",
            "accept",
            "accept-encoding",
            "cookie",
            "cache-control",
            "connection",
            "content-type",
            "content-length",
            "te",
            "pragma",
            "proxy-authorization",
            "range",
            "referer",
            "from",
            "x-requested-with",
            "x-csrf-token",
            "x-real-ip-too",
            "x-forwarde",
            "wl-proxy",
            "",
        ] {
            assert!(!is_claim(name.as_bytes()) && !is_own(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn what_frames_a_message_is_known_in_disguise() {
        for name in
            ["Content_Length", "content.length", "CONTENT~LENGTH", "Transfer_Encoding", "transfer'encoding"]
        {
            assert!(is_disguised_framing(name.as_bytes()), "{name}");
        }
        for name in
            ["Content-Length", "transfer-encoding", "contentxlength", "accept-charset", "sec-fetch-dest"]
        {
            assert!(!is_disguised_framing(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn an_operator_names_further_fields() {
        let pattern = |text: &str| text.parse::<FieldPattern>();
        let patterns: FieldPatterns =
            ["X-User", "x_acme-*"].into_iter().filter_map(|text| pattern(text).ok()).collect();
        for name in ["x-user", "x.user", "x-acme-", "x_acme_tenant"] {
            assert!(patterns.contain(name.as_bytes()), "{name}");
        }
        assert!(
            !patterns.contain(b"x-users") && !patterns.contain(b"x-acme") && !patterns.contain(b"cookie")
        );
        for bad in ["", "*", "X User", "X-User:", "a*b", "caf\u{e9}"] {
            assert_eq!(pattern(bad), Err(FieldPatternError::Name(bad.to_owned())));
        }
        for (needed, field) in
            [("Host", "host"), ("content_length", "content-length"), ("T*", "transfer-encoding")]
        {
            assert_eq!(pattern(needed), Err(FieldPatternError::Needed(needed.to_owned(), field)));
        }
    }
}
