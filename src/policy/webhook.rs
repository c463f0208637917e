//! Where alerts are sent: a URL, and the secret that they are signed with. Neither is ever shown.

use crate::config::{ConfigError, reading};
use std::fmt;
use std::path::Path;
use ureq::http::Uri;

/// The longest file.
const LONGEST: u64 = 8 * 1024;

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
    pub(super) fn load(path: &Path) -> Result<Self, ConfigError> {
        let read = reading::read(path, LONGEST)
            .map_err(|error| ConfigError::whole(path, format!("cannot read the webhook: {error}")))?;
        Self::parse(&read.bytes).ok_or_else(|| {
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
