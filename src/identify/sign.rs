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
    /// Whether it only stands where a product can open a header.
    pub(super) opening: bool,
    left: bool,
    right: bool,
}

impl Sign {
    /// Reads the written form.
    ///
    /// # Errors
    /// Why it cannot be used: what is too short would be found nearly everywhere, and no header holds what is not printable.
    pub fn parse(written: &str) -> Result<Self, &'static str> {
        let opened = written.strip_prefix('^');
        let rest = opened.unwrap_or(written);
        let inner = rest.strip_prefix('*');
        let rest = inner.unwrap_or(rest);
        let text = rest.strip_suffix('*').unwrap_or(rest);
        let (opening, left, right) = (opened.is_some(), inner.is_none(), text.len() == rest.len());
        if text.contains(['*', '^']) || (opening && !left) {
            return Err("`^` may only open a sign, `*` only open or close it");
        }
        if !text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            return Err("a sign may contain only printable ASCII characters");
        }
        match text.trim().len() {
            0 | 1 => Err("a sign needs at least two characters"),
            2..=120 => Ok(Self { text: text.into(), opening, left, right }),
            _ => Err("a sign has at most 120 characters"),
        }
    }

    /// The sign of a mail address, shorter than a file may write.
    pub(super) fn at_sign() -> Self {
        Self { text: "@".into(), opening: false, left: false, right: false }
    }

    /// The same literal as a whole word, blanks at its ends dropped.
    pub(super) fn whole(&self) -> Self {
        Self { text: self.text.trim().into(), opening: false, left: true, right: true }
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
            && self.holds(header, start, start + text.len())
    }

    /// Whether the sign is found in `header`.
    pub fn stands_in(&self, header: &[u8]) -> bool {
        (0..header.len()).any(|start| self.stands_at(header, start))
    }

    /// Whether the literal, found at `start..end` of `header`, keeps its boundaries.
    #[inline]
    pub(super) fn holds(&self, header: &[u8], start: usize, end: usize) -> bool {
        let goes_on = |from: usize, is: fn(&u8) -> bool| {
            let [before, after] = [from.wrapping_sub(1), from].map(|at| header.get(at).is_some_and(is));
            before && after
        };
        (!self.left || !goes_on(start, u8::is_ascii_alphanumeric))
            && (!self.right || !goes_on(end, u8::is_ascii_alphabetic) && !goes_on(end, u8::is_ascii_digit))
            && (!self.opening || opens(header, start))
    }
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.opening { "^" } else { "" })?;
        f.write_str(if self.left { "" } else { "*" })?;
        f.write_str(&self.text)?;
        f.write_str(if self.right { "" } else { "*" })
    }
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
            .any(|(at, _)| sign.holds(header.as_bytes(), at, at + text.len()))
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
        for (written, part) in [
            ("*a*", "at least two"),
            ("a*b", "only open or close"),
            ("^*ab", "only open or close"),
            ("Sp\u{ef}der", "printable"),
            (&*"a".repeat(121), "at most 120"),
        ] {
            assert!(Sign::parse(written).unwrap_err().contains(part), "{written}");
        }
    }
}
