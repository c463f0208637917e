//! What forwarded answers say to robots: `Content-Usage`, the preference of robots.txt that applies to the path, said again
//! where the content is (a draft of the IETF's AIPREF working group); and `Robots-Tag` by its two names, where the
//! operator wants it.

use crate::identify::Identity;
use crate::policy::{Policy, Site};

/// A field that an answer gets on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedField {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Box<[u8]>,
    /// Whether it stands beside the origin's own. Else the origin's own is left alone: it knows its page better.
    pub is_joined: bool,
}

/// What the answer about `path` to a client is to say.
pub(super) fn fields(policy: &Policy, site: &Site, identity: &Identity, path: &[u8]) -> Vec<AddedField> {
    let mut added = Vec::new();
    if site.config.content_usage.unwrap_or(policy.config.content_usage) {
        let value = preference(site, identity, path);
        added.extend(value.map(|value| AddedField { name: "Content-Usage", value, is_joined: false }));
    }
    for tag in site.config.robots_tags.as_ref().unwrap_or(&policy.config.robots_tags) {
        let values = tag.values(identity, path).into_iter().flatten().zip(["X-Robots-Tag", "Robots-Tag"]);
        added.extend(values.map(|(value, name)| AddedField {
            name,
            value: value.into_bytes().into(),
            is_joined: true,
        }));
    }
    added
}

/// The preference for a client and a path, from the file in force. A disallowed path has none. A value that is not
/// a dictionary (RFC 9651 §3.2) is not sent, since nobody could read it.
fn preference(site: &Site, identity: &Identity, path: &[u8]) -> Option<Box<[u8]>> {
    let found = site.rules.current().group_told(identity)?.content_usage(path)?;
    found.is_readable.then(|| found.value.as_bytes().into())
}
