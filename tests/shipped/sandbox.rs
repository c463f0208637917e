//! A machine of its own for the commands of the guide: a folder whose parts stand for the project's folder, `/usr`,
//! `/etc`, `/var` and `/run`, with free ports in the place of the documented ones.
//!
//! The programs, the files and `install`, `sed`, `curl` are the real ones. Four commands are stand-ins: `cargo`, since
//! the programs are built already, `sudo`, and `systemctl`, which runs the commands of the installed unit as systemd
//! would, with the folders of the unit in its environment, and `systemd-sysusers`.

use crate::{DAEMON, origin, text};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Files of the project that the commands use; addresses and paths in them are rewritten.
const FILES: [&str; 5] = [
    "conf/gateway.toml",
    "rules/robots.txt",
    "systemd/robots-gateway.service",
    "systemd/robots-gateway.socket",
    "systemd/robots-gateway.sysusers",
];

const SYSTEMCTL: &str = r#"#!/bin/bash
# Runs the installed unit's own commands.
cd "${0%/bin/systemctl}" || exit 1
command_of() { sed -n "s/^$1=//p" etc/systemd/system/robots-gateway.service; }
case "$*" in
    daemon-reload) [ -n "$(command_of ExecStart)" ] ;;
    "stop robots-gateway")
        kill "$(cat daemon.pid)"
        for _ in $(seq 100); do
            kill -0 "$(cat daemon.pid)" 2>/dev/null || exit 0
            sleep 0.1
        done
        exit 1
        ;;
    "enable --now robots-gateway" | "start robots-gateway")
        $(command_of ExecStartPre) || exit 1
        $(command_of ExecStart) </dev/null >daemon.log 2>&1 &
        echo $! >daemon.pid
        for _ in $(seq 100); do
            [ ! -S "$RUNTIME_DIRECTORY/control.sock" ] || exit 0
            kill -0 "$(cat daemon.pid)" || break
            sleep 0.1
        done
        cat daemon.log >&2
        exit 1
        ;;
    "reload robots-gateway") $(command_of ExecReload) ;;
    *)
        echo "systemctl: not known here: $*" >&2
        exit 1
        ;;
esac
"#;

/// Gives the configuration that `init` wrote the ports of the sandbox, where it wrote one to the documented place.
const INITIAL_PORTS: &str = r#"
if grep -qs 'gatewayctl init' /etc/robots-gateway/gateway.toml && ! grep -q ^admin /etc/robots-gateway/gateway.toml; then
    port='127.0.0.1:8080'
    sed -i -e "s/127\.0\.0\.1:8[0]80/$port/" -e '1i admin = "off"' /etc/robots-gateway/gateway.toml
fi
"#;

/// Users are the machine's: it only looks whether there is one to make.
const SYSUSERS: &str = r#"#!/bin/sh
cd "${0%/bin/systemd-sysusers}" || exit 1
grep -q '^u robots-gateway ' etc/sysusers.d/robots-gateway.conf
"#;

const SUDO: &str = "#!/bin/sh\nexec \"$@\"\n";

const CARGO: &str = "#!/bin/sh\n[ \"$*\" = 'build --release --locked' ]\n";

/// The folder; what was started in it ends with it.
pub(crate) struct Sandbox {
    folder: tempfile::TempDir,
    /// Apart from the rest and near the root, because the path of a socket has to be short.
    run: tempfile::TempDir,
    /// What is written in the documents, and what stands for it here.
    rewrites: Vec<(&'static str, String)>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        // Not in /tmp, which may be too small for the programs.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let inside = |path: &str| format!("{}{path}", folder.path().display());
        let gateway = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).unwrap();
        let mut rewrites: Vec<_> = [
            "/usr/local/bin",
            "/etc/robots-gateway",
            "/etc/systemd/system",
            "/etc/sysusers.d",
            "/var/backups",
            "/var/lib/robots-gateway",
            "/var/log/nginx",
            "/srv/gateway-b",
        ]
        .map(|path| (path, inside(path)))
        .into();
        rewrites.push(("127.0.0.1:8080", gateway.to_string()));
        rewrites.push(("127.0.0.1:3000", origin::start().to_string()));
        let sandbox = Self { folder, run: tempfile::tempdir().unwrap(), rewrites };
        sandbox.furnish();
        sandbox
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.path("project")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn furnish(&self) {
        for folder in ["bin", "etc/systemd/system", "usr/local/bin", "var/backups", "var/lib/robots-gateway"]
        {
            std::fs::create_dir_all(self.path(folder)).unwrap();
        }
        for (name, script) in
            [("cargo", CARGO), ("sudo", SUDO), ("systemctl", SYSTEMCTL), ("systemd-sysusers", SYSUSERS)]
        {
            let path = self.path("bin").join(name);
            std::fs::write(&path, script).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        for file in FILES {
            let path = self.project().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, self.rewrite(&with_own_ports(file))).unwrap();
        }
        std::fs::create_dir_all(self.project().join("target")).unwrap();
        symlink(Path::new(DAEMON).parent().unwrap(), self.project().join("target/release")).unwrap();
    }

    /// Puts the programs where the unit expects them.
    pub(crate) fn install_programs(&self) {
        for program in [DAEMON, crate::TOOL] {
            let name = Path::new(program).file_name().unwrap();
            symlink(program, self.path("usr/local/bin").join(name)).unwrap();
        }
    }

    /// `text` with everything that is this sandbox's own in the place of what is documented.
    pub(crate) fn rewrite(&self, text: &str) -> String {
        self.rewrites.iter().fold(text.to_owned(), |text, (written, own)| text.replace(written, own))
    }

    /// Runs `script` in the project's folder, with a minute of time.
    pub(crate) fn run(&self, script: &str) -> Output {
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{}:{path}", self.path("bin").display(), self.path("usr/local/bin").display());
        let mut command = Command::new("timeout");
        // What `init` writes names the documented port.
        let own = if script.contains("gatewayctl init ") { INITIAL_PORTS } else { "" };
        command.args(["60", "bash", "-euo", "pipefail", "-c", &self.rewrite(&format!("{script}{own}"))]);
        command.current_dir(self.project()).env("PATH", path).env_remove("RUST_LOG");
        command.env("STATE_DIRECTORY", self.path("var/lib/robots-gateway"));
        command.env("RUNTIME_DIRECTORY", self.run.path());
        command.stdin(std::process::Stdio::null()).output().unwrap()
    }
}

/// The configuration listens on documented ports without naming them; here they have to be named to be rewritten.
fn with_own_ports(file: &str) -> String {
    let text = text(file);
    if file != "conf/gateway.toml" {
        return text;
    }
    let replace = |text: String, old: &str, new: &str| {
        assert!(text.contains(old), "{file} has no line {old}");
        text.replace(old, new)
    };
    let text = replace(text, "\n#listen = [\"127.0.0.1:8080\"]\n", "\nlisten = [\"127.0.0.1:8080\"]\n");
    replace(text, "\n#admin = \"127.0.0.1:9309\"\n", "\nadmin = \"off\"\n")
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Ok(pid) = std::fs::read_to_string(self.path("daemon.pid")) {
            let _ = Command::new("kill").args(["-9", pid.trim()]).status();
        }
    }
}
