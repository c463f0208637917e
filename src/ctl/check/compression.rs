//! Does the origin compress for clients, and not for a request that names a proxy in `Via`?

use crate::ctl::lint::FileFinding;
use crate::ctl::origin_copy::{ask, askable};
use crate::policy::Site;
use crate::robots::Severity;
use std::path::Path;

/// Asks the origin for its first page as a client does, and as the gateway does. What cannot be asked is told elsewhere.
pub(super) fn finding(config: &Path, site: &Site) -> Option<FileFinding> {
    let (name, origin) = (&site.config.name, askable(site)?);
    let is_compressed = |via: &[(&str, &str)]| {
        let fields = [&[("Accept-Encoding", "gzip")], via].concat();
        let answer = ask(&origin.to_string(), site.config.exact_host(), "/", &fields, false).ok()?;
        Some(answer.headers().get("content-encoding").is_some_and(|coding| coding != "identity"))
    };
    if !is_compressed(&[])? || is_compressed(&[("Via", "1.1 robots-gateway")])? {
        return None;
    }
    let message = format!(
        "site `{name}`: the origin {origin} compresses pages, but not for requests with the field `Via`"
    );
    let hint = "set `gzip_proxied any;` in the origin's nginx, or `via = false` here";
    Some(FileFinding::whole(config, Severity::Warning, "compression", message, hint))
}
