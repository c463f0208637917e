//! Words that say something about a header without naming anybody: the generic
//! signs of automation, the guards that protect people's headers from them, and
//! the marks of apps, devices and platforms.
//!
//! Plain data. The lists live in `rules/*.txt`; `config::catalogue` reads them.

use super::sign::Sign;
use std::collections::HashSet;

/// A word that keeps a person's header from being taken for a crawler's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guard {
    /// The word.
    pub sign: Sign,
    /// `true`: cancels every generic sign of the header. `false`: only those
    /// that lie inside the word (`cubot` holds `bot`).
    pub whole_header: bool,
}

/// The word lists. A guard never cancels a name of the catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    /// Words that crawlers use and people's headers do not: `bot`, `crawl`, …
    pub crawler_signs: Vec<Sign>,
    /// Words of tools, libraries and probes. Weaker: an app or device mark wins.
    pub tool_signs: Vec<Sign>,
    /// Guards against both.
    pub guards: Vec<Guard>,
    /// Marks of native app stacks.
    pub app_marks: Vec<Sign>,
    /// Marks of phones, televisions, consoles and old browsers.
    pub device_marks: Vec<Sign>,
    /// Systems of devices that only people carry.
    pub handhelds: Vec<Sign>,
    /// Desktop systems.
    pub desktops: Vec<Sign>,
    /// Other systems that give a `Mozilla/` header a platform.
    pub platforms: Vec<Sign>,
    /// Engines and browser families.
    pub engines: Vec<Sign>,
    /// What people's browsers put after `compatible;`.
    pub compatible: Vec<Sign>,
    /// Words (lower case) that stand in product position in people's headers. A
    /// token of robots.txt that is one of them convicts nobody.
    pub human_words: HashSet<Box<str>>,
}

/// All that recognition knows: crawlers by name, and the word lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecognitionData {
    /// Crawlers by name.
    pub catalogue: super::catalogue::Catalogue,
    /// The word lists.
    pub words: Words,
}
