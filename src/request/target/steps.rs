//! What an origin may do to a path before it looks a page up, one thing at a time.
//!
//! A step is what one component does; [`readings`](super::readings) combines them. Here is the path alone: what follows
//! a `?` or `#`, no step touches. A `#` is never sent; [`PathStep::DecodeEnd`] writes one where an origin would end the target.

use super::PathParameters;
use crate::robots::hex_byte;

/// One thing that origins do; the more usual ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub(super) enum PathStep {
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
    /// Takes an encoded `=` or `&` for the raw one, and an encoded `;` where it begins a parameter.
    DecodeDelimiter,
    /// Takes `%3F` and `%23` for the end of the path. An origin that decodes a path alone has them in it still.
    DecodeEnd,
    /// Takes `//x/y` for the path `/y` at the host `x` (RFC 3986 §4.2).
    StripAuthority,
    /// Resolves dot segments, and drops the slash that one leaves at the end, as functions for names of files do.
    ResolveDotsAndSlash,
    /// Drops `;parameters`.
    DropParameters,
}

impl PathStep {
    /// What it makes of `path`, where it changes that.
    pub(super) fn take(self, path: &[u8], parameters: PathParameters) -> Option<Vec<u8>> {
        let has = |byte| memchr::memchr(byte, path).is_some();
        match self {
            Self::ResolveDots => has_dots(path).then(|| without_dots(path)),
            Self::ResolveDotsAndSlash => ends_with_dots(path).then(|| {
                let mut resolved = without_dots(path);
                while resolved.len() > 1 && resolved.last() == Some(&b'/') {
                    resolved.pop();
                }
                resolved
            }),
            Self::MergeSlashes => memchr::memmem::find(path, b"//").map(|_| merged(path)),
            Self::DecodeSlash => rewritten(path, |rest| escape_to_slash(rest, b'/')),
            Self::TurnBackslash => has(b'\\')
                .then(|| path.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect()),
            Self::DecodeBackslash => rewritten(path, |rest| escape_to_slash(rest, b'\\')),
            Self::DecodeOnce => rewritten(path, escape_of_escape),
            Self::DecodeDelimiter => {
                rewritten(path, |rest| escape_of(rest, |byte| is_delimiter(byte, parameters)))
            }
            Self::DecodeEnd => rewritten(path, |rest| escape_of(rest, |byte| matches!(byte, b'?' | b'#'))),
            Self::StripAuthority => {
                matches!(path, [b'/' | b'\\', b'/' | b'\\', ..]).then(|| without_authority(path))
            }
            Self::DropParameters => {
                (parameters == PathParameters::Drop && has(b';')).then(|| without_parameters(path))
            }
        }
    }
}

/// What begins with each `%` of `path`.
pub(super) fn at_percents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'%', path).filter_map(|at| path.get(at..))
}

/// Whether a segment of `path` means its own folder or the one above.
pub(super) fn has_dots(path: &[u8]) -> bool {
    dot_segments(path).next().is_some()
}

/// A segment that means a folder (RFC 3986 §5.2.4; WHATWG URL: `%2e` is a dot).
struct DotSegment {
    /// Where the slash before it is, and where it ends: with the path, or with a slash.
    slash: usize,
    end: usize,
    /// Whether it means the folder above.
    is_up: bool,
}

/// The dot segments of `path`.
fn dot_segments(path: &[u8]) -> impl Iterator<Item = DotSegment> {
    memchr::memchr_iter(b'/', path).filter_map(|slash| {
        let rest = path.get(slash + 1..).filter(|rest| matches!(rest, [b'.' | b'%', ..]))?;
        let (is_up, after) = after_dots(rest)?;
        Some(DotSegment { slash, end: path.len() - after.len(), is_up })
    })
}

/// Whether `path` ends with a dot segment; slashes may follow it.
fn ends_with_dots(path: &[u8]) -> bool {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    let path = path.get(..end).unwrap_or_default();
    let last = memchr::memrchr(b'/', path).and_then(|at| path.get(at + 1..));
    last.is_some_and(|last| after_dots(last).is_some())
}

fn after_dot(segment: &[u8]) -> Option<&[u8]> {
    match segment {
        [b'.', rest @ ..] | [b'%', b'2', b'e' | b'E', rest @ ..] => Some(rest),
        _ => None,
    }
}

/// What follows the dot segment that `path` begins with, where it does, and whether that means the folder above.
fn after_dots(path: &[u8]) -> Option<(bool, &[u8])> {
    let rest = after_dot(path)?;
    let above = after_dot(rest);
    let rest = above.unwrap_or(rest);
    matches!(rest, [] | [b'/', ..]).then_some((above.is_some(), rest))
}

/// `path` with dot segments resolved. A last one names a folder, so its slash stays.
pub(super) fn without_dots(path: &[u8]) -> Vec<u8> {
    let mut resolved: Vec<u8> = Vec::with_capacity(path.len());
    let mut written = 0;
    for DotSegment { slash, end, is_up } in dot_segments(path) {
        resolved.extend_from_slice(path.get(written..slash).unwrap_or_default());
        if is_up {
            resolved.truncate(memchr::memrchr(b'/', &resolved).unwrap_or(0));
        }
        if end == path.len() {
            resolved.push(b'/');
        }
        written = end;
    }
    resolved.extend_from_slice(path.get(written..).unwrap_or_default());
    resolved
}

fn merged(path: &[u8]) -> Vec<u8> {
    let mut merged = path.to_vec();
    merged.dedup_by(|byte, before| *byte == b'/' && *before == b'/');
    merged
}

/// The byte that `path` begins with, if it is encoded, and what follows.
#[inline]
pub(super) fn encoded(path: &[u8]) -> Option<(u8, &[u8])> {
    let [b'%', high, low, rest @ ..] = path else { return None };
    Some((hex_byte(*high, *low)?, rest))
}

/// The byte that `path` begins with, decoded, and what follows.
pub(super) fn decoded(path: &[u8]) -> Option<(u8, &[u8])> {
    encoded(path).or_else(|| path.split_first().map(|(byte, rest)| (*byte, rest)))
}

/// `path` with what `escape` makes of that which begins with a `%`: some bytes, and what follows, or nothing. `None` where it
/// makes nothing of any.
fn rewritten<const N: usize>(
    path: &[u8],
    escape: impl Fn(&[u8]) -> Option<([u8; N], &[u8])>,
) -> Option<Vec<u8>> {
    let (mut changed, mut written) = (Vec::new(), 0);
    for at in memchr::memchr_iter(b'%', path) {
        let rest = path.get(at..).filter(|_| at >= written);
        if let Some((bytes, after)) = rest.and_then(&escape) {
            changed.extend_from_slice(path.get(written..at).unwrap_or_default());
            changed.extend_from_slice(&bytes);
            written = path.len() - after.len();
        }
    }
    if written == 0 {
        return None;
    }
    changed.extend_from_slice(path.get(written..).unwrap_or_default());
    Some(changed)
}

/// The byte that `path` begins with, if it is encoded and one of those that are `wanted`, and what follows.
fn escape_of(path: &[u8], wanted: impl Fn(u8) -> bool) -> Option<([u8; 1], &[u8])> {
    encoded(path).filter(|(byte, _)| wanted(*byte)).map(|(byte, after)| ([byte], after))
}

/// A slash where `path` begins with this byte, encoded, and what follows.
fn escape_to_slash(path: &[u8], wanted: u8) -> Option<([u8; 1], &[u8])> {
    escape_of(path, |byte| byte == wanted).map(|(_, after)| ([b'/'], after))
}

/// The escape that appears where `path` begins once it is decoded, and what follows: `%2570` and `%25%37%30`
/// become `%70`.
pub(super) fn escape_of_escape(path: &[u8]) -> Option<([u8; 3], &[u8])> {
    // Nearly every escape is of another byte than `%`.
    if encoded(path).is_some_and(|(byte, _)| byte != b'%') {
        return None;
    }
    let (b'%', rest) = decoded(path)? else { return None };
    let (high, rest) = decoded(rest).filter(|(high, _)| high.is_ascii_hexdigit())?;
    let (low, rest) = decoded(rest).filter(|(low, _)| low.is_ascii_hexdigit())?;
    Some(([b'%', high, low], rest))
}

/// Bytes that are not the same encoded and raw (RFC 9309 §2.2.2), slashes apart.
const fn is_delimiter(byte: u8, parameters: PathParameters) -> bool {
    matches!(byte, b'=' | b'&') || (byte == b';' && matches!(parameters, PathParameters::Drop))
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
