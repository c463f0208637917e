//! The servers that are compared, all in front of the same origin, one worker each.

mod others;
mod ours;

use crate::certificate::Certificate;
use crate::origin::BenchOrigin;
use crate::process::{Running, free_address, is_installed};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

pub(crate) use ours::{GatewayPeer, control};

/// Between what a peer stands, and where its files are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Where<'a> {
    pub(crate) origin: SocketAddr,
    pub(crate) addresses: Addresses,
    /// Its certificate is there already.
    pub(crate) folder: &'a Path,
}

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// The gateway in enforce mode.
    Enforce,
    /// The same with a line in the journal for every refusal, where `journal_rate` leaves most of one crawler's out.
    EveryLine,
    /// The gateway in audit mode.
    Audit,
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
        Self::EveryLine,
        Self::Audit,
        Self::Minimal,
        Self::NginxFour,
        Self::NginxList,
        Self::Haproxy,
        Self::Caddy,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Enforce => "gateway, enforce",
            Self::EveryLine => "gateway, every line",
            Self::Audit => "gateway, audit",
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
            Self::EveryLine => "every-line",
            Self::Audit => "audit",
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
            Self::Enforce | Self::EveryLine | Self::Audit | Self::Minimal => None,
            Self::NginxFour | Self::NginxList => Some("nginx"),
            Self::Haproxy => Some("haproxy"),
            Self::Caddy => Some("caddy"),
        }
    }

    pub(crate) fn is_installed(self) -> bool {
        self.program().is_none_or(is_installed)
    }
}

/// Where a peer listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Addresses {
    /// For HTTP/1.1 without TLS.
    pub(crate) plain: SocketAddr,
    /// For TLS, with HTTP/2 on offer.
    pub(crate) tls: SocketAddr,
}

impl Addresses {
    pub(crate) fn free() -> Result<Self, Box<dyn Error>> {
        Ok(Self { plain: free_address()?, tls: free_address()? })
    }
}

/// One running server.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) running: Running,
    pub(crate) addresses: Addresses,
    /// Its folder, with its configuration and its log.
    pub(crate) folder: PathBuf,
}

impl Peer {
    /// Starts a server in a folder of its own below `folder`.
    pub(crate) fn start(kind: Kind, origin: &BenchOrigin, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = folder.join(kind.word());
        std::fs::create_dir_all(&folder)?;
        let place = Where { origin: origin.address(), addresses: Addresses::free()?, folder: &folder };
        Certificate::make(&folder)?;
        let running = match kind {
            Kind::Enforce => GatewayPeer::default().start(place)?,
            Kind::EveryLine => GatewayPeer { has_every_line: true, ..GatewayPeer::default() }.start(place)?,
            Kind::Audit => GatewayPeer { mode: "audit", ..GatewayPeer::default() }.start(place)?,
            Kind::Minimal => ours::minimal(place)?,
            Kind::NginxFour | Kind::NginxList => others::nginx(kind, place)?,
            Kind::Haproxy => others::haproxy(place)?,
            Kind::Caddy => others::caddy(place)?,
        };
        let addresses = place.addresses;
        Ok(Self { kind, running, addresses, folder })
    }
}
