//! One crawler's case as plain text, fit for a mail to whoever runs it.
//!
//! Every line stands on something that was recorded. Traffic that only borrowed the name is told apart, and
//! what was not seen is said to be not seen. Text of clients is made harmless.

mod letter;
mod readings;

use super::detail::seconds;
use super::table::format_minute;
use crate::ctl::output::{Output, escape_harmful};
use crate::identify::{Proof, ProofMethod};
use crate::record::{EventKind, SampleEvent, timestamp};
use crate::report::{Conduct, CrawlerCase, Reads, ReportEntry, ReportQuestion, RuleCount, amount, grouped};
use letter::{WIDTH, line, prose};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;

/// Requests shown in full.
const SAMPLES: usize = 40;

pub(super) fn write(
    case: &CrawlerCase,
    question: &ReportQuestion,
    output: &mut Output<'_>,
) -> io::Result<()> {
    let asked = question.crawler.as_deref().unwrap_or("-");
    let name = case.report.crawlers.first().map_or(asked, ReportEntry::name);
    line(format!("Requests of {} against robots.txt", escape_harmful(name)), output)?;
    line(format!("{} to {}", timestamp(case.report.from), timestamp(case.report.to)), output)?;
    line("", output)?;
    let (own, borrowed): (Vec<&ReportEntry>, Vec<&ReportEntry>) =
        case.report.crawlers.iter().partition(|entry| !entry.is_borrowed());
    if own.is_empty() && borrowed.is_empty() {
        return prose("Nothing was recorded of it in this time.", output);
    }
    for entry in &own {
        element(case, entry, question.top, output)?;
    }
    if !borrowed.is_empty() {
        let requests = borrowed.iter().map(|entry| entry.requests).sum();
        let requests = amount(requests, "further request", "further requests");
        let text = format!(
            "Not part of this case: {requests} bore the name and came from addresses that, \
             by every method its operator publishes, are not the crawler's."
        );
        prose(&text, output)?;
        line("", output)?;
    }
    samples(case, output)?;
    how_to_read(case, output)
}

fn element(case: &CrawlerCase, entry: &ReportEntry, top: usize, output: &mut Output<'_>) -> io::Result<()> {
    let title = format!("{} at {}", escape_harmful(entry.name()), escape_harmful(&entry.site));
    line(&title, output)?;
    line("-".repeat(title.chars().count().min(WIDTH)), output)?;
    prose(&proof(entry), output)?;
    prose(&summary(entry), output)?;
    line("", output)?;
    readings::write(case, entry, output)?;
    rules(&entry.rules, top, output)?;
    if let (Some(declared), Some(observed)) = (entry.crawl_delay.declared, entry.crawl_delay.observed) {
        let text = format!(
            "Crawl-delay asks for {} between requests; the median was about {}, by the requests counted in each minute.",
            seconds(declared),
            seconds(observed)
        );
        prose(&text, output)?;
        line("", output)?;
    }
    Ok(())
}

fn proof(entry: &ReportEntry) -> String {
    match entry.proof {
        Proof::Confirmed if entry.proof_by.met().next().is_none() => {
            "The addresses were confirmed to be the crawler's, by the ranges its operator publishes or by \
             forward-confirmed reverse DNS."
                .to_owned()
        }
        Proof::Confirmed => {
            let met =
                entry.proof_by.met().map(|(method, count)| format!("{} {}", grouped(count), by(method)));
            format!("Confirmed to be the crawler's: {}.", met.collect::<Vec<_>>().join(", "))
        }
        Proof::Unchecked if entry.proof_by.signature > 0 => format!(
            "Nothing proves who came. Of {}, the name is the one of the key that signed, but the signature leaves out the \
             target or is for a host that the site does not name, so that others could have sent it; of all others, the \
             name is the one in the User-Agent header.",
            amount(entry.proof_by.signature, "request", "requests")
        ),
        Proof::Unchecked => {
            "The name is the one in the User-Agent header. The addresses were neither confirmed nor \
             contradicted."
                .to_owned()
        }
        Proof::Contradicted => "The addresses are not the crawler's.".to_owned(),
    }
}

const fn by(method: ProofMethod) -> &'static str {
    match method {
        ProofMethod::Ranges => "by an address within the ranges that its operator publishes",
        ProofMethod::Rdns => "by forward-confirmed reverse DNS",
        ProofMethod::Signature => "by a signature of the request that its published key verifies",
    }
}

fn summary(entry: &ReportEntry) -> String {
    let it = |count| if count == 1 { "it" } else { "them" };
    let mut text = format!("{} judged.", amount(entry.requests, "request was", "requests were"));
    // Writing to a `String` cannot fail.
    let _ = match entry.violations {
        0 => write!(text, " None was a violation."),
        count => write!(
            text,
            " {}: every version of robots.txt that the crawler could hold at that moment disallows {}.",
            amount(count, "was a violation", "were violations"),
            it(count)
        ),
    };
    let of_these = |count| match entry.violations {
        1 => "It".to_owned(),
        _ => format!("{} of these", grouped(count)),
    };
    if let (Some(first), Some(last), 2..) = (entry.first_violation, entry.last_violation, entry.violations) {
        let _ =
            write!(text, " The first came at {}, the last at {}.", format_minute(first), format_minute(last));
    }
    if let count @ 1.. = entry.violations_after_read {
        let (these, it) = (of_these(count), it(count));
        let _ = write!(text, " {these} came after it had itself read the version that disallows {it}.");
    }
    if let count @ 1.. = entry.violations_without_read() {
        let (these, it) = (of_these(count), it(count));
        let _ = write!(
            text,
            " {these} came without a counted read of the version in force; no version that the crawler could \
             still hold (RFC 9309 section 2.4) allows {it}."
        );
        if entry.conduct == Conduct::NoReadSeen {
            text.push_str(" No read of robots.txt was seen at all.");
        }
    }
    for (count, [one, many], what) in [
        (entry.refused, ["request was", "requests were"], "refused."),
        (
            entry.stale,
            ["further request is", "further requests are"],
            "disallowed by some of the versions it could hold and allowed by others: not held against it.",
        ),
        (
            entry.variants,
            ["further request was", "further requests were"],
            "for a disallowed path in another spelling: not counted.",
        ),
    ] {
        if count > 0 {
            let _ = write!(text, " {} {what}", amount(count, one, many));
        }
    }
    text
}

/// The rules that disallow, the `top` of them one by one.
fn rules(rules: &[RuleCount], top: usize, output: &mut Output<'_>) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    // A stale request stands beside the version in force, which may well allow it.
    let is_allowed_now = |rule: &&RuleCount| rule.kind() == EventKind::Stale && !rule.is_of_disallow();
    let (allowed, listed): (Vec<&RuleCount>, Vec<&RuleCount>) = rules.iter().partition(is_allowed_now);
    let sum = |rules: &[&RuleCount]| rules.iter().map(|rule| rule.count).sum::<u64>();
    line("Rules:", output)?;
    for rule in listed.iter().take(top) {
        one_rule(rule, output)?;
    }
    if let Some(rest) = listed.get(top..).filter(|rest| !rest.is_empty()) {
        let requests = amount(sum(rest), "request", "requests");
        line(format!("  and {} more, met by {requests}", grouped(rest.len() as u64)), output)?;
    }
    if !allowed.is_empty() {
        let requests = amount(sum(&allowed), "request, stale, is", "requests, stale, are");
        line(format!("  {requests} allowed by the newer version and disallowed by an older one"), output)?;
    }
    line("", output)
}

fn one_rule(rule: &RuleCount, output: &mut Output<'_>) -> io::Result<()> {
    let decision = &rule.decision;
    let place = |line: Option<u32>| line.map(|line| format!("line {line}")).unwrap_or_default();
    let (text, source) = rule.text();
    let text = text.unwrap_or("(no rule)").trim();
    let source = source.map(|source| format!(" ({source})")).unwrap_or_default();
    let separator = if decision.line.is_some() { format!("{source}: ") } else { String::new() };
    line(escape_harmful(&format!("  {}{separator}{text}", place(decision.line))), output)?;
    let version = decision.version.map(|version| format!(" of version {version}")).unwrap_or_default();
    let group = decision.group.join(", ");
    line(escape_harmful(&format!("    in the group for {group}{version}")), output)?;
    let requests = amount(rule.count, "request", "requests");
    line(format!("    {requests} {}, {}", rule.what(), decision.action.as_str()), output)?;
    // A violation is proved by a version and a line, so each of them is named.
    for version in rule.versions.iter().filter(|_| rule.versions.len() > 1) {
        let name = version.version.map_or_else(|| "no robots.txt".to_owned(), |id| format!("version {id}"));
        let requests = amount(version.count, "request", "requests");
        line(format!("      {requests} by {name} {}", place(version.line)).trim_end(), output)?;
    }
    Ok(())
}

fn samples(case: &CrawlerCase, output: &mut Output<'_>) -> io::Result<()> {
    let own: Vec<&SampleEvent> =
        case.samples.iter().filter(|sample| sample.subject.proof != Proof::Contradicted).collect();
    if own.is_empty() {
        return Ok(());
    }
    let left_out = own.len().saturating_sub(SAMPLES);
    line("Some of the requests, with times in UTC:", output)?;
    for sample in own.iter().skip(left_out) {
        let Ok(event) = serde_json::from_str::<Value>(&sample.event) else { continue };
        let text = |name: &str| escape_harmful(event.get(name).and_then(Value::as_str).unwrap_or("-"));
        let status = event
            .get("status")
            .and_then(Value::as_u64)
            .map_or_else(|| "-".to_owned(), |code| code.to_string());
        let place = event
            .get("line")
            .and_then(Value::as_u64)
            .map_or_else(String::new, |line| format!(" of line {line}"));
        line(
            format!(
                "  {}  {}  {}{place}, notice {}",
                text("time"),
                text("address"),
                text("event"),
                text("notice")
            ),
            output,
        )?;
        line(
            format!(
                "    {} {} at {}, answered {status}, {}",
                text("method"),
                text("target"),
                text("host"),
                text("action")
            ),
            output,
        )?;
        line(format!("    User-Agent: {}", text("user_agent")), output)?;
        line(format!("    request {}", text("request_id")), output)?;
    }
    line("", output)
}

fn how_to_read(case: &CrawlerCase, output: &mut Output<'_>) -> io::Result<()> {
    line("How this was established", output)?;
    line("------------------------", output)?;
    let mut parts = vec![
        "The gateway in front of the site answers /robots.txt itself and judges each request by the very file \
         it answered with, as RFC 9309 says: the group by section 2.2.1, the rule by section 2.2.2. A version \
         is named by the first 12 digits of its SHA-256.",
        "A read is a complete answer to GET for /robots.txt, or a 304 for that version, given to the same \
         crawler; where its address is not confirmed, also in the same network. It counts from a short time later \
         on, a minute where the site chose no other, since a crawler may read on one machine and fetch from \
         the queue of another. A replaced version goes on excusing requests for the time of notice, unless the crawler has read the new one \
         (section 2.4).",
        if case.report.is_public {
            "Counts are exact for the time above. Requests in full are left out here: paths, addresses, User-Agent headers \
             and request ids are not for the public."
        } else {
            "Counts are exact for the time above. The requests shown are some of those counted."
        },
    ];
    if case.report.reads == Reads::Partial {
        parts.push(
            "Somebody in front of the gateway may have answered requests for robots.txt, so that it was read \
             is known where it is said, and that it was not read is not known.",
        );
    }
    if case.report.counts_lost > 0 {
        parts.push("Some requests of this time are missing from the counts: the true counts are higher.");
    } else if !case.report.losses.is_empty() {
        parts.push(
            "Some requests of this time may be missing from the counts: the true counts may be higher.",
        );
    }
    for part in parts {
        prose(part, output)?;
        line("", output)?;
    }
    let now = case.report.to;
    line(format!("robots-gateway {}, report up to {}", env!("CARGO_PKG_VERSION"), format_minute(now)), output)
}
