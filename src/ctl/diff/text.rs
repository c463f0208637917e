//! The difference for people: what hurts first.

use super::requests::{Flip, LostPages};
use super::rules::{RuleChange, RuleLine};
use super::{Difference, text};
use crate::ctl::output::Output;
use crate::ctl::style::{self, Palette};
use crate::report::{self, amount, grouped};
use askama::Template;
use std::io;

/// How many rules of one change are shown.
const RULES: usize = 20;

#[derive(Template)]
#[template(path = "diff/text.txt", config = "src/ctl/askama.toml")]
struct DifferenceText<'d> {
    difference: &'d Difference,
    palette: Palette,
    /// How many digits the largest count of a flip has.
    widest: usize,
    /// Requests that would be judged differently and are not listed.
    more: u64,
}

pub(super) fn print(difference: &Difference, output: &mut Output<'_>) -> io::Result<()> {
    let flips = &difference.flips;
    let flipped = difference.requests.as_ref().map_or(0, |requests| requests.flipped);
    output.render(&DifferenceText {
        difference,
        palette: output.palette(),
        widest: flips.iter().map(|flip| grouped(flip.count).len()).max().unwrap_or_default(),
        more: flipped - flips.iter().map(|flip| flip.count).sum::<u64>(),
    })
}

impl DifferenceText<'_> {
    /// The rules that go and that come.
    fn lines(&self, change: &RuleChange) -> Vec<String> {
        let signs = [("-", style::WARNING, &change.removed), ("+", style::GOOD, &change.added)];
        let lines = signs.into_iter().flat_map(|(sign, style, lines)| {
            let line = move |RuleLine { line, rule }: &RuleLine| {
                self.palette.paint(style, &format!("  {sign} line {line}: {rule}"))
            };
            let more = lines.len().checked_sub(RULES).filter(|more| *more > 0);
            let more = more.map(|more| format!("  {sign} and {} more", grouped(more as u64)));
            lines.iter().take(RULES).map(line).chain(more)
        });
        lines.collect()
    }
}

fn loss(LostPages { crawler, pages, requests }: &LostPages) -> String {
    let pages = amount(*pages, "page", "pages");
    let requests = amount(*requests, "request", "requests");
    format!("WARNING: {crawler} is a search engine and would lose {pages} that it fetches today ({requests})")
}

/// For whom the rules change.
fn heading(changed: &RuleChange) -> String {
    let moved = match [&changed.old_group, &changed.new_group].map(Option::as_deref) {
        [Some(old), Some(new)] if old.eq_ignore_ascii_case(new) => String::new(),
        groups => {
            let [old, new] = groups.map(|group| group.unwrap_or("none"));
            format!(" (its group was {old}, is {new})")
        }
    };
    format!("{}{moved}", changed.tokens.join(", "))
}

fn flip(flip: &Flip, widest: usize) -> String {
    let Flip { target, from, to, old_line, new_line, .. } = flip;
    let [old, new] = [old_line, new_line]
        .map(|line| line.map_or_else(|| "no rule".to_owned(), |line| format!("line {line}")));
    let (count, who) = (grouped(flip.count), flip.crawler.as_deref().unwrap_or("(no name)"));
    format!("{count:>widest$}  {who}  {target}: {from} ({old}) -> {to} ({new})")
}
