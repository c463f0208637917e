//! Opening a file without waiting for whoever holds the other end of a pipe.

use rustix::fs::OFlags;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt as _;

/// Lets `options` open at once or not at all: a pipe without a reader is an error to a writer, and nothing is waited
/// for. A regular file is opened, read and written as ever.
pub fn at_once(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}
