//! A mount whose server never answers, as one over a network may be.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Holds the kernel's end of a file system in user space, and reads no question from it.
const SERVER: &str = "exec 3<>/dev/fuse && mount -i -t fuse \
    -o fd=3,rootmode=40000,user_id=$(id -u),group_id=$(id -g) none \"$1\" && echo mounted && exec sleep 600";

/// A folder that stops whoever looks into it, until this is dropped.
#[derive(Debug)]
pub(crate) struct DeadMount {
    folder: PathBuf,
    server: Child,
}

impl DeadMount {
    /// Mounts over `folder`, where that is allowed; `None`, and says so, where it is not.
    pub(crate) fn over(folder: &Path) -> Option<Self> {
        let mut server = Command::new("sh")
            .args(["-c", SERVER, "sh"])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut said = String::new();
        if let Some(output) = server.stdout.take() {
            let _ = BufReader::new(output).read_line(&mut said);
        }
        let mount = Self { folder: folder.to_owned(), server };
        if said == "mounted\n" {
            return Some(mount);
        }
        eprintln!("skipped: nothing can be mounted here");
        None
    }
}

impl Drop for DeadMount {
    fn drop(&mut self) {
        // With its server gone, the kernel answers in its place.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = Command::new("umount").arg("-l").arg(&self.folder).stderr(Stdio::null()).status();
    }
}
