//! The journal's file: appended to, rotated by size, `journal.jsonl.1` being the newest old one.
//!
//! Another gateway may write the same file, as during an upgrade, and a program such as logrotate may rename
//! it. So its size and its inode are asked for before each write, and a file that was renamed is left for the
//! one that is there now.

use super::files::{FileId, at_once, beside, inode};
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// Addresses are in these files: its owner writes them, its group may read them.
const MODE: u32 = 0o640;

/// A file that starts anew when it has grown to its limit.
#[derive(Debug)]
pub(super) struct RotatedFile {
    path: PathBuf,
    max_bytes: u64,
    keep: usize,
    file: File,
    inode: FileId,
    length: u64,
}

impl RotatedFile {
    /// Opens `path` for appending. A line that lacks its end, after a loss of power, gets that.
    pub(super) fn open(path: &Path, max_bytes: u64, keep: usize) -> io::Result<Self> {
        let (mut file, mut last) = (append(path)?, [b'\n']);
        if let Some(at) = file.metadata()?.len().checked_sub(1) {
            file.read_exact_at(&mut last, at)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        let metadata = file.metadata()?;
        let (inode, length) = (inode(&metadata), metadata.len());
        Ok(Self { path: path.to_owned(), max_bytes, keep, file, inode, length })
    }

    /// Appends whole lines, to a new file where they do not fit into this one and it may be rotated. Of lines that do
    /// not all reach the disk, none stays in the file.
    pub(super) fn append(&mut self, lines: &[u8], may_rotate: bool) -> io::Result<()> {
        self.follow()?;
        let end = self.length.saturating_add(lines.len() as u64);
        if may_rotate && self.length > 0 && end > self.max_bytes {
            self.rotate()?;
        }
        self.file.write_all(lines).inspect_err(|_| {
            // What another process has appended meanwhile stays, and half a line before it.
            if self.file.metadata().is_ok_and(|now| now.len() < end) {
                // The error is the one of the write.
                let _ = self.file.set_len(self.length);
            }
        })
    }

    /// Goes on in the file that is now at the path, and asks for its size.
    fn follow(&mut self) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) if inode(&metadata) == self.inode => self.length = metadata.len(),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => *self = Self::open(&self.path, self.max_bytes, self.keep)?,
        }
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.keep).rev() {
            rename_if_there(&self.numbered(number), &self.numbered(number + 1))?;
        }
        if self.keep == 0 {
            std::fs::remove_file(&self.path)?;
        } else {
            rename_if_there(&self.path, &self.numbered(1))?;
        }
        *self = Self::open(&self.path, self.max_bytes, self.keep)?;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        beside(&self.path, &format!(".{number}"))
    }
}

fn append(path: &Path) -> io::Result<File> {
    if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        let told = "it is a named pipe; name a file, or `-` and pipe the standard output to the program that reads it";
        return Err(io::Error::other(told));
    }
    at_once(OpenOptions::new().read(true).create(true).append(true).mode(MODE)).open(path)
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rotation-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn old_files_move_up_and_the_oldest_goes() {
        let folder = folder("moves");
        let path = folder.join("j");
        let mut file = RotatedFile::open(&path, 10, 2).unwrap();
        for line in ["aaaaaaaa\n", "bbbbbbbb\n", "cccccccc\n", "dddddddd\n"] {
            file.append(line.as_bytes(), true).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        assert_eq!(read("j").as_deref(), Some("dddddddd\n"));
        assert_eq!(read("j.1").as_deref(), Some("cccccccc\n"));
        assert_eq!(read("j.2").as_deref(), Some("bbbbbbbb\n"));
        assert_eq!(read("j.3"), None);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_torn_line_spoils_no_other() {
        let folder = folder("torn");
        let path = folder.join("j");
        std::fs::write(&path, "{\"half\":").unwrap();
        let mut file = RotatedFile::open(&path, 100, 1).unwrap();
        file.append(b"{}\n", true).unwrap();
        file.append(b"{}\n", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\":\n{}\n{}\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_are_for_their_owner_and_group() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("modes");
        let path = folder.join("j");
        let mut file = RotatedFile::open(&path, 10, 2).unwrap();
        for line in ["aaaaaaaa\n", "bbbbbbbb\n", "cccccccc\n"] {
            file.append(line.as_bytes(), true).unwrap();
        }
        for name in ["j", "j.1", "j.2"] {
            let mode = std::fs::metadata(folder.join(name)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777 & !0o040, 0o600, "{name}: {mode:o}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_existing_file_is_continued_and_its_size_counts() {
        let folder = folder("continues");
        let path = folder.join("j");
        std::fs::write(&path, "12345678\n").unwrap();
        let mut file = RotatedFile::open(&path, 20, 1).unwrap();
        file.append(b"12345678\n", true).unwrap();
        file.append(b"x\n", true).unwrap();
        file.append(b"y\n", true).unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("j.1")).unwrap(), "12345678\n12345678\nx\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "y\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn who_may_not_rotate_appends_and_follows_who_may() {
        let folder = folder("two");
        let path = folder.join("j");
        let mut holder = RotatedFile::open(&path, 12, 9).unwrap();
        let mut other = RotatedFile::open(&path, 12, 9).unwrap();
        for _ in 0..3 {
            other.append(b"other\n", false).unwrap();
        }
        assert!(!folder.join("j.1").exists());
        holder.append(b"holder\n", true).unwrap();
        other.append(b"a\n", false).unwrap();
        holder.append(b"b\n", true).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("j.1"), "other\nother\nother\n");
        assert_eq!(read("j"), "holder\na\nb\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_is_renamed_or_truncated_by_others_is_followed() {
        let folder = folder("outside");
        let path = folder.join("j");
        let mut file = RotatedFile::open(&path, 100, 1).unwrap();
        file.append(b"one\n", true).unwrap();
        std::fs::rename(&path, folder.join("j-20261119")).unwrap();
        file.append(b"two\n", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        // As `copytruncate` does it.
        std::fs::write(&path, "").unwrap();
        file.append(b"three\n", true).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
