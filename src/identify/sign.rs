//! A `Sign`: a literal that a header is searched for, with its boundaries.
//!
//! Written form, in the rule files:
//! - `FooBot`: the whole word. No letter or digit before it, no letter after it
//!   (no digit either when it ends in one): finds `FooBot/1` and `FooBot2`.
//! - `*bot`: anything may stand before. `crawl*`: anything may follow.
//! - `^Java/`: only where a product can open a header: at its start, or right
//!   after `compatible;`.
//!
//! Letters match in either case (RFC 9309 §2.2.1 compares tokens that way).
//! Not a regular expression: every sign of every file is found in one pass.

use std::fmt;

/// A literal with its boundaries.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Sign {
    text: Box<str>,
    bounds: LiteralBounds,
}

/// Where a literal may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LiteralBounds {
    opening: bool,
    left: bool,
    right: bool,
}

/// Why a sign cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// Fewer than two characters: would be found nearly everywhere.
    #[error("a sign needs at least two characters")]
    TooShort,
    /// More than 120 characters.
    #[error("a sign has at most 120 characters")]
    TooLong,
    /// A character outside printable ASCII, which no header name holds.
    #[error("a sign may contain only printable ASCII characters")]
    NotPrintable,
    /// `*` or `^` anywhere but at the ends.
    #[error("`^` may only open a sign, `*` only open or close it")]
    StrayMark,
}

impl Sign {
    /// Reads the written form.
    ///
    /// # Errors
    /// When the literal is too short, too long, not printable ASCII, or has a
    /// mark inside.
    pub fn parse(written: &str) -> Result<Self, SignError> {
        let opened = written.strip_prefix('^');
        let rest = opened.unwrap_or(written);
        let inner = rest.strip_prefix('*');
        let rest = inner.unwrap_or(rest);
        let text = rest.strip_suffix('*').unwrap_or(rest);
        let (opening, left, right) = (opened.is_some(), inner.is_none(), text.len() == rest.len());
        if text.contains(['*', '^']) || (opening && !left) {
            return Err(SignError::StrayMark);
        }
        if !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            return Err(SignError::NotPrintable);
        }
        match text.trim().len() {
            0 | 1 => Err(SignError::TooShort),
            2..=120 => Ok(Self { text: text.into(), bounds: LiteralBounds { opening, left, right } }),
            _ => Err(SignError::TooLong),
        }
    }

    /// The sign of a mail address, shorter than a file may write.
    pub(super) fn at_sign() -> Self {
        Self { text: "@".into(), bounds: LiteralBounds { opening: false, left: false, right: false } }
    }

    /// Whether it only stands where a product can open a header.
    pub(super) fn is_opening(&self) -> bool {
        self.bounds.opening
    }

    /// The same literal as a whole word, blanks at its ends dropped.
    pub(super) fn whole(&self) -> Self {
        Self {
            text: self.text.trim().into(),
            bounds: LiteralBounds { opening: false, left: true, right: true },
        }
    }

    /// The literal, as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the sign stands at `start` of `header`. Compares byte by byte: for one sign and a few headers, not for
    /// recognition.
    pub(super) fn stands_at(&self, header: &[u8], start: usize) -> bool {
        let text = self.text.as_bytes();
        header.get(start..start + text.len()).is_some_and(|part| part.eq_ignore_ascii_case(text))
            && self.bounds.holds(header, start, start + text.len())
    }

    /// Whether the sign is found in `header`.
    pub fn stands_in(&self, header: &[u8]) -> bool {
        (0..header.len()).any(|start| self.stands_at(header, start))
    }

    #[inline]
    pub(super) fn bounds(&self) -> LiteralBounds {
        self.bounds
    }
}

impl LiteralBounds {
    /// Whether a literal found at `start..end` of `header` keeps them.
    #[inline]
    pub(super) fn holds(self, header: &[u8], start: usize, end: usize) -> bool {
        let before = start.checked_sub(1).and_then(|i| header.get(i)).copied();
        let after = header.get(end).copied();
        (!self.left || left_boundary(before, header.get(start).copied()))
            && (!self.right || right_boundary(end.checked_sub(1).and_then(|i| header.get(i)).copied(), after))
            && (!self.opening || opens(header, start))
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.bounds.opening { "^" } else { "" })?;
        f.write_str(if self.bounds.left { "" } else { "*" })?;
        f.write_str(&self.text)?;
        f.write_str(if self.bounds.right { "" } else { "*" })
    }
}

#[inline]
fn left_boundary(before: Option<u8>, first: Option<u8>) -> bool {
    !(before.is_some_and(|b| b.is_ascii_alphanumeric()) && first.is_some_and(|b| b.is_ascii_alphanumeric()))
}

#[inline]
fn right_boundary(last: Option<u8>, after: Option<u8>) -> bool {
    let (Some(last), Some(after)) = (last, after) else {
        return true;
    };
    !(last.is_ascii_alphabetic() && after.is_ascii_alphabetic()
        || last.is_ascii_digit() && after.is_ascii_digit())
}

/// Whether a product can open the header at `start`.
pub(super) fn opens(header: &[u8], start: usize) -> bool {
    let before = header.get(..start).unwrap_or_default().trim_ascii_end();
    let bare = before.iter().all(|b| matches!(b, b'"' | b'\'' | b'(' | b' ' | b'\t'));
    bare || ends_with_ignore_case(before, b"compatible;")
}

/// Whether `text` ends in `tail`, letters in either case.
pub(super) fn ends_with_ignore_case(text: &[u8], tail: &[u8]) -> bool {
    text.len()
        .checked_sub(tail.len())
        .and_then(|at| text.get(at..))
        .is_some_and(|end| end.eq_ignore_ascii_case(tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sign: &str, header: &str) -> bool {
        let sign = Sign::parse(sign).unwrap();
        let text = sign.text().to_ascii_lowercase();
        header
            .to_ascii_lowercase()
            .match_indices(&text)
            .any(|(at, _)| sign.bounds().holds(header.as_bytes(), at, at + text.len()))
    }

    #[test]
    fn boundaries_hold() {
        assert!(found("FooBot", "FooBot/1.0") && found("FooBot", "a foobot2"));
        assert!(!found("FooBot", "FooBots/1.0") && !found("FooBot", "myFooBot"));
        assert!(found("*bot", "FooBot/1.0") && !found("*bot", "bottle"));
        assert!(found("crawl*", "crawler") && !found("crawl*", "xcrawl"));
        assert!(found("MJ12", "MJ12bot") && !found("MJ12", "MJ123"));
    }

    #[test]
    fn an_opening_sign_stands_first_or_after_compatible() {
        assert!(found("^Java/", "Java/17") && found("^Java/", "\"Java/17"));
        assert!(found("^Java/", "Mozilla/5.0 (Compatible; Java/17)"));
        assert!(!found("^Java/", "LG-GT505 Java/ASVM"));
    }

    #[test]
    fn one_sign_is_found_as_the_automaton_finds_it() {
        let stands = |sign: &str, header: &str| Sign::parse(sign).unwrap().stands_in(header.as_bytes());
        assert!(stands("FooBot", "x fooBOT/1") && stands("*bot", "FooBot") && !stands("bot", "FooBot"));
        assert!(!stands("FooBot", "") && !stands("^Java/", "x Java/1"));
        let whole = Sign::parse("*Linux*").unwrap().whole();
        assert!(whole.stands_in(b"a Linux;") && !whole.stands_in(b"Linuxbot"));
    }

    #[test]
    fn the_written_form_round_trips_and_is_checked() {
        for written in ["FooBot", "*bot", "crawl*", "^got", "*x y*"] {
            assert_eq!(Sign::parse(written).unwrap().to_string(), written);
        }
        assert_eq!(Sign::parse("*a*"), Err(SignError::TooShort));
        assert_eq!(Sign::parse("a*b"), Err(SignError::StrayMark));
        assert_eq!(Sign::parse("^*ab"), Err(SignError::StrayMark));
        assert_eq!(Sign::parse("Spïder"), Err(SignError::NotPrintable));
        assert_eq!(Sign::parse(&"a".repeat(121)), Err(SignError::TooLong));
    }
}
