//! Certificates by host: files → what TLS shows; and telling of those that will not hold for long (RFC 5280 §4.1.2.5).
//!
//! A pair that cannot be read, or whose key is another's, never replaces a good one: the old one is shown
//! until it is mended.
//!
//! An expired certificate is still shown: it is the only one, and some clients can be told to accept it.
//!
//! Only this file names x509-parser.

use super::hosts::HostTable;
use crate::config::{CertificateConfig, ConfigError, ConfigErrors, HostPattern, MOST_BYTES, reading};
use crate::record::timestamp;
use rustls::Error;
use rustls::client::verify_server_name;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use x509_parser::prelude::{FromDer as _, X509Certificate};
use x509_parser::time::ASN1Time;

/// All certificates of a policy.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    /// All of them, in the order of the configuration.
    pub shown: Vec<ShownCertificate>,
    hosts: HostTable,
}

/// A certificate that is shown.
#[derive(Clone, Debug)]
pub struct ShownCertificate {
    /// The files it came from, and the hosts it is for.
    pub config: CertificateConfig,
    // What stands in a key, rustls writes nowhere.
    key: Arc<CertifiedKey>,
    /// Until when it holds, where that can be read.
    pub validity: Option<Validity>,
}

impl Certificates {
    /// Reads the files of `configs`; where that fails, keeps what `former` had for the same pair, and says
    /// why.
    pub(super) fn load(
        configs: &[CertificateConfig],
        former: Option<&Self>,
    ) -> Result<(Self, Vec<ConfigError>), ConfigErrors> {
        let (mut pairs, mut unfit, mut faults) = (Vec::new(), Vec::new(), Vec::new());
        for config in configs {
            let kept = former.and_then(|former| former.shown.iter().find(|pair| pair.config == *config));
            match (read(config), kept) {
                (Ok(pair), _) => pairs.push(pair),
                (Err(error), Some(kept)) => {
                    pairs.push(kept.clone());
                    unfit.push(error.with_hint("the former certificate is shown until this is mended"));
                }
                (Err(error), None) => faults.push(error),
            }
        }
        if !faults.is_empty() {
            return Err(ConfigErrors(faults));
        }
        let names = pairs.iter().zip(0..).flat_map(|(pair, index)| {
            pair.config.hosts.iter().map(move |host: &HostPattern| (host.to_string(), index))
        });
        let hosts = HostTable::new(names);
        Ok((Self { shown: pairs, hosts }, unfit))
    }

    /// What to show to a client that asks for `host`: the certificate configured for it, else one that
    /// names it, else the first.
    pub fn of(&self, host: Option<&str>) -> Option<Arc<CertifiedKey>> {
        let configured = |host: &str| self.shown.get(self.hosts.find(host)?);
        let chosen = host.and_then(|host| configured(host).or_else(|| self.naming(host)));
        chosen.or_else(|| self.shown.first()).map(|pair| Arc::clone(&pair.key))
    }

    fn naming(&self, host: &str) -> Option<&ShownCertificate> {
        let name = ServerName::try_from(host).ok()?;
        self.shown.iter().filter(|pair| pair.config.hosts.is_empty()).find(|pair| {
            let own = pair.key.cert.first().and_then(|own| ParsedCertificate::try_from(own).ok());
            own.is_some_and(|own| verify_server_name(&own, &name).is_ok())
        })
    }

    /// Whether both show the same.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        self.shown.iter().map(|pair| &pair.key.cert).eq(other.shown.iter().map(|pair| &pair.key.cert))
    }
}

/// The certificates of a file.
///
/// # Errors
/// When it cannot be read, or holds none in PEM form.
pub(super) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let fault = |message: &str| ConfigError::whole(path, message);
    let text = reading::contents(path, MOST_BYTES, "certificates")?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let found = found.map_err(|error| fault(&format!("invalid certificate: expected PEM: {error}")))?;
    if found.is_empty() {
        return Err(fault("there is no certificate in this file; PEM is expected"));
    }
    Ok(found)
}

fn read(config: &CertificateConfig) -> Result<ShownCertificate, ConfigError> {
    let path = &config.certificate;
    let fault = |path: &Path, message: String| ConfigError::whole(path, message);
    let chain = read_certificates(path)?;
    let text = reading::contents(&config.key, MOST_BYTES, "key")?;
    let key = PrivateKeyDer::from_pem_slice(&text)
        .map_err(|error| fault(&config.key, format!("there is no private key in this file: {error}")))?;
    let provider = rustls::crypto::ring::default_provider();
    let pair = CertifiedKey::from_der(chain, key, &provider).map_err(|error| match error {
        Error::InconsistentKeys(_) => {
            fault(&config.key, format!("the key does not belong to the certificate {}", path.display()))
        }
        Error::InvalidCertificate(_) => fault(path, format!("this certificate cannot be used: {error}")),
        _ => fault(&config.key, format!("this key cannot be used: {error}")),
    })?;
    let validity = Validity::of(&pair.cert);
    Ok(ShownCertificate { config: config.clone(), key: Arc::new(pair), validity })
}

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
    use rcgen::{CertifiedKey as Made, generate_simple_self_signed};
    use std::fs;

    struct CertificateFolder(tempfile::TempDir);

    impl CertificateFolder {
        fn pair(&self, name: &str, names: &[&str], hosts: &[&str]) -> CertificateConfig {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let Made { cert, signing_key } = generate_simple_self_signed(names).unwrap();
            let place = |kind: &str| self.0.path().join(format!("{name}.{kind}"));
            fs::write(place("crt"), cert.pem()).unwrap();
            fs::write(place("key"), signing_key.serialize_pem()).unwrap();
            let hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
            CertificateConfig { hosts, certificate: place("crt"), key: place("key") }
        }
    }

    fn folder() -> CertificateFolder {
        CertificateFolder(tempfile::tempdir().unwrap())
    }

    fn index(certificates: &Certificates, host: Option<&str>) -> usize {
        let shown = certificates.of(host).unwrap();
        certificates.shown.iter().position(|pair| Arc::ptr_eq(&pair.key, &shown)).unwrap()
    }

    #[test]
    fn the_host_decides_then_the_name_in_the_certificate_then_the_order() {
        let folder = folder();
        let configs = [
            folder.pair("first", &["first.example"], &[]),
            folder.pair("exact", &["whatever.example"], &["a.example"]),
            folder.pair("below", &["whatever.example"], &["*.example"]),
            folder.pair("names", &["other.test", "*.other.test"], &[]),
        ];
        let (certificates, unfit) = Certificates::load(&configs, None).unwrap();
        assert!(unfit.is_empty());
        assert_eq!(index(&certificates, Some("a.example")), 1);
        assert_eq!(index(&certificates, Some("b.example")), 2);
        assert_eq!(index(&certificates, Some("other.test")), 3);
        assert_eq!(index(&certificates, Some("www.other.test")), 3);
        assert_eq!(index(&certificates, Some("unknown.invalid")), 0);
        assert_eq!(index(&certificates, None), 0);
    }

    #[test]
    fn a_bad_pair_keeps_the_old_one_and_a_good_one_replaces_it() {
        let folder = folder();
        let configs = [folder.pair("a", &["a.example"], &[])];
        let (first, _) = Certificates::load(&configs, None).unwrap();
        let (same, _) = Certificates::load(&configs, Some(&first)).unwrap();
        assert!(first.is_as(&same));
        for broken in ["", "no PEM at all", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
        {
            fs::write(&configs[0].certificate, broken).unwrap();
            let (kept, unfit) = Certificates::load(&configs, Some(&first)).unwrap();
            assert!(kept.is_as(&first));
            assert_eq!(unfit.len(), 1);
            assert!(unfit[0].to_string().contains("a.crt: "), "{}", unfit[0]);
            assert!(Certificates::load(&configs, None).is_err(), "{broken}");
        }
        folder.pair("a", &["a.example"], &[]);
        let (next, unfit) = Certificates::load(&configs, Some(&first)).unwrap();
        assert!(unfit.is_empty() && !next.is_as(&first));
    }

    #[test]
    fn a_key_of_another_certificate_is_refused() {
        let folder = folder();
        let (mut one, other) = (folder.pair("one", &["a"], &[]), folder.pair("other", &["a"], &[]));
        one.key = other.key;
        let errors = Certificates::load(&[one], None).unwrap_err().to_string();
        assert!(errors.contains("other.key: the key does not belong to the certificate"), "{errors}");
    }

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
