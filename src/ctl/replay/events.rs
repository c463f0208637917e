//! The file that `--events` names: a new one, an empty one or a pipe, and never one that holds anything.

use crate::ctl::VerbFailure;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Opens `path` to write events of `logs` to.
///
/// # Errors
/// When it is one of the logs, holds something, or cannot be written.
pub(super) fn create(path: &Path, logs: &[PathBuf]) -> Result<BufWriter<File>, VerbFailure> {
    let refused = |what: &str| {
        let hint = "name another file with --events, or move this one away; replay overwrites nothing";
        VerbFailure::with_hint(format!("{}: {what}", path.display()), hint)
    };
    let there = std::fs::metadata(path).ok();
    if let Some(there) = there.as_ref().filter(|there| there.is_file()) {
        if logs.iter().any(|log| is_same(log, there)) {
            return Err(refused("is one of the logs that are read"));
        }
        if there.len() > 0 {
            return Err(refused("is there already, and not empty"));
        }
    }
    let unwritable = |error: io::Error| VerbFailure(format!("{}: {error}", path.display()));
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(unwritable)?;
    Ok(BufWriter::new(file))
}

fn is_same(log: &Path, file: &Metadata) -> bool {
    let log = if log == Path::new("-") { Path::new("/dev/stdin") } else { log };
    std::fs::metadata(log).is_ok_and(|log| (log.dev(), log.ino()) == (file.dev(), file.ino()))
}
