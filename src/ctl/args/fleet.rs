//! Options of `gatewayctl fleet`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(in crate::ctl) enum FleetVerb {
    /// Set up the database, or bring it to the version of this program
    Init {
        /// The database, with a user that may make schemas and roles [default: the one of the configuration]
        #[arg(long, value_name = "URL")]
        database: Option<String>,
        /// For how many days counts are kept [default: as it is, and 90 at first]
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(2..))]
        retention_days: Option<u32>,
    },
    /// Publish a robots.txt: every member serves it in the place of the site's own
    Publish(PublishArgs),
    /// Stop waiting for members of this name that are gone for good
    Forget {
        /// The member's name
        name: String,
        /// The database, with a user that may publish [default: the one of the configuration]
        #[arg(long, value_name = "URL")]
        database: Option<String>,
    },
}

#[derive(Debug, Args)]
pub(in crate::ctl) struct PublishArgs {
    /// The robots.txt to publish; of several sites one each
    #[arg(value_name = "FILE", required_unless_present = "clear")]
    pub(in crate::ctl) files: Vec<PathBuf>,
    /// The site, which a member has to serve: its first host, or `default`. Of several files one each, in the same order [default: the only site]
    #[arg(long, value_name = "S")]
    pub(in crate::ctl) site: Vec<String>,
    /// Publish none for the site any more: members serve their own file again
    #[arg(long, conflicts_with = "files")]
    pub(in crate::ctl) clear: bool,
    /// The private key to sign with, where members have its `publisher_key`
    #[arg(long, value_name = "FILE")]
    pub(in crate::ctl) key: Option<PathBuf>,
    /// Carry nothing over from the last generation: neither files of other sites nor modes
    #[arg(long)]
    pub(in crate::ctl) anew: bool,
    /// Wait until every member has applied it, for 60 s at most; exit 1 where one has not
    #[arg(long)]
    pub(in crate::ctl) wait: bool,
    /// The database, with a user that may publish [default: the one of the configuration]
    #[arg(long, value_name = "URL")]
    pub(in crate::ctl) database: Option<String>,
}
