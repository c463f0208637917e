//! `gatewayctl lint`: the findings of robots.txt files, each with its line and a mark below the place.

mod foreign;

use super::args::{Cli, Format, LintArgs};
use super::excerpt::{Excerpt, line_of};
use super::output::{Output, escape_harmful};
use super::style;
use super::{VerbFailure, VerbOutcome, VerbResult};
use crate::config::catalogue;
use crate::policy::{RobotsFile, Unfit, fitness};
use crate::record::word;
use crate::robots::{Finding, FindingKind, ParseLimits, Robots, Severity};
use anstyle::Style;
use serde::Serialize;
use std::io;
use std::path::Path;

/// One complaint, of any file; the JSON shape of `check` and `lint`.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FileFinding {
    pub(super) path: String,
    pub(super) line: Option<usize>,
    pub(super) column: Option<usize>,
    #[serde(serialize_with = "word::serialize")]
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// The line, for people.
    #[serde(skip)]
    pub(super) excerpt: Option<Excerpt>,
}

impl FileFinding {
    /// One about a whole file.
    pub(super) fn whole(
        path: &Path,
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let (path, message, hint) = (path.display().to_string(), message.into(), Some(hint.into()));
        Self { path, line: None, column: None, severity, code, message, hint, excerpt: None }
    }

    pub(super) fn of(path: &Path, finding: &Finding) -> Self {
        let (line, column) = (Some(finding.line as usize), Some(finding.column as usize));
        let whole = Self::whole(path, finding.severity, finding.kind.code(), finding.to_string(), "");
        Self { line, column, hint: finding.hint().map(str::to_owned), ..whole }
    }

    /// `path:line:column`, as far as it is known.
    fn place(&self) -> String {
        match (self.line, self.column) {
            (Some(line), Some(column)) => format!("{}:{line}:{column}", self.path),
            _ => self.path.clone(),
        }
    }

    /// Whether both are notes about a whole file that differ at most in whom they are about.
    fn is_same_note(&self, other: &Self) -> bool {
        let is_note = |it: &Self| it.severity == Severity::Note && it.line.is_none();
        is_note(self) && is_note(other) && (&self.path, self.code) == (&other.path, other.code)
    }

    /// `path:line:column: severity: message`, and below it the line with a mark and the hint. It holds for so many
    /// `others`, too.
    fn print(&self, others: usize, output: &mut Output<'_>) -> io::Result<()> {
        let place = if self.path.is_empty() { String::new() } else { format!("{}: ", self.place()) };
        let more = if others == 0 { String::new() } else { format!(" (and {others} more like it)") };
        output.line(format!("{place}{}: {}{more}", self.severity, self.message))?;
        self.print_excerpt(output)?;
        self.hint.iter().try_for_each(|hint| output.line(format!("  hint: {hint}")))
    }

    const fn style(&self) -> Style {
        match self.severity {
            Severity::Error => style::ERROR,
            Severity::Warning => style::WARNING,
            Severity::Note => style::NOTE,
        }
    }

    /// The same over several lines: what, where, the line with a mark, and the hint.
    fn print_at_length(&self, output: &mut Output<'_>) -> io::Result<()> {
        let palette = output.palette();
        let frame = |text: &str| palette.paint(style::FRAME, text);
        let gutter = " ".repeat(self.number().len());
        let head = palette.paint(self.style(), &format!("{}[{}]", self.severity, self.code));
        output.ready_line(&format!("{head}: {}", palette.paint(style::STRONG, &self.message)))?;
        output.ready_line(&format!("{gutter}{} {}", frame("-->"), escape_harmful(&self.place())))?;
        self.print_excerpt(output)?;
        let hint = |hint: &String| format!("{gutter} {} hint: {}", frame("="), escape_harmful(hint));
        self.hint.iter().map(hint).try_for_each(|line| output.ready_line(&line))
    }

    fn number(&self) -> String {
        self.line.unwrap_or_default().to_string()
    }

    fn print_excerpt(&self, output: &mut Output<'_>) -> io::Result<()> {
        let Some(Excerpt { text, indent, width }) = &self.excerpt else { return Ok(()) };
        let (palette, number) = (output.palette(), self.number());
        let (gutter, bar) = (" ".repeat(number.len()), palette.paint(style::FRAME, "|"));
        output.ready_line(&format!("{gutter} {bar}"))?;
        output.ready_line(format!("{} {bar} {text}", palette.paint(style::FRAME, &number)).trim_end())?;
        let mark = palette.paint(self.style(), &"^".repeat(*width));
        output.ready_line(&format!("{gutter} {bar} {}{mark}", " ".repeat(*indent)))
    }
}

/// What is found about one configuration, in the order in which it is told.
pub(super) struct FileFindings<'a> {
    path: &'a Path,
    pub(super) all: Vec<FileFinding>,
}

impl<'a> FileFindings<'a> {
    pub(super) const fn of(path: &'a Path) -> Self {
        Self { path, all: Vec::new() }
    }

    /// One about the whole of it.
    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.all.push(FileFinding::whole(self.path, severity, code, message, hint));
    }
}

/// All complaints, and what they come to. To people the same note of several sites is told once.
pub(super) fn report(complaints: &[FileFinding], denies: bool, output: &mut Output<'_>) -> VerbResult {
    output.show(&complaints, |complaints, output| {
        let mut told: Vec<(&FileFinding, usize)> = Vec::new();
        for complaint in *complaints {
            match told.iter_mut().find(|(known, _)| known.is_same_note(complaint)) {
                Some((_, others)) => *others += 1,
                None => told.push((complaint, 0)),
            }
        }
        told.into_iter().try_for_each(|(complaint, others)| complaint.print(others, output))
    })?;
    Ok(outcome(complaints, denies))
}

fn outcome(complaints: &[FileFinding], denies: bool) -> VerbOutcome {
    let any = |severity| complaints.iter().any(|complaint| complaint.severity == severity);
    let objects = any(Severity::Error) || (denies && any(Severity::Warning));
    if objects { VerbOutcome::Objection } else { VerbOutcome::Fine }
}

pub(super) fn run(cli: &Cli, arguments: &LintArgs, output: &mut Output<'_>) -> VerbResult {
    let (mut complaints, mut failures) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        match read(path) {
            Ok(file) => {
                let found = findings(&file);
                if cli.format == Format::Text {
                    print_all(&file, &found, output)?;
                }
                complaints.extend(found);
            }
            Err(unfit) => failures.push(format!("{}: {unfit}", path.display())),
        }
    }
    match cli.format {
        Format::Json => output.json(&complaints)?,
        Format::Sarif => output.json(&foreign::sarif(&complaints))?,
        Format::Github => complaints.iter().try_for_each(|found| output.line(foreign::github(found)))?,
        Format::Text | Format::Csv | Format::Html => {}
    }
    if !failures.is_empty() {
        return Err(VerbFailure(failures.join("\n")));
    }
    Ok(outcome(&complaints, arguments.deny.is_some()))
}

fn read(path: &Path) -> Result<RobotsFile, Unfit> {
    if path == Path::new("-") {
        RobotsFile::take(Path::new("<stdin>"), io::stdin())
    } else {
        RobotsFile::named(path)
    }
}

/// What is odd in a file, each with its line.
pub(super) fn findings(file: &RobotsFile) -> Vec<FileFinding> {
    let mut parsed = Robots::parse(&file.bytes, &ParseLimits::default());
    let catalogue = &catalogue::bundled().catalogue;
    parsed.compare_names(catalogue.names(), catalogue.control_names());
    let unfit = fitness(&file.bytes)
        .err()
        .map(|unfit| FileFinding::whole(&file.path, Severity::Error, "unfit", unfit.to_string(), unfit.hint));
    let is_fit = unfit.is_none();
    let is_told = |finding: &&Finding| is_fit || finding.kind != FindingKind::EmptyFile;
    let odd = parsed.findings.iter().filter(is_told).map(|finding| FileFinding {
        excerpt: line_of(&file.bytes, finding.line as usize)
            .map(|line| Excerpt::new(line, finding.column as usize, marked_bytes(line, finding))),
        ..FileFinding::of(&file.path, finding)
    });
    unfit.into_iter().chain(odd).collect()
}

/// How many bytes a finding is about: those it names, where they stand at its place. What it names only in
/// part, or spelt out, goes on to the end of the line.
fn marked_bytes(line: &[u8], finding: &Finding) -> usize {
    let rest = line.get(finding.column as usize - 1..).unwrap_or_default();
    let named = finding.detail.trim_end_matches('…');
    let is_whole = rest.starts_with(named.as_bytes());
    let is_changed =
        named.len() < finding.detail.len() || named.contains(['\\', char::REPLACEMENT_CHARACTER]);
    match (named.len(), is_whole, is_changed) {
        (0, ..) | (_, false, false) => 1,
        (bytes, true, false) => bytes,
        (_, _, true) => rest.trim_ascii_end().len(),
    }
}

pub(super) fn print_all(file: &RobotsFile, found: &[FileFinding], output: &mut Output<'_>) -> io::Result<()> {
    for complaint in found {
        complaint.print_at_length(output)?;
        output.line("")?;
    }
    output.line(summary(&file.path, found))
}

fn summary(path: &Path, found: &[FileFinding]) -> String {
    let count = |severity: Severity| {
        let count = found.iter().filter(|complaint| complaint.severity == severity).count();
        let plural = if count == 1 { "" } else { "s" };
        (count > 0).then(|| format!("{count} {severity}{plural}"))
    };
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let told: Vec<String> = severities.into_iter().filter_map(count).collect();
    let told = if told.is_empty() { "no findings".to_owned() } else { told.join(", ") };
    format!("{}: {told}", path.display())
}
