//! `gatewayctl lint`: the findings of one robots.txt.

use super::args::{Deny, LintArgs};
use super::output::{Output, harmless};
use super::{Failure, Outcome};
use crate::policy::RobotsFile;
use crate::robots::{Finding, Limits, Robots, Severity};
use serde::Serialize;
use std::io;
use std::path::Path;

/// One complaint, of any file; the JSON shape of `check` and `lint`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Complaint {
    pub(super) path: String,
    pub(super) line: Option<usize>,
    pub(super) column: Option<usize>,
    pub(super) severity: &'static str,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Complaint {
    pub(super) fn of(path: &Path, finding: &Finding) -> Self {
        Self {
            path: path.display().to_string(),
            line: usize::try_from(finding.line).ok(),
            column: usize::try_from(finding.column).ok(),
            severity: finding.severity.as_str(),
            code: finding.kind.code(),
            message: finding.to_string(),
            hint: finding.hint().map(str::to_owned),
        }
    }

    pub(super) fn is(&self, severity: Severity) -> bool {
        self.severity == severity.as_str()
    }

    /// `path:line:column: severity: message`, and the hint below it.
    pub(super) fn print(&self, output: &mut Output<impl io::Write>) -> io::Result<()> {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!(":{line}:{column}"),
            _ => String::new(),
        };
        let path = if self.path.is_empty() { String::new() } else { format!("{}{place}: ", self.path) };
        output.line(format!("{path}{}: {}", self.severity, harmless(&self.message)))?;
        match &self.hint {
            Some(hint) => output.line(format!("  hint: {}", harmless(hint))),
            None => Ok(()),
        }
    }
}

/// All complaints, and what they come to.
pub(super) fn report(
    complaints: &[Complaint],
    deny: Option<Deny>,
    output: &mut Output<impl io::Write>,
) -> Result<Outcome, Failure> {
    if output.is_json() {
        output.json(&complaints)?;
    } else {
        for complaint in complaints {
            complaint.print(output)?;
        }
    }
    let any = |severity| complaints.iter().any(|complaint| complaint.is(severity));
    let objects = any(Severity::Error) || (deny.is_some() && any(Severity::Warning));
    Ok(if objects { Outcome::Objection } else { Outcome::Fine })
}

pub(super) fn run(arguments: &LintArgs, output: &mut Output<impl io::Write>) -> Result<Outcome, Failure> {
    let path = &arguments.file;
    let file = RobotsFile::read(path).map_err(|unfit| Failure(format!("{}: {unfit}", path.display())))?;
    let parsed = Robots::parse(&file.bytes, &Limits::default());
    let mut complaints: Vec<Complaint> =
        parsed.findings.iter().map(|finding| Complaint::of(path, finding)).collect();
    if let Err(unfit) = file.fitness(&parsed.robots) {
        complaints.insert(
            0,
            Complaint {
                path: path.display().to_string(),
                line: None,
                column: None,
                severity: Severity::Error.as_str(),
                code: "unfit",
                message: unfit.to_string(),
                hint: Some(unfit.hint().to_owned()),
            },
        );
    }
    if complaints.is_empty() && !output.is_json() {
        output.line(format!("{}: no findings", path.display()))?;
    }
    report(&complaints, arguments.deny, output)
}
