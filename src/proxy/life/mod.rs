//! The life of the process as others see it: sockets that were open before it, a service manager that wants
//! to be told, and a successor that takes over.

mod files;
mod handover;
mod inherited;
mod manager;
mod signals;

pub use files::raise_open_files;
pub use inherited::{Heritage, InheritError, Inherited};

pub(super) use handover::{Handover, path_beside};
pub(super) use inherited::Predecessor;
pub(super) use manager::ServiceManager;
pub(super) use signals::{Signals, Stop};
