//! The words under which kinds, actions and the like are kept, and the way back.

use crate::decide::Notice;
use crate::enforce::Action;
use crate::identify::Proof;
use crate::record::event::EventKind;

const KINDS: [EventKind; 5] =
    [EventKind::Violation, EventKind::Stale, EventKind::Variant, EventKind::Spoof, EventKind::Allowed];
const ACTIONS: [Action; 2] = [Action::Forward, Action::Refuse];
const NOTICES: [Notice; 4] = [Notice::Read, Notice::Lapsed, Notice::Pending, Notice::Waived];
const PROOFS: [Proof; 3] = [Proof::Confirmed, Proof::Contradicted, Proof::Unchecked];

/// Between the tokens of a group; no line of a robots.txt holds it.
const BETWEEN: char = '\n';

pub(super) fn kind(word: &str) -> Option<EventKind> {
    KINDS.into_iter().find(|kind| kind.as_str() == word)
}

pub(super) fn action(word: &str) -> Option<Action> {
    ACTIONS.into_iter().find(|action| action.as_str() == word)
}

pub(super) fn notice(word: &str) -> Option<Notice> {
    NOTICES.into_iter().find(|notice| notice.as_str() == word)
}

pub(super) fn proof(word: &str) -> Option<Proof> {
    PROOFS.into_iter().find(|proof| proof.as_str() == word)
}

pub(super) fn of_group(group: &[Box<str>]) -> String {
    let mut text = String::new();
    for (at, token) in group.iter().enumerate() {
        if at > 0 {
            text.push(BETWEEN);
        }
        text.push_str(token);
    }
    text
}

pub(super) fn group(text: &str) -> Vec<Box<str>> {
    text.split(BETWEEN).filter(|token| !token.is_empty()).map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        for value in KINDS {
            assert_eq!(kind(value.as_str()), Some(value));
        }
        assert!(ACTIONS.into_iter().all(|value| action(value.as_str()) == Some(value)));
        assert!(NOTICES.into_iter().all(|value| notice(value.as_str()) == Some(value)));
        assert!(PROOFS.into_iter().all(|value| proof(value.as_str()) == Some(value)));
        assert_eq!((kind(""), action("x"), notice(""), proof("")), (None, None, None, None));
    }

    #[test]
    fn groups_come_back() {
        for tokens in [&[][..], &["*"], &["GPTBot", "Claude Bot, or so"]] {
            let tokens: Vec<Box<str>> = tokens.iter().map(|token| (*token).into()).collect();
            assert_eq!(group(&of_group(&tokens)), tokens);
        }
    }
}
