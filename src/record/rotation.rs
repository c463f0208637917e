//! The journal's file: appended to, rotated by size, `journal.jsonl.1` being the newest old one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// A file that starts anew when it has grown to its limit.
#[derive(Debug)]
pub(super) struct RotatedFile {
    path: PathBuf,
    max_bytes: u64,
    keep: usize,
    file: File,
    length: u64,
    /// Whether the file may end in the middle of a line, after a write that failed.
    torn: bool,
}

impl RotatedFile {
    /// Opens `path` for appending.
    pub(super) fn open(path: &Path, max_bytes: u64, keep: usize) -> io::Result<Self> {
        let file = append(path)?;
        let length = file.metadata()?.len();
        let torn = length > 0 && last_octet(path)? != b'\n';
        Ok(Self { path: path.to_owned(), max_bytes, keep, file, length, torn })
    }

    /// Appends whole lines, rotating first if they would not fit.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        let added = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        if self.length > 0 && self.length.saturating_add(added) > self.max_bytes {
            self.rotate()?;
        }
        if self.torn {
            self.file.write_all(b"\n")?;
            self.torn = false;
        }
        self.torn = true;
        self.file.write_all(lines)?;
        self.torn = false;
        self.length = self.length.saturating_add(added);
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
        self.file = append(&self.path)?;
        self.length = 0;
        Ok(())
    }

    fn numbered(&self, number: usize) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }
}

fn last_octet(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    file.seek(io::SeekFrom::End(-1))?;
    let mut octet = [0];
    file.read_exact(&mut octet)?;
    let [octet] = octet;
    Ok(octet)
}

fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
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
            file.append(line.as_bytes()).unwrap();
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
        file.append(b"{}\n").unwrap();
        file.append(b"{}\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\":\n{}\n{}\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_existing_file_is_continued_and_its_size_counts() {
        let folder = folder("continues");
        let path = folder.join("j");
        std::fs::write(&path, "12345678\n").unwrap();
        let mut file = RotatedFile::open(&path, 20, 1).unwrap();
        file.append(b"12345678\n").unwrap();
        file.append(b"x\n").unwrap();
        file.append(b"y\n").unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("j.1")).unwrap(), "12345678\n12345678\nx\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "y\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
