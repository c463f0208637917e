//! `gatewayctl reload`: waits, and says what changed or why nothing did.

use super::args::{Cli, ReloadArgs};
use super::output::Output;
use super::{VerbOutcome, VerbResult, control};
use crate::policy::{ReloadReport, ReloadResult};
use std::io;

pub(super) fn run(cli: &Cli, arguments: &ReloadArgs, output: &mut Output<'_>) -> VerbResult {
    let report: ReloadReport = control::ask(&cli.control_socket()?, "POST", "/reload", arguments)?;
    output.show(&report, print)?;
    let is_refused = report.result == ReloadResult::Refused;
    Ok(if is_refused { VerbOutcome::Objection } else { VerbOutcome::Fine })
}

fn print(report: &ReloadReport, output: &mut Output<'_>) -> io::Result<()> {
    output.line(report.result.to_string())?;
    for change in &report.sites {
        let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "-".to_owned());
        let (old, new) = (version(&change.old_version), version(&change.new_version));
        let (site, notice) = (&change.site, &change.notice);
        if old == new {
            output.line(format!("{site}: {new}, unchanged; {notice}"))?;
        } else {
            let rules = if change.added == 1 { "rule" } else { "rules" };
            let (added, removed) = (change.added, change.removed);
            output.line(format!(
                "{site}: {old} -> {new}, {added} {rules} added, {removed} removed; {notice}"
            ))?;
        }
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
