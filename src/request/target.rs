//! Which path of a request is judged.
//!
//! RFC 9309 §2.2.2 compares bytes of the path and query. Between the bytes a client sends and the
//! page an origin serves stand conventions that are no part of that standard: dot segments, merged
//! slashes, an encoded slash that the origin decodes, an escape that it decodes twice. [`RequestTarget`] holds
//! the path *as any URL parser reads it*, which is judged, and finds the paths *as origins may read it*,
//! which may not reach a disallowed page unseen. The request itself is forwarded as it came.

mod query;
mod readings;
mod steps;

use readings::Readings;
use std::borrow::Cow;
use std::cell::OnceCell;
use steps::{decoded, has_dots, without_dots};

/// Where `;parameters` of a path segment stand when an origin looks a page up (RFC 3986 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum PathParameters {
    /// They are part of the path, as for most origins.
    #[default]
    Keep,
    /// The origin drops them before it looks the page up, as servlet containers do.
    Drop,
}

/// A request target in the forms it is judged in.
#[derive(Clone, Debug)]
pub struct RequestTarget<'a> {
    sent: &'a [u8],
    parameters: PathParameters,
    /// Whether the path has one reading only.
    is_plain: bool,
    judged: Cow<'a, [u8]>,
    /// Whether another program answers it.
    is_answered_elsewhere: bool,
    /// Found when somebody asks: most requests are of clients that are not judged.
    readings: OnceCell<Readings>,
}

/// The one path that every crawler may always fetch (RFC 9309 §2.2.2).
const ROBOTS_TXT: &[u8] = b"/robots.txt";

/// What lies below it proves control of the host to a certificate authority (RFC 8555 §8.3).
const ACME_CHALLENGE: &[u8] = b"/.well-known/acme-challenge/";

impl<'a> RequestTarget<'a> {
    /// Reads `sent`, an origin-form target (see [`origin_form`]).
    pub fn new(sent: &'a [u8], parameters: PathParameters) -> Self {
        let is_plain = is_plain(sent, parameters);
        let judged = if is_plain { Cow::Borrowed(sent) } else { resolve_dots(sent) };
        Self { sent, parameters, is_plain, judged, is_answered_elsewhere: false, readings: OnceCell::new() }
    }

    /// The same target of a request that another program answers.
    pub const fn answered_elsewhere(mut self) -> Self {
        self.is_answered_elsewhere = true;
        self
    }

    /// Path and query with dot segments resolved: what the rules are asked about.
    pub fn judged(&self) -> &[u8] {
        &self.judged
    }

    /// Every other path and query that an origin may take the target for, each once.
    pub fn readings(&self) -> impl Iterator<Item = &[u8]> {
        self.found().targets.iter().map(Vec::as_slice)
    }

    /// Whether there are more [readings](Self::readings) than are followed. Nobody knows then what an
    /// origin may make of the target.
    pub fn has_more_readings(&self) -> bool {
        self.found().has_more
    }

    /// Whether this is `/robots.txt`, with a query, with encoded letters, behind dot segments, and nothing else: as it is
    /// judged, and in each of its readings. Where the gateway answers it, more slashes may stand before it, as crawlers
    /// write it that join a base and a path: no origin reads those as an authority.
    pub fn is_robots_txt(&self) -> bool {
        let is_read_here = !self.is_answered_elsewhere && names_robots_txt(without_slashes(self.sent));
        is_read_here || names_robots_txt(self.judged()) && self.has_one_meaning()
    }

    /// Whether an origin could take it for `/robots.txt`: whoever has it in front never asks the origin, whose file is
    /// another one than the file that binds.
    pub fn may_be_robots_txt(&self) -> bool {
        names_robots_txt(self.judged()) || !self.is_plain && self.readings().any(names_robots_txt)
    }

    /// Whether each of its readings is robots.txt.
    fn has_one_meaning(&self) -> bool {
        !self.has_more_readings() && self.readings().all(names_robots_txt)
    }

    /// Whether this is what a certificate authority asks for, as it is written there: one segment of a token's
    /// characters (RFC 8555 §8.3) and nothing that an origin could read in another way.
    pub fn is_acme_challenge(&self) -> bool {
        let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        // Nearly no path begins with a dot.
        let token = self.sent.strip_prefix(b"/.").and_then(|_| self.sent.strip_prefix(ACME_CHALLENGE));
        token.is_some_and(|token| !token.is_empty() && token.iter().all(is_of_token))
    }

    fn found(&self) -> &Readings {
        self.readings.get_or_init(|| Readings::of(self.sent, &self.judged, self.is_plain, self.parameters))
    }
}

/// The origin-form of a request target as sent: itself, or the path and query of an absolute-form
/// (RFC 9112 §3.2.2). `None` for `*`, an authority, or anything else that names no path.
pub fn origin_form(sent: &[u8]) -> Option<Cow<'_, [u8]>> {
    let sent = before(sent, b'#');
    if sent.starts_with(b"/") {
        return Some(Cow::Borrowed(sent));
    }
    let scheme_end = memchr::memmem::find(sent, b"://")?;
    let scheme = sent.get(..scheme_end)?;
    if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
        return None;
    }
    let rest = sent.get(scheme_end + 3..)?;
    match rest.iter().position(|byte| matches!(byte, b'/' | b'?')) {
        Some(start) if rest.get(start) == Some(&b'/') => rest.get(start..).map(Cow::Borrowed),
        Some(start) => Some(Cow::Owned([b"/", rest.get(start..)?].concat())),
        None => Some(Cow::Borrowed(b"/")),
    }
}

fn before(bytes: &[u8], end: u8) -> &[u8] {
    memchr::memchr(end, bytes).and_then(|at| bytes.get(..at)).unwrap_or(bytes)
}

fn split_query(target: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memchr(b'?', target).unwrap_or(target.len());
    target.split_at_checked(at).unwrap_or((target, b""))
}

/// Whether a path has nothing that could be read in another way: no dot begins a segment, no slash follows a slash, and no
/// byte stands for another.
#[expect(clippy::needless_bitwise_bool, reason = "without a branch for each byte many are compared at once")]
fn is_plain(target: &[u8], parameters: PathParameters) -> bool {
    let (path, _) = split_query(target);
    let Some((b'/', after)) = path.split_first() else { return false };
    let drops = parameters == PathParameters::Drop;
    let is_odd = |byte: u8, next: u8| {
        (byte == b'/') & ((next == b'/') | (next == b'.'))
            | (next == b'%')
            | (next == b'\\')
            | drops & (next == b';')
    };
    !path.iter().zip(after).fold(false, |found, (byte, next)| found | is_odd(*byte, *next))
}

/// Resolves dot segments of the path; the query is left alone. Borrows where there are none.
fn resolve_dots(target: &[u8]) -> Cow<'_, [u8]> {
    let (path, query) = split_query(target);
    if !has_dots(path) {
        return Cow::Borrowed(target);
    }
    let mut resolved = without_dots(path);
    resolved.extend_from_slice(query);
    Cow::Owned(resolved)
}

/// A target with one slash of those that it begins with.
fn without_slashes(target: &[u8]) -> &[u8] {
    let slashes = target.iter().take_while(|byte| **byte == b'/').count();
    target.get(slashes.saturating_sub(1)..).unwrap_or(target)
}

fn names_robots_txt(target: &[u8]) -> bool {
    let mut path = target;
    for expected in ROBOTS_TXT {
        match decoded(path) {
            Some((byte, rest)) if byte == *expected => path = rest,
            _ => return false,
        }
    }
    matches!(path, [] | [b'?', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sent: &str) -> String {
        let target = RequestTarget::new(sent.as_bytes(), PathParameters::Keep);
        String::from_utf8(target.judged().to_vec()).unwrap()
    }

    fn readings(sent: &str, parameters: PathParameters) -> Vec<String> {
        let target = RequestTarget::new(sent.as_bytes(), parameters);
        assert!(!target.has_more_readings(), "{sent}");
        target.readings().map(|path| String::from_utf8(path.to_vec()).unwrap()).collect()
    }

    fn kept(sent: &str) -> Vec<String> {
        readings(sent, PathParameters::Keep)
    }

    #[test]
    fn dot_segments_resolve_as_url_parsers_do() {
        for (sent, expected) in [
            ("/a/b", "/a/b"),
            ("/a/./b", "/a/b"),
            ("/a/../b", "/b"),
            ("/../../b", "/b"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/.", "/a/"),
            ("/a/%2e%2E/b", "/b"),
            ("/a/.%2e/b", "/b"),
            ("/a/%2e/b", "/a/b"),
            ("/a/.../b", "/a/.../b"),
            ("/a/..b/c", "/a/..b/c"),
            ("/a//../b", "/a/b"),
            ("/a?x=/../b", "/a?x=/../b"),
            ("/a/../b?x=1", "/b?x=1"),
            ("/", "/"),
        ] {
            assert_eq!(judged(sent), expected, "{sent}");
        }
    }

    #[test]
    fn a_plain_path_has_one_reading_in_full() {
        let bytes = *b"/./;%\\a?";
        for number in 0..bytes.len().pow(5) {
            let place = |at: u32| bytes[number / bytes.len().pow(at) % bytes.len()];
            let sent: Vec<u8> = std::iter::once(b'/').chain((0..5).map(place)).collect();
            for parameters in [PathParameters::Keep, PathParameters::Drop] {
                if is_plain(&sent, parameters) {
                    let shown = String::from_utf8_lossy(&sent);
                    assert_eq!(resolve_dots(&sent), sent, "{shown}");
                    let readings = Readings::of(&sent, &sent, false, parameters);
                    assert!(readings.targets.is_empty() && !readings.has_more, "{shown}");
                }
            }
        }
        assert!(is_plain(b"/a.b/c;d?x=//..%2f", PathParameters::Keep));
        assert!(!is_plain(b"/a.b/c;d", PathParameters::Drop));
    }

    #[test]
    fn what_a_path_is_plain_without_is_found_wherever_it_stands() {
        for length in 1..50 {
            let path = ["/", &"a".repeat(length)].concat().into_bytes();
            for (odd, keeps, drops) in [
                ("//", false, false),
                ("/.", false, false),
                ("%", false, false),
                ("\\", false, false),
                (";", true, false),
                ("/a", true, true),
                (".", true, true),
            ] {
                for at in 1..=path.len().saturating_sub(odd.len()) {
                    let mut path = path.clone();
                    path[at..at + odd.len()].copy_from_slice(odd.as_bytes());
                    // A first dot follows the slash that every path begins with.
                    let begins = at == 1 && odd.starts_with(['/', '.']);
                    let shown = String::from_utf8_lossy(&path);
                    assert_eq!(is_plain(&path, PathParameters::Keep), keeps && !begins, "{shown}");
                    assert_eq!(is_plain(&path, PathParameters::Drop), drops && !begins, "{shown}");
                }
            }
        }
        assert!(is_plain(b"/a?//%\\/.", PathParameters::Keep) && !is_plain(b"a", PathParameters::Keep));
        assert!(is_plain(b"/", PathParameters::Drop) && !is_plain(b"", PathParameters::Keep));
    }

    #[test]
    fn slashes_merge_and_encoded_ones_are_slashes_or_not() {
        assert!(kept("/a/b").is_empty() && kept("/a%20b").is_empty());
        assert_eq!(kept("/a///b"), ["/a/b"]);
        assert_eq!(kept("/a%2Fb"), ["/a/b"]);
        assert_eq!(kept("/a%2Fb%5cc"), ["/a/b%5cc", "/a%2Fb/c", "/a/b/c"]);
        assert_eq!(kept("/a\\b"), ["/a/b"]);
        assert_eq!(kept("/a/..%2fprivate/x"), ["/private/x"]);
    }

    #[test]
    fn merging_before_and_after_the_dots_are_two_readings() {
        let target = RequestTarget::new(b"/x/y//..//../private", PathParameters::Keep);
        assert_eq!(target.judged(), b"/x/y/private");
        assert!(kept("/x/y//..//../private").contains(&"/private".to_owned()));
        assert!(kept("/private/x//../..").contains(&"/".to_owned()));
    }

    #[test]
    fn what_one_component_resolves_is_gone_for_the_next() {
        assert!(kept("/a/b\\c/../..\\x").contains(&"/x".to_owned()));
        assert!(kept("///private/..\\a//../x.html").contains(&"/private/x.html".to_owned()));
        assert!(kept("/private%2f\\/../x.html").contains(&"/private/x.html".to_owned()));
        assert!(kept("/a\\a/..%2fprivate/x.html").contains(&"/private/x.html".to_owned()));
    }

    #[test]
    fn escapes_of_escapes_are_decoded_once_more() {
        assert_eq!(kept("/%2570rivate"), ["/%70rivate"]);
        assert_eq!(kept("/%252570rivate"), ["/%2570rivate", "/%70rivate"]);
        assert_eq!(kept("/%25%370rivate"), ["/%70rivate"]);
        assert_eq!(kept("/%%37%30rivate"), ["/%70rivate"]);
        assert_eq!(kept("/a%252Fb"), ["/a%2Fb", "/a/b"]);
        assert!(kept("/x/%252e%252e/private").contains(&"/private".to_owned()));
        assert!(kept("/100%25").is_empty() && kept("/a%25zz").is_empty());
    }

    #[test]
    fn delimiters_are_decoded_once_more() {
        assert_eq!(kept("/r%3Dd/x"), ["/r=d/x"]);
        assert_eq!(kept("/a%26b"), ["/a&b"]);
        assert!(kept("/search%3fq%3Dx?y").contains(&"/search?q=x?y".to_owned()));
        assert_eq!(kept("/secret.pdf%23/../../x?y"), ["/secret.pdf"]);
        assert_eq!(kept("/Why%3F"), ["/Why"]);
        assert_eq!(kept("/Why%3f%23x"), ["/Why"]);
        assert_eq!(kept("/Why%3F?x"), ["/Why??x"]);
    }

    #[test]
    fn delimiters_stay_encoded_where_a_path_is_taken_apart_before() {
        assert!(kept("/a%3fb/%252e%252e/private").contains(&"/private".to_owned()));
        assert!(kept("/a%23b/%252e%252e/private").contains(&"/private".to_owned()));
        assert!(kept("/x/%252e%252e/a%3Db%3F").contains(&"/a%3Db%3F".to_owned()));
        assert!(kept("/r%3Dd/a%3fb%2f..%2fx").contains(&"/r=d/x".to_owned()));
    }

    #[test]
    fn two_slashes_may_begin_an_authority() {
        assert_eq!(kept("//x/private/x.html"), ["/x/private/x.html", "/private/x.html"]);
        for sent in [
            "/\\x/private",
            "//x\\private",
            "////x/private",
            "/%2Fx/private",
            "//x//y/private",
            "//a@b:9/private",
        ] {
            assert!(kept(sent).contains(&"/private".to_owned()), "{sent}");
        }
        assert!(kept("//x").contains(&"/".to_owned()) && kept("//").contains(&"/".to_owned()));
    }

    #[test]
    fn a_slash_that_dots_leave_may_be_dropped() {
        assert_eq!(kept("/docs/secret.pdf/."), ["/docs/secret.pdf"]);
        assert_eq!(kept("/docs/secret.pdf/x/..?y"), ["/docs/secret.pdf?y"]);
        assert!(kept("/docs/secret.pdf/.//").contains(&"/docs/secret.pdf".to_owned()));
        assert!(kept("/docs/secret.pdf%2f.").contains(&"/docs/secret.pdf".to_owned()));
        assert!(kept("/.").is_empty() && kept("/a/").is_empty());
    }

    #[test]
    fn a_query_is_decoded_once_more_and_otherwise_left_alone() {
        for query in ["?u=//x/../private/", "?u=https%3A%2F%2Fx%2F%3Fa%3Db%26c=%5C..%2f", "?a/../b", "?50%25"]
        {
            assert!(kept(&format!("/a{query}")).is_empty(), "{query}");
        }
        assert_eq!(kept("/a?%2570=%252e"), ["/a?%70=%2e"]);
        assert_eq!(kept("/a?q%3Dx%26y"), ["/a?q=x%26y"]);
        assert_eq!(kept("/a?b%26q=x&c%3Dd"), ["/a?b&q=x&c=d"]);
        assert_eq!(kept("//a?q=//b"), ["/a?q=//b", "/?q=//b"]);
        assert_eq!(kept("/a//b?%2570").len(), 3);
    }

    #[test]
    fn parameters_are_dropped_only_where_the_site_says_so() {
        assert!(kept("/private;v=1/x").is_empty());
        assert_eq!(readings("/private;v=1/x;y", PathParameters::Drop), ["/private/x"]);
        assert!(readings("/x/..;y/private", PathParameters::Drop).contains(&"/private".to_owned()));
    }

    #[test]
    fn there_are_as_many_readings_as_are_followed_and_no_more() {
        let has_more =
            |sent: &str| RequestTarget::new(sent.as_bytes(), PathParameters::Keep).has_more_readings();
        // One path for each authority, and one more with slashes merged.
        let deep = |depth: usize| format!("/{}x", "/a".repeat(depth).replace('/', "//"));
        assert!(!has_more(&deep(5)));
        assert!(has_more(&deep(100)));
        // The path as sent, and the one that it is read as.
        let long = |length: usize| format!("/a//{}", "b".repeat(length));
        assert!(!has_more(&long(8_000)));
        assert!(has_more(&long(36 * 1024 / 2)));
        // An escape or a slash costs as much as sixteen letters.
        let encoded = |start: &str, count: usize| format!("{start}{}", "%20".repeat(count));
        assert!(!has_more(&encoded("/a//", 450)) && has_more(&encoded("/a//", 1_500)));
        assert!(!has_more(&encoded("/?%2570", 1_000)) && has_more(&encoded("/?%2570", 2_000)));
        assert!(!has_more(&encoded("/", 2_700)) && !has_more(&encoded("/?a=%3D", 2_700)));
        let folders = |count: usize| format!("//{}", "a/".repeat(count));
        assert!(!has_more(&folders(300)) && has_more(&folders(1_500)));
        // Percent signs that stand for themselves have a bound of their own.
        let percents = |sign: &str, count: usize| format!("/{}", sign.repeat(count));
        assert!(!has_more(&percents("%25", 512)) && has_more(&percents("%25", 513)));
        assert!(!has_more(&percents("%", 256)) && has_more(&percents("%", 257)));
    }

    #[test]
    fn a_challenge_is_one_segment_as_sent() {
        let is_challenge =
            |sent: &str| RequestTarget::new(sent.as_bytes(), PathParameters::Keep).is_acme_challenge();
        assert!(is_challenge("/.well-known/acme-challenge/aZ09-_"));
        for rest in ["", "a/", "a/b", "a?b", "a.b", "a%2e", "a\\b", "../account", "../../account", "a;b"] {
            assert!(!is_challenge(&format!("/.well-known/acme-challenge/{rest}")), "{rest}");
        }
        assert!(
            !is_challenge("//.well-known/acme-challenge/a") && !is_challenge("/.well-known/acme-challengea")
        );
    }

    /// What is robots.txt, what could be where the gateway answers it, and what is where another program does.
    fn as_robots_txt(sent: &str) -> [bool; 3] {
        let here = RequestTarget::new(sent.as_bytes(), PathParameters::Keep);
        let elsewhere = here.clone().answered_elsewhere();
        [here.is_robots_txt(), here.may_be_robots_txt(), elsewhere.is_robots_txt()]
    }

    #[test]
    fn robots_txt_is_known_in_every_spelling() {
        for sent in [
            "/robots.txt",
            "/robots.txt?x=1",
            "/robots.txt?a%3Db=%2570/../x",
            "/./robots.txt",
            "/a/../robots.txt",
            "/%72obots.txt",
            "/robots%2Etxt",
        ] {
            assert_eq!(as_robots_txt(sent), [true; 3], "{sent}");
        }
        for sent in ["//robots.txt", "///robots.txt?x", "//%72obots.txt"] {
            assert_eq!(as_robots_txt(sent), [true, true, false], "{sent}");
        }
        for sent in [
            "/ROBOTS.TXT",
            "/robots.txt/",
            "/robots.txtx",
            "/robots.tx",
            "/a/robots.txt",
            "/?/robots.txt",
            "/",
        ] {
            assert_eq!(as_robots_txt(sent), [false; 3], "{sent}");
        }
    }

    #[test]
    fn what_could_be_another_page_is_no_robots_txt() {
        for sent in [
            "/robots.txt%2F..\\x.html\\/%2E%2e",
            "/robots.txt/..;%252fopen%5Cx/../.%2e/x.html//..",
            "/robots.txt/..%2Fdoc%73%5csecret.pdf%5c%2e%2e%2e/..",
            "/private\\x/../robots.txt",
            "/private%2fx/../robots.txt",
            "/private%252fx/../robots.txt",
            "/%2Frobots.txt",
            "/%2572obots.txt",
            "/robots.txt/.",
            "/robots.txt%3F",
            "/a%2f..%5crobots.txt",
            "//x/robots.txt",
        ] {
            assert_eq!(as_robots_txt(sent), [false, true, false], "{sent}");
        }
        let many = format!("/{}../robots.txt", "a\\b%2f/".repeat(400));
        assert!(!as_robots_txt(&many)[0], "more readings than are followed");
    }

    #[test]
    fn origin_form_is_found_in_every_form_that_has_a_path() {
        let form =
            |sent: &str| origin_form(sent.as_bytes()).map(|path| String::from_utf8(path.to_vec()).unwrap());
        assert_eq!(form("/a?b").as_deref(), Some("/a?b"));
        assert_eq!(form("/a#b").as_deref(), Some("/a"));
        assert_eq!(form("http://h/a?b").as_deref(), Some("/a?b"));
        assert_eq!(form("HTTPS://h").as_deref(), Some("/"));
        assert_eq!(form("http://h?b").as_deref(), Some("/?b"));
        assert_eq!(form("*"), None);
        assert_eq!(form("h:443"), None);
        assert_eq!(form("ftp://h/a"), None);
    }
}
