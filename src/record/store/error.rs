//! What can go wrong with the store, and what each kind calls for.

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// There is no store.
    Missing,
    /// It is no database, or a broken one.
    Corrupt,
    /// Another process holds it.
    Busy,
    /// There is no room on the disk.
    Full,
    /// The system refused.
    Io,
    /// The file that a copy is to be written to cannot be.
    CopyTarget,
    /// Anything else.
    Other,
}

/// A fault of the store, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
}

impl StoreError {
    pub(crate) fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// What kind of fault it is.
    pub const fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}
