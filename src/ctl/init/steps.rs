//! What to do after `init`, in order.

use super::InitPlan;
use crate::config::HostPattern;
use crate::ctl::args::{BesideProxy, InitArgs};
use std::path::Path;

/// `is_kept` says that the operator's configuration was not changed and lacks lines.
pub(super) fn of(arguments: &InitArgs, config: &Path, plan: &InitPlan, is_kept: bool) -> Vec<String> {
    let whole = std::path::absolute(&arguments.folder).unwrap_or_else(|_| arguments.folder.clone());
    // The unit reads its configuration there, and not everybody may.
    let is_of_unit = whole == Path::new("/etc/robots-gateway");
    let sudo = if is_of_unit { "sudo " } else { "" };
    let check = format!("{sudo}gatewayctl check --config {}", config.display());
    let start = if is_of_unit {
        "sudo systemctl enable --now robots-gateway".to_owned()
    } else {
        format!(
            "robots-gateway --config {}   # it runs until Ctrl-C; go on in another terminal",
            config.display()
        )
    };
    let add = is_kept.then(|| format!("add the lines above to {}", config.display()));
    let mut steps: Vec<String> = add.into_iter().chain([check, start]).collect();
    if let Some(proxy) = arguments.beside {
        let hosts: Vec<&str> = plan.hosts.iter().filter_map(HostPattern::exact).collect();
        steps.extend(of_proxy(proxy, &whole, hosts.first().unwrap_or(&"your site")));
        let files: Vec<String> = hosts.iter().map(|host| format!("http://{host}/robots.txt")).collect();
        if !files.is_empty() {
            steps.push(format!("curl -L {}", files.join(" ")));
        }
        steps.push(format!("{sudo}gatewayctl doctor --config {}", config.display()));
    }
    steps.push(format!("{sudo}gatewayctl report --config {}   # once crawlers have come", config.display()));
    steps
}

/// How the proxy's part is put in place.
fn of_proxy(proxy: BesideProxy, folder: &Path, host: &str) -> Vec<String> {
    let at = |name: &str| folder.join(name).display().to_string();
    let reload = |check: &str, unit: &str| format!("{check} && sudo systemctl reload {unit}");
    match proxy {
        BesideProxy::Nginx => vec![
            format!("sudo ln -s {} /etc/nginx/conf.d/robots-gateway.conf", at("nginx-upstream.conf")),
            format!("in the server block of {host}: include {};", at("nginx.conf")),
            reload("sudo nginx -t", "nginx"),
        ],
        BesideProxy::Caddy => vec![
            format!("in the block of {host} in /etc/caddy/Caddyfile: the lines of {}", at("Caddyfile")),
            reload("caddy validate --config /etc/caddy/Caddyfile", "caddy"),
        ],
        BesideProxy::Haproxy => vec![
            format!("in the sections of /etc/haproxy/haproxy.cfg: the lines of {}", at("haproxy.cfg")),
            reload("sudo haproxy -c -f /etc/haproxy/haproxy.cfg", "haproxy"),
        ],
        BesideProxy::Traefik => vec![format!(
            "in the folder of Traefik's file provider: the routers and middlewares of {}",
            at("traefik.yaml")
        )],
        BesideProxy::Envoy => vec![
            format!("in envoy.yaml: the filter, route and cluster of {}", at("envoy.yaml")),
            "envoy --mode validate -c envoy.yaml, and start it anew".to_owned(),
        ],
    }
}
