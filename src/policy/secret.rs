//! The secret by which a proxy shows that it is the one that may ask about requests.

use crate::config::{ConfigError, reading};
use std::fmt;
use std::hint::black_box;
use std::path::Path;

/// The longest secret, which leaves room for the other fields of a head.
const LONGEST: u64 = 1024;

/// What stands in `secret_file`, blanks around it left out. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<[u8]>);

impl Secret {
    /// Reads the secret at `path`.
    ///
    /// # Errors
    /// When the file cannot be read, or holds nothing that a header field can carry.
    pub(super) fn load(path: &Path) -> Result<Self, ConfigError> {
        let read = reading::read(path, LONGEST)
            .map_err(|error| ConfigError::whole(path, format!("cannot read the secret: {error}")))?;
        let secret = read.bytes.trim_ascii();
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
}
