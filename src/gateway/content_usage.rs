//! `Content-Usage` on forwarded answers: the preference of robots.txt that applies to the path, said again
//! where the content is. A draft of the IETF's AIPREF working group; off unless the operator wants it.

use crate::identify::Identity;
use crate::policy::Site;

/// The preference for a client and a path, from the file in force. A disallowed path has none. A value that is not
/// a dictionary (RFC 9651 §3.2) is not sent, since nobody could read it.
pub(super) fn preference(site: &Site, identity: &Identity, path: &[u8]) -> Option<Box<[u8]>> {
    let found = site.rules.current().group_told(identity)?.content_usage(path)?;
    found.is_readable.then(|| found.value.as_bytes().into())
}
