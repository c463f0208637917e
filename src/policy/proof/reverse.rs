//! What name servers said of one address, apart from any crawler: its names, and whether they lead back.
//!
//! Anyone can give an address any name, so a name proves something only if the name's own owner says that
//! it has this address. Not here: the questions themselves (`dns`).

use super::answer::Answer;

/// How many names of one address are followed.
pub(super) const MOST_NAMES: usize = 3;

/// What is known of the names of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reverse {
    /// Nobody told: no answer, or one that is no answer to the question.
    Unknown,
    /// Its names, as the reverse zone has them; none if the zone says that there are none.
    Names(Vec<ReverseName>),
}

/// One name of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReverseName {
    /// Lower case, without the final dot; only letters, digits, `-`, `_` and the dots between labels.
    pub(super) host: Box<str>,
    /// Whether the name has the address. Unknown too for names that nobody follows.
    pub(super) leads_back: Answer,
}

/// How sure a memory of it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Positive,
    Negative,
    Unknown,
}

impl Reverse {
    /// Whether one of the names proves a crawler whose names end in `suffixes`. Without `forward` the
    /// operator's names do not lead back, and the name alone must do.
    pub(super) fn answer(&self, suffixes: &[Box<str>], forward: bool) -> Answer {
        let Self::Names(names) = self else { return Answer::Unknown };
        let mut answer = Answer::No;
        for name in names.iter().filter(|name| is_below(&name.host, suffixes)) {
            match name.leads_back {
                _ if !forward => return Answer::Yes,
                Answer::Yes => return Answer::Yes,
                Answer::Unknown => answer = Answer::Unknown,
                Answer::No => {}
            }
        }
        answer
    }

    pub(super) fn certainty(&self, suffixes: &[Box<str>]) -> Certainty {
        let Self::Names(names) = self else { return Certainty::Unknown };
        let followed = || names.iter().filter(|name| is_below(&name.host, suffixes));
        if followed().any(|name| name.leads_back == Answer::Yes) {
            Certainty::Positive
        } else if followed().any(|name| name.leads_back == Answer::Unknown) {
            Certainty::Unknown
        } else {
            Certainty::Negative
        }
    }
}

/// Whether `host` lies below one of the suffixes, each of which begins with its dot: `.googlebot.com` is
/// the suffix of `crawl-1.googlebot.com`, and not of `fakegooglebot.com` or of `googlebot.com` itself.
pub(super) fn is_below(host: &str, suffixes: &[Box<str>]) -> bool {
    suffixes.iter().any(|suffix| {
        let start = host.len().checked_sub(suffix.len());
        start
            .filter(|start| *start > 0)
            .and_then(|start| host.get(start..))
            .is_some_and(|end| end.eq_ignore_ascii_case(suffix))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suffixes(texts: &[&str]) -> Vec<Box<str>> {
        texts.iter().map(|text| Box::from(*text)).collect()
    }

    fn names(names: &[(&str, Answer)]) -> Reverse {
        let name = |(host, leads_back): &(&str, Answer)| ReverseName {
            host: (*host).into(),
            leads_back: *leads_back,
        };
        Reverse::Names(names.iter().map(name).collect())
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
        for (reverse, expected) in [
            (names(&[(host, Answer::Yes)]), Answer::Yes),
            (names(&[(host, Answer::No)]), Answer::No),
            (names(&[(host, Answer::Unknown)]), Answer::Unknown),
            (names(&[("evil.example", Answer::Yes)]), Answer::No),
            (names(&[("evil.example", Answer::Unknown)]), Answer::No),
            (names(&[("evil.example", Answer::Yes), (host, Answer::Yes)]), Answer::Yes),
            (names(&[(host, Answer::Unknown), (host, Answer::No)]), Answer::Unknown),
            (names(&[]), Answer::No),
            (Reverse::Unknown, Answer::Unknown),
        ] {
            assert_eq!(reverse.answer(&google, true), expected, "{reverse:?}");
        }
    }

    #[test]
    fn where_names_do_not_lead_back_the_name_alone_counts() {
        let baidu = suffixes(&[".baidu.com"]);
        assert_eq!(names(&[("baiduspider-1.baidu.com", Answer::No)]).answer(&baidu, false), Answer::Yes);
        assert_eq!(names(&[("baidu.com.evil.example", Answer::Yes)]).answer(&baidu, false), Answer::No);
        assert_eq!(Reverse::Unknown.answer(&baidu, false), Answer::Unknown);
    }

    #[test]
    fn only_names_that_were_followed_make_it_uncertain() {
        let all = suffixes(&[".googlebot.com"]);
        assert_eq!(names(&[("x.example", Answer::Unknown)]).certainty(&all), Certainty::Negative);
        assert_eq!(names(&[("x.googlebot.com", Answer::Unknown)]).certainty(&all), Certainty::Unknown);
        assert_eq!(names(&[("x.googlebot.com", Answer::Yes)]).certainty(&all), Certainty::Positive);
        assert_eq!(Reverse::Unknown.certainty(&all), Certainty::Unknown);
    }
}
