//! A copy as it lies in the state folder: a line of JSON, and the file's bytes behind it. What does not fit its own digest
//! is none.

use super::copy::{CopyValidators, OriginCopy, OriginFile};
use crate::config::reading;
use crate::decide::NoticeTime;
use crate::record::{digest, replace_file};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::RandomState;
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Where copies lie, below the state folder.
pub(super) const FOLDER: &str = "origin-robots";

/// More than a copy with its line can have.
const MOST_BYTES: u64 = 17 * 1024 * 1024;

#[derive(Debug, Serialize, Deserialize)]
struct CopyHead {
    v: u32,
    site: String,
    /// SHA-256 of the bytes; none where the origin has no file.
    sha256: Option<String>,
    etag: Option<String>,
    modified: Option<String>,
    /// Microseconds of the clock that notice runs by, and since 1970.
    heard: Option<(u64, u64)>,
    gone_since: Option<u64>,
    error: Option<String>,
}

/// The file that has the copy of a site.
pub(super) fn path(folder: &Path, site: &str) -> PathBuf {
    let name = digest(site.as_bytes());
    folder.join(name.get(..16).unwrap_or(&*name))
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

/// Reads the copy of a site; `None` where there is none that is whole.
pub(super) fn read(folder: &Path, site: &str) -> Option<OriginCopy> {
    let bytes = reading::read(&path(folder, site), MOST_BYTES).ok()?.bytes;
    let end = memchr::memchr(b'\n', &bytes)?;
    let head: CopyHead = serde_json::from_slice(bytes.get(..end)?).ok()?;
    if head.v != 1 || head.site != site {
        return None;
    }
    let notice = |micros| NoticeTime(Duration::from_micros(micros));
    let file = match head.sha256 {
        None => OriginFile::Absent,
        Some(sha256) => {
            let file = bytes.get(end + 1..)?.to_vec();
            (*digest(&file) == *sha256).then_some(())?;
            OriginFile::File(file)
        }
    };
    let time = |micros| SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros));
    Some(OriginCopy {
        file,
        validators: CopyValidators { etag: head.etag, modified: head.modified },
        heard: head.heard.and_then(|(at, day)| Some((notice(at), time(day)?))),
        gone_since: head.gone_since.map(notice),
        error: head.error,
    })
}

/// Writes the copy of a site beside the one that is there, and puts it in its place. `is_new` has it synced: a restart may
/// do without the age of a copy, not without the copy.
pub(super) fn write(folder: &Path, site: &str, copy: &OriginCopy, is_new: bool) -> io::Result<()> {
    let bytes: &[u8] = match &copy.file {
        OriginFile::Unknown => return Ok(()),
        OriginFile::Absent => b"",
        OriginFile::File(bytes) => bytes,
    };
    let head = CopyHead {
        v: 1,
        site: site.to_owned(),
        sha256: matches!(copy.file, OriginFile::File(_)).then(|| digest(bytes).to_string()),
        etag: copy.validators.etag.clone(),
        modified: copy.validators.modified.clone(),
        heard: copy.heard.map(|(at, day)| {
            (micros(at.0), micros(day.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()))
        }),
        gone_since: copy.gone_since.map(|at| micros(at.0)),
        error: copy.error.clone(),
    };
    fs::create_dir_all(folder)?;
    let target = path(folder, site);
    // Two gateways of an upgrade may both write.
    let beside = target.with_extension(std::process::id().to_string());
    let mut file = File::create(&beside)?;
    let mut text = serde_json::to_vec(&head).map_err(io::Error::other)?;
    text.push(b'\n');
    text.extend_from_slice(bytes);
    file.write_all(&text)?;
    if is_new {
        file.sync_all()?;
    }
    fs::rename(&beside, &target)
}

/// The file that has the marker.
const MARKER: &str = "marker";

/// The marker that was kept.
pub(super) fn marker(folder: &Path) -> Option<String> {
    let bytes = reading::read(&folder.join(MARKER), 64).ok()?.bytes;
    let text = String::from_utf8(bytes).ok()?;
    (text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(text)
}

/// One that nobody can guess.
pub(super) fn new_marker() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// Keeps it for the processes that follow.
pub(super) fn keep_marker(folder: &Path, marker: &str) -> io::Result<()> {
    if self::marker(folder).as_deref() == Some(marker) {
        return Ok(());
    }
    replace_file(&folder.join(MARKER), marker.as_bytes())
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::OriginAnswer;

    #[test]
    fn a_copy_is_read_as_it_was_written_and_a_torn_one_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut copy = OriginCopy::default();
        let (now, time) =
            (NoticeTime(Duration::from_secs(7)), SystemTime::UNIX_EPOCH + Duration::from_secs(9));
        let validators = CopyValidators { etag: Some("\"x\"".to_owned()), modified: None };
        for text in ["User-agent: *\nDisallow: /a\n", "User-agent: *\nDisallow: /b\n"] {
            let bytes = text.as_bytes().to_vec();
            copy.apply_answer(OriginAnswer::File { bytes, validators: validators.clone() }, now, time);
        }
        copy.apply_answer(OriginAnswer::None(404), now, time);
        write(folder.path(), "example.org", &copy, true).unwrap();
        assert_eq!(read(folder.path(), "example.org"), Some(copy));
        assert_eq!(read(folder.path(), "example.com"), None);
        let path = path(folder.path(), "example.org");
        let whole = fs::read(&path).unwrap();
        for end in [0, 10, whole.len() - 1] {
            fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(read(folder.path(), "example.org"), None, "{end} bytes");
        }
        let mut none = OriginCopy::default();
        none.apply_answer(OriginAnswer::None(404), now, time);
        write(folder.path(), "example.org", &none, false).unwrap();
        assert_eq!(read(folder.path(), "example.org"), Some(none));
    }
}
