//! The difference for people: what hurts first.

use super::flips::Flip;
use super::pace::PaceChange;
use super::rules::{RuleChange, RuleLine};
use super::{Difference, JudgedRequests};
use crate::ctl::output::Output;
use crate::ctl::style::{ERROR, GOOD, STRONG, WARNING};
use crate::report::{amount, grouped};
use std::io;

/// How many rules of one change are shown.
const RULES: usize = 20;

pub(super) fn print(difference: &Difference, output: &mut Output<'_>) -> io::Result<()> {
    for loss in &difference.losses {
        let (crawler, pages) = (&loss.crawler, amount(loss.pages, "page", "pages"));
        let requests = amount(loss.requests, "request", "requests");
        let text =
            format!("{crawler} is a search engine and would lose {pages} that it fetches today ({requests})");
        output.painted_line(ERROR, format!("WARNING: {text}"))?;
    }
    let Difference { site, old_version, new_version, .. } = difference;
    let [old, new] = [old_version, new_version].map(|version| version.as_deref().unwrap_or("no file"));
    output.line(format!("{site}: {old} -> {new}"))?;
    if difference.rules.is_empty() {
        output.line("no rule comes or goes for anybody")?;
    }
    for changed in &difference.rules {
        rules(changed, output)?;
    }
    match &difference.requests {
        Some(found) => requests(found, difference, output),
        None => output.line(
            "no requests were looked at; --log FILE or --since 7d shows which would be judged otherwise",
        ),
    }
}

fn rules(changed: &RuleChange, output: &mut Output<'_>) -> io::Result<()> {
    output.line("")?;
    let moved = match [&changed.old_group, &changed.new_group].map(Option::as_deref) {
        [Some(old), Some(new)] if old.eq_ignore_ascii_case(new) => String::new(),
        groups => {
            let [old, new] = groups.map(|group| group.unwrap_or("none"));
            format!(" (its group was {old}, is {new})")
        }
    };
    output.painted_line(STRONG, format!("{}{moved}", changed.tokens.join(", ")))?;
    for (sign, style, lines) in [("-", WARNING, &changed.removed), ("+", GOOD, &changed.added)] {
        for RuleLine { line, rule } in lines.iter().take(RULES) {
            output.painted_line(style, format!("  {sign} line {line}: {rule}"))?;
        }
        if let Some(more) = lines.len().checked_sub(RULES).filter(|more| *more > 0) {
            output.line(format!("  {sign} and {} more", grouped(more as u64)))?;
        }
    }
    Ok(())
}

/// `with Crawl-delay: 10 AhrefsBot would have been slowed 4,120 times (before: without one, never)`.
fn pace(change: &PaceChange) -> String {
    let delay = |delay: Option<f64>| {
        delay.map_or_else(|| "without a Crawl-delay".to_owned(), |delay| format!("with Crawl-delay: {delay}"))
    };
    let times = |count| if count == 0 { "never".to_owned() } else { amount(count, "time", "times") };
    let who = change.crawler.as_deref().unwrap_or("(no name)");
    let (new, old) = (delay(change.new_delay), delay(change.old_delay));
    format!("{new} {who} would have been slowed {} (now, {old}: {})", times(change.new), times(change.old))
}

fn requests(requests: &JudgedRequests, difference: &Difference, output: &mut Output<'_>) -> io::Result<()> {
    output.line("")?;
    if requests.judged == 0 {
        let warning = "WARNING: no request could be judged, so nothing is known of any";
        output.painted_line(ERROR, warning)?;
    }
    output.line(format!(
        "{} of {} would be judged otherwise",
        grouped(requests.flipped),
        amount(requests.judged, "judged request", "judged requests")
    ))?;
    if requests.source == "store" {
        output.line(format!(
            "the targets that the store names cover {:.1} % of them; of the rest nothing can be said",
            requests.share * 100.0
        ))?;
    }
    if requests.unread > 0 {
        output.line(format!("{} could not be read", amount(requests.unread, "line", "lines")))?;
    }
    for (count, what) in [
        (requests.without_user_agent, "in lines that do not tell the User-Agent; log it to have them judged"),
        (requests.other_hosts, "for hosts that are not the site's; --site takes them for one"),
    ] {
        if count > 0 {
            output.line(format!("left out: {} {what}", grouped(count)))?;
        }
    }
    for change in difference.paces.iter().take(RULES) {
        output.line(pace(change))?;
    }
    let widest = difference.flips.iter().map(|flip| grouped(flip.count).len()).max().unwrap_or_default();
    for flip in &difference.flips {
        let Flip { target, from, to, old_line, new_line, .. } = flip;
        let [old, new] = [old_line, new_line]
            .map(|line| line.map_or_else(|| "no rule".to_owned(), |line| format!("line {line}")));
        let (count, who) = (grouped(flip.count), flip.crawler.as_deref().unwrap_or("(no name)"));
        output.line(format!("  {count:>widest$}  {who}  {target}: {from} ({old}) -> {to} ({new})"))?;
    }
    let shown: u64 = difference.flips.iter().map(|flip| flip.count).sum();
    match requests.flipped - shown {
        0 => Ok(()),
        more => output
            .line(format!("  and {}; --top shows more kinds", amount(more, "more request", "more requests"))),
    }
}
