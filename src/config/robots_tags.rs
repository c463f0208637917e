//! `robots_tags`: what forwarded answers say to robots of themselves, by path and by whom they are for.

use super::values::{from_text, written};
use crate::identify::{Identity, PurposeSet};
use crate::robots::{ParseLimits, Robots};
use serde::Deserialize;
use std::str::FromStr;
use std::sync::Arc;

/// Rules such as `noindex` for answers under a path, or to crawlers of a purpose.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RobotsTag {
    /// What is said.
    rules: Vec<TagRule>,
    /// To whom; to everybody where there is none.
    purpose: Option<PurposeSet>,
    /// Of which paths; of all where there is none.
    path: Option<TagPath>,
}

written! {
    /// `noindex`, or `max-snippet:20`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub(super) TagRule(Box<str>) = |text| {
        let (name, value) = text.split_once(':').unwrap_or((text, "0"));
        let is_of_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_of_name);
        if is_name && value.parse::<i32>().is_ok() {
            return Ok(text.into());
        }
        let expected = "expected a word such as `noindex`, or one with a number such as `max-snippet:20`";
        Err(format!("invalid rule `{text}`: {expected}"))
    };
}

from_text!(TagPath);

/// A pattern of paths as in robots.txt, matched by the same engine.
#[derive(Clone, Debug)]
pub(super) struct TagPath(Box<str>, Arc<Robots>);

impl FromStr for TagPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_pattern = text.starts_with(['/', '*']) && text.bytes().all(|byte| byte > b' ' && byte != b'#');
        if !is_pattern {
            let expected = "expected a pattern as in robots.txt, such as `/drafts/` or `/*.pdf$`";
            return Err(format!("invalid path `{text}`: {expected}"));
        }
        let file = format!("User-agent: *\nDisallow: {text}\n");
        let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
        Ok(Self(text.into(), Arc::new(robots)))
    }
}

impl PartialEq for TagPath {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for TagPath {}

impl RobotsTag {
    /// The values of `X-Robots-Tag` and `Robots-Tag` (draft-illyes-repext, section 2.1.1) for an answer to `identity`
    /// about `path`. Where they are not for everybody, they name whom they are for: a shared cache could give the answer
    /// to others.
    pub fn values(&self, identity: &Identity, path: &[u8]) -> Option<[String; 2]> {
        let is_of_path =
            self.path.as_ref().is_none_or(|TagPath(_, robots)| !robots.judge::<&str>(&[], true, path).allow);
        let mut token = None;
        if let Some(purposes) = self.purpose {
            let is_meant = identity.is_judged() && identity.purpose.is_some_and(|own| purposes.contains(own));
            token = Some(identity.tokens.first().filter(|_| is_meant)?);
        }
        let rules: Vec<&str> = self.rules.iter().map(|rule| &*rule.0).collect();
        let experimental = token.map_or_else(String::new, |token| format!("{token}: ")) + &rules.join(", ");
        let parameters = rules.join(";").replace(':', "=");
        let member = token.map_or_else(|| "*".to_owned(), ToString::to_string);
        is_of_path.then(|| [experimental, format!("{member};{parameters}")])
    }
}
