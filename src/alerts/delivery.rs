//! Sending alerts: signed, tried again, and never more than a bounded number.

use super::look::{Alert, AlertKind};
use crate::policy::{Webhook, root_certs};
use crate::record::{AlertTotals, hexadecimal};
use ring::hmac;
use serde_json::Value;
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};
use ureq::tls::TlsConfig;

/// How many alerts wait, and how many a receiver gets in an hour, at most: names of crawlers are made by clients.
const MOST: usize = 60;
const HOUR: Duration = Duration::from_secs(3_600);

/// How often one is tried: over a good ten minutes.
const MOST_ATTEMPTS: u32 = 8;

/// How long after the first failure it is tried again. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The field that an alert is signed in.
const SIGNATURE: &str = "X-Robots-Gateway-Signature";

pub(super) struct Delivery {
    /// What waits, and how often it was tried.
    queue: VecDeque<(Alert, u32)>,
    /// When the first of them is tried next.
    due: Instant,
    /// When alerts of the last hour were made.
    made: Vec<Instant>,
    totals: Arc<AlertTotals>,
}

impl Delivery {
    pub(super) fn new(totals: Arc<AlertTotals>) -> Self {
        Self { queue: VecDeque::new(), due: Instant::now(), made: Vec::new(), totals }
    }

    /// Puts an alert into the queue.
    pub(super) fn add(&mut self, alert: Alert) {
        self.made.retain(|made| made.elapsed() < HOUR);
        if self.made.len().max(self.queue.len()) >= MOST {
            let kind = <&str>::from(alert.kind);
            tracing::warn!(kind, "an alert was left out: there were {MOST} in an hour, or as many wait");
            self.totals.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.made.push(Instant::now());
        self.queue.push_back((alert, 0));
    }

    /// Sends what waits, unless the receiver is to be left alone, because it did not take one.
    pub(super) fn send(&mut self, webhook: &Webhook, ca: Option<&Path>) {
        while let Some((alert, attempts)) = self.queue.front_mut().filter(|_| Instant::now() >= self.due) {
            let taken = take(webhook, ca, alert);
            if let Err(why) = &taken {
                let id = &*alert.id;
                *attempts += 1;
                if *attempts == 1 {
                    tracing::warn!(id, "an alert could not be sent, and is tried again: {why}");
                }
                if *attempts < MOST_ATTEMPTS {
                    self.due = Instant::now() + FIRST_PAUSE * (1 << (*attempts - 1));
                    break;
                }
                tracing::error!(id, "an alert was given up after {MOST_ATTEMPTS} attempts: {why}");
            }
            let count = if taken.is_ok() { &self.totals.sent } else { &self.totals.lost };
            count.fetch_add(1, Ordering::Relaxed);
            self.queue.pop_front();
        }
        self.totals.waiting.store(self.queue.len() as u64, Ordering::Relaxed);
    }
}

/// Sends one alert, at once and once, that says that alerts arrive.
///
/// # Errors
/// Why the receiver did not take it.
pub fn send_test(webhook: &Webhook, ca: Option<&Path>, gateway: Option<&str>) -> Result<(), String> {
    let text = "This is a test: alerts of this gateway arrive here.".to_owned();
    take(webhook, ca, &Alert::new(AlertKind::Test, text, Value::Null).told(SystemTime::now(), gateway))
}

/// Has the receiver take an alert.
fn take(webhook: &Webhook, ca: Option<&Path>, alert: &Alert) -> Result<(), String> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .tls_config(TlsConfig::builder().root_certs(root_certs(ca)?).build())
        .http_status_as_error(false)
        .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let body = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    let mut request = agent.post(&*webhook.url).header("Content-Type", "application/json");
    if let Some(secret) = &webhook.secret {
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), &body);
        request = request.header(SIGNATURE, format!("sha256={}", hexadecimal(tag.as_ref())));
    }
    let status = request.send(&body[..]).map_err(|error| why(&error))?.status().as_u16();
    match status {
        200..300 => Ok(()),
        300..400 => Err(format!("the receiver redirects (status {status}), which is not followed")),
        _ => Err(format!("the receiver answered with status {status}")),
    }
}

/// Why it did not arrive, without a word of the URL.
fn why(error: &ureq::Error) -> String {
    match error {
        // What rustls says may name the host.
        ureq::Error::Io(error) if error.kind() == ErrorKind::InvalidData => {
            "its certificate is refused, or it speaks no TLS".to_owned()
        }
        ureq::Error::Io(error) => error.kind().to_string(),
        ureq::Error::Timeout(_) => format!("no answer within {PATIENCE:?}"),
        ureq::Error::HostNotFound => "its name has no address".to_owned(),
        _ => "the receiver could not be asked".to_owned(),
    }
}
