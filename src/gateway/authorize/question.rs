//! A proxy's question → the request that it describes.
//!
//! Of the fields that describe a request each has to come exactly once. The values are the client's, as far as the proxy
//! took them: they are judged as they stand, whatever stands in them. All fields but those of [`is_read`] are ignored.

use crate::http::head::is_token;
use crate::http::{Body, HttpVersion, RequestHead, head};
use crate::record::{DoorFault, ProxyDoor};
use crate::request::target::{PathParameters, RequestTarget, origin_form};
use std::borrow::Cow;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuthorizeQuestion {
    /// May the request pass that is described?
    About(ProxyDoor),
    /// What is its client to read, now that it is refused?
    Refusal,
    /// The site's robots.txt.
    RobotsTxt,
    /// Is anybody there?
    Health,
    /// Nothing that is answered here.
    None,
}

/// What is wrong with the description of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QuestionFault {
    pub(super) kind: DoorFault,
    /// The field.
    pub(super) field: &'static str,
}

impl QuestionFault {
    /// A number that tells it from the others of its kind.
    pub(super) fn place(&self, door: ProxyDoor) -> usize {
        let mut names = FORWARDED.iter().chain(&ORIGINAL);
        let others = 2 * FORWARDED.len();
        door as usize * (others + 1) + names.position(|name| *name == self.field).unwrap_or(others)
    }
}

/// The field in which Envoy, and whoever passes a request on, has its host.
const HOST: &str = "Host";

/// The path below which Envoy asks: what follows it is the client's own target.
const ENVOY: &[u8] = b"/envoy";

/// Fields of the client's own that judging reads, and proxies pass on. A signature that covers others is none here.
const OF_CLIENT: [&str; 5] = ["user-agent", "accept", "signature-input", "signature", "signature-agent"];

/// The same of a request for robots.txt.
const OF_READER: [&str; 6] =
    ["user-agent", "if-none-match", "if-modified-since", "signature-input", "signature", "signature-agent"];

/// Whether a site names this host, or a wildcard that it falls under.
pub(super) type IsOfSite<'a> = &'a dyn Fn(&[u8]) -> bool;

/// The fields that describe a request: method, target, host, scheme, addresses.
const FORWARDED: [&str; 5] =
    ["X-Forwarded-Method", "X-Forwarded-Uri", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-For"];
const ORIGINAL: [&str; 5] =
    ["X-Original-Method", "X-Original-URI", "X-Original-Host", "X-Original-Proto", "X-Original-For"];

/// Whether a door reads the field of this name. All others are left out of a question before anything is looked at.
pub fn is_read(name: &[u8]) -> bool {
    let is = |own: &&str| name.eq_ignore_ascii_case(own.as_bytes());
    let of_proxy = ["host", "x-authorize-secret"];
    let described = FORWARDED.iter().chain(&ORIGINAL).chain(&of_proxy);
    described.chain(&OF_CLIENT).chain(&OF_READER).any(is)
}

impl AuthorizeQuestion {
    /// What is asked at `target`.
    pub(super) fn of(target: &[u8]) -> Self {
        // Some proxies leave the client's query where they ask.
        let query = memchr::memchr(b'?', target).unwrap_or(target.len());
        match target.get(..query).unwrap_or(target) {
            b"/forward" => return Self::About(ProxyDoor::Forward),
            b"/nginx" => return Self::About(ProxyDoor::Nginx),
            b"/nginx/refusal" => return Self::Refusal,
            b"/healthz" => return Self::Health,
            _ => {}
        }
        if below_envoy(target).is_some() {
            return Self::About(ProxyDoor::Envoy);
        }
        let is_robots_txt =
            target.starts_with(b"/") && RequestTarget::new(target, PathParameters::Keep).is_robots_txt();
        if is_robots_txt { Self::RobotsTxt } else { Self::None }
    }
}

fn below_envoy(target: &[u8]) -> Option<&[u8]> {
    target.strip_prefix(ENVOY).filter(|rest| rest.starts_with(b"/"))
}

/// The request that `asked` describes at `door`.
pub(super) fn described(
    door: ProxyDoor,
    asked: &RequestHead,
    is_of_site: IsOfSite<'_>,
) -> Result<RequestHead, QuestionFault> {
    let names = if door == ProxyDoor::Nginx { ORIGINAL } else { FORWARDED };
    let [method, target, host, scheme, addresses] = names;
    let (scheme, addresses) = (once(asked, scheme)?, once(asked, addresses)?);
    let host = client_host(asked, if door == ProxyDoor::Envoy { HOST } else { host })?;
    let (method, target) = if door == ProxyDoor::Envoy {
        (asked.method().as_bytes(), below_envoy(asked.target()).unwrap_or_default())
    } else {
        (once(asked, method)?, once(asked, target)?)
    };
    let (method, target) = (readable_method(method), path_and_query(target));
    let is_about_server = *method == *b"OPTIONS" && *target == *b"*";
    // What is no path is judged as one, so that nothing passes because of it.
    let has_no_path = !is_about_server && origin_form(&target).is_none();
    let target = if has_no_path { Cow::Owned([b"/", &*target].concat()) } else { target };
    let host = readable_host(host, is_of_site);
    let told = [("host", &*host), ("x-forwarded-proto", scheme), ("x-forwarded-for", addresses)];
    Ok(head_of([&method, &target], &told, asked, &OF_CLIENT))
}

/// A method that can be recorded: `_` takes the place of each byte that no method has.
fn readable_method(method: &[u8]) -> Cow<'_, [u8]> {
    if method.is_empty() || is_token(method) {
        return Cow::Borrowed(if method.is_empty() { b"_" } else { method });
    }
    Cow::Owned(method.iter().map(|byte| if is_token(&[*byte]) { *byte } else { b'_' }).collect())
}

/// A host as far as it can be read: as sent, or a site's that is left without the bytes that no host has, or before the
/// first of them. Else it is empty, and names the default site.
fn readable_host<'a>(host: &'a [u8], is_of_site: IsOfSite<'_>) -> Cow<'a, [u8]> {
    if head::is_host(host) {
        return Cow::Borrowed(host);
    }
    let may_stand = |byte: &u8| *byte == b':' || head::is_host(&[*byte]);
    let without: Vec<u8> = host.iter().copied().filter(may_stand).collect();
    let before = host.split(|byte| !may_stand(byte)).next().unwrap_or_default().to_vec();
    let name = |host: &[u8]| host.split(|byte| *byte == b':').next().unwrap_or_default().to_vec();
    let readings = [name(&without), without, before];
    let found = readings.into_iter().find(|host| head::is_host(host) && is_of_site(host));
    Cow::Owned(found.unwrap_or_default())
}

/// The host of the request, of a field that comes once. A client that names none is not the proxy's mistake.
fn client_host<'a>(asked: &'a RequestHead, field: &'static str) -> Result<&'a [u8], QuestionFault> {
    let may_be_missing = field == HOST || asked.get(field).is_some();
    match once(asked, field) {
        Err(QuestionFault { kind: DoorFault::Missing, .. }) if may_be_missing => Ok(b""),
        host => host,
    }
}

/// What proxies make of targets that a client would not get past the gateway itself: they leave out the authority of any
/// scheme, put the slash before a query, and take a `#` for a plain character or for the end of the path.
fn path_and_query(target: &[u8]) -> Cow<'_, [u8]> {
    let scheme = target.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or_default();
    let after_scheme = target.get(scheme..).and_then(|rest| rest.strip_prefix(b"://"));
    let path = match after_scheme {
        Some(rest) if scheme > 0 => {
            let authority = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#'));
            rest.get(authority.unwrap_or(rest.len())..).unwrap_or_default()
        }
        _ => target,
    };
    let has_no_slash = path.is_empty() && !target.is_empty() || path.starts_with(b"?");
    if !has_no_slash && !path.contains(&b'#') {
        return Cow::Borrowed(path);
    }
    let mut whole = if has_no_slash { b"/".to_vec() } else { Vec::new() };
    for (at, part) in path.split(|byte| *byte == b'#').enumerate() {
        whole.extend_from_slice(if at > 0 { b"%23" } else { b"" });
        whole.extend_from_slice(part);
    }
    Cow::Owned(whole)
}

/// A request for robots.txt that a proxy passes on, and what is wrong with how it says whose it is.
pub(super) fn for_robots_txt(
    asked: &RequestHead,
    is_of_site: IsOfSite<'_>,
) -> (RequestHead, Option<QuestionFault>) {
    let [.., scheme, addresses] = FORWARDED;
    let host = client_host(asked, HOST);
    let readable = readable_host(host.unwrap_or_default(), is_of_site);
    let (scheme, addresses) = (once(asked, scheme).unwrap_or(b"http"), once(asked, addresses));
    let mut told = vec![("host", &*readable), ("x-forwarded-proto", scheme)];
    told.extend(addresses.ok().map(|addresses| ("x-forwarded-for", addresses)));
    let head = head_of([asked.method().as_bytes(), asked.target()], &told, asked, &OF_READER);
    (head, addresses.err().or_else(|| host.err()))
}

/// A head of `told`, and those fields of `asked` that are `kept`.
fn head_of(line: [&[u8]; 2], told: &[(&str, &[u8])], asked: &RequestHead, kept: &[&str]) -> RequestHead {
    let names_host = told.iter().any(|(name, value)| *name == "host" && !value.is_empty());
    let told = told.iter().map(|(name, value)| (name.as_bytes(), *value));
    let is_kept = |name: &[u8]| kept.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()));
    let kept = asked.fields().filter(|(name, _)| is_kept(name));
    // Only HTTP/1.0 allows to name no host (RFC 9112 §3.2).
    let version = if names_host { HttpVersion::Http11 } else { HttpVersion::Http10 };
    RequestHead::from_parts(line, None, version, Body::None, told.chain(kept))
}

/// The value of a field that has to come exactly once.
fn once<'a>(asked: &'a RequestHead, field: &'static str) -> Result<&'a [u8], QuestionFault> {
    let mut values = asked.all(field);
    match (values.next().filter(|value| !value.is_empty()), values.next()) {
        (_, Some(_)) => Err(QuestionFault { kind: DoorFault::Twice, field }),
        (Some(value), None) => Ok(value),
        (None, None) => Err(QuestionFault { kind: DoorFault::Missing, field }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_of_site(host: &[u8]) -> bool {
        host == b"example.org"
    }

    fn asked(target: &str, fields: &[(&str, &str)]) -> RequestHead {
        let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        RequestHead::from_parts([b"GET", target.as_bytes()], None, HttpVersion::Http11, Body::None, fields)
    }

    const WHOLE: [(&str, &str); 7] = [
        ("Host", "127.0.0.1:9310"),
        ("X-Forwarded-Method", "POST"),
        ("X-Forwarded-Uri", "//a/%2e%2E/b?c=<\u{e9}>"),
        ("X-Forwarded-Host", "example.org:8443"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("User-Agent", "GPTBot/1.2"),
    ];

    #[test]
    fn a_question_is_told_by_its_path_as_sent() {
        for (target, question) in [
            ("/forward", AuthorizeQuestion::About(ProxyDoor::Forward)),
            ("/nginx", AuthorizeQuestion::About(ProxyDoor::Nginx)),
            ("/nginx/refusal", AuthorizeQuestion::Refusal),
            ("/envoy/", AuthorizeQuestion::About(ProxyDoor::Envoy)),
            ("/envoy//robots.txt", AuthorizeQuestion::About(ProxyDoor::Envoy)),
            ("/healthz", AuthorizeQuestion::Health),
            ("/robots.txt?x=1", AuthorizeQuestion::RobotsTxt),
            ("//robots.txt", AuthorizeQuestion::RobotsTxt),
            ("/forward/../robots.txt", AuthorizeQuestion::RobotsTxt),
            ("/envoy", AuthorizeQuestion::None),
            ("/envoyer/x", AuthorizeQuestion::None),
            ("/forward?x=/../robots.txt", AuthorizeQuestion::About(ProxyDoor::Forward)),
            ("/nginx/refusal?x", AuthorizeQuestion::Refusal),
            ("/", AuthorizeQuestion::None),
            ("*", AuthorizeQuestion::None),
        ] {
            assert_eq!(AuthorizeQuestion::of(target.as_bytes()), question, "{target}");
        }
    }

    #[test]
    fn a_request_is_described_byte_for_byte_and_by_nothing_else() {
        let mut fields = WHOLE.to_vec();
        fields.extend([
            ("X-Original-URI", "/other"),
            ("X_Forwarded_Uri", "/other"),
            ("Forwarded", "for=192.0.2.9"),
            ("X-Real-IP", "192.0.2.9"),
            ("Max-Forwards", "0"),
            ("X-Request-Id", "mine"),
            ("Referer", "/other"),
            ("CDN-Loop", "a"),
        ]);
        let head = described(ProxyDoor::Forward, &asked("/forward", &fields), &is_of_site).unwrap();
        assert_eq!((head.method(), head.target()), ("POST", "//a/%2e%2E/b?c=<\u{e9}>".as_bytes()));
        let names: Vec<_> =
            head.fields().map(|(name, _)| String::from_utf8_lossy(name).to_lowercase()).collect();
        assert_eq!(names, ["host", "x-forwarded-proto", "x-forwarded-for", "user-agent"]);
        assert_eq!(head.get("host"), Some(&b"example.org:8443"[..]));
    }

    #[test]
    fn a_signature_is_the_clients_own_to_show() {
        let signed =
            [("Signature-Input", "a=()"), ("Signature", "a=:AA==:"), ("Signature-Agent", "\"https://a\"")];
        for door in [ProxyDoor::Forward, ProxyDoor::Nginx, ProxyDoor::Envoy] {
            let mut fields = WHOLE.to_vec();
            fields.extend(ORIGINAL.into_iter().zip(["GET", "/a", "a", "https", "192.0.2.1"]));
            let target = if door == ProxyDoor::Envoy { "/envoy/a" } else { "/" };
            assert!(!described(door, &asked(target, &fields), &is_of_site).unwrap().is_signed);
            fields.extend(signed);
            let head = described(door, &asked(target, &fields), &is_of_site).unwrap();
            let shown = signed.iter().all(|(name, value)| head.get(name) == Some(value.as_bytes()));
            assert!(head.is_signed && shown, "{door:?}");
        }
    }

    #[test]
    fn each_field_comes_exactly_once() {
        for name in FORWARDED {
            let without: Vec<_> = WHOLE.into_iter().filter(|(other, _)| *other != name).collect();
            let fault = described(ProxyDoor::Forward, &asked("/forward", &without), &is_of_site).unwrap_err();
            assert_eq!((fault.kind, fault.field), (DoorFault::Missing, name));
            let mut empty = without.clone();
            empty.push((name, ""));
            let of_empty = described(ProxyDoor::Forward, &asked("/forward", &empty), &is_of_site);
            if name != "X-Forwarded-Host" {
                let fault = of_empty.unwrap_err();
                assert_eq!((fault.kind, fault.field), (DoorFault::Missing, name));
            }
            let mut twice = WHOLE.to_vec();
            twice.push((name, "GET"));
            let fault = described(ProxyDoor::Forward, &asked("/forward", &twice), &is_of_site).unwrap_err();
            assert_eq!((fault.kind, fault.field), (DoorFault::Twice, name));
        }
    }

    #[test]
    fn what_is_no_method_no_path_or_no_host_is_judged_as_far_as_it_can_be_read() {
        for (place, value, read) in [
            (0, "GET /x", "GET_/x /"),
            (1, "private", "POST /private"),
            (1, "*", "POST /*"),
            (1, "a:80", "POST /a:80"),
            (1, "://a/b", "POST /://a/b"),
        ] {
            let mut fields = WHOLE;
            fields[2].1 = "/";
            fields[place + 1].1 = value;
            let head = described(ProxyDoor::Forward, &asked("/forward", &fields), &is_of_site).unwrap();
            let shown = format!("{} {}", head.method(), String::from_utf8_lossy(head.target()));
            assert_eq!(shown, read.replace("GET_/x", "GET__x"), "{value}");
        }
        for (host, read) in [("example.org:x", "example.org"), ("example.org,b", "example.org")] {
            assert_eq!(*readable_host(host.as_bytes(), &is_of_site), *read.as_bytes(), "{host}");
        }
        for byte in 0..=u8::MAX {
            let host = [b"example", &[byte][..], b".org"].concat();
            let read = readable_host(&host, &is_of_site);
            if !head::is_host(&host) && byte != b':' {
                assert_eq!(*read, *b"example.org", "{byte}");
            }
        }
    }

    #[test]
    fn a_client_that_names_no_host_asks_for_the_default_site() {
        for host in ["", "a b", "a, b", "u@a", "a:b:c"] {
            let mut fields = WHOLE;
            fields[3].1 = host;
            let head = described(ProxyDoor::Forward, &asked("/forward", &fields), &is_of_site).unwrap();
            assert_eq!((head.get("host"), head.version), (Some(&b""[..]), HttpVersion::Http10), "{host}");
        }
    }

    #[test]
    fn targets_are_read_as_proxies_read_them() {
        for (sent, read) in [
            ("/a?b#c", "/a?b%23c"),
            ("/open#/../private", "/open%23/../private"),
            ("?s=x", "/?s=x"),
            ("http://example.org?s=x", "/?s=x"),
            ("ftp://example.org/private", "/private"),
            ("http://example.org", "/"),
            ("//a/http://b", "//a/http://b"),
            ("/http://b", "/http://b"),
            ("*", "*"),
        ] {
            assert_eq!(*path_and_query(sent.as_bytes()), *read.as_bytes(), "{sent}");
        }
    }

    #[test]
    fn envoy_asks_with_the_request_itself() {
        let fields =
            [("Host", "example.org"), ("X-Forwarded-Proto", "http"), ("X-Forwarded-For", "192.0.2.1")];
        let head = described(ProxyDoor::Envoy, &asked("/envoy//x?y", &fields), &is_of_site).unwrap();
        assert_eq!((head.target(), head.get("host")), (&b"//x?y"[..], Some(&b"example.org"[..])));
        let fault = described(ProxyDoor::Envoy, &asked("/envoy/x", &fields[..2]), &is_of_site).unwrap_err();
        assert_eq!((fault.kind, fault.field), (DoorFault::Missing, "X-Forwarded-For"));
        let two = [&fields[..], &[("Host", "example.org")]].concat();
        let fault = described(ProxyDoor::Envoy, &asked("/envoy/x", &two), &is_of_site).unwrap_err();
        assert_eq!((fault.kind, fault.field), (DoorFault::Twice, "Host"));
        assert_eq!(
            for_robots_txt(&asked("/robots.txt", &two), &is_of_site).1.unwrap().kind,
            DoorFault::Twice
        );
    }
}
