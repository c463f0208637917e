//! `conf/gateway.toml` loads as it stands, shows every key, and every default it shows is the default.
//!
//! Its convention: `#key = value` is a key with its default, `#~ …` an example of what is unset by default.

use crate::text;
use robots_gateway::config::{Arguments, Config};
use std::collections::BTreeSet;
use std::path::Path;

const SHIPPED: &str = "conf/gateway.toml";

/// The least that is a configuration, with what the shipped file sets.
const LEAST: &str = "[[sites]]\norigin = \"http://127.0.0.1:3000\"\nrobots = \"robots.txt\"\n";

/// Loads texts, all under one path, so that their configurations can be compared.
struct Loader(tempfile::TempDir);

impl Loader {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn load(&self, text: &str) -> Result<Config, String> {
        let path = self.0.path().join("gateway.toml");
        std::fs::write(&path, text).unwrap();
        let arguments = Arguments { config: Some(path), ..Arguments::default() };
        // How it is written makes no difference here.
        let config = Config::load(&arguments).map_err(|errors| errors.to_string())?;
        Ok(Config { written: toml::Table::new(), ..config })
    }

    fn defaults(&self) -> Config {
        self.load(LEAST).unwrap()
    }
}

/// A line `#key = value`: its key and value.
fn default_line(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.strip_prefix('#')?.split_once(" = ")?;
    let is_key = key.starts_with(|letter: char| letter.is_ascii_lowercase())
        && key.chars().all(|letter| letter.is_ascii_lowercase() || matches!(letter, '_' | '-' | '0'..='9'));
    is_key.then_some((key, value))
}

/// `text` with line `at` replaced.
fn with_line(text: &str, at: usize, line: &str) -> String {
    let lines = text.lines().enumerate().map(|(index, old)| if index == at { line } else { old });
    lines.fold(String::new(), |text, line| text + line + "\n")
}

fn defaults(text: &str) -> Vec<(usize, &str, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| default_line(line).map(|(key, value)| (at, key, value))).collect()
}

/// Runs of `#~` lines: the lines of each. A certificate belongs to the listener above it.
fn examples(text: &str) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| line.starts_with("#~ ")) {
        match runs.last_mut() {
            Some(run)
                if run.last() == Some(&(at - 1))
                    && (!line.starts_with("#~ [") || line == "#~ [[certificates]]") =>
            {
                run.push(at);
            }
            _ => runs.push(vec![at]),
        }
    }
    runs
}

/// The shipped file with every default and every example in force.
fn everything() -> String {
    let open = |line: &str| match line.strip_prefix("#~ ") {
        Some(example) => example.to_owned(),
        None if default_line(line).is_some() => line.trim_start_matches('#').to_owned(),
        None => line.to_owned(),
    };
    text(SHIPPED).lines().fold(String::new(), |text, line| text + &open(line) + "\n")
}

#[test]
fn as_it_stands_it_is_the_defaults() {
    let loader = Loader::new();
    assert_eq!(loader.load(&text(SHIPPED)), Ok(loader.defaults()));
}

#[test]
fn every_default_it_shows_is_the_default() {
    let (loader, shipped) = (Loader::new(), text(SHIPPED));
    let least = loader.defaults();
    let is_root_without_units =
        least.state_dir == Path::new("/var/lib/robots-gateway") && least.control.starts_with("/run");
    for (at, key, value) in defaults(&shipped) {
        if matches!(key, "state_dir" | "control") && !is_root_without_units {
            println!("skipped: {key} has another default for this user");
            continue;
        }
        let config = loader.load(&with_line(&shipped, at, &format!("{key} = {value}")));
        assert_eq!(config.as_ref(), Ok(&least), "{SHIPPED}:{}: {key}", at + 1);
    }
}

/// A good value of `key` that is not the one written.
fn another(key: &str, value: &str) -> String {
    let text = value.trim_matches('"');
    match key {
        "dns" => "false".to_owned(),
        "robots_tags" => "[{ rules = [\"noindex\"] }]".to_owned(),
        "resolvers" => "[\"192.0.2.53:53\"]".to_owned(),
        "refresh" => "\"24h\"".to_owned(),
        "contradicted" => "\"ignore\"".to_owned(),
        "variants" => "\"forward\"".to_owned(),
        "crawl_delay" => "\"enforce\"".to_owned(),
        "path_parameters" => "\"drop\"".to_owned(),
        "addresses" => "\"none\"".to_owned(),
        "format" => "\"json\"".to_owned(),
        "forwarded_header" => "\"forwarded\"".to_owned(),
        "listen" => "[\"127.0.0.2:80\"]".to_owned(),
        "admin" => "\"off\"".to_owned(),
        _ if text == "audit" => "\"enforce\"".to_owned(),
        _ if text == "true" => "false".to_owned(),
        _ if text == "false" => "true".to_owned(),
        _ if text == "[]" => "[\"192.0.2.0/24\"]".to_owned(),
        _ if value.starts_with('"') && text.starts_with(|digit: char| digit.is_ascii_digit()) => {
            format!("\"1{text}\"")
        }
        _ if value.starts_with('"') => format!("\"{text}.other\""),
        _ => (value.parse::<u32>().unwrap() + 1).to_string(),
    }
}

#[test]
fn every_key_it_shows_has_an_effect() {
    let (loader, shipped) = (Loader::new(), text(SHIPPED));
    let least = loader.defaults();
    for (at, key, value) in defaults(&shipped) {
        let line = format!("{key} = {}", another(key, value));
        let config =
            loader.load(&with_line(&shipped, at, &line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(config != least, "{SHIPPED}:{}: `{line}` changes nothing", at + 1);
    }
}

#[test]
fn every_example_loads_and_has_an_effect() {
    let (loader, shipped) = (Loader::new(), text(SHIPPED));
    let least = loader.defaults();
    let examples = examples(&shipped);
    assert!(examples.len() >= 8, "{examples:?}");
    for run in examples {
        let opened = run.iter().fold(shipped.clone(), |text, at| {
            let line = shipped.lines().nth(*at).and_then(|line| line.strip_prefix("#~ ")).unwrap_or_default();
            with_line(&text, *at, line)
        });
        let config = loader.load(&opened).unwrap_or_else(|error| panic!("{run:?}: {error}"));
        assert!(config != least, "{SHIPPED}: the example of lines {run:?} changes nothing");
    }
    assert!(loader.load(&everything()).is_ok());
}

/// The keys that a table knows, as the refusal of an unknown one lists them.
fn keys_of(loader: &Loader, table: &str) -> BTreeSet<String> {
    let unknown = "no_such_key = 1\n";
    let planted = match table {
        "" => format!("{unknown}{LEAST}"),
        "sites" => format!("{LEAST}{unknown}"),
        "listeners" => format!("[[listeners]]\naddress = \"127.0.0.1:1\"\n{unknown}{LEAST}"),
        "certificates" => format!("[[certificates]]\ncertificate = \"a\"\nkey = \"b\"\n{unknown}{LEAST}"),
        "sites.robots_tags" => format!("{LEAST}robots_tags = [{{ {} }}]\n", unknown.trim()),
        "purposes" => return BTreeSet::from(["ai-train".to_owned()]),
        "crawlers" => return BTreeSet::from(["GPTBot".to_owned()]),
        _ => format!("{LEAST}[{table}]\n{unknown}"),
    };
    let message = loader.load(&planted).unwrap_err();
    let (_, expected) = message
        .split_once("unknown key `no_such_key`; the keys here are ")
        .unwrap_or_else(|| panic!("{message}"));
    expected.lines().next().unwrap_or_default().split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The keys that the shipped file shows in a table, a list of tables taken together.
fn shown_in(table: &toml::Value, found: &mut BTreeSet<String>) {
    match table {
        toml::Value::Table(table) => found.extend(table.keys().cloned()),
        toml::Value::Array(tables) => tables.iter().for_each(|table| shown_in(table, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_shown() {
    let loader = Loader::new();
    let file: toml::Table = everything().parse().unwrap();
    let site = file.get("sites").and_then(|sites| sites.get(0)).unwrap();
    let whole = toml::Value::Table(file.clone());
    let tables = [
        ("", Some(&whole)),
        ("catalogue", file.get("catalogue")),
        ("log", file.get("log")),
        ("timeouts", file.get("timeouts")),
        ("limits", file.get("limits")),
        ("listeners", file.get("listeners")),
        ("certificates", file.get("certificates")),
        ("authorize", file.get("authorize")),
        ("alerts", file.get("alerts")),
        ("public", file.get("public")),
        ("fleet", file.get("fleet")),
        ("verify", file.get("verify")),
        ("clients", file.get("clients")),
        ("purposes", file.get("purposes")),
        ("purposes.ai-train", file.get("purposes").and_then(|purposes| purposes.get("ai-train"))),
        ("crawlers", file.get("crawlers")),
        ("crawlers.GPTBot", file.get("crawlers").and_then(|crawlers| crawlers.get("GPTBot"))),
        ("sites", file.get("sites")),
        ("sites.refusal", site.get("refusal")),
        ("sites.robots_tags", site.get("robots_tags")),
    ];
    let mut inner = BTreeSet::new();
    for (name, table) in tables {
        let mut shown = BTreeSet::new();
        shown_in(table.unwrap_or_else(|| panic!("no table `{name}`")), &mut shown);
        assert_eq!(shown, keys_of(&loader, name), "keys of `{name}`");
        inner.insert(name.rsplit('.').next().unwrap_or_default().to_owned());
    }
    // A table that is added later must be added above.
    for (key, value) in file.iter().chain(site.as_table().unwrap()) {
        let is_table =
            value.is_table() || value.as_array().is_some_and(|list| list.iter().any(toml::Value::is_table));
        assert!(!is_table || inner.contains(key), "the keys of table `{key}` are not compared");
    }
}
