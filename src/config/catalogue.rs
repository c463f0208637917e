//! `catalogue`, and what the files that it names say, as the plain data of `identify`.
//!
//! The bundled files are `rules/crawlers.toml` and `rules/words.toml`. An operator's own file has the form of both;
//! it adds crawlers and words, or changes the fields it writes of the crawlers it names. Unknown keys are refused, and every error of a file is reported at
//! once, with its line and column. Not here: recognition (`identify`).

mod card;
mod entry;
mod written;

pub use card::{CARDS, CardFields, LARGEST_CARD, is_as_read, parse as parse_card};

use super::error::ConfigError;
use super::faults::Faults;
use super::values::{DurationValue, Ed25519Value, seconds, text_or_table};
use super::verify::check_fetched_url;
use crate::identify::RecognitionData;
use entry::Merger;
use serde::Deserialize;
use smart_default::SmartDefault;
use std::path::{Path, PathBuf};
use written::CatalogueFile;

/// What this version of the gateway ships with.
const BUNDLED: [(&str, &str); 2] = [
    ("rules/crawlers.toml", include_str!("../../rules/crawlers.toml")),
    ("rules/words.toml", include_str!("../../rules/words.toml")),
];

/// The crawlers and words this version of the gateway ships with. The tests hold that they have no fault.
pub fn bundled() -> RecognitionData {
    let extended = |known, (path, text): (&str, &str)| extend(known, text, Path::new(path), None);
    BUNDLED.into_iter().try_fold(RecognitionData::default(), extended).unwrap_or_default()
}

/// What is known, with what a file of crawlers, control tokens and words adds and changes: `text`, read from `path`. An
/// operator's own comes with the state folder, in which cards of agents lie.
///
/// # Errors
/// Every error of the file, in order.
pub fn extend(
    mut known: RecognitionData,
    text: &str,
    path: &Path,
    state_dir: Option<&Path>,
) -> Result<RecognitionData, Vec<ConfigError>> {
    let mut faults = Faults::new(path, text);
    let CatalogueFile { crawler, control, words } = faults.read();
    let mut merger = Merger { faults: &mut faults, own: state_dir };
    // First, because no crawler may have one of them for a token.
    Merger::control(control, &mut known.catalogue);
    merger.crawlers(crawler, &mut known.catalogue);
    merger.words(words, &mut known.words);
    faults.finish(known)
}

/// Catalogues beside the bundled one.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "CatalogueConfig", deny_unknown_fields, default)]
pub struct CatalogueConfig {
    /// A file of the operator's own.
    pub file: Option<PathBuf>,
    /// Where one is published; its signature is at the same place with `.sig` behind it.
    pub url: Option<String>,
    /// The Ed25519 key that has to have signed that one.
    pub public_key: Option<Ed25519Value>,
    /// How often it is fetched.
    #[default(seconds::<86_400>())]
    pub every: DurationValue,
}

text_or_table!(
    CatalogueConfig,
    "the path of a file, or a table such as { url = \"https://…\", public_key = \"…\" }",
    |file| ("file", file)
);

impl CatalogueConfig {
    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        let url = self.url.as_deref();
        let is_whole = url.is_some() == self.public_key.is_some()
            || (faults.has("catalogue.url") && faults.has("catalogue.public_key"));
        let message = "`url` and `public_key` of `catalogue` go together: what is fetched has to be signed";
        faults.require(is_whole, "catalogue", message, "write both, or neither");
        let expected = "that of a file, such as `https://example.org/crawlers.toml`";
        if let Some(message) = url.and_then(|url| check_fetched_url(url, expected).err()) {
            faults.push("catalogue.url", message, "whoever publishes the catalogue names it");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{ClientKind, Mark, Purpose};

    /// What is bundled with an operator's own file.
    pub(super) fn merge(
        text: &str,
        path: &Path,
        state_dir: &Path,
    ) -> Result<RecognitionData, Vec<ConfigError>> {
        extend(bundled(), text, path, Some(state_dir))
    }

    fn refused(text: &str) -> Vec<String> {
        let errors = merge(text, Path::new("own.toml"), Path::new("")).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_bundled_files_have_no_error() {
        let mut knowledge = RecognitionData::default();
        for (path, text) in BUNDLED {
            knowledge = extend(knowledge, text, Path::new(path), None).unwrap();
        }
        assert_eq!(knowledge, bundled());
        assert!(knowledge.catalogue.crawlers().len() >= 300);
        for list in Mark::LISTS.iter().copied() {
            assert!(knowledge.words.of(list).count() >= 5, "{list:?}");
        }
    }

    #[test]
    fn an_own_file_adds_and_changes() {
        let text = "[[crawler]]\nname = \"OurProbe\"\nclient = \"monitor\"\n\
                    [[crawler]]\nname = \"gptbot\"\npurpose = \"other\"\n\
                    [words]\nguards = [\"robotics-browser\", \"all qute\"]\n";
        let knowledge = merge(text, Path::new("own.toml"), Path::new("")).unwrap();
        let probe = knowledge.catalogue.get("OurProbe").unwrap();
        assert_eq!((probe.client, probe.star, probe.signs.len()), (ClientKind::Monitor, false, 1));
        let gptbot = knowledge.catalogue.get("GPTBot").unwrap();
        assert_eq!(gptbot.purpose, Purpose::Other);
        assert_eq!(&*gptbot.tokens, [Box::from("GPTBot")]);
        for list in [Mark::Guards, Mark::WholeGuards] {
            assert_eq!(knowledge.words.of(list).count(), bundled().words.of(list).count() + 1);
        }
    }

    #[test]
    fn every_error_is_reported_with_its_place() {
        let errors = refused(
            "[[crawler]]\nname = \"A1\"\nclient = \"human\"\ntokns = []\n\n[[crawler]]\nclient = \"tool\"\nsigns = [\"x\", 7]\n",
        );
        assert_eq!(errors.len(), 5, "{errors:#?}");
        assert!(
            errors[0].starts_with("own.toml:3:10: ") && errors[0].contains("`special-case`"),
            "{}",
            errors[0]
        );
        assert!(
            errors[1].starts_with("own.toml:4:1: unknown key `tokns`; did you mean `tokens`"),
            "{}",
            errors[1]
        );
        assert!(
            errors.iter().any(|e| e.starts_with("own.toml:6:1: ") && e.contains("`name`")),
            "{errors:#?}"
        );
        assert!(errors.iter().any(|e| e.starts_with("own.toml:8:10: ")), "{errors:#?}");
        assert!(errors.iter().any(|e| e.starts_with("own.toml:8:15: ")), "{errors:#?}");
    }

    #[test]
    fn a_broken_file_is_refused_whole() {
        assert!(refused("[[crawler]]\nname = \n")[0].starts_with("own.toml:2:"));
        assert!(refused("[words]\nguards = 1")[0].starts_with("own.toml:2:10: "));
        assert!(refused("[words]\nhuman_words = []")[0].contains("`human_words` is a key no more"));
        assert!(refused("crawlers = []")[0].contains("unknown key `crawlers`"));
        assert!(
            refused("[[crawler]]\nname = \"X9\"\nsigns = [\"GPTBot\"]")[0]
                .contains("already belongs to `GPTBot`")
        );
        assert!(refused("[[crawler]]\nname = \"X9\"\nclient = \"monitor\"\nstar = true")[0].contains("`*`"));
    }

    #[test]
    fn what_would_convict_people_is_refused_at_its_place() {
        for (text, place) in [
            ("[[crawler]]\nname = \"Chrome\"\n", "own.toml:2:8: "),
            ("[[crawler]]\nname = \"X9\"\nsigns = [\"X9\", \"*Safari*\"]\n", "own.toml:3:16: "),
            ("[[crawler]]\nname = \"GPTBot\"\nsigns = [\"Mozilla\"]\n", "own.toml:3:10: "),
            ("[words]\ncrawler_signs = [\"*Gecko\"]\n", "own.toml:2:18: "),
            ("[words]\ntool_signs = [\"*tools*\", \"Mobile\"]\n", "own.toml:2:26: "),
        ] {
            let errors = refused(text);
            assert_eq!(errors.len(), 1, "{errors:#?}");
            assert!(errors[0].starts_with(place) && errors[0].contains("hint: "), "{}", errors[0]);
            assert!(errors[0].contains("would take people's browsers"), "{}", errors[0]);
        }
        for harmless in [
            "[[crawler]]\nname = \"Our Chrome\"\nclient = \"app\"\nsigns = [\"Chrome/1.2\"]\n",
            "[words]\ndesktops = [\"Windows\"]\n",
        ] {
            assert!(merge(harmless, Path::new("own.toml"), Path::new("")).is_ok(), "{harmless}");
        }
    }
}
