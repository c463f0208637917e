//! Sending alerts: signed, tried again, and never more than a bounded number.

use super::look::{AlertKind, Condition};
use crate::policy::{Webhook, root_certs};
use crate::record::{AlertTotals, hexadecimal, timestamp};
use ring::hmac;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use ureq::tls::TlsConfig;

/// How many alerts wait at most; the oldest goes first.
const MOST_WAITING: usize = 100;

/// How many alerts a receiver gets in an hour at most: names of crawlers are made by clients.
const MOST_IN_AN_HOUR: usize = 60;
const HOUR: Duration = Duration::from_secs(3_600);

/// How often one is tried: over a good ten minutes.
const MOST_ATTEMPTS: u32 = 8;

/// How long after the first failure it is tried again. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The field that an alert is signed in.
const SIGNATURE: &str = "X-Robots-Gateway-Signature";

struct QueuedAlert {
    id: String,
    body: Vec<u8>,
    attempts: u32,
}

impl QueuedAlert {
    fn of(condition: &Condition, now: SystemTime, gateway: Option<&str>) -> Self {
        let time = timestamp(now);
        let digest = Sha256::digest(format!("{time}\t{}", condition.key()));
        let id = hexadecimal(digest.get(..16).unwrap_or_default());
        let alert = json!({
            "v": 1,
            "id": id,
            "time": time,
            "kind": <&str>::from(condition.kind),
            "gateway": gateway,
            "site": condition.site,
            "crawler": condition.crawler,
            "text": condition.text,
            "details": condition.details,
        });
        Self { id, body: alert.to_string().into_bytes(), attempts: 0 }
    }
}

pub(super) struct Delivery {
    queue: VecDeque<QueuedAlert>,
    /// When the first of them is tried next.
    due: Instant,
    /// When alerts of the last hour were made.
    made: VecDeque<Instant>,
    totals: Arc<AlertTotals>,
}

impl Delivery {
    pub(super) fn new(totals: Arc<AlertTotals>) -> Self {
        Self { queue: VecDeque::new(), due: Instant::now(), made: VecDeque::new(), totals }
    }

    /// Puts an alert into the queue.
    pub(super) fn add(&mut self, condition: &Condition, now: SystemTime, gateway: Option<&str>) {
        self.made.retain(|made| made.elapsed() < HOUR);
        if self.made.len() >= MOST_IN_AN_HOUR {
            let kind = <&str>::from(condition.kind);
            tracing::warn!(kind, "an alert was left out: there were {MOST_IN_AN_HOUR} in an hour");
            return self.totals.lost(1);
        }
        self.made.push_back(Instant::now());
        if self.queue.len() >= MOST_WAITING {
            self.queue.pop_front();
            self.totals.lost(1);
        }
        self.queue.push_back(QueuedAlert::of(condition, now, gateway));
        self.totals.waiting(self.queue.len());
    }

    /// Sends what waits, unless the receiver is to be left alone, because it did not take one.
    pub(super) fn send(&mut self, webhook: &Webhook, ca: Option<&Path>) {
        if self.queue.is_empty() || Instant::now() < self.due {
            return;
        }
        let receiver = WebhookClient::new(webhook, ca);
        while let Some(alert) = self.queue.front_mut() {
            let taken = receiver.as_ref().map_err(Clone::clone).and_then(|receiver| receiver.take(alert));
            match taken {
                Ok(()) => self.totals.sent(),
                Err(why) => {
                    alert.attempts += 1;
                    let (id, attempts) = (&alert.id, alert.attempts);
                    if attempts == 1 {
                        tracing::warn!(id, "an alert could not be sent, and is tried again: {why}");
                    }
                    if attempts < MOST_ATTEMPTS {
                        self.due = Instant::now() + FIRST_PAUSE * (1 << (attempts - 1));
                        break;
                    }
                    self.totals.lost(1);
                    tracing::error!(id, "an alert was given up after {MOST_ATTEMPTS} attempts: {why}");
                }
            }
            self.queue.pop_front();
        }
        self.totals.waiting(self.queue.len());
    }
}

/// Sends one alert, at once and once, that says that alerts arrive.
///
/// # Errors
/// Why the receiver did not take it.
pub fn send_test(webhook: &Webhook, ca: Option<&Path>, gateway: Option<&str>) -> Result<(), String> {
    let text = "This is a test: alerts of this gateway arrive here.".to_owned();
    let condition = Condition::new(AlertKind::Test, "", text, Value::Null);
    WebhookClient::new(webhook, ca)?.take(&QueuedAlert::of(&condition, SystemTime::now(), gateway))
}

/// Who takes alerts.
struct WebhookClient<'a> {
    agent: ureq::Agent,
    webhook: &'a Webhook,
}

impl<'a> WebhookClient<'a> {
    fn new(webhook: &'a Webhook, ca: Option<&Path>) -> Result<Self, String> {
        let certificates = TlsConfig::builder().root_certs(root_certs(ca)?).build();
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .tls_config(certificates)
            .http_status_as_error(false)
            .user_agent(concat!("robots-gateway/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        Ok(Self { agent, webhook })
    }

    fn take(&self, alert: &QueuedAlert) -> Result<(), String> {
        let mut request = self.agent.post(&*self.webhook.url).header("Content-Type", "application/json");
        if let Some(secret) = &self.webhook.secret {
            let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
            let tag = hexadecimal(hmac::sign(&key, &alert.body).as_ref());
            request = request.header(SIGNATURE, format!("sha256={tag}"));
        }
        let status = request.send(&alert.body[..]).map_err(|error| why(&error))?.status().as_u16();
        match status {
            200..300 => Ok(()),
            300..400 => Err(format!("the receiver redirects (status {status}), which is not followed")),
            _ => Err(format!("the receiver answered with status {status}")),
        }
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
