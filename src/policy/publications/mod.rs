//! What operators of crawlers publish: lists of address ranges, the keys by which agents sign, and
//! catalogues of crawlers. Fetched when
//! `gatewayctl crawlers refresh` is called, and from time to time where the operator turned that on.

mod client;
mod kind;
mod timer;

pub use client::{PublicationClient, Refreshed, root_certs};
pub(super) use kind::published_catalogue;
pub use kind::{PublishedFile, PublishedKind};
pub use timer::refresh_regularly;
