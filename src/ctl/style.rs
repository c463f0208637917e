//! Colours: only where a person looks, and only as they asked for.
//!
//! Standard output has to be a terminal; `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are heeded as
//! other programs do. A run of checks (`CI`) gets none that a person would not: its logs are read as files.

use super::output::escape_harmful;
use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal as _};

/// An error, or what is wrong now.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub(super) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// What holds an excerpt together.
pub(super) const FRAME: Style = AnsiColor::Blue.on_default().bold();
/// All is well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default().bold();
/// A heading.
pub(super) const STRONG: Style = Style::new().bold();

/// Whether standard output is to have colours.
pub(super) fn is_wanted() -> bool {
    let is_welcome = anstyle_query::clicolor().unwrap_or_else(anstyle_query::term_supports_color);
    let is_seen = anstyle_query::clicolor_force() || (io::stdout().is_terminal() && is_welcome);
    is_seen && !anstyle_query::no_color()
}

/// `text`, made harmless, in its colour. It loses that where `output` shows none.
pub(super) fn paint(style: Style, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{style}{}{style:#}", escape_harmful(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_text_is_itself() {
        let painted = paint(ERROR, "error\u{7}");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("error\\u{7}\u{1b}[0m"), "{painted:?}");
        assert_eq!(anstream::adapter::strip_str(&painted).to_string(), "error\\u{7}");
        assert_eq!((paint(ERROR, ""), paint(Style::new(), "x")), (String::new(), "x".to_owned()));
    }
}
