//! What is wrong with a configuration, said so that it can be mended: file, line, column, remedy.

use super::user_info::without_user_info;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One fault of one file; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}{message}{}", self.place(), hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default())]
pub struct ConfigError {
    /// The file, as the operator named it.
    pub path: PathBuf,
    /// The line, counted from 1; `None` where the whole file is meant.
    pub line: Option<usize>,
    /// The column in characters, counted from 1.
    pub column: Option<usize>,
    /// What is wrong. One line, no full stop, and no password of a URL.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigError {
    fn place(&self) -> String {
        match (self.path.display(), self.line, self.column) {
            _ if self.path.as_os_str().is_empty() => String::new(),
            (path, Some(line), Some(column)) => format!("{path}:{line}:{column}: "),
            (path, ..) => format!("{path}: "),
        }
    }

    /// Place, fault and remedy in one line, as a log has it.
    #[must_use]
    pub fn in_one_line(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{}{}{hint}", self.place(), self.message)
    }

    /// A fault of the whole file, or of something that is no file.
    pub fn whole(path: &Path, message: impl Into<String>) -> Self {
        let message = without_user_info(&message.into());
        Self { path: path.to_owned(), line: None, column: None, message, hint: None }
    }

    /// A fault at a span of bytes of `text`.
    pub fn at(path: &Path, text: &str, span: Option<Range<usize>>, message: impl Into<String>) -> Self {
        let (line, column) = span.map(|span| position(text, span.start)).unzip();
        Self { line, column, ..Self::whole(path, message) }
    }

    /// The same fault with a remedy.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Every fault that was found, never none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl From<ConfigError> for ConfigErrors {
    fn from(error: ConfigError) -> Self {
        Self(vec![error])
    }
}

/// Line and column, counted in characters from 1, of a byte of `text`.
pub(super) fn position(text: &str, offset: usize) -> (usize, usize) {
    let symbols = text.char_indices().take_while(|(at, symbol)| at + symbol.len_utf8() <= offset);
    symbols.fold((1, 1), |(line, column), (_, symbol)| match symbol {
        '\n' => (line + 1, 1),
        _ => (line, column + 1),
    })
}

/// The text of a file that is named as the `what`, or where it is none.
pub(super) fn text_of<'b>(path: &Path, bytes: &'b [u8], what: &str) -> Result<&'b str, ConfigError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(bytes.get(..error.valid_up_to()).unwrap_or_default());
        let end = before.len();
        ConfigError::at(path, &before, Some(end..end), format!("the {what} is not UTF-8"))
    })
}

/// What stands before the name of a file that the service manager hands over (`LoadCredential=` of systemd.exec(5)).
pub(super) const CREDENTIAL: &str = "credential:";

/// Makes `path` relative to the folder `base` of the file that it is written in, or finds it among what the service
/// manager hands over. Where that hands nothing over the name stays as it is, which no file has.
pub(super) fn rebase(base: &Path, path: &mut PathBuf) {
    let name = path.to_str().and_then(|path| path.strip_prefix(CREDENTIAL));
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").map(PathBuf::from);
    *path = match (name, folder) {
        (Some(name), Some(folder)) => folder.join(Path::new(name).file_name().unwrap_or_default()),
        (Some(_), None) => return,
        (None, _) => base.join(&*path),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "a = 1\n\u{e9}\u{e9} = 2\n";
        assert_eq!(position(text, 0), (1, 1));
        assert_eq!(position(text, 4), (1, 5));
        assert_eq!(position(text, 10), (2, 3));
        assert_eq!(position(text, 999), (3, 1));
        assert_eq!(position(text, 7), (2, 1), "within a character");
    }

    #[test]
    fn an_error_reads_path_line_column_message_hint() {
        let error =
            ConfigError::at(Path::new("g.toml"), "x\nyz", Some(3..4), "no `z`").with_hint("write `y`");
        assert_eq!(error.to_string(), "g.toml:2:2: no `z`\n  hint: write `y`");
        assert_eq!(ConfigError::whole(Path::new(""), "no origin").to_string(), "no origin");
    }
}
