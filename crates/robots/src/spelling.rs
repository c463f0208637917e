//! What was probably meant by a word that nobody knows.

/// From so many letters on, two slips are still the same word.
const LONG: usize = 5;

/// The word among `known` that is `name` but for case, `-`, `_` and blanks, or that is a slip away: a letter too many, too
/// few or another one, or two in the wrong order; in a long word two slips.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let folded = fold(name);
    let most = match folded.len() {
        0..=3 => 0,
        4..LONG => 1,
        _ => 2,
    };
    let distances = known.into_iter().map(|word| (distance(&folded, &fold(word), most), word));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, word)| word)
}

/// The words of `known`, the one first that `name` is most like.
pub fn nearest_first<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let folded = fold(name);
    let mut all: Vec<(f64, &str)> =
        known.into_iter().map(|word| (strsim::jaro_winkler(&folded, &fold(word)), word)).collect();
    all.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    all.into_iter().map(|(_, word)| word).collect()
}

/// A name without what owners forget or add.
pub(super) fn fold(name: &str) -> String {
    name.chars()
        .filter(|letter| !matches!(letter, '-' | '_' | ' '))
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// How many slips lead from one word to the other; more than `most` where they differ too much in length.
fn distance(one: &str, other: &str, most: usize) -> usize {
    if one.len().abs_diff(other.len()) > most { most + 1 } else { strsim::osa_distance(one, other) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_case_and_slips_make_no_other_word() {
        let known = ["GPTBot", "meta-externalagent", "ClaudeBot", "notice", "origin", "max_connections"];
        let near = |name: &str| nearest(name, known);
        for name in ["gpt-bot", "GTPBot", "GPTBots", "GPT Bot"] {
            assert_eq!(near(name), Some("GPTBot"), "{name}");
        }
        assert_eq!(near("meta-external-agent"), Some("meta-externalagent"));
        assert_eq!(near("notcie"), Some("notice"));
        assert_eq!(near("max-conections"), Some("max_connections"));
        for name in ["", "bot", "something", "orig", "Claude"] {
            assert_eq!(near(name), None, "{name}");
        }
    }
}
