//! A rule that matches, in the order in which rules win.

/// A matching rule, or none. The greater one wins: most bytes, then allow before disallow
/// (RFC 9309 section 2.2.2), then the first in the file, so that the answer is always the same line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::robots) struct Choice(u64);

impl Choice {
    pub(in crate::robots) const NONE: Self = Self(0);

    /// `rank` is greater than 1 for every rule that can match.
    pub(in crate::robots) const fn new(rank: u32, rule: u32) -> Self {
        Self((rank as u64) << 32 | !rule as u64)
    }

    /// The position of the rule.
    #[expect(clippy::cast_possible_truncation, reason = "the lower half is the rule")]
    pub(in crate::robots) const fn rule(self) -> Option<u32> {
        if self.0 == 0 { None } else { Some(!(self.0 as u32)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_bytes_then_allow_then_the_first_line() {
        assert!(Choice::new(8, 9) > Choice::new(7, 1));
        assert!(Choice::new(7, 1) > Choice::new(7, 2));
        assert!(Choice::new(2, u32::MAX) > Choice::NONE);
        assert_eq!(Choice::new(7, 3).rule(), Some(3));
        assert_eq!(Choice::NONE.rule(), None);
    }
}
