//! Options of the verbs that look back: at access logs, or at what the store remembers.

use super::{Format, REPORT, formats};
use crate::ctl::report::moment;
use crate::identify::PurposeSet;
use clap::Args;
use std::path::PathBuf;
use std::time::SystemTime;

#[derive(Debug, Args)]
pub(in crate::ctl) struct ReplayArgs {
    /// Access logs, plain or compressed, or standard input (-)
    #[arg(value_name = "LOG", required = true)]
    pub(in crate::ctl) logs: Vec<PathBuf>,
    /// Judge by this robots.txt instead of the configured ones
    #[arg(long, value_name = "FILE")]
    pub(in crate::ctl) robots: Option<PathBuf>,
    /// Block crawlers of this purpose, such as ai-train, or `ai` for every AI purpose; may be repeated
    #[arg(long, value_name = "PURPOSE")]
    pub(in crate::ctl) block: Vec<PurposeSet>,
    /// Judge lines without a host as this site's, and leave out lines of other sites
    #[arg(long, value_name = "HOST")]
    pub(in crate::ctl) site: Option<String>,
    /// Only requests since then, written as for report
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(in crate::ctl) since: Option<SystemTime>,
    /// Assert that this robots.txt was served throughout the log, so that conduct can be judged
    #[arg(long)]
    pub(in crate::ctl) published: bool,
    /// What the lines look like, as in nginx's `log_format` or Apache's `LogFormat`; or the name of a `log_format` in nginx.conf
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::ctl) log_format: Option<String>,
    /// Rows, rules and targets to show [default: 10]; as json always all rules, and N targets [default: 1000]
    #[arg(long, value_name = "N")]
    pub(in crate::ctl) top: Option<usize>,
    /// Show each crawler in full, and lines that you could add to robots.txt
    #[arg(long)]
    pub(in crate::ctl) all: bool,
    /// Output format
    #[arg(long, value_parser = formats(REPORT), default_value = "text")]
    // The option of all verbs gets its value; here it is said that there are more.
    pub(in crate::ctl) format: Format,
    /// Write each violation as a line of JSON, in the journal's form; only with --format json the report follows
    #[arg(long)]
    pub(in crate::ctl) events: bool,
}

#[derive(Debug, Args)]
pub(in crate::ctl) struct DiffArgs {
    /// The new robots.txt
    pub(in crate::ctl) new: PathBuf,
    /// The robots.txt it would replace [default: the configured one]
    #[arg(long, value_name = "OLD")]
    pub(in crate::ctl) robots: Option<PathBuf>,
    /// The site whose robots.txt it is [default: the default site, or the only one]
    #[arg(long, value_name = "HOST")]
    pub(in crate::ctl) site: Option<String>,
    /// Access logs: show which of their requests would be judged differently
    #[arg(long = "log", value_name = "LOG", num_args = 1.., conflicts_with = "since")]
    pub(in crate::ctl) logs: Vec<PathBuf>,
    /// What the lines of the logs look like, as for replay
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::ctl) log_format: Option<String>,
    /// Use the requests in the gateway's store since then, written as for report
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(in crate::ctl) since: Option<SystemTime>,
    /// How many requests to list that would be judged differently
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(in crate::ctl) top: usize,
}
