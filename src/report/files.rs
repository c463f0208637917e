//! What each version of robots.txt said to whoever read it: how fast it was asked to come, and how its pages may be used.
//!
//! `Crawl-delay` is not part of RFC 9309, and breaking it is no violation. What was told of the use of pages proves
//! delivery: somebody who gave that name, with that proof, read the file. What is done with a page cannot be seen from a
//! site, so that none of this is ever a violation.

use super::pace::{self, MinuteCounts};
use super::time;
use crate::decide::{NO_GROUP, VersionId};
use crate::identify::{Catalogue, ClientKind, Crawler};
use crate::record::{CountSubject, ReadTotal, Stretch, VersionRecord, instant, word};
use crate::robots::{ParseLimits, Robots};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::SystemTime;

/// The first two in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CrawlDelay {
    /// What the robots.txt in force at the window's end asks of the crawler.
    pub declared: Option<f64>,
    /// The median time between two of its requests in the window, derived from how many came in each minute; in
    /// each hour or day, where the store keeps no minutes any more.
    pub observed: Option<f64>,
    /// How its requests were spread over the window.
    pub per_minute: Option<MinuteCounts>,
}

/// A preference that was read, in one version of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Told {
    /// The record, with its name. Bytes that are not UTF-8 are replaced. Null where the text of the version is not kept, so
    /// that nobody knows what it said.
    pub preference: Option<String>,
    /// Its line.
    pub line: Option<u32>,
    /// In which version.
    #[serde(with = "word")]
    pub robots_version: VersionId,
    /// The first read of it.
    #[serde(serialize_with = "time")]
    pub first: SystemTime,
    /// The last read.
    #[serde(serialize_with = "time")]
    pub last: SystemTime,
    /// How many.
    pub reads: u64,
}

/// The files that a report speaks of, as far as their texts are kept.
#[derive(Debug, Default)]
pub(super) struct RobotsFiles {
    /// By site, the one in force.
    pub(super) in_force: HashMap<Box<str>, Robots>,
    /// Those that were read.
    read: HashMap<VersionId, Robots>,
}

/// A limit that is too small would lose a group; what the gateway itself read is not known here.
fn compiled(bytes: &[u8]) -> Robots {
    Robots::parse(bytes, &ParseLimits { max_bytes: bytes.len() }).robots
}

fn crawler<'c>(known: &'c Catalogue, subject: &CountSubject) -> Option<&'c Crawler> {
    known.get(subject.crawler.as_deref()?)
}

/// The product tokens of a subject, and whether the group `*` is for it (RFC 9309 §2.2.1).
pub(super) fn tokens(known: &Catalogue, subject: &CountSubject) -> (Vec<Box<str>>, bool) {
    if let Some(known) = crawler(known, subject) {
        return (known.tokens.to_vec(), known.star);
    }
    let star = matches!(subject.client, ClientKind::Crawler | ClientKind::Tool | ClientKind::Unnamed);
    (subject.crawler.clone().into_iter().collect(), star)
}

impl RobotsFiles {
    /// Compiles of each site the version that was in force just before `to`; the youngest, where several gateways differ. And
    /// those that were read.
    pub(super) fn of(versions: &[VersionRecord], read: &HashSet<VersionId>, to: SystemTime) -> Self {
        let mut begun: Vec<&VersionRecord> = versions.iter().filter(|version| version.from < to).collect();
        begun.sort_by_key(|version| (version.until.is_none_or(|until| until >= to), version.from));
        // Of each site the last one stays.
        let last: HashMap<&str, &VersionRecord> =
            begun.into_iter().map(|version| (&*version.site, version)).collect();
        let text = |version: &VersionRecord| version.bytes.as_deref().map(compiled);
        let in_force = last.into_iter().filter_map(|(site, version)| Some((site.into(), text(version)?)));
        let mut files = Self { in_force: in_force.collect(), read: HashMap::new() };
        for version in versions {
            let id = version.id.filter(|id| read.contains(id) && !files.read.contains_key(id));
            files.read.extend(id.and_then(|id| Some((id, text(version)?))));
        }
        files
    }

    /// A subject has the tokens by which it was found in what it read, the last first, and those of its name.
    pub(super) fn delay(
        &self,
        subject: &CountSubject,
        known: &Catalogue,
        reads: &[ReadTotal],
        stretches: &[Stretch],
    ) -> CrawlDelay {
        let (named, star) = tokens(known, subject);
        let mut reads: Vec<&ReadTotal> = reads.iter().collect();
        reads.sort_by_key(|read| Reverse(read.sum.seen.last));
        let chosen = reads.iter().filter_map(|read| read.key.chosen.as_deref());
        let tokens: Vec<&str> = chosen
            .filter(|chosen| !matches!(*chosen, "*" | NO_GROUP))
            .chain(named.iter().map(|token| &**token))
            .collect();
        let group = self.in_force.get(&subject.site).and_then(|robots| robots.group(&tokens, star));
        CrawlDelay {
            declared: group.and_then(|group| group.crawl_delay()),
            observed: pace::median(stretches),
            per_minute: MinuteCounts::of(stretches),
        }
    }

    /// What was said to a subject in what it read: by version, the first that it read first.
    pub(super) fn told(&self, subject: &CountSubject, known: &Catalogue, reads: &[ReadTotal]) -> Vec<Told> {
        // Several control tokens may stand above one rule.
        let mut by_line: BTreeMap<(VersionId, Option<u32>, Option<String>), Told> = BTreeMap::new();
        for read in reads {
            for (line, preference) in self.said(subject, known, read) {
                let (robots_version, seen) = (read.key.version, read.sum.seen);
                let [first, last] = [seen.first, seen.last].map(instant);
                let told = by_line
                    .entry((robots_version, line, preference.clone()))
                    .or_insert_with(|| Told { preference, line, robots_version, first, last, reads: 0 });
                (told.first, told.last) = (told.first.min(first), told.last.max(last));
                told.reads = told.reads.saturating_add(seen.count);
            }
        }
        let mut told: Vec<Told> = by_line.into_values().collect();
        told.sort_by_key(|told| (told.first, told.robots_version, told.line));
        told
    }

    /// The lines of one version for its reader, or nothing but that its text is not kept.
    fn said(
        &self,
        subject: &CountSubject,
        known: &Catalogue,
        read: &ReadTotal,
    ) -> Vec<(Option<u32>, Option<String>)> {
        let Some(robots) = self.read.get(&read.key.version) else { return vec![(None, None)] };
        let group = match read.key.chosen.as_deref() {
            None => {
                let (tokens, star) = tokens(known, subject);
                robots.group(&tokens, star)
            }
            Some(NO_GROUP) => None,
            Some("*") => robots.group::<&str>(&[], true),
            Some(token) => robots.group(&[token], false),
        };
        let stated = robots.preferences(group).into_iter();
        let stated =
            stated.map(|preference| (preference.lines.first().copied(), Some(preference.to_string())));
        let control = known.control_for(crawler(known, subject)).map(|control| &*control.token);
        stated.chain(control.filter_map(|token| wish(robots, token))).collect()
    }
}

/// What the rules of a control token's group ask for, in a line: the first of them, and how many more there are.
fn wish(robots: &Robots, token: &str) -> Option<(Option<u32>, Option<String>)> {
    let mut rules = robots.group(&[token], false)?.rules();
    let first = rules.next()?;
    let more = match rules.count() {
        0 => String::new(),
        1 => " and 1 more rule".to_owned(),
        more => format!(" and {more} more rules"),
    };
    Some((Some(first.line), Some(format!("{token}: {}{more}", String::from_utf8_lossy(first.text)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::RulesId;
    use crate::identify::{ControlToken, Proof, Purpose};
    use crate::record::{ReadKey, ReadSum, SeenInstants};
    use std::sync::Arc;

    /// What is disallowed under it is a wish that readers are told of whom it is for.
    #[test]
    fn control_tokens_are_told_to_whom_they_are_for() {
        let control = |token: &str, operator: Option<&str>| ControlToken {
            token: token.into(),
            operator: operator.map(Into::into),
            purpose: Purpose::AiTrain,
            governs: "training".into(),
            docs: None,
        };
        let known =
            Catalogue::new(Vec::new(), vec![control("For-All", None), control("Foo-Extended", Some("Foo"))]);
        let text = "User-agent: *\nDisallow: /x\n\nUser-agent: for-all\nDisallow: /y\nAllow: /y/z\n\n\
                    User-agent: Foo-Extended\nDisallow: /\n";
        let version = VersionId::of(text.as_bytes());
        let files = RobotsFiles {
            read: HashMap::from([(version, compiled(text.as_bytes()))]),
            ..RobotsFiles::default()
        };
        let subject = CountSubject {
            site: "a".into(),
            crawler: Some("Foobot".into()),
            client: ClientKind::Crawler,
            purpose: None,
            proof: Proof::Unchecked,
        };
        let (rules, seen) =
            (RulesId::of(&compiled(text.as_bytes())), SeenInstants { first: 0, last: 0, count: 3 });
        let read = ReadTotal {
            subject: Arc::new(subject.clone()),
            key: ReadKey { version, in_force: 0, host: "a".into(), network: None, chosen: None },
            sum: ReadSum { rules, seen, as_of: 0, at: 0 },
        };
        let told = files.told(&subject, &known, &[read]);
        let told: Vec<_> =
            told.iter().map(|told| (told.line, told.preference.as_deref(), told.reads)).collect();
        assert_eq!(told, [(Some(5), Some("For-All: Disallow: /y and 1 more rule"), 3)]);
    }
}
