//! What can be said of a crawler in one word, and never more than was seen.

use crate::identify::Proof;
use serde::Serialize;

/// How a crawler behaved in the window, towards the rules it could know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Conduct {
    /// It asked for nothing that was disallowed.
    Obeyed,
    /// It asked for what was disallowed, and each time a former version excused it, or something that nobody knows.
    Excused,
    /// It broke a rule of a version that it had itself read.
    Ignored,
    /// It broke rules, and nothing that could be it was ever seen to read robots.txt. It may have read it
    /// elsewhere.
    NoReadSeen,
    /// It broke rules, and it cannot be said whether it knew them; or nothing can be said of it: its name is
    /// borrowed, or nothing that it asked for was judged.
    Unknown,
    /// The rules were not published when the requests came, as far as is known. What they would have meant can be
    /// told, and nothing of how it behaved towards them.
    Hypothetical,
}

impl Conduct {
    /// The word for it, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The same for people.
    pub fn words(self) -> &'static str {
        if self == Self::NoReadSeen { "no read seen" } else { self.as_str() }
    }
}

/// What the word rests on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConductFacts {
    /// All requests that were judged in the window.
    pub(super) requests: u64,
    /// All violations in the window.
    pub(super) violations: u64,
    /// Requests in the window that were disallowed, and no violation.
    pub(super) stale: u64,
    /// Violations of a version that the same crawler, with the same proof, had read.
    pub(super) after_read: u64,
    /// What supports the name; where it is contradicted, whoever came is not who bears it.
    pub(super) proof: Proof,
    /// The element is the rest of many names.
    pub(super) is_rest: bool,
    /// It, the same name with another proof, or one that shares its cache was seen to read robots.txt.
    pub(super) a_read_was_seen: bool,
    /// A read could have gone unseen, or its record been lost.
    pub(super) reads_may_be_missing: bool,
}

pub(super) const fn conduct(facts: &ConductFacts) -> Conduct {
    match *facts {
        ConductFacts { proof: Proof::Contradicted, .. } | ConductFacts { requests: 0, .. } => {
            Conduct::Unknown
        }
        ConductFacts { violations: 0, stale: 0, .. } => Conduct::Obeyed,
        ConductFacts { violations: 0, .. } => Conduct::Excused,
        ConductFacts { is_rest: true, .. } => Conduct::Unknown,
        ConductFacts { after_read: 1.., .. } => Conduct::Ignored,
        ConductFacts { a_read_was_seen: true, .. } | ConductFacts { reads_may_be_missing: true, .. } => {
            Conduct::Unknown
        }
        ConductFacts { .. } => Conduct::NoReadSeen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAPSED: ConductFacts = ConductFacts {
        requests: 9,
        violations: 3,
        stale: 0,
        after_read: 0,
        proof: Proof::Unchecked,
        is_rest: false,
        a_read_was_seen: false,
        reads_may_be_missing: false,
    };

    #[test]
    fn one_is_convicted_by_its_own_read_alone() {
        assert_eq!(conduct(&ConductFacts { after_read: 1, ..LAPSED }), Conduct::Ignored);
        let many = ConductFacts { after_read: 1, is_rest: true, ..LAPSED };
        assert_eq!(conduct(&many), Conduct::Unknown, "whoever read was perhaps not who came");
        assert_eq!(conduct(&ConductFacts { a_read_was_seen: true, ..LAPSED }), Conduct::Unknown);
    }

    #[test]
    fn that_no_read_was_seen_is_said_only_where_it_would_have_been_seen() {
        assert_eq!(conduct(&LAPSED), Conduct::NoReadSeen);
        assert_eq!(conduct(&ConductFacts { reads_may_be_missing: true, ..LAPSED }), Conduct::Unknown);
        assert_eq!(
            conduct(&ConductFacts { after_read: 3, reads_may_be_missing: true, ..LAPSED }),
            Conduct::Ignored,
            "a read that was seen was seen"
        );
    }

    #[test]
    fn who_asks_for_nothing_that_is_disallowed_obeyed_and_who_does_may_be_excused() {
        let never_read = ConductFacts { violations: 0, reads_may_be_missing: true, ..LAPSED };
        assert_eq!(conduct(&never_read), Conduct::Obeyed);
        assert_eq!(conduct(&ConductFacts { is_rest: true, ..never_read }), Conduct::Obeyed);
        assert_eq!(conduct(&ConductFacts { stale: 1, ..never_read }), Conduct::Excused);
        assert_eq!(conduct(&ConductFacts { stale: 1, ..LAPSED }), Conduct::NoReadSeen);
    }

    #[test]
    fn nothing_is_said_of_a_borrowed_name_nor_of_who_was_not_judged() {
        for violations in [0, 3] {
            let borrowed = ConductFacts { violations, proof: Proof::Contradicted, ..LAPSED };
            assert_eq!(conduct(&borrowed), Conduct::Unknown, "{violations}");
        }
        let reader = ConductFacts { requests: 0, violations: 0, a_read_was_seen: true, ..LAPSED };
        assert_eq!(conduct(&reader), Conduct::Unknown);
    }
}
