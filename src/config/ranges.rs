//! Files of address ranges, as operators of crawlers publish them → networks.
//!
//! JSON in the shapes in use, plain lists of addresses and networks with comments, and CSV as RFC 8805
//! has it, whose first column counts. The shape is told by the first byte, not by the name. Not here:
//! where the files lie, how old they may be and what they prove (`policy::proof`).

mod json;

use super::error::{ConfigError, text_of};
use crate::record::digest;
use crate::request::address::Network;
use crate::request::prefixes::Prefixes;
use std::collections::HashMap;
use std::path::Path;
use std::time::SystemTime;

/// More networks than anybody crawls from; a file with more is not what it was taken for.
const MOST_NETWORKS: usize = 200_000;

/// The longest name made of a URL without shortening it, in bytes.
const LONGEST_NAME: usize = 120;

/// What a file of ranges says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeFile {
    /// The networks, at least one. A single address is a network of its own.
    pub networks: Prefixes,
    /// For which services of its publisher a network is, where the list says so (draft-illyes-webbotauth-jafar).
    pub services: HashMap<Network, Vec<Box<str>>>,
    /// When the publisher made the list, where the file tells.
    pub created: Option<SystemTime>,
}

/// Reads a file of ranges.
///
/// # Errors
/// The first thing that is wrong, with line and column. A file without any network is wrong: it would
/// turn every true crawler into a false one.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<RangeFile, ConfigError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let (text, page) = (text_of(path, bytes, "list")?, "a web page, and no list of address ranges");
    let file = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => json::parse(path, text)?,
        Some(b'<') => return Err(ConfigError::at(path, text, Some(0..0), page)),
        _ => RangeFile { networks: lines(path, text)?, ..RangeFile::default() },
    };
    match file.networks.len() {
        0 => Err(ConfigError::whole(path, "no address range in the list")),
        1..=MOST_NETWORKS => Ok(file),
        _ => Err(ConfigError::whole(path, format!("more than {MOST_NETWORKS} address ranges"))),
    }
}

/// One network for each line; what follows `#` or `;` is a comment, what follows a comma another column.
fn lines(path: &Path, text: &str) -> Result<Prefixes, ConfigError> {
    let mut networks = Prefixes::default();
    let mut header_allowed = true;
    for (number, line) in (1..).zip(text.lines()) {
        let content = line.split(['#', ';']).next().unwrap_or_default();
        let column = content.split(',').next().unwrap_or_default();
        let written = column.trim().trim_matches('"');
        if written.is_empty() {
            continue;
        }
        match network(written) {
            Ok(network) => networks.extend([network]),
            // A CSV may open with the names of its columns.
            Err(_) if header_allowed && content.contains(',') && !written.contains(['.', ':', '/']) => {}
            Err(message) => {
                let column = column.chars().take_while(|symbol| symbol.is_whitespace()).count() + 1;
                let (line, column) = (Some(number), Some(column));
                return Err(ConfigError { line, column, ..ConfigError::whole(path, message) });
            }
        }
        header_allowed = false;
    }
    Ok(networks)
}

/// A network, or an address as a network of its own. One that covers a large part of the internet can only
/// be a slip, and would confirm everybody.
fn network(written: &str) -> Result<Network, String> {
    let network: Network = written.parse().map_err(|_| {
        let shown: String = written.chars().take(60).map(|c| if c.is_control() { '?' } else { c }).collect();
        format!(
            "invalid address range `{shown}`: expected a network such as `192.0.2.0/24` or `2001:db8::/32`"
        )
    })?;
    let least = if network.address().is_ipv4() { 8 } else { 16 };
    if network.prefix() < least {
        return Err(format!("`{network}` covers a large part of the internet"));
    }
    Ok(network)
}

/// Whether a version of the shape of JSON, or of its media type, means what is read here. A higher one than 1 may mean
/// something else by the same words.
pub fn is_understood(version: &str) -> bool {
    version.split('.').next().and_then(|major| major.parse::<u64>().ok()).is_some_and(|major| major <= 1)
}

/// The name of the file in which the list at `url` is kept.
///
/// It is the URL without its scheme, each `/` made `_`. Where other characters had to be replaced, or the
/// name cut, eight hex digits of the URL's SHA-256 keep it apart from others:
/// `https://openai.com/gptbot.json` is kept in `openai.com_gptbot.json`.
pub fn file_name(url: &str) -> String {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || matches!(symbol, '.' | '-');
    let name: String = bare.chars().map(|c| if plain(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    if name.len() == bare.len() && bare.chars().all(|c| plain(c) || c == '/') {
        return name;
    }
    format!("{name}-{}", digest(bare.as_bytes()).get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let file = parse(Path::new("list"), text.as_bytes());
        file.map(|file| file.networks.networks().map(|network| network.to_string()).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn plain_lists_have_comments_blank_lines_and_both_families() {
        let list = "\u{feff}# robots\r\n\r\n192.0.2.7\r\n198.51.100.0/24 # more\n; odd\n  2001:db8::/32\n2001:db8::9";
        assert_eq!(
            read(list).unwrap(),
            ["192.0.2.7/32", "198.51.100.0/24", "2001:db8::/32", "2001:db8::9/128"]
        );
    }

    #[test]
    fn of_a_geofeed_the_first_column_counts() {
        let feed = "prefix,country,region,city,postal\n192.0.2.0/25,US,US-AL,,\n\"2001:db8::/48\",PL,,,\n";
        assert_eq!(read(feed).unwrap(), ["192.0.2.0/25", "2001:db8::/48"]);
    }

    #[test]
    fn a_fault_has_its_place() {
        for (text, expected) in [
            ("192.0.2.0/24\n\n  nonsense\n", "list:3:3: invalid address range `nonsense`"),
            ("192.0.2.0/24\nprefix,country\n", "list:2:1: invalid address range `prefix`"),
            ("prefix,country\nprefix,country\n", "list:2:1: invalid address range `prefix`"),
            ("192.0.2.0/33\n", "list:1:1: invalid address range `192.0.2.0/33`"),
            ("0.0.0.0/0\n", "list:1:1: `0.0.0.0/0` covers a large part of the internet"),
            ("192.0.2.0/24\n2000::/3\n", "list:2:1: `2000::/3` covers"),
            ("<!doctype html>\n", "list:1:1: a web page"),
            ("", "list: no address range"),
            ("# nothing\n", "list: no address range"),
            ("a,b\n", "list: no address range"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(expected), "{text:?}: {error}");
        }
        let error = parse(Path::new("list"), b"192.0.2.1\n\xff\n").unwrap_err();
        assert_eq!(error.to_string(), "list:2:1: the list is not UTF-8");
    }

    #[test]
    fn any_bytes_are_read_without_harm() {
        let mut state = 9_u32;
        for length in 0..400 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    b"{[\"1.:/,#}]x\n\xff"[(state >> 24) as usize % 14]
                })
                .collect();
            let _ = parse(Path::new("list"), &bytes);
        }
        let deep = "[".repeat(100_000);
        assert!(read(&deep).is_err());
        assert!(read(&format!("{{\"x\":{deep}")).is_err());
    }

    #[test]
    fn names_are_readable_and_differ() {
        assert_eq!(file_name("https://openai.com/gptbot.json"), "openai.com_gptbot.json");
        assert_eq!(file_name("https://my.pingdom.com/probes/ipv4"), "my.pingdom.com_probes_ipv4");
        let odd = file_name("https://a.example/x_y?z=1");
        assert!(
            odd.starts_with("a.example_x_y_z_1-") && odd.len() == "a.example_x_y_z_1-".len() + 8,
            "{odd}"
        );
        let urls = ["https://a.b/x_y", "https://a.b/x/y", "https://a.b/x?y", "https://a.b/x%y"];
        let names: HashSet<String> = urls.iter().map(|url| file_name(url)).collect();
        assert_eq!(names.len(), urls.len());
        let harmless = |name: &String| !name.contains(['/', '\0']) && !name.starts_with('.');
        assert!(names.iter().all(harmless), "{names:?}");
        assert!(file_name(&format!("https://a.b/{}", "x".repeat(4_000))).len() < 140);
    }
}
