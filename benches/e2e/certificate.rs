//! A certificate for every peer that speaks TLS, made for one run.

use std::error::Error;
use std::path::{Path, PathBuf};

/// The files of a certificate and its key.
#[derive(Clone, Debug)]
pub(crate) struct Certificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
    /// Both in one file, as `HAProxy` wants them.
    pub(crate) both: PathBuf,
}

impl Certificate {
    /// The files in `folder`.
    pub(crate) fn of(folder: &Path) -> Self {
        Self { chain: folder.join("site.crt"), key: folder.join("site.key"), both: folder.join("site.pem") }
    }

    /// Makes a certificate that nobody trusts, with a key on P-256, and writes the files.
    pub(crate) fn make(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let made = rcgen::generate_simple_self_signed(["e2e.example".to_owned()])?;
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let files = Self::of(folder);
        std::fs::write(&files.chain, &chain)?;
        std::fs::write(&files.key, &key)?;
        std::fs::write(&files.both, format!("{chain}{key}"))?;
        Ok(files)
    }
}
