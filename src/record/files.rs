//! What is done with files and folders of the state folder in more than one place.

use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Which file it is, whatever its name: its device and its number there.
pub(super) type FileId = (u64, u64);

/// Makes a folder of state, and those above it, unless they are there. What is kept in it tells who visits the site: its
/// owner may change it, its group may read it, and nobody else.
///
/// # Errors
/// When one of them cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o750).create(folder)
}

/// Makes a folder in `base` that nobody else can look into, whose name begins with `name`.
///
/// # Errors
/// When it cannot be made.
pub fn private_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    let mut refused = io::ErrorKind::AlreadyExists.into();
    for attempt in 0..100 {
        let path = base.join(format!("{name}-{}-{attempt}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(error) => refused = error,
        }
    }
    Err(refused)
}

/// The path with `end` behind its name.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Puts `bytes` at `path` in one step, and makes its folder: whoever reads it sees the old file or the new one, whole.
///
/// # Errors
/// When it cannot be written. What was there before is left.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path.parent().unwrap_or_else(|| Path::new("")))?;
    // Two gateways of an upgrade may both write.
    let next = beside(path, &format!(".{}.new", std::process::id()));
    let written = File::create(&next).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let renamed = written.and_then(|()| std::fs::rename(&next, path));
    if renamed.is_err() {
        // What could not be written need not be left lying about.
        let _ = std::fs::remove_file(&next);
    }
    renamed
}

pub(super) fn inode(metadata: &Metadata) -> FileId {
    (metadata.dev(), metadata.ino())
}

/// The file that has this name now.
pub(super) fn inode_at(path: &Path) -> Option<FileId> {
    std::fs::metadata(path).ok().map(|metadata| inode(&metadata))
}

/// Has the folder of a file remember its names.
pub(super) fn sync_folder_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Lets `options` open at once or not at all: a pipe without a reader is an error to a writer, and nothing is waited
/// for. A regular file is opened, read and written as ever.
pub fn at_once(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_folder_that_is_made_is_for_its_owner_and_group() {
        let place = tempfile::tempdir().unwrap();
        let (above, folder) = (place.path().join("a"), place.path().join("a/b"));
        make_folder(&folder).unwrap();
        make_folder(&folder).unwrap();
        for folder in [above, folder] {
            let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
            assert_eq!(mode & 0o777 & !0o050, 0o700, "{mode:o}");
        }
    }

    #[test]
    fn a_replaced_file_is_whole_and_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::create_dir(folder.path().join("taken")).unwrap();
        assert!(replace_file(&folder.path().join("taken"), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
