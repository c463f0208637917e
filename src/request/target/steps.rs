//! What an origin may do to a path before it looks a page up, one thing at a time.
//!
//! A step is what one component does; [`readings`](super::readings) combines them. Here is the path alone: what follows
//! a `?` or `#`, no step touches. A `#` is never sent; [`decode_once`] writes one where an origin would end the target.

use super::PathParameters;

/// One thing that origins do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Resolves dot segments (RFC 3986 §5.2.4).
    ResolveDots,
    /// Makes one slash of several.
    MergeSlashes,
    /// Takes `%2F` for a slash.
    DecodeSlash,
    /// Takes `\` for a slash, as the WHATWG URL standard does.
    TurnBackslash,
    /// Takes `%5C` for a slash.
    DecodeBackslash,
    /// Decodes what is decoded already.
    DecodeOnce,
    /// Takes `//x/y` for the path `/y` at the host `x` (RFC 3986 §4.2).
    StripAuthority,
    /// Resolves dot segments, and drops the slash that one leaves at the end, as functions for names of files do.
    ResolveDotsAndSlash,
    /// Drops `;parameters`.
    DropParameters,
}

impl Step {
    /// All of them, the more usual ones first.
    pub(super) const ALL: [Self; 9] = [
        Self::ResolveDots,
        Self::MergeSlashes,
        Self::DecodeSlash,
        Self::TurnBackslash,
        Self::DecodeBackslash,
        Self::DecodeOnce,
        Self::StripAuthority,
        Self::ResolveDotsAndSlash,
        Self::DropParameters,
    ];

    const fn bit(self) -> u16 {
        1 << self as u16
    }

    /// What it makes of a path that it [changes](Steps::of).
    pub(super) fn take(self, path: &[u8], parameters: PathParameters) -> Vec<u8> {
        match self {
            Self::ResolveDots => without_dots(path),
            Self::ResolveDotsAndSlash => {
                let mut resolved = without_dots(path);
                while resolved.len() > 1 && resolved.last() == Some(&b'/') {
                    resolved.pop();
                }
                resolved
            }
            Self::MergeSlashes => merged(path),
            Self::DecodeSlash => turned(path, is_encoded_slash),
            Self::TurnBackslash => turned(path, |rest| matches!(rest, [b'\\', ..]).then_some(1)),
            Self::DecodeBackslash => turned(path, is_encoded_backslash),
            Self::DecodeOnce => decoded_once(path, parameters),
            Self::StripAuthority => without_authority(path),
            Self::DropParameters => without_parameters(path),
        }
    }
}

/// Steps that change something, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps(u16);

impl Steps {
    /// The steps that change `path`, found in one pass.
    pub(super) fn of(path: &[u8], parameters: PathParameters) -> Self {
        let mut steps = Self::default();
        let mut rest = path;
        while let Some((byte, tail)) = rest.split_first() {
            match byte {
                b'/' => steps.add_at_slash(tail),
                b'\\' => steps.add(Step::TurnBackslash),
                b'%' => steps.add_at_percent(rest, parameters),
                b';' if parameters == PathParameters::Drop => steps.add(Step::DropParameters),
                _ => {}
            }
            rest = tail;
        }
        if matches!(path, [b'/' | b'\\', b'/' | b'\\', ..]) {
            steps.add(Step::StripAuthority);
        }
        steps
    }

    pub(super) const fn has(self, step: Step) -> bool {
        self.0 & step.bit() != 0
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn add(&mut self, step: Step) {
        self.0 |= step.bit();
    }

    fn add_at_slash(&mut self, segment: &[u8]) {
        if segment.first() == Some(&b'/') {
            self.add(Step::MergeSlashes);
        }
        let Some(rest) = after_dots(segment) else { return };
        self.add(Step::ResolveDots);
        if rest.iter().all(|byte| *byte == b'/') {
            self.add(Step::ResolveDotsAndSlash);
        }
    }

    fn add_at_percent(&mut self, rest: &[u8], parameters: PathParameters) {
        if is_encoded_slash(rest).is_some() {
            self.add(Step::DecodeSlash);
        } else if is_encoded_backslash(rest).is_some() {
            self.add(Step::DecodeBackslash);
        } else if encoded_delimiter(rest, parameters).is_some() || escape_of_escape(rest).is_some() {
            self.add(Step::DecodeOnce);
        }
    }
}

/// Whether a segment of `path` means its own folder or the one above.
pub(super) fn has_dots(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|segment| segment_kind(segment) != Segment::Name)
}

/// What one path segment means to a URL parser (RFC 3986 §5.2.4; WHATWG URL: `%2e` is a dot).
#[derive(PartialEq)]
enum Segment {
    Name,
    Here,
    Up,
}

fn segment_kind(segment: &[u8]) -> Segment {
    let Some(rest) = after_dot(segment) else { return Segment::Name };
    match (rest, after_dot(rest)) {
        ([], _) => Segment::Here,
        (_, Some([])) => Segment::Up,
        _ => Segment::Name,
    }
}

fn after_dot(segment: &[u8]) -> Option<&[u8]> {
    match segment {
        [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// What follows the dot segment that `path` begins with, where it does: nothing, or a slash and more.
fn after_dots(path: &[u8]) -> Option<&[u8]> {
    let rest = after_dot(path)?;
    let rest = after_dot(rest).unwrap_or(rest);
    matches!(rest, [] | [b'/', ..]).then_some(rest)
}

/// `path` with dot segments resolved. A last one names a folder, so its slash stays.
pub(super) fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut resolved: Vec<u8> = Vec::with_capacity(path.len());
    let mut segments = path.split(|byte| *byte == b'/').skip(1).peekable();
    while let Some(segment) = segments.next() {
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
        if segments.peek().is_none() {
            resolved.push(b'/');
        }
    }
    resolved
}

fn merged(path: &[u8]) -> Vec<u8> {
    let mut merged = path.to_vec();
    merged.dedup_by(|byte, before| *byte == b'/' && *before == b'/');
    merged
}

fn is_encoded_slash(path: &[u8]) -> Option<usize> {
    matches!(path, [b'%', b'2', b'f' | b'F', ..]).then_some(3)
}

fn is_encoded_backslash(path: &[u8]) -> Option<usize> {
    matches!(path, [b'%', b'5', b'c' | b'C', ..]).then_some(3)
}

/// `path` with a slash for each run of bytes that `find` finds at a place, by its length.
fn turned(path: &[u8], find: impl Fn(&[u8]) -> Option<usize>) -> Vec<u8> {
    let mut turned = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, tail)) = rest.split_first() {
        let found = find(rest).and_then(|length| rest.get(length..));
        turned.push(if found.is_some() { b'/' } else { *byte });
        rest = found.unwrap_or(tail);
    }
    turned
}

/// The byte that `path` begins with, decoded, and what follows.
fn decoded(path: &[u8]) -> Option<(u8, &[u8])> {
    match path {
        [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            Some((hex(*high) << 4 | hex(*low), rest))
        }
        [byte, rest @ ..] => Some((*byte, rest)),
        [] => None,
    }
}

const fn hex(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20).wrapping_sub(b'a').wrapping_add(10),
    }
}

/// The escape that appears where `path` begins once it is decoded, and what follows: `%2570` and `%25%37%30`
/// become `%70`.
fn escape_of_escape(path: &[u8]) -> Option<([u8; 3], &[u8])> {
    let (b'%', rest) = decoded(path)? else { return None };
    let (high, rest) = decoded(rest).filter(|(high, _)| high.is_ascii_hexdigit())?;
    let (low, rest) = decoded(rest).filter(|(low, _)| low.is_ascii_hexdigit())?;
    Some(([b'%', high, low], rest))
}

/// An encoded byte that is not the same as the raw one: a delimiter, which an origin that decodes before it takes the
/// target apart takes it apart by.
fn encoded_delimiter(path: &[u8], parameters: PathParameters) -> Option<(u8, &[u8])> {
    let [b'%', _, _, ..] = path else { return None };
    decoded(path).filter(|(byte, _)| match byte {
        b'=' | b'&' | b'?' | b'#' => true,
        b';' => parameters == PathParameters::Drop,
        _ => false,
    })
}

/// `path` as an origin that decodes twice has it before the second time. Slashes are steps of their own.
fn decoded_once(path: &[u8], parameters: PathParameters) -> Vec<u8> {
    let mut once = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((byte, tail)) = rest.split_first() {
        if let Some((escape, after)) = escape_of_escape(rest) {
            once.extend_from_slice(&escape);
            rest = after;
        } else if let Some((delimiter, after)) = encoded_delimiter(rest, parameters) {
            once.push(delimiter);
            rest = after;
        } else {
            once.push(*byte);
            rest = tail;
        }
    }
    once
}

/// `query` decoded once more; `None` where that changes nothing. `=` and `&` are found in names only: encoded in a
/// value they are what every form sends.
pub(super) fn decoded_query(query: &[u8]) -> Option<Vec<u8>> {
    // Nearly every query: it must cost no copy.
    memchr::memchr(b'%', query)?;
    let mut once = Vec::with_capacity(query.len());
    let mut rest = query;
    let mut in_name = true;
    while let Some((byte, tail)) = rest.split_first() {
        if let Some((escape, after)) = escape_of_escape(rest) {
            once.extend_from_slice(&escape);
            rest = after;
            continue;
        }
        let delimiter = decoded(rest).filter(|(byte, _)| in_name && matches!(byte, b'=' | b'&'));
        let (byte, after) = delimiter.unwrap_or((*byte, tail));
        match byte {
            b'=' => in_name = false,
            b'&' => in_name = true,
            _ => {}
        }
        once.push(byte);
        rest = after;
    }
    (once != query).then_some(once)
}

/// What follows the first segment, however many slashes stand before it: the WHATWG URL standard ignores more than two.
fn without_authority(path: &[u8]) -> Vec<u8> {
    let is_slash = |byte: &u8| matches!(byte, b'/' | b'\\');
    let host = path.iter().position(|byte| !is_slash(byte)).unwrap_or(path.len());
    let host = path.get(host..).unwrap_or_default();
    let rest = host.iter().position(is_slash).and_then(|at| host.get(at + 1..)).unwrap_or_default();
    [b"/", rest].concat()
}

fn without_parameters(path: &[u8]) -> Vec<u8> {
    let mut is_parameter = false;
    let keep = |byte: &&u8| {
        is_parameter = **byte != b'/' && (is_parameter || **byte == b';');
        !is_parameter
    };
    path.iter().filter(keep).copied().collect()
}
