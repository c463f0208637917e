//! What a site's robots.txt is made of: `robots = …`.

use super::defaults;
use super::error::{Faults, position, rebase};
use super::origin_url::OriginUrl;
use super::values::{DurationValue, TableOrText, TextOrTable};
use crate::identify::{Purpose, PurposeSet};
use serde::Deserialize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Spanned;

/// A crawler may use a copy for 24 hours (RFC 9309 §2.4), and so may the gateway.
const RAREST: Duration = Duration::from_secs(86_400);

/// What a site's robots.txt is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RobotsConfig {
    /// Where the site's own rules come from.
    pub source: RobotsSource,
    /// A file whose lines follow them.
    pub additions: Option<PathBuf>,
    /// Purposes whose crawlers are shut out.
    pub block: Vec<Purpose>,
    /// Tokens and names of crawlers that are not.
    pub except: Vec<String>,
    /// Where those stand.
    pub except_at: Vec<WordPlace>,
}

/// Line and column of a word, which are no difference between two configurations.
#[derive(Clone, Copy, Debug)]
pub struct WordPlace(pub usize, pub usize);

impl PartialEq for WordPlace {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for WordPlace {}

/// Where a site's own rules come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum RobotsSource {
    /// There are none.
    #[default]
    None,
    /// A file.
    File(PathBuf),
    /// What the origin serves.
    Origin(FromOrigin),
}

/// How the origin is asked for its robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromOrigin {
    /// How often.
    pub every: Duration,
    /// The host it is asked for.
    pub host: Option<Box<str>>,
    /// Another place to ask.
    pub url: Option<RobotsUrl>,
}

/// Where a robots.txt is fetched that is not the origin's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsUrl {
    /// The server.
    pub server: OriginUrl,
    /// The path and query there.
    pub path: Box<str>,
}

impl Default for FromOrigin {
    fn default() -> Self {
        Self { every: defaults::ROBOTS_EVERY, host: None, url: None }
    }
}

impl RobotsConfig {
    /// A file alone.
    pub fn of_file(path: PathBuf) -> Self {
        Self { source: RobotsSource::File(path), ..Self::default() }
    }

    /// What the origin serves, alone: the default of a site.
    pub fn of_origin() -> Self {
        Self { source: RobotsSource::Origin(FromOrigin::default()), ..Self::default() }
    }

    /// The file with the site's own rules.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            RobotsSource::File(path) => Some(path),
            RobotsSource::None | RobotsSource::Origin(_) => None,
        }
    }

    /// How the origin is asked, where its rules are the site's own.
    pub const fn origin(&self) -> Option<&FromOrigin> {
        match &self.source {
            RobotsSource::Origin(from) => Some(from),
            RobotsSource::None | RobotsSource::File(_) => None,
        }
    }

    /// All files that it is made of.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.file().into_iter().chain(self.additions.as_deref())
    }

    /// Whether anything is put beside the site's own rules.
    pub const fn is_composed(&self) -> bool {
        self.additions.is_some() || !self.block.is_empty()
    }

    /// The word for where the site's own rules come from: `file`, `origin`, `none`.
    pub fn source_word(&self) -> &'static str {
        (&self.source).into()
    }

    /// Checks what is written.
    pub(super) fn from_key(
        key: Spanned<TextOrTable<RobotsTable>>,
        base: &Path,
        faults: &mut Faults<'_>,
    ) -> Option<Self> {
        let span = key.span();
        let TextOrTable(mut table) = key.into_inner();
        rebase(base, table.file.iter_mut().chain(&mut table.additions));
        let source = table.source(&span, faults)?;
        let block = faults.values_or_faults(&table.block, |name| {
            name.parse::<PurposeSet>().map_err(|error| error.to_string())
        })?;
        let block: Vec<Purpose> = block.into_iter().flat_map(PurposeSet::purposes).collect();
        let twice = (0..).zip(&block).find(|(at, purpose)| block.iter().take(*at).any(|it| it == *purpose));
        if let Some((at, purpose)) = twice {
            let span = table.block.get(at).map_or(span, Spanned::span);
            faults.push(span, format!("`{purpose}` stands twice in `block`"), "remove one of the two");
            return None;
        }
        if block.is_empty() && !table.except.is_empty() {
            faults.push(span, "`except` without `block` says nothing", "add `block`, or remove it");
            return None;
        }
        let places = table.except.iter().map(|word| position(faults.text, word.span().start));
        let except_at = places.map(|(line, column)| WordPlace(line, column)).collect();
        let except = table.except.into_iter().map(Spanned::into_inner).collect();
        Some(Self { source, additions: table.additions, block, except_at, except })
    }
}

/// A name, with a port where it has one, as it stands in a Host field (RFC 9110 §7.2).
fn host_name(text: &str) -> Result<Box<str>, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) {
        return Ok(text.to_ascii_lowercase().into());
    }
    Err(format!("invalid host `{text}`: expected a name such as `example.org`"))
}

fn robots_url(text: &str) -> Result<RobotsUrl, String> {
    let wrong = || {
        format!(
            "invalid URL `{text}`: expected the URL of a robots.txt, such as `https://example.org/robots.txt`"
        )
    };
    let uri: http::Uri = text.parse().map_err(|_| wrong())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else { return Err(wrong()) };
    let server = format!("{scheme}://{authority}").parse().map_err(|_| wrong())?;
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let path = if path == "/" { "/robots.txt" } else { path };
    Ok(RobotsUrl { server, path: path.into() })
}

/// `robots = …` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RobotsTable {
    file: Option<PathBuf>,
    from: Option<FromKey>,
    every: Option<Spanned<DurationValue>>,
    additions: Option<PathBuf>,
    block: Vec<Spanned<String>>,
    except: Vec<Spanned<String>>,
    host: Option<String>,
    url: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum FromKey {
    Origin,
    None,
}

impl From<String> for RobotsTable {
    fn from(path: String) -> Self {
        Self { file: Some(path.into()), ..Self::default() }
    }
}

impl TableOrText for RobotsTable {
    const WANTED: &'static str =
        "a file such as \"robots.txt\", or a table such as { from = \"origin\", block = [\"ai-train\"] }";
}

impl RobotsTable {
    /// Where the site's own rules come from; `None` for a fault, which is noted.
    fn source(&self, span: &Range<usize>, faults: &mut Faults<'_>) -> Option<RobotsSource> {
        if self.file.is_some() && self.from.is_some() {
            faults.push(span.clone(), "`robots` with both `file` and `from`", "keep one of the two");
            return None;
        }
        let source = match (&self.file, self.from) {
            (Some(path), _) => RobotsSource::File(path.clone()),
            (None, Some(FromKey::None)) => RobotsSource::None,
            (None, _) => {
                let mut checked = FromOrigin::default();
                if let Some(every) = &self.every {
                    checked.every = checked_interval(every, faults)?;
                }
                if let Some(host) = &self.host {
                    checked.host = Some(faults.value_or_fault(span.clone(), host_name(host))?);
                }
                if let Some(url) = &self.url {
                    checked.url = Some(faults.value_or_fault(span.clone(), robots_url(url))?);
                }
                return Some(RobotsSource::Origin(checked));
            }
        };
        if self.every.is_some() || self.host.is_some() || self.url.is_some() {
            let message = "`every`, `host` and `url` say how the origin is asked, and it is not";
            faults.push(span.clone(), message, "write `from = \"origin\"`, or remove them");
            return None;
        }
        Some(source)
    }
}

fn checked_interval(written: &Spanned<DurationValue>, faults: &mut Faults<'_>) -> Option<Duration> {
    let every = written.as_ref().0;
    if (Duration::from_secs(1)..=RAREST).contains(&every) {
        return Some(every);
    }
    let message = "`every` is below 1s or above 24h, for which RFC 9309 §2.4 lets a copy be used";
    faults.push(written.span(), message, "write a time such as `10m`");
    None
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
        assert!(robots("robots = \"r.txt\"").unwrap().file().unwrap().ends_with("r.txt"));
        assert_eq!(robots("robots = { from = \"none\" }").unwrap(), RobotsConfig::default());
        let made = robots(
            "robots = { from = \"origin\", every = \"10m\", additions = \"more.txt\", block = [\"ai-train\"], \
             except = [\"Applebot-Extended\"], host = \"Example.ORG\", url = \"https://cdn.example/r?x=1\" }",
        );
        let made = made.unwrap();
        let from = made.origin().unwrap();
        assert_eq!((from.every, from.host.as_deref()), (Duration::from_secs(600), Some("example.org")));
        let url = from.url.as_ref().unwrap();
        assert_eq!((url.server.to_string().as_str(), &*url.path), ("https://cdn.example:443", "/r?x=1"));
        assert_eq!((made.block, made.except), (vec![Purpose::AiTrain], vec!["Applebot-Extended".to_owned()]));
        let file = robots("robots = { file = \"r.txt\", block = [\"ai-train\", \"ai-search\"] }").unwrap();
        assert!(file.file().is_some() && file.is_composed());
    }

    #[test]
    fn each_mistake_has_its_place() {
        for (written, place, part) in [
            ("robots = { file = \"r\", from = \"none\" }", ":3:10: ", "both `file` and `from`"),
            ("robots = { block = [\"ai-trian\"] }", ":3:21: ", "invalid purpose `ai-trian`"),
            ("robots = { block = [\"seo\", \"seo\"] }", ":3:28: ", "`seo` stands twice in `block`"),
            ("robots = { from = \"orign\" }", ":3:19: ", "`origin`"),
            ("robots = { from = \"origin\", every = \"25h\" }", ":3:37: ", "above 24h"),
            ("robots = { from = \"origin\", every = \"0s\" }", ":3:37: ", "below 1s"),
            ("robots = { file = \"r\", every = \"1h\" }", ":3:10: ", "how the origin is asked"),
            ("robots = { from = \"origin\", host = \"a b\" }", ":3:10: ", "invalid host `a b`"),
            (
                "robots = { from = \"origin\", url = \"cdn.example\" }",
                ":3:10: ",
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
