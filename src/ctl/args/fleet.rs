//! Options of `gatewayctl fleet`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(in crate::ctl) struct FleetArgs {
    #[command(subcommand)]
    pub(in crate::ctl) verb: Option<FleetVerb>,
}

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
    /// Wait no longer for members of this name, which are gone for good
    Forget {
        /// The member's name
        #[arg(value_name = "NAME")]
        name: String,
    },
}
