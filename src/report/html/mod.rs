//! The report as one self-contained HTML page: no script, nothing fetched, every drawing inline.
//!
//! Two things keep the words of strangers harmless. The template engine escapes every value, without an
//! exception but the style sheet; and `text` spells out what cannot be seen and would turn the direction of
//! writing, which escaping leaves as it is. The Content Security Policy is the second line: it lets the page
//! do nothing at all.

mod cases;
mod chart;
mod rows;
mod text;

use super::{
    Conduct, CountsBefore, CourseGrid, Proposal, Report, ReportEntry, ReportQuestion, Told, ViolationTimeline,
};
use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chart::COLOURS;
use rows::RowGroup;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use text::{moment, sentence, visible};

/// The style sheet, as it stands in the page.
const STYLE: &str = include_str!("style.css");

/// How many bars a drawing over time has at most: enough for two in each hour of a day.
const STRETCHES: u64 = 60;

/// What a live page has around the report; a file has nothing.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Other pages to look at, by what they differ in; a list of none or one is left out.
    pub lists: Vec<(&'static str, Vec<Link>)>,
}

/// A link of a live page.
#[derive(Clone, Debug)]
pub struct Link {
    /// A reference within the same listener.
    pub href: String,
    /// Its text.
    pub label: String,
    /// Whether it is the page itself.
    pub is_current: bool,
}

/// The policy that the page carries; a server sends it as `Content-Security-Policy`, too. The only style is
/// the one with this hash (Content Security Policy Level 3, section 8.3).
pub fn content_security_policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let hash = STANDARD.encode(Sha256::digest(STYLE));
        format!(
            "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
        )
    })
}

/// The same of a page with a form, which may be sent to where the page came from and nowhere else.
pub fn policy_of_forms() -> String {
    content_security_policy().replace("form-action 'none'", "form-action 'self'")
}

#[derive(Template)]
#[template(path = "page.html", config = "src/report/html/askama.toml")]
struct Page<'a> {
    frame: &'a Frame,
    report: &'a Report,
    question: &'a ReportQuestion,
    shows_site: bool,
    /// Nobody is said to have broken rules that were not published.
    is_hypothetical: bool,
    /// Of some at least it can be said how they behaved.
    tells_conduct: bool,
    headline: String,
    /// What the headline leaves out.
    detail: Option<String>,
    scope: Option<String>,
    from: String,
    to: String,
    /// Where the time begins that changes are told of.
    before: Option<String>,
    caveats: Vec<String>,
    totals: Vec<PageTotal>,
    grid: CourseGrid,
    /// Where there are violations.
    course: Option<ViolationTimeline>,
    groups: Vec<RowGroup<'a>>,
    /// What one crawler was told by one line of one version.
    told: Vec<(&'a ReportEntry, &'a Told)>,
}

/// One number of the totals: its label, what it is of, and how it is beside the time before.
type PageTotal = (&'static str, u64, &'static str, Option<String>);

#[derive(Template)]
#[template(path = "apology.html", config = "src/report/html/askama.toml")]
struct Apology<'a> {
    frame: &'a Frame,
    title: &'a str,
    reason: String,
}

/// The page of `report`, which answers `question`; `notes` stand in front of what else is to be borne in mind.
///
/// # Errors
/// None that can be expected: what is written is written to memory.
pub fn page(
    question: &ReportQuestion,
    report: &Report,
    notes: &[String],
    frame: &Frame,
) -> Result<String, askama::Error> {
    Page::new(question, report, notes, frame).render()
}

/// A page that says why there is none.
///
/// # Errors
/// None that can be expected: what is written is written to memory.
pub fn apology(title: &str, reason: &str, frame: &Frame) -> Result<String, askama::Error> {
    Apology { frame, title, reason: sentence(reason) }.render()
}

#[derive(Template)]
#[template(path = "tester.html", config = "src/report/html/askama.toml")]
struct Tester<'a> {
    frame: &'a Frame,
    /// Name, label and value.
    fields: &'a [(&'a str, &'a str, &'a str)],
    robots: &'a str,
    explained: Option<&'a str>,
    findings: Option<&'a str>,
}

/// The page with a form to try a request, and what came of it.
///
/// # Errors
/// None that can be expected: what is written is written to memory.
pub fn tester(
    fields: &[(&str, &str, &str)],
    robots: &str,
    explained: Option<&str>,
    findings: Option<&str>,
    frame: &Frame,
) -> Result<String, askama::Error> {
    Tester { frame, fields, robots, explained, findings }.render()
}

impl<'a> Page<'a> {
    /// Those of each site; they stand in the order of sites.
    fn proposals(&self) -> impl Iterator<Item = (&str, &[Proposal])> {
        let by_site = self.report.proposals.chunk_by(|one, two| one.site == two.site);
        by_site.filter_map(|of_site| Some((&*of_site.first()?.site, of_site)))
    }

    fn new(question: &'a ReportQuestion, report: &'a Report, notes: &[String], frame: &'a Frame) -> Self {
        let grid = CourseGrid::of(report, STRETCHES);
        let course = ViolationTimeline::of(report, grid, COLOURS - 1);
        let sites: BTreeSet<&str> = report.crawlers.iter().map(|entry| &*entry.subject.site).collect();
        let told = report.crawlers.iter().filter(|entry| entry.subject.is_crawler());
        let told = told.flat_map(|entry| entry.told.iter().map(move |told| (entry, told)));
        Self {
            frame,
            report,
            question,
            shows_site: sites.len() > 1,
            is_hypothetical: report.is_hypothetical(),
            tells_conduct: report.crawlers.iter().any(|entry| !entry.is_hypothetical()),
            headline: capitalised(&sentence(report.title.as_ref().unwrap_or(&report.headline))),
            detail: report.title.is_some().then(|| capitalised(&sentence(&report.headline))),
            scope: scope(question),
            from: moment(&report.from),
            to: moment(&report.to),
            before: report.before.as_ref().map(|before| moment(&before.from)),
            totals: totals(report),
            caveats: notes.iter().chain(&report.notes).map(|caveat| as_sentence(caveat)).collect(),
            grid,
            course: Some(course).filter(|course| !course.curves.is_empty()),
            groups: RowGroup::all(report),
            told: told.collect(),
        }
    }
}

/// What the totals of crawlers are, with a word on each; what is nothing is left out.
fn totals(report: &Report) -> Vec<PageTotal> {
    let summary = &report.summary;
    let violating = summary.violating as u64;
    let change = |now: u64, of: fn(&CountsBefore) -> u64| {
        let before = report.before.as_ref()?;
        Some(before.change(now, of(&before.all), &report.window()))
    };
    let asked = change(summary.requests, |before| before.requests);
    let broken = change(summary.violations, |before| before.violations);
    let refused = change(summary.refused, |before| before.refused);
    let all = [
        ("Crawlers", summary.crawlers as u64, "by name, with judged requests", None),
        if report.is_hypothetical() {
            ("Concerned", violating, "of these, requests would be disallowed", None)
        } else {
            ("Broke rules", violating, "read before or not", None)
        },
        ("Requests", summary.requests, "that were judged", asked),
        if report.is_hypothetical() {
            ("Disallowed", summary.violations, "by rules not known to be published", None)
        } else {
            ("Violations", summary.violations, "of rules they could know", broken)
        },
        if report.is_replay {
            ("Would be refused", summary.refused, "in enforce mode", None)
        } else {
            ("Refused", summary.refused, "answered by the gateway", refused)
        },
        ("Stale", summary.stale, "disallowed, and excused", None),
        ("Variants", summary.variants, "other spellings, counted apart", None),
    ];
    all.into_iter().filter(|(_, count, ..)| *count > 0).collect()
}

/// What the report was narrowed to.
fn scope(question: &ReportQuestion) -> Option<String> {
    let site = question.site.as_deref().map(|site| format!("site {}", visible(site)));
    let crawler = question.crawler.as_deref().map(|crawler| format!("crawler {}", visible(crawler)));
    let scope: Vec<String> = site.into_iter().chain(crawler).collect();
    (!scope.is_empty()).then(|| scope.join(", "))
}

/// A sentence of a list as it stands alone.
fn as_sentence(sentence: &str) -> String {
    let end = if sentence.ends_with('.') { "" } else { "." };
    capitalised(sentence) + end
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
