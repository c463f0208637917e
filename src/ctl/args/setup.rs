//! Options of the verbs that set a gateway up, or change how it behaves.

use crate::config::HostPattern;
use crate::enforce::Mode;
use crate::identify::PurposeSet;
use crate::record::word;
use clap::{ArgGroup, Args, ValueEnum};
use serde::Serialize;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(in crate::ctl) struct InitArgs {
    /// Folder to write gateway.toml and robots.txt to. Files that are there already are kept
    #[arg(value_name = "DIR")]
    pub(in crate::ctl) folder: PathBuf,
    /// Where the site answers [default: `http://127.0.0.1:3000`; not needed with --beside]
    #[arg(long, value_name = "URL")]
    pub(in crate::ctl) origin: Option<String>,
    /// Write files for a proxy that asks the gateway about each request, instead of passing requests through it
    #[arg(long, value_name = "PROXY", value_enum)]
    pub(in crate::ctl) beside: Option<BesideProxy>,
    /// Host of the site; may be repeated [default: every host]
    #[arg(long = "host", value_name = "H")]
    pub(in crate::ctl) hosts: Vec<HostPattern>,
    /// Take the other name of each host, too: www.example.org beside example.org
    #[arg(long, requires = "hosts")]
    pub(in crate::ctl) www: bool,
    /// Take this robots.txt [default: the one that the site serves, else a sample]
    #[arg(long, value_name = "FILE")]
    pub(in crate::ctl) robots: Option<PathBuf>,
    /// Block crawlers of this purpose, such as ai-train, or `ai` for every AI purpose; may be repeated
    #[arg(long, value_name = "PURPOSE")]
    pub(in crate::ctl) block: Vec<PurposeSet>,
    /// Add an example of each kind of preference about use, as comments
    #[arg(long)]
    pub(in crate::ctl) preferences: bool,
    /// Mode to start in: audit, enforce or off
    #[arg(long, value_name = "MODE", default_value = "audit")]
    pub(in crate::ctl) mode: Mode,
}

#[derive(Debug, Args)]
pub(in crate::ctl) struct DoctorArgs {
    /// Only the site of this host, by this name [default: the first host of each site]
    #[arg(long, value_name = "HOST")]
    pub(in crate::ctl) site: Option<String>,
    /// Ask this server in place of the one that the name leads to
    #[arg(long, value_name = "URL")]
    pub(in crate::ctl) at: Option<String>,
}

/// A proxy that can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::ctl) enum BesideProxy {
    /// With its `auth_request`.
    Nginx,
    /// As with its `forward_auth`.
    Caddy,
    /// With its `forwardAuth`.
    Traefik,
    /// With a script in Lua.
    Haproxy,
    /// With its external authorisation over HTTP.
    Envoy,
}

/// What is not skipped is asked of the gateway by the name that it has here.
#[derive(Debug, Args, Serialize)]
#[command(group(ArgGroup::new("what").args(["mode", "clear"])))]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(in crate::ctl) struct ModeArgs {
    /// audit, enforce or off [default: show what is in force for whom, and why]
    pub(in crate::ctl) mode: Option<Mode>,
    /// Only for this crawler
    #[arg(long, value_name = "C", requires = "what")]
    pub(in crate::ctl) crawler: Option<String>,
    /// Only for crawlers of this purpose, such as ai-train; `ai` means every AI purpose
    #[arg(long, value_name = "P", conflicts_with = "crawler", requires = "what")]
    #[serde(with = "word::optional")]
    pub(in crate::ctl) purpose: Option<PurposeSet>,
    /// Only for this site: its first host, or `default`
    #[arg(long, value_name = "S", requires = "what")]
    pub(in crate::ctl) site: Option<String>,
    /// Keep it when the gateway is started again
    #[arg(long, requires = "what")]
    pub(in crate::ctl) persist: bool,
    /// Go back to what the configuration says, for the same crawler, purpose and site; without one, for what was set
    /// for everybody
    #[arg(long)]
    pub(in crate::ctl) clear: bool,
    /// For everyone, over every other mode, until cleared. With --clear: clear every mode set by hand
    #[arg(long, requires = "what", conflicts_with_all = ["crawler", "purpose", "site"])]
    pub(in crate::ctl) all: bool,
    /// Publish it for the whole fleet, in a generation of its own; without a mode: show those that are published
    #[arg(long, conflicts_with = "persist")]
    #[serde(skip)]
    pub(in crate::ctl) fleet: bool,
    /// The private key to sign the generation with
    #[arg(long, value_name = "FILE", requires = "fleet")]
    #[serde(skip)]
    pub(in crate::ctl) key: Option<PathBuf>,
}
