//! The names on the way to a file: its own, and that of every symbolic link that is followed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How many links are followed, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// Every name whose change could make `file`, an absolute path, another file: where `site/robots.txt` leads
/// through `..data` to `..2024/robots.txt`, all three. Folders that are no links are left out.
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
                if rest.is_empty() {
                    names.push(next.clone());
                }
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
        let found = names(&root.join("robots.txt"));
        assert_eq!(found, [root.join("robots.txt"), root.join("..data"), root.join("..2024/robots.txt")]);
    }

    #[test]
    fn a_swapped_folder_is_named_and_plain_ones_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("releases/7/public")).unwrap();
        symlink(root.join("releases/7"), root.join("current")).unwrap();
        let found = names(&root.join("current/public/robots.txt"));
        assert_eq!(found, [root.join("current"), root.join("releases/7/public/robots.txt")]);
    }

    #[test]
    fn a_ring_of_links_comes_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        symlink("b", root.join("a")).unwrap();
        symlink("a", root.join("b")).unwrap();
        assert!(names(&root.join("a")).len() <= MOST_LINKS + 1);
    }
}
