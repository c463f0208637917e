//! Colours: only where a person looks, and only as they asked for.
//!
//! Standard output has to be a terminal; `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM=dumb` are heeded as
//! other programs do.

use anstyle::{AnsiColor, Style};
use std::io;

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
        let choice = anstream::AutoStream::choice(&io::stdout());
        Self { coloured: choice != anstream::ColorChoice::Never }
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
    fn without_colours_text_is_itself() {
        assert_eq!(Palette::plain().paint(Ink::Error, "error"), "error");
        let painted = Palette { coloured: true }.paint(Ink::Error, "error");
        assert!(painted.starts_with("\u{1b}[") && painted.ends_with("\u{1b}[0m"), "{painted:?}");
        assert_eq!(Palette { coloured: true }.paint(Ink::Error, ""), "");
    }
}
