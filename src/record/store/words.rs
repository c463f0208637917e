//! The tokens of a group as one text, and the way back.

/// Between the tokens of a group; no line of a robots.txt holds it.
const BETWEEN: &str = "\n";

pub(super) fn of_group(group: &[Box<str>]) -> String {
    group.join(BETWEEN)
}

pub(super) fn group(text: &str) -> Vec<Box<str>> {
    text.split(BETWEEN).filter(|token| !token.is_empty()).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_back() {
        for tokens in [&[][..], &["*"], &["GPTBot", "Claude Bot, or so"]] {
            let tokens: Vec<Box<str>> = tokens.iter().map(|token| (*token).into()).collect();
            assert_eq!(group(&of_group(&tokens)), tokens);
        }
    }
}
