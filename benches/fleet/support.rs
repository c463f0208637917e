//! What the tests share with this.

#[path = "../../tests/gateway/support/folder.rs"]
pub(crate) mod folder;
#[path = "../../tests/gateway/support/wait.rs"]
pub(crate) mod wait;

pub(crate) use folder::Folder;
