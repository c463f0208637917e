//! The harness: the real daemon, a real nginx, and clients that write the bytes of their requests.
//!
//! No part of it knows the gateway's code. Everything listens on a free port, keeps its files in a folder
//! of its own, and ends with the value that stands for it.

pub(crate) mod agents;
pub(crate) mod client;
pub(crate) mod command;
pub(crate) mod daemon;
pub(crate) mod dead_mount;
pub(crate) mod folder;
pub(crate) mod http2;
pub(crate) mod journal;
pub(crate) mod log;
pub(crate) mod origin;
mod past;
pub(crate) mod raw_origin;
pub(crate) mod scripted;
pub(crate) mod tls;
pub(crate) mod wait;

pub(crate) use client::{Client, ClientResponse, Request, get, head, request};
pub(crate) use command::Ended;
pub(crate) use daemon::{Builder, Daemon, configured};
pub(crate) use folder::Folder;
pub(crate) use origin::Nginx;
pub(crate) use raw_origin::RawOrigin;
pub(crate) use wait::until;

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// The name of a version of robots.txt: the first 12 hex digits of its SHA-256.
pub(crate) fn version_of(robots: impl AsRef<[u8]>) -> String {
    let mut name = String::new();
    for byte in &Sha256::digest(robots.as_ref())[..6] {
        write!(name, "{byte:02x}").expect("a String takes everything");
    }
    name
}
