//! A folder of one test, removed at its end, and the ways in which programs save files there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// A new, empty folder. Its path is short: a Unix socket in it must fit in 107 bytes.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

static COUNT: AtomicU32 = AtomicU32::new(0);

impl Folder {
    pub(crate) fn new() -> Self {
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("rgt-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap_or_else(|error| panic!("cannot create {}: {error}", path.display()));
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file of this folder, and returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::write(&path, content).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind lies in the system's folder for such files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Saves by writing beside `path` and renaming over it, as most editors and tools do.
pub(crate) fn rename_over(path: &Path, content: impl AsRef<[u8]>) {
    let beside = path.with_extension("new");
    fs::write(&beside, content).expect("the new file can be written");
    fs::rename(&beside, path).expect("the new file can be renamed");
}
