//! What came along with a fetched list, kept beside it: the validators of RFC 9110 §8.8 and the list's
//! own digest.
//!
//! A receipt speaks only of the very bytes it was written for. A list that somebody replaced by hand has
//! none, so nothing is concluded from it.

use crate::config::reading;
use crate::record::{beside, digest, replace_file};
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};
use std::path::Path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Receipt {
    sha256: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<String>,
}

impl Receipt {
    pub(super) fn new(bytes: &[u8], etag: Option<String>, last_modified: Option<String>) -> Self {
        Self { sha256: digest(bytes).into(), etag, last_modified }
    }

    /// The receipt of the list at `path`, if there is one and `bytes` are those it was written for.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Option<Self> {
        let (mut file, _) = reading::open(&beside(path, ".receipt")).ok()?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        let receipt: Self = serde_json::from_slice(&text).ok()?;
        (*receipt.sha256 == *digest(bytes)).then_some(receipt)
    }

    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        replace_file(&beside(path, ".receipt"), &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receipt_speaks_only_of_its_own_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        assert_eq!(Receipt::of(&path, b"a"), None);
        let receipt = Receipt::new(b"a", Some("\"x\"".to_owned()), None);
        receipt.write(&path).unwrap();
        assert_eq!(Receipt::of(&path, b"a"), Some(receipt));
        assert_eq!(Receipt::of(&path, b"b"), None);
        std::fs::write(folder.path().join("list.json.receipt"), b"{").unwrap();
        assert_eq!(Receipt::of(&path, b"a"), None);
    }
}
