//! The journal's file: appended to, rotated by size, `journal.jsonl.1` being the newest old one.
//!
//! Another gateway may write the same file, as during an upgrade, and a program such as logrotate may rename
//! it. So its size and its inode are asked for before each batch, and a file that was renamed is left for the
//! one that is there now.

use super::files::{FileId, at_once, beside, inode};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a full pipe is left to its reader.
const PIPE_PAUSE: Duration = Duration::from_millis(5);

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
    /// Whether the file may end in the middle of a line, after a write that failed.
    torn: bool,
}

impl RotatedFile {
    /// Opens `path` for appending.
    pub(super) fn open(path: &Path, max_bytes: u64, keep: usize) -> io::Result<Self> {
        let file = append(path)?;
        let metadata = file.metadata()?;
        let torn = metadata.len() > 0 && last_byte(path)? != b'\n';
        let (inode, length) = (inode(&metadata), metadata.len());
        Ok(Self { path: path.to_owned(), max_bytes, keep, file, inode, length, torn })
    }

    /// Appends whole lines. With `may_rotate` the file is rotated between two lines as often as the next
    /// would not fit; a line that is longer than a whole file has one for itself.
    ///
    /// Says how many lines are in the file, and what stopped the others.
    pub(super) fn append(&mut self, lines: &[u8], may_rotate: bool) -> (usize, io::Result<()>) {
        let (mut rest, mut written) = (lines, 0);
        let result = self.follow();
        if result.is_err() {
            return (written, result);
        }
        while !rest.is_empty() {
            let room = if may_rotate { self.max_bytes.saturating_sub(self.length) } else { u64::MAX };
            let fits = whole_lines(rest, room);
            let end = match fits {
                0 if self.length > 0 => {
                    if let Err(error) = self.rotate() {
                        return (written, Err(error));
                    }
                    continue;
                }
                0 => first_line(rest),
                fits => fits,
            };
            let (piece, after) = rest.split_at(end);
            let (lines, result) = self.write(piece);
            written += lines;
            if result.is_err() {
                return (written, result);
            }
            rest = after;
        }
        (written, Ok(()))
    }

    /// Goes on with the file that is at the path now, and learns its size.
    fn follow(&mut self) -> io::Result<()> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) if inode(&metadata) == self.inode => self.length = metadata.len(),
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => *self = Self::open(&self.path, self.max_bytes, self.keep)?,
        }
        Ok(())
    }

    /// A disk that is full takes a part: of that the whole lines are written, and no others.
    fn write(&mut self, lines: &[u8]) -> (usize, io::Result<()>) {
        if self.torn
            && let (_, Err(error)) = write_all(&mut self.file, b"\n")
        {
            return (0, Err(error));
        }
        let (count, result) = write_all(&mut self.file, lines);
        let (written, rest) = lines.split_at_checked(count).unwrap_or((lines, b""));
        self.torn = !written.is_empty() && !written.ends_with(b"\n");
        self.length = self.length.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        // A line that lacks its end only gets that with the next one.
        let lacks_its_end = self.torn && rest.starts_with(b"\n");
        (memchr::memchr_iter(b'\n', written).count() + usize::from(lacks_its_end), result)
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

/// Writes as much as is taken, and says how much that is. A pipe that is full is waited for, on the writer's thread, where
/// nobody else waits.
fn write_all(file: &mut impl io::Write, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut count = 0;
    while let Some(rest) = bytes.get(count..).filter(|rest| !rest.is_empty()) {
        match file.write(rest) {
            Ok(0) => return (count, Err(io::ErrorKind::WriteZero.into())),
            Ok(taken) => count += taken,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PIPE_PAUSE),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (count, Err(error)),
        }
    }
    (count, Ok(()))
}

/// How many bytes of `lines` are whole lines that fit into `room`.
pub(super) fn whole_lines(lines: &[u8], room: u64) -> usize {
    let room = usize::try_from(room).unwrap_or(usize::MAX).min(lines.len());
    let within = lines.get(..room).unwrap_or_default();
    memchr::memrchr(b'\n', within).map_or(0, |end| end + 1)
}

/// Where the first line ends.
pub(super) fn first_line(lines: &[u8]) -> usize {
    memchr::memchr(b'\n', lines).map_or(lines.len(), |end| end + 1)
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    file.seek(io::SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    let [byte] = byte;
    Ok(byte)
}

fn append(path: &Path) -> io::Result<File> {
    at_once(OpenOptions::new().create(true).append(true).mode(MODE)).open(path).map_err(|error| {
        if is_pipe(path) {
            // ENXIO says "no such device or address".
            return io::Error::new(error.kind(), "it is a named pipe without a reader");
        }
        error
    })
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo())
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
            file.append(line.as_bytes(), true).1.unwrap();
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
        file.append(b"{}\n", true).1.unwrap();
        file.append(b"{}\n", true).1.unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"half\":\n{}\n{}\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Takes so many bytes in all, a few at a time.
    struct Disk {
        room: usize,
        taken: Vec<u8>,
    }

    impl io::Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.room - self.taken.len()).min(7);
            self.taken.extend(&bytes[..count]);
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_took_is_known() {
        let lines = b"{1}\n{22}\n{333}\n";
        for room in 0..=lines.len() {
            let mut disk = Disk { room, taken: Vec::new() };
            let (count, result) = write_all(&mut disk, lines);
            assert_eq!((count, result.is_ok()), (room, room == lines.len()));
            assert_eq!(disk.taken, &lines[..room]);
        }
    }

    #[test]
    fn files_are_for_their_owner_and_group() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = folder("modes");
        let path = folder.join("j");
        let mut file = RotatedFile::open(&path, 10, 2).unwrap();
        for line in ["aaaaaaaa\n", "bbbbbbbb\n", "cccccccc\n"] {
            file.append(line.as_bytes(), true).1.unwrap();
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
        file.append(b"12345678\n", true).1.unwrap();
        file.append(b"x\n", true).1.unwrap();
        file.append(b"y\n", true).1.unwrap();
        assert_eq!(std::fs::read_to_string(folder.join("j.1")).unwrap(), "12345678\n12345678\nx\n");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "y\n");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_batch_of_many_lines_is_rotated_between_them() {
        let folder = folder("batch");
        let path = folder.join("j");
        let mut file = RotatedFile::open(&path, 10, 9).unwrap();
        let (written, result) = file.append(b"1234\n5678\nabcd\nlonger than a whole file\nxy\nz\n", true);
        result.unwrap();
        assert_eq!(written, 6);
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
        let told: Vec<_> = ["j.3", "j.2", "j.1", "j"].into_iter().filter_map(read).collect();
        assert_eq!(told, ["1234\n5678\n", "abcd\n", "longer than a whole file\n", "xy\nz\n"]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn who_may_not_rotate_appends_and_follows_who_may() {
        let folder = folder("two");
        let path = folder.join("j");
        let mut holder = RotatedFile::open(&path, 12, 9).unwrap();
        let mut other = RotatedFile::open(&path, 12, 9).unwrap();
        for _ in 0..3 {
            assert_eq!(other.append(b"other\n", false).0, 1);
        }
        assert!(!folder.join("j.1").exists());
        assert_eq!(holder.append(b"holder\n", true).0, 1);
        assert_eq!(other.append(b"a\n", false).0, 1);
        assert_eq!(holder.append(b"b\n", true).0, 1);
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
        assert_eq!(file.append(b"one\n", true).0, 1);
        std::fs::rename(&path, folder.join("j-20261119")).unwrap();
        assert_eq!(file.append(b"two\n", true).0, 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        // As `copytruncate` does it.
        std::fs::write(&path, "").unwrap();
        assert_eq!(file.append(b"three\n", true).0, 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
