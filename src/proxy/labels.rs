//! What the gateway made of a request, in header fields for the origin, and the id it goes by.

use super::context::RequestContext;
use pingora::Result;
use pingora::http::RequestHeader;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

const CRAWLER: &str = "X-Robots-Crawler";
const VERDICT: &str = "X-Robots-Verdict";
const PROOF: &str = "X-Robots-Proof";

/// Tells the origin of the verdict, if the operator wants that. What a client sent under these names is
/// always removed, in every spelling that a gateway interface takes for the same: an origin may rely on
/// them.
pub(super) fn verdict(request: &mut RequestHeader, context: &RequestContext) -> Result<()> {
    let names = request.headers.keys().map(http::HeaderName::as_str);
    let ours = |name: &&str| {
        [CRAWLER, VERDICT, PROOF].iter().any(|own| own.eq_ignore_ascii_case(&name.replace('_', "-")))
    };
    let sent: Vec<String> = names.filter(ours).map(str::to_owned).collect();
    for name in sent {
        request.remove_header(name.as_str());
    }
    if let Some(labels) = &context.labels {
        if let Some(crawler) = &labels.crawler {
            request.insert_header(CRAWLER, &**crawler)?;
        }
        request.insert_header(VERDICT, labels.verdict)?;
        request.insert_header(PROOF, labels.proof)?;
    }
    Ok(())
}

/// An id that tells this request from every other of this gateway.
pub(super) fn request_id() -> String {
    static START: LazyLock<u64> = LazyLock::new(|| {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_micros()).unwrap_or_default() ^ (u64::from(std::process::id()) << 48)
    });
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("{:016x}-{:x}", *START, COUNT.fetch_add(1, Ordering::Relaxed))
}
