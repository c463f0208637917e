//! One robots.txt: its bytes, what it says, and its compiled rules.
//!
//! A version is a site's bytes: equal bytes are one version, and bytes decide the entity tag. For fair notice
//! versions that say the same are one ([`RulesId`]).

use crate::identify::{Identity, OperatorTokens};
use crate::robots::{ParseLimits, Robots, RuleGroup, RuleKind};
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The first bytes of a SHA-256, written as hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DigestId<const N: usize>([u8; N]);

/// The first 12 hexadecimal digits of the SHA-256 of a robots.txt.
pub type VersionId = DigestId<6>;

/// What a robots.txt says, whatever its comments and blank lines: which groups it has, with which rules and
/// crawl delays. Two versions that say the same are one version for fair notice.
pub type RulesId = DigestId<8>;

impl VersionId {
    /// The id of a file's bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_digest(Sha256::digest(bytes).into())
    }
}

impl<const N: usize> DigestId<N> {
    /// The id of what has this SHA-256.
    pub fn of_digest(sha256: [u8; 32]) -> Self {
        Self(sha256.first_chunk().copied().unwrap_or([0; N]))
    }

    /// The digits of each byte. Formatting a number would cost several times as much.
    fn pairs(self) -> [[u8; 2]; N] {
        let digit = |half: u8| b"0123456789abcdef".get(usize::from(half)).copied().unwrap_or(b'0');
        self.0.map(|byte| [digit(byte >> 4), digit(byte & 15)])
    }
}

impl<const N: usize> FromStr for DigestId<N> {
    type Err = String;

    fn from_str(digits: &str) -> Result<Self, String> {
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 2 * N);
        let id = number.and_then(|number| number.to_be_bytes().last_chunk().copied());
        id.map(Self).ok_or_else(|| format!("expected {} hexadecimal digits", 2 * N))
    }
}

impl<const N: usize> fmt::Display for DigestId<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(std::str::from_utf8(self.pairs().as_flattened()).unwrap_or_default())
    }
}

impl<const N: usize> fmt::Debug for DigestId<N> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl RulesId {
    /// The id of these rules.
    pub fn of(robots: &Robots) -> Self {
        let mut digest = Sha256::new();
        let mut ranks = HashMap::new();
        for token in robots.tokens().chain(["*"]) {
            let (name, star) = if token == "*" { (&[][..], true) } else { (&[token][..], false) };
            let Some(group) = robots.group(name, star) else { continue };
            digest.update([b'G']);
            digest.update(token.to_ascii_lowercase());
            let next = ranks.len();
            let what = (group.id(), group.crawl_delay().map(f64::to_bits));
            let rank = *ranks.entry(what).or_insert(next);
            digest.update(rank.to_be_bytes());
            if rank == next {
                add_group(&mut digest, group);
            }
        }
        Self::of_digest(digest.finalize().into())
    }
}

/// Each part begins with a byte that no pattern holds, so that no two groups read alike.
fn add_group(digest: &mut Sha256, group: RuleGroup<'_>) {
    for rule in group.rules().filter(|rule| rule.bytes > 0) {
        digest.update([0, if rule.kind == RuleKind::Allow { b'A' } else { b'D' }]);
        digest.update(rule.pattern);
    }
    if let Some(delay) = group.crawl_delay() {
        digest.update([0, b'C']);
        digest.update(delay.to_be_bytes());
    }
    digest.update([0]);
}

/// One robots.txt, compiled for judging.
#[derive(Debug)]
pub struct RobotsVersion {
    /// Which bytes it was compiled from; `None` for a site without a file, which allows everything.
    pub id: Option<VersionId>,
    /// What it says.
    pub rules: RulesId,
    /// The compiled rules.
    pub robots: Arc<Robots>,
    /// The product tokens that somebody wrote into the file, ready to be looked for in a header.
    pub tokens: OperatorTokens,
}

/// The word for no group at all; no product token has brackets.
pub const NO_GROUP: &str = "(none)";

impl RobotsVersion {
    /// Compiles nothing anew but the index of the file's tokens. Its memory of headers must not outlive
    /// the catalogue that gave the answers.
    pub fn new(id: Option<VersionId>, robots: Arc<Robots>) -> Self {
        let tokens = OperatorTokens::new(robots.written_tokens());
        Self { id, rules: RulesId::of(&robots), robots, tokens }
    }

    /// The version that allows everything: a site without a file, or what nobody knows.
    pub fn allowing_everything() -> Arc<Self> {
        Arc::new(Self::new(None, Arc::new(Robots::parse(b"", &ParseLimits::default()).robots)))
    }

    /// The group whose preferences about use a client is told: that which it is judged by. Who is judged by no group, as
    /// people are, is told what holds for everyone.
    pub fn group_told(&self, identity: &Identity) -> Option<RuleGroup<'_>> {
        if identity.client.is_judged() {
            return self.robots.group(&identity.tokens, identity.star);
        }
        self.robots.group::<&str>(&[], true)
    }

    /// The same in a word, for what is recorded of a read.
    pub fn chosen_for(&self, identity: &Identity) -> &str {
        self.group_told(identity).map_or(NO_GROUP, |group| group.matched())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identify::{Basis, ClientKind};

    fn rules(text: &str) -> RulesId {
        RulesId::of(&Robots::parse(text.as_bytes(), &ParseLimits::default()).robots)
    }

    #[test]
    fn who_takes_no_group_but_its_own_is_told_nothing_of_everyones() {
        let version = |text: &str| {
            let robots = Robots::parse(text.as_bytes(), &ParseLimits::default()).robots;
            RobotsVersion::new(Some(VersionId::of(text.as_bytes())), Arc::new(robots))
        };
        let tokens: Arc<[Box<str>]> = Arc::new(["AdsBot-Google".into()]);
        let (client, basis) = (ClientKind::SpecialCase, Basis::Catalogue);
        let special = Identity { client, crawler: None, purpose: None, tokens, star: false, basis };
        let everyones = version("User-agent: *\nContent-Usage: train-ai=n\nAllow: /\n");
        assert_eq!(
            (everyones.group_told(&special).is_none(), everyones.chosen_for(&special)),
            (true, NO_GROUP)
        );
        let own = version("User-agent: *\nAllow: /\nUser-agent: adsbot-google\nAllow: /\n");
        assert_eq!(own.chosen_for(&special), "adsbot-google");
    }

    #[test]
    fn an_id_is_the_head_of_the_digest() {
        assert_eq!(VersionId::of(b"").to_string(), "e3b0c44298fc");
        assert_eq!(VersionId::of(b"abc").to_string(), "ba7816bf8f01");
        assert_eq!("ba7816bf8f01".parse(), Ok(VersionId::of(b"abc")));
        assert!(["ba7816bf8f", "ba7816bf8f0g"].iter().all(|digits| digits.parse::<VersionId>().is_err()));
    }

    #[test]
    fn comments_blank_lines_and_empty_rules_say_nothing() {
        let plain = rules("User-agent: a\nDisallow: /x\n\nUser-agent: *\nAllow: /\n");
        let busy = "# today\nuser-agent:A # who\n\nDisallow: /x # what\nDisallow:\nSitemap: /s\n\nUser-agent: *\nAllow: /";
        assert_eq!(rules(busy), plain);
        assert_eq!(rules("# nothing\n"), rules(""));
        assert_eq!(plain.to_string().parse(), Ok(plain));
    }

    #[test]
    fn what_judges_otherwise_has_another_id() {
        let all = [
            "",
            "User-agent: a\n",
            "User-agent: *\nDisallow: /x\n",
            "User-agent: *\nAllow: /x\n",
            "User-agent: *\nDisallow: /x\nCrawl-delay: 1\n",
            "User-agent: *\nDisallow: /x\nCrawl-delay: 2\n",
            "User-agent: *\nDisallow: /x\nDisallow: /y\n",
            "User-agent: a\nUser-agent: b\nDisallow: /x\n",
            "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x\n",
            "User-agent: a\nUser-agent: b\nCrawl-delay: 1\nDisallow: /x\n",
            "User-agent: a\nDisallow: /x\n\nUser-agent: b\n",
            "User-agent: ab\nDisallow: /x\n",
        ];
        let ids: std::collections::HashSet<_> = all.iter().map(|text| rules(text)).collect();
        assert_eq!(ids.len(), all.len());
    }
}
