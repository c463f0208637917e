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

pub(super) use moment::TimeArgument;
pub(super) use shares::{PurposeShare, share_of};

use super::args::{Cli, Format, ReportArgs};
use super::output::{Output, escape_harmful};
use super::{VerbFailure, VerbOutcome, VerbResult, which_config};
use crate::config::catalogue;
use crate::fleet::{FleetCounts, counts};
use crate::policy;
use crate::record::{Filter, STORE_FILE, StoreReader};
use crate::report::{CatalogueView, CrawlerCase, Report, ReportQuestion, html};
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
const DEFAULT_SINCE: TimeArgument = TimeArgument::Ago(Duration::from_secs(24 * 60 * 60));

pub(super) fn run(cli: &Cli, arguments: &ReportArgs, output: &mut Output<'_>) -> VerbResult {
    if arguments.evidence && cli.format != Format::Text {
        return Err(VerbFailure("evidence is plain text; leave out --format".to_owned()));
    }
    let (folders, known) = stores_and_catalogue(cli)?;
    let question = build_question(cli, arguments, known)?;
    let (stores, part) = if arguments.fleet {
        let fleet = super::fleet::of_configuration(cli)?;
        let FleetCounts { rows, part } = counts(&fleet, question.reaches_back(), question.to, None)?;
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
        evidence::write(&case, &question, output)?;
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
        Format::Text | Format::Sarif | Format::Github => {
            as_table(&report, arguments.top, arguments.all || arguments.crawler.is_some(), output)?;
        }
        Format::Html => {
            output.ready_line(&html::page(&question, &report, &[], &html::Frame::default())?)?;
        }
    }
    Ok(VerbOutcome::Fine)
}

pub(super) fn as_csv(report: &Report, output: &mut Output<'_>) -> io::Result<()> {
    csv::write(report, output)?;
    // A table for programs has no room for them.
    for caveat in report.summary().caveats {
        print_to_stderr(&format!("gatewayctl: {caveat}"));
    }
    Ok(())
}

pub(super) fn as_table(
    report: &Report,
    top: Option<usize>,
    in_full: bool,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let shape = table::TableShape::of_terminal(top.unwrap_or(TOP), in_full);
    table::write(report, &shape, output)
}

/// Where the stores are, and what the catalogue knows. A configuration that cannot be loaded is no hindrance
/// when the folders are named.
fn stores_and_catalogue(cli: &Cli) -> Result<(Vec<PathBuf>, CatalogueView), VerbFailure> {
    let named = cli.state_dir.clone();
    match which_config::load_any(cli) {
        Ok(config) => {
            let known = CatalogueView::of(policy::recogniser(&config)?.catalogue());
            Ok((if named.is_empty() { vec![config.state_dir] } else { named }, known))
        }
        Err(failure) if named.is_empty() => {
            Err(VerbFailure::with_hint(failure, "--state-dir DIR names the store without a configuration"))
        }
        Err(failure) => {
            // It has lines of its own. Without standard error there is nobody to tell.
            let _ = writeln!(io::stderr(), "gatewayctl: the configuration was left aside: {failure}");
            Ok((named, CatalogueView::of(&catalogue::bundled().catalogue)))
        }
    }
}

fn build_question(
    cli: &Cli,
    arguments: &ReportArgs,
    known: CatalogueView,
) -> Result<ReportQuestion, VerbFailure> {
    let now = SystemTime::now();
    let from = arguments.since.unwrap_or(DEFAULT_SINCE).resolve(now);
    let until = arguments.until.map(|until| until.resolve(now));
    let to = until.unwrap_or(now);
    if from >= to {
        return Err(VerbFailure(format!(
            "the report would end before it begins: --since is {}, --until {}",
            crate::record::timestamp(from),
            crate::record::timestamp(to)
        )));
    }
    let (site, crawler) = (arguments.site.clone(), arguments.crawler.clone());
    let to = until.unwrap_or_else(ReportQuestion::open_end);
    let (purpose, top) = (arguments.purpose, arguments.top.unwrap_or_else(|| default_top(cli.format)));
    Ok(ReportQuestion { from, to, now: Some(now), site, crawler, purpose, top, known })
}

/// How many targets are told of each element where nobody says.
pub(super) const fn default_top(format: Format) -> usize {
    if matches!(format, Format::Text) { TOP } else { TOP_FOR_PROGRAMS }
}

fn open(folders: &[PathBuf]) -> Result<Vec<StoreReader>, VerbFailure> {
    let mut seen = BTreeSet::new();
    let mut stores = Vec::new();
    for folder in folders {
        // A store that is named twice would count twice.
        let place = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.clone());
        if seen.insert(place) {
            stores.push(open_store(folder.join(STORE_FILE))?);
        }
    }
    Ok(stores)
}

pub(super) fn open_store(path: PathBuf) -> Result<StoreReader, VerbFailure> {
    StoreReader::open(&path).map_err(|error| VerbFailure::of_stores(&[path], &error))
}

/// Says which names there are, where the one that was asked for is none of them.
fn hint_at_names(stores: &[StoreReader], question: &ReportQuestion) {
    let all = stores.iter().filter_map(|store| store.subjects(&Filter::default()).ok()).flatten();
    let subjects: Vec<_> = all.map(|(_, subject)| subject).collect();
    let sites: BTreeSet<&str> = subjects.iter().map(|subject| &*subject.site).collect();
    let is_site = |site: &str| sites.iter().any(|known| known.eq_ignore_ascii_case(site));
    if let Some(site) = question.site.as_deref().filter(|site| !is_site(site)) {
        let sites = sites.into_iter().take(20).collect::<Vec<_>>().join(", ");
        print_to_stderr(&format!("hint: nothing is recorded of site `{site}`, only of {sites}"));
    }
    let crawlers: BTreeSet<&str> = subjects.iter().filter_map(|subject| subject.crawler.as_deref()).collect();
    let is_known = |name: &str| crawlers.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some(name) = question.crawler.as_deref().filter(|name| !is_known(name)) {
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
