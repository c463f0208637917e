//! What is done with files and folders of the state folder in more than one place.

use super::rows::uptime;
use rustix::fs::OFlags;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Which file it is, whatever its name: its device and its number there.
pub(super) type FileId = (u64, u64);

/// Makes a folder of state, and those above it, unless they are there. What is kept in it tells who visits the site: its
/// owner may change it and its group may read it. Others may only pass through it, to what is published there.
///
/// # Errors
/// When one of them cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o751).create(folder)
}

/// Makes a folder in `base` that nobody else can look into, whose name begins with `name`. It is short: the demonstration
/// shows it within a line of a terminal.
///
/// # Errors
/// When it cannot be made.
pub fn private_folder(base: &Path, name: &str) -> io::Result<PathBuf> {
    let path = base.join(format!("{name}-{}-{}", std::process::id(), uptime().subsec_micros()));
    DirBuilder::new().mode(0o700).create(&path).map(|()| path)
}

/// The path with `end` behind its name.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Puts `bytes` at `path` in one step, and makes its folder: whoever reads it sees the old file or the new one, whole.
/// Others than its owner and its group do not read it.
///
/// # Errors
/// When it cannot be written. What was there before is left.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path.parent().unwrap_or_else(|| Path::new("")))?;
    replace(path, bytes, |_| Ok(()))
}

/// The same of a file that everybody may read, in a folder that everybody may look into, whatever the process' umask is.
///
/// # Errors
/// As [`replace_file`].
pub fn publish_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    if !folder.is_dir() {
        make_folder(folder)?;
        std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    }
    replace(path, bytes, |file| file.set_permissions(Permissions::from_mode(0o644)))
}

fn replace(path: &Path, bytes: &[u8], prepare: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    // Two gateways of an upgrade may both write.
    let next = beside(path, &format!(".{}.new", std::process::id()));
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(&next);
    let written = opened.and_then(|mut file| {
        prepare(&file)?;
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

    #[test]
    fn a_folder_that_is_made_is_for_its_owner_and_group_and_others_pass_through_it_to_what_is_published() {
        let place = tempfile::tempdir().unwrap();
        let (above, folder) = (place.path().join("a"), place.path().join("a/b"));
        make_folder(&folder).unwrap();
        make_folder(&folder).unwrap();
        for folder in [above, folder] {
            let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
            // Less what the umask of the test takes away.
            assert_eq!(mode & 0o777 & !0o051, 0o700, "{mode:o}");
        }
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let (private, public) = (place.path().join("a/private"), place.path().join("a/open/public"));
        replace_file(&private, b"one").unwrap();
        publish_file(&public, b"one").unwrap();
        assert_eq!(mode(&private) & !0o040, 0o600);
        assert_eq!((mode(&public), mode(&place.path().join("a/open"))), (0o644, 0o755));
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
