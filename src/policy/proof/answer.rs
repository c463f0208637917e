//! What one method says of an address, and what all of them together amount to.

use crate::identify::{KnownProof, Proof, ProofMethod};

/// What one method says to "does this address belong to the crawler?". Of several answers the greatest counts: one yes is
/// enough, and where one of the others could not tell there is no no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProofAnswer {
    No,
    /// It was asked, and could not tell: nobody answered, or what it knows is too old to accuse by.
    Unknown,
    Yes,
}

/// One yes confirms. Only if every configured method says no, and there is one, is a name borrowed; and
/// even then only of a client that may be accused at all. `None` is a method that is not configured.
pub(super) fn combine(methods: [Option<ProofAnswer>; 2], may_accuse: bool) -> KnownProof {
    let named = [ProofMethod::Ranges, ProofMethod::Rdns].into_iter().zip(methods);
    let answers = || named.clone().filter_map(|(method, answer)| Some((method, answer?)));
    let first = answers().next().map(|(method, _)| method);
    if let Some((method, _)) = answers().find(|(_, answer)| *answer == ProofAnswer::Yes) {
        KnownProof { proof: Proof::Confirmed, by: Some(method) }
    } else if may_accuse && first.is_some() && answers().all(|(_, answer)| answer == ProofAnswer::No) {
        KnownProof { proof: Proof::Contradicted, by: first }
    } else {
        Proof::Unchecked.into()
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
            assert_eq!(combine(methods, true).proof, expected, "{methods:?}");
        }
    }

    #[test]
    fn who_may_not_be_accused_can_still_be_confirmed() {
        assert_eq!(combine([Some(No), Some(No)], false).proof, Proof::Unchecked);
        assert_eq!(combine([Some(Yes), Some(No)], false).proof, Proof::Confirmed);
    }

    #[test]
    fn the_method_is_told_that_decided() {
        let by = |methods| combine(methods, true).by;
        assert_eq!(by([Some(No), Some(Yes)]), Some(ProofMethod::Rdns));
        assert_eq!(by([Some(Yes), None]), Some(ProofMethod::Ranges));
        assert_eq!(by([Some(No), Some(No)]), Some(ProofMethod::Ranges));
        assert_eq!(by([None, Some(No)]), Some(ProofMethod::Rdns));
        assert_eq!(by([Some(No), Some(Unknown)]), None);
    }
}
