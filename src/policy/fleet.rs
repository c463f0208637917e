//! The policy of a gateway that is a member of a fleet: what it offers to serve, what it learns of the others, and what the
//! fleet publishes.

use super::history::{served, version_of};
use super::modes::Overrides;
use super::robots_file::fitness;
use super::standing::{FleetNews, OwnWord};
use super::{Policy, ReloadResult, Reloader, Site, Trigger};
use crate::config::{ConfigError, reading};
use crate::decide::Read;
use crate::record::{ReadSum, ReadTotal, replace_file};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a start or a reload waits until the other members know what it is about to serve: twice their pulse.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits a little until the others know what a gateway that starts serves. Where they cannot be asked, it is served all the
/// same: it is what this gateway served last, as far as it knows. A file that has changed since waits as after a reload.
pub fn offer_first(reloader: &Reloader) {
    let opened = reloader.history.lock().opened;
    if let Err(behind) = reloader.standing.wait(opened, PATIENCE) {
        tracing::warn!(
            behind = behind.join(", "),
            "robots.txt is served before every member of the fleet knows of it: they did not answer"
        );
    }
}

impl Reloader {
    /// Announces what a policy is about to serve to the fleet. Sites whose file the others do not know of yet keep the one
    /// that is served; the fault says what that waits for.
    ///
    /// # Errors
    /// The fault, where a site that is new cannot be kept back by itself.
    pub(super) fn offered(
        &self,
        next: &mut Policy,
        previous: &Policy,
        is_forced: bool,
    ) -> Result<Option<ConfigError>, ConfigError> {
        if next.config.fleet.is_none() {
            return Ok(None);
        }
        let before = self.history.lock().opened;
        while self.history.lock().announce(next)? {
            self.wait_for_others();
        }
        let (in_force, opened) = (served(previous), self.history.lock().opened);
        // The other members need not hear of a file that says the same as the one in force, nor of one that is not known yet.
        let is_news = |site: &Site| {
            let version = version_of(site);
            let is_old = |host: Box<str>| in_force.at.get(&host).is_some_and(|one| one.is_same(&version));
            !site.is_unknown && !site.config.patterns().all(is_old)
        };
        if is_forced || !next.sites().iter().any(|site| is_news(site)) {
            return Ok(None);
        }
        // What was announced before has been waited for: it does not hold up what else has changed at every reload.
        let patience = if opened == before { Duration::ZERO } else { PATIENCE };
        let Err(behind) = self.standing.wait(opened, patience) else { return Ok(None) };
        let fault = waits_for(next, &behind);
        next.keep_files(previous, is_news, &fault.message);
        if next.sites().iter().any(|site| is_news(site)) { Err(fault) } else { Ok(Some(fault)) }
    }

    /// Whether what waits for the others need not any more.
    pub fn may_go_on(&self) -> bool {
        self.history.lock().announced().is_some_and(|opened| self.standing.may_serve(opened))
    }

    /// What this gateway says of itself.
    pub fn word(&self) -> OwnWord {
        let policy = self.current();
        let version = |site: &Site| site.version().map(|id| id.to_string());
        let serving = policy.sites().iter().map(|site| (site.config.name.clone(), version(site))).collect();
        let error = self.last().and_then(|last| last.errors.first().map(ConfigError::in_one_line));
        OwnWord { serving, error, ..self.history.lock().word(&policy) }
    }

    /// Notes news, on the disk and in the policy in force; `false` where they cannot be written.
    pub fn learn(&self, news: FleetNews) -> bool {
        let _serving = self.serving.lock();
        let is_learnt = self.history.lock().learn(&self.current(), news).is_ok();
        if is_learnt {
            self.apply_history();
        }
        is_learnt
    }

    /// Notes reads that others saw, each with a stamp that was given before it.
    pub fn learn_reads(&self, reads: Vec<(u64, ReadTotal)>) {
        // It counts from `settle` after it is known here, which is later than it was.
        let at = self.current().clock.now();
        let history = self.history.lock();
        let place = |(stamp, read): (u64, ReadTotal)| {
            let placed = Read { as_of: history.time_before(stamp), at, ..read.read() };
            ReadTotal { sum: ReadSum::of(placed, read.sum.seen), ..read }
        };
        self.reads.restore(&reads.into_iter().map(place).collect::<Vec<_>>());
    }

    /// The last generation of which all was in force.
    pub fn applied_generation(&self) -> i64 {
        let policy = self.current();
        let (published, applied) = (&policy.published, &self.standing.applied);
        let waits = |site: &&Arc<Site>| site.error.is_some() && published.robots(&site.config.name).is_some();
        if !policy.sites().iter().any(|site| waits(&site)) {
            applied.store(published.number, Ordering::Relaxed);
        }
        applied.load(Ordering::Relaxed)
    }

    /// Takes a generation: on the disk, and in force as far as nothing waits.
    ///
    /// # Errors
    /// Why nothing of it is.
    pub fn take_generation(&self, number: i64, document: &str) -> Result<(), String> {
        FleetGeneration::keep(number, document, &self.current().config.state_dir)?;
        // What keeps it from coming into force is told by the reload, and shown by `fleet`.
        self.reload(Trigger::Fleet, false).map(drop).map_err(|busy| busy.to_string())
    }

    /// What waited for the others need not wait any more.
    pub fn go_on(&self) {
        if self.may_go_on()
            && let Ok(report) = self.reload(Trigger::Fleet, false)
            && report.result == ReloadResult::Refused
            && self.may_go_on()
        {
            // It is told by the reload itself. What it is refused for has nothing to do with the fleet, which knows of it.
            self.history.lock().withdraw();
        }
    }
}

fn waits_for(policy: &Policy, behind: &[String]) -> ConfigError {
    let whom = match behind {
        [] => "the database of the fleet, which cannot be asked".to_owned(),
        behind => behind.join(", "),
    };
    let message = format!(
        "a robots.txt that changed waits for {whom}: it is served by itself once every member of the fleet knows of it or \
         its lease has run out; `gatewayctl fleet forget NAME` has it wait for that member no longer, and `gatewayctl \
         reload --now` for none"
    );
    ConfigError::whole(&policy.config.path.clone().unwrap_or_default(), message)
}

impl Policy {
    /// Has sites that wait keep the file that is served there.
    fn keep_files(&mut self, previous: &Self, waits: impl Fn(&Site) -> bool, why: &str) {
        let kept = |site: &Arc<Site>| {
            let former = previous.before(&site.config).filter(|_| waits(site))?;
            let (is_unknown, error) = (former.is_unknown, Some(why.to_owned()));
            Some(Arc::new(Site { is_unknown, error, ..site.serving(former.robots.clone(), self) }))
        };
        self.sites = self.sites.iter().map(|site| kept(site).unwrap_or_else(|| Arc::clone(site))).collect();
    }
}

/// The file in the state folder.
const FILE: &str = "generation.json";

/// More than any fleet publishes.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What a fleet publishes: a *generation*, which is a whole document of robots.txt and modes, and of nothing else.
///
/// The last one that was taken is kept in the state folder, so that a start needs no database and `gatewayctl` judges by
/// the same files. A robots.txt in it stands in the place of the site's own; what is put beside that is the
/// configuration's affair.
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
