//! What can be said of a crawler in one word, and never more than was seen.

use super::ReportEntry;
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

/// What can be said of an element, whose rules were published.
pub(super) fn conduct(entry: &ReportEntry) -> Conduct {
    let reads_were_seen =
        entry.kin_read.is_some() || entry.other_fetch.is_some() || !entry.reads_of.is_empty();
    match (entry.violations, entry.stale) {
        // Whoever came is not who bears the name.
        _ if entry.subject.is_borrowed() || entry.requests == 0 => Conduct::Unknown,
        (0, 0) => Conduct::Obeyed,
        (0, _) => Conduct::Excused,
        // Whoever read was perhaps not who came.
        _ if entry.is_rest() => Conduct::Unknown,
        _ if entry.violations_after_read > 0 => Conduct::Ignored,
        _ if reads_were_seen || entry.reads_may_be_missing => Conduct::Unknown,
        _ => Conduct::NoReadSeen,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Catalogue, ClientKind, Proof};
    use crate::record::{CountSubject, OTHER_CRAWLERS};
    use crate::report::ReportQuestion;
    use crate::report::gather::{Gathered, GatheredActivity};
    use std::time::UNIX_EPOCH;

    /// One that broke rules, and was not seen to read them.
    fn lapsed() -> ReportEntry {
        let (crawler, client, proof) = (Some("Onebot".into()), ClientKind::Crawler, Proof::Unchecked);
        let subject = CountSubject { site: "a".into(), crawler, client, purpose: None, proof };
        let question = ReportQuestion::of_all((UNIX_EPOCH, UNIX_EPOCH), None, None, Catalogue::default());
        let entry = Gathered::default().entry(subject, GatheredActivity::default(), &question);
        ReportEntry { requests: 9, violations: 3, ..entry }
    }

    fn of_the_rest() -> CountSubject {
        CountSubject { crawler: Some(OTHER_CRAWLERS.into()), ..lapsed().subject }
    }

    #[test]
    fn one_is_convicted_by_its_own_read_alone() {
        assert_eq!(conduct(&ReportEntry { violations_after_read: 1, ..lapsed() }), Conduct::Ignored);
        let many = ReportEntry { violations_after_read: 1, subject: of_the_rest(), ..lapsed() };
        assert_eq!(conduct(&many), Conduct::Unknown, "whoever read was perhaps not who came");
        assert_eq!(conduct(&ReportEntry { kin_read: Some(UNIX_EPOCH), ..lapsed() }), Conduct::Unknown);
        assert_eq!(conduct(&ReportEntry { other_fetch: Some(UNIX_EPOCH), ..lapsed() }), Conduct::Unknown);
    }

    #[test]
    fn that_no_read_was_seen_is_said_only_where_it_would_have_been_seen() {
        assert_eq!(conduct(&lapsed()), Conduct::NoReadSeen);
        assert_eq!(conduct(&ReportEntry { reads_may_be_missing: true, ..lapsed() }), Conduct::Unknown);
        assert_eq!(
            conduct(&ReportEntry { violations_after_read: 3, reads_may_be_missing: true, ..lapsed() }),
            Conduct::Ignored,
            "a read that was seen was seen"
        );
    }

    #[test]
    fn who_asks_for_nothing_that_is_disallowed_obeyed_and_who_does_may_be_excused() {
        let never_read = || ReportEntry { violations: 0, reads_may_be_missing: true, ..lapsed() };
        assert_eq!(conduct(&never_read()), Conduct::Obeyed);
        assert_eq!(conduct(&ReportEntry { subject: of_the_rest(), ..never_read() }), Conduct::Obeyed);
        assert_eq!(conduct(&ReportEntry { stale: 1, ..never_read() }), Conduct::Excused);
        assert_eq!(conduct(&ReportEntry { stale: 1, ..lapsed() }), Conduct::NoReadSeen);
    }

    #[test]
    fn nothing_is_said_of_a_borrowed_name_nor_of_who_was_not_judged() {
        for violations in [0, 3] {
            let subject = CountSubject { proof: Proof::Contradicted, ..lapsed().subject };
            let borrowed = ReportEntry { subject, violations, ..lapsed() };
            assert_eq!(conduct(&borrowed), Conduct::Unknown, "{violations}");
        }
        let reader = ReportEntry { requests: 0, violations: 0, kin_read: Some(UNIX_EPOCH), ..lapsed() };
        assert_eq!(conduct(&reader), Conduct::Unknown);
    }
}
