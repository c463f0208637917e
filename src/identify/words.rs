//! Words that say something about a header without naming anybody: the generic
//! signs of automation, the guards that protect people's headers from them, and
//! the marks of apps, devices and platforms.
//!
//! Plain data, from `rules/words.toml` and an operator's own file; `config::catalogue` reads both.

use super::sign::Sign;
use strum::VariantArray as _;

/// What a sign that is found in a header stands for. Those before `Named` are lists of words, by their keys in the files;
/// the others the rules look for, whatever the files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[derive(strum::EnumCount, strum::IntoStaticStr, strum::VariantArray)]
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
    pub const LISTS: &[Self] = Self::VARIANTS.split_at(Self::Named as usize).0;

    /// Whether its words turn a header into that of an automated client.
    pub fn is_convicting(self) -> bool {
        matches!(self, Self::CrawlerSigns | Self::ToolSigns)
    }
}

/// The words of all lists. None of them cancels a name of the catalogue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words(pub Vec<(Mark, Sign)>);

impl Words {
    /// The words of one list.
    pub fn of(&self, list: Mark) -> impl Iterator<Item = &Sign> {
        self.0.iter().filter(move |(own, _)| *own == list).map(|(_, word)| word)
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

#[cfg(test)]
impl Words {
    /// The lists with these words as well, as they are written in the files.
    pub(super) fn with(mut self, list: Mark, words: &[&str]) -> Self {
        self.0.extend(words.iter().map(|word| (list, Sign::parse(word).unwrap())));
        self
    }
}
