//! What is never shown: the secret by which a proxy shows that it is the one that may ask about requests, and where
//! alerts are sent, with the secret that they are signed with.

use crate::config::{ConfigError, reading};
use std::fmt;
use std::hint::black_box;
use std::path::Path;
use ureq::http::Uri;

/// The longest secret, which leaves room for the other fields of a head.
const LONGEST_SECRET: u64 = 1024;

/// What stands in `secret_file`, blanks around it left out. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Reads the secret at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or holds nothing that a header field can carry.
    pub(super) fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = reading::contents(path, LONGEST_SECRET, "secret")?;
        let secret = bytes.trim_ascii();
        if secret.is_empty() || !secret.iter().all(u8::is_ascii_graphic) {
            let message = "the secret has to be one line of visible ASCII characters without blanks";
            let hint = "make one: openssl rand -hex 32";
            return Err(ConfigError::whole(path, message).with_hint(hint));
        }
        Ok(Self(secret.into()))
    }

    /// Whether `given` is the secret; in a time that does not tell how much of it was right.
    pub fn matches(&self, given: &[u8]) -> bool {
        let difference = given.iter().zip(&self.0).fold(0, |sum, (a, b)| black_box(sum | (a ^ b)));
        given.len() == self.0.len() && difference == 0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

/// The longest file.
const LONGEST_WEBHOOK: u64 = 8 * 1024;

/// What stands in `webhook_file`. The URL is a secret too: whoever knows it can send.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// The URL.
    pub url: Box<str>,
    /// The secret, where there is one.
    pub secret: Option<Box<[u8]>>,
}

impl Webhook {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// When it cannot be read, or its first line is no URL.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let bytes = reading::contents(path, LONGEST_WEBHOOK, "webhook")?;
        Self::parse(&bytes).ok_or_else(|| {
            let message =
                "invalid webhook: expected a URL on the first line, and nothing or a secret on the second";
            let hint = "write https://HOST/PATH; a secret can be made with: openssl rand -hex 32";
            ConfigError::whole(path, message).with_hint(hint)
        })
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let url = std::str::from_utf8(lines.next()?).ok()?;
        let uri: Uri = url.parse().ok()?;
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        let names_host = uri.host().is_some_and(|host| !host.is_empty());
        let is_plain = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        let secret = lines.next().filter(|line| !line.is_empty()).map(Into::into);
        let is_all = lines.all(<[u8]>::is_empty);
        (is_http && names_host && is_plain && is_all).then(|| Self { url: url.into(), secret })
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Webhook")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(content: &[u8]) -> Result<Secret, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, content).unwrap();
        Secret::load(&path).map_err(|error| error.to_string())
    }

    #[test]
    fn blanks_around_a_secret_are_no_part_of_it() {
        let secret = load(b" s3cret\r\n").unwrap();
        assert!(secret.matches(b"s3cret"));
        for other in [&b""[..], b"s3cre", b"s3cret ", b"S3cret", b"s3crets", b"t3cret"] {
            assert!(!secret.matches(other), "{other:?}");
        }
        assert_eq!(format!("{secret:?}"), "Secret");
    }

    #[test]
    fn what_no_field_can_carry_is_no_secret() {
        for bad in [&b""[..], b"\n", b"two words", b"two\nlines", b"\xc3\xa9", b"\0", &[b'x'; 1025]] {
            assert!(load(bad).is_err(), "{bad:?}");
        }
        assert!(load(&[b'x'; 1024]).is_ok());
    }

    #[test]
    fn a_file_holds_a_url_and_perhaps_a_secret() {
        let plain = Webhook::parse(b"https://hooks.example.org/a?b=c\n").unwrap();
        assert_eq!((&*plain.url, plain.secret.as_deref()), ("https://hooks.example.org/a?b=c", None));
        let signed = Webhook::parse(b"http://127.0.0.1:9/\r\n s3cret \r\n\r\n").unwrap();
        assert_eq!(signed.secret.as_deref(), Some(&b"s3cret"[..]));
        assert_eq!(format!("{signed:?}"), "Webhook");
        for bad in [
            &b""[..],
            b"\n",
            b"hooks.example.org/a",
            b"ftp://hooks.example.org/",
            b"https:///a",
            b"https://me:secret@hooks.example.org/",
            b"https://hooks.example.org/\nsecret\nmore",
            b"\xff\xfe",
        ] {
            assert_eq!(Webhook::parse(bad), None, "{bad:?}");
        }
    }
}
