//! The second opinion: whether woothee calls a header a crawler.
//!
//! The only file that names woothee. Its other answers (`pc`, `smartphone`)
//! prove nothing and are not asked for: it gives them to many crawlers.

use woothee::parser::Parser;

/// Whether woothee puts the header into its category `crawler`. It wants
/// text, so bytes that are not UTF-8 are replaced.
pub(super) fn is_crawler(header: &[u8]) -> bool {
    Parser::new().parse(&String::from_utf8_lossy(header)).is_some_and(|result| result.category == "crawler")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_an_old_crawler_and_no_browser() {
        assert!(is_crawler(
            b"Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)"
        ));
        assert!(!is_crawler(b"Mozilla/5.0 (Windows NT 10.0; rv:142.0) Gecko/20100101 Firefox/142.0"));
        assert!(!is_crawler(b"\xff\xfe"));
    }
}
