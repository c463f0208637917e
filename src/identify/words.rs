//! Words that say something about a header without naming anybody: the generic
//! signs of automation, the guards that protect people's headers from them, and
//! the marks of apps, devices and platforms.
//!
//! Plain data, from `rules/words.toml` and an operator's own file; `config::catalogue` reads both.

use super::sign::Sign;
use strum::EnumCount as _;

/// What a sign that is found in a header stands for. Those of [`Mark::LISTS`] are lists of words, by their keys in the
/// files; the others the rules look for, whatever the files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::EnumCount, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Mark {
    /// Words that crawlers use and people's headers do not: `bot`, `crawl`, …
    CrawlerSigns,
    /// Words of tools, libraries and probes. Weaker: an app or device mark wins.
    ToolSigns,
    /// Words of what runs on a server. Stronger than the words of apps.
    ServerWords,
    /// A word of crawlers or tools inside one of these does not count.
    Guards,
    /// No word of crawlers or tools counts in a header with one of these.
    WholeGuards,
    /// Marks of native app stacks.
    AppMarks,
    /// Words in the names of apps, where no word of a server stands beside them.
    AppWords,
    /// Marks of phones, televisions, consoles and old browsers.
    DeviceMarks,
    /// Systems of devices that only people carry.
    Handhelds,
    /// Desktop systems.
    Desktops,
    /// Other systems that give a `Mozilla/` header a platform.
    Platforms,
    /// Engines and browser families.
    Engines,
    /// What people's browsers put after `compatible;`. Counts nowhere else.
    Compatible,
    /// An entry of the catalogue.
    Named,
    /// `Mozilla/`
    Mozilla,
    /// `.com`, `.org`, …
    Host,
    /// `://` or `www.`
    Link,
    /// `@`
    Mail,
    /// `compatible;`
    CompatibleTail,
    /// `like Gecko;`
    GeckoTail,
    /// A word that makes its comment a list of phone or TV models.
    Model,
    /// `(Macintosh;`
    Macintosh,
}

impl Mark {
    /// The lists of words in the files.
    pub const LISTS: [Self; 13] = [
        Self::CrawlerSigns,
        Self::ToolSigns,
        Self::ServerWords,
        Self::Guards,
        Self::WholeGuards,
        Self::AppMarks,
        Self::AppWords,
        Self::DeviceMarks,
        Self::Handhelds,
        Self::Desktops,
        Self::Platforms,
        Self::Engines,
        Self::Compatible,
    ];

    /// Whether its words turn a header into that of an automated client.
    pub fn is_convicting(self) -> bool {
        matches!(self, Self::CrawlerSigns | Self::ToolSigns)
    }
}

/// The word lists. None of them cancels a name of the catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words([Vec<Sign>; Mark::COUNT]);

impl Words {
    /// The words of one list.
    pub fn of(&self, list: Mark) -> &[Sign] {
        self.0.get(list as usize).map_or(&[], Vec::as_slice)
    }

    /// Adds a word to a list.
    pub fn add(&mut self, list: Mark, word: Sign) {
        if let Some(words) = self.0.get_mut(list as usize) {
            words.push(word);
        }
    }

    /// The lists with these words as well, as they are written in the files.
    #[cfg(test)]
    pub(super) fn with(mut self, list: Mark, words: &[&str]) -> Self {
        for word in words {
            self.add(list, Sign::parse(word).unwrap());
        }
        self
    }
}

/// All that recognition knows: crawlers by name, and the word lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecognitionData {
    /// Crawlers by name.
    pub catalogue: super::catalogue::Catalogue,
    /// The word lists.
    pub words: Words,
}
