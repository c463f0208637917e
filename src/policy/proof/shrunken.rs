//! A published list that lost most of what it had is not believed at once.
//!
//! Half a list would turn half of an operator's true crawlers into false ones. So a new list that no longer
//! holds most of the old one's networks is put beside it, for somebody to look at. Addresses count, not
//! lines: a publisher that joins networks to larger ones loses nothing.

use super::refresh::replace;
use crate::record::beside;
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use std::path::Path;

/// Lists of fewer networks change as a whole when their publisher moves house.
const LEAST: usize = 8;

/// Puts `bytes` beside `path`, and says so, where they hold less than half of the networks that were there.
pub(super) fn set_aside(path: &Path, bytes: &[u8], old: &[Network], new: &[Network]) -> Option<String> {
    let kept = kept(old, new);
    if old.len() < LEAST || kept * 2 >= old.len() {
        return None;
    }
    let lost = format!("only {kept} of {} ranges are left in it", old.len());
    let aside = beside(path, ".shrunken");
    Some(match replace(&aside, bytes) {
        Ok(()) => format!("{lost}: kept aside in {}; move it into place if that is right", aside.display()),
        Err(error) => format!("{lost}, and it cannot be kept aside: {error}"),
    })
}

/// How many of the old networks the new ones hold, by their first addresses.
fn kept(old: &[Network], new: &[Network]) -> usize {
    let new = Prefixes::new(new.iter().copied());
    old.iter().filter(|network| new.contains(network.address())).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(count: u8) -> Vec<Network> {
        (0..count).map(|third| format!("20.171.{third}.0/24").parse().unwrap()).collect()
    }

    #[test]
    fn a_list_that_lost_most_of_its_networks_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.json");
        let aside = folder.path().join("list.json.shrunken");
        assert_eq!(set_aside(&path, b"x", &networks(10), &networks(5)), None);
        assert_eq!(set_aside(&path, b"x", &networks(7), &networks(1)), None, "too small to tell");
        assert!(!aside.exists());
        let message = set_aside(&path, b"x", &networks(10), &networks(4)).unwrap();
        assert!(
            message.starts_with("only 4 of 10 ranges are left") && message.contains("list.json.shrunken")
        );
        assert_eq!(std::fs::read(&aside).unwrap(), b"x");
        assert!(!path.exists());
    }

    #[test]
    fn larger_networks_that_hold_the_old_ones_lose_nothing() {
        let joined: Network = "20.171.0.0/16".parse().unwrap();
        assert_eq!(kept(&networks(100), &[joined]), 100);
        assert_eq!(kept(&[joined], &networks(1)), 1);
    }
}
