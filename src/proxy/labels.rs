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

/// The same in lower case, as names of fields are kept.
const OURS: [&str; 3] = ["x-robots-crawler", "x-robots-verdict", "x-robots-proof"];

/// Tells the origin of the verdict, if the operator wants that. What a client sent under these names is
/// always removed, in every spelling that a gateway interface takes for the same: an origin may rely on
/// them.
pub(super) fn verdict(request: &mut RequestHeader, context: &RequestContext) -> Result<()> {
    remove(request, |name| OURS.iter().any(|own| is_spelled(name, own)));
    if let Some(labels) = &context.labels {
        if let Some(crawler) = &labels.crawler {
            request.insert_header(CRAWLER, &**crawler)?;
        }
        request.insert_header(VERDICT, labels.verdict)?;
        request.insert_header(PROOF, labels.proof)?;
    }
    Ok(())
}

/// Removes the fields whose name, in lower case, is `unwanted`. Nearly always there is none, and then this is one
/// look at each name.
pub(super) fn remove(request: &mut RequestHeader, unwanted: impl Fn(&str) -> bool) {
    while let Some(name) = request.headers.keys().find(|name| unwanted(name.as_str())).cloned() {
        request.remove_header(&name);
    }
}

/// Whether a gateway interface could take `name` for `own`: it writes `-` and `_` alike.
fn is_spelled(name: &str, own: &str) -> bool {
    let alike = |(octet, own): (u8, u8)| octet == own || (octet == b'_' && own == b'-');
    name.len() == own.len() && name.bytes().zip(own.bytes()).all(alike)
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
