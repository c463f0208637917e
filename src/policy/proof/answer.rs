//! What one method says of an address, and what all of them together amount to.

use crate::identify::Proof;

/// What one method says to "does this address belong to the crawler?".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProofAnswer {
    Yes,
    No,
    /// It was asked, and could not tell: nobody answered, or what it knows is too old to accuse by.
    Unknown,
}

/// One yes confirms. Only if every configured method says no, and there is one, is a name borrowed; and
/// even then only of a client that may be accused at all. `None` is a method that is not configured.
pub(super) fn combine(methods: [Option<ProofAnswer>; 2], may_accuse: bool) -> Proof {
    let answers = || methods.into_iter().flatten();
    if answers().any(|answer| answer == ProofAnswer::Yes) {
        Proof::Confirmed
    } else if may_accuse && answers().next().is_some() && answers().all(|answer| answer == ProofAnswer::No) {
        Proof::Contradicted
    } else {
        Proof::Unchecked
    }
}

#[cfg(test)]
mod tests {
    use super::ProofAnswer::{No, Unknown, Yes};
    use super::*;

    #[test]
    fn one_yes_confirms_and_only_all_no_contradicts() {
        for (methods, expected) in [
            ([None, None], Proof::Unchecked),
            ([Some(Yes), None], Proof::Confirmed),
            ([Some(No), Some(Yes)], Proof::Confirmed),
            ([Some(Unknown), Some(Yes)], Proof::Confirmed),
            ([Some(No), None], Proof::Contradicted),
            ([None, Some(No)], Proof::Contradicted),
            ([Some(No), Some(No)], Proof::Contradicted),
            ([Some(No), Some(Unknown)], Proof::Unchecked),
            ([Some(Unknown), Some(No)], Proof::Unchecked),
            ([None, Some(Unknown)], Proof::Unchecked),
        ] {
            assert_eq!(combine(methods, true), expected, "{methods:?}");
        }
    }

    #[test]
    fn who_may_not_be_accused_can_still_be_confirmed() {
        assert_eq!(combine([Some(No), Some(No)], false), Proof::Unchecked);
        assert_eq!(combine([Some(Yes), Some(No)], false), Proof::Confirmed);
    }
}
