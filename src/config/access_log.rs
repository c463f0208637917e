//! `access_log`: whether there is one, where, and in which form.

use super::defaults;
use super::file::ConfigFile;
use crate::record::{AccessLogOptions, JournalOptions, JournalTarget};
use std::path::Path;

/// The options; rotated as the journal is. A relative path is relative to the state folder, as the journal's.
pub(super) fn options(file: &ConfigFile, state_dir: &Path) -> Option<AccessLogOptions> {
    let target = match file.access_log.as_deref()? {
        "-" => JournalTarget::Stdout,
        path => JournalTarget::File(state_dir.join(path)),
    };
    let max_bytes = file.journal_max_size.as_ref().map_or(defaults::JOURNAL_MAX_SIZE, |size| size.as_ref().0);
    let keep = file.journal_keep.as_ref().map_or(defaults::JOURNAL_KEEP, |keep| *keep.as_ref());
    Some(AccessLogOptions {
        file: JournalOptions { name: "access log", target, max_bytes, keep, rate: None },
        format: file.access_log_format,
    })
}
