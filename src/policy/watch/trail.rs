//! The names on the way to a file: its own, and those of every folder and symbolic link on the way.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How many links are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Every name whose change could make `file`, an absolute path, another file: where `/site/robots.txt` leads
/// through `..data` to `..2024/robots.txt`, that of each of the three, and of the folders `/site` and `/site/..2024`.
pub(super) fn names(file: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut rest = components(file);
    let mut path = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            path.pop();
            continue;
        }
        let next = path.join(&name);
        match std::fs::read_link(&next) {
            Ok(target) if links < MOST_LINKS => {
                links += 1;
                names.push(next);
                if target.is_absolute() {
                    path = PathBuf::from("/");
                }
                for part in components(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
            _ => {
                names.push(next.clone());
                path = next;
            }
        }
    }
    names
}

fn components(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    parts.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_link_on_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("..2024")).unwrap();
        std::fs::write(root.join("..2024/robots.txt"), "").unwrap();
        symlink("..2024", root.join("..data")).unwrap();
        symlink("..data/robots.txt", root.join("robots.txt")).unwrap();
        let found = below(&root, &root.join("robots.txt"));
        let wanted = ["robots.txt", "..data", "..2024", "..2024/robots.txt"];
        assert_eq!(found, wanted.map(|name| root.join(name)));
    }

    /// The names on the way to `file`, but for `root` and what is above it.
    fn below(root: &Path, file: &Path) -> Vec<PathBuf> {
        let mut found = names(file);
        assert!(
            root.ancestors()
                .filter(|above| above.parent().is_some())
                .all(|above| found.contains(&above.into()))
        );
        found.retain(|name| name != root && name.starts_with(root));
        found
    }

    #[test]
    fn a_swapped_folder_is_named_and_so_are_plain_ones() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("releases/7/public")).unwrap();
        symlink(root.join("releases/7"), root.join("current")).unwrap();
        let found = below(&root, &root.join("current/public/robots.txt"));
        let wanted =
            ["current", "releases", "releases/7", "releases/7/public", "releases/7/public/robots.txt"];
        assert_eq!(found, wanted.map(|name| root.join(name)));
    }

    #[test]
    fn a_ring_of_links_comes_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert!(below(&root, &root.join("a")).len() <= MOST_LINKS + 1);
    }
}
