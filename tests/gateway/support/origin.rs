//! A real nginx as the origin: it answers every path, and its robots.txt is not the gateway's.

use super::client::{Client, get};
use super::folder::Folder;
use super::wait::{until, within};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The origin's own robots.txt; no client of the gateway may ever see it.
pub(crate) const ORIGINS_ROBOTS: &str = "User-agent: *\nDisallow: /only-the-origin-says-so\n";

/// nginx in the foreground, ended on drop.
#[derive(Debug)]
pub(crate) struct Nginx {
    process: Child,
    address: SocketAddr,
    folder: Folder,
}

impl Nginx {
    /// Starts nginx on a free port.
    #[track_caller]
    pub(crate) fn start() -> Self {
        // Between finding a free port and using it somebody else may take it: try again then.
        for _ in 0..10 {
            if let Some(nginx) = Self::try_start_on(free_port()) {
                return nginx;
            }
        }
        panic!("nginx does not start; it is needed for these tests (Debian: apt-get install nginx)");
    }

    fn try_start_on(port: u16) -> Option<Self> {
        let folder = Folder::new();
        let id = folder.path().display().to_string();
        let config = folder.write("nginx.conf", config(&id, port));
        let process = Command::new("nginx")
            .args(["-p", &id, "-c"])
            .arg(&config)
            .args(["-e", "stderr"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run nginx (Debian: apt-get install nginx): {error}"));
        let mut nginx = Self { process, address: SocketAddr::from(([127, 0, 0, 1], port)), folder };
        let ready = within(Duration::from_secs(5), || match nginx.process.try_wait() {
            Ok(None) => nginx.answers_with(&id).then_some(true),
            _ => Some(false),
        });
        (ready == Some(true)).then_some(nginx)
    }

    /// Whether it is this nginx that listens on the port, not one of another test.
    fn answers_with(&self, id: &str) -> bool {
        let response = Client::try_to(self.address).and_then(|mut client| client.try_send(&get("/its-id")));
        response.is_ok_and(|response| response.body == id.as_bytes())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its URL, as the gateway's configuration wants it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Method and target of every request that reached it, in the order in which they were answered.
    /// A last request, sent past the gateway, makes sure that all earlier ones have been written.
    #[track_caller]
    pub(crate) fn received(&self) -> Vec<String> {
        let mark = format!("/mark-{:?}", std::time::Instant::now()).replace([' ', '{', '}', ':'], "");
        Client::to(self.address).send(&get(&mark));
        until("nginx writes its access log", || {
            let log = fs::read_to_string(self.folder.join("access.log")).unwrap_or_default();
            log.contains(&mark).then_some(log)
        })
        .lines()
        .filter(|line| !line.contains("/mark-"))
        .map(str::to_owned)
        .collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A port that nobody listened on a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("a bound address").port()
}

/// One process, so that killing it leaves nothing behind.
fn config(folder: &str, port: u16) -> String {
    let robots = ORIGINS_ROBOTS.replace('\n', "\\n");
    format!(
        r#"daemon off;
master_process off;
pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
    log_format target '$request_method $request_uri';
    access_log {folder}/access.log target;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    client_max_body_size 0;
    keepalive_requests 1000000;
    keepalive_timeout 300s;
    default_type text/plain;
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location = /its-id {{ access_log off; return 200 "{folder}"; }}
        location = /robots.txt {{ return 200 "{robots}"; }}
        location / {{
            return 200 "origin: $request_method $request_uri\nhost: $http_host\ncrawler: $http_x_robots_crawler\nverdict: $http_x_robots_verdict\nproof: $http_x_robots_proof\n";
        }}
    }}
}}
"#
    )
}
