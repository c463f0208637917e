//! Rust source as names and signs: comments, strings and characters are left out.
//!
//! Not a parser. It knows just enough of the language that a name in a comment or a string is not taken for code.

/// A name, or one sign of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    /// An identifier, `::`, or one character.
    pub(crate) text: &'a str,
    /// Line of the file, counted from 1.
    pub(crate) line: usize,
    /// Whether it follows the one before without a gap.
    pub(crate) joined: bool,
}

impl Token<'_> {
    /// Whether this is an identifier or a keyword.
    pub(crate) fn is_name(&self) -> bool {
        self.text.starts_with(starts_name)
    }
}

/// All names and signs of `text`, in order.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line, mut joined) = (text, 1, false);
    while !rest.is_empty() {
        let hidden = hidden(rest);
        let length = if hidden == 0 { visible(rest) } else { hidden };
        let (head, tail) = rest.split_at(length);
        if hidden == 0 {
            found.push(Token { text: head, line, joined });
        }
        joined = hidden == 0;
        line += head.matches('\n').count();
        rest = tail;
    }
    found
}

fn starts_name(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_'
}

fn in_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Bytes of the white space, comment or literal that `rest` begins with; 0 if it begins with code.
fn hidden(rest: &str) -> usize {
    let blank = rest.len() - rest.trim_start().len();
    if blank > 0 {
        return blank;
    }
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment(rest);
    }
    let raw = raw_string(rest);
    if raw > 0 {
        return raw;
    }
    match rest.strip_prefix('\'') {
        Some(inside) if is_lifetime(inside) => 1,
        Some(_) => quoted(rest, '\''),
        None if rest.starts_with('"') => quoted(rest, '"'),
        None => 0,
    }
}

/// Bytes of the identifier, number or sign that `rest` begins with.
fn visible(rest: &str) -> usize {
    if rest.starts_with("::") {
        return 2;
    }
    match rest.find(|letter| !in_name(letter)) {
        Some(0) => rest.chars().next().map_or(1, char::len_utf8),
        Some(end) => end,
        None => rest.len(),
    }
}

/// Block comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// `r"…"`, `br#"…"#` and the like, in which a backslash is a backslash; 0 if there is none.
fn raw_string(rest: &str) -> usize {
    let Some(inside) = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix)) else {
        return 0;
    };
    let body = inside.trim_start_matches('#');
    if !body.starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", "#".repeat(inside.len() - body.len()));
    let opened = rest.len() - body.len() + 1;
    rest.get(opened..).and_then(|body| body.find(&end)).map_or(rest.len(), |at| opened + at + end.len())
}

/// Bytes of a literal between two `mark`s, in which a backslash escapes.
fn quoted(rest: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == mark => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// `'a` without a closing mark right after its first letter.
fn is_lifetime(inside: &str) -> bool {
    let mut letters = inside.chars();
    letters.next().is_some_and(starts_name) && letters.next() != Some('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<&str> {
        tokens(source).iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_literals_hide_their_names() {
        assert_eq!(texts("a // crate::b\n/* c /* d */ e */ f"), ["a", "f"]);
        assert_eq!(
            texts(r##"x("crate::b \" c", r#"d " e"#, br"f\", 'g', '\'', b'h') y"##),
            ["x", "(", ",", ",", ",", ",", ",", "b", ")", "y"]
        );
        assert_eq!(
            texts("fn f<'a>(x: &'a str)"),
            ["fn", "f", "<", "a", ">", "(", "x", ":", "&", "a", "str", ")"]
        );
    }

    #[test]
    fn lines_are_counted_through_what_is_hidden() {
        let found = tokens("/* 1\n2 */ a\n\"\n\" b\n::c");
        let lines: Vec<_> = found.iter().map(|token| (token.text, token.line)).collect();
        assert_eq!(lines, [("a", 2), ("b", 4), ("::", 5), ("c", 5)]);
    }
}
