//! Findings: what is odd in a robots.txt file, with the place it stands.
//!
//! A finding never changes a decision. RFC 9309 section 2.3.1.5 asks for the parseable rules of a
//! file to be used whatever surrounds them; a finding tells the owner what was left out and why.

use super::token;

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

/// What is odd. New kinds may be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// A blank inside a path pattern: the rule matches nothing (section 2.2 grammar).
    BlankInPattern,
    /// A rule that lets in a crawler which a generated group shuts out.
    BlockOverridden,
    /// The file starts with a byte order mark.
    ByteOrderMark,
    /// A product token that is only ever used in robots.txt, never in a request.
    ControlToken,
    /// A `#` right after a byte of a path pattern: the rest is a comment (section 2.2 grammar).
    CommentInPattern,
    /// A `Crawl-delay` that is not a number of seconds.
    CrawlDelay,
    /// `Disallow: /` for `*`: every crawler without a group of its own is shut out, but for the paths
    /// that other rules allow.
    DisallowAll,
    /// A path pattern with a segment `.` or `..`. Clients resolve these before they ask (RFC 3986
    /// section 5.2.4), so it matches nothing.
    DotSegment,
    /// Two groups name the same product token; their rules are combined (section 2.2.1).
    DuplicateGroup,
    /// A word so general that it names no crawler.
    GenericToken,
    /// A `Host` record, which only Yandex read, until 2018.
    HostRecord,
    /// The file is an HTML page.
    Html,
    /// A record name that only nearly is one of the known names.
    MisspeltRecord,
    /// A record without the colon after its name.
    MissingColon,
    /// The name of a crawler that nobody has, and that is nearly one that is known.
    MisspeltToken,
    /// Further findings were left out, because there are too many.
    MoreFindings,
    /// A `Noindex` record, which no crawler heeds.
    NoindexRecord,
    /// A NUL byte; the rest of its line is ignored.
    NulOctet,
    /// Bytes that are not UTF-8 (section 2.3: the file must be UTF-8).
    NotUtf8,
    /// A rule for a kind of file that ends in `$`: with a query behind it the file is let through.
    QueryPasses,
    /// A sitemap that is not named by its whole URL.
    RelativeSitemap,
    /// A rule that stands before the first user-agent line (section 2.2.2: ignored).
    RuleOutsideGroup,
    /// Several product tokens on one user-agent line.
    SeveralTokens,
    /// A rule that another rule of the same group always overrides.
    ShadowedRule,
    /// A sitemap whose own path is disallowed for `*`.
    SitemapDisallowed,
    /// Sitemaps from here on were not looked up in the rules: there are too many of both.
    SitemapsSkipped,
    /// `Disallow: /` for `*` in a file that seems to be that of a staging site.
    StagingFile,
    /// The value of a user-agent line has bytes outside the product token grammar.
    TokenCut,
    /// The file is larger than the parsing limit, or than the 500 KiB that every crawler must read
    /// (section 2.5).
    TooLarge,
    /// A line that is no record at all.
    UnparseableLine,
    /// A path pattern that starts neither with `/` nor with `*`: it matches nothing.
    UnmatchableRule,
    /// A record name that nobody defines.
    UnknownRecord,
    /// A user-agent line that names nobody.
    UnusableToken,
    /// The file is UTF-16.
    Utf16,
}

impl FindingKind {
    /// Whether it is about the file as a whole, so that a file has at most one of the kind.
    pub(super) const fn is_of_file(self) -> bool {
        matches!(
            self,
            Self::ByteOrderMark
                | Self::DisallowAll
                | Self::Html
                | Self::NotUtf8
                | Self::SitemapsSkipped
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
            | Self::HostRecord
            | Self::MoreFindings
            | Self::QueryPasses
            | Self::SitemapsSkipped
            | Self::TokenCut => Severity::Note,
            _ => Severity::Warning,
        }
    }

    /// What the owner of the file can do about it, where there is something to do.
    pub const fn hint(self) -> Option<&'static str> {
        Some(match self {
            Self::BlankInPattern => "write a blank in a path as `%20`",
            Self::BlockOverridden => "remove the rule, or name the crawler in `except`",
            Self::ByteOrderMark => "save the file without a byte order mark",
            Self::ControlToken => "requests are judged by the crawler that makes them",
            Self::CommentInPattern => {
                "write a `#` in a path as `%23`, and a blank before a comment; browsers never send what follows a `#`"
            }
            Self::CrawlDelay => "write a number of seconds, such as `Crawl-delay: 10`",
            Self::DotSegment => "write the path as it is after `.` and `..` are resolved",
            Self::GenericToken => "use the product token the crawler's operator documents",
            Self::HostRecord => "redirect to the host that search engines shall show",
            Self::Html => "serve the plain text file itself",
            Self::MissingColon => "write `Name: value`",
            Self::MisspeltToken => "the rules bind the crawler only under its own name",
            Self::NoindexRecord => {
                "send `X-Robots-Tag: noindex` with these pages, and allow them here, so that crawlers see it"
            }
            Self::NulOctet | Self::NotUtf8 | Self::Utf16 => "save the file as UTF-8",
            Self::QueryPasses => "add the same rule with `?` in place of the `$`",
            Self::RelativeSitemap => "write its whole URL, beginning with `https://`",
            Self::RuleOutsideGroup => "put a `User-agent:` line before the first rule",
            Self::SeveralTokens => "write a `User-agent:` line for each of them",
            Self::SitemapDisallowed => "allow the sitemap's path, or leave the sitemap out",
            Self::StagingFile => "put the file of the public site there, or search engines drop the site",
            Self::TokenCut => "write the product token alone, without a version",
            Self::UnmatchableRule => "start the path with `/`",
            Self::UnusableToken => "write a product token, or `*` for every crawler",
            Self::MisspeltRecord | Self::UnknownRecord | Self::UnparseableLine => {
                "check the spelling; comments start with `#`"
            }
            Self::DisallowAll
            | Self::DuplicateGroup
            | Self::MoreFindings
            | Self::ShadowedRule
            | Self::SitemapsSkipped
            | Self::TooLarge => return None,
        })
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
    pub(super) detail: Box<str>,
    pub(super) other: Option<u32>,
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

    /// The bytes in question, or a number, as text; empty where the kind says it all.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Another line the finding is about, such as that of the rule that overrides this one.
    pub const fn related_line(&self) -> Option<u32> {
        self.other
    }

    /// What the owner of the file can do about it, where there is something to do.
    pub fn hint(&self) -> Option<&'static str> {
        if self.kind == FindingKind::TokenCut {
            return Some(token::advice(self.detail.as_bytes()));
        }
        self.kind.hint()
    }
}
