//! Findings about preferences: words of the other vocabulary or of none, records that bind nobody, and what contradicts.
//!
//! The words are those of draft-ietf-aipref-vocab, which has no consensus yet, and of contentsignals.org.

use super::finding::{Finding, FindingKind, Severity};
use super::line::RecordName;
use super::lint::is_everything;
use super::parse::{Findings, ParsedRecord};
use super::pattern::index;
use super::preference::{self, PreferenceKind, UseCategory};
use super::rule::RuleKind;
use super::token;
use super::{Parsed, Robots, RuleGroup, dictionary, usage};
use std::collections::{HashMap, HashSet};
use strum::VariantArray as _;

/// Records, and groups, that are compared with others: each comparison is a search. The words of all are looked at.
const MOST_COMPARED: usize = 200;

/// What `use` of a `Content-Signal` may say.
const USES: [&str; 3] = ["immediate", "reference", "full"];

/// The file's preferences, each with its kind.
fn all(robots: &Robots) -> impl Iterator<Item = (&ParsedRecord, PreferenceKind)> {
    let records = robots.file.extras.iter().filter(|extra| extra.line < robots.file.generated_from);
    records.filter_map(|extra| Some((extra, preference::kind(extra.name)?)))
}

/// Those whose words are known here.
fn worded(robots: &Robots) -> impl Iterator<Item = (&ParsedRecord, PreferenceKind)> {
    all(robots).filter(|(_, kind)| *kind != PreferenceKind::License)
}

pub(super) fn add(robots: &Robots, findings: &mut Findings<'_>) {
    for (extra, kind) in worded(robots) {
        if !words(robots, extra, kind, findings) {
            let value = extra.value(&robots.source);
            // Of a record that says nothing there would be nothing to see, or a path alone.
            let is_bare = usage::without_path(value).is_empty();
            let record = format!("{}: {}", <&str>::from(kind), String::from_utf8_lossy(value));
            let shown = if is_bare { record.trim_end().as_bytes() } else { value };
            findings.add(FindingKind::UnreadablePreference, extra.line, extra.start, shown);
        }
        place(robots, extra, kind, findings);
    }
    for (extra, kind) in worded(robots).take(MOST_COMPARED) {
        disallowed(robots, extra, kind, findings);
    }
    contradictions(robots, findings);
    left_out(robots, findings);
}

/// What is odd about the words of a record; `false` where there are none.
fn words(robots: &Robots, extra: &ParsedRecord, kind: PreferenceKind, findings: &mut Findings<'_>) -> bool {
    let value = extra.value(&robots.source);
    let mut check = |key: &str, answer: Option<&str>, expected: Option<&'static str>| {
        let said = if kind == PreferenceKind::ContentUsage { usage::without_path(value) } else { value };
        let at = memchr::memmem::find(said, key.as_bytes()).unwrap_or_default() + value.len() - said.len();
        let at = extra.start + index(at);
        let other = match kind {
            PreferenceKind::ContentUsage => PreferenceKind::ContentSignal,
            _ => PreferenceKind::ContentUsage,
        };
        let meant = UseCategory::VARIANTS.iter().find(|category| category.word(other) == key);
        if let (Some(meant), false) = (meant, is_known(kind, key)) {
            let set = |finding: &mut Finding| finding.meant = Some(meant.word(kind).into());
            findings.add_with(FindingKind::OtherVocabulary, extra.line, at, key.as_bytes(), set);
        } else if !is_known(kind, key) {
            findings.add(FindingKind::UnknownCategory, extra.line, at, key.as_bytes());
        } else if let (Some(answer), Some(expected)) = (answer, expected) {
            let pair = format!("{key}={answer}");
            let set = |finding: &mut Finding| finding.meant = Some(expected.into());
            findings.add_with(FindingKind::PreferenceValue, extra.line, at, pair.as_bytes(), set);
        }
    };
    if kind == PreferenceKind::ContentUsage {
        let Some(found) = dictionary::parse(usage::without_path(value)) else { return false };
        for (key, entry) in &found {
            let is_odd = dictionary::allows(entry).is_none();
            let written = is_odd.then(|| dictionary::written(entry)).flatten();
            check(key.as_str(), written.as_deref(), Some("`y` or `n`"));
        }
        return !found.is_empty();
    }
    let mut is_any = false;
    for (_, key, answer) in preference::pairs(value) {
        is_any = true;
        let (is_fine, expected) = match key {
            "use" => (USES.contains(&answer), "`immediate`, `reference` or `full`"),
            _ => (matches!(answer, "yes" | "no"), "`yes` or `no`"),
        };
        check(key, (!is_fine).then_some(answer), Some(expected));
    }
    is_any
}

fn is_known(kind: PreferenceKind, key: &str) -> bool {
    UseCategory::VARIANTS.iter().any(|category| category.word(kind) == key)
        || (kind == PreferenceKind::ContentSignal && key == "use")
}

/// Whether a record stands where it binds somebody, and where all crawlers read it alike.
fn place(robots: &Robots, extra: &ParsedRecord, kind: PreferenceKind, findings: &mut Findings<'_>) {
    let (value, line, at) = (extra.value(&robots.source), extra.line, extra.start);
    let Some(block) = extra.block else {
        // Some crawlers take a signal there for everyone's.
        let severity = if kind == PreferenceKind::ContentSignal { Severity::Note } else { Severity::Warning };
        let set = |finding: &mut Finding| finding.severity = severity;
        return findings.add_with(FindingKind::PreferenceOutsideGroup, line, at, value, set);
    };
    let agents = robots.file.agents_of(block);
    if let Some(next) = agents.get(agents.partition_point(|agent| agent.line < line)) {
        let set = |finding: &mut Finding| finding.other = Some(next.line);
        findings.add_with(FindingKind::PreferenceBetweenAgents, line, at, value, set);
    }
    // A run of nobodies is short: one name that is somebody's is enough.
    let is_nobody = |value: &[u8]| {
        let odd = token::oddity(value);
        matches!(odd, Some(FindingKind::ControlToken | FindingKind::UnusableToken))
    };
    if agents.iter().take(MOST_COMPARED).all(|agent| is_nobody(agent.value(&robots.source))) {
        findings.add(FindingKind::PreferenceForNobody, line, at, value);
    }
}

/// The group that a part of the file belongs to.
fn group_of(robots: &Robots, block: u32) -> Option<RuleGroup<'_>> {
    let first = robots.file.agents_of(block).first()?;
    let (group, name) = robots.naming.selected(&robots.source, first.value(&robots.source)).next()?;
    Some(RuleGroup::new(robots, group, name))
}

/// The line that disallows everything below `path` to a group.
fn shut(group: RuleGroup<'_>, path: &[u8]) -> Option<u32> {
    let judgement = group.judge(path);
    let rule = judgement.rule.filter(|_| !judgement.allow)?;
    let opens = |other: super::Rule<'_>| {
        other.kind == RuleKind::Allow && other.bytes > 0 && other.pattern != b"/robots.txt"
    };
    let is_whole = is_everything(rule.pattern) || path.len() > 1;
    (is_whole && !group.rules().any(opens)).then_some(rule.line)
}

/// A preference for what may not be fetched.
fn disallowed(robots: &Robots, extra: &ParsedRecord, kind: PreferenceKind, findings: &mut Findings<'_>) {
    let value = extra.value(&robots.source);
    let path = usage::path(value).filter(|_| kind == PreferenceKind::ContentUsage).unwrap_or(b"/");
    let literal = path.iter().position(|&byte| matches!(byte, b'*' | b'$')).unwrap_or(path.len());
    let literal = path.get(..literal).filter(|literal| !literal.is_empty()).unwrap_or(b"/");
    let group = extra.block.and_then(|block| group_of(robots, block));
    let Some(line) = group.and_then(|group| shut(group, literal)) else { return };
    let welcomes =
        UseCategory::VARIANTS.iter().any(|category| preference::allows(kind, value, *category) == Some(true));
    // Saying no twice is plain.
    if kind == PreferenceKind::ContentUsage || welcomes {
        let severity = if welcomes { Severity::Warning } else { Severity::Note };
        findings.add_with(FindingKind::PreferenceDisallowed, extra.line, extra.start, value, |finding| {
            (finding.severity, finding.other) = (severity, Some(line));
        });
    }
}

/// Whether a record is for all paths.
fn is_of_all_paths(kind: PreferenceKind, value: &[u8]) -> bool {
    kind == PreferenceKind::ContentSignal || usage::path(value).is_none_or(is_everything)
}

/// What a group says to the same in one vocabulary and in the other.
fn contradictions(robots: &Robots, findings: &mut Findings<'_>) {
    let mut said: HashMap<(u32, UseCategory), (bool, u32)> = HashMap::new();
    for (extra, kind) in worded(robots).take(MOST_COMPARED) {
        let value = extra.value(&robots.source);
        let Some(block) = extra.block.filter(|_| is_of_all_paths(kind, value)) else { continue };
        for category in UseCategory::VARIANTS {
            let Some(allows) = preference::allows(kind, value, *category) else { continue };
            let (before, line) = *said.entry((block, *category)).or_insert((allows, extra.line));
            if before != allows {
                let kind = FindingKind::PreferenceContradiction;
                let set = |finding: &mut Finding| finding.other = Some(line);
                findings.add_with(kind, extra.line, extra.start, value, set);
                break;
            }
        }
    }
}

/// Crawlers with a group of their own, to which nothing is said.
fn left_out(robots: &Robots, findings: &mut Findings<'_>) {
    let told: HashSet<(u32, RecordName)> =
        all(robots).filter_map(|(extra, _)| Some((extra.block?, extra.name))).collect();
    for name in [RecordName::ContentUsage, RecordName::ContentSignal, RecordName::License] {
        let records = || all(robots).map(|(extra, _)| extra).filter(|extra| extra.name == name);
        let everyone = robots.naming.everyone.map_or(&[][..], |everyone| robots.naming.blocks(everyone));
        let is_common =
            |extra: &&ParsedRecord| extra.block.is_some_and(|block| everyone.binary_search(&block).is_ok());
        // What is said to one crawler alone is meant for that one, but for one line at the end of the file.
        let last = || records().next().filter(|only| records().count() == 1 && is_at_end(robots, only));
        let Some(record) = records().find(is_common).or_else(last) else { continue };
        if preference::EITHER.contains(&name) && robots.before_groups(name).next().is_some() {
            continue;
        }
        let is_silent = |group: &RuleGroup<'_>| {
            let blocks = robots.naming.blocks(group.id());
            blocks.iter().all(|block| !told.contains(&(*block, name))) && shut(*group, b"/").is_none()
        };
        let found = (0..index(robots.file.blocks.len())).take(MOST_COMPARED).find_map(|block| {
            let first = robots.file.agents_of(block).first();
            let agent = first.filter(|agent| agent.line < robots.file.generated_from)?;
            let is_odd = token::oddity(agent.value(&robots.source)) == Some(FindingKind::ControlToken);
            Some((group_of(robots, block).filter(|_| !is_odd).filter(is_silent)?, agent.line))
        });
        if let Some((group, line)) = found {
            let (kind, value) = (FindingKind::PreferenceNotForAll, record.value(&robots.source));
            findings.add_with(kind, record.line, record.start, value, |finding| {
                (finding.other, finding.meant) = (Some(line), Some(group.matched().into()));
            });
        }
    }
}

/// Whether a record stands behind all rules, so that it may be meant for the whole file.
fn is_at_end(robots: &Robots, record: &ParsedRecord) -> bool {
    let rules = robots.file.rules.last().is_some_and(|rule| rule.line < record.line);
    rules && robots.file.blocks.len() > 1
}

impl Parsed {
    /// Adds what contradicts itself about crawlers that fetch for what a preference is about: these `tokens`.
    pub fn compare_purposes<'k>(&mut self, tokens: impl Iterator<Item = (UseCategory, &'k str)>) {
        let robots = &self.robots;
        if worded(robots).next().is_none() {
            return;
        }
        let mut findings = Findings::new(&robots.source, robots.file.generated_from);
        let mut seen = HashSet::new();
        let named = tokens.filter_map(|(category, token)| Some((category, robots.group(&[token], false)?)));
        for (category, group) in named.take(MOST_COMPARED) {
            let Some((record, allows)) = stance(robots, group, category) else { continue };
            let (kind, rule) = if allows {
                (FindingKind::PurposeDisallowed, shut(group, b"/"))
            } else {
                (FindingKind::PurposeAllowed, opened(group))
            };
            if let Some(rule) = rule.filter(|_| seen.insert((record.line, category))) {
                let value = record.value(&robots.source);
                findings.add_with(kind, record.line, record.start, value, |finding| {
                    (finding.other, finding.meant) = (Some(rule), Some(group.matched().into()));
                });
            }
        }
        let found = findings.into_sorted();
        self.add_findings(found);
    }
}

/// What a group says to a category, else what is said to everyone, and by which record.
fn stance<'r>(
    robots: &'r Robots,
    group: RuleGroup<'_>,
    category: UseCategory,
) -> Option<(&'r ParsedRecord, bool)> {
    let of = |number: u32| {
        let blocks = robots.naming.blocks(number);
        let here =
            move |extra: &ParsedRecord| extra.block.is_some_and(|at| blocks.binary_search(&at).is_ok());
        worded(robots).filter(move |(extra, _)| here(extra)).take(MOST_COMPARED).find_map(|(extra, kind)| {
            let value = extra.value(&robots.source);
            let allows =
                preference::allows(kind, value, category).filter(|_| is_of_all_paths(kind, value))?;
            Some((extra, allows))
        })
    };
    // That everyone is refused is no contradiction to one who is let in: that one is simply not told.
    of(group.id()).or_else(|| robots.naming.everyone.and_then(of).filter(|(_, allows)| *allows))
}

/// The line that allows everything to a group.
fn opened(group: RuleGroup<'_>) -> Option<u32> {
    let rule = group.judge(b"/").rule.filter(|rule| is_everything(rule.pattern))?;
    let shuts = |other: super::Rule<'_>| other.kind == RuleKind::Disallow && other.bytes > 0;
    (rule.kind == RuleKind::Allow && !group.rules().any(shuts)).then_some(rule.line)
}
