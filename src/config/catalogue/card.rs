//! A signature agent card (draft-meunier-webbotauth-registry): what an agent says of itself, at a URL that its entry names.
//!
//! What it says fills in what an entry leaves open; what is written there, or known, of a person's making goes first. Cards
//! lie where they were fetched to, and are read like the entry.

use crate::config::ranges::file_name;
use crate::config::reading;
use crate::identify::{Card, ClientKind, Purpose, token_is_legal};
use crate::record::digest;
use serde_json::{Map, Value};
use std::path::Path;
use url::Url;

/// More than any card has, in bytes.
pub const LARGEST_CARD: u64 = 64 * 1024;

/// The folder of fetched cards, in the state folder.
pub const CARDS: &str = "cards";

/// What a card says, as far as a catalogue has room for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CardFields {
    pub(super) token: Option<Box<str>>,
    pub(super) client: Option<ClientKind>,
    pub(super) purpose: Option<Purpose>,
    pub(super) ranges: Vec<Box<str>>,
    rate_expectation: Option<Box<str>>,
}

/// How many lists of addresses of a card are fetched.
const MOST_LISTS: usize = 4;

/// Reads a card. Words that nobody here knows say nothing.
///
/// # Errors
/// What is wrong with it: it is no JSON object, or a field is of another type.
pub fn parse(bytes: &[u8]) -> Result<CardFields, String> {
    let file: Map<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| format!("no card of an agent: {error}"))?;
    // In an object of its own since version 03 of the draft, before that in the card itself.
    let card = file.get("web_bot_auth").and_then(Value::as_object).unwrap_or(&file);
    let text = |name: &str| match card.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(&**text)),
        Some(_) => Err(format!("the card of an agent: expected a text as `{name}`")),
    };
    let uris = match card.get("ips_uri") {
        Some(Value::Array(uris)) => uris.iter().filter_map(Value::as_str).collect(),
        _ => text("ips_uri")?.into_iter().collect::<Vec<_>>(),
    };
    let is_plain = |text: &&str| text.len() <= 200 && text.bytes().all(|byte| byte.is_ascii_graphic());
    let is_list = |uri: &&str| uri.starts_with("https://") && is_plain(uri);
    let (trigger, kinds) = (text("trigger")?, [ClientKind::Fetcher, ClientKind::Crawler]);
    Ok(CardFields {
        token: text("rfc9309-product-token")?.filter(|token| token_is_legal(token)).map(Into::into),
        client: kinds.into_iter().find(|kind| trigger == Some(kind.as_str())),
        purpose: text("purpose")?.and_then(|purpose| purpose.parse().ok()),
        ranges: uris.into_iter().filter(is_list).take(MOST_LISTS).map(Into::into).collect(),
        rate_expectation: text("rate-expectation")?.filter(is_plain).map(Into::into),
    })
}

/// The card of this URL as it was fetched, and what it says.
pub(super) fn read(state_dir: &Path, url: &str) -> (Card, CardFields) {
    let path = state_dir.join(CARDS).join(file_name(url));
    let bytes = reading::read(&path, LARGEST_CARD).ok().map(|read| read.bytes);
    let digest = bytes.as_deref().map(digest);
    let read = bytes.as_deref().map_or_else(|| Ok(CardFields::default()), parse);
    let error = read.as_ref().err().map(|error| error.as_str().into());
    let mut said = read.unwrap_or_default();
    // A stranger does not choose whom the gateway asks.
    said.ranges.retain(|list| is_below(list, url));
    let rate_expectation = said.rate_expectation.take();
    (Card { url: url.into(), path, digest, error, fields: Vec::new(), rate_expectation }, said)
}

/// Whether a list is on the host of the card, or on one below it.
fn is_below(list: &str, card: &str) -> bool {
    let host = |url: &str| Some(Url::parse(url).ok()?.host_str()?.to_owned());
    let (Some(list), Some(card)) = (host(list), host(card)) else { return false };
    list == card || list.strip_suffix(&card).is_some_and(|name| name.ends_with('.'))
}

/// Whether the card that lies there is the one that was read.
pub fn is_as_read(card: &Card) -> bool {
    let bytes = reading::read(&card.path, LARGEST_CARD).ok().map(|read| read.bytes);
    card.digest.as_deref() == bytes.as_deref().map(digest).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_unknown_words_say_nothing() {
        let fields = r#""rfc9309-product-token": "ExampleBot", "trigger": "fetcher", "purpose": "ai-user",
            "rate-expectation": "avg=10rps;max=100rps", "ips_uri": "https://a.example/ips.json", "new": [1]"#;
        let flat = parse(format!("{{{fields}}}").as_bytes()).unwrap();
        assert_eq!(
            flat,
            parse(format!("{{\"client_name\": \"A\", \"web_bot_auth\": {{{fields}}}}}").as_bytes()).unwrap()
        );
        assert_eq!((flat.token.as_deref(), flat.client), (Some("ExampleBot"), Some(ClientKind::Fetcher)));
        assert_eq!(
            (flat.purpose, &*flat.ranges),
            (Some(Purpose::AiUser), &[Box::from("https://a.example/ips.json")][..])
        );
        let odd = r#"{"rfc9309-product-token": "Bot/1", "trigger": "browser", "purpose": "tdm", "ips_uri": ["http://a.example/"]}"#;
        assert_eq!(parse(odd.as_bytes()), Ok(CardFields::default()));
        for bad in ["", "[]", "{\"trigger\": 1}", "<html>"] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
