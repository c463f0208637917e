//! Places in a proxy's configuration that answer /robots.txt themselves, so that the gateway's file is not served. nginx does
//! not even start with two locations for it.

use crate::ctl::args::{BesideProxy, InitArgs};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many files are looked at, how large each may be, and how many folders may be inside each other.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 1 << 20;
const MOST_DEPTH: usize = 5;

/// A warning for each place.
pub(super) fn find(arguments: &InitArgs) -> Vec<String> {
    let (folder, hint) = match arguments.beside {
        Some(BesideProxy::Nginx) => ("/etc/nginx", "remove it: nginx refuses two locations for one path"),
        Some(BesideProxy::Caddy) => ("/etc/caddy", "remove it, so that the gateway's file is served"),
        _ => return Vec::new(),
    };
    let folder = arguments.proxy_folder.clone().unwrap_or_else(|| PathBuf::from(folder));
    let own = std::fs::canonicalize(&arguments.folder).unwrap_or_else(|_| arguments.folder.clone());
    let mut files = BTreeSet::new();
    gather(&folder, MOST_DEPTH, &mut files);
    let others = files.iter().filter(|file| !file.starts_with(&own));
    others.flat_map(|file| of_file(file)).map(|place| format!("{place}: {hint}")).collect()
}

/// The files below a folder, each once whatever links lead to it.
fn gather(folder: &Path, depth: usize, files: &mut BTreeSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(path) = std::fs::canonicalize(entry.path()) else { continue };
        match std::fs::metadata(&path) {
            Ok(about) if about.is_dir() && depth > 0 => gather(&path, depth - 1, files),
            Ok(about) if about.is_file() && about.len() <= MOST_BYTES && files.len() < MOST_FILES => {
                files.insert(path);
            }
            _ => {}
        }
    }
}

/// The lines of a file that say what becomes of /robots.txt.
fn of_file(file: &Path) -> Vec<String> {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let starts = ["location ", "handle ", "respond ", "route ", "rewrite ", "redir ", "file_server "];
    let lines = text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.contains("/robots.txt") && starts.iter().any(|start| line.starts_with(start))
    });
    lines.map(|(at, line)| format!("{}:{}: `{}`", file.display(), at + 1, line.trim())).collect()
}
