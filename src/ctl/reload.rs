//! `gatewayctl reload`: waits, and says what changed or why nothing did.

use super::args::ReloadArgs;
use super::{Cli, Output, VerbResult};
use crate::policy::{ReloadReport, ReloadResult};
use crate::report::amount;
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ReloadArgs, output: &mut Output<'_>) -> VerbResult {
    let report: ReloadReport = cli.ask("POST", "/reload", arguments)?;
    output.answer(&report, report.result == ReloadResult::Refused, print)
}

fn print(report: &ReloadReport, output: &mut Output<'_>) -> io::Result<()> {
    output.line(report.result.to_string())?;
    for change in &report.sites {
        let [old, new] =
            [&change.old_version, &change.new_version].map(|version| version.as_deref().unwrap_or("-"));
        let added = amount(change.added as u64, "rule", "rules");
        let what = if old == new {
            format!("{new}, unchanged")
        } else {
            format!("{old} -> {new}, {added} added, {} removed", change.removed)
        };
        output.line(format!("{}: {what}; {}", change.site, change.notice))?;
        change.warnings.iter().try_for_each(|warning| output.line(format!("  warning: {warning}")))?;
    }
    if !report.config.is_empty() {
        let keys: Vec<&str> = report.config.iter().map(String::as_str).collect();
        output.line(format!("changed in the configuration: {}", keys.join(", ")))?;
    }
    if !report.restart.is_empty() {
        output.line(format!("in effect when the gateway is started again: {}", report.restart.join(", ")))?;
    }
    report.errors.iter().try_for_each(|fault| output.line(format!("error: {}", fault.in_one_line())))
}
