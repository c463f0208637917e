//! What a file says about the use of what was fetched: `Content-Usage` (AIPREF drafts), `Content-Signal` (Content Signals)
//! and `License` (RSL 1.0). None of it is part of RFC 9309, and none of it is ever a violation.
//!
//! All are records of a group. A `License` before the first group is for every crawler whose own group has none (RSL 1.0
//! section 4.4), and some crawlers read a `Content-Signal` there likewise. Which `Content-Usage` is for a path is decided
//! in `usage`.

use super::dictionary;
use super::line::RecordName;
use super::parse::ParsedRecord;
use super::{Robots, RuleGroup};
use std::borrow::Cow;
use std::fmt;

/// Whose vocabulary a preference is written in: the record's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::IntoStaticStr)]
pub enum PreferenceKind {
    /// Categories with `y` or `n`, for all paths or for some: draft-ietf-aipref-attach.
    #[strum(serialize = "Content-Usage")]
    ContentUsage,
    /// Signals with `yes` or `no`: contentsignals.org.
    #[strum(serialize = "Content-Signal")]
    ContentSignal,
    /// Where the terms are: RSL 1.0.
    #[strum(serialize = "License")]
    License,
}

/// Records that may stand before the first group.
const EITHER: [RecordName; 2] = [RecordName::ContentSignal, RecordName::License];

/// A preference as a file states it. `Display` gives the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preference<'r> {
    /// Which record it is.
    pub kind: PreferenceKind,
    /// The lines it stands on: several only of `Content-Usage` records that match a path equally.
    pub lines: Vec<u32>,
    /// The value as written; of several the most restrictive.
    pub value: Cow<'r, str>,
    /// Whether its vocabulary can read it: what is no dictionary states nothing.
    pub is_readable: bool,
}

impl fmt::Display for Preference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.value)
    }
}

impl Robots {
    /// Every preference that is stated for the crawlers of a group, as written and in the order of the file; without a
    /// group, what is stated for everyone.
    pub fn preferences(&self, group: Option<RuleGroup<'_>>) -> Vec<Preference<'_>> {
        let names = [RecordName::ContentUsage].into_iter().chain(EITHER);
        let mut all: Vec<_> = names.flat_map(|name| self.stated_for(group, name)).collect();
        all.sort_by(|one, other| one.lines.cmp(&other.lines));
        all
    }

    /// What the records of a name state for the crawlers of a group: its own, else those that may stand before any.
    fn stated_for(&self, group: Option<RuleGroup<'_>>, name: RecordName) -> Vec<Preference<'_>> {
        let own: Vec<_> = group.iter().flat_map(|group| group.extras(name)).collect();
        let is_for_all = own.is_empty() && EITHER.contains(&name);
        let before = self.extras(name).filter(|extra| is_for_all && extra.block.is_none());
        own.into_iter().chain(before).filter_map(|extra| self.stated(extra)).collect()
    }

    /// A record as a preference, if it is one that says anything.
    fn stated(&self, extra: &ParsedRecord) -> Option<Preference<'_>> {
        let kind = kind(extra.name)?;
        let value = extra.value(&self.source);
        let is_readable = match kind {
            PreferenceKind::ContentUsage => dictionary::parse(super::usage::without_path(value)).is_some(),
            PreferenceKind::ContentSignal => pairs(value).next().is_some(),
            PreferenceKind::License => true,
        };
        let value = String::from_utf8_lossy(value);
        (!value.is_empty()).then(|| Preference { kind, lines: vec![extra.line], value, is_readable })
    }
}

impl<'r> RuleGroup<'r> {
    /// What the group says for `target`: the `Content-Usage` of its path, and each `Content-Signal` and `License`.
    pub fn preferences_for(&self, target: &[u8]) -> Vec<Preference<'r>> {
        let robots = self.robots;
        let others = EITHER.into_iter().flat_map(|name| robots.stated_for(Some(*self), name));
        self.content_usage(target).into_iter().chain(others).collect()
    }
}

pub(super) const fn kind(name: RecordName) -> Option<PreferenceKind> {
    match name {
        RecordName::ContentUsage => Some(PreferenceKind::ContentUsage),
        RecordName::ContentSignal => Some(PreferenceKind::ContentSignal),
        RecordName::License => Some(PreferenceKind::License),
        _ => None,
    }
}

/// The pairs of a `Content-Signal`. Parts without `=` are left out.
pub(super) fn pairs(value: &[u8]) -> impl Iterator<Item = (&str, &str)> {
    value.split(|&byte| byte == b',').filter_map(|pair| {
        let (key, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
        Some((key.trim(), value.trim())).filter(|(key, _)| !key.is_empty())
    })
}
