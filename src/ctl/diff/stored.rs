//! The same from the store, which keeps the targets of each crawler and day up to a number.

use super::flips::{FileVerdict, Flips, said};
use super::{JudgedRequests, SitePair};
use crate::ctl::VerbFailure;
use crate::ctl::explain::{facts, judge_trial};
use crate::ctl::logs::decoded;
use crate::identify::{Basis, ClientKind, Identifier, Identity, Proof};
use crate::policy::Site;
use crate::record::{CountSubject, Filter, OTHER_PATHS, StoreReader};
use crate::request::target::RequestTarget;
use std::sync::Arc;
use std::time::SystemTime;

/// Judges what was asked for since then by both files.
pub(super) fn flips(
    pair: &SitePair<'_>,
    store: &StoreReader,
    since: SystemTime,
) -> Result<(JudgedRequests, Flips), VerbFailure> {
    // A clock that was ahead has dated what it counted later than now.
    let last = store.last()?;
    let window = store.window(since, SystemTime::now().max(last.unwrap_or(since)))?;
    let filter = Filter { site: Some(pair.old.config.name.clone()), ..Filter::default() };
    let paths = store.paths(&window, &filter, usize::MAX)?;
    let (mut flips, mut judged, mut named) = (Flips::default(), 0, 0);
    for path in &paths {
        // A visit in disguise is judged by neither.
        if path.subject.client == ClientKind::Browser {
            continue;
        }
        let count = path.counts.requests();
        judged += count;
        if path.target == OTHER_PATHS {
            continue;
        }
        named += count;
        let identity = identity(&pair.policy.identifier, &path.subject);
        // Bytes that are no UTF-8 stand there by their numbers.
        let target = decoded(path.target.as_bytes(), b"\\x");
        let by = |site: &Site| judge_path(pair, site, &identity, &target);
        if let (Some(old), Some(new)) = (by(pair.old), by(pair.new)) {
            flips.add(&identity, &target, old, new, count);
        }
    }
    let requests = JudgedRequests {
        source: "store",
        judged,
        share: share(named, judged),
        flipped: flips.requests(),
        unlisted: flips.unlisted,
        ..JudgedRequests::default()
    };
    Ok((requests, flips))
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Who a subject is: as the catalogue knows it, or by its name alone.
fn identity(identifier: &Identifier, subject: &CountSubject) -> Arc<Identity> {
    let Some(name) = subject.crawler.as_deref() else {
        return Arc::new(Identity {
            client: subject.client,
            crawler: None,
            purpose: None,
            tokens: Arc::default(),
            star: true,
            basis: Basis::Structure,
        });
    };
    let known = identifier.catalogue().get(name);
    let token = known.and_then(|crawler| crawler.tokens.first()).map_or(name, |token| token);
    let by_token = identifier.by_token(token);
    Arc::new(Identity {
        client: subject.client,
        crawler: Some(name.into()),
        purpose: subject.purpose,
        tokens: known.map_or_else(|| Arc::clone(&by_token.tokens), |crawler| Arc::clone(&crawler.tokens)),
        star: known.is_none_or(|crawler| crawler.star),
        basis: by_token.basis,
    })
}

fn judge_path(
    pair: &SitePair<'_>,
    site: &Site,
    identity: &Arc<Identity>,
    sent: &[u8],
) -> Option<FileVerdict> {
    let facts = facts("", sent, None, None)?;
    let target = RequestTarget::new(&facts.target, site.config.path_parameters);
    let judged = judge_trial(pair.policy, site, &facts, &target, Some(identity), None, Proof::Unchecked);
    judged.verdict.is_judged().then(|| said(&judged.verdict))
}
