//! `docs/fields.md` lists the very fields that the gateway removes.

use crate::text;
use robots_gateway::http::claims::{NAMES, OWN_PREFIX, PREFIXES};

#[test]
fn the_page_has_every_field_that_is_removed() {
    let page = text("docs/fields.md");
    let (_, list) = page.split_once("<!-- fields -->\n| name |\n|---|\n").unwrap();
    let (list, _) = list.split_once("<!-- end -->").unwrap();
    let told: Vec<&str> = list.lines().map(|line| line.trim_matches(['|', '`', ' '])).collect();
    let mut removed: Vec<String> = NAMES.map(str::to_owned).to_vec();
    removed.extend(PREFIXES.map(|prefix| format!("{prefix}*")));
    removed.sort();
    assert_eq!(told, removed);
    assert!(page.to_lowercase().contains(&format!("`{OWN_PREFIX}*` is removed from every request")));
}
