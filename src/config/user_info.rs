//! Secrets, which no message repeats: user names and passwords in URLs (RFC 3986 §3.2.1), and values of the configuration.
//!
//! What is hidden need not be a URL: it may be one that was mistyped.

use std::borrow::Cow;

/// What is shown in place of what is hidden.
const HIDDEN: &str = "(hidden)";

/// `text` without what may be user names and passwords of URLs in it. Rather too much is hidden than too little: all
/// before the last `@` of a line, back to `://`, or to the quotation mark where there is none and a colon stands between.
#[must_use]
pub(super) fn without_user_info(text: &str) -> String {
    text.split('\n').map(line_without_user_info).collect::<Vec<_>>().join("\n")
}

fn line_without_user_info(line: &str) -> Cow<'_, str> {
    let Some((before, after)) = line.rsplit_once('@') else { return Cow::Borrowed(line) };
    let scheme = before.find("://").map(|at| at + 3);
    let Some(start) = scheme.or_else(|| start_without_scheme(before)) else { return Cow::Borrowed(line) };
    Cow::Owned(format!("{}{HIDDEN}@{after}", before.get(..start).unwrap_or_default()))
}

/// Where what is written like `user:password` begins. An address of mail is nothing to hide.
fn start_without_scheme(before: &str) -> Option<usize> {
    let before_it = before.find(['`', '"']).or_else(|| before.rfind(char::is_whitespace));
    let start = before_it.map_or(0, |at| at + 1);
    let written = before.get(start..)?;
    (written.contains(':') && !written.starts_with("mailto:")).then_some(start)
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
    let is_secret = ["tok", "secr", "pass"].iter().any(|part| lower.contains(part));
    // An `@` may end a password, and be written as an escape.
    let has_credentials = lower.contains('@') || lower.contains("\\u");
    (!is_secret && !has_credentials).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

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
