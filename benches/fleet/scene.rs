//! A database that is set up, and folders for the state of members.

use crate::engine::Engine;
use robots_gateway::config::{DurationValue, FleetConfig};
use robots_gateway::fleet;
use robots_gateway::policy::FleetGeneration;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) struct SimulatedScene {
    pub(crate) engine: Engine,
    folder: TempDir,
}

/// What `gatewayctl` has of the configuration.
fn settings(database: String) -> FleetConfig {
    let lease = DurationValue(Duration::from_secs(300));
    FleetConfig {
        database,
        name: "simulator".to_owned(),
        password_file: None,
        ca_file: None,
        publisher_key: None,
        lease,
        settle: lease,
    }
}

impl SimulatedScene {
    pub(crate) fn new(engine: Engine) -> Self {
        fleet::set_up(&settings(engine.url("postgres")), None).expect("the database is set up");
        engine.sql("CREATE ROLE gateway LOGIN IN ROLE robots_gateway_member");
        let folder = TempDir::new().expect("a folder");
        Self { engine, folder }.begun()
    }

    /// The same with folders in memory, where there is such a place: members do not share a disk elsewhere.
    pub(crate) fn in_memory(engine: Engine) -> Self {
        let scene = Self::new(engine);
        match TempDir::new_in("/dev/shm") {
            Ok(folder) => Self { folder, ..scene }.begun(),
            Err(_) => scene,
        }
    }

    fn begun(self) -> Self {
        self.file("robots.txt", crate::member::robots("old"));
        self
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.state(name);
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Publishes a robots.txt for all members.
    pub(crate) fn publish(&self, robots: &str) {
        let settings = settings(self.engine.url("postgres"));
        let published = fleet::publish(&settings, None, false, |_, number| {
            let mut next = FleetGeneration::default();
            next.number = number;
            next.set_robots("default", Some(robots.as_bytes()));
            Ok(next.document())
        });
        published.expect("published");
    }

    /// How many members are late, and the first reason.
    pub(crate) fn late(&self) -> (usize, Option<String>) {
        let overview = fleet::overview(&settings(self.engine.url("postgres"))).expect("an overview");
        let late: Vec<String> = overview.members.into_iter().filter_map(|member| member.late).collect();
        (late.len(), late.into_iter().next())
    }

    /// A number that the database has.
    pub(crate) fn number(&self, sql: &str) -> f64 {
        self.engine.sql(sql).parse().expect("a number")
    }

    /// How many bytes of WAL were written.
    pub(crate) fn wal(&self) -> f64 {
        self.number("SELECT pg_current_wal_lsn() - '0/0'")
    }
}
