//! Lines that a mail can carry. It breaks none that people write, only those that clients made too long.

use crate::ctl::output::Output;
use std::io;

/// Lines of prose; mail is read at 80 columns.
pub(super) const WIDTH: usize = 76;

/// The longest line, in bytes: 998 is what mail may have (RFC 5322 §2.1.1), and a reply puts marks before it.
const LONGEST: usize = 960;

/// What a line that goes on begins with.
const GOES_ON: &str = "      ";

/// One line, or as many as a mail needs for it.
pub(super) fn line(text: impl AsRef<str>, output: &mut Output<'_>) -> io::Result<()> {
    for part in folded(text.as_ref()) {
        output.line(part)?;
    }
    Ok(())
}

fn folded(text: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    for symbol in text.chars() {
        if part.len() + symbol.len_utf8() > LONGEST {
            parts.push(std::mem::replace(&mut part, GOES_ON.to_owned()));
        }
        part.push(symbol);
    }
    parts.push(part);
    parts
}

/// A paragraph in lines of [`WIDTH`].
pub(super) fn prose(text: &str, output: &mut Output<'_>) -> io::Result<()> {
    let mut paragraph = String::new();
    for word in text.split_whitespace() {
        if !paragraph.is_empty() && paragraph.chars().count() + 1 + word.chars().count() > WIDTH {
            line(&paragraph, output)?;
            paragraph.clear();
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(word);
    }
    line(paragraph, output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_mail_cannot_carry_goes_on_and_loses_nothing() {
        assert_eq!(folded(""), [""]);
        assert_eq!(folded("    GET /x"), ["    GET /x"]);
        for symbol in ["a", "é", "百"] {
            let text = symbol.repeat(4_000);
            let parts = folded(&text);
            assert!(parts.len() > 4 && parts.iter().all(|part| part.len() <= LONGEST), "{symbol}");
            assert!(parts.iter().skip(1).all(|part| part.starts_with(GOES_ON)), "{symbol}");
            let whole: String = parts.iter().map(|part| part.trim_start()).collect();
            assert_eq!(whole, text);
        }
    }
}
