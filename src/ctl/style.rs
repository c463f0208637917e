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
        Self { coloured: ColourWish::of_environment().is_granted(io::stdout().is_terminal()) }
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

/// What the environment says of colours.
#[derive(Clone, Copy, Debug)]
struct ColourWish {
    /// `NO_COLOR`.
    refused: bool,
    /// `CLICOLOR_FORCE`.
    forced: bool,
    /// `CLICOLOR`, where it is set.
    asked: Option<bool>,
    /// Whether `TERM` names a terminal that shows them.
    possible: bool,
}

impl ColourWish {
    fn of_environment() -> Self {
        Self {
            refused: anstyle_query::no_color(),
            forced: anstyle_query::clicolor_force(),
            asked: anstyle_query::clicolor(),
            possible: anstyle_query::term_supports_color(),
        }
    }

    fn is_granted(self, is_terminal: bool) -> bool {
        let wanted = self.asked.unwrap_or(self.possible);
        !self.refused && (self.forced || (is_terminal && wanted))
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
    fn colours_need_a_terminal_and_no_objection() {
        let plain = ColourWish { refused: false, forced: false, asked: None, possible: true };
        assert!(plain.is_granted(true) && !plain.is_granted(false));
        assert!(!ColourWish { refused: true, forced: true, ..plain }.is_granted(true), "an objection wins");
        assert!(ColourWish { forced: true, ..plain }.is_granted(false));
        assert!(!ColourWish { asked: Some(false), ..plain }.is_granted(true));
        assert!(!ColourWish { possible: false, ..plain }.is_granted(true), "a dumb terminal");
        assert!(
            ColourWish { possible: false, asked: Some(true), ..plain }.is_granted(true),
            "unless asked for"
        );
    }

    #[test]
    fn without_colours_text_is_itself() {
        assert_eq!(Palette::plain().paint(TextStyle::Error, "error"), "error");
        let painted = Palette { coloured: true }.paint(TextStyle::Error, "error");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("\u{1b}[0m"), "{painted:?}");
        assert_eq!(Palette { coloured: true }.paint(TextStyle::Error, ""), "");
    }
}
