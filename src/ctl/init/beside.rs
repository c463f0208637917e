//! What `init --beside` writes for the other proxy: files of `conf/beside`, filled in.

use super::{InitPlan, absolute};
use crate::config::HostPattern;
use crate::ctl::args::BesideProxy;
use crate::policy::COPIES;
use std::path::{Path, PathBuf};

/// Which files a proxy gets.
const fn templates(proxy: BesideProxy) -> &'static [(&'static str, &'static str)] {
    match proxy {
        BesideProxy::Nginx => &[
            ("nginx-upstream.conf", include_str!("../../../conf/beside/nginx-upstream.conf")),
            ("nginx.conf", include_str!("../../../conf/beside/nginx.conf")),
        ],
        BesideProxy::Caddy => &[("Caddyfile", include_str!("../../../conf/beside/Caddyfile"))],
        BesideProxy::Traefik => &[("traefik.yaml", include_str!("../../../conf/beside/traefik.yaml"))],
        BesideProxy::Haproxy => &[
            ("haproxy.cfg", include_str!("../../../conf/beside/haproxy.cfg")),
            ("robots-gateway.lua", include_str!("../../../conf/beside/robots-gateway.lua")),
        ],
        BesideProxy::Envoy => &[("envoy.yaml", include_str!("../../../conf/beside/envoy.yaml"))],
    }
}

/// The folder of copies as the templates name it.
const COPIES_OF_ROOT: &str = "/var/lib/robots-gateway/robots";

/// The files for the proxy: where they are to be, and what stands in them. The gateway will keep its state in `state_dir`.
pub(super) fn files(
    proxy: Option<BesideProxy>,
    folder: &Path,
    state_dir: &Path,
    plan: &InitPlan,
) -> Vec<(PathBuf, String)> {
    let (whole, copies) = (absolute(folder), absolute(&state_dir.join(COPIES)));
    let host = plan.hosts.iter().find_map(HostPattern::exact);
    let mut names: Vec<String> = plan.hosts.iter().map(ToString::to_string).collect();
    if names.is_empty() {
        names.push("default".to_owned());
    }
    let filled = |text: &str| {
        text.replace(COPIES_OF_ROOT, &copies.display().to_string())
            .replace("\"COPY_NAME\"", &format!("\"{}\"", names.join("\", \"")))
            .replace("COPY_NAME", host.unwrap_or_else(|| names.first().map_or("default", String::as_str)))
            .replace("LUA_FILE", &whole.join("robots-gateway.lua").display().to_string())
            .replace("HOST", host.unwrap_or("example.org"))
    };
    let templates = proxy.map(templates).unwrap_or_default();
    templates.iter().map(|(name, text)| (folder.join(name), filled(text))).collect()
}
