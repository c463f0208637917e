//! What an origin may do to a path before it looks a page up, one thing at a time.
//!
//! A step is what one component does; [`readings`](super::readings) combines them. Here is the path alone: what follows
//! a `?` or `#`, no step touches. A `#` is never sent; [`PathStep::DecodeEnd`] writes one where an origin would end the target.

use super::PathParameters;
use super::plain::PathMarks;
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
            Self::DecodeSlash => decoded_to(path, |byte| (byte == b'/').then_some(b'/')),
            Self::TurnBackslash => {
                path.iter().map(|byte| if *byte == b'\\' { b'/' } else { *byte }).collect()
            }
            Self::DecodeBackslash => decoded_to(path, |byte| (byte == b'\\').then_some(b'/')),
            Self::DecodeOnce => decoded_once(path),
            Self::DecodeDelimiter => decoded_to(path, |byte| is_delimiter(byte, parameters).then_some(byte)),
            Self::DecodeEnd => decoded_to(path, |byte| is_end(byte).then_some(byte)),
            Self::StripAuthority => without_authority(path),
            Self::DropParameters => without_parameters(path),
        }
    }
}

/// Steps that change something, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps(u16);

impl Steps {
    /// The steps that change `path`.
    pub(super) fn of(path: &[u8], parameters: PathParameters) -> Self {
        Self::found(path, parameters, has_dots, |_| false)
    }

    /// Whether any step changes `path`, of which is known whether it `has_dots`.
    pub(super) fn change(path: &[u8], parameters: PathParameters, has_dots: bool) -> bool {
        !Self::found(path, parameters, |_| has_dots, |steps| !steps.is_empty()).is_empty()
    }

    /// Steps that change `path`: all of them, or so many that it `is_enough`.
    fn found(
        path: &[u8],
        parameters: PathParameters,
        has_dots: impl FnOnce(&[u8]) -> bool,
        is_enough: impl Fn(Self) -> bool,
    ) -> Self {
        let mut steps = Self::default();
        let marks = PathMarks::of(path);
        if marks.has(PathMarks::SLASHES) {
            steps.add(PathStep::MergeSlashes);
        }
        if marks.has(PathMarks::BACKSLASH) {
            steps.add(PathStep::TurnBackslash);
        }
        if marks.has(PathMarks::SEMICOLON) && parameters == PathParameters::Drop {
            steps.add(PathStep::DropParameters);
        }
        if is_enough(steps) {
            return steps;
        }
        if (marks.has(PathMarks::DOT) || marks.has(PathMarks::PERCENT)) && has_dots(path) {
            steps.add(PathStep::ResolveDots);
            if ends_with_dots(path) {
                steps.add(PathStep::ResolveDotsAndSlash);
            }
        }
        if matches!(path, [b'/' | b'\\', b'/' | b'\\', ..]) {
            steps.add(PathStep::StripAuthority);
        }
        // Last: what was found before is often enough.
        if marks.has(PathMarks::PERCENT) {
            for rest in at_percents(path) {
                if is_enough(steps) {
                    return steps;
                }
                steps.add_at_percent(rest, parameters);
            }
        }
        steps
    }

    pub(super) const fn has(self, step: PathStep) -> bool {
        self.0 & step.bit() != 0
    }

    const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn add(&mut self, step: PathStep) {
        self.0 |= step.bit();
    }

    fn add_at_percent(&mut self, rest: &[u8], parameters: PathParameters) {
        match encoded(rest) {
            Some((b'/', _)) => self.add(PathStep::DecodeSlash),
            Some((b'\\', _)) => self.add(PathStep::DecodeBackslash),
            Some((byte, _)) if is_delimiter(byte, parameters) => self.add(PathStep::DecodeDelimiter),
            Some((byte, _)) if is_end(byte) => self.add(PathStep::DecodeEnd),
            Some((b'%', _)) | None if !self.has(PathStep::DecodeOnce) && escape_of_escape(rest).is_some() => {
                self.add(PathStep::DecodeOnce);
            }
            _ => {}
        }
    }
}

/// How many bytes are looked at one by one where any of them is searched for.
const BLOCK: usize = 64;

/// Where `byte` is in `path`. To begin a search takes as long as to look at ten bytes, so that one begins for each block only,
/// and not for each of the bytes that are found: some targets have one in every four.
fn places(byte: u8, path: &[u8]) -> impl Iterator<Item = usize> {
    let blocks =
        path.chunks(BLOCK).enumerate().filter(move |(_, block)| memchr::memchr(byte, block).is_some());
    blocks.flat_map(move |(number, block)| {
        let found = block.iter().enumerate().filter(move |(_, other)| **other == byte);
        found.map(move |(at, _)| number * BLOCK + at)
    })
}

/// What begins with each `%` of `path`.
pub(super) fn at_percents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    places(b'%', path).filter_map(|at| path.get(at..))
}

/// Where `byte` is first. Where every other byte is one, to begin a search takes longer than to look at the next bytes, eight
/// at once; where there is none, a search takes a tenth of the time.
fn find(byte: u8, path: &[u8]) -> Option<usize> {
    const EACH: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = EACH << 7;
    let Some((near, far)) = path.split_first_chunk::<8>() else {
        return path.iter().position(|one| *one == byte);
    };
    // The lowest bit is that of the first byte without a difference; above it there may be others.
    let differences = u64::from_le_bytes(*near) ^ (EACH * u64::from(byte));
    let equal = differences.wrapping_sub(EACH) & !differences & HIGH;
    if equal == 0 {
        return Some(near.len() + memchr::memchr(byte, far)?);
    }
    usize::try_from(equal.trailing_zeros() / 8).ok()
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
    places(b'/', path).filter_map(|slash| {
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
    let mut merged = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = find(b'/', rest) {
        let (segment, slashes) = rest.split_at_checked(at + 1).unwrap_or((rest, b""));
        merged.extend_from_slice(segment);
        let more = slashes.iter().position(|byte| *byte != b'/').unwrap_or(slashes.len());
        rest = slashes.get(more..).unwrap_or_default();
    }
    merged.extend_from_slice(rest);
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

/// Copies what stands before the next `%`; what begins with that.
fn copied_to_percent<'a>(copy: &mut Vec<u8>, path: &'a [u8]) -> Option<&'a [u8]> {
    let at = find(b'%', path);
    let (before, rest) = path.split_at_checked(at.unwrap_or(path.len()))?;
    copy.extend_from_slice(before);
    at.map(|_| rest)
}

/// `path` with what `raw` makes of encoded bytes, where it makes something of them.
fn decoded_to(path: &[u8], raw: impl Fn(u8) -> Option<u8>) -> Vec<u8> {
    let mut changed = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = copied_to_percent(&mut changed, rest) {
        let found = encoded(at).and_then(|(byte, after)| Some((raw(byte)?, after)));
        let (byte, after) = found.unwrap_or_else(|| (b'%', at.get(1..).unwrap_or_default()));
        changed.push(byte);
        rest = after;
    }
    changed
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

const fn is_end(byte: u8) -> bool {
    matches!(byte, b'?' | b'#')
}

/// `path` as an origin that decodes twice has it before the second time. Slashes and delimiters are steps of their own.
fn decoded_once(path: &[u8]) -> Vec<u8> {
    let mut once = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = copied_to_percent(&mut once, rest) {
        if let Some((escape, after)) = escape_of_escape(at) {
            once.extend_from_slice(&escape);
            rest = after;
        } else {
            once.push(b'%');
            rest = at.get(1..).unwrap_or_default();
        }
    }
    once
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
