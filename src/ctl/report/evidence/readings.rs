//! Which versions of robots.txt there were, and when the crawler read them.

use super::letter::{line, prose};
use crate::ctl::output::Output;
use crate::record::{hexadecimal, timestamp};
use crate::report::{CaseVersion, CrawlerCase, ReadOf, ReportEntry, grouped};
use std::io;

pub(super) fn write(case: &CrawlerCase, entry: &ReportEntry, output: &mut Output<'_>) -> io::Result<()> {
    line("Versions of robots.txt and when it read them (UTC):", output)?;
    let reads = entry.reads_by_version();
    let mut told = 0;
    for version in case.versions_of(entry) {
        times(version, output)?;
        match reads.iter().find(|read| Some(read.version) == version.id) {
            Some(read) => line(read_text(read), output)?,
            None => line("    no read was seen", output)?,
        }
        told += 1;
    }
    // A version that was replaced before the window, or that another gateway or a former retention knew.
    let is_told = |read: &&ReadOf| case.versions_of(entry).any(|version| version.id == Some(read.version));
    for read in reads.iter().filter(|read| !is_told(read)) {
        line(format!("  {}, in force before this time", read.version), output)?;
        line(read_text(read), output)?;
        told += 1;
    }
    if told == 0 {
        line("  none is on record", output)?;
    }
    if let Some(last) = entry.kin_read {
        let text = format!(
            "robots.txt was also read, last at {}, under this name with another proof or by a crawler that \
             shares its copy. That may have been this crawler; no request is held against it for that.",
            timestamp(last)
        );
        prose(&text, output)?;
    }
    line("", output)
}

fn read_text(read: &ReadOf) -> String {
    let (first, last) = (timestamp(read.first), timestamp(read.last));
    format!("    reads: {}, first {first}, last {last}", grouped(read.count))
}

/// Its name, when it was in force, and the whole digest.
fn times(version: &CaseVersion, output: &mut Output<'_>) -> io::Result<()> {
    let name = version.id.map_or_else(|| "no robots.txt".to_owned(), |id| id.to_string());
    for (at, period) in version.periods.iter().enumerate() {
        let until = period
            .until
            .map_or_else(|| "in force still".to_owned(), |until| format!("until {}", timestamp(until)));
        let name = if at == 0 { format!("  {name},") } else { "    and".to_owned() };
        line(format!("{name} from {}, {until}", timestamp(period.from)), output)?;
    }
    let Some(digest) = version.sha256 else { return Ok(()) };
    line(format!("    SHA-256 {}", hexadecimal(&digest)), output)
}
