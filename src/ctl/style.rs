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
pub(super) enum Ink {
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
        Self { coloured: Wish::of_environment().is_granted(io::stdout().is_terminal()) }
    }

    /// No colours.
    #[cfg(test)]
    pub(super) const fn plain() -> Self {
        Self { coloured: false }
    }

    /// `text` in its colour. The text itself must be harmless already.
    pub(super) fn paint(self, ink: Ink, text: &str) -> String {
        if !self.coloured || text.is_empty() {
            return text.to_owned();
        }
        let style = style(ink);
        format!("{style}{text}{style:#}")
    }
}

/// What the environment says of colours.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// `NO_COLOR`.
    refused: bool,
    /// `CLICOLOR_FORCE`.
    forced: bool,
    /// `CLICOLOR`, where it is set.
    asked: Option<bool>,
    /// Whether `TERM` names a terminal that shows them.
    possible: bool,
}

impl Wish {
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

fn style(ink: Ink) -> Style {
    let colour = |colour: AnsiColor| colour.on_default();
    match ink {
        Ink::Error => colour(AnsiColor::Red).bold(),
        Ink::Warning => colour(AnsiColor::Yellow).bold(),
        Ink::Note => colour(AnsiColor::Cyan).bold(),
        Ink::Frame => colour(AnsiColor::Blue).bold(),
        Ink::Good => colour(AnsiColor::Green).bold(),
        Ink::Strong => Style::new().bold(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_need_a_terminal_and_no_objection() {
        let plain = Wish { refused: false, forced: false, asked: None, possible: true };
        assert!(plain.is_granted(true) && !plain.is_granted(false));
        assert!(!Wish { refused: true, forced: true, ..plain }.is_granted(true), "an objection wins");
        assert!(Wish { forced: true, ..plain }.is_granted(false));
        assert!(!Wish { asked: Some(false), ..plain }.is_granted(true));
        assert!(!Wish { possible: false, ..plain }.is_granted(true), "a dumb terminal");
        assert!(Wish { possible: false, asked: Some(true), ..plain }.is_granted(true), "unless asked for");
    }

    #[test]
    fn without_colours_text_is_itself() {
        assert_eq!(Palette::plain().paint(Ink::Error, "error"), "error");
        let painted = Palette { coloured: true }.paint(Ink::Error, "error");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("\u{1b}[0m"), "{painted:?}");
        assert_eq!(Palette { coloured: true }.paint(Ink::Error, ""), "");
    }
}
