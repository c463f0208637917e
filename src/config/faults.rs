//! What is wrong with a configuration, said so that it can be mended: file, line, column, remedy. Reading a file of settings
//! gathers all of it, so that an operator sees it at once. And without secrets: user names and passwords in URLs (RFC 3986
//! §3.2.1), and values of the configuration. What is hidden need not be a URL: it may be one that was mistyped.

use crate::identify::nearest_first;
use crate::robots::nearest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue, Deserializer};

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
        self.to_string().replace("\n  hint: ", "; ")
    }

    /// A fault of the whole file, or of an option, which has no line.
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
fn position(text: &str, offset: usize) -> (usize, usize) {
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
        ConfigError::at(path, &before, Some(before.len()..before.len()), format!("the {what} is not UTF-8"))
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

/// `text` without what may be user names and passwords of URLs in it. Rather too much is hidden than too little: all
/// before the last `@` of a line, back to `://`, or to the quotation mark where there is none and a colon stands between.
#[must_use]
pub(super) fn without_user_info(text: &str) -> String {
    let shown = |line| hidden(line).unwrap_or_else(|| String::from(line));
    text.split('\n').map(shown).collect::<Vec<_>>().join("\n")
}

/// A line in which something was hidden.
fn hidden(line: &str) -> Option<String> {
    let (before, after) = line.rsplit_once('@')?;
    // What is written like `user:password`. An address of mail is nothing to hide.
    let without_scheme = || {
        let mark = before.find(['`', '"']).or_else(|| before.rfind(char::is_whitespace));
        let start = mark.map_or(0, |at| at + 1);
        let is_like = |written: &str| written.contains(':') && !written.starts_with("mailto:");
        before.get(start..).is_some_and(is_like).then_some(start)
    };
    let start = before.find("://").map(|at| at + 3).or_else(without_scheme)?;
    Some(format!("{}(hidden)@{after}", before.get(..start)?))
}

/// What may be shown of a `line` of the configuration `text` that has a fault at byte `at`: no value where the fault is
/// in the key, and nothing where a secret may stand, also below a key that is misspelt.
pub fn showable<'a>(text: &str, line: &'a str, at: usize) -> Option<&'a str> {
    // A line of a string of several lines does not say which key it belongs to.
    if ["\"\"\"", "'''"].iter().any(|quotes| text.contains(quotes)) {
        return None;
    }
    if let Some(sign) = line.find('=').filter(|sign| at < *sign) {
        return line.get(..=sign);
    }
    let lower = line.to_lowercase();
    // An `@` may end a password, and be written as an escape.
    let is_secret = ["tok", "secr", "pass", "@", "\\u"].iter().any(|part| lower.contains(part));
    (!is_secret).then_some(line)
}

/// How many faults of values are told of one file.
const MOST: usize = 50;

/// Keys that there are no more, and what has become of them.
const REMOVED: [(&str, &str); 3] = [
    ("human_words", "leave it out: robots.txt no longer makes a crawler of a browser or an app"),
    (
        "published",
        "remove it: what the gateway serves is enforced from the first request on, and what was served before it excuses \
         nobody from that; it only keeps violations from being counted until `notice` is over",
    ),
    ("nonces", "remove it: a signature is bound to a host and a time, and counts each time that it comes"),
];

/// A file, and the faults found in it so far.
pub(super) struct Faults<'a> {
    path: &'a Path,
    text: &'a str,
    /// The same, to find the places of values in.
    document: Spanned<DeTable<'a>>,
    /// The same without what was left out.
    rest: Spanned<DeTable<'a>>,
    pub(super) found: Vec<ConfigError>,
}

impl<'a> Faults<'a> {
    /// Of a text; where it is no TOML, that is found.
    pub(super) fn new(path: &'a Path, text: &'a str) -> Self {
        let mut found = Vec::new();
        let document = DeTable::parse(text).unwrap_or_else(|error| {
            found.push(ConfigError::at(path, text, error.span(), join_lines(error.message())));
            Spanned::new(0..0, DeTable::default())
        });
        let rest = document.clone();
        Self { path, text, document, rest, found }
    }

    /// What the document says. A wrong value does not hide another: it is reported, left out, and the rest is read
    /// again. Use the result only if no fault was found.
    pub(super) fn read<T: DeserializeOwned + Default>(&mut self) -> T {
        let mut left_out: Vec<String> = Vec::new();
        for _ in 0..MOST {
            let error = match T::deserialize(Deserializer::from(self.rest.clone())) {
                Ok(value) => return value,
                Err(error) => error,
            };
            let span = error.span().unwrap_or_default();
            // What was left out is missed, and that is no fault of the file.
            let is_missed = |key: &String| error.message().starts_with(&format!("missing field `{key}`"));
            if !left_out.iter().any(is_missed) {
                let message = self.explain::<T>(&join_lines(error.message()), span.start);
                self.found.push(ConfigError::at(self.path, self.text, Some(span.clone()), message));
            }
            let Some(key) = leave_out(self.rest.get_mut(), &span) else { break };
            left_out.push(key);
        }
        T::default()
    }

    /// The parser's message in the words of this configuration.
    fn explain<T: DeserializeOwned>(&self, message: &str, at: usize) -> String {
        let header = self.text.get(at..).and_then(|text| text.strip_prefix('[')?.split_once(']'));
        let is_single = message.starts_with("invalid type: map, expected a sequence");
        if let Some((name, _)) = header.filter(|(name, _)| is_single && !name.starts_with('[')) {
            return format!("invalid table `[{name}]`: expected `[[{name}]]`, because there may be several");
        }
        let unknown = |what| {
            let (written, expected) = message.strip_prefix(what)?.split_once("`, expected ")?;
            Some((written, expected.split('`').skip(1).step_by(2)))
        };
        if let Some((word, known)) = unknown("unknown variant `") {
            return format!("invalid word `{word}`: expected one of {}", nearest_first(word, known));
        }
        let Some((key, known)) = unknown("unknown field `") else { return in_plain_words(message) };
        if let Some((_, fate)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
            return format!("`{key}` is a key no more; {fate}");
        }
        if let Some(meant) = nearest(key, known.clone()) {
            return format!("unknown key `{key}`; did you mean `{meant}`?");
        }
        // What stands outside of all tables is told by what is read there.
        let is_of_whole_file = |error: toml::de::Error| error.message().contains(&format!("`{key}`"));
        if toml::from_str::<T>("unknown-key = 1").is_err_and(is_of_whole_file) {
            return format!(
                "`{key}` is a key of the whole file: write it above the first table, which begins with `[`"
            );
        }
        format!("unknown key `{key}`; the keys here are {}", nearest_first(key, known))
    }

    /// A fault of the value of `key`; an option such as `--admin` stands in no file. Without a remedy `hint` is empty.
    ///
    /// The key comes after the tables and the places in arrays that it stands in: `listeners.0.address`. Where it is not
    /// written, the table that it would stand in has the fault, and at last the whole file.
    pub(super) fn push(&mut self, key: &str, message: impl Into<String>, hint: &str) {
        let mut above = std::iter::successors(Some(key), |key| Some(key.rsplit_once('.')?.0));
        let error = match above.find_map(|key| self.place(key)) {
            _ if key.starts_with("--") => ConfigError::whole(Path::new(""), message),
            place => ConfigError::at(self.path, self.text, place, message),
        };
        let hint = Some(hint.to_owned()).filter(|hint| !hint.is_empty());
        self.found.push(ConfigError { hint, ..error });
    }

    /// A fault of the value of `key`, unless it `is_fine`.
    pub(super) fn require(&mut self, is_fine: bool, key: &str, message: impl Into<String>, hint: &str) {
        if !is_fine {
            self.push(key, message, hint);
        }
    }

    /// A value that is not within `range`; `fit` says what is.
    pub(super) fn within(&mut self, key: &str, value: u128, range: &RangeInclusive<u128>, fit: &str) {
        let name = key.rsplit('.').next().unwrap_or(key);
        let (message, hint) = (format!("`{name}` is out of range"), format!("write {fit}"));
        self.require(range.contains(&value), key, message, &hint);
    }

    /// Whether the file has `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.place(key).is_some()
    }

    /// Where `key` stands. What was read counts the elements of an array without those that were left out.
    fn place(&self, key: &str) -> Option<Range<usize>> {
        [&self.rest, &self.document].into_iter().find_map(|table| {
            let mut keys = key.split('.');
            let mut value = table.get_ref().get(keys.next()?)?;
            for key in keys {
                let element = || value.get_ref().get(key.parse::<usize>().ok()?);
                value = value.get_ref().get(key).or_else(element)?;
            }
            Some(value.span())
        })
    }

    /// `value`, if no fault was found, or all of them in the order of the file.
    pub(super) fn finish<T>(mut self, value: T) -> Result<T, Vec<ConfigError>> {
        self.found.sort_by_key(|error| (error.line, error.column));
        if self.found.is_empty() { Ok(value) } else { Err(self.found) }
    }
}

/// Takes out what has a fault at `span`, and says which key that is, or stands in.
fn leave_out(table: &mut DeTable<'_>, span: &Range<usize>) -> Option<String> {
    let own = table.iter().find(|(key, value)| key.span() == *span || value.span() == *span);
    if let Some(key) = own.map(|(key, _)| key.clone()) {
        table.remove(&key);
        return Some(key.into_inner().into_owned());
    }
    table.iter_mut().find_map(|(key, value)| leave_out_of_value(key.get_ref(), value.get_mut(), span))
}

fn leave_out_of_value(key: &str, value: &mut DeValue<'_>, span: &Range<usize>) -> Option<String> {
    if let DeValue::Table(table) = value {
        return leave_out(table, span);
    }
    let DeValue::Array(array) = value else { return None };
    let rest: DeArray<'_> = array.iter().filter(|element| element.span() != *span).cloned().collect();
    if rest.len() < array.len() {
        *array = rest;
        return Some(key.to_owned());
    }
    array.iter_mut().find_map(|element| leave_out_of_value(key, element.get_mut(), span))
}

/// A complaint about the type of a value, which `serde` words for whoever writes programs.
fn in_plain_words(message: &str) -> String {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "));
    let Some((found, expected)) = rest.and_then(|rest| rest.split_once(", expected ")) else {
        return message.to_owned();
    };
    let expected = match expected {
        "usize" | "u64" => "a whole number",
        "u32" => "a whole number below 4294967296",
        "u16" => "a whole number below 65536",
        "a string" => "a text in quotes",
        "a boolean" => "`true` or `false`",
        "a sequence" => "a list in brackets, `[` and `]`",
        expected if expected == "a map" || expected.starts_with("struct ") => "a table",
        expected => expected,
    };
    let (kind, value) = found.split_at(found.find(['`', '"']).unwrap_or(found.len()));
    let found = match kind.trim_end() {
        "string" => format!("the text {value}"),
        "integer" | "boolean" | "floating point" => value.to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "a table".to_owned(),
        _ => found.to_owned(),
    };
    format!("expected {expected}, and found {found}")
}

/// `toml` words some messages over two lines; an operator's log has one.
fn join_lines(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
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

    #[test]
    fn a_line_is_shown_without_what_may_be_a_secret() {
        let shown = |line: &'static str, at| showable(line, line, at);
        assert_eq!(shown("threads = \"two\"", 10), Some("threads = \"two\""));
        assert_eq!(shown("origin = \"htp://a.example\"", 9), Some("origin = \"htp://a.example\""));
        for (line, at) in [
            ("admin_token = \"s3cret", 14),
            ("admin_tokn = \"s3cret", 13),
            ("fleet = { database = \"postgresql://me:s3cret@db\", lease = 5 }", 52),
            ("x = \"\"\"s3cret\\q", 15),
            ("origin = \"http:/me:s3cret@h\"", 10),
            ("origin = [\"me:s3cret@h\", 5]", 26),
            ("origin = \"http://me:s3cret\\u0040h\"", 10),
        ] {
            assert_eq!(shown(line, at), None, "{line}");
        }
        assert_eq!(shown("admin_tokn = \"s3cret\"", 0), Some("admin_tokn ="));
        assert_eq!(shown("credential = \"s3cret\"", 0), Some("credential ="));
    }

    #[test]
    fn user_names_and_passwords_are_hidden_however_they_are_mistyped() {
        for (text, expected) in [
            ("invalid origin `http://me:s3cret@h:80`", "invalid origin `http://(hidden)@h:80`"),
            ("`http://s3cret@h`: no user", "`http://(hidden)@h`: no user"),
            ("`http://me:s3/c?r#e@t@h/x`", "`http://(hidden)@h/x`"),
            ("`http://me:s3 cret@h`", "`http://(hidden)@h`"),
            ("`http://me:s3`cret@h`", "`http://(hidden)@h`"),
            ("`http:/me:s3cret@h`", "`(hidden)@h`"),
            ("`http//me:s3cret@h`", "`(hidden)@h`"),
            ("`me:s3cret@h:80`", "`(hidden)@h:80`"),
            ("string \"me:s3 cret@h\", expected a number", "string \"(hidden)@h\", expected a number"),
            ("me:s3cret@h", "(hidden)@h"),
            ("one\n`x://me:s3cret@h`\ntwo", "one\n`x://(hidden)@h`\ntwo"),
        ] {
            assert_eq!(without_user_info(text), expected, "{text}");
            assert_eq!(without_user_info(expected), expected, "hidden once, it stays as it is");
        }
    }

    #[test]
    fn what_holds_no_password_is_shown() {
        for text in [
            "invalid contact `mailto:web@example.org`",
            "invalid contact `web@example.org`",
            "web@example.org: an address",
            "invalid origin `http://example.org/a`",
            "",
            "@",
        ] {
            assert_eq!(without_user_info(text), text, "{text}");
        }
    }
}
