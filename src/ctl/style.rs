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

/// Whether there are colours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    is_coloured: bool,
}

impl Palette {
    /// Colours if standard output is to have them.
    pub(super) fn of_stdout() -> Self {
        let is_wanted = anstyle_query::clicolor().unwrap_or_else(anstyle_query::term_supports_color);
        let shows = anstyle_query::clicolor_force() || (io::stdout().is_terminal() && is_wanted);
        Self { is_coloured: shows && !anstyle_query::no_color() }
    }

    /// No colours.
    pub(super) const fn plain() -> Self {
        Self { is_coloured: false }
    }

    /// `text`, made harmless, in its colour.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        let text = escape_harmful(text);
        if self.is_coloured && !text.is_empty() { format!("{style}{text}{style:#}") } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_text_is_itself() {
        assert_eq!(Palette::plain().paint(ERROR, "error"), "error");
        let painted = Palette { is_coloured: true }.paint(ERROR, "error\u{7}");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("error\\u{7}\u{1b}[0m"), "{painted:?}");
        assert_eq!(Palette { is_coloured: true }.paint(ERROR, ""), "");
    }
}
