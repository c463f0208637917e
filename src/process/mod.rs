//! Inherited sockets, systemd notification, hand-over to the next process, and signals.

mod files;
mod handover;
mod inherited;
mod manager;
mod signals;
mod sockets;

pub use inherited::Inherited;
pub use signals::terminate;
pub use sockets::{ControlSocket, SocketError, bind};

pub(crate) use files::open_files;
pub use files::{ProcessUsage, raise_open_files};
pub(crate) use handover::{Handover, path_beside};
pub(crate) use manager::{keep, stay_alive, tell_leaving, tell_ready};
pub(crate) use signals::{Signals, Stop};
