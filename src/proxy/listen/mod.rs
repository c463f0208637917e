//! From an accepted socket to a connection that pingora may read: admission, PROXY protocol, TLS, and a
//! guard that stays with the connection to its end.
//!
//! Pingora bounds neither the number of connections nor the time a head may take, and tells nobody of
//! those that never become requests. All of that is done here; what a request is, pingora decides.

mod admission;
mod frames;
mod front;
mod guarded;
mod last_word;
mod line;
mod meters;
mod outbox;
mod outgoing;
mod places;
mod preamble;
mod tls;

pub(super) use admission::Admission;
pub(super) use front::Front;
pub(super) use line::{BodyFault, BodyWatch, Line, shown};
pub(super) use places::Place;
pub(super) use tls::settings as tls_settings;
