//! What robots are told: by a site's robots.txt, with `robots = …`, and by forwarded answers of themselves, with
//! `robots_tags`, by path and by whom they are for.

use super::faults::Faults;
use super::values::{DurationValue, from_text, seconds, text_or_table, web_url, written};
use crate::identify::{Identity, Purpose, PurposeSet};
use crate::robots::{ParseLimits, Robots};
use serde::{Deserialize, Deserializer};
use smart_default::SmartDefault;
use std::path::PathBuf;
use std::sync::Arc;
use url::Url;

/// What a site's robots.txt is made of; the origin's own where nothing is said.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "RobotsConfig", deny_unknown_fields, default)]
pub struct RobotsConfig {
    /// The file with the site's own rules.
    pub file: Option<PathBuf>,
    /// Where they come from, if no file has them.
    pub from: RobotsFrom,
    /// How often the origin is asked.
    // A change made there is served, and judged by, soon enough not to be missed, and one request in ten minutes is nothing
    // to an origin.
    #[default(seconds::<600>())]
    pub every: DurationValue,
    /// The host that it is asked for.
    pub host: Option<RobotsHost>,
    /// Another place to ask.
    pub url: Option<RobotsUrl>,
    /// A file whose lines follow the site's own.
    pub additions: Option<PathBuf>,
    /// Purposes whose crawlers are shut out.
    #[serde(deserialize_with = "purposes")]
    #[cfg_attr(test, schemars(with = "Vec<PurposeSet>"))]
    pub block: Vec<Purpose>,
    /// Tokens and names of crawlers that are not.
    pub except: Vec<String>,
}

/// Where a site's own rules come from that are in no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, strum::IntoStaticStr)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RobotsFrom {
    /// From the origin.
    #[default]
    Origin,
    /// There are none.
    None,
}

text_or_table!(
    RobotsConfig,
    "a file such as \"robots.txt\", or a table such as { from = \"origin\", block = [\"ai-train\"] }",
    |file| ("file", file)
);

impl RobotsConfig {
    /// No rules at all.
    pub fn none() -> Self {
        Self { from: RobotsFrom::None, ..Self::default() }
    }

    /// The same where its rules are the origin's, which says how that is asked.
    pub fn origin(&self) -> Option<&Self> {
        (self.file.is_none() && self.from == RobotsFrom::Origin).then_some(self)
    }

    /// Whether anything is put beside the site's own rules.
    pub const fn is_composed(&self) -> bool {
        self.additions.is_some() || !self.block.is_empty()
    }

    /// The word for where the site's own rules come from: `file`, `origin`, `none`.
    pub fn source_word(&self) -> &'static str {
        if self.file.is_some() { "file" } else { self.from.into() }
    }

    /// Notes what is wrong with what is written as `key`.
    pub(super) fn check(&self, key: &str, faults: &mut Faults<'_>) {
        let is_one = self.file.is_none() || !faults.has(&format!("{key}.from"));
        faults.require(is_one, key, "`robots` with both `file` and `from`", "keep one of the two");
        let asks = ["every", "host", "url"].iter().any(|name| faults.has(&format!("{key}.{name}")));
        let message = "`every`, `host` and `url` say how the origin is asked, and it is not";
        let hint = "write `from = \"origin\"`, or remove them";
        faults.require(!asks || self.origin().is_some(), key, message, hint);
        let fit = "a time from `1s` to `24h`, for which RFC 9309 §2.4 lets a copy be used";
        faults.within(&format!("{key}.every"), self.every.as_millis(), &(1_000..=86_400_000), fit);
        for (at, purpose) in self.block.iter().enumerate() {
            let is_new = !self.block.iter().take(at).any(|before| before == purpose);
            let message = format!("`{purpose}` is twice in `block`");
            faults.require(is_new, &format!("{key}.block.{at}"), message, "remove one of the two");
        }
        let is_of_use = !self.block.is_empty() || self.except.is_empty();
        let message = "`except` without `block` says nothing";
        faults.require(is_of_use, key, message, "add `block`, or remove it");
    }
}

/// `ai` stands for several.
fn purposes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Purpose>, D::Error> {
    let sets = Vec::<PurposeSet>::deserialize(deserializer)?;
    Ok(sets.into_iter().flat_map(PurposeSet::purposes).collect())
}

written! {
    /// The host that an origin is asked for: a name, with a port where it has one, as it stands in a Host field (RFC 9110
    /// §7.2).
    pub RobotsHost(Box<str>) = |text| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if !text.is_empty() && text.bytes().all(is_plain) {
            return Ok(text.to_ascii_lowercase().into());
        }
        Err(format!("invalid host `{text}`: expected a name such as `example.org`"))
    };

    /// Where a robots.txt is fetched that is not the origin's own.
    pub RobotsUrl(Url) = |text| {
        let url = web_url(text).filter(|url| url.port() != Some(0) && !text.contains('@'));
        let expected = "expected the URL of a robots.txt, such as `https://example.org/robots.txt`";
        let mut url = url.ok_or_else(|| format!("invalid URL `{text}`: {expected}"))?;
        url.set_fragment(None);
        if url.path() == "/" && url.query().is_none() {
            url.set_path("/robots.txt");
        }
        Ok(url)
    };

    /// `noindex`, or `max-snippet:20`.
    pub(super) TagRule(Box<str>) = |text| {
        let (name, value) = text.split_once(':').unwrap_or((text, "0"));
        let is_of_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        let is_name = name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_of_name);
        if is_name && value.parse::<i32>().is_ok() {
            return Ok(text.into());
        }
        let expected = "expected a word such as `noindex`, or one with a number such as `max-snippet:20`";
        Err(format!("invalid rule `{text}`: {expected}"))
    };
}

/// Rules such as `noindex` for answers under a path, or to crawlers of a purpose.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RobotsTag {
    /// What is said.
    rules: Vec<TagRule>,
    /// To whom; to everybody where there is none.
    purpose: Option<PurposeSet>,
    /// Of which paths; of all where there is none.
    path: Option<TagPath>,
}

/// A pattern of paths as in robots.txt, matched by the same engine.
#[derive(Clone, Debug)]
pub(super) struct TagPath(Box<str>, Arc<Robots>);

from_text!(TagPath: tag_path);

fn tag_path(text: &str) -> Result<TagPath, String> {
    let is_pattern = text.starts_with(['/', '*']) && text.bytes().all(|byte| byte > b' ' && byte != b'#');
    if !is_pattern {
        let expected = "expected a pattern as in robots.txt, such as `/drafts/` or `/*.pdf$`";
        return Err(format!("invalid path `{text}`: {expected}"));
    }
    let file = format!("User-agent: *\nDisallow: {text}\n");
    let robots = Robots::parse(file.as_bytes(), &ParseLimits::default()).robots;
    Ok(TagPath(text.into(), Arc::new(robots)))
}

impl PartialEq for TagPath {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for TagPath {}

impl RobotsTag {
    /// The values of `X-Robots-Tag` and `Robots-Tag` (draft-illyes-repext, section 2.1.1) for an answer to `identity`
    /// about `path`. Where they are not for everybody, they name whom they are for: a shared cache could give the answer
    /// to others.
    pub fn values(&self, identity: &Identity, path: &[u8]) -> Option<[String; 2]> {
        let is_of_path =
            self.path.as_ref().is_none_or(|TagPath(_, robots)| !robots.judge::<&str>(&[], true, path).allow);
        let mut token = None;
        if let Some(purposes) = self.purpose {
            let is_meant = identity.is_judged() && identity.purpose.is_some_and(|own| purposes.contains(own));
            token = Some(identity.tokens.first().filter(|_| is_meant)?);
        }
        let rules: Vec<&str> = self.rules.iter().map(|rule| &*rule.0).collect();
        let experimental = token.map_or_else(String::new, |token| format!("{token}: ")) + &rules.join(", ");
        let parameters = rules.join(";").replace(':', "=");
        let member = token.map_or_else(|| "*".to_owned(), ToString::to_string);
        is_of_path.then(|| [experimental, format!("{member};{parameters}")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use std::time::Duration;

    fn robots(written: &str) -> Result<RobotsConfig, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        std::fs::write(&path, format!("[[sites]]\norigin = \"http://127.0.0.1:9\"\n{written}\n")).unwrap();
        let loaded = Config::load(&Arguments { config: Some(path), ..Arguments::default() });
        loaded.map(|mut config| config.sites.remove(0).robots).map_err(|errors| errors.to_string())
    }

    #[test]
    fn each_form_is_read() {
        assert!(robots("robots = \"r.txt\"").unwrap().file.as_deref().unwrap().ends_with("r.txt"));
        assert_eq!(robots("robots = { from = \"none\" }").unwrap(), RobotsConfig::none());
        let made = robots(
            "robots = { from = \"origin\", every = \"10m\", additions = \"more.txt\", block = [\"ai-train\"], \
             except = [\"Applebot-Extended\"], host = \"Example.ORG\", url = \"https://cdn.example/r?x=1\" }",
        );
        let made = made.unwrap();
        let from = made.origin().unwrap();
        assert_eq!(
            (*from.every, from.host.as_ref().map(|host| &*host.0)),
            (Duration::from_secs(600), Some("example.org"))
        );
        let url = from.url.as_ref().unwrap();
        assert_eq!(url.as_str(), "https://cdn.example/r?x=1");
        assert_eq!((made.block, made.except), (vec![Purpose::AiTrain], vec!["Applebot-Extended".to_owned()]));
        let file = robots("robots = { file = \"r.txt\", block = [\"ai-train\", \"ai-search\"] }").unwrap();
        assert!(file.file.is_some() && file.is_composed());
    }

    #[test]
    fn each_mistake_has_its_place() {
        for (written, place, part) in [
            ("robots = { file = \"r\", from = \"none\" }", ":3:10: ", "both `file` and `from`"),
            ("robots = { block = [\"ai-trian\"] }", ":3:21: ", "invalid purpose `ai-trian`"),
            ("robots = { block = [\"seo\", \"seo\"] }", ":3:28: ", "`seo` is twice in `block`"),
            ("robots = { from = \"orign\" }", ":3:19: ", "`origin`"),
            ("robots = { from = \"origin\", every = \"25h\" }", ":3:37: ", "from `1s` to `24h`"),
            ("robots = { from = \"origin\", every = \"0s\" }", ":3:37: ", "from `1s` to `24h`"),
            ("robots = { file = \"r\", every = \"1h\" }", ":3:10: ", "how the origin is asked"),
            ("robots = { from = \"origin\", host = \"a b\" }", ":3:36: ", "invalid host `a b`"),
            (
                "robots = { from = \"origin\", url = \"cdn.example\" }",
                ":3:35: ",
                "expected the URL of a robots.txt",
            ),
            ("robots = { file = \"r\", except = [\"GPTBot\"] }", ":3:10: ", "`except` without `block`"),
            ("robots = { files = \"r\" }", ":3:12: ", "did you mean `file`"),
            ("robots = 7", ":3:10: ", "a file such as"),
        ] {
            let message = robots(written).unwrap_err();
            assert!(message.contains(place) && message.contains(part), "{written}: {message}");
        }
    }
}
