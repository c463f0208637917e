//! Copies of what is served as `/robots.txt`, one for each host, in the state folder. Other proxies that ask this gateway
//! give them to crawlers while it is down: with another file, such as one without the generated groups, a crawler would
//! break rules afterwards that it could not know.

use super::{Policy, Reloader};
use crate::config::reading;
use crate::record::publish_file;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Their folder, in the state folder.
pub const COPIES: &str = "robots";

/// The name of the copy for a site without `hosts`.
const DEFAULT: &str = "default";

/// What a site without a robots.txt says, as a file: its proxy tells this one from a copy that is missing.
const NONE: &[u8] = b"# This site has no robots.txt: everything is allowed.\n";

impl Reloader {
    /// Writes the copies of what is served now, where other proxies ask, and tells where they cannot be written.
    pub fn write_copies(&self) {
        let policy = self.current();
        let folder = policy.config.state_dir.join(COPIES);
        let written = reading::with_timeout(&folder, move || write(&policy)).and_then(|written| written);
        let trouble = written.err().map(|error| {
            format!("{error}; what other proxies give to crawlers while this gateway is down is not what it serves")
        });
        self.known.lock().teller.tell("copies of robots.txt", &folder.to_string_lossy(), trouble);
    }
}

/// Writes what differs, and removes the copies of hosts that are no site's any more.
fn write(policy: &Policy) -> io::Result<()> {
    if policy.config.authorize.is_none() {
        return Ok(());
    }
    let folder = policy.config.state_dir.join(COPIES);
    let copies = copies(policy, &folder);
    for (path, bytes) in &copies {
        if fs::read(path).ok().as_deref() != Some(*bytes) {
            publish_file(path, bytes)?;
        }
    }
    if !folder.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        // Another process of an upgrade may be about to give a new file its name.
        if path.extension().is_some_and(|end| end == "txt") && !copies.contains_key(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Where they lie in `folder`, and what they hold. There is none for a site of which it is not known yet what it serves.
fn copies<'p>(policy: &'p Policy, folder: &Path) -> BTreeMap<PathBuf, &'p [u8]> {
    let mut copies = BTreeMap::new();
    for site in policy.sites().iter().filter(|site| !site.is_unknown) {
        let bytes = site.robots.as_ref().map_or(NONE, |file| &file.bytes);
        // What stands in brackets need not be an address.
        for host in site.config.patterns().filter(|host| !host.contains('/')) {
            let name: &str = if site.config.hosts.is_empty() { DEFAULT } else { &host };
            copies.insert(folder.join(format!("{name}.txt")), bytes);
        }
    }
    copies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::policy::check;
    use std::time::SystemTime;

    #[test]
    fn each_host_has_a_copy_of_what_is_served_there_and_no_other_host_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let policy = |authorize: &str, sites: &str| {
            let file = folder.path().join("gateway.toml");
            fs::write(folder.path().join("robots.txt"), "User-agent: *\nDisallow: /own\n").unwrap();
            fs::write(&file, format!("listen = []\nstate_dir = \"state\"\n{authorize}\n{sites}")).unwrap();
            check(
                Config::load(&Arguments { config: Some(file), ..Arguments::default() }).unwrap(),
                SystemTime::now(),
            )
            .unwrap()
        };
        let found = || {
            let files = fs::read_dir(folder.path().join("state/robots")).into_iter().flatten().flatten();
            let texts = files.map(|file| {
                let text = fs::read_to_string(file.path()).unwrap();
                (file.file_name().into_string().unwrap(), text)
            });
            texts.collect::<BTreeMap<_, _>>()
        };
        let authorize = "[authorize]\nlisten = \"127.0.0.1:0\"";
        let composed = "robots = { file = \"robots.txt\", block = [\"ai-train\"] }\n";
        let sites = format!(
            "[[sites]]\nhosts = [\"a.example\", \"*.a.example\"]\n{composed}[[sites]]\nhosts = [\"b.example\"]\n\
             robots = {{ from = \"none\" }}\n[[sites]]\nrobots = \"robots.txt\"\n"
        );
        let both = policy(authorize, &sites);
        write(&both).unwrap();
        let copies = found();
        let names: Vec<_> = copies.keys().map(String::as_str).collect();
        assert_eq!(names, ["*.a.example.txt", "a.example.txt", "b.example.txt", "default.txt"]);
        let served = both.sites()[0].robots.as_ref().unwrap();
        assert_eq!(copies["a.example.txt"].as_bytes(), served.bytes);
        assert!(copies["*.a.example.txt"].contains("User-agent: GPTBot"));
        assert!(copies["b.example.txt"].starts_with('#') && !copies["default.txt"].contains("GPTBot"));

        // What is there is not written anew, and what is no copy is left alone.
        let changed =
            || fs::metadata(folder.path().join("state/robots/a.example.txt")).unwrap().modified().unwrap();
        let before = changed();
        fs::write(folder.path().join("state/robots/a.example.txt.1.new"), "").unwrap();
        write(&policy(authorize, &format!("[[sites]]\nhosts = [\"a.example\"]\n{composed}"))).unwrap();
        assert_eq!(found().into_keys().collect::<Vec<_>>(), ["a.example.txt", "a.example.txt.1.new"]);
        assert_eq!(changed(), before);
    }

    #[test]
    fn where_no_proxy_asks_there_is_none() {
        let arguments = Arguments { origin: Some("http://127.0.0.1:1".into()), ..Arguments::default() };
        let folder = tempfile::tempdir().unwrap();
        let arguments = Arguments { state_dir: Some(folder.path().join("state")), ..arguments };
        write(&check(Config::load(&arguments).unwrap(), SystemTime::now()).unwrap()).unwrap();
        assert!(!folder.path().join("state").exists());
    }
}
