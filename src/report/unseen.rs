//! Where reads of robots.txt may have gone unseen, and how that is said.

use super::question::ReportQuestion;
use super::time;
use crate::record::UnseenReads;
use serde::{Serialize, Serializer};
use std::time::SystemTime;

/// How many places are named in a sentence.
const NAMED: usize = 3;

/// A time in which reads at a site may have gone unseen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PartialReads {
    /// The site; as JSON null for all sites.
    #[serde(serialize_with = "site")]
    pub site: Box<str>,
    /// What shows it: a field of requests, `configured`, `lost`, `removed`, `unclean-end` or `trusted-proxy`.
    pub reason: Box<str>,
    /// When it was first noted.
    #[serde(serialize_with = "time")]
    pub from: SystemTime,
    /// When it was last noted.
    #[serde(serialize_with = "time")]
    pub to: SystemTime,
}

/// Adds what one store knows to what others do.
pub(super) fn add(all: &mut Vec<PartialReads>, found: Vec<UnseenReads>, question: &ReportQuestion) {
    let wanted = |site: &str| question.site.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(site));
    for UnseenReads { site, reason, from, to } in found {
        if !site.is_empty() && !wanted(&site) {
            continue;
        }
        match all.iter_mut().find(|known| known.site == site && known.reason == reason) {
            Some(known) => (known.from, known.to) = (known.from.min(from), known.to.max(to)),
            None => all.push(PartialReads { site, reason, from, to }),
        }
    }
}

/// Whether it matters at a site.
pub(super) fn concerns(all: &[PartialReads], site: &str) -> bool {
    all.iter().any(|partial| partial.site.is_empty() || *partial.site == *site)
}

/// What cannot be seen, and why; `None` where nothing is missing.
pub(super) fn sentence(all: &[PartialReads]) -> Option<String> {
    let mut places: Vec<String> = all.iter().take(NAMED).map(PartialReads::place).collect();
    if let more @ 1.. = all.len().saturating_sub(NAMED) {
        places.push(format!("{more} more"));
    }
    (!places.is_empty()).then(|| {
        format!(
            "Some reads of robots.txt may have gone unseen, so a crawler without a read may have read it all the same: {}.",
            places.join("; ")
        )
    })
}

impl PartialReads {
    fn place(&self) -> String {
        match &*self.reason {
            "configured" => format!("the configuration of {} says so (`reads`)", self.site),
            "trusted-proxy" => "a trusted proxy stood in front, and version 0.1 looked no further".to_owned(),
            "lost" if self.site.is_empty() => {
                "version 0.1 had no room for some of what it recorded".to_owned()
            }
            "lost" => format!("some reads at {} were not recorded: memory had no room for them", self.site),
            "unclean-end" => format!(
                "a gateway ended without writing what it had seen last, after {}",
                crate::record::timestamp(self.from)
            ),
            "removed" => format!("the size cap of the store took reads at {}", self.site),
            field => format!(
                "requests for {} carried {field}, so a cache stands in front that may answer it",
                self.site
            ),
        }
    }
}

fn site<S: Serializer>(site: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Some(site).filter(|site| !site.is_empty()).serialize(serializer)
}
