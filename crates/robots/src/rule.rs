//! A rule of a file as its owner wrote it.

use super::compose;

/// What a rule says about the paths it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RuleKind {
    /// The paths may be fetched.
    Allow,
    /// The paths may not be fetched.
    Disallow,
}

impl RuleKind {
    /// `allow` or `disallow`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One allow or disallow line of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule<'r> {
    /// Allow or disallow.
    pub kind: RuleKind,
    /// Its line, counted from 1.
    pub line: u32,
    /// The line as written, without comment and outer blanks: `Disallow: /x`.
    pub text: &'r [u8],
    /// The same and, of a generated line, the mark that says what it was generated for.
    pub marked: &'r [u8],
    /// The path pattern as written; empty for an empty rule.
    pub pattern: &'r [u8],
    /// What the pattern counts for when the most specific match is chosen (RFC 9309 section 2.2.2),
    /// in bytes; 0 when the rule can match nothing.
    pub bytes: u32,
}

impl<'r> Rule<'r> {
    /// What a generated line was generated for, such as `block ai-train`.
    pub fn source(&self) -> Option<&'r str> {
        compose::unmarked(std::str::from_utf8(self.marked).ok()?).1
    }
}

/// A rule as the file keeps it: places in the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleRecord {
    pub(super) kind: RuleKind,
    pub(super) line: u32,
    pub(super) start: u32,
    pub(super) value: u32,
    pub(super) end: u32,
    pub(super) block: u32,
    pub(super) bytes: u32,
    pub(super) is_generated: bool,
}

impl RuleRecord {
    pub(super) fn view(self, source: &[u8]) -> Rule<'_> {
        let cut = |start: u32| source.get(start as usize..self.end as usize).unwrap_or_default();
        let end = self.end as usize;
        let marked =
            self.start as usize..if self.is_generated { compose::marked_end(source, end) } else { end };
        Rule {
            kind: self.kind,
            line: self.line,
            text: cut(self.start),
            marked: source.get(marked).unwrap_or_default(),
            pattern: cut(self.value),
            bytes: self.bytes,
        }
    }

    /// Orders matching rules: most bytes first, then allow before disallow (section 2.2.2).
    /// 0 is below every rule that can match.
    pub(super) const fn rank(self) -> u32 {
        self.bytes << 1 | matches!(self.kind, RuleKind::Allow) as u32
    }
}
