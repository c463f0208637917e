//! What the catalogue files say, as the plain data of `identify`.
//!
//! The bundled files are `rules/crawlers.toml` and `rules/words.toml`. An operator's own file has the form of both;
//! it adds crawlers and words, or changes the fields it writes of the crawlers it names. Unknown keys are refused, and every error of a file is reported at
//! once, with its line and column. Not here: recognition (`identify`).

mod card;
mod entry;
mod source;
mod written;

pub use card::{CardFields, LARGEST_CARD, is_as_read, parse as parse_card};
pub use source::CatalogueConfig;

use super::error::ConfigError;
use super::faults::Faults;
use crate::identify::RecognitionData;
use entry::Merger;
use std::path::Path;
use written::CatalogueFile;

/// The crawlers and words this version of the gateway ships with.
pub fn bundled() -> RecognitionData {
    bundled_with_errors().0
}

/// The bundled knowledge with what an operator's own file, `text` read from
/// `path`, adds and changes. Cards of agents lie in the state folder.
///
/// # Errors
/// Every error of the file, in order. The bundled knowledge is then still whole.
pub fn merge(text: &str, path: &Path, state_dir: &Path) -> Result<RecognitionData, Vec<ConfigError>> {
    extend(bundled(), text, path, state_dir)
}

/// The same over what is known already.
///
/// # Errors
/// Every error of the file, in order.
pub fn extend(
    mut knowledge: RecognitionData,
    text: &str,
    path: &Path,
    state_dir: &Path,
) -> Result<RecognitionData, Vec<ConfigError>> {
    let errors = read_into(&mut knowledge, text, path, Some(state_dir));
    if errors.is_empty() { Ok(knowledge) } else { Err(errors) }
}

fn bundled_with_errors() -> (RecognitionData, Vec<ConfigError>) {
    let mut knowledge = RecognitionData::default();
    let files = [
        (include_str!("../../rules/crawlers.toml"), "rules/crawlers.toml"),
        (include_str!("../../rules/words.toml"), "rules/words.toml"),
    ];
    let read = |(text, path)| read_into(&mut knowledge, text, Path::new(path), None);
    let errors = files.into_iter().flat_map(read).collect();
    (knowledge, errors)
}

/// Reads one file of crawlers, control tokens and words into `knowledge`; an operator's own with the state folder.
fn read_into(
    knowledge: &mut RecognitionData,
    text: &str,
    path: &Path,
    own: Option<&Path>,
) -> Vec<ConfigError> {
    let mut faults = Faults::new(path, text);
    let CatalogueFile { crawler, control, words } = faults.read();
    let mut merger = Merger { faults: &mut faults, own };
    // First, because no crawler may have one of them for a token.
    Merger::control(control, &mut knowledge.catalogue);
    merger.crawlers(crawler, &mut knowledge.catalogue);
    merger.words(words, &mut knowledge.words);
    faults.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{ClientKind, Mark, Purpose};

    fn refused(text: &str) -> Vec<String> {
        let errors = merge(text, Path::new("own.toml"), Path::new("")).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_bundled_files_have_no_error() {
        let (knowledge, errors) = bundled_with_errors();
        assert!(
            errors.is_empty(),
            "{}",
            errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        );
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
