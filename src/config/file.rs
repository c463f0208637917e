//! The configuration file as it is written: every table refuses keys it does not know.
//!
//! Private to `config`. Nothing past it sees a raw value; [`super::build`] turns this into [`super::Config`].

use super::alerts::AlertsConfig;
use super::authorize::AuthorizeConfig;
use super::error::ConfigError;
use super::fleet::FleetTable;
use super::limits::{ConnectionLimits, Timeouts};
use super::listener::{CertificateTable, ListenerConfig};
use super::modes::CrawlerTable;
use super::public::PublicConfig;
use super::site::SiteTable;
use super::values::{AdminValue, DurationValue, ListenValue, NetworkValue, RateValue, SizeValue};
use super::verify::VerifyTable;
use crate::enforce::{ClientModes, Mode};
use crate::identify::nearest_first;
use crate::record::{AccessFormat, AddressDetail, LogOptions};
use crate::request::forwarded::ForwardedField;
use crate::robots::nearest;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ConfigFile {
    pub(super) listen: Option<Vec<ListenValue>>,
    pub(super) listeners: Vec<ListenerConfig>,
    pub(super) certificates: Vec<CertificateTable>,
    pub(super) authorize: Option<AuthorizeConfig>,
    pub(super) alerts: Option<AlertsConfig>,
    pub(super) public: Option<PublicConfig>,
    pub(super) fleet: Option<FleetTable>,
    pub(super) mode: Option<Mode>,
    pub(super) notice: Option<DurationValue>,
    pub(super) settle: Option<DurationValue>,
    pub(super) state_dir: Option<PathBuf>,
    pub(super) control: Option<PathBuf>,
    pub(super) journal: Option<String>,
    pub(super) journal_max_size: Option<SizeValue>,
    pub(super) journal_keep: Option<usize>,
    pub(super) journal_rate: Option<RateValue>,
    pub(super) retention: Option<DurationValue>,
    pub(super) store_max_size: Option<SizeValue>,
    pub(super) admin: Option<AdminValue>,
    pub(super) admin_token: Option<String>,
    pub(super) threads: Option<usize>,
    pub(super) trusted_proxies: Vec<NetworkValue>,
    #[serde(with = "ForwardedFieldForm")]
    pub(super) forwarded_header: ForwardedField,
    pub(super) remove_fields: Vec<Spanned<String>>,
    pub(super) keep_fields: Vec<Spanned<String>>,
    pub(super) via: Option<bool>,
    pub(super) content_usage: bool,
    pub(super) access_log: Option<String>,
    pub(super) access_log_format: AccessFormat,
    pub(super) exempt: Vec<NetworkValue>,
    pub(super) addresses: AddressDetail,
    pub(super) log_allowed: bool,
    pub(super) verdict_headers: bool,
    pub(super) robots_max_age: Option<DurationValue>,
    pub(super) robots_max_size: Option<SizeValue>,
    pub(super) catalogue: Option<PathBuf>,
    pub(super) grace: Option<DurationValue>,
    pub(super) log: LogOptions,
    pub(super) timeouts: Timeouts,
    pub(super) limits: ConnectionLimits,
    pub(super) verify: VerifyTable,
    pub(super) clients: ClientModes,
    pub(super) purposes: BTreeMap<String, Spanned<CrawlerTable>>,
    pub(super) crawlers: BTreeMap<String, Spanned<CrawlerTable>>,
    pub(super) sites: Vec<Spanned<SiteTable>>,
}

/// As the file writes them; the layer of requests reads no formats.
#[derive(Deserialize)]
#[serde(remote = "ForwardedField", rename_all = "kebab-case")]
enum ForwardedFieldForm {
    XForwardedFor,
    Forwarded,
}

impl ConfigFile {
    /// Parses the text of a configuration file.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        toml::from_str(text).map_err(|error| {
            let message = join_lines(error.message());
            let header = error.span().and_then(|span| single_bracket(text.get(span.start..)?));
            let message = match header {
                Some(name) if message.starts_with("invalid type: map, expected a sequence") => {
                    format!("invalid table `[{name}]`: expected `[[{name}]]`, because there may be several")
                }
                _ => explain_unknown_key(&message),
            };
            ConfigError::at(path, text, error.span(), message)
        })
    }
}

/// Keys that there are no more, and what has become of them.
const REMOVED: [(&str, &str); 2] = [
    (
        "published",
        "remove it: what the gateway serves is enforced from the first request on, and what was served before it excuses \
         nobody from that; it only keeps violations from being counted until `notice` is over",
    ),
    ("nonces", "remove it: a signature is bound to a host and a time, and counts each time that it comes"),
];

/// The parser's message in the words of this configuration, where it is about a key that nobody knows.
fn explain_unknown_key(message: &str) -> String {
    let unknown = message.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected "));
    let Some((key, expected)) = unknown else { return message.to_owned() };
    if let Some((_, fate)) = REMOVED.iter().find(|(removed, _)| *removed == key) {
        return format!("`{key}` is a key no more; {fate}");
    }
    let known = || expected.split('`').skip(1).step_by(2);
    if let Some(meant) = nearest(key, known()) {
        return format!("unknown key `{key}`; did you mean `{meant}`?");
    }
    if is_of_whole_file(key) {
        return format!(
            "`{key}` is a key of the whole file: write it above the first table, which begins with `[`"
        );
    }
    format!("unknown key `{key}`; the keys here are {}", nearest_first(key, known()))
}

/// The name in `[name]`.
fn single_bracket(text: &str) -> Option<&str> {
    text.strip_prefix('[')?.split_once(']').map(|(name, _)| name).filter(|name| !name.starts_with('['))
}

/// Whether `key` stands outside of all tables, as what is read there says itself.
fn is_of_whole_file(key: &str) -> bool {
    let error = toml::from_str::<ConfigFile>("unknown-key = 1").map(drop).err();
    error.is_some_and(|error| error.message().contains(&format!("`{key}`")))
}

/// `toml` words some messages over two lines; an operator's log has one.
fn join_lines(message: &str) -> String {
    message.lines().map(str::trim).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        ConfigFile::parse(Path::new("gateway.toml"), text).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_named_with_its_place() {
        let message = fault("mode = \"audit\"\nlisten_on = []\n");
        assert!(
            message.starts_with("gateway.toml:2:1: unknown key `listen_on`; did you mean `listen`?"),
            "{message}"
        );
    }

    #[test]
    fn a_key_that_resembles_none_is_told_which_there_are() {
        let site = "[[sites]]\norigin = \"http://127.0.0.1:9\"\n";
        assert!(
            fault(&format!("{site}refusals = {{}}"))
                .ends_with(":3:1: unknown key `refusals`; did you mean `refusal`?")
        );
        let message = fault(&format!("{site}exempt = []"));
        assert!(message.contains(":3:1: `exempt` is a key of the whole file: write it above"), "{message}");
        let message = fault("[sites]\norigin = \"http://127.0.0.1:9\"\n");
        assert!(message.contains(":1:1: invalid table `[sites]`: expected `[[sites]]`"), "{message}");
        let message = fault(&format!("{site}[sites.refusal]\nxyzzy = 1"));
        assert!(
            message
                .ends_with(":4:1: unknown key `xyzzy`; the keys here are `retry_after`, `status`, `contact`"),
            "{message}"
        );
    }

    #[test]
    fn a_wrong_type_or_value_is_named_with_its_place() {
        assert!(
            fault("threads = \"two\"").starts_with("gateway.toml:1:11: invalid type"),
            "{}",
            fault("threads = \"two\"")
        );
        let message = fault("\nnotice = \"soon\"");
        assert!(
            message.starts_with("gateway.toml:2:10: invalid duration `soon`: expected a number"),
            "{message}"
        );
        assert!(fault("[clients]\nbrowser = \"audit\"").contains("unknown key `browser`"));
    }

    #[test]
    fn an_empty_file_is_a_file() {
        assert!(ConfigFile::parse(Path::new("gateway.toml"), "").is_ok());
    }

    #[test]
    fn a_key_that_is_gone_is_told_with_what_has_become_of_it() {
        let told =
            fault("[[sites]]\norigin = \"http://127.0.0.1:9\"\npublished = { version = \"0123456789ab\" }\n");
        assert!(
            told.contains("gateway.toml:3:1") && told.contains("`published` is a key no more; remove it"),
            "{told}"
        );
    }
}
