//! Running one of the two programs to its end.

use super::log::Log;
use super::wait::within;
use serde_json::Value;
use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may run before the test calls it hung.
const LIMIT: Duration = Duration::from_secs(20);

/// Variables that would change what the programs do.
const VARIABLES: [&str; 8] = [
    "RUST_LOG",
    "STATE_DIRECTORY",
    "RUNTIME_DIRECTORY",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "CI",
];

/// What a program left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Ended {
    /// Standard output as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Fails the test unless the program ended with `code`.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// A program of this package, in an environment that holds nothing of the machine's own gateway.
pub(crate) fn program(path: &str) -> Command {
    let mut command = Command::new(path);
    for variable in VARIABLES {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn daemon() -> Command {
    program(env!("CARGO_BIN_EXE_robots-gateway"))
}

/// Runs `gatewayctl` with `arguments`.
#[track_caller]
pub(crate) fn ctl(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Ended {
    let mut command = program(env!("CARGO_BIN_EXE_gatewayctl"));
    command.args(arguments);
    run(command)
}

/// Runs a program to its end.
#[track_caller]
pub(crate) fn run(command: Command) -> Ended {
    run_with_input(command, None)
}

/// Runs a program to its end, with `input` on its standard input.
#[track_caller]
pub(crate) fn run_with_input(mut command: Command, input: Option<&[u8]>) -> Ended {
    let start = Instant::now();
    if input.is_some() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
        let input = input.to_vec();
        // A thread of its own: the program may answer before it has read everything.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let stdout = Log::of(child.stdout.take().expect("piped"));
    let stderr = Log::of(child.stderr.take().expect("piped"));
    let status = within(LIMIT, || child.try_wait().expect("a child can be waited for"));
    let took = start.elapsed();
    let Some(status) = status else {
        let _ = child.kill();
        let _ = child.wait();
        panic!("{command:?} did not end; it said:\n{}", stderr.text());
    };
    Ended { code: status.code(), stdout: stdout.to_end(), stderr: stderr.to_end(), took }
}
