//! `Content-Usage` on forwarded answers: the preference of robots.txt that applies to the path, said again
//! where the content is. A draft of the IETF's AIPREF working group; off unless the operator wants it.

use crate::identify::Identity;
use crate::policy::Site;

/// The preference for a client and a path, from the file in force. Who is judged by no group, as people are,
/// is told what holds for everyone.
pub(super) fn preference(site: &Site, identity: &Identity, path: &[u8]) -> Option<Box<[u8]>> {
    let robots = &site.rules.current().robots;
    let own = if identity.client.is_judged() { robots.group(&identity.tokens, true) } else { None };
    let group = own.or_else(|| robots.group::<&str>(&[], true))?;
    let preference = group.content_usage(path)?;
    let preference = preference.trim().as_bytes();
    // A file is any bytes; a field is not (RFC 9110 §5.5).
    let may_stand = |byte: &u8| (*byte >= b' ' && *byte != 0x7f) || *byte == b'\t';
    preference.iter().all(may_stand).then(|| preference.into())
}
