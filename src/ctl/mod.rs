//! `gatewayctl`: one file or folder for each verb. `args` reads the command line, `which_config` finds the configuration,
//! `control` asks a running gateway over its control socket, and `output` writes the answer.
//!
//! Data goes to standard output, talk to standard error. Exit codes: 0 fine, 1 findings, disallowed or
//! refused, 2 could not answer.

mod alerts;
mod args;
mod backup;
mod batch;
mod check;
mod control;
mod crawlers;
mod diff;
mod doctor;
mod excerpt;
mod explain;
mod fleet;
mod init;
mod lint;
mod logs;
mod man;
mod mode;
mod origin_copy;
mod output;
mod refresh;
mod reload;
mod replay;
mod report;
mod robots;
mod status;
mod style;
mod tester;
mod which_config;

pub use tester::TesterInput;

use crate::policy::{RobotsFile, Unfit, fitness};
use crate::record::{StoreError, StoreErrorKind};
use args::{AlertsVerb, Cli, CrawlersArgs, CrawlersVerb, Format, Verb};
use clap::Parser as _;
use output::Output;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a verb came to, where it came to anything, and its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VerbOutcome {
    Fine = 0,
    /// Findings, disallowed, refused.
    Objection = 1,
}

impl VerbOutcome {
    const fn objecting(objects: bool) -> Self {
        if objects { Self::Objection } else { Self::Fine }
    }
}

/// Why a verb could not answer: exit code 2. Any error makes one, so it is none itself.
#[derive(Debug)]
struct VerbFailure(String);

/// What a verb gives back.
type VerbResult = Result<VerbOutcome, VerbFailure>;

impl VerbFailure {
    /// What failed, and what to do about it.
    fn with_hint(what: impl Display, hint: impl Display) -> Self {
        Self(format!("{what}\n  hint: {hint}"))
    }

    /// Why the file at `path` is of no use.
    fn at(path: &Path, error: impl Display) -> Self {
        Self(format!("{}: {error}", path.display()))
    }

    /// Why one of the stores at `paths` could not be read.
    fn of_stores(paths: &[PathBuf], error: &StoreError) -> Self {
        let told = error.to_string();
        let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let is_of_copy = error.kind() == StoreErrorKind::CopyTarget;
        let says_where = is_of_copy || places.iter().any(|place| told.contains(place));
        let told = if says_where { told } else { format!("{}: {told}", places.join(" or ")) };
        match error.kind() {
            StoreErrorKind::Missing => Self::with_hint(told, NO_STORE),
            StoreErrorKind::Corrupt | StoreErrorKind::Io => Self::with_hint(told, BROKEN_STORE),
            _ => Self(told),
        }
    }

    /// Why the robots.txt at `path` cannot come into force.
    fn of_file(path: &Path, unfit: &Unfit) -> Self {
        Self::with_hint(format!("{}: {unfit}", path.display()), unfit.hint)
    }
}

const NO_STORE: &str =
    "name the gateway's state folder with --state-dir DIR, or its configuration with --config FILE";

const BROKEN_STORE: &str = "run this as the user the gateway runs as, who may write beside the store; where that does not \
                            help, the store is broken: a gateway that runs sets it aside and begins a new one";

impl<E: std::error::Error> From<E> for VerbFailure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// The robots.txt at `path`, if it could come into force.
fn fit_robots(path: &Path) -> Result<RobotsFile, VerbFailure> {
    let file = RobotsFile::named(path).and_then(|file| fitness(&file.bytes).map(|()| file));
    file.map_err(|unfit| VerbFailure::of_file(path, &unfit))
}

/// Opens a file, or standard input where `path` is `-`.
fn open(path: &Path) -> Result<Box<dyn Read>, VerbFailure> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(|error| VerbFailure::at(path, error))?;
    Ok(Box::new(file))
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut output = Output::new(cli.format, style::is_wanted(), io::stdout().lock());
    let result = run(&cli, &mut output)
        .and_then(|outcome| output.flush().map(|()| outcome).map_err(VerbFailure::from));
    match result {
        Ok(outcome) => ExitCode::from(outcome as u8),
        Err(failure) => {
            // Without standard error there is nobody to tell.
            let _ = writeln!(io::stderr(), "gatewayctl: error: {}", failure.0);
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli, output: &mut Output<'_>) -> VerbResult {
    let is_report = matches!(cli.verb, Verb::Report(_) | Verb::Replay(_));
    if !is_report && matches!(cli.format, Format::Csv | Format::Html) {
        return Err(VerbFailure("only a report can be csv or html; write --format text or json".to_owned()));
    }
    if !matches!(cli.verb, Verb::Lint(_)) && matches!(cli.format, Format::Sarif | Format::Github) {
        let message = "only a lint can be sarif or github; write --format text or json";
        return Err(VerbFailure(message.to_owned()));
    }
    match &cli.verb {
        Verb::Alerts(AlertsVerb::Test) => alerts::test(cli, output),
        Verb::Backup { file } => backup::run(cli, file, output),
        Verb::Check(arguments) => check::run(cli, arguments, output),
        Verb::Completions { shell } => man::completions(*shell, output),
        Verb::Crawlers(CrawlersArgs { verb: Some(CrawlersVerb::Refresh { from }), .. }) => {
            refresh::run(cli, from.as_deref(), output)
        }
        Verb::Crawlers(arguments) => crawlers::run(cli, arguments, output),
        Verb::Diff(arguments) => diff::run(cli, arguments, output),
        Verb::Doctor(arguments) => doctor::run(cli, arguments, output),
        Verb::Explain(arguments) if arguments.batch.is_some() => batch::run(cli, arguments, output),
        Verb::Explain(arguments) => explain::run(cli, arguments, output),
        Verb::Fleet { verb } => fleet::run(cli, verb.as_ref(), output),
        Verb::Init(arguments) => init::run(cli, arguments, output),
        Verb::Lint(arguments) => lint::run(cli, arguments, output),
        Verb::Man { out } => man::run(out.as_deref(), output),
        Verb::Mode(arguments) => mode::run(cli, arguments, output),
        Verb::Reload(arguments) => reload::run(cli, arguments, output),
        Verb::Report(arguments) => report::run(cli, arguments, output),
        Verb::Replay(arguments) => replay::run(cli, arguments, output),
        Verb::Robots(arguments) => robots::run(cli, arguments, output),
        Verb::Status => status::run(cli, output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(paths: &[&str], kind: StoreErrorKind, message: &str) -> String {
        let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
        VerbFailure::of_stores(&paths, &StoreError::new(kind, message)).0
    }

    #[test]
    fn a_fault_of_a_store_names_it_and_a_fault_of_a_copy_blames_none() {
        let broken = format!("\n  hint: {BROKEN_STORE}");
        assert_eq!(
            told(&["/a"], StoreErrorKind::Io, "disk I/O error"),
            format!("/a: disk I/O error{broken}")
        );
        assert_eq!(told(&["/a"], StoreErrorKind::Corrupt, "/a: broken"), format!("/a: broken{broken}"));
        assert_eq!(told(&["/a", "/b"], StoreErrorKind::Other, "malformed"), "/a or /b: malformed");
        assert_eq!(told(&["/a"], StoreErrorKind::CopyTarget, "/copy: exists"), "/copy: exists");
    }
}
