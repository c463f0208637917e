//! The servers whose readings are compared, started on free ports with the pages of [`files`](crate::files).
//!
//! Each is one with its defaults, or with a setting that its users turn on. A chain is two of them, one before the other.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A name and where to ask.
pub(crate) type NamedOrigin = (&'static str, SocketAddr);

/// All servers, ended on drop.
pub(crate) struct Origins {
    pub(crate) all: Vec<NamedOrigin>,
    processes: Vec<Child>,
    folder: TempDir,
}

impl Origins {
    /// Starts them, and waits until each answers.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        open_to_all(folder.path());
        crate::files::write(&folder.path().join("pages"));
        let mut origins = Self { all: Vec::new(), processes: Vec::new(), folder };
        let behind = origins.start_node();
        origins.start_python();
        origins.start_nginx(behind);
        origins.start_apache(behind);
        origins.start_lighttpd();
        origins.start_caddy(behind);
        for (name, address) in &origins.all {
            await_port(name, *address);
        }
        origins
    }

    fn pages(&self) -> PathBuf {
        self.folder.path().join("pages")
    }

    fn add(&mut self, name: &'static str) -> u16 {
        let port = free_port();
        self.all.push((name, SocketAddr::from(([127, 0, 0, 1], port))));
        port
    }

    fn run(&mut self, command: &mut Command) {
        let name = command.get_program().to_string_lossy().into_owned();
        let log = fs::File::create(self.folder.path().join(format!("{name}.log"))).expect("a log");
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = command.spawn();
        self.processes.push(child.unwrap_or_else(|error| panic!("cannot run {name}: {error}")));
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// The port of a server for the chains to end at.
    fn start_node(&mut self) -> u16 {
        let names = [
            "node-url",
            "node-join",
            "node-legacy",
            "node-plain",
            "node-twice",
            "node-decoded",
            "node-windows",
        ];
        let ports = names.map(|name| (name, self.add(name)));
        let mut node = Command::new("node");
        node.arg(script("origin.js")).arg(self.pages());
        for (name, port) in ports {
            node.arg(name).arg(port.to_string());
        }
        self.run(&mut node);
        ports[1].1
    }

    fn start_python(&mut self) {
        let ports = ["python", "python-split"].map(|name| self.add(name).to_string());
        let pages = self.pages();
        self.run(Command::new("python3").arg(script("origin.py")).arg(pages).args(ports));
    }

    fn start_nginx(&mut self, behind: u16) {
        let [plain, unmerged, chain, raw] =
            ["nginx", "nginx-unmerged", "nginx-node", "nginx-raw-node"].map(|name| self.add(name));
        let (folder, pages) = (self.folder.path().display().to_string(), self.pages().display().to_string());
        let server = |port: u16, more: &str, location: &str| {
            format!(
                "server {{ listen 127.0.0.1:{port}; root {pages}; {more} location / {{ {location} }} }}\n"
            )
        };
        let servers = [
            server(plain, "", ""),
            server(unmerged, "merge_slashes off;", ""),
            server(chain, "", &format!("proxy_pass http://127.0.0.1:{behind}/;")),
            server(raw, "", &format!("proxy_pass http://127.0.0.1:{behind};")),
        ]
        .concat();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|what| format!("{what}_temp_path {folder}/{what};\n"))
            .concat();
        let config = self.write(
            "nginx.conf",
            &format!(
                "daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit;\n\
                 events {{ worker_connections 512; }}\n\
                 http {{ access_log off; keepalive_requests 1000000; {temporary} {servers} }}\n"
            ),
        );
        self.run(Command::new("nginx").args(["-p", &folder, "-e", "stderr", "-c"]).arg(config));
    }

    fn start_apache(&mut self, behind: u16) {
        let [plain, encoded, kept, unmerged, chain] =
            ["apache", "apache-encoded", "apache-nodecode", "apache-unmerged", "apache-node"]
                .map(|name| self.add(name));
        let folder = self.folder.path().display().to_string();
        let host = |port: u16, more: &str| {
            format!("Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\n{more}\n</VirtualHost>\n")
        };
        let proxied = format!("AllowEncodedSlashes On\nProxyPass / http://127.0.0.1:{behind}/");
        let hosts = [
            host(plain, ""),
            host(encoded, "AllowEncodedSlashes On"),
            host(kept, "AllowEncodedSlashes NoDecode"),
            host(unmerged, "MergeSlashes Off\nAllowEncodedSlashes On"),
            host(chain, &proxied),
        ]
        .concat();
        let modules = ["mpm_event", "authz_core", "dir", "proxy", "proxy_http"]
            .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
            .concat();
        let pages = self.pages().display().to_string();
        let config = self.write(
            "apache.conf",
            &format!(
                "ServerRoot {folder}\nServerName localhost\nPidFile {folder}/apache.pid\nErrorLog {folder}/apache.log\n\
                 LogLevel crit\n{modules}User www-data\nGroup www-data\nMaxKeepAliveRequests 0\nDocumentRoot {pages}\n\
                 <Directory {pages}>\nRequire all granted\n</Directory>\nDirectoryIndex index.html\n\
                 DefaultRuntimeDir {folder}\n{hosts}"
            ),
        );
        self.run(Command::new("apache2").arg("-DFOREGROUND").arg("-f").arg(config));
    }

    fn start_lighttpd(&mut self) {
        let settings = [
            ("lighttpd", ""),
            (
                "lighttpd-lenient",
                "server.http-parseopts = ( \"url-normalize\" => \"disable\", \"url-path-dotseg-remove\" => \"disable\" )",
            ),
        ];
        for (name, more) in settings {
            let port = self.add(name);
            let pages = self.pages().display().to_string();
            // What follows a file's name in a target is the site's own matter: see docs/limits.md.
            let config = self.write(
                &format!("{name}.conf"),
                &format!(
                    "server.document-root = \"{pages}\"\nserver.port = {port}\nserver.bind = \"127.0.0.1\"\n\
                     index-file.names = ( \"index.html\" )\nstatic-file.disable-pathinfo = \"enable\"\n\
                     server.max-keep-alive-requests = 65535\n{more}\n"
                ),
            );
            self.run(Command::new("lighttpd").arg("-D").arg("-f").arg(config));
        }
    }

    fn start_caddy(&mut self, behind: u16) {
        let [plain, chain] = ["caddy", "caddy-node"].map(|name| self.add(name));
        let (folder, pages) = (self.folder.path().to_path_buf(), self.pages().display().to_string());
        let config = self.write(
            "Caddyfile",
            &format!(
                "{{\n\tadmin off\n\tauto_https off\n}}\nhttp://127.0.0.1:{plain}, http://localhost:{plain} {{\n\tbind 127.0.0.1\n\
                 \troot * {pages}\n\tfile_server\n}}\n\
                 http://127.0.0.1:{chain}, http://localhost:{chain} {{\n\tbind 127.0.0.1\n\treverse_proxy 127.0.0.1:{behind}\n}}\n"
            ),
        );
        let mut caddy = Command::new("caddy");
        caddy.args(["run", "--adapter", "caddyfile", "--config"]).arg(config);
        self.run(caddy.env("HOME", &folder).env("XDG_CONFIG_HOME", &folder).env("XDG_DATA_HOME", &folder));
    }
}

impl Drop for Origins {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // Apache's own processes end with it only if it is asked to.
            let _ = Command::new("kill").arg(process.id().to_string()).status();
            let _ = process.wait();
        }
    }
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readings").join(name)
}

/// A port that nobody listened on a moment ago.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound address").port()
}

fn await_port(name: &str, address: SocketAddr) {
    let begun = Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{name} does not listen on {address}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Apache reads the pages as another user when it is started as root.
#[cfg(unix)]
fn open_to_all(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("permissions");
}
