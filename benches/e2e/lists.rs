//! The lists that operators of other servers refuse crawlers with today, made from our own catalogue.

use crate::scenario::{BROWSER, REFUSED_CRAWLER};
use robots_gateway::config::catalogue::bundled;
use std::collections::BTreeMap;
use std::error::Error;

/// The crawler of the load, and three more that such lists name first.
pub(crate) const FOUR: [&str; 4] = [REFUSED_CRAWLER, "ClaudeBot", "CCBot", "Bytespider"];

/// How many names the long list has.
const MANY: usize = 330;

/// Names of crawlers in alphabetical order, the load's among them. None is part of the browser's header.
pub(crate) fn many() -> Result<Vec<String>, Box<dyn Error>> {
    let knowledge = bundled();
    let tokens = knowledge.catalogue.crawlers().iter().flat_map(|crawler| crawler.tokens.iter());
    let browser = BROWSER.to_ascii_lowercase();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for token in FOUR.into_iter().chain(tokens.map(|token| &**token)) {
        let key = token.to_ascii_lowercase();
        if names.len() < MANY && !browser.contains(&key) {
            names.entry(key).or_insert_with(|| token.to_owned());
        }
    }
    if names.len() < MANY {
        return Err(format!("the catalogue has only {} tokens; {MANY} are wanted", names.len()).into());
    }
    Ok(names.into_values().collect())
}

/// A name as a regular expression.
pub(crate) fn expression(name: &str) -> String {
    name.chars()
        .flat_map(|symbol| (!symbol.is_ascii_alphanumeric()).then_some('\\').into_iter().chain([symbol]))
        .collect()
}
