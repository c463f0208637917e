//! Taking up where the last process ended: former versions within notice, and who has read what.
//!
//! A crawler's copy does not know that the gateway was started anew (RFC 9309 §2.4). A version that was in
//! force when the last process ended, and is not the one on disk now, counts as replaced at this start, not
//! at the time the file was changed: until now nobody could read the new one here, and whoever comes to know
//! it has the whole of the notice. That can only be too kind to a crawler, never too hard.

use super::{Policy, Site};
use crate::decide::{SiteRules, Version};
use crate::record::{ReadBook, Recorder, StoreError, StoreErrorKind, StoreReader, VersionRecord};
use crate::robots::{Limits, Robots};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How many octets of robots.txt files are handed to the recorder at a time.
const AT_ONCE: usize = 8 * 1024 * 1024;

impl Policy {
    /// This policy with what the store remembers, at the start of a process. Without a store there is nothing
    /// to remember: nobody can hold an older version, as at the very first start. With one that cannot be
    /// read, or was broken, nobody knows what a crawler may hold, and all have the benefit of the doubt until
    /// the notice is over.
    #[must_use]
    pub fn resumed(self, recorder: &Recorder, reads: &ReadBook, now: SystemTime) -> Self {
        let since = now.checked_sub(self.config.period.notice).unwrap_or(SystemTime::UNIX_EPOCH);
        let remembered = remembered(&self.config.store.path, since);
        let is_new = remembered.as_ref().is_err_and(|error| error.kind() == StoreErrorKind::Missing);
        let was_broken = !recorder.status().set_aside.is_empty();
        let policy = match remembered {
            Ok(remembered) if !was_broken => {
                reads.take_up(&remembered.reads);
                self.remembering(&remembered.versions, now)
            }
            Err(_) if is_new => self,
            lost => {
                let error =
                    lost.err().map_or_else(|| "the store was broken".to_owned(), |error| error.to_string());
                tracing::warn!("former versions and reads of robots.txt are not known: {error}");
                self.doubting(now)
            }
        };
        policy.record_versions(None, recorder);
        policy
    }

    /// This policy as if each site had been without a robots.txt until now.
    fn doubting(mut self, now: SystemTime) -> Self {
        let notice = self.config.period.notice;
        for site in &mut self.sites {
            let nothing = Robots::parse(b"", &Limits::default());
            let before = SiteRules::new(Arc::new(Version::new(None, Arc::new(nothing.robots))));
            let rules = before.replaced_by(Arc::clone(site.rules.current()), now, notice);
            *site = Arc::new(Site { rules, since: now, ..(**site).clone() });
        }
        self
    }

    /// This policy with the versions that were in force before it.
    fn remembering(mut self, versions: &[VersionRecord], now: SystemTime) -> Self {
        let (notice, limits) = (self.config.period.notice, Limits { max_bytes: self.config.robots_max_size });
        for site in &mut self.sites {
            let of_site = versions.iter().filter(|version| *version.site == *site.config.name);
            let of_site: Vec<_> = of_site.collect();
            if let Some((rules, since)) = resumed_rules(site, &of_site, limits, notice, now) {
                *site = Arc::new(Site { rules, since, ..(**site).clone() });
            }
        }
        self
    }

    /// Has the recorder note which versions are in force, as far as `previous` does not say the same.
    pub(super) fn record_versions(&self, previous: Option<&Self>, recorder: &Recorder) {
        let mut waiting = 0;
        for site in &self.sites {
            let known = previous.and_then(|policy| policy.named(&site.config.name));
            if known.is_some_and(|known| known.version() == site.version()) {
                continue;
            }
            let bytes = site.robots.as_ref().map(|file| &*file.bytes);
            recorder.in_force(&site.config.name, bytes, site.since);
            waiting += bytes.map_or(0, <[u8]>::len);
            if waiting > AT_ONCE {
                recorder.flush();
                waiting = 0;
            }
        }
    }
}

fn remembered(path: &Path, since: SystemTime) -> Result<crate::record::Remembered, StoreError> {
    StoreReader::open(path)?.remembered(since)
}

/// The rules of a site that goes on from `versions`, oldest first, and since when its version is in force;
/// `None` where nothing is remembered.
fn resumed_rules(
    site: &Site,
    versions: &[&VersionRecord],
    limits: Limits,
    notice: Duration,
    now: SystemTime,
) -> Option<(SiteRules, SystemTime)> {
    let current = site.rules.current();
    let mut resumed: Option<(SiteRules, SystemTime)> = None;
    for record in versions {
        // The version on disk is compiled already, and its memory of headers with it.
        let is_current = record.id == current.id;
        let version = if is_current { Arc::clone(current) } else { compile(record, limits) };
        let rules = match resumed {
            Some((before, _)) => before.replaced_by(version, record.from, notice),
            None => SiteRules::new(version),
        };
        resumed = Some((rules, record.from));
    }
    let (rules, since) = resumed?;
    if rules.current().id == current.id {
        return Some((rules, since));
    }
    Some((rules.replaced_by(Arc::clone(current), now, notice), now))
}

/// A former version, compiled again. One whose bytes the store's size cap has taken allows everything: nobody
/// can be accused on the strength of what is not known.
fn compile(record: &VersionRecord, limits: Limits) -> Arc<Version> {
    let parsed = Robots::parse(record.bytes.as_deref().unwrap_or_default(), &limits);
    Arc::new(Version::new(record.id, Arc::new(parsed.robots)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::decide::VersionId;
    use std::time::UNIX_EPOCH;

    const NOTICE: Duration = Duration::from_secs(1_000);

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
    }

    fn text(name: &str) -> Vec<u8> {
        format!("User-agent: *\nDisallow: /{name}\n").into_bytes()
    }

    fn record(name: &str, from: u64, until: Option<u64>) -> VersionRecord {
        let bytes = text(name);
        VersionRecord {
            site: "default".into(),
            sha256: Some([0; 32]),
            id: Some(VersionId::of(&bytes)),
            bytes: Some(bytes.into()),
            from: at(from),
            until: until.map(at),
        }
    }

    /// A policy of one site with this robots.txt, loaded at second 500.
    fn loaded(current: &str) -> Policy {
        let file = std::env::temp_dir().join(format!("history-{current}-{}.txt", std::process::id()));
        std::fs::write(&file, text(current)).unwrap();
        let arguments = Arguments {
            origin: Some("http://127.0.0.1:9".to_owned()),
            robots: Some(file.clone()),
            notice: "1000s".parse().ok(),
            ..Arguments::default()
        };
        let policy = super::super::check(Config::load(&arguments).unwrap(), at(500)).unwrap();
        std::fs::remove_file(file).unwrap();
        assert_eq!(policy.config.period.notice, NOTICE);
        policy
    }

    /// What stands before the version in force, newest first, and since when that is in force.
    fn story(policy: &Policy) -> (Vec<(Option<VersionId>, SystemTime)>, SystemTime) {
        let site = &policy.sites()[0];
        let former = site.rules.former().iter().map(|former| (former.version.id, former.replaced));
        (former.collect(), site.since)
    }

    /// The story of a gateway that starts at second 500 with `current` on disk and `versions` in the store.
    fn resumed(
        current: &str,
        mut versions: Vec<VersionRecord>,
    ) -> (Vec<(Option<VersionId>, SystemTime)>, SystemTime) {
        let policy = loaded(current);
        let name = policy.sites()[0].config.name.clone();
        for version in &mut versions {
            version.site = name.as_str().into();
        }
        let policy = policy.remembering(&versions, at(500));
        assert_eq!(policy.sites()[0].version(), Some(VersionId::of(&text(current))));
        story(&policy)
    }

    fn replaced(name: &str, second: u64) -> (Option<VersionId>, SystemTime) {
        (Some(VersionId::of(&text(name))), at(second))
    }

    #[test]
    fn a_file_that_did_not_change_goes_on_as_before() {
        let (former, since) = resumed("b", vec![record("a", 1, Some(100)), record("b", 100, None)]);
        assert_eq!((former, since), (vec![replaced("a", 100)], at(100)));
    }

    #[test]
    fn a_file_that_changed_while_the_gateway_was_down_comes_into_force_now() {
        let (former, since) = resumed("c", vec![record("a", 1, Some(100)), record("b", 100, None)]);
        assert_eq!((former, since), (vec![replaced("b", 500), replaced("a", 100)], at(500)));
    }

    #[test]
    fn a_version_that_came_back_is_no_former_one() {
        let versions = vec![record("a", 1, Some(100)), record("b", 100, Some(200)), record("a", 200, None)];
        let (former, since) = resumed("a", versions);
        assert_eq!((former, since), (vec![replaced("b", 200)], at(200)));
    }

    #[test]
    fn a_version_whose_bytes_are_gone_accuses_nobody() {
        let gone = VersionRecord { bytes: None, ..record("a", 1, Some(100)) };
        let allowed = compile(&gone, Limits::default());
        assert_eq!((allowed.id, allowed.robots.rules().count()), (replaced("a", 0).0, 0));
    }

    #[test]
    fn what_nothing_is_remembered_of_counts_as_in_force_for_ever() {
        assert_eq!(resumed("fresh", Vec::new()).0, []);
    }

    #[test]
    fn what_was_in_a_store_that_is_lost_may_have_allowed_anything() {
        let policy = loaded("doubt").doubting(at(500));
        assert_eq!(story(&policy), (vec![(None, at(500))], at(500)));
        assert_eq!(policy.sites()[0].rules.former()[0].version.robots.rules().count(), 0);
    }
}
