//! Several parts made into one file, so that none changes what another says.
//!
//! A part may end in user-agent lines, or without a line end: what follows would then be taken into its last group (RFC
//! 9309 §2.2). So each part is closed before the next begins. Groups of one token are combined all the same (§2.2.1),
//! which is why an owner's own `Allow` is stronger than a generated `Disallow: /`.

use super::line::{self, Content, PhysicalLines, Record, RecordName};
use super::pattern::index;
use std::fmt;
use std::fmt::Write as _;

/// What comes between a generated rule and the name of the program that made it. The purpose follows behind a colon.
const MARK: &str = " # ";

/// Where lines of a composed file come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineSource {
    /// The site's own robots.txt.
    Own,
    /// What the operator adds to it.
    Additions,
    /// Nobody's words: they keep parts apart.
    Joint,
    /// Generated for a purpose.
    Block(Box<str>),
}

impl fmt::Display for LineSource {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => out.write_str("own"),
            Self::Additions => out.write_str("additions"),
            Self::Joint => out.write_str("joint"),
            Self::Block(purpose) => write!(out, "block {purpose}"),
        }
    }
}

/// Lines that follow each other and have one source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// How many lines.
    pub lines: u32,
    /// How many bytes.
    pub bytes: usize,
    /// Where they come from.
    pub source: LineSource,
}

/// The tokens to be shut out for one purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PurposeBlock {
    /// The purpose.
    pub purpose: Box<str>,
    /// Product tokens.
    pub tokens: Vec<Box<str>>,
}

/// The first line that was generated.
pub fn generated_from(sections: &[Section]) -> u32 {
    let generated = sections.iter().position(|section| matches!(section.source, LineSource::Block(_)));
    let before = generated.and_then(|at| sections.get(..at));
    before.map_or(u32::MAX, |before| before.iter().map(|section| section.lines).sum::<u32>() + 1)
}

/// A file and where its lines come from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Composed {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its lines, in order.
    pub sections: Vec<Section>,
}

/// A record that stands before the first user-agent line of what is added: behind another part it would belong to the
/// last group of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} comes before the first user-agent line, and would join the group above it")]
pub struct UngroupedRecord {
    /// Its line in what is added.
    pub line: u32,
}

impl Composed {
    /// Makes one file of a site's own, of what is added to it, and of groups that shut out the tokens of `blocks`.
    /// `maker` is the name of the program that makes it, which generated lines carry.
    ///
    /// # Errors
    /// When a record of `additions` is for no group.
    pub fn new(
        own: &[u8],
        additions: &[u8],
        blocks: &[PurposeBlock],
        maker: &str,
    ) -> Result<Self, UngroupedRecord> {
        let additions = additions.get(line::byte_order_mark(additions)..).unwrap_or_default();
        if let Some(line) = ungrouped(additions) {
            return Err(UngroupedRecord { line });
        }
        let mut composed = Self::default();
        composed.part(own, LineSource::Own);
        if !additions.is_empty() {
            composed.end_part();
            composed.part(additions, LineSource::Additions);
        }
        for block in blocks.iter().filter(|block| !block.tokens.is_empty()) {
            composed.end_part();
            composed.part(&generated(block, maker), LineSource::Block(block.purpose.clone()));
        }
        Ok(composed)
    }

    fn part(&mut self, bytes: &[u8], source: LineSource) {
        let lines = index(PhysicalLines::new(bytes, 0).count());
        if lines > 0 {
            self.bytes.extend_from_slice(bytes);
            self.sections.push(Section { lines, bytes: bytes.len(), source });
        }
    }

    /// Ends the last line, and a last group that has user-agent lines only.
    fn end_part(&mut self) {
        if self.bytes.is_empty() {
            return;
        }
        // After `CR` alone the line end of what follows would complete it.
        if self.bytes.last() != Some(&b'\n') {
            self.bytes.push(b'\n');
            if let Some(last) = self.sections.last_mut() {
                last.bytes += 1;
            }
        }
        let end: &[u8] = if is_naming(&self.bytes) { b"Disallow:\n\n" } else { b"\n" };
        self.part(end, LineSource::Joint);
    }
}

fn generated(block: &PurposeBlock, maker: &str) -> Vec<u8> {
    let purpose = &block.purpose;
    let mut text = format!("# {maker}: block {purpose}: generated from the catalogue\n");
    for token in &block.tokens {
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\nUser-agent: {token}\nDisallow: /{MARK}{maker}: block {purpose}\n");
    }
    text.into_bytes()
}

/// Whether a crawler may take what follows into the last group: a rule ends its names only for those that read it, and
/// not all read one that is misspelt.
fn is_naming(bytes: &[u8]) -> bool {
    let ends = |record: &Record<'_>| match record.name {
        RecordName::UserAgent => Some(false),
        RecordName::Allow | RecordName::Disallow if record.colon && !record.misspelt => Some(true),
        _ => None,
    };
    records(bytes).filter_map(|(_, record)| ends(&record)).last() == Some(false)
}

/// The line of a record of a group that stands before any user-agent line.
fn ungrouped(bytes: &[u8]) -> Option<u32> {
    let of_group = |name| {
        !matches!(
            name,
            RecordName::Sitemap
                | RecordName::Host
                | RecordName::Noindex
                | RecordName::Foreign
                | RecordName::Unknown
        )
    };
    records(bytes)
        .find(|(_, record)| of_group(record.name))
        .filter(|(_, record)| record.name != RecordName::UserAgent)
        .map(|found| found.0)
}

fn records(bytes: &[u8]) -> impl Iterator<Item = (u32, Record<'_>)> {
    PhysicalLines::new(bytes, line::byte_order_mark(bytes)).filter_map(|line| match line.content {
        Content::Record(record) => Some((line.number, record)),
        Content::Empty | Content::Junk(..) => None,
    })
}

/// The end of a generated rule with its mark, where the rule ends at `end`.
pub(super) fn marked_end(source: &[u8], end: usize) -> usize {
    let rest = source.get(end..).unwrap_or_default();
    if !rest.starts_with(MARK.as_bytes()) {
        return end;
    }
    end + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len())
}

/// The text of a rule as it was noted, and what it was generated for. No rule holds a `#` (RFC 9309 section 2.2).
pub fn unmarked(noted: &str) -> (&str, Option<&str>) {
    let marked = noted.split_once(MARK).and_then(|(text, mark)| Some((text, mark.split_once(": ")?.1)));
    marked.map_or((noted, None), |(text, source)| (text, Some(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FindingKind, ParseLimits, Parsed, Robots};

    fn block(tokens: &[&str]) -> Vec<PurposeBlock> {
        let tokens = tokens.iter().map(|token| Box::from(*token)).collect();
        vec![PurposeBlock { purpose: "ai-train".into(), tokens }]
    }

    fn composed(own: &str, additions: &str, tokens: &[&str]) -> Composed {
        Composed::new(own.as_bytes(), additions.as_bytes(), &block(tokens), "maker").unwrap()
    }

    fn parsed(file: &Composed) -> Parsed {
        Robots::parse_composed(&file.bytes, generated_from(&file.sections), &ParseLimits::default())
    }

    fn allows(file: &[u8], token: &str, path: &str) -> bool {
        Robots::parse(file, &ParseLimits::default()).robots.judge(&[token], true, path.as_bytes()).allow
    }

    #[test]
    fn one_part_stays_as_it_is() {
        for own in ["", "User-agent: *", "\u{feff}User-agent: a\r\nDisallow: /x", "\n\n"] {
            assert_eq!(composed(own, "", &[]).bytes, own.as_bytes());
        }
    }

    #[test]
    fn an_open_end_takes_nothing_in() {
        for own in [
            "User-agent: Googlebot",
            "User-agent: Googlebot\n",
            "User-agent: Googlebot\r",
            "User-agent: a\nDisallow: /\n\nUser-agent: Googlebot\nCrawl-delay: 5\nSitemap: https://x.example/s\n# end",
            "User-agent: Googlebot\nnonsense\n",
            "User-agent: Googlebot\nDissallow: /y\n",
            "User-agent: Googlebot\nDisallow /y\n",
        ] {
            for additions in
                ["", "User-agent: other\nDisallow: /\n", "\u{feff}User-agent: other\nDisallow: /"]
            {
                let file = composed(own, additions, &["GPTBot"]);
                assert!(allows(&file.bytes, "Googlebot", "/x"), "{own:?}");
                assert!(!allows(&file.bytes, "GPTBot", "/x"), "{own:?}");
                assert_eq!(allows(&file.bytes, "other", "/x"), additions.is_empty(), "{own:?}");
                let lines: u32 = file.sections.iter().map(|section| section.lines).sum();
                assert_eq!(lines, index(PhysicalLines::new(&file.bytes, 0).count()), "{own:?}");
            }
        }
    }

    #[test]
    fn generated_rules_name_their_purpose_and_others_none() {
        let file = composed("User-agent: a\nDisallow: /x # maker\n", "", &["GPTBot", "CCBot"]);
        let robots = parsed(&file).robots;
        let judged = robots.judge(&["ccbot"], true, b"/y").rule.unwrap();
        assert_eq!((judged.text, judged.source()), (&b"Disallow: /"[..], Some("block ai-train")));
        assert_eq!(judged.marked, b"Disallow: / # maker: block ai-train");
        assert_eq!(robots.judge(&["a"], true, b"/x").rule.unwrap().source(), None);
    }

    #[test]
    fn a_mark_that_somebody_wrote_is_not_believed() {
        let own = "User-agent: GPTBot\nAllow: /\nDisallow: /x # maker: block ai-train\n";
        let parsed = parsed(&composed(own, "", &["CCBot"]));
        let sources: Vec<_> = parsed.robots.rules().map(|(_, rule)| rule.source()).collect();
        assert_eq!(sources, [None, None, Some("block ai-train")]);
        assert_eq!(parsed.robots.written_tokens().collect::<Vec<_>>(), ["GPTBot"]);
        assert_eq!(parsed.robots.voids().count(), 0);
    }

    #[test]
    fn all_rules_that_win_over_a_generated_one_are_told() {
        let by = |rules: &str| {
            let file = composed(&format!("User-agent: GPTBot\n{rules}"), "", &["GPTBot"]);
            let robots = parsed(&file).robots;
            robots.voids().map(|void| (void.by, void.is_whole)).collect::<Vec<_>>()
        };
        assert_eq!(by("Allow: /a\nDisallow: /b\nAllow: /c\n"), [(vec![2, 4], false)]);
        assert_eq!(by("Allow: /$\nAllow: /**\n"), [(vec![3], true)]);
        assert_eq!(by("Allow: /robots.txt\nAllow:\n"), []);
    }

    #[test]
    fn findings_are_of_lines_that_somebody_wrote() {
        let own = "User-agent: *\n".to_owned() + &"nonsense\n".repeat(2000);
        let findings = parsed(&composed(&own, "", &["AI2Bot", "Google-Extended"])).findings;
        let last = findings.last().unwrap();
        assert_eq!((last.kind, last.line), (FindingKind::MoreFindings, 1001));
        assert_eq!(&*last.detail, "1000");
    }

    #[test]
    fn only_tokens_that_somebody_wrote_are_looked_for_in_headers() {
        let file =
            composed("User-agent: Own\nDisallow: /x\nUser-agent: *\nAllow: /\n", "", &["AI2Bot", "own"]);
        let robots = parsed(&file).robots;
        assert_eq!(robots.tokens().collect::<Vec<_>>(), ["Own", "AI2Bot", "AI"]);
        assert_eq!(robots.written_tokens().collect::<Vec<_>>(), ["Own"]);
    }

    #[test]
    fn what_is_added_has_groups_of_its_own() {
        let of = |additions: &str| {
            Composed::new(b"", additions.as_bytes(), &[], "maker").map(|_| ()).map_err(|it| it.line)
        };
        assert_eq!(of("# c\nDisallow: /x\nUser-agent: a\n"), Err(2));
        assert_eq!(of("Crawl-delay: 1"), Err(1));
        assert_eq!(of("Sitemap: https://x.example/s\nUser-agent: a\nDisallow: /"), Ok(()));
    }
}
