//! Pace: how fast a crawler was asked to come, and whether it comes faster. Not part of RFC 9309, and no violation.
//!
//! Pure: the time and what was counted are arguments. A delay is judged by window and not by gap, since crawlers fetch in
//! parallel: in W = max(60 s, 10 x delay) there may be 1.5 x W / delay + 5 requests. Whoever keeps the delay makes W / delay + 1.
//! A `rate` of the operator is taken literally: so many in a period.
//!
//! **Files of a page.** A crawler that renders fetches style sheets, scripts, images and fonts with each page, and a delay is
//! meant for pages. So each page that is let through brings [`FILES_OF_A_PAGE`] such files that count nothing; one beyond
//! that counts as a page. This is fair to both sides: who renders is not slowed for it, and who fetches nothing but images
//! is held to the delay. What a request says of itself (`Sec-Fetch-Dest`) is not asked: whoever wants to be fast could write
//! `image` into each. Under a literal `rate` every request counts.

mod window;

pub use window::{PaceExcess, PaceWindow};

use super::VerdictInput;
use super::notice::{HeldVersions, NoticePeriod};
use super::rules::SiteRules;
use super::verdict::{Ruling, RulingGroup, Verdict, VerdictReason};
use super::version::RobotsVersion;
use crate::identify::Identity;
use crate::robots::{CrawlDelayLine, Rule, RuleGroup, RuleKind};
use std::time::Duration;

/// So many files come with a page: the median page of the web has some 70.
pub const FILES_OF_A_PAGE: u32 = 70;

/// Delays lie between these, in seconds: a window has an end, and counts have room. A shorter one is none, a longer one as
/// the longest.
const DELAYS: (f64, f64) = (0.01, 86_400.0);

/// What only comes with a page, by the end of its path.
const FILES: [&[u8]; 17] = [
    b"css", b"js", b"mjs", b"png", b"jpg", b"jpeg", b"gif", b"webp", b"avif", b"svg", b"ico", b"bmp",
    b"woff", b"woff2", b"ttf", b"otf", b"map",
];

/// How many requests within which time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceLimit {
    /// How long the window is.
    pub window: Duration,
    /// How many requests may be in it.
    pub allowed: u32,
    /// The time between two requests that was asked for.
    pub delay: Duration,
    /// Files of a page that each page brings.
    pub files: u32,
}

impl PaceLimit {
    /// The limit of a `Crawl-delay`; none where that is next to nothing.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and below 2^40")]
    pub fn of_delay(seconds: f64) -> Option<Self> {
        let (least, most) = DELAYS;
        let delay = seconds.clamp(least, most);
        let window = (10.0 * delay).max(60.0);
        let allowed = (1.5 * window / delay + 5.0) as u32;
        // `from_secs_f64` rounds exactly, and takes 45 instructions of each request of a crawler that has a pace.
        let [window, delay] =
            [window, delay].map(|seconds| Duration::from_micros((seconds * 1e6 + 0.5) as u64));
        (seconds >= least).then_some(Self { window, allowed, delay, files: FILES_OF_A_PAGE })
    }

    /// So many requests in a period, and no more.
    #[must_use]
    pub fn of_rate(requests: u32, period: Duration) -> Self {
        let allowed = requests.max(1);
        Self { window: period, allowed, delay: period / allowed, files: 0 }
    }

    /// Whether a target is one that comes with a page.
    #[must_use]
    pub fn is_file(target: &[u8]) -> bool {
        let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let end = name.iter().rposition(|byte| *byte == b'.').and_then(|dot| name.get(dot + 1..));
        end.is_some_and(|end| FILES.iter().any(|known| end.eq_ignore_ascii_case(known)))
    }
}

/// The pace that a crawler was asked to keep, and by whom.
#[derive(Clone, Copy, Debug)]
pub struct DeclaredPace<'r> {
    /// What holds for it: of a `Crawl-delay`, the most lenient that it could have read.
    pub limit: PaceLimit,
    /// What stands in the version in force; `None` of a rate that the operator set.
    pub source: Option<(RuleGroup<'r>, CrawlDelayLine<'r>)>,
}

impl<'r> DeclaredPace<'r> {
    /// The verdict on a request that comes too fast: in the place of a rule it names the `Crawl-delay`.
    pub fn verdict(&self, of_path: &Verdict<'r>) -> Verdict<'r> {
        let ruling = self.source.map(|(group, CrawlDelayLine { line, text, .. })| {
            let rule = Rule { kind: RuleKind::Allow, line, text, marked: text, pattern: b"", bytes: 0 };
            Ruling { group: RulingGroup::Rules(group), rule: Some(rule) }
        });
        let reason = if ruling.is_some() { VerdictReason::CrawlDelay } else { VerdictReason::Rate };
        Verdict { reason, ruling, ..*of_path }
    }
}

impl RobotsVersion {
    /// The pace that this version asks of a crawler.
    pub fn pace(&self, identity: &Identity) -> Option<DeclaredPace<'_>> {
        let group = self.robots.group(&identity.tokens, identity.star)?;
        let line = group.crawl_delay_line()?;
        PaceLimit::of_delay(line.seconds).map(|limit| DeclaredPace { limit, source: Some((group, line)) })
    }
}

/// The pace that the group asks of a crawler which judges it. Fair notice holds as for a rule: where a version that the
/// crawler could hold asks for less, that is what holds, and where one asks for nothing, or is not known, nothing does.
pub fn declared_pace<'r>(
    rules: &'r SiteRules,
    period: NoticePeriod,
    case: &VerdictInput<'_>,
) -> Option<DeclaredPace<'r>> {
    let in_force = rules.current();
    if !in_force.robots.has_crawl_delay() || rules.is_unpublished {
        return None;
    }
    let declared = in_force.pace(case.identity)?;
    let holdings = HeldVersions::new(rules, case.reads, period, case.now);
    let crawler = case.identity.crawler.as_deref();
    let asked_for = declared.source?.1.seconds;
    let mut least = asked_for;
    for former in holdings.former().filter(|former| !rules.is_waived(former.until, crawler)) {
        let version = former.version.as_ref().ok()?;
        let identity = version.tokens.applied(case.recognised, case.user_agent);
        let group = version.robots.group(&identity.tokens, identity.star)?;
        least = least.min(group.crawl_delay()?);
    }
    if least < asked_for {
        return PaceLimit::of_delay(least).map(|limit| DeclaredPace { limit, ..declared });
    }
    Some(declared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_a_window_and_a_rate_is_literal() {
        let of = |seconds| PaceLimit::of_delay(seconds).map(|limit| (limit.window.as_secs(), limit.allowed));
        assert_eq!((of(1.0), of(10.0)), (Some((60, 95)), Some((100, 20))));
        assert_eq!((of(0.5), of(30.0)), (Some((60, 185)), Some((300, 20))));
        assert_eq!((of(0.0), of(0.001), of(1e300)), (None, None, Some((864_000, 20))));
        let literal = PaceLimit::of_rate(60, Duration::from_secs(60));
        assert_eq!((literal.allowed, literal.files), (60, 0));
    }

    #[test]
    fn what_comes_with_a_page_is_known_by_its_end() {
        for file in ["/a.css", "/x/y.JS?v=3", "/.png", "/fonts/a.b.woff2"] {
            assert!(PaceLimit::is_file(file.as_bytes()), "{file}");
        }
        for page in ["/", "/css", "/a.css/", "/a.html", "/q?x=/a.css", "", "/a.", "/x.css/page"] {
            assert!(!PaceLimit::is_file(page.as_bytes()), "{page}");
        }
    }
}
