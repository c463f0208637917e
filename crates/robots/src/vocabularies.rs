//! Findings about preferences: words that their vocabulary does not have, values that state nothing, and what cannot be
//! read.
//!
//! The words are those of draft-ietf-aipref-vocab, which has no consensus yet, and of contentsignals.org.

use super::finding::{Finding, FindingKind};
use super::parse::Findings;
use super::pattern::index;
use super::preference::{self, PreferenceKind};
use super::{Robots, dictionary, spelling, usage};

const USAGE: [&str; 3] = ["train-ai", "ai-use", "search"];

/// The same three in the other vocabulary, and one that only that has.
const SIGNAL: [&str; 4] = ["ai-train", "ai-input", "search", "use"];

/// What is said of a category: its word, how it is written with its value, and what was expected where that states nothing.
type CategoryStatement = (String, String, Option<&'static str>);

pub(super) fn add(robots: &Robots, findings: &mut Findings<'_>) {
    for extra in &robots.file.extras {
        let value = extra.value(&robots.source);
        let said = usage::without_path(value);
        let (found, known, others) = match preference::kind(extra.name) {
            Some(PreferenceKind::ContentUsage) => (usages(said), &USAGE[..], &SIGNAL[..]),
            Some(PreferenceKind::ContentSignal) => (signals(value), &SIGNAL[..], &USAGE[..]),
            Some(PreferenceKind::License) | None => continue,
        };
        let path = value.len() - said.len();
        for (key, written, expected) in &found {
            let place = memchr::memmem::find(said, key.as_bytes()).unwrap_or_default();
            let at = extra.start + index(path + place);
            let mut odd = |kind, detail: &str, meant: Option<&str>| {
                let set = |finding: &mut Finding| finding.meant = meant.map(Into::into);
                findings.add_with(kind, extra.line, at, detail.as_bytes(), set);
            };
            if known.contains(&&**key) {
                if expected.is_some() {
                    odd(FindingKind::PreferenceValue, written, *expected);
                }
                continue;
            }
            let same = others.iter().position(|other| other == key).and_then(|at| known.get(at).copied());
            let meant = same.or_else(|| spelling::nearest(key, known.iter().copied()));
            odd(FindingKind::UnknownCategory, key, meant);
        }
        if found.is_empty() {
            // Of a record that says nothing there would be nothing to see, or a path alone.
            let name = preference::kind(extra.name).map_or("", Into::into);
            let record = format!("{name}: {}", String::from_utf8_lossy(value));
            let shown = if said.is_empty() { record.trim_end().as_bytes() } else { value };
            findings.add(FindingKind::UnreadablePreference, extra.line, extra.start, shown);
        }
    }
}

fn usages(value: &[u8]) -> Vec<CategoryStatement> {
    let found = dictionary::parse(value).unwrap_or_default();
    let statements = found.iter().map(|(key, entry)| {
        let expected = dictionary::allows(entry).is_none().then_some("`y` or `n`");
        (key.as_str().to_owned(), dictionary::member(key, entry), expected)
    });
    statements.collect()
}

fn signals(value: &[u8]) -> Vec<CategoryStatement> {
    let statement = |(key, answer): (&str, &str)| {
        let (is_fine, expected) = match key {
            "use" => {
                (matches!(answer, "immediate" | "reference" | "full"), "`immediate`, `reference` or `full`")
            }
            _ => (matches!(answer, "yes" | "no"), "`yes` or `no`"),
        };
        (key.to_owned(), format!("{key}={answer}"), (!is_fine).then_some(expected))
    };
    preference::pairs(value).map(statement).collect()
}
