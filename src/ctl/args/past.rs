//! Options of the verbs that look back: at access logs, or at what the store remembers.

use super::{Format, REPORT, formats};
use crate::ctl::report::TimeArgument;
use crate::identify::PurposeSet;
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(in crate::ctl) struct ReplayArgs {
    /// Access logs, plain or compressed, or standard input (-)
    #[arg(value_name = "LOG", required = true)]
    pub(in crate::ctl) logs: Vec<PathBuf>,
    /// Judge by this robots.txt instead of the configured ones
    #[arg(long, value_name = "FILE")]
    pub(in crate::ctl) robots: Option<PathBuf>,
    /// What would be if crawlers that fetch for this were shut out, such as ai-train, or ai for all that is AI's; may be repeated
    #[arg(long, value_name = "PURPOSE")]
    pub(in crate::ctl) block: Vec<PurposeSet>,
    /// The site of lines without a host; of others, only those of this site
    #[arg(long, value_name = "HOST")]
    pub(in crate::ctl) site: Option<String>,
    /// Only requests since then: so long ago, or then, as for report
    #[arg(long, value_name = "T")]
    pub(in crate::ctl) since: Option<TimeArgument>,
    /// Assert that this robots.txt was served throughout the log, so that conduct can be judged
    #[arg(long)]
    pub(in crate::ctl) published: bool,
    /// What the lines look like, as in nginx's `log_format` or Apache's `LogFormat`; or the name of a `log_format` in nginx.conf
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::ctl) log_format: Option<String>,
    /// How many rows, rules and targets are told [default: 10]; as json always all rules, and N targets [default: 1000]
    #[arg(long, value_name = "N")]
    pub(in crate::ctl) top: Option<usize>,
    /// Tell each crawler in full, and the lines that robots.txt could have
    #[arg(long)]
    pub(in crate::ctl) all: bool,
    /// Shape of the answer
    #[arg(long, value_parser = formats(REPORT), default_value = "text")]
    // The option of all verbs gets its value; here it is said that there are more.
    pub(in crate::ctl) format: Format,
    /// Write each violation as a line of JSON, in the journal's form, to a file or standard output (-)
    #[arg(long, value_name = "FILE")]
    pub(in crate::ctl) events: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(in crate::ctl) struct DiffArgs {
    /// The new robots.txt
    #[arg(value_name = "NEW")]
    pub(in crate::ctl) new: PathBuf,
    /// The robots.txt it would replace [default: the configured one]
    #[arg(long, value_name = "OLD")]
    pub(in crate::ctl) robots: Option<PathBuf>,
    /// The site that is meant [default: the default site, or the only one]
    #[arg(long, value_name = "HOST")]
    pub(in crate::ctl) site: Option<String>,
    /// Access logs: which of their requests would be judged otherwise
    #[arg(long = "log", value_name = "LOG", num_args = 1.., conflicts_with = "since")]
    pub(in crate::ctl) logs: Vec<PathBuf>,
    /// What the lines of the logs look like, as for replay
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::ctl) log_format: Option<String>,
    /// The same from the gateway's own store, since so long ago, or then
    #[arg(long, value_name = "T")]
    pub(in crate::ctl) since: Option<TimeArgument>,
    /// How many requests that would be judged otherwise are listed
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(in crate::ctl) top: usize,
}
