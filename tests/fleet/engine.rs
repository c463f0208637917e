//! A real `PostgreSQL` in a folder of its own, and ways to hurt it.

use crate::support::Folder;
use crate::support::wait::within;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long a server may take to start, also from what a kill has left.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, killed on drop.
pub(crate) struct Engine {
    folder: Folder,
    process: Option<Child>,
    port: u16,
    user: Option<(u32, u32)>,
    /// How far its time of day is off, where something can make it so.
    offset: Option<String>,
}

/// The programs of the newest version that is installed.
fn programs() -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|path| path.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| panic!("PostgreSQL is missing: `.ci/dependencies test` installs it"))
}

/// Where libfaketime is, which gives a process a time of day of its own.
pub(crate) fn clock_library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1")).find(|path| path.exists())
}

/// No server runs as root; then it is the system's user for it.
fn user() -> Option<(u32, u32)> {
    let own = Command::new("id").arg("-u").output().expect("id");
    if String::from_utf8_lossy(&own.stdout).trim() != "0" {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").expect("/etc/passwd");
    let found = users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields[0] == "postgres").then(|| (fields[2].parse().expect("uid"), fields[3].parse().expect("gid")))
    });
    Some(found.expect("root needs the user `postgres` to run the server"))
}

impl Engine {
    /// A server that is not set up yet.
    fn of(user: Option<(u32, u32)>) -> Self {
        let folder = Folder::new();
        let port =
            TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port").port();
        if let Some((uid, gid)) = user {
            chown(folder.path(), Some(uid), Some(gid)).expect("the folder is the server's");
        }
        Self { folder, process: None, port, user, offset: None }
    }

    /// A new, empty database cluster whose server runs.
    pub(crate) fn start() -> Self {
        Self::begin(Self::of(user()))
    }

    /// The same with a time of day that is off, where libfaketime is installed.
    pub(crate) fn start_at(offset: &str) -> Self {
        let mut engine = Self::of(user());
        engine.offset = Some(offset.to_owned());
        Self::begin(engine)
    }

    fn begin(mut engine: Self) -> Self {
        let data = engine.data();
        engine.run(
            "initdb",
            &[
                "-D",
                data.to_str().expect("UTF-8"),
                "-A",
                "trust",
                "-U",
                "postgres",
                "--no-sync",
                "-E",
                "UTF8",
            ],
        );
        let config = format!(
            "\nport = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\nmax_connections = 300\n\
             wal_level = replica\nhot_standby = on\n",
            engine.port
        );
        let path = data.join("postgresql.conf");
        let text = std::fs::read_to_string(&path).expect("postgresql.conf") + &config;
        std::fs::write(path, text).expect("postgresql.conf");
        engine.resume();
        engine
    }

    /// A standby of this one that is some moments behind at most.
    pub(crate) fn standby(&self) -> Self {
        let mut engine = Self::of(self.user);
        engine.offset.clone_from(&self.offset);
        let data = engine.data();
        let from = format!("host=127.0.0.1 port={} user=postgres", self.port);
        engine.run(
            "pg_basebackup",
            &["-D", data.to_str().expect("UTF-8"), "-d", &from, "-R", "-c", "fast", "-X", "stream"],
        );
        // It follows nobody: all that comes from now on it has lost when it is promoted.
        let path = data.join("postgresql.auto.conf");
        let text = format!(
            "{}\nport = {}\nprimary_conninfo = ''\n",
            std::fs::read_to_string(&path).expect("postgresql.auto.conf"),
            engine.port
        );
        std::fs::write(path, text).expect("postgresql.auto.conf");
        engine.resume();
        engine
    }

    /// Has it listen on another port from now on: that of the one whose place it takes.
    pub(crate) fn move_to(&mut self, port: u16) {
        self.sql("CHECKPOINT");
        self.kill();
        let path = self.data().join("postgresql.auto.conf");
        let text =
            std::fs::read_to_string(&path).expect("postgresql.auto.conf") + &format!("\nport = {port}\n");
        std::fs::write(path, text).expect("postgresql.auto.conf");
        self.port = port;
        self.resume();
    }

    /// Makes a primary of a standby.
    pub(crate) fn promote(&self) {
        let data = self.data();
        self.run("pg_ctl", &["promote", "-w", "-D", data.to_str().expect("UTF-8")]);
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(programs().join(program));
        if let Some((uid, gid)) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir(self.folder.path()).env("LC_ALL", "C").stdin(Stdio::null());
        command
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) {
        let done = self.command(program).args(arguments).output().expect("it can be started");
        assert!(done.status.success(), "{program}: {}", String::from_utf8_lossy(&done.stderr));
    }

    /// Starts the server, also from what a kill has left.
    #[track_caller]
    pub(crate) fn resume(&mut self) {
        let log = self.folder.path().join("log");
        let begun = within(PATIENCE, || {
            let is_over =
                self.process.as_mut().is_none_or(|process| process.try_wait().expect("a child").is_some());
            if is_over {
                let to = std::fs::File::options().create(true).append(true).open(&log).expect("a log");
                let mut command = self.command("postgres");
                if let Some((offset, library)) = self.offset.as_ref().zip(clock_library()) {
                    command.env("LD_PRELOAD", library).env("FAKETIME", offset);
                    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
                }
                command.arg("-D").arg(self.data()).stdout(Stdio::null()).stderr(to);
                self.process = Some(command.spawn().expect("the server can be started"));
            }
            self.try_sql("SELECT 1").map(drop)
        });
        assert!(
            begun.is_some(),
            "the server does not start: {}",
            std::fs::read_to_string(log).unwrap_or_default()
        );
    }

    /// Every process of the server.
    fn processes(&self) -> Vec<u32> {
        let Some(server) = &self.process else { return Vec::new() };
        let children = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        let of_server = children(server.id()).unwrap_or_default();
        let of_server = of_server.split_whitespace().filter_map(|pid| pid.parse().ok());
        std::iter::once(server.id()).chain(of_server).collect()
    }

    /// How many milliseconds of processor time the server and all its processes have taken.
    pub(crate) fn busy(&self) -> f64 {
        let ticks = |pid: u32, fields: std::ops::Range<usize>| -> u64 {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The name, in brackets, may hold anything.
            let behind = stat.rsplit_once(") ").map_or("", |(_, behind)| behind);
            behind
                .split(' ')
                .skip(fields.start)
                .take(fields.len())
                .filter_map(|field| field.parse::<u64>().ok())
                .sum()
        };
        let processes = self.processes();
        let own: u64 = processes.iter().map(|pid| ticks(*pid, 11..13)).sum();
        // Of those that have ended.
        let ended = processes.first().map_or(0, |server| ticks(*server, 13..15));
        // A hundred ticks are a second on Linux, whatever the kernel counts by.
        f64::from(u32::try_from(own + ended).expect("not for long")) * 10.0
    }

    fn signal(&self, name: &str) {
        for process in self.processes() {
            let _ = Command::new("kill")
                .args([&format!("-{name}"), &process.to_string()])
                .stderr(Stdio::null())
                .status();
        }
    }

    /// Kills the server: nothing that it held in memory is left.
    pub(crate) fn kill(&mut self) {
        self.signal("KILL");
        if let Some(mut process) = self.process.take() {
            let _ = process.wait();
        }
    }

    pub(crate) fn freeze(&self) {
        self.signal("STOP");
    }

    pub(crate) fn thaw(&self) {
        self.signal("CONT");
    }

    /// The database as `user` names it.
    pub(crate) fn url(&self, user: &str) -> String {
        format!("postgresql://{user}@127.0.0.1:{}/postgres", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// What the server answers.
    #[track_caller]
    pub(crate) fn sql(&self, sql: &str) -> String {
        self.try_sql(sql).unwrap_or_else(|| panic!("{sql}"))
    }

    fn try_sql(&self, sql: &str) -> Option<String> {
        let done = self.psql("postgres", sql).output().expect("psql can be started");
        done.status.success().then(|| String::from_utf8_lossy(&done.stdout).trim().to_owned())
    }

    /// What the server answers to a user, or why it refuses.
    pub(crate) fn sql_of(&self, user: &str, sql: &str) -> Result<String, String> {
        let done = self.psql(user, sql).output().expect("psql can be started");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if done.status.success() { Ok(text(&done.stdout)) } else { Err(text(&done.stderr)) }
    }

    /// A session that goes on until it is killed.
    pub(crate) fn session(&self, sql: &str) -> Child {
        let mut command = self.psql("postgres", sql);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("psql can be started")
    }

    fn psql(&self, user: &str, sql: &str) -> Command {
        let mut command = self.command("psql");
        command.args([
            "-h",
            "127.0.0.1",
            "-p",
            &self.port.to_string(),
            "-U",
            user,
            "-d",
            "postgres",
            "-AtqX",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            sql,
        ]);
        command.env("PGCONNECT_TIMEOUT", "2");
        command
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.thaw();
        self.kill();
        // What the server's user made, it may keep others from removing.
        let _ = std::fs::set_permissions(self.data(), std::fs::Permissions::from_mode(0o777));
    }
}
