//! Folders that the gateway makes for itself.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a folder of state, and those above it, unless they are there. What is kept in it tells who visits the site: its
/// owner may change it, its group may read it, and nobody else.
///
/// # Errors
/// When one of them cannot be made.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o750).create(folder)
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
}
