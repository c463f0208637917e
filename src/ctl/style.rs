//! Colours: only where a person looks, and only as they asked for.
//!
//! Standard output has to be a terminal; `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are heeded as
//! other programs do. A run of checks (`CI`) gets none that a person would not: its logs are read as files.

use anstyle::{AnsiColor, Style};
use std::io::{self, IsTerminal as _};

/// The few styles that answers use, or none at all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Palette {
    coloured: bool,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// An error, or what is wrong now.
    Error,
    /// A warning.
    Warning,
    /// A note.
    Note,
    /// What holds an excerpt together.
    Frame,
    /// All is well.
    Good,
    /// A heading.
    Strong,
}

impl Palette {
    /// Colours if standard output is to have them.
    pub(super) fn of_stdout() -> Self {
        let is_wanted = anstyle_query::clicolor().unwrap_or_else(anstyle_query::term_supports_color);
        let shows = anstyle_query::clicolor_force() || (io::stdout().is_terminal() && is_wanted);
        Self { coloured: shows && !anstyle_query::no_color() }
    }

    /// No colours.
    #[cfg(test)]
    pub(super) const fn plain() -> Self {
        Self { coloured: false }
    }

    /// `text` in its colour. The text itself must be harmless already.
    pub(super) fn paint(self, ink: TextStyle, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let style = style(ink);
        format!("{style}{text}{style:#}")
    }
}

fn style(ink: TextStyle) -> Style {
    let colour = |colour: AnsiColor| colour.on_default();
    match ink {
        TextStyle::Error => colour(AnsiColor::Red).bold(),
        TextStyle::Warning => colour(AnsiColor::Yellow).bold(),
        TextStyle::Note => colour(AnsiColor::Cyan).bold(),
        TextStyle::Frame => colour(AnsiColor::Blue).bold(),
        TextStyle::Good => colour(AnsiColor::Green).bold(),
        TextStyle::Strong => Style::new().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colours_text_is_itself() {
        assert_eq!(Palette::plain().paint(TextStyle::Error, "error"), "error");
        let painted = Palette { coloured: true }.paint(TextStyle::Error, "error");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("\u{1b}[0m"), "{painted:?}");
        assert_eq!(Palette { coloured: true }.paint(TextStyle::Error, ""), "");
    }
}
