//! The difference for people: what hurts first.

use super::pace::PaceChange;
use super::rules::{RuleChange, RuleLine};
use super::{Difference, JudgedRequests};
use crate::ctl::output::{Output, escape_harmful};
use crate::ctl::style::TextStyle;
use crate::report::{amount, grouped};
use std::io;

/// How many rules of one change are shown.
const RULES: usize = 20;

pub(super) fn print(difference: &Difference, output: &mut Output<'_>) -> io::Result<()> {
    let palette = output.palette();
    for loss in &difference.losses {
        let text = format!(
            "WARNING: {} is a search engine and would lose {} that it fetches today ({})",
            escape_harmful(&loss.crawler),
            amount(loss.pages, "page", "pages"),
            amount(loss.requests, "request", "requests")
        );
        output.line(palette.paint(TextStyle::Error, &text))?;
    }
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "no file".to_owned());
    output.line(format!(
        "{}: {} -> {}",
        escape_harmful(&difference.site),
        version(&difference.old_version),
        version(&difference.new_version)
    ))?;
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
    let palette = output.palette();
    output.line("")?;
    let moved = match (&changed.old_group, &changed.new_group) {
        (Some(old), Some(new)) if old.eq_ignore_ascii_case(new) => String::new(),
        (old, new) => {
            let name =
                |group: &Option<String>| group.as_deref().map_or_else(|| "none".to_owned(), escape_harmful);
            format!(" (its group was {}, is {})", name(old), name(new))
        }
    };
    output.line(
        palette.paint(TextStyle::Strong, &format!("{}{moved}", escape_harmful(&changed.tokens.join(", ")))),
    )?;
    for (sign, ink, lines) in
        [("-", TextStyle::Warning, &changed.removed), ("+", TextStyle::Good, &changed.added)]
    {
        for RuleLine { line, rule } in lines.iter().take(RULES) {
            output.line(palette.paint(ink, &format!("  {sign} line {line}: {}", escape_harmful(rule))))?;
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
    let who = escape_harmful(change.crawler.as_deref().unwrap_or("(no name)"));
    let (new, old) = (delay(change.new_delay), delay(change.old_delay));
    format!("{new} {who} would have been slowed {} (now, {old}: {})", times(change.new), times(change.old))
}

fn requests(requests: &JudgedRequests, difference: &Difference, output: &mut Output<'_>) -> io::Result<()> {
    output.line("")?;
    if requests.judged == 0 {
        let warning = "WARNING: no request could be judged, so nothing is known of any";
        output.line(output.palette().paint(TextStyle::Error, warning))?;
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
        let lines = amount(requests.unread, "line", "lines");
        output.line(format!("{lines} could not be read"))?;
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
        let line =
            |line: Option<u32>| line.map_or_else(|| "no rule".to_owned(), |line| format!("line {line}"));
        output.line(format!(
            "  {:>widest$}  {}  {}: {} ({}) -> {} ({})",
            grouped(flip.count),
            escape_harmful(flip.crawler.as_deref().unwrap_or("(no name)")),
            escape_harmful(&flip.target),
            flip.from,
            line(flip.old_line),
            flip.to,
            line(flip.new_line)
        ))?;
    }
    let shown: u64 = difference.flips.iter().map(|flip| flip.count).sum();
    match requests.flipped - shown {
        0 => Ok(()),
        more => output
            .line(format!("  and {}; --top shows more kinds", amount(more, "more request", "more requests"))),
    }
}
