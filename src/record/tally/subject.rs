//! Who a count is for: a crawler as one site knows it, with what supports its name.

use crate::identify::{Basis, ClientKind, Identity, Proof, Purpose};
use crate::record::word;
use hashbrown::Equivalent;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};

/// The name that stands for all names beyond the first 1,000 strangers of a day.
pub const OTHER_CRAWLERS: &str = "(other crawlers)";

/// Who a count is for. Its names are its own, or borrowed to look one up without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CountSubject<Name = Box<str>> {
    /// The site.
    pub site: Name,
    /// The crawler's name; `None` for a client that gives none.
    pub crawler: Option<Name>,
    /// The kind of client.
    #[serde(with = "word")]
    pub client: ClientKind,
    /// What it fetches for, where the catalogue knows.
    #[serde(with = "word::optional")]
    pub purpose: Option<Purpose>,
    /// What supported its name at the time.
    #[serde(with = "word")]
    pub proof: Proof,
}

/// The names tell nearly all apart.
impl<Name: AsRef<str>> Hash for CountSubject<Name> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(self.crawler.as_ref().map_or("", Name::as_ref).as_bytes());
        state.write(self.site.as_ref().as_bytes());
    }
}

/// A [`CountSubject`] that borrows its names.
pub(in crate::record) type SubjectRef<'a> = CountSubject<&'a str>;

impl<'a> SubjectRef<'a> {
    /// Who a client is at a site, as far as `proof` goes.
    pub(in crate::record) fn of(site: &'a str, identity: &'a Identity, proof: Proof) -> Self {
        let Identity { client, purpose, .. } = *identity;
        Self { site, crawler: identity.crawler.as_deref(), client, purpose, proof }
    }

    /// The subject that this one is counted under when there is no room for its name.
    pub(in crate::record) fn nameless(self) -> Self {
        Self { crawler: Some(OTHER_CRAWLERS), purpose: None, ..self }
    }
}

impl CountSubject {
    /// Its name, or what stands for one.
    pub fn name(&self) -> &str {
        self.crawler.as_deref().unwrap_or("(no name)")
    }

    /// Whether it is a crawler in the sense of RFC 9309 §1: fetchers, tools, monitors and clients without a
    /// name are none.
    pub const fn is_crawler(&self) -> bool {
        matches!(self.client, ClientKind::Crawler | ClientKind::SpecialCase)
    }

    /// Whether it bears the name of a crawler that it is not.
    pub fn is_borrowed(&self) -> bool {
        self.proof == Proof::Contradicted
    }

    pub(in crate::record) fn borrowed(&self) -> SubjectRef<'_> {
        let Self { client, purpose, proof, .. } = *self;
        CountSubject { site: &self.site, crawler: self.crawler.as_deref(), client, purpose, proof }
    }
}

impl From<&SubjectRef<'_>> for CountSubject {
    fn from(subject: &SubjectRef<'_>) -> Self {
        let SubjectRef { site, crawler, client, purpose, proof } = *subject;
        Self { site: site.into(), crawler: crawler.map(Into::into), client, purpose, proof }
    }
}

impl Equivalent<CountSubject> for SubjectRef<'_> {
    fn equivalent(&self, subject: &CountSubject) -> bool {
        *self == subject.borrowed()
    }
}

/// Whether the number of such names is bounded: the catalogue's and those of the operator's robots.txt are
/// known, every other name was made up by whoever sent the request.
pub fn is_known(identity: &Identity) -> bool {
    identity.crawler.is_none()
        || matches!(identity.basis, Basis::Catalogue | Basis::OperatorToken | Basis::Signature)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hashbrown::DefaultHashBuilder;
    use std::hash::BuildHasher as _;

    #[test]
    fn a_borrowed_subject_finds_the_owned_one() {
        let subject: CountSubject = CountSubject {
            site: "example.org".into(),
            client: ClientKind::Crawler,
            crawler: Some("GPTBot".into()),
            purpose: Some(Purpose::AiTrain),
            proof: Proof::Unchecked,
        };
        let state = DefaultHashBuilder::default();
        assert_eq!(state.hash_one(&subject), state.hash_one(subject.borrowed()));
        assert!(subject.borrowed().equivalent(&subject));
        assert!(!subject.borrowed().nameless().equivalent(&subject));
        assert_eq!(CountSubject::from(&subject.borrowed()), subject);
    }
}
