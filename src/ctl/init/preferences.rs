//! `gatewayctl init --preferences`: an example of each way to say what may be done with pages, as comments.

/// Nothing of it counts before somebody removes a `#`: nobody is told what nobody meant.
const EXAMPLES: &str = "
# What may be done with pages. Remove the # before a line, and change it. These lines ask; they lock nothing.
#
# Content-Usage (drafts of the IETF's AIPREF group) and Content-Signal (contentsignals.org) stand in a group, below
# its user-agent lines. A crawler with a group of its own reads them only there. `y` and `yes` allow, `n` and `no`
# refuse; what is not named is left open.
#
# train-ai, ai-train: models may be trained on pages.
# ai-use, ai-input: models may make answers of pages.
# search: pages may be found in a search that leads to them.
#User-agent: *
#Content-Usage: train-ai=n, search=y
# For some paths only. The longest path decides; what is disallowed has no preference.
#Content-Usage: /open/ train-ai=y, search=y
#Content-Signal: search=yes, ai-input=yes, ai-train=no
#
# License (RSL 1.0): the whole URL of your terms. In a group it is for that group; before the first group it is for
# everyone whose own group has none.
#License: https://example.org/license.xml
";

/// A robots.txt with the examples at its end.
pub(super) fn with_examples(mut robots: Vec<u8>) -> Vec<u8> {
    if !robots.is_empty() && !robots.ends_with(b"\n") {
        robots.push(b'\n');
    }
    robots.extend_from_slice(EXAMPLES.as_bytes());
    robots
}
