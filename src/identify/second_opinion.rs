//! The second opinion: whether woothee calls a header a crawler.
//!
//! The only file that names woothee. Its other answers (`pc`, `smartphone`)
//! prove nothing and are not asked for: it gives them to many crawlers.

use std::fmt;
use woothee::parser::Parser;

/// Asks woothee about headers that our own rules take for a person's.
pub(super) struct SecondOpinion {
    parser: Parser,
}

impl fmt::Debug for SecondOpinion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecondOpinion")
    }
}

impl SecondOpinion {
    pub(super) fn new() -> Self {
        Self { parser: Parser::new() }
    }

    /// Whether woothee puts the header into its category `crawler`. It wants
    /// text, so bytes that are not UTF-8 are replaced.
    pub(super) fn is_crawler(&self, header: &[u8]) -> bool {
        self.parser.parse(&String::from_utf8_lossy(header)).is_some_and(|result| result.category == "crawler")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_an_old_crawler_and_no_browser() {
        let opinion = SecondOpinion::new();
        assert!(opinion.is_crawler(
            b"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)"
        ));
        assert!(!opinion.is_crawler(b"Mozilla/5.0 (Windows NT 10.0; rv:142.0) Gecko/20100101 Firefox/142.0"));
        assert!(!opinion.is_crawler(b"\xff\xfe"));
    }
}
