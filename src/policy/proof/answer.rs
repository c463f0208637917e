//! What one method says of an address, and what all of them together amount to. And what name servers said of one
//! address, apart from any crawler: its names, and whether they lead back.
//!
//! Anyone can give an address any name, so a name proves something only if the name's own owner says that
//! it has this address. Not here: the questions themselves (`dns`).

use crate::identify::{KnownProof, Proof, ProofMethod};
use std::sync::Arc;

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

/// How many names of one address are followed.
pub(super) const MOST_NAMES: usize = 3;

/// One name of an address, as the reverse zone has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReverseName {
    /// Lower case, without the final dot; only letters, digits, `-`, `_` and the dots between labels.
    pub(super) host: Box<str>,
    /// Whether the name has the address. Unknown too for names that nobody follows.
    pub(super) leads_back: ProofAnswer,
}

/// Names that are remembered: none where the reverse zone says that there are none.
pub(super) type KnownNames = Arc<Vec<ReverseName>>;

/// Whether one of the names of an address proves a crawler whose names end in `suffixes`. Without `forward` the operator's
/// names do not lead back, and the name alone must do.
pub(super) fn answer(names: &[ReverseName], suffixes: &[Box<str>], forward: bool) -> ProofAnswer {
    let below = names.iter().filter(|name| is_below(&name.host, suffixes));
    let answers = below.map(|name| if forward { name.leads_back } else { ProofAnswer::Yes });
    answers.max().unwrap_or(ProofAnswer::No)
}

/// Whether `host` lies below one of the suffixes, each of which begins with its dot: `.googlebot.com` is
/// the suffix of `crawl-1.googlebot.com`, and not of `fakegooglebot.com` or of `googlebot.com` itself.
pub(super) fn is_below(host: &str, suffixes: &[Box<str>]) -> bool {
    suffixes.iter().any(|suffix| {
        let parts = host.len().checked_sub(suffix.len()).and_then(|start| host.split_at_checked(start));
        parts.is_some_and(|(name, end)| !name.is_empty() && end.eq_ignore_ascii_case(suffix))
    })
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

    fn suffixes(texts: &[&str]) -> Vec<Box<str>> {
        texts.iter().map(|text| Box::from(*text)).collect()
    }

    fn names(names: &[(&str, ProofAnswer)]) -> Vec<ReverseName> {
        let name = |(host, leads_back): &(&str, ProofAnswer)| ReverseName {
            host: (*host).into(),
            leads_back: *leads_back,
        };
        names.iter().map(name).collect()
    }

    #[test]
    fn a_suffix_holds_at_the_boundary_of_a_label() {
        let google = suffixes(&[".googlebot.com", ".google.com"]);
        for host in ["crawl-1.googlebot.com", "a.b.googlebot.com", "x.GOOGLE.com"] {
            assert!(is_below(host, &google), "{host}");
        }
        for host in
            ["googlebot.com", ".googlebot.com", "fakegooglebot.com", "googlebot.com.evil.example", "", "com"]
        {
            assert!(!is_below(host, &google), "{host}");
        }
    }

    #[test]
    fn a_name_counts_only_if_it_leads_back() {
        let google = suffixes(&[".googlebot.com"]);
        let host = "crawl-1.googlebot.com";
        for (names, expected) in [
            (names(&[(host, Yes)]), Yes),
            (names(&[(host, No)]), No),
            (names(&[(host, Unknown)]), Unknown),
            (names(&[("evil.example", Yes)]), No),
            (names(&[("evil.example", Unknown)]), No),
            (names(&[("evil.example", Yes), (host, Yes)]), Yes),
            (names(&[(host, Unknown), (host, No)]), Unknown),
            (names(&[]), No),
        ] {
            assert_eq!(answer(&names, &google, true), expected, "{names:?}");
        }
    }

    #[test]
    fn where_names_do_not_lead_back_the_name_alone_counts() {
        let baidu = suffixes(&[".baidu.com"]);
        assert_eq!(answer(&names(&[("baiduspider-1.baidu.com", No)]), &baidu, false), Yes);
        assert_eq!(answer(&names(&[("baidu.com.evil.example", Yes)]), &baidu, false), No);
    }

    #[test]
    fn only_names_that_were_followed_make_it_uncertain() {
        let all = suffixes(&[".googlebot.com"]);
        assert_eq!(answer(&names(&[("x.example", Unknown)]), &all, true), No);
        assert_eq!(answer(&names(&[("x.googlebot.com", Unknown)]), &all, true), Unknown);
        assert_eq!(answer(&names(&[("x.googlebot.com", Yes)]), &all, true), Yes);
    }
}
