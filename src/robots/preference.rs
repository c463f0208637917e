//! What a file says about the use of what was fetched: `Content-Usage` (AIPREF drafts), `Content-Signal` (Content Signals)
//! and `License` (RSL 1.0). None of it is part of RFC 9309, and none of it is ever a violation.
//!
//! The first two are records of a group, the third is for the whole file. Which crawler a record is for is decided here,
//! and what a pair of a vocabulary says; which `Content-Usage` is for a path is decided in `usage`.

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

/// What both vocabularies have a word for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::VariantArray)]
pub enum UseCategory {
    /// Training of models.
    Training,
    /// Input to models: answers that are made of what was fetched.
    Input,
    /// Search that leads to the pages.
    Search,
}

impl UseCategory {
    /// Its word in a vocabulary.
    pub(super) const fn word(self, kind: PreferenceKind) -> &'static str {
        match (self, kind) {
            (Self::Training, PreferenceKind::ContentUsage) => "train-ai",
            (Self::Training, _) => "ai-train",
            (Self::Input, PreferenceKind::ContentUsage) => "ai-use",
            (Self::Input, _) => "ai-input",
            (Self::Search, _) => "search",
        }
    }
}

impl Robots {
    /// Where the terms of use are, for everyone (RSL 1.0).
    pub fn licenses(&self) -> impl Iterator<Item = Preference<'_>> {
        self.extras(RecordName::License).filter_map(|extra| self.stated(extra))
    }

    /// Every preference that is stated for the crawlers of a group, as written and in the order of the file; without one,
    /// what is stated for everyone.
    pub fn preferences(&self, group: Option<RuleGroup<'_>>) -> Vec<Preference<'_>> {
        let of_group = group.into_iter().flat_map(|group| group.stated_records().collect::<Vec<_>>());
        let mut all: Vec<_> =
            of_group.filter_map(|extra| self.stated(&extra)).chain(self.licenses()).collect();
        all.sort_by(|one, other| one.lines.cmp(&other.lines));
        all
    }

    /// A record as a preference, if it is one that says anything.
    pub(super) fn stated(&self, extra: &ParsedRecord) -> Option<Preference<'_>> {
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
    /// What the group says for `target`: the `Content-Usage` of its path and each `Content-Signal`; and the licences of
    /// the file.
    pub fn preferences_for(&self, target: &[u8]) -> Vec<Preference<'r>> {
        let signals = self.content_signals().collect::<Vec<_>>();
        self.content_usage(target).into_iter().chain(signals).chain(self.robots().licenses()).collect()
    }

    /// The `Content-Signal` records of the group, else those that stand before any group: some crawlers take these for
    /// everyone's.
    pub fn content_signals(&self) -> impl Iterator<Item = Preference<'r>> + use<'r> {
        let robots = self.robots();
        self.signals().into_iter().filter_map(|extra| robots.stated(&extra))
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

/// The pairs of a `Content-Signal`, with the offset of each in the value. What is no pair is left out.
pub(super) fn pairs(value: &[u8]) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut at = 0;
    value.split(|&byte| byte == b',').filter_map(move |pair| {
        let start = at + pair.len() - pair.trim_ascii_start().len();
        at += pair.len() + 1;
        let (key, value) = std::str::from_utf8(pair).ok()?.split_once('=')?;
        Some((start, key.trim(), value.trim())).filter(|(_, key, _)| !key.is_empty())
    })
}

/// Whether a value of `kind` allows a category; `None` where it does not say.
pub(super) fn allows(kind: PreferenceKind, value: &[u8], category: UseCategory) -> Option<bool> {
    let word = category.word(kind);
    match kind {
        PreferenceKind::ContentUsage => {
            dictionary::parse(super::usage::without_path(value))?.get(word).and_then(dictionary::allows)
        }
        PreferenceKind::ContentSignal => {
            let answer = pairs(value).filter(|(_, key, _)| *key == word).map(|(.., answer)| answer).last()?;
            match answer {
                "yes" => Some(true),
                "no" => Some(false),
                _ => None,
            }
        }
        PreferenceKind::License => None,
    }
}
