//! Where the ledger's file is, and who may write to it at a time.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another process may hold the lock; it does so for one sync to disk.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o640);
    options
}

/// The file at `path`, locked, once it is the one there.
pub(super) fn locked(path: &Path) -> io::Result<(File, (u64, u64))> {
    let start = Instant::now();
    loop {
        let file = options().truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                let found = inode(&file.metadata()?);
                if std::fs::metadata(path).is_ok_and(|metadata| inode(&metadata) == found) {
                    return Ok((file, found));
                }
            }
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process keeps it locked"));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

pub(super) fn inode(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}
