//! What a site serves as robots.txt: its own, what is added to that, and groups for the purposes it blocks.
//!
//! How parts are put together without one changing another is `robots::Composed`'s; where they come from is here.

use super::robots_file::{RobotsFile, Unfit};
use super::{Policy, Site};
use crate::config::RobotsConfig;
use crate::identify::Purpose;
use crate::record::printable;
use crate::robots::{BlockedTokens, Composed, LineSource, Void};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// Who generated a line, as the line says itself.
const MAKER: &str = "robots-gateway";

/// Puts beside a site's own robots.txt what its configuration says.
fn compose(robots: &RobotsConfig, own: Option<&RobotsFile>, policy: &Policy) -> Result<RobotsFile, Unfit> {
    let additions = robots.additions.as_deref().map(RobotsFile::read).transpose();
    let additions = additions.map_err(Unfit::of_additions)?;
    let of_purpose = |purpose: &Purpose| {
        let tokens = policy.identifier.catalogue().to_block(*purpose, &robots.block, &robots.except);
        let tokens = tokens.into_iter().map(Into::into).collect();
        BlockedTokens { purpose: purpose.as_str().into(), tokens }
    };
    let blocks: Vec<BlockedTokens> = robots.block.iter().map(of_purpose).collect();
    let bytes = |file: Option<&RobotsFile>| file.map(|file| file.bytes.clone()).unwrap_or_default();
    let at = |file: Option<&RobotsFile>| file.map(|file| file.path.clone()).unwrap_or_default();
    let added = additions.as_ref();
    let composed = Composed::new(&bytes(own), &bytes(added), &blocks, MAKER).map_err(|ungrouped| {
        Unfit::new(ungrouped.to_string(), "begin with a `User-agent:` line").at(&at(added))
    })?;
    if composed.bytes.len() > *policy.config.robots_max_size {
        let bytes = composed.bytes.len();
        let message =
            format!("the robots.txt has {bytes} bytes with all its parts, more than `robots_max_size`");
        let hint = "shorten the file or what is added to it, or raise `robots_max_size`";
        return Err(Unfit::new(message, hint).at(&at(own.or(added))));
    }
    Ok(RobotsFile { sections: composed.sections, ..RobotsFile::of(&at(own), composed.bytes) })
}

/// One line of a robots.txt as it is served; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedLine {
    /// From 1.
    pub number: u32,
    /// Its text; bytes that are not UTF-8 as `\xNN`.
    pub text: String,
    /// `file`, `origin`, `additions`, `joint` for what keeps parts apart, or `block` and a purpose.
    pub source: String,
    /// Why a generated line shuts nobody out, where that is so.
    pub void: Option<String>,
}

/// A site's robots.txt as it is served; field names are public API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedRobots {
    /// The site.
    pub site: String,
    /// The version in force; null for a site without a file.
    pub robots_version: Option<String>,
    /// Where its own rules come from: `file`, `origin`, `none`.
    pub source: Cow<'static, str>,
    /// All lines.
    pub lines: Vec<ServedLine>,
}

/// Why it is not said which site is meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSite {
    /// No site serves this host.
    #[error("no site serves `{0}`")]
    Unknown(String),
    /// There are several, and none is the default.
    #[error("several sites, and none is the default")]
    Several,
}

impl Policy {
    /// The site that serves `host`; without one the default site, or the only one.
    ///
    /// # Errors
    /// When no site serves it, or none is named and there are several.
    pub fn asked_site(&self, host: Option<&str>) -> Result<&Arc<Site>, NoSite> {
        let only = || self.sites().first().filter(|_| self.sites().len() == 1);
        match host {
            Some("default") | None => {
                let default = self.sites().iter().find(|site| site.config.hosts.is_empty());
                default.or_else(only).ok_or(NoSite::Several)
            }
            Some(host) => self.site(host).ok_or_else(|| NoSite::Unknown(host.to_owned())),
        }
    }
}

impl Site {
    /// The same site judging by a robots.txt that is made of `own` as `robots` says, as if it had been in force for ever.
    ///
    /// # Errors
    /// When it could not come into force.
    pub fn composed_of(
        &self,
        policy: &Policy,
        own: Option<RobotsFile>,
        robots: &RobotsConfig,
    ) -> Result<Self, Unfit> {
        let composed = robots.is_composed().then(|| compose(robots, own.as_ref(), policy)).transpose()?;
        Ok(self.serving(composed.or(own).map(Arc::new), policy))
    }

    /// What it serves.
    pub fn served(&self) -> ServedRobots {
        ServedRobots {
            site: self.config.name.clone(),
            robots_version: self.version().map(|id| id.to_string()),
            source: self.config.robots.source_word().into(),
            lines: self.served_lines(),
        }
    }

    fn served_lines(&self) -> Vec<ServedLine> {
        let Some(file) = &self.robots else { return Vec::new() };
        let voids: Vec<Void<'_>> = self.rules.current().robots.voids().collect();
        let lines = crate::robots::lines(&file.bytes).zip(1..);
        let served = lines.map(|(text, number)| ServedLine {
            number,
            text: printable(text),
            source: match file.place(number).0 {
                LineSource::Own => self.config.robots.source_word().to_owned(),
                other => other.to_string(),
            },
            void: voids.iter().find(|void| void.line == number).map(|void| {
                let how_far = if void.is_whole { "void" } else { "void in part" };
                let lines: Vec<String> = void.by.iter().take(3).map(u32::to_string).collect();
                let (lines, more) = (lines.join(", "), if void.by.len() > 3 { ", …" } else { "" });
                let (line, lets) = if void.by.len() > 1 { ("lines", "let") } else { ("line", "lets") };
                format!("{how_far}: {line} {lines}{more} {lets} {} in", printable(void.token.as_bytes()))
            }),
        });
        served.collect()
    }
}
