//! Until when certificates hold, and telling of those that soon will not (RFC 5280 §4.1.2.5).
//!
//! A certificate that has run out is shown all the same: there is no better one, and some clients may be told
//! to take it. The only file that names x509-parser.

use super::Policy;
use crate::record::timestamp;
use rustls::pki_types::CertificateDer;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::time::ASN1Time;

const DAY: Duration = Duration::from_secs(86_400);

/// From how many days before its end on a certificate is told of, and when again. Whoever renews by a program
/// does so a month ahead, so that two weeks are a program that fails.
const TOLD: [u64; 4] = [14, 7, 3, 1];

/// From when to when a chain of certificates holds: as long as every one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its beginning.
    pub from: SystemTime,
    /// Its end.
    pub until: SystemTime,
}

/// How urgent it is; more of it is told again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    NotYet,
    /// So many days of [`TOLD`] have been reached.
    Soon(usize),
    Over,
}

impl Validity {
    /// That of a chain; `None` where one of it cannot be read that far.
    pub(super) fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let each = chain.iter().map(|der| {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let validity = certificate.validity();
            Some(Self { from: time(validity.not_before)?, until: time(validity.not_after)? })
        });
        let both = |one: Self, other: Self| Self {
            from: one.from.max(other.from),
            until: one.until.min(other.until),
        };
        each.reduce(|one, other| Some(both(one?, other?))).flatten()
    }

    fn urgency(&self, now: SystemTime) -> Option<Urgency> {
        if now < self.from {
            return Some(Urgency::NotYet);
        }
        let Ok(left) = self.until.duration_since(now) else { return Some(Urgency::Over) };
        let reached = TOLD.iter().filter(|days| left < DAY * u32::try_from(**days).unwrap_or(u32::MAX));
        Some(reached.count()).filter(|reached| *reached > 0).map(Urgency::Soon)
    }

    /// What an operator has to know of it at `now`, to be said after its name; `None` while all is well.
    pub fn trouble(&self, now: SystemTime) -> Option<String> {
        Some(match self.urgency(now)? {
            Urgency::NotYet => format!("is not valid before {}", timestamp(self.from)),
            Urgency::Over => format!("expired at {}", timestamp(self.until)),
            Urgency::Soon(_) => {
                let left = self.until.duration_since(now).unwrap_or_default();
                let days = match left.as_secs() / DAY.as_secs() {
                    0 => "in less than a day".to_owned(),
                    1 => "in 1 day".to_owned(),
                    days => format!("in {days} days"),
                };
                format!("expires {days}, at {}", timestamp(self.until))
            }
        })
    }
}

/// A time of X.509, which may lie before 1970.
fn time(time: ASN1Time) -> Option<SystemTime> {
    let seconds = time.timestamp();
    let span = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(span)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(span)
    }
}

/// What has been told of which certificate.
#[derive(Debug, Default)]
pub(super) struct Reminder(HashMap<PathBuf, (Validity, Urgency)>);

impl Reminder {
    /// Tells of each certificate when it becomes more urgent, and of a renewed one anew.
    pub(super) fn remind(&mut self, policy: &Policy, now: SystemTime) {
        let mut known = HashMap::new();
        for shown in &policy.certificates.shown {
            let Some(validity) = shown.validity else { continue };
            let Some(urgency) = validity.urgency(now) else { continue };
            let told = self.0.get(&shown.config.certificate).filter(|(of, _)| *of == validity);
            if told.is_none_or(|(_, told)| *told < urgency)
                && let Some(trouble) = validity.trouble(now)
            {
                let certificate = shown.config.certificate.display();
                if urgency == Urgency::Over {
                    tracing::error!(%certificate, "the certificate {trouble}: clients refuse it");
                } else {
                    tracing::warn!(%certificate, "the certificate {trouble}");
                }
            }
            known.insert(shown.config.certificate.clone(), (validity, urgency));
        }
        self.0 = known;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(days: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * u32::try_from(days).unwrap()
    }

    #[test]
    fn the_last_two_weeks_are_told_of_and_ever_more_urgently() {
        let validity = Validity { from: at(10), until: at(100) };
        let urgency = |days| validity.urgency(at(days));
        assert_eq!((urgency(10), urgency(86)), (None, None));
        assert_eq!(urgency(9), Some(Urgency::NotYet));
        let course: Vec<Urgency> = (87..=101).filter_map(urgency).collect();
        assert_eq!(course.len(), 15);
        assert!(course.is_sorted(), "{course:?}");
        assert_eq!(course.last(), Some(&Urgency::Over));
        assert_eq!(validity.trouble(at(98)).unwrap(), "expires in 2 days, at 1970-04-11T00:00:00.000Z");
        assert_eq!(validity.trouble(at(101)).unwrap(), "expired at 1970-04-11T00:00:00.000Z");
        assert_eq!(validity.trouble(at(1)).unwrap(), "is not valid before 1970-01-11T00:00:00.000Z");
    }

    #[test]
    fn a_chain_holds_as_long_as_all_of_it() {
        let made = |from, until| {
            let mut params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
            params.not_before = rcgen::date_time_ymd(from, 1, 1);
            params.not_after = rcgen::date_time_ymd(until, 1, 1);
            let key = rcgen::KeyPair::generate().unwrap();
            params.self_signed(&key).unwrap().der().clone()
        };
        let validity = Validity::of(&[made(2020, 2030), made(1960, 2028)]).unwrap();
        assert_eq!(timestamp(validity.from), "2020-01-01T00:00:00.000Z");
        assert_eq!(timestamp(validity.until), "2028-01-01T00:00:00.000Z");
        assert_eq!(Validity::of(&[made(2020, 2030), vec![1, 2, 3].into()]), None);
        assert_eq!(Validity::of(&[]), None);
    }
}
