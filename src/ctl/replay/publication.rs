//! What a replay says of whether its rules were published: for people and for programs.

use super::ledger::ReplayTotals;
use super::published::Answers;
use crate::record::{instant, timestamp};
use crate::report::{amount, grouped};
use serde::Serialize;

/// Whether the file of one site was being served, as far as is known.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FilePublication {
    site: String,
    /// Who says so: `log` or `operator`; null where nothing does.
    by: Option<&'static str>,
    robots_version: Option<String>,
    /// The size of the file in bytes.
    size: Option<u64>,
    /// From when until when the log shows it.
    from: Option<String>,
    to: Option<String>,
    /// Answers to `GET /robots.txt`: of its size, of another, and those that tell nothing.
    equal: u64,
    other: u64,
    unclear: u64,
    /// The size of one of another file, and when the last of those came.
    other_size: Option<u64>,
    last_other: Option<String>,
}

impl FilePublication {
    /// Of all sites.
    pub(super) fn all(ledger: &ReplayTotals<'_>) -> Vec<Self> {
        let of = |(number, answers): (usize, &Answers)| {
            let site = ledger.sites.all.get(number)?;
            let (shown, others) = (answers.shown(), answers.others());
            let by = if ledger.files.is_vouched { Some("operator") } else { shown.map(|_| "log") };
            let time = |at: i64| timestamp(instant(at));
            Some(Self {
                site: site.config.name.clone(),
                by,
                robots_version: site.version().map(|version| version.to_string()),
                size: ledger.files.size(number),
                from: shown.map(|(from, _)| time(from)),
                to: shown.map(|(_, to)| time(to)),
                equal: answers.this.map_or(0, |seen| seen.count),
                other: others.map_or(0, |(seen, _)| seen.count),
                unclear: answers.unclear(),
                other_size: others.map(|(_, size)| size),
                last_other: others.map(|(seen, _)| time(seen.last)),
            })
        };
        ledger.answers.iter().enumerate().filter_map(of).collect()
    }

    pub(super) const fn is_shown(&self) -> bool {
        self.by.is_some()
    }

    /// The same for people.
    pub(super) fn sentence(&self, several_sites: bool) -> String {
        let at = if several_sites { format!(" at {}", self.site) } else { String::new() };
        let size = grouped(self.size.unwrap_or_default());
        match self.by {
            Some("operator") => {
                format!("published{at}: you say so (--published){}", self.note_on_other_sizes())
            }
            Some(_) => format!(
                "published{at}: {} to /robots.txt in this log {} the size of this file ({size} bytes), and none has another",
                amount(self.equal, "answer", "answers"),
                if self.equal == 1 { "has" } else { "have" },
            ),
            None => format!(
                "hypothetical{at}: the log does not show that this file was published all the time: {}. If it was, say --published",
                self.reason(&size)
            ),
        }
    }

    /// What speaks against the operator.
    fn note_on_other_sizes(&self) -> String {
        if self.other == 0 {
            return String::new();
        }
        let answers = amount(self.other, "answer", "answers");
        format!("; but {answers} to /robots.txt had another size, and are not taken for reads of this file")
    }

    fn reason(&self, size: &str) -> String {
        match (self.size, self.equal, self.other, self.other_size) {
            (None, ..) => "there is none".to_owned(),
            (_, 0, 0, _) if self.unclear > 0 => {
                let answers = amount(self.unclear, "answer", "answers");
                format!("{answers} to /robots.txt had no size in this log, or may be compressed")
            }
            (_, 0, 0, _) => "nobody was given /robots.txt in this log".to_owned(),
            (_, 0, other, _) => {
                let answers = amount(other, "answer", "answers");
                format!(
                    "{answers} to /robots.txt had another size than this file ({size} bytes), or were compressed"
                )
            }
            (_, equal, other, other_size) => format!(
                "{} to /robots.txt had its size ({size} bytes), and {} another ({} bytes), the last at {}; --since leaves \
                 out what was before",
                amount(equal, "answer", "answers"),
                grouped(other),
                grouped(other_size.unwrap_or_default()),
                self.last_other.as_deref().unwrap_or_default()
            ),
        }
    }
}
