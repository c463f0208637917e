//! Verbs, options and their help.

use super::report::moment;
use crate::identify::PurposeSet;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::SystemTime;

mod fleet;
mod past;
mod setup;

pub(super) use fleet::{FleetVerb, PublishArgs};
pub(super) use past::{DiffArgs, ReplayArgs};
pub(super) use setup::{BesideProxy, DoctorArgs, InitArgs, ModeArgs};

/// Options that every verb has, below its own.
const COMMON: &str = "Common options";

/// Ask and steer robots-gateway.
#[derive(Debug, Parser)]
#[command(name = "gatewayctl", version, about, after_help = include_str!("args/examples/all.txt"))]
#[command(mut_subcommands = with_examples)]
pub(super) struct Cli {
    /// Configuration file of the gateway [default: /etc/robots-gateway/gateway.toml, where it exists]
    #[arg(long, global = true, value_name = "FILE", help_heading = COMMON)]
    pub(super) config: Option<PathBuf>,
    /// Control socket of the running gateway [default: the one of the configuration]
    #[arg(long, global = true, value_name = "SOCKET", help_heading = COMMON)]
    pub(super) control: Option<PathBuf>,
    /// State folder of the gateway [default: the one of the configuration]
    #[arg(long, global = true, value_name = "DIR", help_heading = COMMON)]
    pub(super) state_dir: Vec<PathBuf>,
    /// Output format
    #[arg(long, global = true, value_parser = formats(&[]), default_value = "text", help_heading = COMMON)]
    pub(super) format: Format,
    #[command(subcommand)]
    pub(super) verb: Verb,
}

/// Shape of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[value(alias = "table")]
    Text,
    /// For programs.
    Json,
    /// For spreadsheets (reports only).
    Csv,
    /// A page with charts (reports only).
    Html,
    /// For code scanners (lint only).
    Sarif,
    /// For the runners of GitHub (lint only).
    Github,
}

/// What a report has beside them.
const REPORT: &[Format] = &[Format::Csv, Format::Html];

/// The formats that every verb has, and the `others` of one. The rest is taken, so that it can be answered with what to
/// write instead.
fn formats(others: &'static [Format]) -> impl TypedValueParser<Value = Format> {
    let shown = Format::value_variants().iter().filter_map(|format| {
        let is_shown = matches!(format, Format::Text | Format::Json) || others.contains(format);
        Some(format.to_possible_value()?.hide(!is_shown))
    });
    PossibleValuesParser::new(shown).try_map(|name| Format::from_str(&name, true))
}

/// What stands at the foot of each verb's help.
const EXAMPLES: &str = include_str!("args/examples/verbs.txt");

/// A verb with those of the examples that run it.
fn with_examples(verb: Command) -> Command {
    let first = format!("  gatewayctl {}", verb.get_name());
    let own = EXAMPLES.split("Examples:\n").find(|examples| examples.starts_with(&first));
    verb.after_help(format!("Examples:\n{}", own.unwrap_or_default().trim_end()))
}

// A test sees that each has examples.
#[derive(Debug, Subcommand)]
pub(super) enum Verb {
    /// Send an alert to the webhook, to see that one arrives
    #[command(subcommand)]
    Alerts(AlertsVerb),
    /// Copy the store to a file, whole, while the gateway runs or not
    Backup {
        /// The file to write; it must not exist
        file: PathBuf,
    },
    /// Load everything as the gateway would, and print every error and finding
    Check(CheckArgs),
    /// Print what completes this program's options in a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Show the crawlers that are known, or how a header is recognised
    Crawlers(CrawlersArgs),
    /// Say what a new robots.txt would change
    Diff(DiffArgs),
    /// Ask for robots.txt by the site's public name, and say what is wrong
    Doctor(DoctorArgs),
    /// Say how a request would be judged, and why
    Explain(ExplainArgs),
    /// Show the members of the fleet, and whether all have what was published
    Fleet {
        #[command(subcommand)]
        verb: Option<FleetVerb>,
    },
    /// Write a commented configuration to start with
    Init(InitArgs),
    /// Print the findings of robots.txt files
    Lint(LintArgs),
    /// Print the manual pages
    Man {
        /// Write one page for each verb into this folder [default: the page of gatewayctl, on standard output]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Show which modes are in force, or change one
    Mode(ModeArgs),
    /// Say who broke which rules, and whether they had read them
    Report(ReportArgs),
    /// Have the running gateway read its files again, and wait for the result
    Reload(ReloadArgs),
    /// Judge access logs: what would have been refused
    Replay(ReplayArgs),
    /// Show robots.txt as it is served, each line with where it comes from
    Robots(RobotsArgs),
    /// Show what the running gateway is doing
    Status,
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// Let warnings fail the check
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    pub(super) deny: Option<String>,
    /// Do not ask the origins for their own robots.txt
    #[arg(long)]
    pub(super) offline: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct CrawlersArgs {
    /// A User-Agent header, whole: what it is recognised as, step by step
    #[arg(value_name = "UA")]
    pub(super) user_agent: Option<String>,
    /// Only crawlers of this purpose, such as ai-train; `ai` means every AI purpose
    #[arg(long, value_name = "P", conflicts_with = "user_agent")]
    pub(super) purpose: Option<PurposeSet>,
    #[command(subcommand)]
    pub(super) verb: Option<CrawlersVerb>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub(super) enum AlertsVerb {
    /// Send one alert of the kind `test`
    Test,
}

#[derive(Debug, Subcommand)]
pub(super) enum CrawlersVerb {
    /// Fetch the address ranges and the keys that crawlers' operators publish
    Refresh {
        /// Fetch from a folder of this URL that holds the lists under the names they are kept by
        #[arg(long, value_name = "URL")]
        from: Option<String>,
    },
}

/// What is not skipped is asked of the gateway by the name that it has here.
#[derive(Debug, Args, Serialize)]
pub(super) struct RobotsArgs {
    /// Host of the site that is asked [default: the default site, or the only one]
    #[arg(long, global = true, value_name = "HOST")]
    pub(super) site: Option<String>,
    #[command(subcommand)]
    #[serde(skip)]
    pub(super) verb: Option<RobotsVerb>,
}

#[derive(Debug, Subcommand)]
pub(super) enum RobotsVerb {
    /// Have the running gateway ask the origins for their robots.txt now: of all sites, or of one
    Refresh,
}

#[derive(Debug, Args)]
pub(super) struct LintArgs {
    /// A robots.txt, or standard input (-)
    #[arg(value_name = "FILE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Let warnings fail the lint
    #[arg(long, value_name = "WHAT", value_parser = ["warnings"])]
    pub(super) deny: Option<String>,
    /// Output format
    #[arg(long, value_parser = formats(&[Format::Sarif, Format::Github]), default_value = "text")]
    pub(super) format: Format,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct ReportArgs {
    /// Start this long ago (24h, 7d) or at this time (2026-11-19, 2026-11-19T08:00:00Z) [default: 24h]
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(super) since: Option<SystemTime>,
    /// End this long ago or at this time [default: now]
    #[arg(long, value_name = "T", value_parser = moment)]
    pub(super) until: Option<SystemTime>,
    /// Only this site
    #[arg(long, value_name = "SITE")]
    pub(super) site: Option<String>,
    /// Only this crawler
    #[arg(long, value_name = "NAME")]
    pub(super) crawler: Option<String>,
    /// Only crawlers of this purpose, such as ai-train; `ai` means every AI purpose
    #[arg(long, value_name = "P")]
    pub(super) purpose: Option<PurposeSet>,
    /// Rows, rules and targets to show [default: 10]; as json always all rules, and N targets [default: 1000]
    #[arg(long, value_name = "N")]
    pub(super) top: Option<usize>,
    /// Show each crawler in full, as --crawler does for one, and lines that you could add to robots.txt
    #[arg(long)]
    pub(super) all: bool,
    /// Report on the whole fleet, from its database
    #[arg(long)]
    pub(super) fleet: bool,
    /// For publishing: leave out paths, addresses, User-Agent headers, request ids and names of gateways
    #[arg(long)]
    pub(super) public: bool,
    /// Output format
    #[arg(long, value_parser = formats(REPORT), default_value = "text")]
    // The option of all verbs gets its value; here it is said that there are more.
    pub(super) format: Format,
    /// Print the evidence on one crawler as plain text, to mail to its operator
    #[arg(long, requires = "crawler")]
    pub(super) evidence: bool,
}

/// Each is asked of the gateway by the name that it has here.
#[derive(Debug, Args, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ReloadArgs {
    /// Accept an empty or missing robots.txt, which allows everything
    #[arg(long)]
    pub(super) accept_empty: bool,
    /// For emergencies: enforce the current rules at once, even on crawlers that cannot know them yet
    #[arg(long)]
    pub(super) now: bool,
    /// With --now, only this site
    #[arg(long, value_name = "S", requires = "now")]
    pub(super) site: Option<String>,
    /// With --now, only this crawler
    #[arg(long, value_name = "C", requires = "now")]
    pub(super) crawler: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The User-Agent header, whole
    #[arg(long, value_name = "UA", conflicts_with = "token")]
    pub(super) user_agent: Option<String>,
    /// A product token, in place of a header
    #[arg(long, value_name = "T")]
    pub(super) token: Option<String>,
    /// The request target: path and query
    #[arg(long, value_name = "PATH", required_unless_present_any = ["batch", "request"])]
    pub(super) target: Option<OsString>,
    /// Judge by this file instead of the configured one
    #[arg(long, value_name = "FILE")]
    pub(super) robots: Option<PathBuf>,
    /// Host of the site that is asked [default: the default site, or the only one]
    #[arg(long, value_name = "HOST")]
    pub(super) site: Option<String>,
    /// Address of the client
    #[arg(long, value_name = "IP")]
    pub(super) address: Option<IpAddr>,
    /// A header field of the request, such as 'Signature-Input: sig1=(…)', to check its signature step by step
    #[arg(long, value_name = "FIELD", conflicts_with_all = ["token", "batch"])]
    pub(super) header: Vec<String>,
    /// A request of HTTP/1.1 as it was sent: its line and header fields, from a file or standard input (-)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["user_agent", "token", "target", "header", "batch"])]
    pub(super) request: Option<PathBuf>,
    /// Answer JSON lines from a file, or standard input (-)
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-",
          conflicts_with_all = ["user_agent", "token", "target"])]
    pub(super) batch: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Arguments;
    use crate::config::tests::{assert_is, text};
    use clap::{Arg, CommandFactory as _};
    use std::fmt::Write as _;

    const GUIDE: &str = "docs/cli.md";
    /// What stands before the tables in the guide, which are its end.
    const MARK: &str = "<!-- The tables are made of the types of the program. -->\n";

    fn row(argument: &Arg) -> String {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let is_hidden = argument.is_hide_default_value_set() || !argument.get_action().takes_values();
        let defaults = argument.get_default_values().iter().filter(|_| !is_hidden);
        let defaults: Vec<_> = defaults.map(|value| format!("`{}`", value.display())).collect();
        let words = argument.get_possible_values();
        let words = words.iter().filter(|word| !word.is_hide_set() && argument.get_action().takes_values());
        let words: Vec<_> = words.map(|word| format!("`{}`", word.get_name())).collect();
        let listed = |what: &str, of: &[String]| {
            if of.is_empty() { String::new() } else { format!("; {what}: {}", of.join(", ")) }
        };
        let told = format!("{help}{}{}", listed("one of", &words), listed("default", &defaults));
        format!(
            "| `{}` | {} |\n",
            argument,
            told.replace('|', "\\|").replace(" [default: ", "; default: ").replace(']', "")
        )
    }

    /// The options and arguments of a command and of its verbs, but for those that every verb has.
    fn tables(command: &Command, name: &str, page: &mut String) {
        let is_own = |argument: &&Arg| {
            let is_common = argument.get_help_heading() == Some(COMMON) && name != "gatewayctl";
            !is_common
                && !argument.is_hide_set()
                && !["help", "version"].contains(&argument.get_id().as_str())
        };
        let rows: String = command.get_arguments().filter(is_own).map(row).collect();
        if !rows.is_empty() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = write!(page, "\n### {name}\n\n{about}.\n\n| option | meaning |\n|---|---|\n{rows}");
        }
        for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help" && !verb.is_hide_set())
        {
            tables(verb, &format!("{name} {}", verb.get_name()), page);
        }
    }

    /// `GOLDEN=write cargo test --lib reference_of_the_command_line` writes it anew.
    #[test]
    fn the_reference_of_the_command_line_is_that_of_the_types() {
        let mut page = String::new();
        for (mut command, name) in [(Arguments::command(), "robots-gateway"), (Cli::command(), "gatewayctl")]
        {
            command.build();
            tables(&command, name, &mut page);
        }
        let guide = text(GUIDE);
        let before = guide.split_once(MARK).map_or(&*guide, |(before, _)| before);
        assert_is(GUIDE, &format!("{before}{MARK}{page}"));
    }
}
