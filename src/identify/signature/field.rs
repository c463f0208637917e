//! Structured fields (RFC 9651) as signatures use them: read whole, within a bound of length, and written in their strict
//! form.
//!
//! Of two equal keys the last one wins, as RFC 9651 has it; what was signed is written from what was read, so a signature
//! over another reading does not match. Beside the preferences of a robots.txt the only file that names sfv.

use super::fault::SignatureFault;
use sfv::{FieldType, Parser};

pub(super) use sfv::{Dictionary, InnerList, Item, ListEntry, Parameters};

/// Longer fields are not read.
const LONGEST: usize = 8 * 1_024;

/// Reads all lines of a field, joined by commas.
pub(super) fn parse<T: FieldType>(field: &[u8]) -> Result<T, SignatureFault> {
    if field.len() > LONGEST {
        return Err(SignatureFault::TooMany);
    }
    Parser::new(field).parse().map_err(|_| SignatureFault::Unreadable)
}

/// The inner list that stands under a label.
pub(super) fn list(entry: &ListEntry) -> Option<&InnerList> {
    match entry {
        ListEntry::InnerList(list) => Some(list),
        ListEntry::Item(_) => None,
    }
}

/// The item that stands under a label.
pub(super) fn item(entry: &ListEntry) -> Option<&Item> {
    match entry {
        ListEntry::Item(item) => Some(item),
        ListEntry::InnerList(_) => None,
    }
}

/// The value of an item that is a string.
pub(super) fn text(item: &Item) -> Option<&str> {
    item.bare_item.as_string().map(sfv::StringRef::as_str)
}

/// What stands under a label, in its strict form (RFC 9651 §4.1).
pub(super) fn written(entry: impl Into<ListEntry>) -> String {
    vec![entry.into()].serialize().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(field: &str) -> Vec<String> {
        let dictionary: Dictionary = parse(field.as_bytes()).unwrap();
        let members = dictionary.iter();
        members.map(|(label, entry)| format!("{label}={}", written(entry.clone()))).collect()
    }

    #[test]
    fn members_are_written_in_their_strict_form() {
        let field = "a=(  \"x\";y;z=1   \"w\" );b=tok;c=:AAE=: ,b=\"q\\\"\";k=?0, c, d=2.50";
        let expected = ["a=(\"x\";y;z=1 \"w\");b=tok;c=:AAE=:", "b=\"q\\\"\";k=?0", "c=?1", "d=2.5"];
        assert_eq!(rewritten(field), expected);
        assert_eq!(rewritten("a=1, b=2, a=()"), ["a=()", "b=2"], "the last one wins");
    }

    #[test]
    fn what_is_no_dictionary_is_refused() {
        for field in ["a=(", "a=\"x", "A=1", "a=1,", "a=:!:", "a b", "\u{e9}=1"] {
            assert!(parse::<Dictionary>(field.as_bytes()).is_err(), "{field}");
        }
        let long = "a=1, ".repeat(LONGEST);
        assert_eq!(parse::<Dictionary>(long.as_bytes()), Err(SignatureFault::TooMany));
    }
}
