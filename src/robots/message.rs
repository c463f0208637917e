//! What a finding says, without its place.

use super::finding::{Finding, FindingKind, Severity};
use super::token;
use std::fmt;

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.detail;
        match self.kind {
            FindingKind::ByteOrderMark => f.write_str("the file starts with a byte order mark"),
            FindingKind::Html => f.write_str("this is HTML, not robots.txt"),
            FindingKind::MoreFindings => write!(f, "{d} further findings are not shown"),
            FindingKind::NulOctet => f.write_str("a NUL byte; the rest of the line is ignored"),
            FindingKind::NotUtf8 => {
                f.write_str("the file is not UTF-8 from here; its bytes are matched as they are")
            }
            FindingKind::TooLarge if self.severity == Severity::Note => {
                write!(f, "crawlers may ignore the rest of the file: they must read {d} bytes, no more")
            }
            FindingKind::TooLarge => write!(f, "the rest of the file is ignored: only {d} bytes are read"),
            FindingKind::UnparseableLine => write!(f, "`{d}` is not a record"),
            FindingKind::Utf16 => f.write_str("the file is UTF-16; nothing in it can be read"),
            FindingKind::ControlToken
            | FindingKind::DuplicateGroup
            | FindingKind::GenericToken
            | FindingKind::MisspeltToken
            | FindingKind::SeveralTokens
            | FindingKind::TokenCut
            | FindingKind::UnusableToken => self.of_name(f),
            FindingKind::CrawlDelay
            | FindingKind::HostRecord
            | FindingKind::MisspeltRecord
            | FindingKind::MissingColon
            | FindingKind::NoindexRecord
            | FindingKind::RelativeSitemap
            | FindingKind::SitemapDisallowed
            | FindingKind::SitemapsSkipped
            | FindingKind::UnknownRecord => self.of_record(f),
            FindingKind::BlankInPattern
            | FindingKind::BlockOverridden
            | FindingKind::CommentInPattern
            | FindingKind::DisallowAll
            | FindingKind::DotSegment
            | FindingKind::QueryPasses
            | FindingKind::RuleOutsideGroup
            | FindingKind::ShadowedRule
            | FindingKind::StagingFile
            | FindingKind::UnmatchableRule => self.of_rule(f),
        }
    }
}

impl Finding {
    fn of_name(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.detail;
        match self.kind {
            FindingKind::ControlToken => write!(f, "`{d}` is a control token that no request carries"),
            FindingKind::DuplicateGroup => write!(f, "`{d}` has a group above; their rules are combined"),
            FindingKind::GenericToken => write!(f, "`{d}` is a general word that names no crawler"),
            FindingKind::MisspeltToken => {
                let meant = self.meant.as_deref().unwrap_or_default();
                write!(f, "no crawler `{d}` is known; did you mean `{meant}`?")
            }
            FindingKind::SeveralTokens => match token::cut(d) {
                "" => write!(f, "`{d}` on one line names nobody"),
                cut => write!(f, "`{d}` on one line names `{cut}` at most; the other crawlers are not bound"),
            },
            FindingKind::TokenCut => match token::cut(d) {
                "" => write!(f, "`{d}` is not a product token; crawlers may not find themselves in it"),
                cut => write!(f, "`{d}` is not a product token; crawlers may compare only `{cut}`"),
            },
            _ => write!(f, "`{d}` names no crawler"),
        }
    }

    fn of_record(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let d = &*self.detail;
        match self.kind {
            FindingKind::CrawlDelay => write!(f, "`{d}` is not a number of seconds"),
            FindingKind::HostRecord => f.write_str("no search engine reads `Host` any more"),
            FindingKind::MisspeltRecord => write!(f, "`{d}` is misspelt; it was read as intended"),
            FindingKind::MissingColon => write!(f, "there is no colon after `{d}`; it was read as a record"),
            FindingKind::NoindexRecord => f.write_str("no crawler heeds `Noindex`, here or below"),
            FindingKind::RelativeSitemap => {
                write!(f, "the sitemap `{d}` is not a whole URL; crawlers may skip it")
            }
            FindingKind::SitemapDisallowed => write!(f, "the sitemap `{d}` is disallowed for `*`"),
            FindingKind::SitemapsSkipped => {
                f.write_str("whether this sitemap and those below are disallowed was not looked up: too many")
            }
            _ => write!(f, "unknown record `{d}`"),
        }
    }

    fn of_rule(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (d, other) = (&*self.detail, self.other.unwrap_or_default());
        match self.kind {
            FindingKind::BlankInPattern => write!(f, "`{d}` holds a blank, so the rule matches nothing"),
            FindingKind::BlockOverridden => {
                write!(f, "`{d}` wins over the generated line {other}, which shuts the crawler out")
            }
            FindingKind::CommentInPattern => {
                write!(f, "only `{d}` counts: the `#` right after it starts a comment")
            }
            FindingKind::DisallowAll => {
                f.write_str("every crawler without a group of its own is shut out")?;
                self.other
                    .map_or(Ok(()), |line| write!(f, " of all but the paths that rules allow (line {line})"))
            }
            FindingKind::DotSegment => {
                write!(
                    f,
                    "`{d}` has a dot segment, which clients resolve before they ask, so it matches nothing"
                )
            }
            FindingKind::QueryPasses => {
                write!(
                    f,
                    "`{d}` does not match where a query such as `?x` follows: `$` stands behind the query"
                )
            }
            FindingKind::RuleOutsideGroup => {
                write!(f, "`{d}` is for nobody: the rule stands before the first group")
            }
            FindingKind::StagingFile => {
                write!(
                    f,
                    "crawlers are shut out, and line {other} is about a staging site: is this its file?"
                )
            }
            FindingKind::UnmatchableRule => {
                write!(f, "`{d}` starts neither with `/` nor `*`, so it matches nothing")
            }
            _ => write!(f, "`{d}` never decides: line {other} always does in its place"),
        }
    }
}
