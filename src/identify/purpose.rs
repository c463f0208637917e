//! What crawlers fetch for, and the words by which operators say so.

use crate::robots;
use std::fmt;
use std::str::FromStr;
use strum::VariantArray as _;

/// What a crawler fetches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[derive(strum::Display, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Purpose {
    /// Advertisements: quality, targeting, landing pages.
    Ads,
    /// Indexes that answer engines quote from.
    AiSearch,
    /// Training of models.
    AiTrain,
    /// An assistant or agent acting for its user.
    AiUser,
    /// Archives and legal deposit.
    Archive,
    /// Feed readers and podcast directories.
    Feed,
    /// Availability, health and speed.
    Monitor,
    /// Known, but none of these.
    Other,
    /// Academic and public research.
    Research,
    /// Data sold or reused outside search.
    Scraper,
    /// Search indexes.
    Search,
    /// Internet-wide scans, malware and abuse checks.
    Security,
    /// Search engine optimisation and site audits.
    Seo,
    /// Link previews in messages and social networks.
    Social,
    /// Libraries, command-line clients, headless browsers.
    Tool,
    /// Callbacks of payment, code hosting and similar services.
    Webhook,
}

impl Purpose {
    /// The public word for this purpose.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl FromStr for Purpose {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        known_word("purpose", word, Self::VARIANTS)
    }
}

/// One purpose, or all of them that are AI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PurposeSet {
    /// This one.
    One(Purpose),
    /// `ai`: all whose words begin with `ai-`.
    Ai,
}

impl PurposeSet {
    const AI: &'static str = "ai";

    /// Whether it holds a purpose.
    pub fn contains(self, purpose: Purpose) -> bool {
        match self {
            Self::One(own) => own == purpose,
            Self::Ai => purpose.as_str().starts_with("ai-"),
        }
    }

    /// The purposes of several, each once.
    pub fn all_of(sets: &[Self]) -> Vec<Purpose> {
        let is_held = |purpose: &Purpose| sets.iter().any(|set| set.contains(*purpose));
        Purpose::VARIANTS.iter().copied().filter(is_held).collect()
    }

    /// The purposes that it holds.
    pub fn purposes(self) -> impl Iterator<Item = Purpose> {
        Self::all_of(&[self]).into_iter()
    }
}

impl fmt::Display for PurposeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(purpose) => f.write_str(purpose.as_str()),
            Self::Ai => f.write_str(Self::AI),
        }
    }
}

impl FromStr for PurposeSet {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        if word == Self::AI {
            return Ok(Self::Ai);
        }
        let all = Purpose::VARIANTS.iter().map(|purpose| purpose.as_str()).chain([Self::AI]);
        word.parse().map(Self::One).map_err(|_| UnknownWord::among("purpose", word, all))
    }
}

/// A word that is none of those there are, with these, the nearest first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnknownWord(String);

impl UnknownWord {
    /// `word`, which is none of `all`.
    pub fn among<'a>(what: &str, word: &str, all: impl IntoIterator<Item = &'a str>) -> Self {
        Self(format!("invalid {what} `{word}`: expected one of {}", nearest_first(word, all)))
    }
}

/// The one of `all` that is written as `word`.
///
/// # Errors
/// When there is none.
pub fn known_word<T>(what: &str, word: &str, all: &[T]) -> Result<T, UnknownWord>
where
    T: Copy + Into<&'static str>,
{
    let found = all.iter().copied().find(|value| Into::<&str>::into(*value) == word);
    found.ok_or_else(|| UnknownWord::among(what, word, all.iter().map(|value| (*value).into())))
}

/// Words as a list, the one that is most like `word` first.
pub fn nearest_first<'a>(word: &str, all: impl IntoIterator<Item = &'a str>) -> String {
    format!("`{}`", robots::nearest_first(word, all).join("`, `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ai_is_short_for_all_that_are_ais() {
        let ai: PurposeSet = "ai".parse().unwrap();
        assert_eq!(ai.purposes().collect::<Vec<_>>(), [Purpose::AiSearch, Purpose::AiTrain, Purpose::AiUser]);
        let one: PurposeSet = "seo".parse().unwrap();
        assert_eq!(one.purposes().collect::<Vec<_>>(), [Purpose::Seo]);
        assert_eq!((ai.to_string(), one.to_string()), ("ai".to_owned(), "seo".to_owned()));
    }

    /// "Matching variant not found" was said of each.
    #[test]
    fn an_unknown_word_lists_the_words_there_are_the_nearest_first() {
        let error = "ai-trian".parse::<PurposeSet>().unwrap_err().to_string();
        assert!(error.starts_with("invalid purpose `ai-trian`: expected one of `ai-train`, `ai"), "{error}");
        assert!(error.contains("`ai`") && error.contains("`webhook`"), "{error}");
        let error = "Monitors".parse::<Purpose>().unwrap_err().to_string();
        assert!(error.starts_with("invalid purpose `Monitors`: expected one of `monitor`, "), "{error}");
    }

    #[test]
    fn words_of_purposes_round_trip() {
        for &purpose in Purpose::VARIANTS {
            assert_eq!(purpose.as_str().parse(), Ok(purpose));
        }
        assert!(Purpose::VARIANTS.is_sorted_by_key(|p| p.as_str()));
    }
}
