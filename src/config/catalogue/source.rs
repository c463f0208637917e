//! `catalogue`: where an operator's own crawlers are, and those that somebody publishes.

use crate::config::faults::Faults;
use crate::config::values::{DurationValue, Ed25519Value, TableOrText, WrittenAs};
use crate::config::verify::check_fetched_url;
use serde::Deserialize;
use smart_default::SmartDefault;
use std::path::PathBuf;
use std::time::Duration;

/// Catalogues beside the bundled one.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CatalogueConfig {
    /// A file of the operator's own.
    pub file: Option<PathBuf>,
    /// Where one is published; its signature is at the same place with `.sig` behind it.
    pub url: Option<String>,
    /// The Ed25519 key that has to have signed that one.
    #[serde(with = "WrittenAs::<Ed25519Value>")]
    pub public_key: Option<[u8; 32]>,
    /// How often it is fetched.
    #[serde(with = "WrittenAs::<DurationValue>")]
    #[default(Duration::from_secs(86_400))]
    pub every: Duration,
}

impl TableOrText for CatalogueConfig {
    const WANTED: &'static str =
        "the path of a file, or a table such as { url = \"https://…\", public_key = \"…\" }";

    fn of_text(file: &str) -> Result<Self, String> {
        Ok(Self { file: Some(file.into()), ..Self::default() })
    }
}

impl CatalogueConfig {
    /// Where a catalogue is published, and the key that has to have signed it.
    pub fn published(&self) -> Option<(&str, [u8; 32])> {
        self.url.as_deref().zip(self.public_key)
    }

    pub(in crate::config) fn check(&self, faults: &mut Faults<'_>) {
        let (url, key) = (self.url.as_deref(), self.public_key);
        let is_whole = url.is_some() == key.is_some()
            || (faults.has("catalogue.url") && faults.has("catalogue.public_key"));
        let message = "`url` and `public_key` of `catalogue` go together: what is fetched has to be signed";
        faults.require(is_whole, "catalogue", message, "write both, or neither");
        if let Some(Err(message)) = url
            .map(|url| check_fetched_url(url, "that of a file, such as `https://example.org/crawlers.toml`"))
        {
            faults.push_at(Some("catalogue.url"), message, "whoever publishes the catalogue names it");
        }
    }
}
