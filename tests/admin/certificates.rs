//! Certificates that run out: told in the log, by `status` and `check`, and shown to Prometheus.

use crate::scene::Watched;
use crate::support::command::ctl;
use crate::support::folder::rename_over;
use crate::support::{Daemon, Nginx, until};
use rcgen::{CertificateParams, KeyPair};
use std::path::Path;
use std::time::{Duration, SystemTime};

const TABLE: &str = "[[certificates]]\ncertificate = \"site.crt\"\nkey = \"site.key\"";
const DAY: u64 = 86_400;

/// Saves a pair that expires so many days from now, or expired so many days ago; when, in Unix time.
fn save(folder: &Path, days: i64) -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    let mut params = CertificateParams::new(vec!["a.example".to_owned()]).expect("a name");
    let day = Duration::from_secs(DAY) * u32::try_from(days.unsigned_abs()).expect("few");
    // An hour more, so that the last day is whole while the test runs.
    let expires = Duration::from_secs(now + 3_600);
    let expires = if days < 0 { expires.saturating_sub(day) } else { expires + day };
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(1970, 1, 1) + expires;
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("signed").pem();
    rename_over(&folder.join("site.key"), key.serialize_pem());
    rename_over(&folder.join("site.crt"), certificate);
    expires.as_secs()
}

#[test]
fn one_that_expires_soon_is_told_of_until_it_is_renewed() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: *\nDisallow:\n").in_front_of(&origin).table(TABLE);
    let folder = builder.folder().to_owned();
    let expires = save(&folder, 5);
    let watched = Watched::start(builder);
    watched.gateway.log.line_with(&["WARN", "site.crt", "it expires in 5 days, at "]);
    let shown = |watched: &Watched| {
        let metrics = watched.metrics();
        let samples: Vec<_> = metrics.samples("robots_gateway_certificate_expiry_time_seconds").collect();
        assert_eq!(samples.len(), 1, "{samples:?}");
        assert!(samples[0].labels["certificate"].ends_with("/site.crt"), "{samples:?}");
        format!("{}", samples[0].value)
    };
    assert_eq!(shown(&watched), expires.to_string());
    let status = watched.gateway.ctl(&["status"]).exits(0);
    assert!(status.stdout.contains("site.crt expires in 5 days, at "), "{}", status.stdout);
    let config = folder.join("gateway.toml");
    let config = config.to_str().expect("UTF-8");
    let checked = ctl(["check", "--offline", "--config", config]);
    assert!(checked.stdout.contains("the certificate expires in 5 days"), "{checked:?}");
    assert_eq!(checked.code, Some(0), "the gateway would load it");
    ctl(["check", "--offline", "--deny", "warnings", "--config", config]).exits(1);

    let expires = save(&folder, 90);
    until("the renewed one is shown", || (shown(&watched) == expires.to_string()).then_some(()));
    let status = watched.gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    let certificate = &status["certificates"][0];
    assert!(certificate["trouble"].is_null() && certificate["expires"].is_string(), "{certificate}");
    assert!(!watched.gateway.ctl(&["status"]).stdout.contains("site.crt"), "all is well again");
}

#[test]
fn one_that_has_expired_is_told_of_and_no_reason_not_to_start() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: *\nDisallow:\n").in_front_of(&origin).table(TABLE);
    save(builder.folder(), -3);
    let watched = Watched::start(builder);
    watched.gateway.log.line_with(&["WARN", "site.crt", "it expired at "]);
    let status = watched.gateway.ctl(&["status"]).exits(0);
    assert!(status.stdout.contains("1 thing is wrong"), "{}", status.stdout);
}

#[test]
fn lines_of_the_access_log_that_are_lost_are_shown() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: *\nDisallow:\n").in_front_of(&origin);
    let watched = Watched::start(builder.set("access_log = \"/dev/full\""));
    for _ in 0..7 {
        watched.ask("/healthz");
        watched.gateway.send(&crate::support::get("/page"));
    }
    let name = "robots_gateway_access_log_lines_lost_total";
    until("the loss is shown", || (format!("{}", watched.metrics().value(name, &[])) == "7").then_some(()));
    let status = watched.gateway.ctl(&["status"]).exits(0);
    assert!(status.stdout.contains("7 lines of the access log were lost"), "{}", status.stdout);
    let status = watched.gateway.ctl(&["status", "--format", "json"]).exits(0).json();
    assert_eq!(status["access_log"]["lines_lost"], 7, "{status}");
}

#[test]
fn what_was_turned_away_is_shown_by_its_reason() {
    let origin = Nginx::start();
    let builder = Daemon::with("User-agent: *\nDisallow:\n").in_front_of(&origin);
    let watched = Watched::start(builder.table("[limits]\nconnections_per_address = 2"));
    // Answered, they have their places; before that another one may come first.
    let mut kept = [watched.gateway.client(), watched.gateway.client()];
    for client in &mut kept {
        client.send(&crate::support::get("/page"));
    }
    until("one more is turned away", || {
        let mut client = watched.gateway.client();
        let refused = client.try_send(&crate::support::get("/page")).is_err();
        let metrics = watched.metrics();
        let reason = [("reason", "over-address")];
        let counted = metrics.value("robots_gateway_connection_faults_total", &reason) > 0.5;
        (refused && counted).then_some(())
    });
    let status = watched.gateway.ctl(&["status"]).exits(0);
    assert!(status.stdout.contains(" too many from one address"), "{}", status.stdout);
    drop(kept);
}
