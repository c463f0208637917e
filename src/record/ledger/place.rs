//! Where the ledger's file is, and who may write to it at a time.

use crate::record::files::{FileId, inode, inode_at};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long another process may hold the lock; it does so for one sync to disk.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(0o640);
    options
}

/// The file at `path`, locked, once it is the one there.
pub(super) fn locked(path: &Path) -> io::Result<(File, FileId)> {
    let start = Instant::now();
    loop {
        let file = options().truncate(false).open(path)?;
        match file.try_lock() {
            Ok(()) => {
                let found = inode(&file.metadata()?);
                if inode_at(path) == Some(found) {
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
