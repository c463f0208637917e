//! Findings: what is odd in a robots.txt file, with the place it stands.
//!
//! A finding never changes a decision. RFC 9309 section 2.3.1.5 asks for the parseable rules of a
//! file to be used whatever surrounds them; a finding tells the owner what was left out and why.

use super::token;
use std::fmt;
use strum::EnumMessage as _;

/// How much a finding matters to the owner of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; the file does what it says.
    Note,
    /// The file probably does not do what its owner meant.
    Warning,
    /// The file cannot be meant as a robots.txt file.
    Error,
}

impl Severity {
    /// The lower-case English word: `note`, `warning` or `error`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// What is odd, what is said of it, and what can be done about it. New kinds may be added. `{d}` stands for what is meant
/// in the file, `{cut}` for its part that is read, `{meant}` for a name like it, `{other}` for another line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(strum::EnumMessage, strum::IntoStaticStr)]
#[cfg_attr(test, derive(strum::VariantArray))]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A record between user-agent lines. For RFC 9309 it is no rule, so the run of names goes on behind it; some crawlers
    /// take it for one.
    #[strum(
        message = "`{d}` stands between two `User-agent:` lines: crawlers differ on whether the group ends here or \
                       goes on in line {other}"
    )]
    #[strum(
        detailed_message = "write a rule such as `Allow: /` before the next `User-agent:` line, so that each has rules of its own"
    )]
    BetweenAgents,
    /// A blank inside a path pattern: the rule matches nothing (section 2.2 grammar).
    #[strum(message = "`{d}` contains a space, so the rule matches nothing")]
    #[strum(detailed_message = "write a space in a path as `%20`")]
    BlankInPattern,
    /// A rule that lets in a crawler which a generated group shuts out.
    #[strum(message = "`{d}` wins over the generated line {other}, which shuts the crawler out")]
    #[strum(detailed_message = "remove the rule, or name the crawler in `except`")]
    BlockOverridden,
    /// The file starts with a byte order mark.
    #[strum(message = "the file starts with a byte order mark")]
    #[strum(detailed_message = "save the file without a byte order mark")]
    ByteOrderMark,
    /// A product token that is only ever used in robots.txt, never in a request.
    #[strum(message = "`{d}` is a control token that no request carries")]
    #[strum(
        detailed_message = "it states a preference about use, which is only recorded; requests are judged by the crawler that makes them"
    )]
    ControlToken,
    /// A `#` right after a byte of a path pattern: the rest is a comment (section 2.2 grammar).
    #[strum(message = "only `{d}` counts: the `#` right after it starts a comment")]
    #[strum(
        detailed_message = "write a `#` in a path as `%23`, and a blank before a comment; browsers never send what follows a `#`"
    )]
    CommentInPattern,
    /// A `Crawl-delay` that is not a number of seconds.
    #[strum(message = "`{d}` is not a number of seconds")]
    #[strum(detailed_message = "write a number of seconds, such as `Crawl-delay: 10`")]
    CrawlDelay,
    /// `Disallow: /` for `*`: every crawler without a group of its own is shut out, but for the paths
    /// that other rules allow.
    #[strum(message = "every crawler without a group of its own is shut out")]
    DisallowAll,
    /// A path pattern with a segment `.` or `..`. Clients resolve these before they ask (RFC 3986
    /// section 5.2.4), so it matches nothing.
    #[strum(
        message = "`{d}` has a dot segment, which clients resolve before they ask, so it matches nothing"
    )]
    #[strum(detailed_message = "write the path as it is after `.` and `..` are resolved")]
    DotSegment,
    /// Two groups name the same product token; their rules are combined (section 2.2.1).
    #[strum(message = "`{d}` has a group above; their rules are combined")]
    DuplicateGroup,
    /// A file without a single byte.
    #[strum(message = "the file is empty: everything is allowed")]
    EmptyFile,
    /// A word so general that it names no crawler.
    #[strum(message = "`{d}` is a general word that names no crawler")]
    #[strum(detailed_message = "use the product token the crawler's operator documents")]
    GenericToken,
    /// A `Host` record, which only Yandex read, until 2018.
    #[strum(message = "no search engine reads `Host` any more")]
    #[strum(detailed_message = "redirect to the host that search engines shall show")]
    HostRecord,
    /// The file is an HTML page.
    #[strum(message = "this is HTML, not robots.txt")]
    #[strum(detailed_message = "serve the plain text file itself")]
    Html,
    /// The file is JSON: what some servers say of an error.
    #[strum(message = "this is JSON, not robots.txt")]
    #[strum(detailed_message = "serve the plain text file itself")]
    Json,
    /// A license that is not named by its whole URL, as RSL 1.0 asks.
    #[strum(message = "the license `{d}` is not a whole URL; crawlers cannot fetch it")]
    #[strum(detailed_message = "write its whole URL, beginning with `https://`")]
    LicenseUrl,
    /// A group of so many rules with `*` that not all of them are tried on a target that is made to be slow.
    #[strum(
        message = "the group of `{d}` has so many rules with `*` that for a very long target some are not tried"
    )]
    #[strum(detailed_message = "rules without `*` are always tried: write what matters most without")]
    ManyStars,
    /// A record name that only nearly is one of the known names.
    #[strum(message = "`{d}` is misspelt; it was read as intended")]
    #[strum(detailed_message = "check the spelling; comments start with `#`")]
    MisspeltRecord,
    /// A record without the colon after its name.
    #[strum(message = "expected a colon after `{d}`; it was read as a record")]
    #[strum(detailed_message = "write `Name: value`")]
    MissingColon,
    /// The name of a crawler that nobody has, and that is nearly one that is known.
    #[strum(message = "no crawler `{d}` is known; did you mean `{meant}`?")]
    #[strum(detailed_message = "the rules bind the crawler only under its own name")]
    MisspeltToken,
    /// Further findings were left out, because there are too many.
    #[strum(message = "{d} further findings are not shown")]
    MoreFindings,
    /// A `Noindex` record, which no crawler heeds.
    #[strum(message = "no crawler heeds `Noindex`, here or below")]
    #[strum(
        detailed_message = "send `X-Robots-Tag: noindex` with these pages, and allow them here, so that crawlers see it"
    )]
    NoindexRecord,
    /// A NUL byte; the rest of its line is ignored.
    #[strum(message = "a NUL byte; the rest of the line is ignored")]
    #[strum(detailed_message = "save the file as UTF-8")]
    NulOctet,
    /// Bytes that are not UTF-8 (section 2.3: the file must be UTF-8).
    #[strum(message = "the file is not UTF-8 from here; its bytes are matched as they are")]
    #[strum(detailed_message = "save the file as UTF-8")]
    NotUtf8,
    /// A group that leaves out what `*` may not fetch: who has a group of its own does not read that of `*` (section 2.2.1).
    #[strum(message = "`{d}` has a group of its own, so it may fetch what `*` may not ({meant})")]
    #[strum(detailed_message = "repeat these rules in its group, if they are meant for it, too")]
    NotBoundByStar,
    /// A rule that begins with `/*/` below a path that another rule, of as many bytes or more, allows.
    #[strum(
        message = "`{d}` does not hold below `{meant}`: line {other} has as many bytes or more, and wins"
    )]
    #[strum(detailed_message = "the rule of the most bytes decides, whatever their order")]
    Outranked,
    /// A category with a value that its vocabulary does not have.
    #[strum(message = "`{d}` states nothing: expected {meant}")]
    PreferenceValue,
    /// A rule for a kind of file that ends in `$`: with a query behind it the file is let through.
    #[strum(message = "`{d}` does not match where a query such as `?x` follows: `$` stands behind the query")]
    #[strum(detailed_message = "add the same rule with `?` in place of the `$`")]
    QueryPasses,
    /// A sitemap that is not named by its whole URL.
    #[strum(message = "the sitemap `{d}` is not a whole URL; crawlers may skip it")]
    #[strum(detailed_message = "write its whole URL, beginning with `https://`")]
    RelativeSitemap,
    /// A rule on the line of a name: it makes the name another, and is none.
    #[strum(
        message = "the rule in `{d}` does not count, and `{cut}`, which has a group of its own, does not read that of `*`"
    )]
    #[strum(detailed_message = "write the rule on a line of its own")]
    RuleInName,
    /// A rule or a preference before the first user-agent line (section 2.2.2: ignored).
    #[strum(message = "`{d}` applies to no crawler: it comes before the first group")]
    #[strum(detailed_message = "write it below a `User-agent:` line")]
    RuleOutsideGroup,
    /// Several product tokens on one user-agent line.
    #[strum(message = "`{d}` on one line names `{cut}` at most; the other crawlers are not bound")]
    #[strum(detailed_message = "write a `User-agent:` line for each of them")]
    SeveralTokens,
    /// A rule that another rule of the same group always overrides.
    #[strum(message = "`{d}` has no effect: line {other} always wins over it")]
    ShadowedRule,
    /// A sitemap whose own path is disallowed for `*`. The first 64 sitemaps are looked up.
    #[strum(message = "the sitemap `{d}` is disallowed for `*`")]
    #[strum(detailed_message = "allow the sitemap's path, or leave the sitemap out")]
    SitemapDisallowed,
    /// `Disallow: /` for `*` in a file that seems to be that of a staging site.
    #[strum(message = "crawlers are shut out, and line {other} is about a staging site: is this its file?")]
    #[strum(detailed_message = "put the file of the public site there, or search engines drop the site")]
    StagingFile,
    /// The value of a user-agent line has bytes outside the product token grammar.
    #[strum(message = "`{d}` is not a product token; crawlers may compare only `{cut}`")]
    #[strum(detailed_message = "write the product token alone, without a version")]
    TokenCut,
    /// The file is larger than the parsing limit, or than the 500 KiB that every crawler must read
    /// (section 2.5).
    #[strum(message = "the rest of the file is ignored: only {d} bytes are read")]
    TooLarge,
    /// A line that is no record at all.
    #[strum(message = "`{d}` is not a record")]
    #[strum(detailed_message = "check the spelling; comments start with `#`")]
    UnparseableLine,
    /// A path pattern that starts neither with `/` nor with `*`: it matches nothing.
    #[strum(message = "`{d}` starts neither with `/` nor `*`, so it matches nothing")]
    #[strum(detailed_message = "start the path with `/`")]
    UnmatchableRule,
    /// A path with letters beyond ASCII, which crawlers send percent-encoded.
    #[strum(
        message = "`{d}` has letters beyond ASCII, here or below: some crawlers compare only what is percent-encoded"
    )]
    #[strum(detailed_message = "write the path as a browser's address bar copies it")]
    UnencodedPath,
    /// A category that its vocabulary does not have.
    #[strum(message = "unknown category `{d}`; it is kept, and crawlers ignore it")]
    #[strum(
        detailed_message = "`Content-Usage` has `train-ai`, `ai-use` and `search`; `Content-Signal` has `search`, `ai-input`, `ai-train` and `use`"
    )]
    UnknownCategory,
    /// A record name that nobody defines.
    #[strum(message = "unknown record `{d}`")]
    #[strum(detailed_message = "check the spelling; comments start with `#`")]
    UnknownRecord,
    /// A preference that is no list of categories: of `Content-Usage`, no dictionary (RFC 9651 section 3.2).
    #[strum(message = "`{d}` states nothing that can be read")]
    #[strum(
        detailed_message = "write `train-ai=n, search=y` in Content-Usage, behind a path such as `/*.png` if you like, and `ai-train=no, search=yes` in Content-Signal"
    )]
    UnreadablePreference,
    /// A user-agent line that names nobody.
    #[strum(message = "`{d}` names no crawler")]
    #[strum(detailed_message = "write a product token, or `*` for every crawler")]
    UnusableToken,
    /// The file is UTF-16.
    #[strum(message = "the file is UTF-16; nothing in it can be read")]
    #[strum(detailed_message = "save the file as UTF-8")]
    Utf16,
}

impl FindingKind {
    /// Whether it is about the file as a whole, so that a file has at most one of the kind.
    pub(super) const fn is_of_file(self) -> bool {
        matches!(
            self,
            Self::ByteOrderMark
                | Self::DisallowAll
                | Self::EmptyFile
                | Self::Html
                | Self::Json
                | Self::ManyStars
                | Self::NotUtf8
                | Self::StagingFile
                | Self::TooLarge
                | Self::Utf16
        )
    }

    /// A stable name in kebab case, fit for machine-readable output.
    pub fn code(self) -> &'static str {
        self.into()
    }

    /// The severity every finding of this kind has.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Utf16 => Severity::Error,
            Self::ByteOrderMark
            | Self::ControlToken
            | Self::DisallowAll
            | Self::DuplicateGroup
            | Self::EmptyFile
            | Self::HostRecord
            | Self::ManyStars
            | Self::MoreFindings
            | Self::NotBoundByStar
            | Self::Outranked
            | Self::QueryPasses
            | Self::TokenCut
            | Self::UnencodedPath => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// What the owner of the file can do about it, where there is something to do.
    pub fn hint(self) -> Option<&'static str> {
        // Where there is none, strum gives the message.
        self.get_detailed_message().filter(|hint| Some(*hint) != self.get_message())
    }
}

/// One oddity of a file. `Display` gives the message without the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Line, counted from 1; `CR LF` ends one line.
    pub line: u32,
    /// Column, counted in bytes from 1.
    pub column: u32,
    /// How much it matters.
    pub severity: Severity,
    /// What it is.
    pub kind: FindingKind,
    /// What it is about, as it is shown.
    pub detail: Box<str>,
    /// Another line that it is about.
    pub other: Option<u32>,
    /// The name that was probably meant.
    pub(super) meant: Option<Box<str>>,
}

/// Bytes of a value that a message shows at most.
const SHOWN: usize = 60;

/// Appends a letter; by its number where it would not be seen.
fn visible(mut text: String, letter: char) -> String {
    match letter {
        '"' | '\'' | '\\' => text.push(letter),
        _ => text.extend(letter.escape_debug()),
    }
    text
}

impl Finding {
    pub(super) fn new(kind: FindingKind, line: u32, column: u32, detail: &[u8]) -> Self {
        let shown = detail.get(..SHOWN).unwrap_or(detail);
        let mut text = String::from_utf8_lossy(shown).into_owned();
        if !text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
            text = text.chars().fold(String::new(), visible);
        }
        if shown.len() < detail.len() {
            text.push('…');
        }
        let detail = text.into_boxed_str();
        Self { line, column, severity: kind.severity(), kind, detail, other: None, meant: None }
    }

    /// What the owner of the file can do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        if self.kind == FindingKind::TokenCut {
            return Some(token::advice(self.detail.as_bytes()));
        }
        self.kind.hint()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (detail, other) = (&*self.detail, self.other.unwrap_or_default());
        let cut = token::cut(detail);
        let said = match self.kind {
            FindingKind::TooLarge if self.severity == Severity::Note => {
                "crawlers may ignore the rest of the file: they must read {d} bytes, no more"
            }
            FindingKind::SeveralTokens if cut.is_empty() => "`{d}` on one line names no crawler",
            FindingKind::TokenCut if cut.is_empty() => {
                "`{d}` is not a product token; crawlers may not find themselves in it"
            }
            FindingKind::DisallowAll if other > 0 => {
                "every crawler without a group of its own is shut out of all but the paths that rules allow \
                 (line {other})"
            }
            FindingKind::UnknownCategory if self.meant.is_some() => {
                "unknown category `{d}`, which crawlers ignore; did you mean `{meant}`?"
            }
            kind => kind.get_message().unwrap_or_default(),
        };
        let said = said.replace("{other}", &other.to_string()).replace("{cut}", cut);
        let said = said.replace("{meant}", self.meant.as_deref().unwrap_or_default());
        // What the file holds comes last, since it may look like one of these.
        f.write_str(&said.replace("{d}", detail))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::VariantArray as _;

    #[test]
    fn something_is_said_of_every_finding() {
        for kind in FindingKind::VARIANTS {
            assert!(kind.get_message().is_some_and(|message| !message.is_empty()), "{kind:?}");
        }
    }

    #[test]
    fn no_hint_repeats_the_message() {
        for kind in FindingKind::VARIANTS {
            assert!(!kind.hint().is_some_and(|hint| hint.contains('{')), "{kind:?}: {:?}", kind.hint());
        }
    }
}
