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

pub use files::{cpu_time, most_open_files, open_files, raise_open_files, resident_memory};
pub(crate) use handover::{give_away, path_beside, tell_taken};
pub(crate) use manager::{keep, stay_alive, tell_leaving, tell_ready};
pub(crate) use signals::{Signals, Stop};
