//! What `init --beside` writes for the other proxy: files of `conf/beside`, filled in.

use super::{InitPlan, absolute};
use crate::config::{HostPattern, defaults};
use crate::ctl::args::BesideProxy::{self, Caddy, Envoy, Haproxy, Nginx, Traefik};
use crate::policy::COPIES;
use std::path::{Path, PathBuf};

/// Which files a proxy gets.
const FILES: [(BesideProxy, &str, &str); 7] = [
    (Nginx, "nginx-upstream.conf", include_str!("../../../conf/beside/nginx-upstream.conf")),
    (Nginx, "nginx.conf", include_str!("../../../conf/beside/nginx.conf")),
    (Caddy, "Caddyfile", include_str!("../../../conf/beside/Caddyfile")),
    (Traefik, "traefik.yaml", include_str!("../../../conf/beside/traefik.yaml")),
    (Haproxy, "haproxy.cfg", include_str!("../../../conf/beside/haproxy.cfg")),
    (Haproxy, "robots-gateway.lua", include_str!("../../../conf/beside/robots-gateway.lua")),
    (Envoy, "envoy.yaml", include_str!("../../../conf/beside/envoy.yaml")),
];

/// The folder of copies as the templates name it.
const COPIES_OF_ROOT: &str = "/var/lib/robots-gateway/robots";

/// The files for the proxy: where they are to be, and what stands in them.
pub(super) fn files(proxy: Option<BesideProxy>, folder: &Path, plan: &InitPlan) -> Vec<(PathBuf, Vec<u8>)> {
    // Where the gateway will keep its state, unless somebody says otherwise when it is started.
    let state_dir = plan.state_dir.clone().or_else(defaults::state_dir);
    let copies =
        state_dir.map_or_else(|| COPIES_OF_ROOT.into(), |state_dir| absolute(&state_dir.join(COPIES)));
    let lua = absolute(&folder.join("robots-gateway.lua"));
    let host = plan.hosts.iter().find_map(HostPattern::exact);
    let default = plan.hosts.is_empty().then(|| "default".to_owned());
    let names: Vec<String> = plan.hosts.iter().map(ToString::to_string).chain(default).collect();
    let filled = |text: &str| {
        text.replace(COPIES_OF_ROOT, &copies.display().to_string())
            .replace("\"COPY_NAME\"", &format!("\"{}\"", names.join("\", \"")))
            .replace("COPY_NAME", host.unwrap_or_else(|| names.first().map_or("default", String::as_str)))
            .replace("LUA_FILE", &lua.display().to_string())
            .replace("HOST", host.unwrap_or("example.org"))
    };
    let own = FILES.iter().filter(|(of, ..)| Some(*of) == proxy);
    own.map(|(_, name, text)| (folder.join(name), filled(text).into_bytes())).collect()
}
