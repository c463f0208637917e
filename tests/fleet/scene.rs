//! Members of a fleet, each a real gateway, and the command beside them.

use crate::engine::Engine;
use crate::support::command::ctl;
use crate::support::wait::within;
use crate::support::{Builder, Daemon, Ended, Folder, Nginx};
use serde_json::Value;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How long a fleet may take to come to something: its outbox is sealed every ten seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// An origin, a database that is set up, and folders for the state of members.
pub(crate) struct Scene {
    pub(crate) engine: Engine,
    pub(crate) origin: Nginx,
    folder: Folder,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let engine = Engine::start();
        ctl(["fleet", "init", "--database", &engine.url("postgres")]).exits(0);
        engine.sql("CREATE ROLE gateway LOGIN IN ROLE robots_gateway_member");
        engine.sql("CREATE ROLE publisher LOGIN IN ROLE robots_gateway_publisher");
        Self { engine, origin: Nginx::start(), folder: Folder::new() }
    }

    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A member with this robots.txt.
    #[track_caller]
    pub(crate) fn member(&self, name: &str, robots: &str, notice: &str, keys: &str) -> Daemon {
        self.builder(name, robots, notice, keys).start()
    }

    /// The same, of a file that was published long ago.
    #[track_caller]
    pub(crate) fn published(&self, name: &str, robots: &str, notice: &str, keys: &str) -> Daemon {
        self.builder(name, robots, notice, keys).served_for_long().start()
    }

    /// The same with another line of the configuration.
    #[track_caller]
    pub(crate) fn published_with(
        &self,
        name: &str,
        robots: &str,
        notice: &str,
        keys: &str,
        line: &str,
    ) -> Daemon {
        self.builder(name, robots, notice, keys).set(line).served_for_long().start()
    }

    /// The same in a mode.
    #[track_caller]
    pub(crate) fn published_in(&self, name: &str, robots: &str, mode: &str, keys: &str) -> Daemon {
        self.builder(name, robots, "1h", keys).in_mode(mode).served_for_long().start()
    }

    /// A member with an admin listener, and where that is.
    #[track_caller]
    pub(crate) fn watched(&self, name: &str, robots: &str, keys: &str) -> (Daemon, SocketAddr) {
        let member = self.builder(name, robots, "0s", keys).arg("--admin").arg("127.0.0.1:0").start();
        let line = member.log.line_with(&["admin listener is open"]);
        let address = &line[line.find("127.0.0.1:").expect("an address is logged")..];
        let address = address.split(['"', ' ']).next().and_then(|address| address.parse().ok());
        (member, address.expect("a socket address"))
    }

    fn builder(&self, name: &str, robots: &str, notice: &str, keys: &str) -> Builder {
        self.builder_by(self.engine.port(), name, robots, notice, keys)
    }

    /// A member to be that reaches the database by this port.
    pub(crate) fn builder_by(
        &self,
        port: u16,
        name: &str,
        robots: &str,
        notice: &str,
        keys: &str,
    ) -> Builder {
        let database = format!("postgresql://gateway@127.0.0.1:{port}/postgres");
        let table = format!("[fleet]\ndatabase = \"{database}\"\nname = \"{name}\"\n{keys}");
        let state = self.state(name);
        Daemon::with(robots)
            .in_front_of(&self.origin)
            .with_notice(notice)
            .set("journal_rate = \"off\"")
            .table(&table)
            .arg("--state-dir")
            .arg(state.to_str().expect("UTF-8"))
    }

    /// A standby takes the place of the database, without what came since it was made.
    #[track_caller]
    pub(crate) fn is_replaced_by(&mut self, mut standby: Engine) {
        let port = self.engine.port();
        self.engine.kill();
        standby.promote();
        standby.move_to(port);
        std::mem::swap(&mut self.engine, &mut standby);
    }

    /// Has a publisher say that a member is gone.
    #[track_caller]
    pub(crate) fn forget(&self, name: &str) {
        self.publisher(&["fleet", "forget", name]).exits(0);
    }

    /// Runs `gatewayctl` as a publisher.
    #[track_caller]
    pub(crate) fn publisher(&self, arguments: &[&str]) -> Ended {
        let table = format!(
            "[fleet]\ndatabase = \"{}\"\n[[sites]]\norigin = \"http://127.0.0.1:9\"\n",
            self.engine.url("publisher")
        );
        let config = self.folder.write("publisher.toml", table);
        ctl([arguments, &["--config", config.to_str().expect("UTF-8")]].concat())
    }

    /// A file to publish.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        self.folder.write(name, content).to_str().expect("UTF-8").to_owned()
    }

    /// The sum of the members' own reports.
    #[track_caller]
    pub(crate) fn sum(&self, names: &[&str]) -> Value {
        let mut arguments = vec!["report".to_owned(), "--format".to_owned(), "json".to_owned()];
        for name in names {
            arguments.extend(["--state-dir".to_owned(), self.state(name).display().to_string()]);
        }
        ctl(arguments).exits(0).json()
    }

    /// Waits until the report of the fleet is the sum of the members' own.
    #[track_caller]
    pub(crate) fn adds_up(&self, member: &Daemon, names: &[&str]) -> Value {
        let (mut whole, mut sum) = (Value::Null, Value::Null);
        let settled = within(PATIENCE, || {
            std::thread::sleep(Duration::from_millis(300));
            (whole, sum) = (fleet_report(member), self.sum(names));
            (of(&whole) == of(&sum)).then_some(())
        });
        if settled.is_none() {
            assert_eq!(of(&whole), of(&sum), "after {PATIENCE:?}; {}", whole["fleet"]);
        }
        whole
    }
}

/// Runs `gatewayctl` with the configuration of a member.
#[track_caller]
pub(crate) fn ctl_of(member: &Daemon, arguments: &[&str]) -> Ended {
    let config = member.folder().join("gateway.toml");
    ctl([arguments, &["--config", config.to_str().expect("UTF-8")]].concat())
}

/// The report of the fleet.
#[track_caller]
pub(crate) fn fleet_report(member: &Daemon) -> Value {
    ctl_of(member, &["report", "--fleet", "--format", "json"]).exits(0).json()
}

/// What is to be equal of two reports: everything but their windows and what is on the way.
fn of(report: &Value) -> Value {
    let mut report = report.clone();
    let fields = report.as_object_mut().expect("a report");
    for field in ["from", "to", "fleet", "notes", "headline"] {
        fields.remove(field);
    }
    report
}

/// All requests of a report.
pub(crate) fn requests(report: &Value) -> u64 {
    let crawlers = report["crawlers"].as_array().expect("crawlers");
    crawlers.iter().filter_map(|crawler| crawler["requests"].as_u64()).sum()
}

/// What a member says of the fleet.
#[track_caller]
pub(crate) fn status(member: &Daemon) -> Value {
    member.ctl(&["status", "--format", "json"]).exits(0).json()["fleet"].clone()
}

/// Waits until a member stands so.
#[track_caller]
pub(crate) fn stands(member: &Daemon, standing: &str) {
    let mut last = Value::Null;
    let found = within(PATIENCE, || {
        last = status(member);
        (last["standing"] == standing).then_some(())
    });
    assert!(found.is_some(), "{standing}: {last}; {}", member.log.text());
}
