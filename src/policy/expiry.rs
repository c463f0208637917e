//! Until when certificates hold, and telling of those that soon will not (RFC 5280 §4.1.2.5).
//!
//! A certificate that has run out is shown all the same: there is no better one, and some clients may be told
//! to take it. The only file that names x509-parser.

use crate::record::timestamp;
use rustls::pki_types::CertificateDer;
use std::time::{Duration, SystemTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::time::ASN1Time;

const DAY: Duration = Duration::from_secs(86_400);
/// How long before its end a certificate is told of. Whoever renews by a program does so a month ahead, so that two weeks
/// are a program that fails.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// From when to when a chain of certificates holds: as long as every one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    /// Its beginning.
    pub from: SystemTime,
    /// Its end.
    pub until: SystemTime,
}

impl Validity {
    /// That of a chain; `None` where one of it cannot be read that far.
    pub(super) fn of(chain: &[CertificateDer<'_>]) -> Option<Self> {
        let each = chain.iter().map(|der| {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            let validity = certificate.validity();
            Some((time(validity.not_before)?, time(validity.not_after)?))
        });
        let (begins, ends): (Vec<_>, Vec<_>) = each.collect::<Option<_>>()?;
        Some(Self { from: begins.into_iter().max()?, until: ends.into_iter().min()? })
    }

    /// What an operator has to know of it at `now`, to be said after its name; `None` while all is well.
    pub fn trouble(&self, now: SystemTime) -> Option<String> {
        if now < self.from {
            return Some(format!("is not valid before {}", timestamp(self.from)));
        }
        let end = timestamp(self.until);
        let Ok(left) = self.until.duration_since(now) else { return Some(format!("expired at {end}")) };
        let days = match left.as_secs() / DAY.as_secs() {
            0 => "in less than a day".to_owned(),
            1 => "in 1 day".to_owned(),
            days => format!("in {days} days"),
        };
        (left < SOON).then(|| format!("expires {days}, at {end}"))
    }
}

/// A time of X.509. One before 1970 is long past, whatever it is.
fn time(time: ASN1Time) -> Option<SystemTime> {
    let seconds = u64::try_from(time.timestamp()).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(days: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * u32::try_from(days).unwrap()
    }

    #[test]
    fn the_last_two_weeks_are_told_of() {
        let validity = Validity { from: at(10), until: at(100) };
        let trouble = |days| validity.trouble(at(days));
        assert_eq!((trouble(10), trouble(86)), (None, None));
        assert!((87..=101).all(|days| trouble(days).is_some()));
        assert_eq!(trouble(98).unwrap(), "expires in 2 days, at 1970-04-11T00:00:00.000Z");
        assert_eq!(trouble(101).unwrap(), "expired at 1970-04-11T00:00:00.000Z");
        assert_eq!(trouble(1).unwrap(), "is not valid before 1970-01-11T00:00:00.000Z");
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
