//! `catalogue`, and what the files that it names say, as the plain data of `identify`. And the `[verify]` table: how the
//! gateway finds out whether a client is the crawler it says it is.
//!
//! The bundled files are `rules/crawlers.toml` and `rules/words.toml`. An operator's own file has the form of both;
//! it adds crawlers and words, or changes the fields it writes of the crawlers it names. Unknown keys are refused, and every error of a file is reported at
//! once, with its line and column. Not here: recognition (`identify`).

mod card;
mod entry;

pub use card::{CARDS, CardFields, LARGEST_CARD, is_as_read, parse as parse_card};

use super::faults::{ConfigError, Faults, without_user_info};
use super::values::{DurationValue, Ed25519Value, seconds, text_or_table, web_url, written};
use crate::identify::RecognitionData;
use crate::request::address::is_near;
use entry::{CatalogueFile, Merger};
use serde::Deserialize;
use smart_default::SmartDefault;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What this version of the gateway ships with.
const BUNDLED: [(&str, &str); 2] = [
    ("rules/crawlers.toml", include_str!("../../rules/crawlers.toml")),
    ("rules/words.toml", include_str!("../../rules/words.toml")),
];

/// The crawlers and words this version of the gateway ships with. The tests hold that they have no fault.
pub fn bundled() -> RecognitionData {
    let extended = |known, (path, text): (&str, &str)| extend(known, text, Path::new(path), None);
    BUNDLED.into_iter().try_fold(RecognitionData::default(), extended).unwrap_or_default()
}

/// What is known, with what a file of crawlers, control tokens and words adds and changes: `text`, read from `path`. An
/// operator's own comes with the state folder, in which cards of agents lie.
///
/// # Errors
/// Every error of the file, in order.
pub fn extend(
    mut known: RecognitionData,
    text: &str,
    path: &Path,
    state_dir: Option<&Path>,
) -> Result<RecognitionData, Vec<ConfigError>> {
    let mut faults = Faults::new(path, text);
    let CatalogueFile { crawler, control, words } = faults.read();
    let mut merger = Merger { faults: &mut faults, own: state_dir };
    // First, because no crawler may have one of them for a token.
    Merger::control(control, &mut known.catalogue);
    merger.crawlers(crawler, &mut known.catalogue);
    merger.words(words, &mut known.words);
    faults.finish(known)
}

/// Catalogues beside the bundled one.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(remote = "CatalogueConfig", deny_unknown_fields, default)]
pub struct CatalogueConfig {
    /// A file of the operator's own.
    pub file: Option<PathBuf>,
    /// Where one is published; its signature is at the same place with `.sig` behind it.
    pub url: Option<String>,
    /// The Ed25519 key that has to have signed that one.
    pub public_key: Option<Ed25519Value>,
    /// How often it is fetched.
    #[default(seconds::<86_400>())]
    pub every: DurationValue,
}

text_or_table!(
    CatalogueConfig,
    "the path of a file, or a table such as { url = \"https://…\", public_key = \"…\" }",
    |file| ("file", file)
);

impl CatalogueConfig {
    pub(super) fn check(&self, faults: &mut Faults<'_>) {
        let url = self.url.as_deref();
        let is_whole = url.is_some() == self.public_key.is_some()
            || (faults.has("catalogue.url") && faults.has("catalogue.public_key"));
        let message = "`url` and `public_key` of `catalogue` go together: what is fetched has to be signed";
        faults.require(is_whole, "catalogue", message, "write both, or neither");
        let expected = "that of a file, such as `https://example.org/crawlers.toml`";
        if let Some(message) = url.and_then(|url| check_fetched_url(url, expected).err()) {
            faults.push("catalogue.url", message, "whoever publishes the catalogue names it");
        }
    }
}

/// How the names of crawlers are verified.
#[derive(Clone, Debug, PartialEq, Eq, SmartDefault, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct VerifyOptions {
    /// Whether name servers are asked for the names of addresses.
    #[default(true)]
    pub dns: bool,
    /// Which ones; none for those of the system.
    pub resolvers: Vec<ResolverValue>,
    /// How long one question may take.
    // No request waits for it, so it may be long enough for a resolver that has to ask its way down from the root.
    #[default(seconds::<2>())]
    pub timeout: DurationValue,
    /// How long it is remembered that an address belongs to a crawler.
    // Operators move addresses over days; half a day spares the name servers without outliving many a move.
    #[default(seconds::<{ 12 * 3_600 }>())]
    pub cache: DurationValue,
    /// How long it is remembered that it does not.
    // Short, because this is the answer that accuses: a name that was entered late is believed within the hour.
    #[default(seconds::<3_600>())]
    pub cache_negative: DurationValue,
    /// How often published ranges are fetched; `None` leaves that to `gatewayctl crawlers refresh`.
    pub refresh: RefreshValue,
    /// URL of a folder that holds the lists, in place of their publishers; ends with `/`.
    pub mirror: Option<MirrorValue>,
    /// PEM file of the certificates that publishers, or the mirror, are believed by in place of the
    /// built-in ones.
    pub ca: Option<PathBuf>,
    /// Lists of the operator's own, by the crawler's name.
    pub ranges: BTreeMap<String, Vec<PathBuf>>,
}

/// The name servers that are asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameServers {
    /// Their addresses; none for those of the system.
    pub addresses: Vec<SocketAddr>,
    /// How long one question may take.
    pub timeout: Duration,
}

impl VerifyOptions {
    /// Whom to ask for the names of addresses; `None` asks nobody.
    pub fn name_servers(&self) -> Option<NameServers> {
        let addresses = self.resolvers.iter().map(|resolver| **resolver).collect();
        self.dns.then_some(NameServers { addresses, timeout: *self.timeout })
    }
}

/// The URL of a folder that holds copies of published lists, ending with `/`.
///
/// # Errors
/// What is wrong with it. Lists prove who a client is, so plain HTTP will do only where nobody can stand
/// between: to the machine itself and to private addresses.
pub fn mirror_folder(url: &str) -> Result<String, String> {
    check_fetched_url(url, "the URL of a folder, such as `https://mirror.example/lists/`")?;
    Ok(format!("{}/", url.trim_end_matches('/')))
}

/// Whether something may be fetched from a URL.
fn check_fetched_url(url: &str, expected: &str) -> Result<(), String> {
    let shown = without_user_info(url);
    let parsed = web_url(url).filter(|_| !url.contains(['?', '#', '@']));
    let parsed = parsed.ok_or_else(|| format!("invalid URL `{shown}`: expected {expected}"))?;
    // This machine, or one with a private address.
    let host = parsed.host_str().unwrap_or_default().trim_matches(['[', ']']);
    if parsed.scheme() == "http" && host != "localhost" && !host.parse().is_ok_and(is_near) {
        return Err(format!("`{shown}` is plain HTTP, which anybody on the way could change: use https"));
    }
    Ok(())
}

written! {
    /// A folder that holds the lists.
    pub MirrorValue(String) = mirror_folder;

    /// A name server: `"192.0.2.53:53"`, or an address alone for port 53.
    pub ResolverValue(SocketAddr) = |text| {
        let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53));
        let expected = "expected an IP address and a port, such as `127.0.0.1:53`";
        text.parse().or_else(|_| alone()).map_err(|_| format!("invalid name server `{text}`: {expected}"))
    };

    /// How often to fetch: `"24h"`, or `"off"`.
    #[derive(Copy, Default)]
    pub RefreshValue(Option<Duration>) = |text| {
        if text == "off" { Ok(None) } else { text.parse().map(|DurationValue(every)| Some(every)) }
    };
}

#[cfg(test)]
mod tests {
    use super::super::{Arguments, Config};
    use super::*;
    use crate::identify::{ClientKind, Mark, Purpose};

    /// What is bundled with an operator's own file.
    pub(super) fn merge(
        text: &str,
        path: &Path,
        state_dir: &Path,
    ) -> Result<RecognitionData, Vec<ConfigError>> {
        extend(bundled(), text, path, Some(state_dir))
    }

    fn refused(text: &str) -> Vec<String> {
        let errors = merge(text, Path::new("own.toml"), Path::new("")).unwrap_err();
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_bundled_files_have_no_error() {
        let mut knowledge = RecognitionData::default();
        for (path, text) in BUNDLED {
            knowledge = extend(knowledge, text, Path::new(path), None).unwrap();
        }
        assert_eq!(knowledge, bundled());
        assert!(knowledge.catalogue.crawlers().len() >= 300);
        for list in Mark::LISTS.iter().copied() {
            assert!(knowledge.words.of(list).count() >= 5, "{list:?}");
        }
    }

    #[test]
    fn an_own_file_adds_and_changes() {
        let text = "[[crawler]]\nname = \"OurProbe\"\nclient = \"monitor\"\n\
                    [[crawler]]\nname = \"gptbot\"\npurpose = \"other\"\n\
                    [words]\nguards = [\"robotics-browser\", \"all qute\"]\n";
        let knowledge = merge(text, Path::new("own.toml"), Path::new("")).unwrap();
        let probe = knowledge.catalogue.get("OurProbe").unwrap();
        assert_eq!((probe.client, probe.star, probe.signs.len()), (ClientKind::Monitor, false, 1));
        let gptbot = knowledge.catalogue.get("GPTBot").unwrap();
        assert_eq!(gptbot.purpose, Purpose::Other);
        assert_eq!(&*gptbot.tokens, [Box::from("GPTBot")]);
        for list in [Mark::Guards, Mark::WholeGuards] {
            assert_eq!(knowledge.words.of(list).count(), bundled().words.of(list).count() + 1);
        }
    }

    #[test]
    fn every_error_is_reported_with_its_place() {
        let errors = refused(
            "[[crawler]]\nname = \"A1\"\nclient = \"human\"\ntokns = []\n\n[[crawler]]\nclient = \"tool\"\nsigns = [\"x\", 7]\n",
        );
        assert_eq!(errors.len(), 5, "{errors:#?}");
        assert!(
            errors[0].starts_with("own.toml:3:10: ") && errors[0].contains("`special-case`"),
            "{}",
            errors[0]
        );
        assert!(
            errors[1].starts_with("own.toml:4:1: unknown key `tokns`; did you mean `tokens`"),
            "{}",
            errors[1]
        );
        assert!(
            errors.iter().any(|e| e.starts_with("own.toml:6:1: ") && e.contains("`name`")),
            "{errors:#?}"
        );
        assert!(errors.iter().any(|e| e.starts_with("own.toml:8:10: ")), "{errors:#?}");
        assert!(errors.iter().any(|e| e.starts_with("own.toml:8:15: ")), "{errors:#?}");
    }

    #[test]
    fn a_broken_file_is_refused_whole() {
        assert!(refused("[[crawler]]\nname = \n")[0].starts_with("own.toml:2:"));
        assert!(refused("[words]\nguards = 1")[0].starts_with("own.toml:2:10: "));
        assert!(refused("[words]\nhuman_words = []")[0].contains("`human_words` is a key no more"));
        assert!(refused("crawlers = []")[0].contains("unknown key `crawlers`"));
        assert!(
            refused("[[crawler]]\nname = \"X9\"\nsigns = [\"GPTBot\"]")[0]
                .contains("already belongs to `GPTBot`")
        );
        assert!(refused("[[crawler]]\nname = \"X9\"\nclient = \"monitor\"\nstar = true")[0].contains("`*`"));
    }

    #[test]
    fn what_would_convict_people_is_refused_at_its_place() {
        for (text, place) in [
            ("[[crawler]]\nname = \"Chrome\"\n", "own.toml:2:8: "),
            ("[[crawler]]\nname = \"X9\"\nsigns = [\"X9\", \"*Safari*\"]\n", "own.toml:3:16: "),
            ("[[crawler]]\nname = \"GPTBot\"\nsigns = [\"Mozilla\"]\n", "own.toml:3:10: "),
            ("[words]\ncrawler_signs = [\"*Gecko\"]\n", "own.toml:2:18: "),
            ("[words]\ntool_signs = [\"*tools*\", \"Mobile\"]\n", "own.toml:2:26: "),
        ] {
            let errors = refused(text);
            assert_eq!(errors.len(), 1, "{errors:#?}");
            assert!(errors[0].starts_with(place) && errors[0].contains("hint: "), "{}", errors[0]);
            assert!(errors[0].contains("would take people's browsers"), "{}", errors[0]);
        }
        for harmless in [
            "[[crawler]]\nname = \"Our Chrome\"\nclient = \"app\"\nsigns = [\"Chrome/1.2\"]\n",
            "[words]\ndesktops = [\"Windows\"]\n",
        ] {
            assert!(merge(harmless, Path::new("own.toml"), Path::new("")).is_ok(), "{harmless}");
        }
    }

    fn load(table: &str) -> Result<VerifyOptions, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gateway.toml");
        let text = format!("[verify]\n{table}\n[[sites]]\norigin = \"http://127.0.0.1:3000\"\n");
        std::fs::write(&path, text).unwrap();
        let arguments = Arguments { config: Some(path), ..Arguments::default() };
        Config::load(&arguments).map(|config| config.verify).map_err(|errors| errors.to_string())
    }

    #[test]
    fn every_default_is_filled_in() {
        let options = load("").unwrap();
        assert_eq!(
            options.name_servers(),
            Some(NameServers { addresses: vec![], timeout: Duration::from_secs(2) })
        );
        assert_eq!((*options.refresh, options.mirror), (None, None));
        assert_eq!(load("dns = false").unwrap().name_servers(), None);
    }

    #[test]
    fn good_values() {
        let options = load(
            "resolvers = [\"127.0.0.1:5353\", \"::1\"]\nrefresh = \"24h\"\nmirror = \"http://127.0.0.1:9/x\"\n\
             ranges = { OurBot = [\"ours.txt\"] }",
        )
        .unwrap();
        let servers = options.name_servers().unwrap().addresses;
        assert_eq!(servers, ["127.0.0.1:5353".parse().unwrap(), "[::1]:53".parse().unwrap()]);
        assert_eq!(*options.refresh, Some(Duration::from_secs(86_400)));
        assert_eq!(options.mirror.unwrap().0, "http://127.0.0.1:9/x/");
        assert!(options.ranges["OurBot"][0].is_absolute());
    }

    #[test]
    fn plain_http_is_for_neighbours() {
        for near in
            ["localhost:8080/x", "127.0.0.1", "10.1.2.3/lists", "[::1]:9", "[fd00::1]/x", "192.168.0.1:80"]
        {
            assert!(mirror_folder(&format!("http://{near}")).is_ok(), "{near}");
        }
        for far in ["localhost.example", "127.0.0.1.example/x", "11.0.0.1", "[2001:db8::1]", "mirror"] {
            assert!(mirror_folder(&format!("http://{far}")).is_err(), "{far}");
            assert!(mirror_folder(&format!("https://{far}")).is_ok(), "{far}");
        }
    }

    #[test]
    fn bad_values_are_named_with_their_place() {
        for (table, expected) in [
            ("resolvers = [\"localhost\"]", "gateway.toml:2:14: invalid name server `localhost`"),
            ("refresh = \"59m\"", "gateway.toml:2:11: `refresh` is out of range"),
            ("refresh = \"daily\"", "gateway.toml:2:11: invalid duration `daily`: expected a number"),
            ("timeout = \"0s\"", "gateway.toml:2:11: `timeout` is out of range"),
            ("timeout = \"2d\"", "gateway.toml:2:11: `timeout` is out of range"),
            ("mirror = \"ftp://x/\"", "gateway.toml:2:10: invalid URL `ftp://x/`"),
            (
                "mirror = \"http://mirror.example/\"",
                "gateway.toml:2:10: `http://mirror.example/` is plain HTTP",
            ),
            ("mirror = \"http://192.0.2.1/\"", "is plain HTTP"),
            ("mirror = \"http://127.0.0.1@mirror.example/\"", "invalid URL"),
            ("nonces = 0", "gateway.toml:2:1: `nonces` is a key no more; remove it"),
            ("resolver = []", "gateway.toml:2:1: unknown key `resolver`; did you mean `resolvers`?"),
        ] {
            let error = load(table).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
