//! `gatewayctl report`: what the store tells, as a table, JSON, CSV, a page, or one crawler's case.
//!
//! The state folder is enough: a gateway may run, or not. What is asked is `crate::report`'s to answer; this
//! only says where the stores are and gives the answer its shape.

mod cells;
mod csv;
mod evidence;
mod moment;
mod shares;
mod table;

pub(super) use csv::as_csv;
pub(super) use moment::moment;
pub(super) use shares::{PurposeShare, share_of};
pub(super) use table::as_table;

use super::args::ReportArgs;
use super::output::escape_harmful;
use super::{Cli, Format, Output, VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::config::catalogue;
use crate::fleet::counts;
use crate::identify::Catalogue;
use crate::policy;
use crate::record::{Filter, STORE_FILE, StoreReader};
use crate::report::{CrawlerCase, Report, ReportQuestion, html};
use crate::robots::nearest;
use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// How many rows, rules and targets people are shown.
const TOP: usize = 10;

/// How many targets of each element programs are told by name: as many as the store keeps of a day.
const TOP_FOR_PROGRAMS: usize = 1_000;

/// How far a report looks back.
const DEFAULT_SINCE: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn run(cli: &Cli, arguments: &ReportArgs, output: &mut Output<'_>) -> VerbResult {
    if arguments.evidence && cli.format != Format::Text {
        return Err(VerbFailure("evidence is plain text; leave out --format".to_owned()));
    }
    let (folders, known) = stores_and_catalogue(cli)?;
    let in_full = arguments.all || arguments.crawler.is_some();
    // A letter, CSV, a table of all, and what is for the public tell no targets.
    let tells_targets = match cli.format {
        Format::Csv => false,
        Format::Text => in_full && !arguments.evidence && !arguments.public,
        _ => !arguments.public,
    };
    let question = build_question(cli, arguments, known, tells_targets)?;
    let (stores, part) = if arguments.fleet {
        let fleet = super::fleet::of_configuration(cli)?;
        let (rows, part) = counts(&fleet, question.reaches_back(), question.to, None)?;
        (vec![StoreReader::of_rows(&rows)?], Some(part))
    } else {
        (open(&folders)?, None)
    };
    let unreadable = |error| {
        if arguments.fleet {
            return VerbFailure(format!("cannot read the answer of the fleet's database: {error}"));
        }
        let paths: Vec<PathBuf> = folders.iter().map(|folder| folder.join(STORE_FILE)).collect();
        VerbFailure::of_stores(&paths, &error)
    };
    if arguments.evidence {
        let case = CrawlerCase::of(&stores, &question).map_err(unreadable)?;
        let case = if arguments.public { case.public() } else { case };
        evidence::write(&case, arguments, output)?;
        return Ok(VerbOutcome::Fine);
    }
    let mut report = Report::of(&stores, &question).map_err(unreadable)?;
    if let Some(part) = part {
        report = report.of_fleet(part);
    }
    if arguments.public {
        report = report.public();
    }
    if report.crawlers.is_empty() {
        hint_at_names(&stores, &question);
    }
    match cli.format {
        Format::Json => output.json(&report)?,
        Format::Csv => as_csv(&report, output)?,
        Format::Html => output.ready_line(&html::page(&question, &report, &[], &html::Frame::default())?)?,
        Format::Text | Format::Sarif | Format::Github => as_table(&report, arguments.top, in_full, output)?,
    }
    Ok(VerbOutcome::Fine)
}

/// Where the stores are, and what the catalogue knows. A configuration that cannot be loaded is no hindrance
/// when the folders are named.
fn stores_and_catalogue(cli: &Cli) -> Result<(Vec<PathBuf>, Catalogue), VerbFailure> {
    let named = cli.state_dir.clone();
    match which_config::load_any(cli) {
        Ok(config) => {
            let known = policy::recogniser(&config)?.catalogue().clone();
            Ok((if named.is_empty() { vec![config.state_dir] } else { named }, known))
        }
        Err(failure) if named.is_empty() => {
            Err(VerbFailure::with_hint(failure, "--state-dir DIR names the store without a configuration"))
        }
        Err(failure) => {
            // It has lines of its own. Without standard error there is nobody to tell.
            let _ = writeln!(io::stderr(), "gatewayctl: the configuration was left aside: {failure}");
            Ok((named, catalogue::bundled().catalogue.clone()))
        }
    }
}

fn build_question(
    cli: &Cli,
    arguments: &ReportArgs,
    known: Catalogue,
    tells_targets: bool,
) -> Result<ReportQuestion, VerbFailure> {
    let now = SystemTime::now();
    let from = arguments.since.or_else(|| now.checked_sub(DEFAULT_SINCE)).unwrap_or(SystemTime::UNIX_EPOCH);
    let to = arguments.until.unwrap_or(now);
    // `--since 1h --until 1h` are some microseconds apart, since each counts from when it was read. That is an empty time.
    if to.duration_since(from).unwrap_or_default() < Duration::from_secs(1) {
        return Err(VerbFailure(format!(
            "the report would end before it begins: --since is {}, --until {}",
            crate::record::timestamp(from),
            crate::record::timestamp(to)
        )));
    }
    let to = arguments.until.unwrap_or_else(ReportQuestion::open_end);
    let top = arguments.top.unwrap_or_else(|| default_top(cli.format));
    Ok(ReportQuestion {
        site: arguments.site.clone(),
        crawler: arguments.crawler.clone(),
        purpose: arguments.purpose,
        ..ReportQuestion::of_all((from, to), Some(now), tells_targets.then_some(top), known)
    })
}

/// How many targets are told of each element where nobody says.
pub(super) const fn default_top(format: Format) -> usize {
    if matches!(format, Format::Text) { TOP } else { TOP_FOR_PROGRAMS }
}

fn open(folders: &[PathBuf]) -> Result<Vec<StoreReader>, VerbFailure> {
    // A store that is named twice would count twice.
    let mut seen = BTreeSet::new();
    let place = |folder: &PathBuf| std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
    let once = folders.iter().filter(|folder| seen.insert(place(folder)));
    once.map(|folder| open_store(folder.join(STORE_FILE))).collect()
}

pub(super) fn open_store(path: PathBuf) -> Result<StoreReader, VerbFailure> {
    StoreReader::open(&path).map_err(|error| VerbFailure::of_stores(&[path], &error))
}

/// Says which names there are, where the one that was asked for is none of them.
fn hint_at_names(stores: &[StoreReader], question: &ReportQuestion) {
    let all = stores.iter().filter_map(|store| store.subjects(&Filter::default()).ok()).flatten();
    let subjects: Vec<_> = all.map(|(_, subject)| subject).collect();
    let sites: BTreeSet<&str> = subjects.iter().map(|subject| &*subject.site).collect();
    let crawlers: BTreeSet<&str> = subjects.iter().filter_map(|subject| subject.crawler.as_deref()).collect();
    let is_none_of =
        |names: &BTreeSet<&str>, asked: &str| !names.iter().any(|name| name.eq_ignore_ascii_case(asked));
    if let Some(site) = question.site.as_deref().filter(|site| is_none_of(&sites, site)) {
        let sites = sites.into_iter().take(20).collect::<Vec<_>>().join(", ");
        print_to_stderr(&format!("hint: nothing is recorded of site `{site}`, only of {sites}"));
    }
    if let Some(name) = question.crawler.as_deref().filter(|name| is_none_of(&crawlers, name)) {
        let hint = nearest(name, crawlers.iter().copied()).map_or_else(
            || "`gatewayctl report` lists those that were".to_owned(),
            |known| format!("did you mean `{known}`?"),
        );
        print_to_stderr(&format!("hint: no crawler `{name}` was ever recorded; {hint}"));
    }
}

fn print_to_stderr(text: &str) {
    // Without standard error there is nobody to tell.
    let _ = writeln!(io::stderr(), "{}", escape_harmful(text));
}
