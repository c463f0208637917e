//! The servers that are compared, all in front of the same origin, one worker each.

mod others;
mod ours;

use crate::origin::Origin;
use crate::process::{Running, is_installed};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub(crate) use ours::{Gateway, SAMPLE, control};

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The gateway in enforce mode.
    Enforce,
    /// The gateway in audit mode.
    Audit,
    /// The gateway's proxy alone: nothing is judged or recorded, and one crawler gets a prebuilt 403.
    Bare,
    /// The least that pingora needs to forward requests.
    Minimal,
    /// nginx with four names.
    NginxFour,
    /// nginx with the long list.
    NginxList,
    /// `HAProxy` with the long list.
    Haproxy,
    /// Caddy with the long list as one expression.
    Caddy,
}

impl Kind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Enforce,
        Self::Audit,
        Self::Bare,
        Self::Minimal,
        Self::NginxFour,
        Self::NginxList,
        Self::Haproxy,
        Self::Caddy,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "gateway, enforce",
            Self::Audit => "gateway, audit",
            Self::Bare => "bare proxy",
            Self::Minimal => "pingora minimal",
            Self::NginxFour => "nginx, 4 names",
            Self::NginxList => "nginx, 330 names",
            Self::Haproxy => "HAProxy, 330 names",
            Self::Caddy => "Caddy, 330 names",
        }
    }

    /// The word that chooses it on the command line.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Audit => "audit",
            Self::Bare => "bare",
            Self::Minimal => "minimal",
            Self::NginxFour => "nginx-4",
            Self::NginxList => "nginx-330",
            Self::Haproxy => "haproxy",
            Self::Caddy => "caddy",
        }
    }

    /// The program that has to be there; our own are.
    const fn program(self) -> Option<&'static str> {
        match self {
            Self::Enforce | Self::Audit | Self::Bare | Self::Minimal => None,
            Self::NginxFour | Self::NginxList => Some("nginx"),
            Self::Haproxy => Some("haproxy"),
            Self::Caddy => Some("caddy"),
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        self.program().is_none_or(is_installed)
    }
}

/// One running server.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) running: Running,
    /// Its folder, with its configuration and its log.
    pub(crate) folder: PathBuf,
}

impl Peer {
    /// Starts a server in a folder of its own below `folder`.
    pub(crate) fn start(kind: Kind, origin: &Origin, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = folder.join(kind.word());
        std::fs::create_dir_all(&folder)?;
        let origin = origin.address();
        let running = match kind {
            Kind::Enforce => Gateway { mode: "enforce", ..Gateway::default() }.start(origin, &folder)?,
            Kind::Audit => Gateway { mode: "audit", ..Gateway::default() }.start(origin, &folder)?,
            Kind::Bare | Kind::Minimal => ours::start(kind, origin, &folder)?,
            Kind::NginxFour | Kind::NginxList => others::nginx(kind, origin, &folder)?,
            Kind::Haproxy => others::haproxy(origin, &folder)?,
            Kind::Caddy => others::caddy(origin, &folder)?,
        };
        Ok(Self { kind, running, folder })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.running.address()
    }
}
