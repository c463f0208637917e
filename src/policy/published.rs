//! What a fleet publishes: a *generation*, which is a whole document of robots.txt and modes, and of nothing else.
//!
//! The last one that was taken is kept in the state folder, so that a start needs no database and `gatewayctl` judges by
//! the same files. A robots.txt in it stands in the place of the site's own; what is put beside that is the
//! configuration's affair.

use super::modes::Overrides;
use super::robots_file::fitness;
use crate::config::reading;
use crate::record::replace_file;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The file in the state folder.
const FILE: &str = "generation.json";

/// More than any fleet publishes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// One generation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FleetGeneration {
    /// Which one; 0 where none was published.
    pub number: i64,
    /// Files in base64, by the names of sites.
    #[serde(default)]
    robots: BTreeMap<String, String>,
    /// The modes that it sets.
    #[serde(default)]
    pub modes: Overrides,
}

impl FleetGeneration {
    /// Reads a document.
    ///
    /// # Errors
    /// Why nothing of it can come into force.
    pub fn parse(document: impl AsRef<[u8]>) -> Result<Self, String> {
        let read: Self = serde_json::from_slice(document.as_ref())
            .map_err(|error| format!("it is not what this version of the program knows: {error}"))?;
        for (site, file) in &read.robots {
            let bytes =
                STANDARD.decode(file).map_err(|_| format!("the robots.txt of `{site}` is not base64"))?;
            fitness(&bytes).map_err(|unfit| format!("site `{site}`: {unfit}; {}", unfit.hint))?;
        }
        Ok(read)
    }

    /// The last one that was taken; none where there is none that can be read: then it is asked for again.
    pub(super) fn load(state_dir: &Path) -> Self {
        let path = state_dir.join(FILE);
        let read = match reading::read(&path, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Self::default(),
            read => read.map_err(|error| error.to_string()),
        };
        read.and_then(|read| Self::parse(read.bytes)).unwrap_or_else(|error| {
            tracing::error!("{}: what the fleet published is left out: {error}", path.display());
            Self::default()
        })
    }

    /// Keeps the document that was published under a number for the next start, whole or not at all.
    ///
    /// # Errors
    /// Why it is not kept.
    pub fn keep(number: i64, document: &str, state_dir: &Path) -> Result<(), String> {
        let generation = Self::parse(document)?;
        if generation.number != number {
            return Err(format!("its document says that it is generation {}", generation.number));
        }
        let file = state_dir.join(FILE);
        replace_file(&file, generation.document().as_bytes())
            .map_err(|error| format!("{}: {error}", file.display()))
    }

    /// It as a document.
    pub fn document(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The robots.txt that it has for a site.
    pub fn robots(&self, site: &str) -> Option<Vec<u8>> {
        STANDARD.decode(self.robots.get(site)?).ok()
    }

    /// Has it say this of a site; nothing any more without a file.
    pub fn set_robots(&mut self, site: &str, file: Option<&[u8]>) {
        match file {
            Some(bytes) => drop(self.robots.insert(site.to_owned(), STANDARD.encode(bytes))),
            None => drop(self.robots.remove(site)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Arguments, Config};
    use crate::enforce::Mode;
    use crate::policy::{Scope, check};
    use std::time::SystemTime;

    #[test]
    fn what_does_not_fit_beside_a_site_s_own_parts_leaves_its_file_in_force() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("robots.txt", "User-agent: *\nDisallow: /own\n");
        write(
            "gateway.toml",
            "state_dir = \"state\"\n[fleet]\ndatabase = \"postgresql://gateway@127.0.0.1/x\"\n[[sites]]\n\
             origin = \"http://127.0.0.1:9\"\nrobots = { file = \"robots.txt\", block = [\"ai-train\"] }\n",
        );
        let state = folder.path().join("state");
        std::fs::create_dir(&state).unwrap();
        let published = |number| {
            let mut one = FleetGeneration { number, ..FleetGeneration::default() };
            let large = format!("User-agent: *\n{}", "Disallow: /of-the-fleet\n".repeat(200_000));
            one.set_robots("default", Some(large.as_bytes()));
            one.document()
        };
        assert!(FleetGeneration::keep(10, &published(3), &state).unwrap_err().contains("it is generation 3"));
        FleetGeneration::keep(3, &published(3), &state).unwrap();
        let file = folder.path().join("gateway.toml");
        let config = Config::load(&Arguments { config: Some(file), ..Arguments::default() }).unwrap();
        let policy = check(config, SystemTime::now()).unwrap();
        let [site] = policy.sites() else { panic!("one site") };
        assert!(site.error.as_ref().unwrap().contains("does not fit this site"), "{:?}", site.error);
        assert!(site.robots.as_ref().unwrap().own().ends_with(b"Disallow: /own\n"));
    }

    #[test]
    fn a_generation_is_robots_txt_and_modes_and_nothing_else() {
        let mut one = FleetGeneration { number: 3, ..FleetGeneration::default() };
        one.set_robots("a.example", Some(b"User-agent: *\nDisallow: /x\n"));
        one.set_robots("b.example", Some(b"# nothing\n"));
        one.set_robots("b.example", None);
        let set = |modes: Overrides, mode| modes.changed(&Scope::default(), mode, true);
        one.modes = set(set(one.modes, Some(Mode::Audit)), Some(Mode::Enforce));
        let read = FleetGeneration::parse(one.document()).unwrap();
        assert_eq!(read, one);
        assert_eq!(read.robots("a.example").unwrap(), b"User-agent: *\nDisallow: /x\n");
        assert_eq!(read.robots("b.example"), None);
        let modes = Overrides::default().in_force(&read.modes);
        assert_eq!(modes.iter().map(|set| set.mode).collect::<Vec<_>>(), [Mode::Enforce]);
        assert_eq!(set(one.modes, None), Overrides::default());
        for (document, told) in [
            ("{", "not what this version"),
            (r#"{"number":1,"origin":"http://evil"}"#, "unknown field `origin`"),
            (r#"{"number":1,"robots":{"a":"-"}}"#, "is not base64"),
            (r#"{"number":1,"robots":{"a":""}}"#, "the robots.txt is empty"),
        ] {
            let error = FleetGeneration::parse(document).unwrap_err();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn it_outlives_a_start_and_a_broken_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(FleetGeneration::load(folder.path()), FleetGeneration::default());
        let one = FleetGeneration { number: 3, ..FleetGeneration::default() };
        FleetGeneration::keep(one.number, &one.document(), folder.path()).unwrap();
        assert_eq!(FleetGeneration::load(folder.path()), one);
        std::fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(FleetGeneration::load(folder.path()), FleetGeneration::default());
    }
}
