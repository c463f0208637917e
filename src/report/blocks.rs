//! What generated lines met, and which lines would stop those that took most and that robots.txt does not mention.

use super::entry::ReportEntry;
use super::files::tokens;
use crate::identify::{Catalogue, ClientKind, Purpose};
use crate::robots::{Robots, unmarked};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::HashMap;

/// How many crawlers are proposed for a site.
const MOST: usize = 5;

/// What is proposed to be stopped took at least this share of its site's requests by crawlers, in hundredths.
const LEAST_SHARE: u64 = 5;

/// What the lines for one purpose met of one crawler; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Blocked {
    /// The purpose, as it is written after `block`.
    pub purpose: String,
    /// The crawler.
    pub crawler: Option<Box<str>>,
    /// How many of its requests a generated line disallows.
    pub requests: u64,
}

/// What generated lines met, most first. What only borrows a name is not counted against it.
pub(super) fn blocked(entries: &[ReportEntry]) -> Vec<Blocked> {
    let mut found: HashMap<(&str, Option<&str>), u64> = HashMap::new();
    for entry in entries.iter().filter(|entry| !entry.subject.is_borrowed()) {
        for rule in &entry.rules {
            let source = rule.decision.rule.as_deref().and_then(|rule| unmarked(rule).1);
            if let Some(purpose) = source.and_then(|source| source.strip_prefix("block ")) {
                *found.entry((purpose, entry.subject.crawler.as_deref())).or_default() += rule.count;
            }
        }
    }
    let blocked = |((purpose, crawler), requests): ((&str, Option<&str>), u64)| Blocked {
        purpose: purpose.to_owned(),
        crawler: crawler.map(Into::into),
        requests,
    };
    let mut blocked: Vec<Blocked> = found.into_iter().map(blocked).collect();
    blocked.sort_by_key(|blocked| (Reverse(blocked.requests), blocked.crawler.clone()));
    blocked
}

/// Lines that would stop a crawler; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// At which site.
    pub site: Box<str>,
    /// Which crawler.
    pub crawler: Box<str>,
    /// What it fetches for.
    pub purpose: Option<&'static str>,
    /// How many requests it made.
    pub requests: u64,
    /// The lines, ready to copy.
    pub lines: String,
}

/// For each site, the crawlers that took most and that its robots.txt does not name. Search engines are left out: to stop
/// them is to be found no more. So are names that somebody borrows, since lines stop only those who read them.
pub(super) fn proposals(
    entries: &[ReportEntry],
    files: &HashMap<Box<str>, Robots>,
    known: &Catalogue,
) -> Vec<Proposal> {
    let mut all: HashMap<&str, u64> = HashMap::new();
    let mut taken: HashMap<(&str, &str), (&ReportEntry, u64)> = HashMap::new();
    for entry in entries.iter().filter(|entry| entry.subject.client == ClientKind::Crawler) {
        *all.entry(&entry.subject.site).or_default() += entry.requests;
        if let Some(name) = entry.subject.crawler.as_deref().filter(|_| !entry.subject.is_borrowed()) {
            let open = entry.requests.saturating_sub(entry.violations);
            taken.entry((&entry.subject.site, name)).or_insert((entry, 0)).1 += open;
        }
    }
    let mut proposals: Vec<Proposal> = Vec::new();
    for ((site, name), (entry, requests)) in taken {
        let purpose = entry.subject.purpose;
        let (tokens, _) = tokens(known, &entry.subject);
        let is_named = files.get(site).is_some_and(|robots| robots.group(&tokens, false).is_some());
        let is_many = requests * 100 >= all.get(site).copied().unwrap_or_default() * LEAST_SHARE;
        let is_wanted = is_many && requests > 0 && !is_named && purpose != Some(Purpose::Search);
        if let Some(token) = plain_token(known, name).filter(|_| is_wanted) {
            let lines = format!("User-agent: {token}\nDisallow: /\n");
            let purpose = purpose.map(Purpose::as_str);
            proposals.push(Proposal { site: site.into(), crawler: name.into(), purpose, requests, lines });
        }
    }
    proposals.sort_by_key(|Proposal { site, requests, crawler, .. }| {
        (site.clone(), Reverse(*requests), crawler.clone())
    });
    let by_site = proposals.chunk_by(|one, other| one.site == other.site);
    by_site.flat_map(|of_site| of_site.iter().take(MOST)).cloned().collect()
}

/// The token by which a crawler of the catalogue is named in robots.txt. Neither it nor the name holds anything that
/// would have to be quoted there or in a command.
pub(super) fn plain_token<'c>(known: &'c Catalogue, name: &str) -> Option<&'c str> {
    let is_plain =
        |text: &str| text.chars().all(|symbol| symbol.is_ascii_alphanumeric() || "-_. ".contains(symbol));
    let token = known.get(name)?.tokens.first()?;
    Some(&**token).filter(|token| is_plain(token) && is_plain(name))
}

/// A purpose as people say it.
pub fn purpose_label(purpose: &str) -> &str {
    match purpose {
        "ads" => "advertising",
        "ai-train" => "AI training",
        "ai-search" => "AI search",
        "ai-user" => "AI assistants",
        "feed" => "feeds",
        "monitor" => "monitoring",
        "seo" => "SEO",
        "social" => "link previews",
        other => other,
    }
}
