//! The answer to `/robots.txt`: the very bytes that are being enforced, from memory.
//!
//! Never an error for a well-formed request: RFC 9309 §2.3.1.4 has crawlers read 5xx as "disallow
//! everything". Never the origin's copy, and never a redirect.

use super::answer::Answer;
use super::facts;
use crate::policy::{RobotsFile, Site};
use bytes::Bytes;
use http::header;
use pingora::http::RequestHeader;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The parts of a request that the answer depends on.
#[derive(Clone, Debug)]
pub(super) struct Question<'a> {
    pub(super) method: &'a str,
    /// All `If-None-Match` lines, joined.
    pub(super) if_none_match: Option<Cow<'a, [u8]>>,
    pub(super) if_modified_since: Option<&'a str>,
}

impl<'a> Question<'a> {
    /// Reads a request for robots.txt.
    pub(super) fn of(request: &'a RequestHeader) -> Self {
        let since = request.headers.get(header::IF_MODIFIED_SINCE);
        Self {
            method: request.method.as_str(),
            if_none_match: facts::joined(&request.headers, &header::IF_NONE_MATCH, b", "),
            if_modified_since: since.and_then(|date| date.to_str().ok()),
        }
    }
}

/// The answer, and whether it gives the client the version in force (to GET: a 200, or a 304 whose
/// validator named that version).
#[derive(Debug)]
pub(super) struct Served {
    pub(super) answer: Answer,
    pub(super) is_read: bool,
}

/// Answers a request for a site's robots.txt.
pub(super) fn serve(site: &Site, max_age: Duration, question: &Question<'_>) -> Served {
    if !matches!(question.method, "GET" | "HEAD") {
        let answer =
            Answer::page(405, "robots.txt can be read with GET and HEAD only").with("allow", "GET, HEAD");
        return Served { answer, is_read: false };
    }
    let Some(file) = &site.robots else {
        let answer = Answer::page(404, "this site has no robots.txt: everything is allowed");
        return Served { answer, is_read: false };
    };
    let current = Validators {
        etag: format!("\"{}\"", file.id),
        modified: whole_seconds(site.since),
        is_dated: site.is_dated,
    };
    let (matched, named) = current.matched_by(question);
    let answer = if matched {
        fields(Answer { status: 304, headers: Vec::new(), body: Bytes::new() }, &current, max_age)
    } else {
        full(file, &current, max_age)
    };
    let is_read = question.method == "GET" && (!matched || named);
    Served { answer, is_read }
}

/// The octets of a file for as long as they are being sent: clients that are slow to take them share them.
struct Shared(Arc<RobotsFile>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

fn full(file: &Arc<RobotsFile>, validators: &Validators, max_age: Duration) -> Answer {
    let headers = vec![("content-type", "text/plain; charset=utf-8".into())];
    let answer = Answer { status: 200, headers, body: Bytes::from_owner(Shared(Arc::clone(file))) };
    fields(answer, validators, max_age)
}

fn fields(answer: Answer, validators: &Validators, max_age: Duration) -> Answer {
    answer
        .with("etag", validators.etag.clone())
        .with("last-modified", httpdate::fmt_http_date(validators.modified))
        .with("cache-control", format!("private, max-age={}", max_age.as_secs()))
}

/// What tells one version from another (RFC 9110 §8.8).
struct Validators {
    etag: String,
    modified: SystemTime,
    /// Whether the date tells the version from others.
    is_dated: bool,
}

impl Validators {
    /// Whether the client's copy is current, and whether it named the version itself. `If-None-Match`
    /// decides where there is one (RFC 9110 §13.1.3).
    fn matched_by(&self, question: &Question<'_>) -> (bool, bool) {
        if let Some(list) = question.if_none_match.as_deref() {
            let named = entity_tags(list).any(|tag| tag == self.etag.as_bytes());
            return (named || list.trim_ascii() == b"*", named);
        }
        let since = question.if_modified_since.and_then(|date| httpdate::parse_http_date(date).ok());
        let is_current = since.is_some_and(|since| self.modified <= since);
        (is_current && self.is_dated, false)
    }
}

/// The entity tags of a list, weakness ignored: `If-None-Match` compares weakly (RFC 9110 §13.1.2).
fn entity_tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|octet| *octet == b',').map(|tag| {
        let tag = tag.trim_ascii();
        tag.strip_prefix(b"W/").unwrap_or(tag)
    })
}

/// HTTP dates have whole seconds.
fn whole_seconds(time: SystemTime) -> SystemTime {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validators() -> Validators {
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        Validators { etag: "\"0123456789ab\"".to_owned(), modified, is_dated: true }
    }

    fn matched(if_none_match: Option<&str>, if_modified_since: Option<&str>) -> (bool, bool) {
        validators().matched_by(&Question {
            method: "GET",
            if_none_match: if_none_match.map(|list| Cow::Borrowed(list.as_bytes())),
            if_modified_since,
        })
    }

    #[test]
    fn a_tag_that_names_the_version_is_a_read() {
        assert_eq!(matched(Some("\"0123456789ab\""), None), (true, true));
        assert_eq!(matched(Some("\"x\", W/\"0123456789ab\""), None), (true, true));
        assert_eq!(matched(Some("\"x\""), None), (false, false));
    }

    #[test]
    fn a_star_matches_but_names_nothing() {
        assert_eq!(matched(Some("*"), None), (true, false));
    }

    #[test]
    fn the_tag_decides_over_the_date() {
        let date = "Sun, 09 Sep 2001 01:46:40 GMT";
        assert_eq!(matched(None, Some(date)), (true, false));
        assert_eq!(matched(None, Some("Sun, 09 Sep 2001 01:46:39 GMT")), (false, false));
        assert_eq!(matched(Some("\"x\""), Some(date)), (false, false));
        assert_eq!(matched(None, Some("Sun, 09 Sep 2001 01:46:41 GMT")), (true, false));
        assert_eq!(matched(None, Some("yesterday")), (false, false));
    }
}
