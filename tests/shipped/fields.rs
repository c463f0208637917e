//! `docs/fields.md` lists the very fields that the gateway removes.

use crate::text;
use robots_gateway::http::claims::{DETOUR_PREFIXES, DETOURS, NAMES, OWN_PREFIX, PREFIXES};

/// The rows of the table behind `mark`.
fn rows(page: &str, mark: &str) -> Vec<String> {
    let (_, table) = page.split_once(&format!("<!-- {mark} -->\n")).unwrap();
    let (table, _) = table.split_once("<!-- end -->").unwrap();
    let mut rows: Vec<String> = table.lines().skip(2).map(str::to_owned).collect();
    // By their bytes, as what they are compared with.
    rows.sort();
    rows
}

#[test]
fn the_page_has_every_field_that_is_removed() {
    let page = text("docs/fields.md");
    let mut removed: Vec<String> = NAMES.map(|name| format!("| `{name}` |")).to_vec();
    removed.extend(PREFIXES.map(|prefix| format!("| `{prefix}*` |")));
    removed.sort();
    assert_eq!(rows(&page, "fields"), removed);
    let mut detours: Vec<String> = DETOURS.map(|(name, by)| format!("| `{name}` | {by} |")).to_vec();
    detours.extend(DETOUR_PREFIXES.map(|(prefix, by)| format!("| `{prefix}*` | {by} |")));
    detours.sort();
    assert_eq!(rows(&page, "detours"), detours);
    assert!(page.to_lowercase().contains(&format!("`{OWN_PREFIX}*` is removed from every request")));
}
