//! Which path of a request is judged.
//!
//! RFC 9309 §2.2.2 compares octets of the path and query. Between the octets a client sends and the
//! page an origin serves stand conventions that are no part of that standard: dot segments, merged
//! slashes, an encoded slash that the origin decodes, an escape that it decodes twice. [`Target`] holds both readings: the path *as any
//! URL parser reads it*, which is judged, and the path *as an origin may fold it*, which may not reach
//! a disallowed page unseen. The request itself is forwarded as it came.

use std::borrow::Cow;

/// Where `;parameters` of a path segment stand when an origin looks a page up (RFC 3986 §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathParameters {
    /// They are part of the path, as for most origins.
    #[default]
    Keep,
    /// The origin drops them before it looks the page up, as servlet containers do.
    Drop,
}

/// A request target in the forms it is judged in.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    judged: Cow<'a, [u8]>,
    folded: Vec<Vec<u8>>,
}

/// The one path that every crawler may always fetch (RFC 9309 §2.2.2).
const ROBOTS_TXT: &[u8] = b"/robots.txt";

impl<'a> Target<'a> {
    /// Reads `sent`, an origin-form target (see [`origin_form`]).
    #[must_use]
    pub fn new(sent: &'a [u8], parameters: PathParameters) -> Self {
        if is_plain(sent, parameters) {
            return Self { judged: Cow::Borrowed(sent), folded: Vec::new() };
        }
        let judged = resolve_dots(sent);
        let folded = foldings(sent, &judged, parameters);
        Self { judged, folded }
    }

    /// Path and query with dot segments resolved: what the rules are asked about.
    #[must_use]
    pub fn judged(&self) -> &[u8] {
        &self.judged
    }

    /// Path and query after slashes merge and `%2F`, `%5C` and `\` become slashes, where that differs. An
    /// origin may fold before it resolves dot segments or after; both readings count.
    pub fn folded(&self) -> impl Iterator<Item = &[u8]> {
        self.folded.iter().map(Vec::as_slice)
    }

    /// Whether the path lies below `folder`, however an origin reads it.
    #[must_use]
    pub fn is_below(&self, folder: &[u8]) -> bool {
        std::iter::once(self.judged()).chain(self.folded()).all(|path| path.starts_with(folder))
    }

    /// Whether this is `/robots.txt` in any spelling: with a query, with encoded letters, or folded.
    #[must_use]
    pub fn is_robots_txt(&self) -> bool {
        std::iter::once(self.judged()).chain(self.folded()).any(names_robots_txt)
    }
}

/// The origin-form of a request target as sent: itself, or the path and query of an absolute-form
/// (RFC 9112 §3.2.2). `None` for `*`, an authority, or anything else that names no path.
#[must_use]
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
    match rest.iter().position(|octet| matches!(octet, b'/' | b'?')) {
        Some(start) if rest.get(start) == Some(&b'/') => rest.get(start..).map(Cow::Borrowed),
        Some(start) => Some(Cow::Owned([b"/", rest.get(start..)?].concat())),
        None => Some(Cow::Borrowed(b"/")),
    }
}

fn before(octets: &[u8], end: u8) -> &[u8] {
    memchr::memchr(end, octets).and_then(|at| octets.get(..at)).unwrap_or(octets)
}

fn split_query(target: &[u8]) -> (&[u8], &[u8]) {
    let at = memchr::memchr(b'?', target).unwrap_or(target.len());
    target.split_at_checked(at).unwrap_or((target, b""))
}

/// Whether a path has nothing that could be read in another way: no dot begins a segment, no slash follows a slash,
/// and no octet stands for another. Nearly every path is such a one, and is looked at once.
fn is_plain(target: &[u8], parameters: PathParameters) -> bool {
    let (path, _) = split_query(target);
    let drops = parameters == PathParameters::Drop;
    let is_special = |octet: u8| matches!(octet, b'%' | b'\\') || (drops && octet == b';');
    let turns = |(before, octet): (&u8, &u8)| *before == b'/' && matches!(octet, b'/' | b'.');
    let after = path.get(1..).unwrap_or_default();
    // Without a branch for each octet.
    let pairs = path.iter().zip(after);
    path.starts_with(b"/") && !pairs.fold(false, |found, pair| found | turns(pair) | is_special(*pair.1))
}

/// What one path segment means to a URL parser (RFC 3986 §5.2.4; WHATWG URL: `%2e` is a dot).
#[derive(PartialEq)]
enum Segment {
    Name,
    Here,
    Up,
}

fn segment_kind(segment: &[u8]) -> Segment {
    let Some(rest) = strip_dot(segment) else { return Segment::Name };
    if rest.is_empty() {
        return Segment::Here;
    }
    match strip_dot(rest) {
        Some([]) => Segment::Up,
        _ => Segment::Name,
    }
}

fn strip_dot(segment: &[u8]) -> Option<&[u8]> {
    match segment {
        [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// Resolves dot segments of the path; the query is left alone. Borrows where there are none.
fn resolve_dots(target: &[u8]) -> Cow<'_, [u8]> {
    let (path, query) = split_query(target);
    if !path.split(|octet| *octet == b'/').any(|segment| segment_kind(segment) != Segment::Name) {
        return Cow::Borrowed(target);
    }
    let mut resolved = without_dots(path);
    resolved.extend_from_slice(query);
    Cow::Owned(resolved)
}

fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut resolved: Vec<u8> = Vec::with_capacity(path.len());
    let mut segments = path.split(|octet| *octet == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment_kind(segment) {
            Segment::Name => {
                resolved.push(b'/');
                resolved.extend_from_slice(segment);
                continue;
            }
            Segment::Here => {}
            Segment::Up => {
                let parent = memchr::memrchr(b'/', &resolved).unwrap_or(0);
                resolved.truncate(parent);
            }
        }
        // A final `.` or `..` names a folder, so its slash stays.
        if last {
            resolved.push(b'/');
        }
    }
    resolved
}

/// The readings of an origin that folds, each once and without the one that is judged anyway.
fn foldings(sent: &[u8], judged: &[u8], parameters: PathParameters) -> Vec<Vec<u8>> {
    let mut foldings: Vec<Vec<u8>> = Vec::new();
    let mut note = |folded: Vec<u8>| {
        if folded != judged && !foldings.contains(&folded) {
            foldings.push(folded);
        }
    };
    let decoded = undoubled(sent);
    let dotless = decoded.as_deref().map(resolve_dots);
    for target in [Some(sent), Some(judged), decoded.as_deref(), dotless.as_deref()].into_iter().flatten() {
        let (path, query) = split_query(target);
        if let Some(folded) = fold(path, parameters) {
            note([folded.as_slice(), query].concat());
        }
    }
    if let Some(target) = dotless {
        note(target.into_owned());
    }
    foldings
}

/// The path as an origin that decodes it more than once would see it before the last time: `%25` and two
/// digits are an escape of their own, however often that is done. `None` where there is none.
fn undoubled(target: &[u8]) -> Option<Vec<u8>> {
    let (path, query) = split_query(target);
    // Nearly every path: it must cost no copy.
    memchr::memchr(b'%', path)?;
    let mut decoded: Vec<u8> = Vec::with_capacity(path.len());
    let mut rest = path;
    let mut is_changed = false;
    while let Some((octet, tail)) = rest.split_first() {
        decoded.push(*octet);
        rest = tail;
        if let [b'%', b'2', b'5'] = decoded.get(decoded.len().saturating_sub(3)..).unwrap_or_default()
            && let [high, low, ..] = rest
            && high.is_ascii_hexdigit()
            && low.is_ascii_hexdigit()
        {
            decoded.truncate(decoded.len() - 2);
            is_changed = true;
        }
    }
    is_changed.then(|| [decoded.as_slice(), query].concat())
}

/// The path as an origin that merges slashes and decodes `%2F` and `%5C` would look it up; `None`
/// where that changes nothing.
fn fold(path: &[u8], parameters: PathParameters) -> Option<Vec<u8>> {
    let drops = parameters == PathParameters::Drop;
    if !needs_folding(path, drops) {
        return None;
    }
    let mut folded: Vec<u8> = Vec::with_capacity(path.len());
    let mut rest = path;
    let mut in_parameters = false;
    while let Some((octet, tail)) = next_folded(rest) {
        rest = tail;
        match octet {
            b'/' if folded.last() == Some(&b'/') => in_parameters = false,
            b'/' => {
                in_parameters = false;
                folded.push(b'/');
            }
            b';' if drops => in_parameters = true,
            _ if in_parameters => {}
            _ => folded.push(octet),
        }
    }
    let folded = without_dots(&folded);
    (folded != path).then_some(folded)
}

fn needs_folding(path: &[u8], drops_parameters: bool) -> bool {
    path.windows(2).any(|pair| pair == b"//")
        || memchr::memchr2(b'%', b'\\', path).is_some()
        || (drops_parameters && memchr::memchr(b';', path).is_some())
}

/// The next octet of a folded path: a slash for `/`, `\`, `%2F` and `%5C`, else the octet itself.
fn next_folded(path: &[u8]) -> Option<(u8, &[u8])> {
    match path {
        [b'%', b'2', b'f' | b'F', rest @ ..]
        | [b'%', b'5', b'c' | b'C', rest @ ..]
        | [b'/' | b'\\', rest @ ..] => Some((b'/', rest)),
        [octet, rest @ ..] => Some((*octet, rest)),
        [] => None,
    }
}

fn names_robots_txt(target: &[u8]) -> bool {
    let mut path = target;
    for expected in ROBOTS_TXT {
        let (octet, rest) = match path {
            [b'%', high, low, rest @ ..] => match hex_octet(*high, *low) {
                Some(octet) => (octet, rest),
                None => return false,
            },
            [octet, rest @ ..] => (*octet, rest),
            [] => return false,
        };
        if octet != *expected {
            return false;
        }
        path = rest;
    }
    matches!(path, [] | [b'?', ..])
}

fn hex_octet(high: u8, low: u8) -> Option<u8> {
    let digit = |octet: u8| char::from(octet).to_digit(16);
    u8::try_from(digit(high)? * 16 + digit(low)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(sent: &str) -> String {
        let target = Target::new(sent.as_bytes(), PathParameters::Keep);
        String::from_utf8(target.judged().to_vec()).unwrap()
    }

    fn folded(sent: &str, parameters: PathParameters) -> Option<String> {
        let target = Target::new(sent.as_bytes(), parameters);
        target.folded().next().map(|path| String::from_utf8(path.to_vec()).unwrap())
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
        let octets = *b"/./;%\\a?";
        for number in 0..octets.len().pow(5) {
            let place = |at: u32| octets[number / octets.len().pow(at) % octets.len()];
            let sent: Vec<u8> = std::iter::once(b'/').chain((0..5).map(place)).collect();
            for parameters in [PathParameters::Keep, PathParameters::Drop] {
                if is_plain(&sent, parameters) {
                    let shown = String::from_utf8_lossy(&sent);
                    assert_eq!(resolve_dots(&sent), sent, "{shown}");
                    assert!(foldings(&sent, &sent, parameters).is_empty(), "{shown}");
                }
            }
        }
        assert!(is_plain(b"/a.b/c;d?x=//..%2f", PathParameters::Keep));
        assert!(!is_plain(b"/a.b/c;d", PathParameters::Drop));
    }

    #[test]
    fn folding_merges_slashes_and_decodes_the_encoded_ones() {
        let keep = PathParameters::Keep;
        assert_eq!(folded("/a/b", keep), None);
        assert_eq!(folded("/a%20b", keep), None);
        assert_eq!(folded("//a///b", keep).as_deref(), Some("/a/b"));
        assert_eq!(folded("/a%2Fb%5cc", keep).as_deref(), Some("/a/b/c"));
        assert_eq!(folded("/a\\b", keep).as_deref(), Some("/a/b"));
        assert_eq!(folded("/a/..%2fprivate/x", keep).as_deref(), Some("/private/x"));
        assert_eq!(folded("//a?q=//b", keep).as_deref(), Some("/a?q=//b"));
    }

    #[test]
    fn folding_before_and_after_the_dots_are_two_readings() {
        let target = Target::new(b"/x/y//..//../private", PathParameters::Keep);
        assert_eq!(target.judged(), b"/x/y/private");
        assert_eq!(target.folded().collect::<Vec<_>>(), [b"/private"]);
        let target = Target::new(b"/private/x//../..", PathParameters::Keep);
        assert_eq!(target.judged(), b"/private/");
        assert_eq!(target.folded().collect::<Vec<_>>(), [b"/"]);
    }

    #[test]
    fn escapes_of_escapes_are_one_more_reading() {
        let folded = |sent: &str| -> Vec<String> {
            let target = Target::new(sent.as_bytes(), PathParameters::Keep);
            target.folded().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
        };
        assert_eq!(folded("/%2570rivate?%2570"), ["/%70rivate?%2570"]);
        assert_eq!(folded("/%252570rivate"), ["/%70rivate"]);
        assert_eq!(folded("/a%252Fb"), ["/a/b", "/a%2Fb"]);
        assert_eq!(folded("/x/%252e%252e/private"), ["/private"]);
        assert!(folded("/100%25").is_empty() && folded("/a%25zz").is_empty());
    }

    #[test]
    fn below_a_folder_means_in_every_reading() {
        let below = |sent: &[u8]| Target::new(sent, PathParameters::Keep).is_below(b"/open/");
        assert!(below(b"/open/x") && below(b"/open//x") && !below(b"/x"));
        assert!(!below(b"/open/..%2fprivate"));
    }

    #[test]
    fn parameters_are_dropped_only_where_the_site_says_so() {
        assert_eq!(folded("/private;v=1/x", PathParameters::Keep), None);
        assert_eq!(folded("/private;v=1/x;y", PathParameters::Drop).as_deref(), Some("/private/x"));
    }

    #[test]
    fn robots_txt_is_known_in_every_spelling() {
        for sent in [
            "/robots.txt",
            "/robots.txt?x=1",
            "//robots.txt",
            "/./robots.txt",
            "/a/../robots.txt",
            "/%72obots.txt",
            "/%2Frobots.txt",
            "/robots%2Etxt",
            "\\robots.txt",
        ] {
            assert!(Target::new(sent.as_bytes(), PathParameters::Keep).is_robots_txt(), "{sent}");
        }
        for sent in
            ["/ROBOTS.TXT", "/robots.txt/", "/robots.txtx", "/robots.tx", "/a/robots.txt", "/?/robots.txt"]
        {
            assert!(!Target::new(sent.as_bytes(), PathParameters::Keep).is_robots_txt(), "{sent}");
        }
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
