//! Times and text of strangers, as people read them on a page.
//!
//! Escaping for HTML is not done here: the template engine does it, always. What is done here is what
//! escaping leaves: characters that cannot be seen, or that turn the direction of what stands beside them.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "templates call these with what they borrow")]

use crate::record::{format_span, instant, is_harmful};
use jiff::Timestamp;
use std::time::{Duration, SystemTime};

pub(super) use crate::report::headline::times;
pub(super) use crate::report::{amount, byte_words, grouped};

/// Longer texts of strangers are cut in the middle.
const LONGEST: usize = 160;

/// Longer sentences, too.
const LONGEST_SENTENCE: usize = 600;

/// More marks than these on one letter are spelt out: they would be piled up over the lines above.
const MOST_MARKS: usize = 2;

/// How much of the end of a cut text is shown.
const TAIL: usize = 30;

/// `text` with everything that cannot be seen spelt out, and cut when it is very long.
pub(super) fn visible(text: &str) -> String {
    cut(text, LONGEST)
}

/// The same for a sentence of ours, in which a stranger's name stands: it is longer by itself.
pub(super) fn sentence(text: &str) -> String {
    cut(text, LONGEST_SENTENCE)
}

fn cut(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return escape_marks(text.chars());
    }
    let head = escape_marks(text.chars().take(longest - TAIL));
    let tail = escape_marks(text.chars().skip(count - TAIL));
    let left = u64::try_from(count - longest).unwrap_or(u64::MAX);
    format!("{head} … {} more … {tail}", grouped(left))
}

fn escape_marks(symbols: impl Iterator<Item = char>) -> String {
    let (mut shown, mut marks) = (String::new(), 0);
    for symbol in symbols {
        marks = if is_mark(symbol) { marks + 1 } else { 0 };
        if is_harmful(symbol) || marks > MOST_MARKS {
            shown.extend(symbol.escape_unicode());
        } else {
            shown.push(symbol);
        }
    }
    shown
}

/// Marks that stand on the letter before: the blocks that Unicode has set aside for them.
const fn is_mark(symbol: char) -> bool {
    matches!(
        symbol,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

/// The same for where no element can isolate it, such as the title of a drawing: inside marks that keep its
/// direction to itself (Unicode Standard Annex 9, section 2.4).
pub(super) fn isolated(text: &str) -> String {
    format!("\u{2068}{}\u{2069}", visible(text))
}

/// `20 Nov 2026, 16:05`.
pub(super) fn moment(time: &SystemTime) -> String {
    formatted(*time, "%-d %b %Y, %H:%M")
}

/// The same of an instant in microseconds.
pub(super) fn moment_of(micros: &i64) -> String {
    moment(&instant(*micros))
}

/// The same, or a dash where there was none.
#[expect(clippy::ref_option, reason = "templates call it with what they borrow")]
pub(super) fn moment_or_dash(time: &Option<SystemTime>) -> String {
    time.as_ref().map_or_else(|| "–".to_owned(), moment)
}

/// How many rows stand open on a page; the others are a click away.
const OPEN: usize = 10;

/// What stands open of the rows of a table, and what is folded, with the words on it.
pub(super) fn folded<T>(rows: &[T]) -> Vec<(Option<String>, &[T])> {
    let (open, folded) = rows.split_at_checked(OPEN).unwrap_or((rows, &[]));
    let folded = (!folded.is_empty()).then(|| (Some(format!("{} more", folded.len())), folded));
    std::iter::once((None, open)).chain(folded).collect()
}

/// The start of a stretch of `step`: with its time where that is not always midnight.
pub(super) fn start(time: SystemTime, step: u64) -> String {
    formatted(time, if step >= 86_400 { "%-d %b %Y" } else { "%-d %b, %H:%M" })
}

fn formatted(time: SystemTime, format: &str) -> String {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH).strftime(format).to_string()
}

/// `5 min`.
pub(super) fn whole_span(seconds: &u64) -> String {
    format_span(Duration::from_secs(*seconds))
}

/// The same of seconds and parts of them.
pub(super) fn span(seconds: &f64) -> String {
    format_span(Duration::try_from_secs_f64(*seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_unseen_is_left() {
        assert_eq!(visible("a\u{202e}b\u{1b}[31m\u{200b}"), "a\\u{202e}b\\u{1b}[31m\\u{200b}");
        assert_eq!(visible("caf\u{e9} \u{5d0}\u{5d1} <b>"), "caf\u{e9} \u{5d0}\u{5d1} <b>");
        assert_eq!(visible("e\u{301}\u{301}\u{301}f"), "e\u{301}\u{301}\\u{301}f");
        assert_eq!(isolated("x\u{2069}y"), "\u{2068}x\\u{2069}y\u{2069}");
    }

    #[test]
    fn a_sentence_is_longer_than_a_name_and_no_longer_than_a_page() {
        let text = "x".repeat(LONGEST_SENTENCE);
        assert_eq!(sentence(&text), text);
        assert!(sentence(&text.repeat(9)).chars().count() < LONGEST_SENTENCE + 20);
    }

    #[test]
    fn long_texts_are_cut_in_the_middle() {
        let text: String = ('a'..='z').cycle().take(1_160).collect();
        let shown = visible(&text);
        assert!(shown.chars().count() < 200 && shown.contains("1,000 more"), "{shown}");
        assert!(shown.starts_with("abc") && text.ends_with(&shown[shown.len() - TAIL..]));
        let just: String = "x".repeat(LONGEST);
        assert_eq!(visible(&just), just);
    }

    #[test]
    fn times_are_short() {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        assert_eq!(moment(&time), "14 Nov 2023, 22:13");
        assert_eq!(start(time, 3_600), "14 Nov, 22:13");
        assert_eq!(start(time, 86_400), "14 Nov 2023");
    }
}
