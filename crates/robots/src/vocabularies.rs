//! Findings about preferences: words that their vocabulary does not have, values that state nothing, and what cannot be
//! read.
//!
//! The words are those of draft-ietf-aipref-vocab, which has no consensus yet, and of contentsignals.org.

use super::finding::{Finding, FindingKind};
use super::parse::{Findings, ParsedRecord};
use super::pattern::index;
use super::preference::{self, PreferenceKind};
use super::{Robots, dictionary, spelling, usage};

const USAGE: [&str; 3] = ["train-ai", "ai-use", "search"];

/// The same three in the other vocabulary, and one that only that has.
const SIGNAL: [&str; 4] = ["ai-train", "ai-input", "search", "use"];

/// What `use` of a `Content-Signal` may say.
const USES: [&str; 3] = ["immediate", "reference", "full"];

/// A word of a record; where its value states nothing, the value, and what was expected.
type Word<'w> = (String, Option<(String, &'w str)>);

pub(super) fn add(robots: &Robots, findings: &mut Findings<'_>) {
    let records = robots.file.extras.iter().filter(|extra| extra.line < robots.file.generated_from);
    for extra in records {
        let value = extra.value(&robots.source);
        let Some(kind) = preference::kind(extra.name) else { continue };
        let (found, known, others) = match kind {
            PreferenceKind::ContentUsage => (usages(usage::without_path(value)), &USAGE[..], &SIGNAL[..]),
            PreferenceKind::ContentSignal => (signals(value), &SIGNAL[..], &USAGE[..]),
            PreferenceKind::License => continue,
        };
        for word in &found {
            odd_word(extra, value, word, (known, others), findings);
        }
        if found.is_empty() {
            // Of a record that says nothing there would be nothing to see, or a path alone.
            let is_bare = usage::without_path(value).is_empty();
            let record = format!("{}: {}", kind, String::from_utf8_lossy(value));
            let shown = if is_bare { record.trim_end().as_bytes() } else { value };
            findings.add(FindingKind::UnreadablePreference, extra.line, extra.start, shown);
        }
    }
}

fn odd_word(
    extra: &ParsedRecord,
    value: &[u8],
    (key, odd): &Word<'_>,
    (known, others): (&[&'static str], &[&str]),
    findings: &mut Findings<'_>,
) {
    let path = value.len() - usage::without_path(value).len();
    let said = value.get(path..).unwrap_or_default();
    let at = extra.start + index(path + memchr::memmem::find(said, key.as_bytes()).unwrap_or_default());
    if !known.contains(&&**key) {
        let same = others.iter().position(|other| other == key).and_then(|at| known.get(at).copied());
        let meant = same.or_else(|| spelling::nearest(key, known.iter().copied()));
        let set = |finding: &mut Finding| finding.meant = meant.map(Into::into);
        findings.add_with(FindingKind::UnknownCategory, extra.line, at, key.as_bytes(), set);
    } else if let Some((answer, expected)) = odd {
        let (kind, said) = (FindingKind::PreferenceValue, format!("{key}={answer}"));
        let set = |finding: &mut Finding| finding.meant = Some((*expected).into());
        findings.add_with(kind, extra.line, at, said.as_bytes(), set);
    }
}

fn usages(value: &[u8]) -> Vec<Word<'static>> {
    let found = dictionary::parse(value).unwrap_or_default();
    let mut words = Vec::new();
    for (key, entry) in &found {
        let odd = dictionary::allows(entry).is_none().then(|| dictionary::written(entry)).flatten();
        words.push((key.as_str().to_owned(), odd.map(|written| (written, "`y` or `n`"))));
    }
    words
}

fn signals(value: &[u8]) -> Vec<Word<'static>> {
    let word = |(key, answer): (&str, &str)| {
        let (is_fine, expected) = match key {
            "use" => (USES.contains(&answer), "`immediate`, `reference` or `full`"),
            _ => (matches!(answer, "yes" | "no"), "`yes` or `no`"),
        };
        (key.to_owned(), (!is_fine).then(|| (answer.to_owned(), expected)))
    };
    preference::pairs(value).map(word).collect()
}
