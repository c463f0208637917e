//! The real gateway as a child process, and a builder that reads as a sentence.

use super::client::{Client, ClientResponse, Request};
use super::command::{self, Ended};
use super::folder::Folder;
use super::journal::JournalFile;
use super::log::Log;
use super::origin::Nginx;
use super::past::write_past;
use super::wait::{until, within};
use std::ffi::{OsStr, OsString};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A gateway in the making.
#[derive(Debug)]
pub(crate) struct Builder {
    folder: Folder,
    config: Option<String>,
    settings: String,
    tables: String,
    site: String,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    wrapper: Vec<String>,
    origin: Option<String>,
    has_robots: bool,
    is_nowhere: bool,
}

/// A running gateway, killed on drop.
#[derive(Debug)]
pub(crate) struct Daemon {
    process: Child,
    arguments: Vec<OsString>,
    address: SocketAddr,
    folder: Folder,
    /// Standard error.
    pub(crate) log: Log,
    /// Standard output.
    pub(crate) output: Log,
}

/// A gateway whose whole configuration file is `config`. `[ORIGIN]` in it stands for the origin's URL.
pub(crate) fn configured(config: &str) -> Builder {
    Builder { config: Some(config.to_owned()), ..Builder::new() }
}

impl Daemon {
    /// A gateway of one site with this robots.txt.
    pub(crate) fn with(robots: impl AsRef<[u8]>) -> Builder {
        let mut builder = Builder::new();
        builder.folder.write("robots.txt", robots);
        builder.has_robots = true;
        builder
    }

    /// A gateway of one site without a robots.txt.
    pub(crate) fn without_robots() -> Builder {
        Builder::new()
    }
}

impl Builder {
    fn new() -> Self {
        Self {
            folder: Folder::new(),
            config: None,
            settings: String::new(),
            tables: String::new(),
            site: String::new(),
            arguments: Vec::new(),
            variables: Vec::new(),
            wrapper: Vec::new(),
            origin: None,
            has_robots: false,
            is_nowhere: false,
        }
    }

    /// Another file beside the configuration.
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.folder.write(name, content);
        self
    }

    /// `--mode`.
    pub(crate) fn in_mode(self, mode: &str) -> Self {
        self.arg("--mode").arg(mode)
    }

    /// `--notice`.
    pub(crate) fn with_notice(self, notice: &str) -> Self {
        self.arg("--notice").arg(notice)
    }

    pub(crate) fn arg(mut self, argument: &str) -> Self {
        self.arguments.push(argument.to_owned());
        self
    }

    /// A variable of its environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A program, with its arguments, that becomes the gateway, whose command line ends its own.
    pub(crate) fn by(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(|word| (*word).to_owned()).collect();
        self
    }

    pub(crate) fn in_front_of(self, origin: &Nginx) -> Self {
        self.at(&origin.url())
    }

    pub(crate) fn at(mut self, origin: &str) -> Self {
        self.origin = Some(origin.to_owned());
        self
    }

    /// It stands before no origin, and listens only where it is told to.
    pub(crate) fn nowhere(mut self) -> Self {
        self.is_nowhere = true;
        self
    }

    /// A line at the top of the configuration file.
    pub(crate) fn set(mut self, line: &str) -> Self {
        self.settings = format!("{}{line}\n", self.settings);
        self
    }

    /// A table of the configuration file.
    pub(crate) fn table(mut self, text: &str) -> Self {
        self.tables = format!("{}{text}\n", self.tables);
        self
    }

    /// A line of the site's table.
    pub(crate) fn site(mut self, line: &str) -> Self {
        self.site = format!("{}{line}\n", self.site);
        self
    }

    /// A gateway that has served its robots.txt to every host for a month: nobody can hold anything else.
    pub(crate) fn served_for_long(self) -> Self {
        let robots = std::fs::read(self.folder.join("robots.txt")).expect("a robots.txt");
        self.having_served(&robots)
    }

    /// The same of this file; what the state folder says already stands.
    pub(crate) fn having_served(self, robots: &[u8]) -> Self {
        let option = self.arguments.iter().position(|argument| argument == "--state-dir");
        let named = option.and_then(|at| self.arguments.get(at + 1));
        write_past(&named.map_or_else(|| self.folder.join("state"), PathBuf::from), robots);
        self
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The configuration file's text, where one is needed: else the options alone say everything.
    fn config_text(&self) -> Option<String> {
        let origin = self.origin.as_deref().unwrap_or("http://127.0.0.1:9");
        if let Some(config) = &self.config {
            return Some(config.replace("[ORIGIN]", origin));
        }
        let says_robots = self.site.contains("robots = ");
        let says_nothing = self.settings.is_empty() && self.tables.is_empty() && self.site.is_empty();
        if says_nothing && (self.has_robots || self.origin.is_none()) {
            return None;
        }
        let robots = match (self.has_robots, says_robots) {
            (_, true) => "",
            (true, false) => "robots = \"robots.txt\"\n",
            (false, false) => "robots = { from = \"none\" }\n",
        };
        Some(format!(
            "{}\n{}\n[[sites]]\norigin = \"{origin}\"\n{robots}{}",
            self.settings, self.tables, self.site
        ))
    }

    fn command(&self) -> Command {
        let mut command = command::daemon();
        if let Some(text) = self.config_text() {
            command.arg("--config").arg(self.folder.write("gateway.toml", text));
        } else {
            if let Some(origin) = &self.origin {
                command.args(["--origin", origin]);
            }
            if self.has_robots {
                command.arg("--robots").arg(self.folder.join("robots.txt"));
            }
        }
        let says = |option: &str| self.arguments.iter().any(|argument| argument == option);
        if !says("--listen") && !self.is_nowhere {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let config = self.config.as_deref().unwrap_or_default();
        if !says("--admin") && !config.contains("admin = ") {
            command.args(["--admin", "off"]);
        }
        // What was served before is not known to a gateway that was never here: it would accuse nobody for a day.
        if !says("--notice") && !self.config_text().is_some_and(|text| text.contains("notice = ")) {
            command.args(["--notice", "0s"]);
        }
        if !says("--state-dir") {
            command.arg("--state-dir").arg(self.folder.join("state"));
        }
        if !says("--control") {
            command.arg("--control").arg(self.folder.join("control.sock"));
        }
        command.args(&self.arguments);
        let mut command = match self.wrapper.split_first() {
            None => command,
            Some((first, rest)) => {
                let mut wrapped = command::program(first);
                wrapped.args(rest).arg(command.get_program()).args(command.get_args());
                wrapped
            }
        };
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts the gateway as a service manager does that listens for it: with the socket as descriptor 3.
    #[track_caller]
    pub(crate) fn start_with(self, socket: &TcpListener) -> Daemon {
        const SHELL: &str = "exec 3<&0 0</dev/null; LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\"";
        let builder = self.by(&["sh", "-c", SHELL, "sh"]);
        let mut command = builder.command();
        let socket = socket.try_clone().expect("a copy of the socket");
        command.stdin(Stdio::from(OwnedFd::from(socket)));
        Daemon::run(command, builder.folder)
            .unwrap_or_else(|said| panic!("it does not listen; it said:\n{said}"))
    }

    /// Starts the gateway and waits until it listens.
    #[track_caller]
    pub(crate) fn start(self) -> Daemon {
        self.try_start().unwrap_or_else(|said| panic!("the gateway does not listen; it said:\n{said}"))
    }

    /// Starts the gateway; `Err` is what it said when it does not come to listen.
    pub(crate) fn try_start(self) -> Result<Daemon, String> {
        Daemon::run(self.command(), self.folder)
    }

    /// Starts a gateway that should not start, and waits for its end.
    #[track_caller]
    pub(crate) fn fails_to_start(&self) -> Ended {
        command::run(self.command())
    }
}

impl Daemon {
    fn run(mut command: Command, folder: Folder) -> Result<Self, String> {
        let mut process = command.spawn().expect("the gateway can be started");
        let arguments = command.get_args().map(OsStr::to_owned).collect();
        let log = Log::of(process.stderr.take().expect("piped"));
        let output = Log::of(process.stdout.take().expect("piped"));
        match log.find(listening_address) {
            Ok(address) => Ok(Self { process, arguments, address, folder, log, output }),
            Err(said) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(said)
            }
        }
    }

    /// Ends it as a service manager does, and starts it again.
    #[track_caller]
    pub(crate) fn restart(&mut self) {
        self.signal("TERM");
        assert_eq!(self.ends_within(Duration::from_secs(20)), Some(0), "{}", self.log.text());
        let mut command = command::daemon();
        command.args(&self.arguments);
        let mut next = Self::run(command, Folder::new()).expect("it starts again");
        std::mem::swap(&mut self.process, &mut next.process);
        std::mem::swap(&mut self.log, &mut next.log);
        std::mem::swap(&mut self.output, &mut next.output);
        self.address = next.address;
    }

    /// The same program with the same arguments once more, told to take over.
    pub(crate) fn successor(&self) -> Result<Self, String> {
        let mut command = command::daemon();
        let arguments = self.arguments.iter().filter(|argument| *argument != "--upgrade");
        command.args(arguments).arg("--upgrade");
        Self::run(command, Folder::new())
    }
}

/// The first line about listening names the first address.
fn listening_address(line: &str) -> Option<SocketAddr> {
    let rest = &line[line.find("127.0.0.1:").filter(|_| line.contains("listening"))?..];
    let port = &rest["127.0.0.1:".len()..];
    let digits = port.bytes().take_while(u8::is_ascii_digit).count();
    rest[.."127.0.0.1:".len() + digits].parse().ok()
}

impl Daemon {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(crate) fn robots(&self) -> PathBuf {
        self.folder.join("robots.txt")
    }

    pub(crate) fn journal(&self) -> JournalFile {
        JournalFile(self.folder.join("state").join("journal.jsonl"))
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Its resident memory in bytes.
    pub(crate) fn resident(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).expect("/proc");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
        let kibibytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
        kibibytes << 10
    }

    pub(crate) fn client(&self) -> Client {
        Client::to(self.address)
    }

    /// Sends one request on a connection of its own.
    #[track_caller]
    pub(crate) fn send(&self, request: &Request) -> ClientResponse {
        self.client().send(request)
    }

    /// Runs `gatewayctl` against this gateway.
    #[track_caller]
    pub(crate) fn ctl(&self, arguments: &[&str]) -> Ended {
        let socket = self.folder.join("control.sock");
        // It is opened beside the listeners, perhaps a moment after them.
        until("the control socket is open", || socket.exists().then_some(()));
        let socket = socket.to_str().expect("UTF-8");
        command::ctl([arguments, &["--control", socket]].concat())
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let ended = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.process.id())]).status();
        assert!(ended.is_ok_and(|status| status.success()), "SIG{name} cannot be sent");
    }

    /// The exit code, once the gateway has ended; `None` when it has not within `patience`.
    pub(crate) fn ends_within(&mut self, patience: Duration) -> Option<i32> {
        within(patience, || self.process.try_wait().expect("a child can be waited for"))?.code()
    }

    #[track_caller]
    pub(crate) fn is_running(&mut self) {
        let ended = self.process.try_wait().expect("a child can be asked");
        assert!(ended.is_none(), "the gateway ended with {ended:?}; it said:\n{}", self.log.text());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        if std::thread::panicking() {
            // Shown by the test runner beside the failure.
            eprintln!("--- the gateway said:\n{}\n---", self.log.text());
        }
    }
}
