//! The fields of a catalogue file as they are written: values that refuse a bad one while they are read.

use crate::config::HostPattern;
use crate::config::values::{web_url, written};
use crate::identify::signature::SignatureAgent;
use crate::identify::{
    ClientKind, Mark, Obeys, Purpose, Sign, TokenBasis, Verify, known_word, nearest_first, token_is_legal,
};
use jiff::civil::Date;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::ops::Deref;
use strum::VariantArray as _;

/// A file: crawlers, control tokens and words.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CatalogueFile {
    pub(super) crawler: Vec<CrawlerEntry>,
    pub(super) control: Vec<ControlEntry>,
    pub(super) words: BTreeMap<ListName, Vec<String>>,
}

/// A crawler. What is not written keeps its value.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrawlerEntry {
    pub(super) name: CrawlerName,
    pub(super) operator: Option<Box<str>>,
    pub(super) client: Option<NamedKind>,
    pub(super) purpose: Option<Purpose>,
    pub(super) signs: Option<Vec<WrittenSign>>,
    pub(super) framework: Option<bool>,
    pub(super) tokens: Option<Vec<ProductToken>>,
    pub(super) star: Option<bool>,
    pub(super) obeys: Option<Obeys>,
    pub(super) basis: Option<TokenBasis>,
    pub(super) docs: Option<WebUrl>,
    pub(super) checked: Option<Day>,
    #[serde(default, deserialize_with = "verify")]
    pub(super) verify: Option<Verify>,
    pub(super) shares_cache_with: Option<Vec<Box<str>>>,
    pub(super) signature_agent: Option<WrittenAgent>,
    pub(super) card: Option<WebUrl>,
}

/// How the address of a crawler is checked.
#[derive(Deserialize)]
#[serde(
    remote = "Verify",
    deny_unknown_fields,
    default = "unwritten",
    expecting = "a table: `{ rdns = [\".example.com\"], ranges = [\"https://…\"] }`"
)]
struct VerifyForm {
    #[serde(deserialize_with = "listed::<HostSuffix, _>")]
    rdns: Vec<Box<str>>,
    forward: bool,
    #[serde(deserialize_with = "listed::<WebUrl, _>")]
    ranges: Vec<Box<str>>,
    shared: bool,
    #[serde(skip)]
    agent: Option<SignatureAgent>,
}

fn unwritten() -> Verify {
    Verify { forward: true, ..Verify::default() }
}

fn verify<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Verify>, D::Error> {
    VerifyForm::deserialize(deserializer).map(Some)
}

fn listed<'de, V, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<V::Target>, D::Error>
where
    V: Deserialize<'de> + Deref<Target: Clone>,
{
    Ok(Vec::<V>::deserialize(deserializer)?.into_iter().map(|written| V::Target::clone(&written)).collect())
}

/// A token that governs use.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ControlEntry {
    pub(super) token: Box<str>,
    pub(super) operator: Option<Box<str>>,
    pub(super) purpose: Option<Purpose>,
    pub(super) governs: Box<str>,
    pub(super) docs: Option<WebUrl>,
}

written! {
    /// A name that reports can show.
    pub(super) CrawlerName(String) = |text| match text {
        _ if text.chars().any(char::is_control) => Err("a name holds no control characters".to_owned()),
        _ if text.trim().is_empty() => Err("a name is not empty".to_owned()),
        _ => Ok(text.to_owned()),
    };
    /// A kind of client. A browser, or nobody, is what remains when no entry says otherwise.
    pub(super) NamedKind(ClientKind) = |text| {
        let is_named = |kind: &ClientKind| kind.is_automated() || *kind == ClientKind::App;
        let kinds: Vec<_> = ClientKind::VARIANTS.iter().copied().filter(is_named).collect();
        known_word("value", text, &kinds).map_err(|unknown| unknown.to_string())
    };
    /// What gives a crawler away.
    pub(super) WrittenSign(Sign) = |text| Sign::parse(text).map_err(|error| format!("sign `{text}`: {error}"));
    /// A name by which robots.txt can call it.
    pub(super) ProductToken(Box<str>) = |text| {
        let wrong = "expected letters, digits, `-`, `_`, `.`, `!` and single spaces";
        if token_is_legal(text) { Ok(text.into()) } else { Err(format!("invalid product token `{text}`: {wrong}")) }
    };
    /// An address of the web.
    pub(super) WebUrl(Box<str>) = |text| {
        let url = web_url(text).filter(|url| url.domain().is_some_and(|host| host.contains('.')));
        url.map(|_| text.into()).ok_or_else(|| format!("invalid URL `{text}`: expected an http or https URL"))
    };

    /// The end of a host's name.
    pub(super) HostSuffix(Box<str>) = |text| {
        let is_end = text.strip_prefix('.').is_some_and(|domain| domain.contains('.') && !domain.contains('*'));
        if is_end && text.is_ascii() && !text.ends_with('.') && format!("*{text}").parse::<HostPattern>().is_ok() {
            return Ok(text.into());
        }
        Err(format!("invalid host suffix `{text}`: expected one such as `.example.com`"))
    };
    /// A date.
    pub(super) Day(Box<str>) = |text| {
        let date = text.parse::<Date>().map(|date| date.to_string().into());
        date.map_err(|_| format!("`{text}` is not a date as `2026-01-31`"))
    };
    /// A list of words, by its key.
    #[derive(PartialOrd, Ord)]
    pub(super) ListName(Mark) = |name| {
        let lists = Mark::LISTS.iter().map(<&str>::from);
        let found = Mark::LISTS.iter().copied().find(|list| <&str>::from(*list) == name);
        found.ok_or_else(|| format!("unknown field `{name}`, expected one of {}", nearest_first(name, lists)))
    };
    /// Where an agent publishes its keys; nowhere where the text is empty.
    pub(super) WrittenAgent(Option<SignatureAgent>) = |text| {
        let wrong = "expected an https origin, such as `https://agent.example`, or the https URL of a key set";
        match SignatureAgent::parse(text) {
            None if !text.is_empty() => Err(format!("invalid `signature_agent` `{text}`: {wrong}")),
            agent => Ok(agent),
        }
    };
}
