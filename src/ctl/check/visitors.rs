//! Whether a gateway that runs learns who its visitors are.

use crate::control::StatusReport;
use crate::ctl::args::Cli;
use crate::ctl::control;
use crate::ctl::lint::FileFinding;
use crate::record::stand_in_advice;
use crate::robots::Severity;
use std::path::Path;

/// The sites whose visitors come under the name of what stands in front; none where no gateway runs.
pub(super) fn findings(cli: &Cli, path: &Path) -> Vec<FileFinding> {
    let running = cli.control_socket();
    let running = running.and_then(|socket| control::ask::<StatusReport>(&socket, "GET", "/status", &()));
    let sites = running.map(|status| status.told.sites).unwrap_or_default();
    let found = sites.iter().filter_map(|site| Some((&site.site, site.stand_in.as_deref()?)));
    let hint = "for CloudFront that is an origin request policy with the header User-Agent; docs/behind-cdn.md says more";
    found
        .map(|(site, name)| {
            FileFinding::whole(path, Severity::Warning, "stand-in", stand_in_advice(site, name), hint)
        })
        .collect()
}
