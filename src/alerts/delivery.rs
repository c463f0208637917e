//! Sending alerts: signed, tried again, and never more than a bounded number.

use super::condition::Condition;
use crate::config::Config;
use crate::policy::{Webhook, root_certs};
use crate::record::{AlertTotals, hexadecimal, timestamp};
use ring::hmac;
use serde_json::json;
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
    due: Instant,
}

pub(super) struct Delivery {
    queue: VecDeque<QueuedAlert>,
    /// When alerts of the last hour were made.
    made: VecDeque<Instant>,
    totals: Arc<AlertTotals>,
}

impl Delivery {
    pub(super) const fn new(totals: Arc<AlertTotals>) -> Self {
        Self { queue: VecDeque::new(), made: VecDeque::new(), totals }
    }

    /// Puts an alert into the queue.
    pub(super) fn add(&mut self, condition: &Condition, now: SystemTime, config: &Config) {
        let due = Instant::now();
        self.made.retain(|made| due.duration_since(*made) < HOUR);
        if self.made.len() >= MOST_IN_AN_HOUR {
            tracing::warn!(
                kind = condition.kind.as_str(),
                "an alert was left out: there were {MOST_IN_AN_HOUR} in an hour"
            );
            return self.totals.lost(1);
        }
        self.made.push_back(due);
        if self.queue.len() >= MOST_WAITING {
            self.queue.pop_front();
            self.totals.lost(1);
        }
        let time = timestamp(now);
        let digest = Sha256::digest(format!("{time}\t{}", condition.key()));
        let id = hexadecimal(digest.get(..16).unwrap_or_default());
        let alert = json!({
            "v": 1,
            "id": id,
            "time": time,
            "kind": condition.kind.as_str(),
            "gateway": config.fleet.as_ref().map(|fleet| &fleet.name),
            "site": condition.site,
            "crawler": condition.crawler,
            "text": condition.text,
            "details": condition.details,
        });
        self.queue.push_back(QueuedAlert { id, body: alert.to_string().into_bytes(), attempts: 0, due });
        self.totals.waiting(self.queue.len());
    }

    /// Sends what is due. A receiver that does not take one is left alone until the next is due.
    pub(super) fn send(&mut self, webhook: &Webhook, ca: Option<&Path>) {
        let now = Instant::now();
        if !self.queue.iter().any(|alert| alert.due <= now) {
            return;
        }
        let receiver = WebhookClient::new(webhook, ca);
        for mut alert in std::mem::take(&mut self.queue) {
            let is_left =
                alert.due > now || self.queue.iter().any(|other| other.attempts > 0 && other.due > now);
            if is_left {
                self.queue.push_back(alert);
                continue;
            }
            let Err(why) = receiver.as_ref().map_err(Clone::clone).and_then(|receiver| receiver.take(&alert))
            else {
                self.totals.sent();
                continue;
            };
            alert.attempts += 1;
            if alert.attempts >= MOST_ATTEMPTS {
                self.totals.lost(1);
                tracing::error!(id = alert.id, "an alert was given up after {MOST_ATTEMPTS} attempts: {why}");
                continue;
            }
            if alert.attempts == 1 {
                tracing::warn!(id = alert.id, "an alert could not be sent, and is tried again: {why}");
            }
            alert.due = Instant::now() + FIRST_PAUSE * (1 << (alert.attempts - 1));
            self.queue.push_back(alert);
        }
        self.totals.waiting(self.queue.len());
    }
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
