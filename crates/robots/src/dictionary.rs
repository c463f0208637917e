//! Values of `Content-Usage`: dictionaries of structured fields (RFC 9651 section 3.2), whose keys are categories of use.
//!
//! Beside the signatures the only file that names sfv.

use sfv::{BareItem, Dictionary, FieldType as _, Item, Key, ListEntry, Parser};

/// Longer values are not read: no field of an answer may be so long.
const LONGEST: usize = 8 * 1024;

/// The keys and values, where the value is a dictionary at all.
pub(super) fn parse(value: &[u8]) -> Option<Dictionary> {
    if value.len() <= LONGEST { Parser::new(value).parse().ok() } else { None }
}

/// Whether a value allows (`y`) or disallows (`n`); `None` of any other, which states nothing.
pub(super) fn allows(entry: &ListEntry) -> Option<bool> {
    match entry {
        ListEntry::Item(Item { bare_item: BareItem::Token(token), .. }) => match token.as_str() {
            "y" => Some(true),
            "n" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

/// A key with its value, as it would be written.
pub(super) fn member(key: &Key, entry: &ListEntry) -> String {
    let one = std::iter::once((key.clone(), entry.clone()));
    one.collect::<Dictionary>().serialize().unwrap_or_default()
}

/// Several dictionaries as one: of each key what disallows, else what allows, else what stands first. Unknown keys are
/// kept. `None` where nothing is left to say.
pub(super) fn most_restrictive(values: impl Iterator<Item = Dictionary>) -> Option<String> {
    let mut all = Dictionary::new();
    for (key, entry) in values.flatten() {
        let strictness = |entry: &ListEntry| allows(entry).map_or(0, |allows| if allows { 1 } else { 2 });
        let known = all.entry(key).or_insert_with(|| entry.clone());
        if strictness(&entry) > strictness(known) {
            *known = entry;
        }
    }
    all.serialize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_key_the_most_restrictive_value_counts() {
        let combined =
            |values: &[&str]| most_restrictive(values.iter().filter_map(|value| parse(value.as_bytes())));
        assert_eq!(combined(&["train-ai=y, search=n", "train-ai=n"]).unwrap(), "train-ai=n, search=n");
        assert_eq!(combined(&["search=n", "search=y"]).unwrap(), "search=n");
        assert_eq!(combined(&["search=?0", "search=y;q=1"]).unwrap(), "search=y;q=1");
        assert_eq!(combined(&["x=(a b);p", "x=2, y=z"]).unwrap(), "x=(a b);p, y=z", "unknown keys are kept");
        assert_eq!(combined(&[]), None);
    }

    #[test]
    fn what_is_too_long_or_no_dictionary_is_not_read() {
        assert!(parse(b"train-ai=n").is_some() && parse(b"Train-AI=n").is_none() && parse(b"\xFF").is_none());
        let long = format!("a=\"{}\"", "x".repeat(LONGEST));
        assert!(parse(long.as_bytes()).is_none());
    }
}
