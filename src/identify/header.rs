//! The shape of a `User-Agent` (RFC 9110 §10.1.5): its opening, its comments,
//! the words and links around a find.
//!
//! Works on bytes: a header that is not UTF-8 is read like any other. Not here:
//! what a shape means (`classify`).

use super::identity::Identity;
use super::scan::SignHit;
use super::sign::ends_with_ignore_case;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// How many bytes of a header are looked at, from its start, and as many before its end. Longer ones exist only to be
/// long.
pub(super) const LIMIT: usize = 2048;

/// What is looked at of a header: empty when there is none. Of one that is too long the first bytes and, behind a blank, the
/// last ones. Those begin behind a byte that no word holds: the rest of a word that was cut would be another word.
pub(super) fn prepare(user_agent: Option<&[u8]>) -> Cow<'_, [u8]> {
    if let Some(header) = ordinary(user_agent) {
        return Cow::Borrowed(header);
    }
    let bytes = user_agent.unwrap_or_default();
    let last = after(bytes, bytes.len() - LIMIT);
    let start = last.iter().position(|byte| !is_word(*byte)).unwrap_or(LIMIT);
    Cow::Owned([before(bytes, LIMIT), b" ", after(last, start)].concat().trim_ascii().to_vec())
}

/// The header, where all of it is looked at, as nearly always: then nothing has to be owned, nor freed.
#[inline]
pub(super) fn ordinary(user_agent: Option<&[u8]>) -> Option<&[u8]> {
    let bytes = user_agent.unwrap_or_default();
    (bytes.len() <= 2 * LIMIT).then(|| bytes.trim_ascii())
}

/// What stands before a place of the header.
pub(super) fn before(header: &[u8], at: usize) -> &[u8] {
    header.get(..at).unwrap_or_default()
}

/// What stands from a place of the header on.
pub(super) fn after(header: &[u8], at: usize) -> &[u8] {
    header.get(at..).unwrap_or_default()
}

/// Whether the header says nothing: no letter, no digit, nothing beyond ASCII.
pub(super) fn is_blank(header: &[u8]) -> bool {
    !header.iter().any(|b| b.is_ascii_alphanumeric() || !b.is_ascii())
}

/// Whether the header opens as browsers do, with `Mozilla` or `Opera`.
pub(super) fn opens_as_browser(header: &[u8]) -> bool {
    let quotes = header.iter().take_while(|b| matches!(b, b'"' | b'\'')).count();
    let rest = after(header, quotes);
    [&b"mozilla"[..], b"opera"].iter().any(|name| {
        rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
            && !rest.get(name.len()).is_some_and(u8::is_ascii_alphabetic)
    })
}

/// The comment around `at`, outermost parentheses matched by depth. A comment
/// that is never closed runs to the end.
pub(super) fn comment_around(header: &[u8], at: usize) -> Option<Range<usize>> {
    let (mut depth, mut open) = (0_usize, 0);
    for i in memchr::memchr2_iter(b'(', b')', header) {
        match (header.get(i), depth) {
            (Some(b'('), 0) if i > at => return None,
            (Some(b'('), 0) => (open, depth) = (i, 1),
            (Some(b'('), _) => depth += 1,
            (_, 1) if i > at => return Some(open..i),
            _ => depth = depth.saturating_sub(1),
        }
    }
    (depth > 0 && open <= at).then_some(open..header.len())
}

/// The run of bytes around the find without a blank or a separator: the whole link, where it is its `://` or `www.`.
pub(super) fn segment_range(header: &[u8], hit: SignHit) -> Range<usize> {
    let is_separator =
        |b: &u8| matches!(b, b' ' | b'\t' | b'(' | b')' | b';' | b',' | b'"' | b'<' | b'>' | b'[' | b']');
    let start = before(header, hit.start).iter().rposition(is_separator).map_or(0, |i| i + 1);
    let rest = after(header, hit.start);
    start..hit.start + rest.iter().position(is_separator).unwrap_or(rest.len())
}

/// Whether the link stands in a comment of its own, `(http://…` or `(+http://…`, and not behind a word.
pub(super) fn opens_comment(header: &[u8], link: SignHit) -> bool {
    before(header, segment_range(header, link).start).trim_ascii_end().last() == Some(&b'(')
}

/// Whether the find lies inside a link or a mail address.
pub(super) fn in_link(header: &[u8], hit: SignHit) -> bool {
    let around = header.get(segment_range(header, hit)).unwrap_or_default();
    let bare = around.strip_prefix(b"+").unwrap_or(around);
    // A link has its slashes behind the first colon. `${jndi:ldap://` has them behind the second one.
    let scheme = around.split(|b| *b == b':').nth(1);
    scheme.is_some_and(|rest| rest.starts_with(b"//"))
        || bare.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"www."))
        || in_mail_address(header, hit)
}

/// Whether the `://` at `link` is that of a `+http` or `+https` link, as crawlers
/// write theirs.
pub(super) fn is_own_link(header: &[u8], link: SignHit) -> bool {
    [&b"+http"[..], b"+https"].iter().any(|scheme| ends_with_ignore_case(before(header, link.start), scheme))
}

/// Whether the find lies inside a mail address.
fn in_mail_address(header: &[u8], hit: SignHit) -> bool {
    memchr::memchr(b'@', header).is_some() && {
        let word = word_range(header, hit);
        after(header, word.end).first() == Some(&b'@') || before(header, word.start).last() == Some(&b'@')
    }
}

/// Whether the `.com` at `hit` ends a host name. Packages of apps turn it round
/// (`com.example.app`), versions look like one (`1.7412.EU`).
pub(super) fn is_host_name(header: &[u8], hit: SignHit) -> bool {
    let range = word_range(header, hit);
    let ends = range.end == hit.end;
    let first = header.get(range.start..hit.start).and_then(|host| host.split(|b| *b == b'.').next());
    let reversed = first.is_some_and(|label| [&b"com"[..], b"org", b"net", b"io", b"de"].contains(&label));
    ends && !reversed && first.is_some_and(|label| label.iter().any(u8::is_ascii_alphabetic))
}

/// Whether the `@` at `at` is that of a mail address, `name@host.tld`. Apps send
/// `android@111.0`, locales `th-TH@calendar=gregorian`.
pub(super) fn is_mail_address(header: &[u8], at: usize) -> bool {
    let local = at.checked_sub(1).and_then(|i| header.get(i)).is_some_and(u8::is_ascii_alphanumeric);
    let rest = after(header, at + 1);
    let host = |b: &&u8| b.is_ascii_alphanumeric() || matches!(**b, b'-' | b'.');
    let host = before(rest, rest.iter().take_while(host).count());
    let mut labels = host.rsplit(|b| *b == b'.').filter(|label| !label.is_empty());
    let alphabetic = |label: &[u8]| label.len() >= 2 && label.iter().all(u8::is_ascii_alphabetic);
    local && labels.next().is_some_and(alphabetic) && labels.next().is_some()
}

/// Whether the find is only what the client compares itself with: `like X`,
/// `treat as X`, `compatible with X`.
pub(super) fn is_likeness(header: &[u8], start: usize) -> bool {
    let before = before(header, start);
    let words = before.trim_ascii_end();
    let word = words.rsplit(|b| !b.is_ascii_alphanumeric()).next().unwrap_or_default();
    let is_likening = |known: &&[u8]| word.eq_ignore_ascii_case(known);
    words.len() < before.len() && [&b"like"[..], b"as", b"with"].iter().any(is_likening)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'!')
}

/// The word around the find.
pub(super) fn word_range(header: &[u8], hit: SignHit) -> Range<usize> {
    let start = hit.start - before(header, hit.start).iter().rev().take_while(|b| is_word(**b)).count();
    start..hit.end + after(header, hit.end).iter().take_while(|b| is_word(**b)).count()
}

/// Whether a version follows what ends at `end`: `Tok/1`, `Tok/v1.0`.
pub(super) fn has_version(header: &[u8], end: usize) -> bool {
    matches!(after(header, end), [b'/', b'0'..=b'9' | b'v' | b'V', ..])
}

/// The name around the find: its word, with the word before it when the find is
/// all there is (`Cliqz Bot`, but `FooBot` alone).
pub(super) fn name_at(header: &[u8], hit: SignHit) -> Option<Arc<str>> {
    let mut range = word_range(header, hit);
    let before = before(header, range.start);
    if range == (hit.start..hit.end) && before.ends_with(b" ") {
        let head = before.trim_ascii_end();
        let len = head.iter().rev().take_while(|b| is_word(**b)).count();
        let opened = head.get(head.len().wrapping_sub(len + 1));
        if len > 0 && opened.is_none_or(|b| matches!(b, b' ' | b'(' | b';')) {
            range.start = head.len() - len;
        }
    }
    name(header.get(range)?)
}

/// The word that begins at `start`, blanks skipped.
pub(super) fn name_from(header: &[u8], start: usize) -> Option<Arc<str>> {
    let rest = after(header, start).trim_ascii_start();
    name(before(rest, rest.iter().take_while(|b| is_word(**b)).count()))
}

fn name(word: &[u8]) -> Option<Arc<str>> {
    let word = word.get(..Identity::MAX_NAME).unwrap_or(word);
    let text = str::from_utf8(word).ok()?;
    let text = text.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    (!text.is_empty() && text.bytes().any(|b| b.is_ascii_alphabetic())).then(|| text.into())
}

/// What stands between `start` and the next `;` or `)`, blanks trimmed.
pub(super) fn field_from(header: &[u8], start: usize) -> &[u8] {
    let rest = after(header, start);
    before(rest, memchr::memchr2(b';', b')', rest).unwrap_or(rest.len())).trim_ascii()
}

/// Whether the field of a comment ends at `end`, or behind the version that follows.
pub(super) fn ends_field(header: &[u8], end: usize) -> bool {
    let is_version = |b: &&u8| b.is_ascii_digit() || matches!(**b, b' ' | b'/' | b'.');
    after(header, end).iter().find(|b| !is_version(b)).is_none_or(|b| matches!(b, b';' | b')'))
}

/// Whether a path follows the host name at `hit`: `example.org/policy`, but not
/// `example.org/1.0`.
pub(super) fn has_path(header: &[u8], hit: SignHit) -> bool {
    matches!(after(header, hit.end), [b'/', first, ..] if first.is_ascii_alphabetic())
}

/// Whether the comment is that of an Internet Explorer.
pub(super) fn is_internet_explorer(comment: &[u8]) -> bool {
    holds_any(comment, &[b"MSIE", b"Trident/"])
}

/// Whether what follows a word after `compatible;` is a browser's: its engine, its system, or the model of a phone.
pub(super) fn names_a_browser(rest: &[u8]) -> bool {
    holds_any(rest, &[b"Gecko", b"Windows NT", b"Android", b"Build/", b"iPhone", b"iPad"])
}

/// Whether one of the words stands in these bytes, letters in either case. Few bytes: no searcher pays.
fn holds_any(bytes: &[u8], words: &[&[u8]]) -> bool {
    words.iter().any(|word| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word)))
}

/// Whether a language stands first: ` zh-cn;`, ` de;`.
pub(super) fn opens_with_locale(rest: &[u8]) -> bool {
    let Some((language, region)) = field_from(rest, 0).split_at_checked(2) else { return false };
    let is_open = matches!(region, [] | [b'-' | b'_', _, ..]) && region.len() <= 5;
    is_open && language.iter().chain(region.iter().skip(1)).all(u8::is_ascii_alphabetic)
}

/// Whether the header can be the name of a program: it has a product as RFC 9110
/// §10.1.5 writes it, or is ASCII text. Other free text is nobody's name.
pub(super) fn names_a_program(header: &[u8]) -> bool {
    let product = |word: &[u8]| memchr::memchr(b'/', word).is_some_and(|i| i > 0 && i + 1 < word.len());
    header.is_ascii() || header.split(u8::is_ascii_whitespace).any(product)
}

#[cfg(test)]
mod tests {
    use super::super::words::Mark;
    use super::*;

    fn hit(header: &str, text: &str) -> SignHit {
        let start = header.find(text).unwrap();
        SignHit { mark: Mark::Named, entry: 0, start, end: start + text.len() }
    }

    #[test]
    fn comments_nest() {
        let header = b"Mozilla/5.0 (Linux; Android 11; moto g power (2022)) X (KHTML, like Gecko) y";
        let at = memchr::memmem::find(header, b"Android").unwrap();
        let range = comment_around(header, at).unwrap();
        assert_eq!(&header[range], b"(Linux; Android 11; moto g power (2022)");
        assert_eq!(comment_around(header, header.len() - 1), None);
        assert_eq!(comment_around(b"a (b", 3), Some(2..4));
        assert_eq!(comment_around(b"a ) b (c)", 4), None);
    }

    #[test]
    fn links_and_likeness_are_seen() {
        let header = "X (+http://www.bing.com/bingbot.htm) like Googlebot, a-robo@x.org, Foo";
        assert!(in_link(header.as_bytes(), hit(header, "bingbot")));
        assert!(in_link(header.as_bytes(), hit(header, "robo")));
        assert!(!in_link(header.as_bytes(), hit(header, "Googlebot")));
        assert!(is_likeness(header.as_bytes(), hit(header, "Googlebot").start));
        assert!(is_mail_address(b"a@b.com)", 1) && is_mail_address(b"a@b.c.org.", 1));
        assert!(!is_mail_address(b"android@111.0.5", 7) && !is_mail_address(b"TH@calendar=x", 2));
        assert!(!is_likeness(b"unlike Foo", 7) && !is_likeness(b"likeFoo", 4));
    }

    #[test]
    fn hosts_with_a_path_and_comments_of_internet_explorer() {
        let path = |header: &str| has_path(header.as_bytes(), hit(header, ".org"));
        assert!(path("x.org/policy") && !path("x.org/1.0") && !path("x.org/") && !path("x.org"));
        assert!(is_internet_explorer(b"(x; msie 8") && is_internet_explorer(b"(Trident/7.0"));
        assert!(!is_internet_explorer(b"(Trident") && !is_internet_explorer(b""));
    }

    #[test]
    fn names_are_bounded_and_printable() {
        assert_eq!(name_at(b"Cliqz Bot (+x)", hit("Cliqz Bot", "Bot")).as_deref(), Some("Cliqz Bot"));
        assert_eq!(name_at(b"x; FooBot/1", hit("x; FooBot", "Bot")).as_deref(), Some("FooBot"));
        assert_eq!(name_at(b"Mozilla/5.0 bot", hit("Mozilla/5.0 bot", "bot")).as_deref(), Some("bot"));
        let long = format!("{}bot", "a".repeat(300));
        assert_eq!(name_at(long.as_bytes(), hit(&long, "bot")).unwrap().len(), Identity::MAX_NAME);
        assert_eq!(name_from(b"  12.5", 0), None);
    }

    #[test]
    fn of_a_long_header_both_ends_are_looked_at() {
        let seen = |header: &[u8]| String::from_utf8_lossy(&prepare(Some(header))).into_owned();
        assert_eq!(&*prepare(None), b"");
        assert_eq!(seen(b" a "), "a");
        let whole = "x".repeat(LIMIT - 2) + " y";
        assert_eq!(seen(whole.as_bytes()), whole);
        for padding in LIMIT - 20..=2 * LIMIT - 15 {
            let longer = format!("{} (GPTBot/1.2)", "x".repeat(padding));
            assert_eq!(seen(longer.as_bytes()).len(), longer.len(), "no word is cut");
        }
        let longest = format!("First/1 {} a{} Last/1", "-".repeat(9_000), "b".repeat(3_000));
        let seen_of_it = seen(longest.as_bytes());
        assert!(
            seen_of_it.starts_with("First/1 ---") && seen_of_it.ends_with("-  Last/1"),
            "the rest of a word is none: {seen_of_it}"
        );
        assert_eq!(seen(&[b'a'; 9_000]).len(), LIMIT);
        assert!(seen(&[b' '; 9_000]).is_empty() && seen(&[b';'; 9_000]).len() <= 2 * LIMIT + 1);
    }

    #[test]
    fn openings_and_blanks() {
        assert!(opens_as_browser(b"Mozilla/5.0") && opens_as_browser(b"'mozilla 5.0"));
        assert!(!opens_as_browser(b"MozillaBot/1") && opens_as_browser(b"Opera/9"));
        assert!(is_blank(b"-") && is_blank(b"") && !is_blank(b"\xff"));
        assert!(names_a_program(b"Foo/1 (x)") && names_a_program(b"Xenu Link Sleuth"));
        assert!(!names_a_program("t\u{e9}l\u{e9}phone".as_bytes()));
    }
}
