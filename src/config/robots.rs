//! What a site's robots.txt is made of: `robots = …`.

use super::faults::Faults;
use super::origin::OriginUrl;
use super::values::{DurationValue, TableOrText, WrittenAs, from_text, web_url, written};
use crate::identify::{Purpose, PurposeSet};
use serde::{Deserialize, Deserializer};
use smart_default::SmartDefault;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;
use url::Position;

/// What a site's robots.txt is made of; the origin's own where nothing is said.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct RobotsConfig {
    /// The file with the site's own rules.
    pub file: Option<PathBuf>,
    /// Where they come from, if no file has them.
    pub from: RobotsFrom,
    /// How often the origin is asked.
    #[serde(with = "WrittenAs::<DurationValue>")]
    // A change made there is served, and judged by, soon enough not to be missed, and one request in ten minutes is nothing
    // to an origin.
    #[default(Duration::from_secs(600))]
    pub every: Duration,
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

/// Where a robots.txt is fetched that is not the origin's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsUrl {
    /// The server.
    pub server: OriginUrl,
    /// The path and query there.
    pub path: Box<str>,
}

impl TableOrText for RobotsConfig {
    const WANTED: &'static str =
        "a file such as \"robots.txt\", or a table such as { from = \"origin\", block = [\"ai-train\"] }";

    fn of_text(file: &str) -> Result<Self, String> {
        Ok(Self::of_file(file.into()))
    }
}

impl RobotsConfig {
    /// A file alone.
    pub fn of_file(path: PathBuf) -> Self {
        Self { file: Some(path), ..Self::default() }
    }

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
        let range = Duration::from_secs(1)..=Duration::from_secs(86_400);
        faults.within(&format!("{key}.every"), &self.every, range, fit);
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
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub RobotsHost(Box<str>) = |text| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
        if !text.is_empty() && text.bytes().all(is_plain) {
            return Ok(text.to_ascii_lowercase().into());
        }
        Err(format!("invalid host `{text}`: expected a name such as `example.org`"))
    };
}

from_text!(RobotsUrl);

impl FromStr for RobotsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let url = web_url(text).filter(|_| !text.contains('@'))?;
            let server = url.origin().ascii_serialization().parse().ok()?;
            let path = match &url[Position::BeforePath..Position::AfterQuery] {
                "/" => "/robots.txt",
                path => path,
            };
            let path = path.into();
            Some(Self { server, path })
        };
        let expected = "expected the URL of a robots.txt, such as `https://example.org/robots.txt`";
        read().ok_or_else(|| format!("invalid URL `{text}`: {expected}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};

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
            (from.every, from.host.as_ref().map(|host| &*host.0)),
            (Duration::from_secs(600), Some("example.org"))
        );
        let url = from.url.as_ref().unwrap();
        assert_eq!((url.server.to_string().as_str(), &*url.path), ("https://cdn.example:443", "/r?x=1"));
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
