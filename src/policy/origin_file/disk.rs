//! Where the copies of origins' files lie, and the marker of this gateway's questions for them.

use crate::config::reading;
use crate::record::{digest, replace_file};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

/// Where copies lie, below the state folder.
pub(super) const FOLDER: &str = "origin-robots";

/// The file that has the copy of a site.
pub(super) fn path(folder: &Path, site: &str) -> PathBuf {
    let name = digest(site.as_bytes());
    folder.join(name.get(..16).unwrap_or(&*name))
}

/// The file that has the marker.
const MARKER: &str = "marker";

/// The marker that was kept.
pub(super) fn marker(folder: &Path) -> Option<String> {
    let bytes = reading::read(&folder.join(MARKER), 64).ok()?.bytes;
    let text = String::from_utf8(bytes).ok()?;
    (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(text)
}

/// One that nobody can guess.
pub(super) fn new_marker() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// Keeps it for the processes that follow.
pub(super) fn keep_marker(folder: &Path, marker: &str) -> io::Result<()> {
    if self::marker(folder).as_deref() == Some(marker) {
        return Ok(());
    }
    replace_file(&folder.join(MARKER), marker.as_bytes())
}
