//! The answer to `/robots.txt`: the very bytes that are being enforced, from memory.
//!
//! Never an error for a well-formed request: RFC 9309 §2.3.1.4 has crawlers read 5xx as "disallow
//! everything". Never the origin's copy, and never a redirect.

use super::decision::Decision;
use crate::decide::SiteRules;
use crate::http::{RequestHead, Response};
use crate::policy::{FETCH_MARKER, OWN_FETCH, RobotsFile, Site};
use bytes::Bytes;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The two requests that are not answered with the site's file; `None` for every other one. The gateway's own question,
/// which an origin led back here, is answered 421. A request for a site of which no version was ever known is forwarded,
/// and its client gets the origin's answer, be it an error.
pub(super) fn aside(head: &RequestHead, site: &Site) -> Option<Decision> {
    if head.get(FETCH_MARKER) == Some(OWN_FETCH.as_bytes()) {
        let answer = Response::page(421, "this gateway asked itself for the origin's robots.txt");
        return Some(Decision::Answer(answer.with(FETCH_MARKER, "own").into()));
    }
    site.is_unknown.then_some(Decision::Forward)
}

/// Answers a request for a site's robots.txt at a host with `rules`: the answer, and whether it gives the client the version
/// in force (to GET: a 200, or a 304 whose validator named that version).
pub(super) fn serve(
    site: &Site,
    rules: &SiteRules,
    max_age: Duration,
    head: &RequestHead,
) -> (Response, bool) {
    if !matches!(head.method(), "GET" | "HEAD") {
        let answer = Response::page(405, "robots.txt can be read with GET and HEAD only");
        return (answer.with("allow", "GET, HEAD"), false);
    }
    let Some(file) = &site.robots else {
        return (Response::page(404, "this site has no robots.txt: everything is allowed"), false);
    };
    let etag = format!("\"{}\"", file.id);
    let modified = whole_seconds(rules.since.unwrap_or(site.since));
    let (matched, named) = matched(head, &etag, Some(modified).filter(|_| rules.is_dated));
    let answer = if matched {
        Response::new(304, Bytes::new())
    } else {
        let body = Bytes::from_owner(SharedBytes(Arc::clone(file)));
        Response::new(200, body).with("Content-Type", "text/plain; charset=utf-8")
    };
    let answer = answer
        .with("etag", etag)
        .with("last-modified", httpdate::fmt_http_date(modified))
        .with("Cache-Control", format!("private, max-age={}", max_age.as_secs()));
    (answer, head.method() == "GET" && (!matched || named))
}

/// The bytes of a file for as long as they are being sent: clients that are slow to take them share them.
struct SharedBytes(Arc<RobotsFile>);

impl AsRef<[u8]> for SharedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

/// Whether the client's copy is current, and whether it named the version itself. `If-None-Match` decides where there is one
/// (RFC 9110 §13.1.3). Else the date of the version does, where that tells it from others.
fn matched(head: &RequestHead, etag: &str, modified: Option<SystemTime>) -> (bool, bool) {
    if let Some(list) = head.joined("if-none-match", b", ") {
        let named = entity_tags(&list).any(|tag| tag == etag.as_bytes());
        return (named || list.trim_ascii() == b"*", named);
    }
    let since = head.text("if-modified-since").and_then(|date| httpdate::parse_http_date(date).ok());
    // A later date may be that of another version: the clock may have stepped, or the host moved here since.
    (since.is_some() && since == modified, false)
}

/// The entity tags of a list, weakness ignored: `If-None-Match` compares weakly (RFC 9110 §13.1.2).
fn entity_tags(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(|tag| {
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
    use crate::http::{Body, HttpVersion};

    fn matched(if_none_match: Option<&str>, if_modified_since: Option<&str>) -> (bool, bool) {
        let tag = if_none_match.map(|list| (&b"if-none-match"[..], list.as_bytes()));
        let date = if_modified_since.map(|date| (&b"if-modified-since"[..], date.as_bytes()));
        let fields = tag.into_iter().chain(date);
        let head = RequestHead::from_parts([b"GET", b"/"], None, HttpVersion::Http11, Body::None, fields);
        let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        super::matched(&head, "\"0123456789ab\"", Some(modified))
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
        assert_eq!(
            matched(None, Some("Sun, 09 Sep 2001 01:46:41 GMT")),
            (false, false),
            "not a date it was given"
        );
        assert_eq!(matched(None, Some("yesterday")), (false, false));
    }
}
