//! nginx as the origin of every peer: a page of 1 KB, others of 64 KB to 1 MB, a place that waits for the whole body
//! of a request, and a mark by which an answer is known to come from it.

use crate::process::{Processor, Running, command, free_address};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;

/// The field that only the origin sets.
pub(crate) const MARK: &str = "x-origin: e2e";

pub(crate) const SMALL: usize = 1_024;
pub(crate) const LARGE: usize = 102_400;

/// The target of the large page; every other target is the small one.
pub(crate) const LARGE_TARGET: &str = "/large";

/// Pages of other sizes; the last one comes in chunks.
pub(crate) const MIDDLING_SIZE: usize = 65_536;
pub(crate) const MIDDLING_TARGET: &str = "/64k";
pub(crate) const HUGE_SIZE: usize = 1_048_576;
pub(crate) const HUGE_TARGET: &str = "/1m";
pub(crate) const CHUNKED_TARGET: &str = "/chunked";

/// A running origin.
#[derive(Debug)]
pub(crate) struct BenchOrigin(Running);

impl BenchOrigin {
    pub(crate) fn start(folder: &Path) -> Result<Self, Box<dyn Error>> {
        Self::start_at(Processor::Load, folder)
    }

    pub(crate) fn start_at(place: Processor, folder: &Path) -> Result<Self, Box<dyn Error>> {
        let address = free_address()?;
        let root = folder.join("www");
        std::fs::create_dir_all(&root)?;
        for (target, size) in [
            (LARGE_TARGET, LARGE),
            (MIDDLING_TARGET, MIDDLING_SIZE),
            (HUGE_TARGET, HUGE_SIZE),
            (CHUNKED_TARGET, MIDDLING_SIZE),
        ] {
            std::fs::write(root.join(&target[1..]), "l".repeat(size))?;
        }
        let config = folder.join("origin.conf");
        std::fs::write(&config, text(folder, address))?;
        let mut nginx = command("nginx", place);
        nginx.arg("-p").arg(folder).arg("-c").arg(&config).args(["-e", "stderr"]);
        Ok(Self(Running::start(nginx, address, &folder.join("origin.log"))?))
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

fn text(folder: &Path, address: SocketAddr) -> String {
    let folder = folder.display();
    let small = "s".repeat(SMALL);
    format!(
        r#"daemon off;
master_process off;
pid {folder}/origin.pid;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    client_body_temp_path {folder}/origin-body;
    proxy_temp_path {folder}/origin-proxy;
    fastcgi_temp_path {folder}/origin-fastcgi;
    uwsgi_temp_path {folder}/origin-uwsgi;
    scgi_temp_path {folder}/origin-scgi;
    keepalive_requests 1000000000;
    keepalive_timeout 300s;
    sendfile on;
    open_file_cache max=16;
    default_type text/html;
    add_header X-Origin e2e;
    server {{
        listen {address} backlog=8192;
        location = {LARGE_TARGET} {{ root {folder}/www; }}
        location = {MIDDLING_TARGET} {{ root {folder}/www; }}
        location = {HUGE_TARGET} {{ root {folder}/www; }}
        # What may be changed on its way has no length.
        location = {CHUNKED_TARGET} {{ ssi on; root {folder}/www; }}
        location = /upload {{ proxy_pass http://{address}/; }}
        location / {{ return 200 "{small}"; }}
    }}
}}
"#
    )
}
