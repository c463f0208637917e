//! `gatewayctl lint`: the findings of robots.txt files, each with its line and a mark below the place.

mod foreign;

use super::args::LintArgs;
use super::excerpt::Excerpt;
use super::output::escape_harmful;
use super::style::{self, paint};
use super::{Cli, Format, Output, VerbFailure, VerbOutcome, VerbResult};
use crate::config::catalogue;
use crate::policy::{RobotsFile, Unfit, fitness};
use crate::record::word;
use crate::report::amount;
use crate::robots::{self, Finding, FindingKind, ParseLimits, Robots, Severity};
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
    pub(super) fn of(path: &Path, finding: &Finding) -> Self {
        let (line, column) = (Some(finding.line as usize), Some(finding.column as usize));
        let (path, severity, code) = (path.display().to_string(), finding.severity, finding.kind.code());
        let (message, hint) = (finding.to_string(), finding.hint().map(str::to_owned));
        Self { path, line, column, severity, code, message, hint, excerpt: None }
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
        let head = format!("{place}{}: {}{more}", self.severity, self.message);
        self.print_below(&escape_harmful(&head), "  ", output)
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
        let (gutter, style) = (" ".repeat(self.number().len()), self.style());
        let [arrow, sign] = ["-->", "="].map(|sign| paint(style::FRAME, sign));
        let head = paint(style, &format!("{}[{}]", self.severity, self.code));
        let (message, place) = (paint(style::STRONG, &self.message), escape_harmful(&self.place()));
        let head = format!("{head}: {message}\n{gutter}{arrow} {place}");
        self.print_below(&head, &format!("{gutter} {sign} "), output)
    }

    fn number(&self) -> String {
        self.line.unwrap_or_default().to_string()
    }

    /// What is said of it, and below that the line with a mark, and the hint behind what stands before it.
    fn print_below(&self, head: &str, before_hint: &str, output: &mut Output<'_>) -> io::Result<()> {
        output.ready_line(head)?;
        if let Some(Excerpt { text, indent, width }) = &self.excerpt {
            let number = self.number();
            let (gutter, bar) = (" ".repeat(number.len()), paint(style::FRAME, "|"));
            output.ready_line(&format!("{gutter} {bar}"))?;
            output.ready_line(format!("{} {bar} {text}", paint(style::FRAME, &number)).trim_end())?;
            let mark = paint(self.style(), &"^".repeat(*width));
            output.ready_line(&format!("{gutter} {bar} {}{mark}", " ".repeat(*indent)))?;
        }
        let hint = self.hint.as_ref().map(|hint| format!("{before_hint}hint: {}", escape_harmful(hint)));
        hint.iter().try_for_each(|hint| output.ready_line(hint))
    }
}

/// What is found about one file, in the order in which it is told.
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
        let (path, message, hint) = (self.path.display().to_string(), message.into(), Some(hint.into()));
        let whole =
            FileFinding { path, line: None, column: None, severity, code, message, hint, excerpt: None };
        self.all.push(whole);
    }
}

/// All complaints, and what they come to. To people the same note of several sites is told once.
pub(super) fn report(complaints: &[FileFinding], denies: bool, output: &mut Output<'_>) -> VerbResult {
    output.answer(&complaints, objects(complaints, denies), |complaints, output| {
        let mut told: Vec<(&FileFinding, usize)> = Vec::new();
        for complaint in *complaints {
            match told.iter_mut().find(|(known, _)| known.is_same_note(complaint)) {
                Some((_, others)) => *others += 1,
                None => told.push((complaint, 0)),
            }
        }
        told.into_iter().try_for_each(|(complaint, others)| complaint.print(others, output))
    })
}

fn objects(complaints: &[FileFinding], denies: bool) -> bool {
    let any = |severity| complaints.iter().any(|complaint| complaint.severity == severity);
    any(Severity::Error) || (denies && any(Severity::Warning))
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
    Ok(VerbOutcome::objecting(objects(&complaints, arguments.deny.is_some())))
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
    let mut found = FileFindings::of(&file.path);
    if let Err(unfit) = fitness(&file.bytes) {
        found.add(Severity::Error, "unfit", unfit.to_string(), unfit.hint);
        parsed.findings.retain(|finding| finding.kind != FindingKind::EmptyFile);
    }
    found.all.extend(parsed.findings.iter().map(|finding| {
        let line = robots::lines(&file.bytes).nth((finding.line as usize).saturating_sub(1));
        let excerpt =
            line.map(|line| Excerpt::new(line, finding.column as usize, marked_bytes(line, finding)));
        FileFinding { excerpt, ..FileFinding::of(&file.path, finding) }
    }));
    found.all
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
    let severities = [Severity::Error, Severity::Warning, Severity::Note];
    let told = severities.into_iter().filter_map(|severity| {
        let count = found.iter().filter(|complaint| complaint.severity == severity).count();
        (count > 0).then(|| amount(count as u64, severity.as_str(), &format!("{severity}s")))
    });
    let told: Vec<String> = told.collect();
    format!(
        "{}: {}",
        path.display(),
        if told.is_empty() { "no findings".to_owned() } else { told.join(", ") }
    )
}
