//! The word lists: `rules/words.toml`, and the `[words]` table of an operator's own file, which adds to them.

use super::reader::CatalogueReader;
use crate::identify::{Mark, Sign, Words};
use toml::de::DeTable;

/// What stands before a guard of whole headers in an operator's list of guards.
const WHOLE: &str = "all ";

/// A list of 0.2.0.
const GONE: &str = "human_words";

/// Reads the `[words]` table.
pub(super) fn read_table(reader: &mut CatalogueReader<'_>, document: &DeTable<'_>, words: &mut Words) {
    let Some(value) = document.get("words") else {
        return;
    };
    let Some(table) = value.get_ref().as_table() else {
        reader.refuse(value.span(), "`words` is written `[words]`".into());
        return;
    };
    if let Some((key, _)) = table.get_key_value(GONE) {
        let message = "`human_words` is gone: robots.txt no longer makes a crawler of a browser or an app";
        reader.refuse_with_hint(key.span(), message.into(), Some("leave the list out".into()));
    }
    let lists = Mark::LISTS.map(<&str>::from);
    reader.known_keys(table, &[&lists[..], &[GONE]].concat());
    for list in Mark::LISTS {
        for written in reader.texts(table, list.into()).unwrap_or_default() {
            let (list, word) = match written.get_ref().strip_prefix(WHOLE) {
                Some(word) if list == Mark::Guards => (Mark::WholeGuards, word),
                _ => (list, written.get_ref().as_str()),
            };
            match Sign::parse(word) {
                Err(error) => reader.refuse(written.span(), format!("`{word}`: {error}")),
                Ok(sign) => {
                    if list.is_convicting() {
                        reader.refuse_if_ordinary(written.span(), &sign);
                    }
                    words.add(list, sign);
                }
            }
        }
    }
}
